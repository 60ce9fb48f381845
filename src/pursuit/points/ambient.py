"""The ambient form: x itself, and its image under the linear map that makes f cheap."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.points.base import CombiningPoint, Point, Shift, combined
from pursuit.points.ledger import Counts, Ledger


class AmbientPoint(CombiningPoint):
    """x and its image under f's linear map."""

    _gradient: Array | None
    _correlations: Array | None
    _uncounted: Array | None
    _largest: float | None

    def __init__(self, f: Objective, atoms: AtomSet, x0: Array) -> None:
        self.f, self.atoms = f, atoms
        self.counts, self.ledger = Counts(), Ledger(atoms)
        dtype = np.result_type(f.dtype, atoms.dtype, x0.dtype)
        self.x0 = x0
        self.x = x0.astype(dtype, copy=True)
        image = f.image(self.x)
        self.image = self.x if image is self.x else image.astype(dtype, copy=True)
        self.coef = np.zeros(self.ledger.size, dtype)
        self._invalidate()

    def empty_like(self) -> AmbientPoint:
        other = object.__new__(type(self))
        other.f, other.atoms, other.x0 = self.f, self.atoms, self.x0
        other.counts, other.ledger = self.counts, self.ledger
        other.x = np.empty_like(self.x)
        other.image = other.x if self.image is self.x else np.empty_like(self.image)
        other.coef = np.zeros(self.ledger.size, self.coef.dtype)
        other._invalidate()
        return other

    def arrays(self) -> dict[str, Array]:
        self._grow()
        stored = {"x": self.x, "coef": self.coef}
        return stored if self.image is self.x else {**stored, "image": self.image}

    @property
    def vector(self) -> Array:
        return self.x

    def value(self) -> float:
        return self.f.value_at(self.x, self.image)

    def value_along(self, gamma: float, z: Atom) -> float:
        return self.f.value_at(*self._moved(gamma, z))

    def correlations_at(self, places: Array) -> Array:
        if self._correlations is not None:
            return self._correlations[places]
        self._count_atoms(len(places))
        return self._finite.correlate_some(self.gradient(), places)

    def derivative_along(self, gamma: float, z: Atom) -> float:
        moved = self._moved(gamma, z)
        self._count_atoms()
        return self.atoms.inner(self.f.gradient_at(*moved), z)

    def _moved(self, gamma: float, z: Atom) -> tuple[Array, Array]:
        """x − γz and its image."""
        x: Array = self.x - gamma * self.atoms.vector(z)
        image = x if self.image is self.x else self.image - gamma * self._atom_image(z)
        return x, image

    def gradient(self) -> Array:
        """∇f(x), kept until x changes."""
        if self._gradient is None:
            self._gradient = self.f.gradient_at(self.x, self.image)
        return self._gradient

    def correlation(self, z: Atom) -> float:
        if self._correlations is not None:
            return float(self._correlations[z])
        self._count_atoms()
        return self.atoms.inner(self.gradient(), z)

    def lmo(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        if (finite := self.ledger.finite) is not None:
            c = finite.admissible(self.correlations(), self.coef)
            z = int(np.argmax(np.abs(c)))
            return z, float(c[z])
        self.count_evaluation()
        z = self.atoms.lmo(self.gradient())
        return z, self.atoms.inner(self.gradient(), z)

    def correlations(self) -> Array:
        self.count_evaluation()
        if self._correlations is None:
            self._correlations = self._observed()
        return self._correlations

    def _observed(self) -> Array:
        """The correlations, which a look may find where an observation has left them."""
        if self._uncounted is None:
            here = self._gradient
            here = self.f.gradient_at(self.x, self.image) if here is None else here
            self._uncounted = self._finite.correlate(here)
        return self._uncounted

    def dual_norm(self) -> float:
        if (finite := self.ledger.finite) is None:
            return self.atoms.dual_norm(self.f.gradient_at(self.x, self.image))
        if self._largest is None:
            self._largest = float(np.abs(finite.admissible(self._observed(), self.coef)).max())
        return self._largest

    def curvature(self, z: Atom) -> float:
        vector = self.atoms.vector(z)
        return self.f.curvature(vector, vector if self.image is self.x else self._atom_image(z))

    def move(self, gamma: float, z: Atom) -> None:
        self._add(gamma, z)
        self.x -= gamma * self.atoms.vector(z)
        if self.image is not self.x:
            self.image -= gamma * self._atom_image(z)
        self._count_atoms()
        self._invalidate()

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        self._grow()
        self.coef[places] -= gammas
        self.image -= times(effects.T, gammas).reshape(self.image.shape)
        if self.image is not self.x:
            for gamma, place in zip(gammas.tolist(), places.tolist(), strict=True):
                self.atoms.shift(self.x, gamma, self.ledger.atom(place))
        self._count_atoms(len(places))
        self._invalidate()

    def gather(self, weights: Array) -> Shift:
        self._count_combination()
        direction = {"x": self._finite.combine(weights), "coef": weights}
        if self.image is not self.x:
            direction["image"] = self.f.image(direction["x"])
        return direction

    def refresh(self) -> None:
        if self.ledger.finite is not None:
            used = self.used
            self.x[...] = combined(self, self.atoms, self.x0, self.coef[used], used)
        if self.image is not self.x:
            self.image[...] = self.f.image(self.x.astype(np.float64, copy=False))
        self._invalidate()

    @property
    def _finite(self) -> FiniteAtoms:
        """The set of a run that needs a finite one."""
        if self.ledger.finite is None:
            raise InputError(f"atoms: {type(self.atoms).__name__} is not a finite set")
        return self.ledger.finite

    def _atom_image(self, z: Atom) -> Array:
        return self.f.atom_image(self.atoms, z)

    def _invalidate(self) -> None:
        self.is_evaluated = False
        self._gradient = self._correlations = self._uncounted = self._largest = None


def as_ambient(point: Point) -> AmbientPoint | None:
    """The point as one that keeps x and its gradient; None where it is of another form."""
    return point if isinstance(point, AmbientPoint) else None
