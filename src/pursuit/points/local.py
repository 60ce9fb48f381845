"""Points over atoms that overlap few others: a step changes few correlations.

For f = ½‖x − b‖² a step x ← x − γz takes γz off the residual x − b and γ⟨z_i, z⟩ off the
correlations of the atoms that overlap z. The value falls by γ(c − ½γ‖z‖²), and a tree of maxima
finds the steepest atom: nothing costs more than the overlaps.

This module loads the compiler: `choose` imports it when a run is over such a set.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom
from pursuit.atoms.local import LocalAtoms
from pursuit.atoms.shifts import Shifts
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.kernels import local as kernels
from pursuit.objectives.quadratic import SquaredDistance, half_square
from pursuit.points.base import Point
from pursuit.points.ledger import Counts, Ledger


class LocalPoint(Point):
    """Coefficients, the residual x − b, the correlations of all atoms with it, their maxima."""

    atoms: LocalAtoms
    f: SquaredDistance
    is_local = True

    def __init__(self, f: SquaredDistance, atoms: LocalAtoms, x0: Array) -> None:
        self.f, self.atoms, self.x0 = f, atoms, x0
        self.counts, self.ledger = Counts(), Ledger(atoms)
        dtype = np.result_type(f.dtype, atoms.dtype, x0.dtype)
        gradient = f.gradient(x0).astype(dtype, copy=False)
        self._begin(self._laid_out(gradient), atoms.correlate(gradient).astype(dtype, copy=False))
        self.counts.setup += 1

    def _begin(self, gradient: Array, s: Array) -> None:
        self.residual, self.s, self.kept = gradient, s, kernels.planted(s)
        self.log = np.zeros(7)
        self.coefs = _opened(np.empty(0, np.int64), np.empty(0, s.dtype), 64)
        self.is_evaluated = False
        self._measure()

    def _measure(self) -> None:
        """The value and the maxima of what is kept."""
        self.log[kernels.VALUE] = half_square(self.residual)
        kernels.fill(self.kept)

    def empty_like(self) -> LocalPoint:
        other = object.__new__(type(self))
        other.f, other.atoms, other.x0 = self.f, self.atoms, self.x0
        other.counts, other.ledger = self.counts, self.ledger
        other._begin(np.zeros_like(self.residual), np.zeros_like(self.s))
        return other

    def arrays(self) -> dict[str, Array]:
        met, value = int(self.log[kernels.MET]), self.log[kernels.VALUE : kernels.VALUE + 1]
        atoms, weights, _ = self.coefs
        stored = {"atoms": atoms[:met], "weights": weights[:met], "value": value}
        return {**stored, "gradient": self.residual, "s": self.s}

    def restore(self, arrays: dict[str, Array]) -> None:
        if not {"atoms", "weights", "value", "gradient", "s"} <= arrays.keys():
            raise InputError("a point of another kind was stored; expected a run of the same set")
        weights = arrays["weights"]
        self.coefs = _opened(arrays["atoms"], weights, 64)
        self.log[kernels.VALUE] = arrays["value"][0]
        self.log[kernels.SUPPORT] = np.count_nonzero(weights)
        self.log[kernels.MET] = len(weights)
        self.residual[...], self.s[...] = arrays["gradient"], arrays["s"]
        kernels.fill(self.kept)
        self._invalidate()

    # How the gradient is laid out -------------------------------------------------------

    def _laid_out(self, d: Array) -> Array:
        return d.reshape(-1)

    def _natural(self, gradient: Array) -> Array:
        return gradient.reshape(self.atoms.shape)

    # What f says here -------------------------------------------------------------------

    @property
    def vector(self) -> Array:
        x: Array = (self.f.b + self._natural(self.residual)).astype(self.s.dtype)
        return x

    def value(self) -> float:
        return float(self.log[kernels.VALUE])

    def correlation(self, z: Atom) -> float:
        return float(self.s[z])

    def correlations_at(self, places: Array) -> Array:
        return self.s[places]

    def lmo(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        z = int(kernels.largest(self.kept))
        return z, float(self.s[z])

    def correlations(self) -> Array:
        return self.s

    def dual_norm(self) -> float:
        return abs(float(self.s[kernels.largest(self.kept)]))

    def curvature(self, z: Atom) -> float:
        return self.atoms.norm2(z)

    # Which atoms are in use -------------------------------------------------------------

    @property
    def used(self) -> Array:
        met = int(self.log[kernels.MET])
        used: Array = np.sort(self.coefs.atoms[:met][self.coefs.weights[:met] != 0])
        return used

    def weights(self, places: Array) -> Array:
        met = int(self.log[kernels.MET])
        order = np.argsort(self.coefs.atoms[:met])
        known = self.coefs.atoms[order]
        where = np.searchsorted(known, places)
        found = known[np.minimum(where, met - 1)] == places if met else np.zeros(len(places), bool)
        weights = np.zeros(len(places), self.s.dtype)
        weights[found] = self.coefs.weights[order][where[found]]
        return weights

    @property
    def coef(self) -> Array:  # type: ignore[override]
        """All coefficients, of which few are not zero."""
        coef, used = np.zeros(len(self.s), self.s.dtype), self.used
        coef[used] = self.weights(used)
        return coef

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.s.dtype

    @property
    def support(self) -> int:
        return int(self.log[kernels.SUPPORT])

    # Changing it ------------------------------------------------------------------------

    def move(self, gamma: float, z: Atom) -> None:
        step = self.s.dtype.type(gamma)
        fall = float(step) * (float(self.s[z]) - 0.5 * float(step) * self.curvature(z))
        self.reserve(1)
        self._take(step, z)
        kernels.note(self.coefs, self.log, z, step, fall)
        self._count_atoms(round(self.atoms.crowding))
        self.is_evaluated = False

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        steps, weights = gammas.astype(self.s.dtype), self.weights(places)
        changed = np.flatnonzero(weights - steps != weights)
        for step, z in zip(steps[changed], places[changed].tolist(), strict=True):
            self.move(step, z)

    def _take(self, gamma: Any, z: Atom) -> None:
        """The gradient and the correlations after a step."""
        where, entries = self.atoms.support(z)
        self.residual[where] -= gamma * entries
        places, products = self.atoms.overlaps(z)
        kernels.take(self.kept, places, products.astype(self.s.dtype, copy=False), gamma)

    def reserve(self, atoms: int) -> None:
        """Make room to note so many more atoms."""
        met = int(self.log[kernels.MET])
        if met + atoms > len(self.coefs.atoms):
            self.coefs = _opened(self.coefs.atoms[:met], self.coefs.weights[:met], met + atoms)

    def refresh(self) -> None:
        used = self.used
        weights = self.weights(used).astype(np.float64)
        gradient = self.f.gradient(self.x0 + self.atoms.combine_some(weights, used))
        self.residual[...] = self._laid_out(gradient)
        self.s[...] = self.atoms.correlate(gradient)
        self._measure()
        self._invalidate()

    @property
    def refresh_factor(self) -> int:
        # A step changes one correlation in so many: as much longer do they stay true.
        return max(1, int(len(self.atoms) / self.atoms.crowding))


def _opened(atoms: Array, weights: Array, more: int) -> kernels.SparseCoefficients:
    """A table with these entries and room for more, at most a quarter of its slots taken."""
    room = len(atoms) + more
    slots = np.full(1 << (4 * room).bit_length(), -1, np.int64)
    places, numbers = np.empty(room, np.int64), np.empty(room, weights.dtype)
    coefs = kernels.SparseCoefficients(places, numbers, slots)
    kernels.entered(coefs, atoms, weights)
    return coefs


class ShiftsPoint(LocalPoint):
    """The same over `Shifts`, whose steps are compiled."""

    atoms: Shifts

    def _laid_out(self, d: Array) -> Array:
        return np.array(self.atoms.canonical(d), order="C")

    def _natural(self, gradient: Array) -> Array:
        return self.atoms.natural(gradient)

    @cached_property
    def windows(self) -> kernels.Windows:
        """The templates and their overlaps, for kernels."""
        atoms, dtype = self.atoms, self.s.dtype
        cross = atoms.cross.astype(dtype, copy=False)
        return kernels.Windows(
            atoms.templates.astype(dtype, copy=False),
            np.ascontiguousarray(cross.reshape(*cross.shape[:2], -1)),
            atoms.rows,
            atoms.columns,
        )

    def _take(self, gamma: Any, z: Atom) -> None:
        kernels.move(self.kept, self.windows, self.residual, z, gamma)

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        self.reserve(len(places))
        kept = (self.kept, self.windows, self.residual, self.coefs)
        steps = (self.atoms.squares, places, gammas.astype(self.s.dtype), self.log)
        kernels.move_all(*kept, *steps)
        self._count_atoms(len(places) * round(self.atoms.crowding))
        self.is_evaluated = False
