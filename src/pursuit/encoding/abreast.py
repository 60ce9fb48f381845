"""Matching pursuit over a handful of atoms, many signals abreast."""

from __future__ import annotations

import numpy as np

from pursuit.encoding.abreast_kernel import abreast, few_of, tile_for
from pursuit.encoding.codes import Piece
from pursuit.encoding.job import Job
from pursuit.encoding.kernels import NOTHING
from pursuit.encoding.lanes import NARROW
from pursuit.validation import Array

FEW = 8
"""Up to so many atoms a dense update of all of them is cheaper than looking one up."""


class Abreast:
    """Runs blocks of signals through `abreast_kernel`."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        self.few = few_of(job.atoms.rows, gram, job.twins, job.scale)
        self.tile = tile_for(self.few)

    @staticmethod
    def suits(job: Job) -> bool:
        """Few unit atoms, no limit on them, no residual to watch."""
        n, d = job.atoms.rows.shape
        few = n <= FEW and n < job.rules.n_nonzero and d >= NARROW // job.dtype.itemsize
        unit = bool(np.all(np.abs(job.atoms.norm2 - 1) < 1e-5))
        # Steps are counted in lanes, in the type of the signals.
        countable = job.rules.max_iter < 2**23
        plain = job.method == "matching-pursuit" and not job.nonnegative
        return plain and few and unit and countable and not job.goal.given

    def __call__(self, number: int) -> Piece:
        job = self.job
        signals = job.load(number)
        b, n = len(signals.x), len(job.atoms.rows)
        out = Piece(
            np.empty(b, np.int32),
            np.empty(b * n + 1, np.int32),
            np.empty(b * n + 1, job.dtype),
            np.empty(b),
            np.empty(b, np.int64),
            np.empty(b, np.uint8),
        )
        used, bad = abreast(self.few, job.rules, signals, self.tile, out)
        if bad != NOTHING:
            job.refuse(number, bad)
        return out._replace(indices=out.indices[:used], values=out.values[:used])
