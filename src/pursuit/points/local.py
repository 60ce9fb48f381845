"""Points over atoms that overlap few others: a step changes few correlations.

For f = ½‖x − b‖² a step x ← x − γz takes γz off the gradient x − b and γ⟨z_i, z⟩ off the
correlations of the atoms that overlap z. The value falls by γ(c − ½γ‖z‖²), and a tree of maxima
finds the steepest atom: nothing costs more than the overlaps.

This module loads the compiler: `choose` imports it when a run is over such a set.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.local import LocalAtoms
from pursuit.atoms.shifts import Shifts
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.kernels import local as kernels
from pursuit.objectives.quadratic import SquaredDistance, half_square
from pursuit.points.base import Point
from pursuit.points.ledger import Counts, Ledger


class LocalPoint(Point):
    """Coefficients, the gradient x − b, the correlations of all atoms with it, their maxima."""

    atoms: LocalAtoms
    f: SquaredDistance
    local = True

    def __init__(self, f: SquaredDistance, atoms: LocalAtoms, x0: Array) -> None:
        self.f, self.atoms, self.x0 = f, atoms, x0
        self.counts, self.ledger = Counts(), Ledger(atoms)
        self._allocate(np.dtype(np.result_type(f.dtype, atoms.dtype, x0.dtype)))
        self._correlate(x0)
        self.counts.setup += 1

    def _allocate(self, dtype: np.dtype[np.floating]) -> None:
        n = len(self.atoms)
        # Pages of zeros that are never written take no memory: the coefficients are sparse.
        self.coef = np.zeros(n, dtype)
        self.s = np.empty(n, dtype)
        bits, leaves = self.s.view(f"i{dtype.itemsize}"), -(-n // kernels.LEAF)
        nodes = 2 << (leaves - 1).bit_length()
        self.kept = kernels.Kept(self.s, bits, np.zeros(nodes, bits.dtype))
        self.touched, self.notes = np.empty(64, np.int64), np.zeros(7)
        self.looked = False

    def _correlate(self, x: Array) -> None:
        """What is kept, computed from x itself."""
        gradient = self.f.gradient(x)
        self.gradient = self._laid_out(gradient.astype(self.coef.dtype))
        self.s[...] = self.atoms.correlate(gradient)
        self.notes[kernels.VALUE] = half_square(self.gradient)
        kernels.fill(self.kept)

    def share(self) -> LocalPoint:
        other = object.__new__(type(self))
        other.f, other.atoms, other.x0 = self.f, self.atoms, self.x0
        other.counts, other.ledger = self.counts, self.ledger
        other._allocate(self.coef.dtype)
        other.gradient = np.empty_like(self.gradient)
        return other

    def arrays(self) -> dict[str, Array]:
        used = self.used
        value = self.notes[kernels.VALUE : kernels.VALUE + 1]
        stored = {"used": used, "weights": self.coef[used], "value": value}
        return {**stored, "gradient": self.gradient, "s": self.s}

    def restore(self, arrays: dict[str, Array]) -> None:
        if not {"used", "weights", "value", "gradient", "s"} <= arrays.keys():
            raise InputError("a point of another kind was stored; expected a run of the same set")
        self.coef[self.used] = 0
        used = arrays["used"]
        self.coef[used] = arrays["weights"]
        self.touched = np.array([*used, *[0] * 64], np.int64)
        self.notes[kernels.VALUE] = arrays["value"][0]
        self.notes[kernels.SUPPORT] = self.notes[kernels.TOUCHED] = len(used)
        self.gradient[...], self.s[...] = arrays["gradient"], arrays["s"]
        kernels.fill(self.kept)
        self._changed()

    # How the gradient is laid out -------------------------------------------------------

    def _laid_out(self, d: Array) -> Array:
        return d.reshape(-1)

    def _natural(self, gradient: Array) -> Array:
        return gradient.reshape(self.atoms.shape)

    # What f says here -------------------------------------------------------------------

    @property
    def vector(self) -> Array:
        x: Array = (self.f.b + self._natural(self.gradient)).astype(self.coef.dtype)
        return x

    def value(self) -> float:
        return float(self.notes[kernels.VALUE])

    def value_along(self, gamma: float, z: Atom) -> float:
        return self.value() - gamma * (float(self.s[z]) - 0.5 * gamma * self.curvature(z))

    def slope(self, z: Atom) -> float:
        return float(self.s[z])

    def slopes(self, places: Array) -> Array:
        return self.s[places]

    def slope_along(self, gamma: float, z: Atom) -> float:
        return float(self.s[z]) - gamma * self.curvature(z)

    def steepest(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        z = int(kernels.largest(self.kept))
        return z, float(self.s[z])

    def correlations(self) -> Array:
        return self.s

    def largest_slope(self) -> float:
        return abs(float(self.s[kernels.largest(self.kept)]))

    def curvature(self, z: Atom) -> float:
        return self.atoms.norm2(z)

    def slope_at(self, x: Array, atoms: AtomSet, scale: Array | None) -> float:
        if scale is None:
            return atoms.dual_norm(self.f.gradient(x))
        return super().slope_at(x, atoms, scale)

    # Which atoms are in use -------------------------------------------------------------

    @property
    def used(self) -> Array:
        met = np.unique(self.touched[: int(self.notes[kernels.TOUCHED])])
        used: Array = met[self.coef[met] != 0]
        return used

    @property
    def support(self) -> int:
        return int(self.notes[kernels.SUPPORT])

    # Changing it ------------------------------------------------------------------------

    def move(self, gamma: float, z: Atom) -> None:
        step = self.coef.dtype.type(gamma)
        fall = float(step) * (float(self.s[z]) - 0.5 * float(step) * self.curvature(z))
        self.room(1)
        self._take(step, z)
        kernels.note(self.coef, self.touched, self.notes, z, step, fall)
        self._touch(round(self.atoms.crowding))
        self.looked = False

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        for gamma, z in zip(gammas.astype(self.coef.dtype), places.tolist(), strict=True):
            if self.coef[z] - gamma != self.coef[z]:
                self.move(gamma, z)

    def _take(self, gamma: Any, z: Atom) -> None:
        """The gradient and the correlations after a step."""
        where, entries = self.atoms.support(z)
        self.gradient[where] -= gamma * entries
        places, products = self.atoms.overlaps(z)
        kernels.take(self.kept, places, products.astype(self.s.dtype, copy=False), gamma)

    def room(self, atoms: int) -> None:
        """Make room to note so many more atoms."""
        needed = int(self.notes[kernels.TOUCHED]) + atoms
        if needed > len(self.touched):
            self.touched = np.concatenate([self.touched, np.empty(needed, np.int64)])

    def refresh(self) -> None:
        used = self.used
        weights = self.coef[used].astype(np.float64)
        self._correlate(self.x0 + self.atoms.combine_some(weights, used))
        self._changed()

    @property
    def steadiness(self) -> int:
        # A step changes one correlation in so many: as much longer do they stay true.
        return max(1, int(len(self.atoms) / self.atoms.crowding))


class ShiftsPoint(LocalPoint):
    """The same over `Shifts`, whose steps are compiled."""

    atoms: Shifts
    compiled = True

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
        kernels.move(self.kept, self.windows, self.gradient, z, gamma)

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        self.room(len(places))
        kept = (self.kept, self.windows, self.gradient, self.coef, self.touched)
        steps = (self.atoms.squares, places, gammas.astype(self.coef.dtype), self.notes)
        kernels.move_all(*kept, *steps)
        self._touch(len(places) * round(self.atoms.crowding))
        self.looked = False
