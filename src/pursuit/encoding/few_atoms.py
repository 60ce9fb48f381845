"""Matching pursuit over a handful of atoms, many signals abreast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit.base.progress import Silent
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array
from pursuit.encoding.job import Job
from pursuit.encoding.plan import Form
from pursuit.encoding.prepare import contiguous
from pursuit.kernels.few_atoms import UNCOMFORTABLE, abreast, few_of, tile_for
from pursuit.kernels.layouts import Piece, Signals
from pursuit.kernels.pursuit import NOTHING
from pursuit.kernels.simd import NARROW

FEW = 8
"""Up to so many atoms a dense update of all of them is cheaper than looking one up."""


def suits(job: Job) -> bool:
    """Few unit atoms, no limit on them, no residual to watch."""
    n, d = job.atoms.rows.shape
    plain = job.method == "matching-pursuit" and not job.nonnegative
    few = n <= FEW and n < job.rules.n_nonzero and d >= NARROW // job.dtype.itemsize
    unit = bool(np.all(np.abs(job.atoms.norm2 - 1) < 1e-5))
    # Steps are counted in lanes, in the type of the signals.
    countable = job.rules.max_iter < 2**23
    gram = job.plan.form is Form.GRAM
    return gram and plain and few and unit and countable and not job.goal.given


class Abreast:
    """Runs blocks of signals through `abreast_kernel`."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        self.few = few_of(job.atoms.rows, gram, job.twins, job.scale)
        self.tile = tile_for(self.few)
        self.norm2, self.ones = np.empty(job.plan.block), np.ones(job.plan.block)

    def __call__(self, number: int) -> Piece:
        out = _room(self.job, len(self.job.rows(number)))
        used = self.fill(number, out)
        return out._replace(indices=out.indices[:used], values=out.values[:used])

    def fill(self, number: int, out: Piece) -> int:
        """Write the codes of a block; how many coefficients they have."""
        job = self.job
        x = contiguous(job.rows(number), job.dtype)
        signals = Signals(x, self.norm2[: len(x)], self.ones[: len(x)])
        used, bad = abreast(self.few, job.rules, signals, self.tile, out)
        if bad == UNCOMFORTABLE:
            used, bad = abreast(self.few, job.rules, job.load(number), self.tile, out)
        job.heed()
        if bad != NOTHING:
            job.refuse(number, bad)
        return int(used)


def all_at_once(job: Job, gram: Array, threads: int, bar: Silent) -> Piece:
    """The codes of all blocks, each written where it stays if every code uses every atom."""
    n, block = len(job.atoms.rows), job.plan.block
    whole = _room(job, len(job.signals))
    used = np.zeros(job.blocks, np.int64)

    def start() -> Callable[[int], None]:
        encoder = Abreast(job, gram)

        def one(number: int) -> None:
            rows = slice(number * block, (number + 1) * block)
            entries = slice(rows.start * n, rows.stop * n)
            places = rows, entries, entries, rows, rows, rows
            out = Piece(*(array[at] for array, at in zip(whole, places, strict=True)))
            used[number] = encoder.fill(number, out)

        return one

    for_each_block(job.blocks, start, threads, bar, halt=job.rules.halt, brief=job.brief)
    end = 0
    for number, count in enumerate(used.tolist()):
        begin = number * block * n
        if begin != end:  # an atom was not used somewhere before: close the gap
            for array in (whole.indices, whole.values):
                array[end : end + count] = array[begin : begin + count]
        end += count
    return whole._replace(indices=whole.indices[:end], values=whole.values[:end])


def _room(job: Job, signals: int) -> Piece:
    entries = signals * len(job.atoms.rows)
    return Piece(
        np.empty(signals, np.int32),
        np.empty(entries, np.int32),
        np.empty(entries, job.dtype),
        np.empty(signals),
        np.empty(signals, np.int64),
        np.empty(signals, np.uint8),
    )
