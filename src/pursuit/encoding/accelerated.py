"""Blocks of signals through conjugate gradients: how they come in, end and leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.base.validation import Array
from pursuit.encoding.conjugate import ConjugateBlock, Frame, dot
from pursuit.encoding.job import Chunk, Job
from pursuit.encoding.plan import WORK_BYTES, Form, Plan
from pursuit.kernels.layouts import Piece, Signals
from pursuit.kernels.pursuit import CONVERGED, MAX_ITER, STALLED

EASY, HARD = 30.0, 1000.0
"""Condition numbers of unit atoms up to which float32 is as good as float64, and from which on it
pays to keep all earlier steps (``benchmarks/encode_accelerated.py`` measures both)."""
DOUBLE = np.dtype(np.float64)
SMALL, LARGE, KNOWN = 16, 256, 1024
"""Ranks up to which earlier steps are always kept, up to which they may be, and up to which it
does not take too long to know a condition number."""
COLUMN_BYTES = 2**19
"""The coefficients of a block: few enough to stay in the cache."""
PIECE = 4096
"""Atoms that residuals are computed with at a time."""


@dataclass(frozen=True)
class ConjugatePlan(Plan):
    """Blocks, how many earlier steps are kept, and the precision of the work."""

    memory: int
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        kept = "all earlier steps kept, " if self.memory else ""
        return f"two matrix products a step in {self.dtype}, {kept}blocks of {self.block} signals"


def plan(atoms: Array, width: int) -> ConjugatePlan:
    """How codes of up to `width` atoms are made: the same for any number of signals."""
    n, d = atoms.shape
    rank = min(n, d)
    known = rank <= (LARGE if atoms.dtype == DOUBLE else KNOWN)
    condition = Frame.of(atoms, DOUBLE).condition() if known else np.inf
    kept = rank <= SMALL or (rank <= LARGE and condition > HARD)
    basis = 8 * rank * (rank + n)
    memory = rank if kept and 64 * basis <= WORK_BYTES else 0
    room = 8 * 8 * (n + rank) + (basis if memory else 0)
    block = max(128, min(2048, COLUMN_BYTES // (8 * n) // 64 * 64))
    block = max(1, min(block, WORK_BYTES // room))
    precision = atoms.dtype if condition <= EASY else DOUBLE
    return ConjugatePlan(Form.PRODUCTS, block, width, 0, memory, precision)


def encoder(job: Job) -> Callable[[], Callable[[Chunk], Piece]]:
    """What gives a thread its encoder; the dictionary's part is done here, once."""
    plan = job.plan
    assert isinstance(plan, ConjugatePlan)
    shared = ConjugateCodes(job, Frame.of(job.atoms.rows, plan.dtype), plan.memory)
    return lambda: shared


@dataclass(frozen=True, eq=False)
class ConjugateCodes:
    """Gives the codes of a block; nothing of it changes, so that all threads may use one."""

    job: Job
    frame: Frame
    memory: int

    def __call__(self, chunk: Chunk) -> Piece:
        signals = self.job.load(chunk)
        targets = self.frame.coordinates(signals.x)
        zero = self.job.rules.rounding * np.sqrt(signals.norm2)
        run = ConjugateBlock(self.frame, targets, zero, self.memory)
        goal2 = self.job.goal.squared(signals)
        run.end(np.flatnonzero(run.held.going & (signals.norm2 <= goal2)), CONVERGED)
        outside2 = np.maximum(signals.norm2 - dot(targets, targets), 0)
        for _ in range(self.job.rules.max_iter):
            if not run.going:
                break
            chunk.heed()
            run.step()
            if self.job.goal.given:
                self._end_what_fits(run, signals, goal2, outside2)
        run.end(np.flatnonzero(run.held.going), MAX_ITER)
        return self._piece(chunk, signals, run)

    def _end_what_fits(
        self, run: ConjugateBlock, signals: Signals, goal2: Array, outside2: Array
    ) -> None:
        """Only a residual of the code as it is written down counts as small enough."""
        held, who = run.held, run.held.signal
        at_least = dot(held.rest, held.rest) + outside2[who]
        at_least -= 8 * self.job.rules.rounding * signals.norm2[who]
        near = np.flatnonzero(held.going & (at_least <= goal2[who]))
        if near.size:
            chosen = Signals(*(array[who[near]] for array in signals))
            left2 = self._left2(chosen, self._written(chosen, held.coef[:, near].T))
            run.end(near[left2 <= goal2[who[near]]], CONVERGED)

    def _written(self, signals: Signals, coef: Array) -> Array:
        """Coefficients for the signals and atoms of the user, in float64; inf beyond its range."""
        with np.errstate(over="ignore"):
            written: Array = coef * signals.unscale[:, None] / (self.frame.norms * self.job.scale)
        return written

    def _left2(self, signals: Signals, written: Array) -> Array:
        """‖residual‖² of codes in the precision that they are given in, from its definition."""
        job, rest = self.job, signals.x.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            given = written.astype(job.dtype).astype(np.float64)
            for start in range(0, len(job.scale), PIECE):
                here = slice(start, start + PIECE)
                part = given[:, here] * job.scale[here] / signals.unscale[:, None]
                rest -= part @ job.atoms.rows[here].astype(np.float64)
            return dot(rest.T, rest.T)

    def _piece(self, chunk: Chunk, signals: Signals, run: ConjugateBlock) -> Piece:
        job, statuses = self.job, run.statuses
        coef = run.coef()
        written = self._written(signals, coef)
        self._refuse_range(chunk, signals, coef, written)
        left2 = self._left2(signals, written)
        # No code is worse than none, though rounding may take a signal that is far from all atoms
        # a last digit further.
        some = written.any(axis=1)
        worse = some & ~(left2 <= signals.norm2)
        written[worse] = 0
        left2[worse | ~some] = signals.norm2[worse | ~some]
        statuses[worse] = STALLED
        statuses[left2 <= job.rules.rounding**2 * signals.norm2] = CONVERGED
        values = written.astype(job.dtype)
        used = values != 0
        sizes = used.sum(axis=1, dtype=np.int32)
        indices = np.nonzero(used)[1].astype(np.int32)
        norms = np.sqrt(left2) * signals.unscale
        return Piece(sizes, indices, values[used], norms, run.steps, statuses)

    def _refuse_range(self, chunk: Chunk, signals: Signals, coef: Array, written: Array) -> None:
        """A coefficient that cannot be written down is missed, unless it is rounding."""
        limits, size = np.finfo(self.job.dtype), np.abs(written)
        missed = np.abs(coef) > self.job.rules.rounding * np.sqrt(signals.norm2)[:, None]
        missed &= size < limits.smallest_normal
        bad = np.flatnonzero((missed | ~(size <= limits.max)).any(axis=1))
        if bad.size:
            self.job.refuse(chunk, int(bad[0]))


def losses(atoms: Array, signals: Array, best: Array, most: int) -> tuple[Array, Array]:
    """Σ over signals of f(x_t) − f* at t = 0, 1, … until all runs have ended, and their steps.

    Parameters
    ----------
    atoms, signals, best
        Rows: the atoms, the signals and their projections onto the span of the atoms.
    most
        The number of steps after which runs are left.
    """
    frame = Frame.of(atoms, DOUBLE)
    rounding = 8 * float(np.finfo(DOUBLE).eps)
    zero = rounding * np.linalg.norm(signals, axis=1)
    memory = plan(atoms, len(atoms)).memory
    run = ConjugateBlock(frame, frame.coordinates(signals), zero, memory)
    end, values = frame.coordinates(best).T, []
    for t in range(most + 1):
        rest = run.coef() @ frame.rows - end
        values.append(0.5 * float(np.vdot(rest, rest)))
        if t == most or not run.going:
            break
        run.step()
    return np.array(values), run.steps
