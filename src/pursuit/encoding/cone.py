"""Non-negative codes: the forms of a plan over a cone, run.

Slopes come from the Gram matrix where it fits, in float64 whatever the signals are, else from one
matrix product of the residuals of a block with the atoms for each step.
"""

from __future__ import annotations

import numpy as np

from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array
from pursuit.encoding.buffers import fresh, room_for
from pursuit.encoding.forms import symmetric_product
from pursuit.encoding.job import Chunk, Job
from pursuit.encoding.offered import Started
from pursuit.encoding.plan import Form
from pursuit.kernels import cone as cone_kernels
from pursuit.kernels import pursuit as kernels
from pursuit.kernels.cone import ConeScratch, ConeSteps, Small
from pursuit.kernels.layouts import Piece, aligned
from pursuit.kernels.pursuit import Block, PursuitRules
from pursuit.kernels.simd import NARROW

_DOUBLE = np.dtype(np.float64)
_TILE = NARROW // _DOUBLE.itemsize
APART = 1e-6
"""The least eigenvalue of a Gram matrix of unit atoms whose fits lose no digit that is missed."""


def start(job: Job, threads: int) -> Started:
    """Do the dictionary's part in the form of the plan."""
    if job.plan.form is Form.PRODUCTS:
        return Started(lambda: ConeProducts(job))
    shared = Double(job, threads)
    return Started(lambda: ConeGram(job, shared))


def _lengths(job: Job) -> Array:
    """The norms of the atoms, exactly one where they are at unit norm, in whole tiles."""
    length = aligned((-(-len(job.atoms.rows) // _TILE) * _TILE,), _DOUBLE)
    unit = np.all(np.abs(job.atoms.norm2 - 1) < 1e-5)
    length[: len(job.atoms.rows)] = 1.0 if unit else np.sqrt(job.atoms.norm2)
    return length


def _steps(job: Job) -> ConeSteps:
    """Exact steps in both directions; or ⟨residual, atom⟩ for the atoms as given, forward only.

    For atoms divided by a scale s that is c/s², with c for those that the kernels have.
    """
    if not job.method.forward_only:
        return ConeSteps(job.atoms.norm2, back=True)
    with np.errstate(over="ignore", divide="ignore"):
        return ConeSteps(1 / job.scale**2, back=False)


def _rules(job: Job, by_themselves: bool = False) -> PursuitRules:
    """The rules of the job, with what counts as dependent where products are float64.

    Rounding the entries of an atom to their type moves it by a few units in the last place: no
    nearer to the others can it be told from one in their span.
    """
    apart = 32 * float(np.finfo(job.dtype).eps)
    if by_themselves:
        return job.rules._replace(dependent=job.apart**2)
    double = 64 * float(np.finfo(np.float64).eps)
    return job.rules._replace(dependent=max(double, apart**2, job.apart**2))


def _room(job: Job, slopes: int, unit: Array | None = None) -> ConeScratch:
    """Room for one thread; with the atoms at unit norm, for fits by themselves."""
    w, d = job.width if job.orthogonal else 0, job.atoms.rows.shape[1]
    fit = np.zeros((w, w)), np.zeros(w), np.zeros(w)
    single = job.dtype == np.float32
    rows = np.empty((0, d)) if unit is None else unit
    q = np.empty((0 if unit is None else w, d))
    return ConeScratch(aligned((slopes,), _DOUBLE), np.zeros(d), *fit, job.scale, single, rows, q)


class Double:
    """Atoms and their products in float64, for all threads.

    Orthogonal pursuit has its Gram matrix at unit norm, matching pursuit that of the atoms.
    """

    def __init__(self, job: Job, threads: int) -> None:
        rows = job.atoms.rows.astype(_DOUBLE)
        self.atoms = job.atoms._replace(rows=rows)
        self.length = _lengths(job)
        norms = self.length[: len(rows), None] if job.orthogonal else 1.0
        self.unit, self.twins = rows / norms, job.twins
        self.gram = symmetric_product(self.unit, len(self.length), threads)
        self.gram[:, job.twins] = 0
        self.near = job.apart > 0 and self._nearly_dependent()
        self.few = np.zeros((rows.shape[1], _TILE)) if len(rows) <= _TILE else None
        if self.few is not None:
            self.few[:, : len(rows)] = self.unit.T

    def _nearly_dependent(self) -> bool:
        """Whether a fit from the Gram matrix may lose digits that an exact one needs."""
        n, d = self.unit.shape
        if n > d or self.twins.size:
            return True
        with single_threaded_blas:
            return bool(np.linalg.eigvalsh(self.gram[:, :n])[0] < APART)

    def correlate(self, x: Array, out: Array) -> None:
        """out (b, padded) = x (b, d) times the atoms; what is beyond them stays zero."""
        if self.few is None:
            np.matmul(x, self.unit.T, out=out[:, : len(self.unit)])
        else:  # a handful of them: a matrix product would take longer to begin
            out[:] = 0
            kernels.correlate_few(x, self.few, out)
        if self.twins.size:
            out[:, self.twins] = 0


class ConeGram:
    """One product for the slopes of a block, then rows of the Gram matrix for each step."""

    def __init__(self, job: Job, shared: Double) -> None:
        self.job, self.shared = job, shared
        self.rules, self.steps = _rules(job, shared.near), _steps(job)
        self.room = room_for(job.plan.block, job.width)
        self.c = aligned((job.plan.block, len(shared.length)), _DOUBLE)
        self.work = _room(job, len(shared.length), shared.unit if shared.near else None)

    def __call__(self, chunk: Chunk) -> Piece:
        job, shared = self.job, self.shared
        signals = job.load(chunk)
        x = signals.x.astype(_DOUBLE, copy=False)
        c = self.c[: len(x)]
        shared.correlate(x, c)
        block = Block(x, c, signals.norm2, job.goal.squared(signals))
        found = fresh(self.room, signals)
        rules = self.rules._replace(halt=chunk.halt)
        what = shared.gram, rules, block, found
        if job.orthogonal:
            cone_kernels.orthogonal(shared.atoms, shared.length, *what, self.work)
        else:
            cone_kernels.matching_pursuit(shared.atoms, self.steps, *what, self.work.rest)
        return job.finish(chunk, signals, found)


class ConeProducts:
    """The residuals of a block, multiplied by the dictionary at each step."""

    def __init__(self, job: Job) -> None:
        self.job, self.rules, self.length = job, _rules(job), _lengths(job)
        self.steps = _steps(job)
        b, w = job.plan.block, job.width
        self.room, self.work = room_for(b, w), _room(job, 0)
        self.c = aligned((b, job.padded), job.dtype)
        self.rest = np.empty((b, job.atoms.rows.shape[1]), job.dtype)
        if job.orthogonal:
            square, row, places = (b, w, w), (b, w), np.empty((b, w), np.int32)
            self.small = Small(
                *(np.empty(square), np.empty(row), places),
                *(np.empty(square), np.empty(row), np.empty_like(places)),
            )

    def __call__(self, chunk: Chunk) -> Piece:
        job = self.job
        signals = job.load(chunk)
        self.rest[: len(signals.x)] = signals.x
        found = fresh(self.room, signals)
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        found.status[signals.norm2 <= block.goal2] = kernels.CONVERGED
        if job.orthogonal:
            self.small.order[:] = np.arange(job.width)
        rules = self.rules._replace(halt=chunk.halt)
        while (live := np.flatnonzero(found.status == kernels.GOING)).size:
            job.correlate(self.rest[live], self.c[: live.size])
            state = rules, block, self.rest, live, found
            if job.orthogonal:
                what = *state, self.small, self.work
                cone_kernels.step_orthogonally(job.atoms, self.length, *what)
            else:
                cone_kernels.step_from_residuals(job.atoms, self.steps, *state, self.work.rest)
        return job.finish(chunk, signals, found)
