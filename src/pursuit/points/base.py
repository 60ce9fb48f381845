"""A point of lin(A) and what f says there.

Everything a point stores is affine in x: the vector itself and its image under the linear map
that makes f cheap (ambient form), or the correlations of the atoms with the gradient of a
quadratic (Gram form). A step adds a multiple of an atom's share, and y = (1 − τ)x + τv blends the
stored arrays: no product with the atoms is needed for either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective, QuadraticObjective

GRAM_BYTES = 2**28
"""A Gram matrix larger than this is not formed; the ambient form is used instead."""

Shift = dict[str, Array]
"""A direction d of lin(A): for each array that a point stores, what d adds to it."""


@dataclass
class Counts:
    """Work done so far; looking at or combining k of n atoms is k/n of a product."""

    oracle_calls: int = 0
    products: float = 0.0
    setup: float = 0.0


@dataclass
class Ledger:
    """Which entry of the coefficients belongs to which atom.

    A finite set has one entry for each atom. An infinite one gets an entry for each new atom,
    shared by all points of a run.
    """

    atoms: AtomSet
    seen: list[Atom] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.atoms) if isinstance(self.atoms, FiniteAtoms) else len(self.seen)

    def place(self, z: Atom) -> int:
        """The entry of an atom."""
        if isinstance(self.atoms, FiniteAtoms):
            return int(z)
        # `seen` keeps every handle alive, so its identity is its own.
        place = self.places.setdefault(id(z), len(self.seen))
        if place == len(self.seen):
            self.seen.append(z)
        return place

    def atom(self, place: int) -> Atom:
        """The atom of an entry."""
        return place if isinstance(self.atoms, FiniteAtoms) else self.seen[place]

    def restore(self, handles: list[Atom]) -> None:
        self.seen[:] = handles
        self.places.clear()
        self.places.update({id(z): k for k, z in enumerate(handles)})


class Point(ABC):
    """x = x0 + Σ coef_j z_j. `move` changes it; everything else only looks."""

    f: Objective
    atoms: AtomSet
    counts: Counts
    ledger: Ledger
    coef: Array
    looked: bool

    # What f says here -------------------------------------------------------------------

    @property
    @abstractmethod
    def vector(self) -> Array:
        """x itself."""

    @abstractmethod
    def value(self) -> float:
        """f(x)."""

    @abstractmethod
    def value_along(self, gamma: float, z: Atom) -> float:
        """f(x − γz)."""

    @abstractmethod
    def slope(self, z: Atom) -> float:
        """⟨∇f(x), z⟩."""

    def slopes(self, places: Array) -> Array:
        """⟨∇f(x), z_j⟩ for some atoms of a finite set."""
        return np.array([self.slope(int(j)) for j in places])

    @abstractmethod
    def slope_along(self, gamma: float, z: Atom) -> float:
        """⟨∇f(x − γz), z⟩."""

    @abstractmethod
    def steepest(self) -> tuple[Atom, float]:
        """The oracle's atom for ∇f(x), and its slope; over a `Cone`, of those that x may follow."""

    @abstractmethod
    def correlations(self) -> Array:
        """⟨∇f(x), z_j⟩ for every atom of a finite set; not to be modified."""

    @abstractmethod
    def curvature(self, z: Atom) -> float:
        """zᵀ∇²f z where f is quadratic, an upper bound over all x otherwise."""

    @abstractmethod
    def largest_slope(self) -> float:
        """max \\|⟨∇f(x), z⟩\\| over the atoms that x may follow; not counted as work."""

    # What f says at its coefficients ----------------------------------------------------

    def assembled(self, atoms: AtomSet, origin: Array, coef: Array) -> Array:
        """origin + Σ coef_j z_j over atoms with the handles of this run, rounded once."""
        x, places = origin.astype(np.float64), np.flatnonzero(coef)
        weights = coef[places].astype(np.float64)
        if isinstance(atoms, FiniteAtoms):
            x += atoms.combine_some(weights, places)
        else:
            for weight, place in zip(weights.tolist(), places.tolist(), strict=True):
                x += weight * atoms.vector(self.ledger.atom(place)).astype(np.float64)
        return x.astype(self.coef.dtype)

    def slope_at(self, x: Array, atoms: AtomSet, scale: Array | None) -> float:
        """`largest_slope` at an x in float64, over these atoms divided by their scale."""
        gradient = self.f.gradient(x)
        if not isinstance(atoms, FiniteAtoms):
            return atoms.dual_norm(gradient)
        slopes = np.abs(atoms.admissible(atoms.correlate(gradient), self.coef))
        return float((slopes if scale is None else slopes / scale).max())

    # Changing it ------------------------------------------------------------------------

    @abstractmethod
    def move(self, gamma: float, z: Atom) -> None:
        """x ← x − γz."""

    def effect(self, z: Atom) -> Array:
        """What a unit step along z takes off the array that is kept beside x."""
        return self.f.atom_image(self.atoms, z)

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        """x ← x − Σ γ_k z_k over a few atoms, whose flattened effects are the rows of a matrix."""
        for gamma, place in zip(gammas.tolist(), places.tolist(), strict=True):
            self.move(gamma, self.ledger.atom(place))

    def combine(self, weights: Array) -> None:
        """x ← x − Σ weights_j z_j, over all atoms of a finite set."""
        self.shift(1.0, self.gather(weights))

    # Along any direction of lin(A) ------------------------------------------------------

    def along(self, z: Atom) -> Shift:
        """The direction of an atom of a finite set."""
        raise InputError(f"atoms: {type(self.atoms).__name__} has no coefficients to move along")

    def gather(self, weights: Array) -> Shift:
        """The direction Σ weights_j z_j over all atoms of a finite set: one product."""
        raise InputError(f"atoms: {type(self.atoms).__name__} is not a finite set")

    def shift(self, gamma: float, direction: Shift) -> None:
        """x ← x − γd; no product with the atoms is needed."""
        for name, mine in self.arrays().items():
            mine -= gamma * direction[name]
        self._changed()

    def bilinear(self, rows: Shift, direction: Shift) -> Array:
        """d_iᵀHd of a quadratic for directions that are rows of matrices, and one more."""
        raise InputError(f"f: {type(self.f).__name__} is not a quadratic that this point can see")

    @abstractmethod
    def refresh(self) -> None:
        """Compute what is kept up to date by steps anew from the coefficients."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The stored arrays by name: all that a file needs to restore this point."""

    @abstractmethod
    def share(self) -> Point:
        """Another point of the same run, with arrays of its own, not yet filled."""

    def blend(self, v: Point, tau: float, out: Point) -> Point:
        """y = (1 − τ)x + τv, written into `out`."""
        for ours, theirs, result in zip(
            self.arrays().values(), v.arrays().values(), out.arrays().values(), strict=True
        ):
            np.subtract(theirs, ours, out=result)
            result *= tau
            result += ours
        out._changed()
        return out

    def copy(self) -> Point:
        other = self.share()
        other.restore(self.arrays())
        return other

    def adopt(self, other: Point) -> None:
        """Take over what was computed once for all points of another run of the same problem."""
        return  # nothing was

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over stored arrays."""
        for name, mine in self.arrays().items():
            mine[...] = arrays[name]
        self._changed()

    @property
    def support(self) -> int:
        """The number of distinct atoms in use."""
        return int(np.count_nonzero(self.coef))

    def _fit(self) -> None:
        """Make room for atoms that other points of the run have met."""
        missing = self.ledger.size - len(self.coef)
        if missing > 0:
            self.coef = np.concatenate([self.coef, np.zeros(missing, self.coef.dtype)])

    def _add(self, gamma: float, z: Atom) -> None:
        place = self.ledger.place(z)
        self._fit()
        self.coef[place] -= gamma

    def _changed(self) -> None:
        self.looked = False

    def look_again(self) -> None:
        """Find anew what a look had found here, which was counted then."""
        self.looked = True
        if isinstance(self.atoms, FiniteAtoms):
            self.correlations()

    def _look(self) -> None:
        if not self.looked:
            self.counts.products += 1
            self.looked = True

    def _touch(self, atoms: int = 1) -> None:
        """Count atoms looked at or added."""
        if isinstance(self.atoms, FiniteAtoms):
            self.counts.products += atoms / len(self.atoms)


class AmbientPoint(Point):
    """x and its image under f's linear map."""

    _gradient: Array | None
    _correlations: Array | None
    _seen: Array | None

    def __init__(self, f: Objective, atoms: AtomSet, x0: Array) -> None:
        self.f, self.atoms = f, atoms
        self.counts, self.ledger = Counts(), Ledger(atoms)
        dtype = np.result_type(f.dtype, atoms.dtype, x0.dtype)
        self.x0 = x0
        self.x = x0.astype(dtype, copy=True)
        image = f.image(self.x)
        self.image = self.x if image is self.x else image.astype(dtype, copy=True)
        self.coef = np.zeros(self.ledger.size, dtype)
        self._changed()

    def share(self) -> AmbientPoint:
        other = object.__new__(type(self))
        other.f, other.atoms, other.x0 = self.f, self.atoms, self.x0
        other.counts, other.ledger = self.counts, self.ledger
        other.x = np.empty_like(self.x)
        other.image = other.x if self.image is self.x else np.empty_like(self.image)
        other.coef = np.zeros(self.ledger.size, self.coef.dtype)
        other._changed()
        return other

    def arrays(self) -> dict[str, Array]:
        self._fit()
        stored = {"x": self.x, "coef": self.coef}
        return stored if self.image is self.x else {**stored, "image": self.image}

    @property
    def vector(self) -> Array:
        return self.x

    def value(self) -> float:
        return self.f.value_at(self.x, self.image)

    def value_along(self, gamma: float, z: Atom) -> float:
        x = self.x - gamma * self.atoms.vector(z)
        image = x if self.image is self.x else self.image - gamma * self._atom_image(z)
        return self.f.value_at(x, image)

    def slopes(self, places: Array) -> Array:
        assert isinstance(self.atoms, FiniteAtoms)
        if self._correlations is not None:
            return self._correlations[places]
        self.counts.products += len(places) / len(self.atoms)
        return self.atoms.correlate_some(self.gradient(), places)

    def slope_along(self, gamma: float, z: Atom) -> float:
        x = self.x - gamma * self.atoms.vector(z)
        image = x if self.image is self.x else self.image - gamma * self._atom_image(z)
        self._touch()
        return self.atoms.inner(self.f.gradient_at(x, image), z)

    def gradient(self) -> Array:
        """∇f(x), kept until x changes."""
        if self._gradient is None:
            self._gradient = self.f.gradient_at(self.x, self.image)
        return self._gradient

    def slope(self, z: Atom) -> float:
        if self._correlations is not None:
            return float(self._correlations[z])
        self._touch()
        return self.atoms.inner(self.gradient(), z)

    def steepest(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        if isinstance(self.atoms, FiniteAtoms):
            c = self.atoms.admissible(self.correlations(), self.coef)
            z = int(np.argmax(np.abs(c)))
            return z, float(c[z])
        self._look()
        z = self.atoms.lmo(self.gradient())
        return z, self.atoms.inner(self.gradient(), z)

    def correlations(self) -> Array:
        assert isinstance(self.atoms, FiniteAtoms)
        self._look()
        if self._correlations is None:
            self._correlations = self._observed()
        return self._correlations

    def _observed(self) -> Array:
        """The correlations, which a look may find where an observation has left them."""
        assert isinstance(self.atoms, FiniteAtoms)
        if self._seen is None:
            here = self._gradient
            here = self.f.gradient_at(self.x, self.image) if here is None else here
            self._seen = self.atoms.correlate(here)
        return self._seen

    def largest_slope(self) -> float:
        if not isinstance(self.atoms, FiniteAtoms):
            return self.atoms.dual_norm(self.f.gradient_at(self.x, self.image))
        return float(np.abs(self.atoms.admissible(self._observed(), self.coef)).max())

    def curvature(self, z: Atom) -> float:
        vector = self.atoms.vector(z)
        return self.f.curvature(vector, vector if self.image is self.x else self._atom_image(z))

    def move(self, gamma: float, z: Atom) -> None:
        self._add(gamma, z)
        self.x -= gamma * self.atoms.vector(z)
        if self.image is not self.x:
            self.image -= gamma * self._atom_image(z)
        self._touch()
        self._changed()

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        self._fit()
        self.coef[places] -= gammas
        self.image -= times(effects.T, gammas).reshape(self.image.shape)
        if self.image is not self.x:
            for gamma, place in zip(gammas.tolist(), places.tolist(), strict=True):
                self.atoms.shift(self.x, gamma, self.ledger.atom(place))
        self._touch(len(places))
        self._changed()

    def along(self, z: Atom) -> Shift:
        coef = np.zeros_like(self.coef)
        coef[self.ledger.place(z)] = 1
        return self._shift(coef, self.atoms.vector(z), lambda x: self._atom_image(z))

    def gather(self, weights: Array) -> Shift:
        assert isinstance(self.atoms, FiniteAtoms)
        self.counts.products += 1
        return self._shift(weights, self.atoms.combine(weights), self.f.image)

    def _shift(self, coef: Array, x: Array, image: Callable[[Array], Array]) -> Shift:
        if self.image is self.x:
            return {"x": x, "coef": coef}
        return {"x": x, "coef": coef, "image": image(x)}

    def bilinear(self, rows: Shift, direction: Shift) -> Array:
        assert isinstance(self.f, QuadraticObjective)
        name = "x" if self.image is self.x else "image"
        if self.f.isometric:
            return rows[name] @ direction[name].reshape(-1)
        return rows["x"] @ self.f.pull(direction[name]).reshape(-1)

    def refresh(self) -> None:
        if isinstance(self.atoms, FiniteAtoms):
            self.x[...] = self.assembled(self.atoms, self.x0, self.coef)
        if self.image is not self.x:
            self.image[...] = self.f.image(self.x.astype(np.float64, copy=False))
        self._changed()

    def _atom_image(self, z: Atom) -> Array:
        return self.f.atom_image(self.atoms, z)

    def _changed(self) -> None:
        self.looked = False
        self._gradient = self._correlations = self._seen = None


class Gram:
    """What the points of a run over a quadratic share: f at x0, and rows of G = Z H Zᵀ.

    `known` says which rows there are. One is computed when a step first needs it, by itself and
    always in the same way, so that a resumed run finds the same bits.
    """

    def __init__(self, f: QuadraticObjective, atoms: FiniteAtoms, x0: Array, counts: Counts):
        self.f, self.atoms, self.x0, self.counts = f, atoms, x0, counts
        n = len(atoms)
        self.dtype = np.result_type(f.dtype, atoms.dtype, x0.dtype)
        self.value = f.value(x0)
        self.correlations = atoms.correlate(f.gradient(x0)).astype(self.dtype, copy=False)
        self.rows: Array = np.empty((n, n), self.dtype)
        self.known = np.zeros(n, np.bool_)
        self._unknown = n

    def adopt(self, other: Gram) -> None:
        """Share the rows of another one for the same f and atoms."""
        self.rows, self.known, self._unknown = other.rows, other.known, other._unknown
        self.counts.setup += other.counts.setup

    def row(self, j: int) -> Array:
        """⟨z_i, H z_j⟩ for every i."""
        if not self.known[j]:
            self.rows[j] = self.atoms.correlate(self.f.pull(self.f.atom_image(self.atoms, j)))
            self.known[j] = True
            self._unknown -= 1
            self.counts.setup += 1
        row: Array = self.rows[j]
        return row

    def apply(self, weights: Array) -> Array:
        """G · weights, through the rows of its non-zero entries."""
        places = np.flatnonzero(weights)
        for j in places.tolist() if self._unknown else ():
            self.row(j)
        # What is computed depends on the weights alone, not on the rows known so far.
        if len(places) == len(weights):
            return times(self.rows, weights)
        return times(self.rows[places].T, weights[places])


class GramPoint(Point):
    """Coefficients and the correlations s = Z∇f(x) = s0 + G·coef of a quadratic."""

    atoms: FiniteAtoms

    def __init__(self, f: QuadraticObjective, atoms: FiniteAtoms, x0: Array) -> None:
        self.f, self.atoms = f, atoms
        self.counts, self.ledger = Counts(), Ledger(atoms)
        self.gram = Gram(f, atoms, x0, self.counts)
        self.coef = np.zeros(len(atoms), self.gram.dtype)
        self.s = self.gram.correlations.copy()
        self._changed()

    @staticmethod
    def suits(atoms: FiniteAtoms) -> bool:
        """Whether the Gram matrix is small enough to keep."""
        return len(atoms) ** 2 * atoms.dtype.itemsize <= GRAM_BYTES

    def share(self) -> GramPoint:
        other = object.__new__(GramPoint)
        other.f, other.atoms, other.gram = self.f, self.atoms, self.gram
        other.counts, other.ledger = self.counts, self.ledger
        other.coef, other.s = np.empty_like(self.coef), np.empty_like(self.s)
        other._changed()
        return other

    def arrays(self) -> dict[str, Array]:
        return {"coef": self.coef, "s": self.s}

    def adopt(self, other: Point) -> None:
        assert isinstance(other, GramPoint)
        self.gram.adopt(other.gram)

    def _fit(self) -> None:
        pass

    @property
    def vector(self) -> Array:
        return self.gram.x0 + self.atoms.combine(self.coef)

    def value(self) -> float:
        # f(x0 + Zᵀa) = f(x0) + s0·a + ½ aᵀGa, and Ga = s − s0.
        both = self.gram.correlations.astype(np.float64) + self.s
        return self.gram.value + 0.5 * float(self.coef @ both)

    def value_along(self, gamma: float, z: Atom) -> float:
        return self.value() - gamma * float(self.s[z]) + 0.5 * gamma**2 * self.curvature(z)

    def slope(self, z: Atom) -> float:
        if not self.looked:
            self._touch()
        return float(self.s[z])

    def slopes(self, places: Array) -> Array:
        if not self.looked:
            self._touch(len(places))
        return self.s[places]

    def slope_along(self, gamma: float, z: Atom) -> float:
        return float(self.s[z]) - gamma * self.curvature(z)

    def steepest(self) -> tuple[Atom, float]:
        self.counts.oracle_calls += 1
        self._look()
        c = self.atoms.admissible(self.s, self.coef)
        z = int(np.abs(c).argmax())
        return z, float(c[z])

    def correlations(self) -> Array:
        self._look()
        return self.s

    def largest_slope(self) -> float:
        return float(np.abs(self.atoms.admissible(self.s, self.coef)).max())

    def curvature(self, z: Atom) -> float:
        return float(self.gram.row(z)[z])

    def move(self, gamma: float, z: Atom) -> None:
        self.coef[z] -= gamma
        self.s -= gamma * self.gram.row(z)
        self._touch()
        self.looked = False

    def effect(self, z: Atom) -> Array:
        return self.gram.row(z)

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        self.coef[places] -= gammas
        self.s -= times(effects.T, gammas)
        self._touch(len(places))
        self.looked = False

    def along(self, z: Atom) -> Shift:
        coef = np.zeros_like(self.coef)
        coef[z] = 1
        return {"coef": coef, "s": self.gram.row(z)}

    def gather(self, weights: Array) -> Shift:
        self.counts.products += 1
        return {"coef": weights, "s": self.gram.apply(weights)}

    def refresh(self) -> None:
        # Not from the Gram matrix: s is a small difference of what its rows sum up to.
        if self.coef.dtype == np.float64:
            x = self.vector
        else:
            places = np.flatnonzero(self.coef)
            weights = self.coef[places].astype(np.float64)
            x = self.gram.x0 + self.atoms.combine_some(weights, places)
        self.s[...] = self.atoms.correlate(self.f.gradient(x))
        self._changed()


def mix(*terms: tuple[float, Shift]) -> Shift:
    """Σ weight·direction over the terms."""
    (first, shift), *others = terms
    mixed = {name: first * array for name, array in shift.items()}
    for weight, direction in others:
        for name, array in mixed.items():
            array += weight * direction[name]
    return mixed
