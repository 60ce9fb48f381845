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

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.pursuit import CONVERGED, GOING, STALLED

FEW = 1024
"""Up to so many atoms, and if there are fewer than dimensions, signals are projected first."""
PROGRESS = 1 / 16
"""Directions are begun anew only if S fell to this share since the last time."""
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
        unit = atoms.astype(np.float64)
        top = np.maximum(unit.max(axis=1), -unit.min(axis=1))  # squares stay within the range
        unit /= top[:, None]
        lengths = np.sqrt(dot(unit.T, unit.T))
        unit /= lengths[:, None]
        norms = top * lengths
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
        rounding = len(squares) * float(np.finfo(np.float64).eps) * squares[-1]
        return float(np.sqrt(squares[-1] / squares[0])) if squares[0] > rounding else np.inf


class Earlier:
    """The last steps of every column, of unit image, for new directions to be orthogonal to."""

    def __init__(self, memory: int, frame: Frame, columns: int) -> None:
        n, r = frame.rows.shape
        self._images = np.empty((memory, r, columns), frame.rows.dtype)
        self._ways = np.empty((memory, n, columns), frame.rows.dtype)
        self._count = 0

    def take_off(self, way: Array, image: Array) -> None:
        """The part of a direction that is orthogonal to earlier ones, in place."""
        images, ways = self._used
        if len(images):
            shares = np.einsum("krm,rm->km", images, image)
            image -= np.einsum("km,krm->rm", shares, images)
            way -= np.einsum("km,knm->nm", shares, ways)

    def add(self, way: Array, image: Array, scale: Array) -> None:
        """Keep a direction, in the place of the oldest."""
        if len(self._images):
            place = self._count % len(self._images)
            np.multiply(image, scale, out=self._images[place])
            np.multiply(way, scale, out=self._ways[place])
            self._count += 1

    def forget(self, columns: Array) -> None:
        for kept in self._used:
            kept[..., columns] = 0

    def keep(self, columns: Array) -> None:
        for name, used in zip(("_images", "_ways"), self._used, strict=True):
            room = np.empty((*getattr(self, name).shape[:2], int(columns.sum())), used.dtype)
            room[: len(used)] = used[..., columns]
            setattr(self, name, room)

    @property
    def _used(self) -> tuple[Array, Array]:
        return self._images[: self._count], self._ways[: self._count]


class ConjugateSignals:
    """The signals that are still held: every array has a column, or an entry, for each of them."""

    def __init__(self, frame: Frame, targets: Array, zero: Array) -> None:
        n, m = len(frame.rows), targets.shape[1]
        self.signal, self.going = np.arange(m), np.ones(m, np.bool_)
        self.zero, self.target, self.rest = zero, targets, -targets  # rest = x − target
        self.coef, self.way = np.zeros((2, n, m), targets.dtype)
        self.c = frame.rows @ self.rest
        self.energy = dot(self.c, self.c)  # S
        self.before = np.full(m, np.inf)  # S at the last step
        self.first = self.energy.copy()  # S where directions were begun

    def keep(self, those: Array) -> None:
        """Let the others go."""
        for name, array in vars(self).items():
            setattr(self, name, np.ascontiguousarray(array[..., those]))

    def flat(self, places: Array) -> Array:
        """Whether no slope of a column is above zero."""
        flat: Array = np.abs(self.c[:, places]).max(axis=0) <= self.zero[places]
        return flat


class ConjugateBlock:
    """The runs of some signals, all at the same step; each ends by itself.

    A run has CONVERGED when all slopes, computed anew from its coefficients, are below `zero`.
    It is STALLED where those that it kept are, or its next direction is nothing but rounding,
    and beginning anew does not bring S further down.

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
        self.end(np.flatnonzero(self.held.flat(np.arange(m))), CONVERGED)

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
        held, way, dtype = self.held, self.held.way, self._rows.dtype
        with np.errstate(all="ignore"):  # in columns that have ended
            way *= (held.energy / held.before).astype(dtype)
            way -= held.c
            image = self._rows.T @ way
            whole = dot(image, image)
            self._earlier.take_off(way, image)
            bend, slope = dot(image, image), dot(way, held.c)
            moves = (bend > LOST * whole) & (slope < 0)
            gamma = np.where(moves, -slope / bend, 0).astype(dtype)
            self._earlier.add(way, image, np.where(moves, bend**-0.5, 0).astype(dtype))
            held.coef += gamma * way
            held.rest += gamma * image
            held.before = held.energy
            self.steps[held.signal[held.going]] += 1
            self._look(~moves)

    def _look(self, spent: Array) -> None:
        """Slopes where the runs are now; those that have nothing left to do are looked into."""
        held = self.held
        held.c = self._rows @ held.rest
        held.energy = dot(held.c, held.c)
        low = held.energy <= len(held.c) * held.zero**2
        near = np.flatnonzero(held.going & (spent | low))
        if near.size:
            self._begin_anew(near[spent[near] | held.flat(near)])
        if held.going.sum() <= CROWDED * len(held.going):
            self._earlier.keep(held.going)
            held.keep(held.going)

    def _begin_anew(self, places: Array) -> None:
        """Compute the slopes from the coefficients; end the runs that have no more to gain."""
        held = self.held
        held.rest[:, places] = self._rows.T @ held.coef[:, places] - held.target[:, places]
        held.c[:, places] = c = self._rows @ held.rest[:, places]
        energy, flat = dot(c, c), held.flat(places)
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
