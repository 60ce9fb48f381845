"""A point of lin(A) and what f says there.

Everything a point stores is affine in x: the vector itself and its image under the linear map
that makes f cheap (ambient form), or the correlations of the atoms with the gradient of a
quadratic (Gram form). A step adds a multiple of an atom's share, and y = (1 − τ)x + τv blends the
stored arrays: no product with the atoms is needed for either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.growing import lengthened
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.points.ledger import Counts, Ledger

Shift = dict[str, Array]
"""A direction d of lin(A): for each array that a point stores, what d adds to it."""


class LocalCurvature(NamedTuple):
    """The curvature of f along an atom z: zᵀ∇²f z at x, at most exp(growth·τ) times as much at a
    distance of τ along z (infinite: unknown), and nowhere more than `upper`."""

    value: float
    growth: float
    upper: float


class Point(ABC):
    """x = x0 + Σ coef_j z_j. `move`, `blend`, `restore` and `refresh` change it, nothing else."""

    f: Objective
    atoms: AtomSet
    counts: Counts
    ledger: Ledger
    coef: Array
    is_evaluated: bool
    """Whether the correlations of all atoms at x have been counted."""
    is_local: bool = False
    """Whether a step changes what is kept of few atoms alone, those that overlap its own."""

    # What f says here -------------------------------------------------------------------

    @property
    @abstractmethod
    def vector(self) -> Array:
        """x itself."""

    @abstractmethod
    def value(self) -> float:
        """f(x)."""

    def total(self) -> float:
        """f(x) + g(w), what a run makes small."""
        penalty = self.atoms.penalty
        return self.value() if penalty.free else self.value() + penalty.value(self.coef)

    def value_along(self, gamma: float, z: Atom) -> float:
        """f(x − γz); here of a quadratic."""
        return self.value() - gamma * (self.correlation(z) - 0.5 * gamma * self.curvature(z))

    @abstractmethod
    def correlation(self, z: Atom) -> float:
        """⟨∇f(x), z⟩."""

    def correlations_at(self, places: Array) -> Array:
        """⟨∇f(x), z_j⟩ for some atoms of a finite set."""
        return np.array([self.correlation(int(j)) for j in places])

    def derivative_along(self, gamma: float, z: Atom) -> float:
        """⟨∇f(x − γz), z⟩; here of a quadratic."""
        return self.correlation(z) - gamma * self.curvature(z)

    @abstractmethod
    def lmo(self) -> tuple[Atom, float]:
        """The oracle's atom z and ⟨∇f(x), z⟩; over a `Cone`, of those that x may follow."""

    def gradient(self) -> Any:
        """∇f(x)."""
        return self.f.gradient(self.vector)

    @abstractmethod
    def correlations(self) -> Array:
        """⟨∇f(x), z_j⟩ for every atom of a finite set; not to be modified."""

    @abstractmethod
    def curvature(self, z: Atom) -> float:
        """zᵀ∇²f z where f is quadratic, an upper bound over all x otherwise."""

    def local_curvature(self, z: Atom) -> LocalCurvature:
        """The curvature of f along an atom, at x and around it."""
        h = self.curvature(z)
        is_quadratic = self.f.quadratic is not None
        return LocalCurvature(h, 0.0, h) if is_quadratic else LocalCurvature(0.0, inf, h)

    @abstractmethod
    def dual_norm(self) -> float:
        """max \\|⟨∇f(x), z⟩\\| over the atoms that x may follow; not counted as work."""

    # Changing it ------------------------------------------------------------------------

    @abstractmethod
    def move(self, gamma: float, z: Atom) -> None:
        """x ← x − γz."""

    def move_all(self, gammas: Array, places: Array, effects: Array) -> None:
        """x ← x − Σ γ_k z_k over a few atoms; the rows of `effects` are what unit steps along them
        take off the array that is kept beside x."""
        for gamma, place in zip(gammas.tolist(), places.tolist(), strict=True):
            self.move(gamma, self.ledger.atom(place))

    @abstractmethod
    def refresh(self) -> None:
        """Recompute from the coefficients what steps keep up to date."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The stored arrays by name: all that a file needs to restore this point."""

    @abstractmethod
    def empty_like(self) -> Point:
        """Another point of the same run, with arrays of its own, not yet filled."""

    def blend(self, v: Point, tau: float, out: Point) -> Point:
        """y = (1 − τ)x + τv, written into `out`."""
        for ours, theirs, result in zip(
            self.arrays().values(), v.arrays().values(), out.arrays().values(), strict=True
        ):
            np.subtract(theirs, ours, out=result)
            result *= tau
            result += ours
        out._invalidate()
        return out

    def copy(self) -> Point:
        """Another point of the same run at this x."""
        other = self.empty_like()
        other.restore(self.arrays())
        return other

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over stored arrays."""
        for name, mine in self.arrays().items():
            if name not in arrays:
                raise InputError(
                    f"a point without {name} was stored; expected gram_bytes as in that run"
                )
            mine[...] = arrays[name]
        self._invalidate()

    def weights(self, places: Array) -> Array:
        """The coefficients of the atoms at some places."""
        return self.coef[places]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the run."""
        return self.coef.dtype

    @property
    def used(self) -> Array:
        """The places of the atoms with a coefficient, in increasing order."""
        return np.flatnonzero(self.coef)

    @property
    def support(self) -> int:
        """The number of distinct atoms in use."""
        return int(np.count_nonzero(self.coef))

    @property
    def refresh_factor(self) -> int:
        """How many times as many iterations as elsewhere may pass between two calls of `refresh`:
        more than one where a step changes few of the stored numbers."""
        return 1

    def _grow(self) -> None:
        """Lengthen the coefficients for atoms that other points of the run have registered."""
        if self.ledger.size > len(self.coef):
            self.coef = lengthened(self.coef, self.ledger.size)

    def _add(self, gamma: float, z: Atom) -> None:
        """Subtract γ from the coefficient of an atom."""
        place = self.ledger.place(z)
        self._grow()
        self.coef[place] -= gamma

    def _invalidate(self) -> None:
        """Forget what is true of x alone, which has changed."""
        self.is_evaluated = False

    def count_evaluation(self) -> None:
        """Count a product with all atoms, once until x changes."""
        if not self.is_evaluated:
            self.counts.products += 1
            self.is_evaluated = True

    def _count_atoms(self, atoms: int = 1) -> None:
        """Count evaluations of single atoms, as shares of a product with all of them."""
        if self.ledger.finite is not None:
            self.counts.products += atoms / len(self.ledger.finite)


class CombiningPoint(Point):
    """A point that moves along combinations of all atoms of a finite set."""

    @abstractmethod
    def gather(self, weights: Array) -> Shift:
        """The direction Σ weights_j z_j over all atoms: one product."""

    def shift(self, gamma: float, direction: Shift) -> None:
        """x ← x − γd; no product with the atoms is needed."""
        for name, mine in self.arrays().items():
            mine -= gamma * direction[name]
        self._invalidate()

    def _count_combination(self) -> None:
        """Count a combination of all atoms.

        Over coordinates and with an explicit Hessian H it costs nothing: the one product by H of
        an iteration is counted with the correlations.
        """
        if not (self.f.has_explicit_hessian and self.atoms.form is AtomForm.AXES):
            self.counts.products += 1


def combined(point: Point, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
    """origin + Σ weights_k z_k over the atoms at these places of a run, rounded once."""
    x, weights = origin.astype(np.float64), weights.astype(np.float64)
    finite = atoms.finite
    if finite is not None:
        x += finite.combine_some(weights, places)
    else:
        for weight, place in zip(weights.tolist(), places.tolist(), strict=True):
            x += weight * atoms.vector(point.ledger.atom(place)).astype(np.float64)
    return x.astype(point.coef.dtype)
