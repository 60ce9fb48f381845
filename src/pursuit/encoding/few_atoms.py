"""Matching pursuit over a handful of atoms, many signals abreast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit.base.validation import Array
from pursuit.encoding.job import Chunk, Job
from pursuit.encoding.offered import Started
from pursuit.encoding.plan import Form
from pursuit.encoding.prepare import contiguous
from pursuit.kernels.few_atoms import UNCOMFORTABLE, abreast, few_of, tile_for
from pursuit.kernels.layouts import Piece, Signals
from pursuit.kernels.pursuit import NOTHING
from pursuit.kernels.simd import NARROW

FEW = 8
"""Up to so many atoms a dense update of all of them is cheaper than looking one up."""


def suits(job: Job) -> bool:
    """Matching pursuit over few unit atoms, no limit on them, no residual to watch."""
    n, d = job.atoms.rows.shape
    few = n <= FEW and n < job.rules.n_nonzero and d >= NARROW // job.dtype.itemsize
    unit = bool(np.all(np.abs(job.atoms.norm2 - 1) < 1e-5))
    # Steps are counted in lanes, in the type of the signals.
    countable = job.rules.max_iter < 2**23
    gram = job.plan.form is Form.GRAM
    return gram and not job.orthogonal and few and unit and countable and not job.goal.given


def start(job: Job, gram: Array) -> Started:
    """The dictionary's part."""
    return Started(lambda: Abreast(job, gram), whole=lambda signals: Whole(job, signals))


class Abreast:
    """Runs blocks of signals through the kernel `abreast`."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        self.few = few_of(job.atoms.rows, gram, job.twins, job.scale)
        self.tile = tile_for(self.few)
        self.norm2, self.ones = np.empty(job.plan.block), np.ones(job.plan.block)

    def __call__(self, chunk: Chunk) -> Piece:
        out = room_of(self.job, len(chunk.rows))
        used = self.fill(chunk, out)
        return out._replace(indices=out.indices[:used], values=out.values[:used])

    def fill(self, chunk: Chunk, out: Piece) -> int:
        """Write the codes of a block; how many coefficients they have."""
        job, rules = self.job, self.job.rules_of(chunk)
        x = contiguous(chunk.rows, job.dtype)
        signals = Signals(x, self.norm2[: len(x)], self.ones[: len(x)])
        used, bad = abreast(self.few, rules, signals, self.tile, out)
        if bad == UNCOMFORTABLE:
            used, bad = abreast(self.few, rules, job.load(chunk), self.tile, out)
        chunk.heed()
        if bad != NOTHING:
            job.refuse(chunk, bad)
        return int(used)


class Whole:
    """The codes of many blocks, each written where it stays if every code uses every atom."""

    def __init__(self, job: Job, signals: int) -> None:
        self._n, self._block = len(job.atoms.rows), job.plan.block
        self._codes = room_of(job, signals)
        self._used = np.zeros(-(-signals // self._block), np.int64)

    def fill(self, place: int, encoder: Callable[[Chunk], Piece], chunk: Chunk) -> None:
        """The codes of the block that is the `place`-th of these."""
        assert isinstance(encoder, Abreast)
        rows = slice(place * self._block, (place + 1) * self._block)
        entries = slice(rows.start * self._n, rows.stop * self._n)
        places = rows, entries, entries, rows, rows, rows
        out = Piece(*(array[at] for array, at in zip(self._codes, places, strict=True)))
        self._used[place] = encoder.fill(chunk, out)

    def piece(self) -> Piece:
        """All of them."""
        whole, end = self._codes, 0
        for place, count in enumerate(self._used.tolist()):
            begin = place * self._block * self._n
            if begin != end:  # an atom was not used somewhere before: close the gap
                for array in (whole.indices, whole.values):
                    array[end : end + count] = array[begin : begin + count]
            end += count
        return whole._replace(indices=whole.indices[:end], values=whole.values[:end])


def room_of(job: Job, signals: int) -> Piece:
    """Room for the codes of so many signals, if they use all atoms."""
    entries = signals * len(job.atoms.rows)
    return Piece(
        np.empty(signals, np.int32),
        np.empty(entries, np.int32),
        np.empty(entries, job.dtype),
        np.empty(signals),
        np.empty(signals, np.int64),
        np.empty(signals, np.uint8),
    )
