"""Matching pursuit over a handful of atoms: one signal in each lane of a vector."""

from __future__ import annotations

import numpy as np

from pursuit.encoding import kernels
from pursuit.encoding.codes import Piece
from pursuit.encoding.job import Job
from pursuit.encoding.kernels import Block
from pursuit.encoding.lanes import WIDE
from pursuit.encoding.room import aligned, fresh, room_for
from pursuit.validation import Array


class Abreast:
    """Matching pursuit over a handful of atoms: one signal in each lane of a vector."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        n, tile = len(gram), WIDE // job.dtype.itemsize
        b = -(-job.plan.block // tile) * tile
        self.gram = np.ascontiguousarray(gram[:, :n])
        self.c, self.step, self.value = (aligned((n, b), job.dtype) for _ in range(3))
        self.zero, self.steps = aligned((b,), job.dtype), aligned((b,), job.dtype)
        self.room = room_for(job.plan.block, n)

    @staticmethod
    def suits(job: Job) -> bool:
        """Few unit atoms, no limit on them, no residual to watch."""
        few = len(job.atoms.rows) <= kernels.FEW and len(job.atoms.rows) < job.rules.n_nonzero
        unit = bool(np.all(np.abs(job.atoms.norm2 - 1) < 1e-5))
        # Steps are counted in lanes, in the type of the signals.
        countable = job.rules.max_iter < 2**23
        return few and unit and countable and not (job.orthogonal or job.goal.given)

    def __call__(self, number: int) -> Piece:
        job = self.job
        signals = job.load(number)
        b = len(signals.x)
        for array in (self.c, self.value, self.zero, self.steps):
            array[...] = 0
        np.matmul(job.atoms.rows, signals.x.T, out=self.c[:, :b])
        self.c[job.twins] = 0
        before = self.c.copy()
        self.zero[:b] = job.rules.rounding * job.atoms.radius * np.sqrt(signals.norm2)
        kernels.few_atoms(
            self.gram, job.rules, self.c, self.zero, self.step, self.value, self.steps
        )
        found = fresh(self.room, signals)
        found.steps[:] = self.steps[:b]
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        kernels.gather_few(job.atoms, job.rules, block, before, self.c, self.value, found)
        return job.finish(number, signals, found)
