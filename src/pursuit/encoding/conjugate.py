"""Conjugate gradients in the P-norm, for many signals at once.

For each signal b, ½‖x − b‖² is minimised over x = Zᵀa from a = 0, by one step at a time:

    c = Z(x − b),  S = Σ_j c_j²,  w ← (S/S_before)·w − c,  e = Zᵀw,
    γ = −⟨c, w⟩ / ‖e‖²,  a ← a + γw,  x ← x + γe.

The sampling that makes this independent of the scale of the atoms, p_j ∝ 1/‖z_j‖², is uniform over
unit atoms, and a factor of p cancels: the atoms are divided by their norms and p does not appear.

Signals are columns, side by side: a step is two matrix products for all of them, and each has
scalars of its own, in float64 so that squares stay within their range. The products are with the
atoms and not with their Gram matrix, because the square of a condition number is lost there: with
one of 1e4 the fit stays 1e-10 … 1e-5 away from the best one by the Gram matrix, and comes within
1e-13 of it by the atoms. Few atoms are turned into the coordinates of their span first, so that
the products are no larger than they have to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.base.scaling import unit_rows
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.encoding.block import Block, BlockEncoder
from pursuit.encoding.codes import Codes
from pursuit.encoding.methods import EncodingMethod
from pursuit.encoding.plan import WORK_BYTES, Plan, Workload, possible_forms
from pursuit.kernels.pursuit import (
    CONVERGED,
    GOING,
    MAX_ITER,
    STALLED,
    Atoms,
)

EASY, HARD = 30.0, 1000.0
"""Condition numbers of unit atoms up to which float32 is as good as float64, and from which on it
pays to keep all earlier steps (``benchmarks/encode_accelerated.py`` measures both)."""
_DOUBLE = np.dtype(np.float64)
SMALL, LARGE, KNOWN = 16, 256, 1024
"""Ranks up to which earlier steps are always kept, up to which they may be, and up to which it
does not take too long to know a condition number."""
COLUMN_BYTES = 2**19
"""The coefficients of a block: few enough to stay in the cache."""
PIECE = 4096
"""Atoms that residuals are computed with at a time."""
FEW = 1024
"""Up to so many atoms, and if there are fewer than dimensions, signals are projected first."""
PROGRESS = 1 / 16
"""Directions are begun again only if S fell to this share since the last time."""
LOST = 1e-6
"""A direction whose ‖e‖² falls to this share when its part along earlier ones goes is rounding."""
CROWDED = 0.75
"""Columns are moved together when no more than this share of them still runs."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Unit atoms in an orthonormal basis, and the basis where it is not that of the signals."""

    rows: Array
    basis: Array | None
    norms: Array

    @staticmethod
    def of(atoms: Array, dtype: np.dtype[Any]) -> Frame:
        """The atoms (n, d), divided by their norms, for work in a precision."""
        unit, norms = unit_rows(atoms.astype(np.float64))
        if len(atoms) >= atoms.shape[1] or len(atoms) > FEW:
            return Frame(unit.astype(dtype, copy=False), None, norms)
        basis, upper = np.linalg.qr(unit.T)
        return Frame(np.ascontiguousarray(upper.T, dtype), basis.astype(dtype), norms)

    def coordinates(self, signals: Array) -> Array:
        """Rows of signals as columns."""
        rows = signals.astype(self.rows.dtype, copy=False)
        return np.ascontiguousarray((rows if self.basis is None else rows @ self.basis).T)

    def condition(self) -> float:
        """The largest singular value over the smallest; inf for dependent atoms in their span."""
        rows = self.rows.astype(np.float64)
        n, r = rows.shape
        squares = np.linalg.eigvalsh(rows.T @ rows if r <= n else rows @ rows.T)
        rounding = len(squares) * tolerances(_DOUBLE).rank * squares[-1]
        return float(np.sqrt(squares[-1] / squares[0])) if squares[0] > rounding else np.inf


class Earlier:
    """The last steps of every column, of unit image, for new directions to be orthogonal to."""

    def __init__(self, memory: int, frame: Frame, columns: int) -> None:
        n, r = frame.rows.shape
        self._images = np.empty((memory, r, columns), frame.rows.dtype)
        self._directions = np.empty((memory, n, columns), frame.rows.dtype)
        self._count = 0

    def take_off(self, direction: Array, image: Array) -> None:
        """The part of a direction that is orthogonal to earlier ones, in place."""
        images, directions = self._used
        if len(images):
            shares = np.einsum("krm,rm->km", images, image)
            image -= np.einsum("km,krm->rm", shares, images)
            direction -= np.einsum("km,knm->nm", shares, directions)

    def add(self, direction: Array, image: Array, scale: Array) -> None:
        """Keep a direction, in the place of the oldest."""
        if len(self._images):
            place = self._count % len(self._images)
            np.multiply(image, scale, out=self._images[place])
            np.multiply(direction, scale, out=self._directions[place])
            self._count += 1

    def forget(self, columns: Array) -> None:
        for kept in self._used:
            kept[..., columns] = 0

    def keep(self, columns: Array) -> None:
        for name, used in zip(("_images", "_directions"), self._used, strict=True):
            array = np.empty((*getattr(self, name).shape[:2], int(columns.sum())), used.dtype)
            array[: len(used)] = used[..., columns]
            setattr(self, name, array)

    @property
    def _used(self) -> tuple[Array, Array]:
        return self._images[: self._count], self._directions[: self._count]


class ConjugateSignals:
    """The signals that are still held: every array has a column, or an entry, for each of them."""

    def __init__(self, frame: Frame, targets: Array, zero: Array) -> None:
        n, m = len(frame.rows), targets.shape[1]
        self.signal, self.going = np.arange(m), np.ones(m, np.bool_)
        self.zero, self.target, self.rest = zero, targets, -targets  # rest = x − target
        self.coef, self.direction = np.zeros((2, n, m), targets.dtype)
        self.c = frame.rows @ self.rest
        self.energy = dot(self.c, self.c)  # S
        self.before = np.full(m, np.inf)  # S at the last step
        self.first = self.energy.copy()  # S where directions were begun

    def keep(self, those: Array) -> None:
        """Let the others go."""
        for name, array in vars(self).items():
            setattr(self, name, np.ascontiguousarray(array[..., those]))

    def is_flat(self, places: Array) -> Array:
        """Whether no slope of a column is above zero."""
        flat: Array = np.abs(self.c[:, places]).max(axis=0) <= self.zero[places]
        return flat


class ConjugateBlock:
    """The runs of some signals, all at the same step; each ends by itself.

    A run has CONVERGED when all slopes, recomputed from its coefficients, are below `zero`.
    It is STALLED where those that it kept are, or its next direction is nothing but rounding,
    and beginning again does not bring S further down.

    Parameters
    ----------
    frame
        The atoms.
    targets
        The signals in its coordinates, one a column.
    zero
        The slope that counts as zero, for each signal.
    memory
        How many earlier steps new directions are made orthogonal to once more; 0: rounding is let
        do what it does to conjugate gradients.

    Attributes
    ----------
    statuses, steps
        Of each signal; GOING where its run has not ended.
    held
        The columns of those that still run, and of some that have ended.
    """

    def __init__(self, frame: Frame, targets: Array, zero: Array, memory: int) -> None:
        m = targets.shape[1]
        self._rows, self._earlier = frame.rows, Earlier(memory, frame, m)
        self.statuses, self.steps = np.full(m, GOING, np.uint8), np.zeros(m, np.int64)
        self._ended = np.zeros((m, len(frame.rows)), targets.dtype)
        self.held = ConjugateSignals(frame, targets, zero)
        self.end(np.flatnonzero(self.held.is_flat(np.arange(m))), CONVERGED)

    @property
    def going(self) -> bool:
        """Whether any run has not ended."""
        return bool(self.held.going.any())

    def coef(self) -> Array:
        """The coefficients of all signals, as rows."""
        found, held = self._ended.copy(), self.held
        found[held.signal[held.going]] = held.coef[:, held.going].T
        return found

    def end(self, places: Array, status: int) -> None:
        """Leave the runs in some columns as they are."""
        signals = self.held.signal[places]
        self.statuses[signals] = status
        self._ended[signals] = self.held.coef[:, places].T
        self.held.going[places] = False

    def step(self) -> None:
        """One step of every run that has not ended."""
        held, direction, dtype = self.held, self.held.direction, self._rows.dtype
        direction *= (held.energy / held.before).astype(dtype)
        direction -= held.c
        image = self._rows.T @ direction
        whole = dot(image, image)
        self._earlier.take_off(direction, image)
        curvature, slope = dot(image, image), dot(direction, held.c)
        moves = (curvature > LOST * whole) & (slope < 0)
        gamma = np.where(moves, -slope / curvature, 0).astype(dtype)
        self._earlier.add(direction, image, np.where(moves, curvature**-0.5, 0).astype(dtype))
        held.coef += gamma * direction
        held.rest += gamma * image
        held.before = held.energy
        self.steps[held.signal[held.going]] += 1
        self._update(~moves)

    def _update(self, spent: Array) -> None:
        """Slopes where the runs are now; those that have nothing left to do are looked into."""
        held = self.held
        held.c = self._rows @ held.rest
        held.energy = dot(held.c, held.c)
        low = held.energy <= len(held.c) * held.zero**2
        near = np.flatnonzero(held.going & (spent | low))
        if near.size:
            self._restart(near[spent[near] | held.is_flat(near)])
        if held.going.sum() <= CROWDED * len(held.going):
            self._earlier.keep(held.going)
            held.keep(held.going)

    def _restart(self, places: Array) -> None:
        """Compute the slopes from the coefficients; end the runs that have no more to gain."""
        held = self.held
        held.rest[:, places] = self._rows.T @ held.coef[:, places] - held.target[:, places]
        held.c[:, places] = c = self._rows @ held.rest[:, places]
        energy, flat = dot(c, c), held.is_flat(places)
        stuck = ~flat & ~(energy <= PROGRESS * held.first[places])
        self.end(places[flat], CONVERGED)
        self.end(places[stuck], STALLED)
        held.energy[places] = held.first[places] = energy
        held.before[places] = np.inf
        self._earlier.forget(places[~flat & ~stuck])


def dot(a: Array, b: Array) -> Array:
    """The inner products of columns, summed in float64."""
    product: Array = np.einsum("nm,nm->m", a, b, dtype=np.float64)
    return product


# The plan ----------------------------------------------------------------------------------


def choose(
    load: Workload, atoms: Atoms, method: EncodingMethod, nonnegative: bool
) -> dict[str, Any]:
    """Return what a plan says of the blocks: the same for any number of signals."""
    possible_forms(load, ())  # it has no Gram matrix to do without
    rows = atoms.rows
    n, rank = load.n, min(load.n, load.d)
    is_known = rank <= (LARGE if rows.dtype == _DOUBLE else KNOWN)
    condition = Frame.of(rows, _DOUBLE).condition() if is_known else np.inf
    memory, basis = memory_for(n, rank, condition), 8 * rank * (rank + n)
    row = 8 * 8 * (n + rank) + (basis if memory else 0)
    block = max(128, min(2048, COLUMN_BYTES // (8 * n) // 64 * 64))
    precision = rows.dtype if condition <= EASY else _DOUBLE
    kept = "all earlier steps kept, " if memory else ""
    return {
        "form": "products",
        "block": max(1, min(block, WORK_BYTES // row)),
        "text": f"two matrix products a step in {precision}, {kept}".rstrip(", "),
        "memory": memory,
        "work_dtype": precision,
    }


def memory_for(n: int, rank: int, condition: float) -> int:
    """Return how many earlier steps are kept: as many as the rank where it pays, or none."""
    is_kept = rank <= SMALL or (rank <= LARGE and condition > HARD)
    return rank if is_kept and 64 * 8 * rank * (rank + n) <= WORK_BYTES else 0


# Blocks of signals -------------------------------------------------------------------------


def start(atoms: Atoms, plan: Plan, threads: int) -> Callable[[], ConjugateEncoder]:
    """Do the dictionary's part; return what gives a thread its encoder of blocks."""
    frame = Frame.of(atoms.rows, plan.work_dtype or plan.dtype)
    return lambda: ConjugateEncoder(atoms, plan, frame)


class ConjugateEncoder(BlockEncoder):
    """All signals of a block take their steps together."""

    def __init__(self, atoms: Atoms, plan: Plan, frame: Frame) -> None:
        super().__init__(atoms, plan)
        self.frame = frame

    def __call__(self, block: Block) -> Codes:
        x, norm2, targets2 = self.load(block)
        zero = tolerances(self.plan.dtype).dual_norm * np.sqrt(norm2)
        coordinates = self.frame.coordinates(x)
        run = ConjugateBlock(self.frame, coordinates, zero, self.plan.memory)
        run.end(np.flatnonzero(run.held.going & (norm2 <= targets2)), CONVERGED)
        outside2 = np.maximum(norm2 - dot(coordinates, coordinates), 0)
        for _ in range(self.plan.max_iter):
            if not run.going:
                break
            block.raise_if_interrupted()
            run.step()
            if self.plan.has_target:
                self._end_what_fits(run, x, norm2, targets2, outside2)
        run.end(np.flatnonzero(run.held.going), MAX_ITER)
        return self._collect(run, x, norm2)

    def _end_what_fits(
        self, run: ConjugateBlock, x: Array, norm2: Array, targets2: Array, outside2: Array
    ) -> None:
        """Only a residual of the code as it is written down counts as small enough."""
        held, who = run.held, run.held.signal
        at_least = dot(held.rest, held.rest) + outside2[who]
        at_least -= 8 * tolerances(self.plan.dtype).dual_norm * norm2[who]
        near = np.flatnonzero(held.going & (at_least <= targets2[who]))
        if near.size:
            left2 = self._left2(x[who[near]], self._written(held.coef[:, near].T))
            run.end(near[left2 <= targets2[who[near]]], CONVERGED)

    def _written(self, coef: Array) -> Array:
        """Coefficients for the atoms of the user."""
        written: Array = coef / (self.frame.norms * self.atoms.scale)
        return written.astype(self.plan.dtype)

    def _left2(self, x: Array, written: Array) -> Array:
        """‖residual‖² of codes from its definition."""
        rest = x.astype(np.float64)
        for start in range(0, len(self.atoms.scale), PIECE):
            here = slice(start, start + PIECE)
            part = written[:, here] * self.atoms.scale[here]
            rest -= part @ self.atoms.rows[here].astype(np.float64)
        return dot(rest.T, rest.T)

    def _collect(self, run: ConjugateBlock, x: Array, norm2: Array) -> Codes:
        statuses, written = run.statuses, self._written(run.coef())
        left2 = self._left2(x, written)
        # No code is worse than none, though rounding may take a signal that is far from all atoms
        # a last digit further.
        some = written.any(axis=1)
        worse = some & ~(left2 <= norm2)
        written[worse] = 0
        left2[worse | ~some] = norm2[worse | ~some]
        statuses[worse] = STALLED
        statuses[left2 <= tolerances(self.plan.dtype).dual_norm ** 2 * norm2] = CONVERGED
        used = written != 0
        indices = np.nonzero(used)[1].astype(np.int32)
        ends = np.sqrt(left2), run.steps, statuses
        return self.codes(used.sum(axis=1, dtype=np.int32), indices, written[used], *ends)


def losses(atoms: Array, signals: Array, best: Array, most: int) -> tuple[Array, Array]:
    """Σ over signals of f(x_t) − f* at t = 0, 1, … until all runs have ended, and their steps.

    Parameters
    ----------
    atoms, signals, best
        Rows: the atoms, the signals and their projections onto the span of the atoms.
    most
        The number of steps after which runs are left.
    """
    frame = Frame.of(atoms, _DOUBLE)
    zero = tolerances(_DOUBLE).dual_norm * np.linalg.norm(signals, axis=1)
    n, rank = len(atoms), min(atoms.shape)
    memory = memory_for(n, rank, frame.condition() if rank <= LARGE else np.inf)
    run = ConjugateBlock(frame, frame.coordinates(signals), zero, memory)
    end, values = frame.coordinates(best).T, []
    for t in range(most + 1):
        rest = run.coef() @ frame.rows - end
        values.append(0.5 * float(np.vdot(rest, rest)))
        if t == most or not run.going:
            break
        with np.errstate(all="ignore"):  # as in `encode`
            run.step()
    return np.array(values), run.steps
