"""f in other coordinates: f∘M, whatever f is."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.maps import LinearMap
from pursuit.base.validation import Array
from pursuit.linalg.leading_pair import leading_pair
from pursuit.objectives.base import HessianBound, Objective, QuadraticObjective


class Composed(Objective):
    """f∘M: its value at x̂ is that of f at Mx̂, and its image that of Mx̂."""

    def __init__(self, f: Objective, M: LinearMap) -> None:
        self.f, self.M = f, M
        self.shape, self.dtype, self.lowest = f.shape, f.dtype, f.lowest
        self.mu = f.mu * M.smallest**2

    def __repr__(self) -> str:
        return f"Composed({self.f!r})"

    @cached_property
    def L(self) -> float | None:  # type: ignore[override]
        """At most L‖M‖²."""
        return None if self.f.L is None else self.f.L * self.M.largest**2

    def value(self, x: Array) -> float:
        return self.f.value(self.M(x))

    def gradient(self, x: Array) -> Array:
        return self.M.push(self.f.gradient(self.M(x)))

    def gradient_terms(self, x: Array) -> Array | None:
        terms = self.f.gradient_terms(self.M(x))
        if terms is None:
            return None
        # Products with M and with its transpose mix all entries.
        return np.full(x.shape, self.M.largest * self.M.condition * float(np.linalg.norm(terms)))

    def hessian_below(self, rows: Array) -> HessianBound:
        """MᵀHM is seen through MEᵀ, which is as exact as the condition of M allows."""
        inner = self.f.hessian_below(np.ascontiguousarray(self.M(rows.T).T))
        return replace(inner, sizes=self.M.condition * inner.sizes)

    def image(self, x: Array) -> Array:
        return self.f.image(self.M(x))

    def value_at(self, x: Array, image: Array) -> float:
        return self.f.value_at(self.M(x), image)

    def gradient_at(self, x: Array, image: Array) -> Array:
        return self.M.push(self.f.gradient_at(self.M(x), image))

    def curvature(self, z: Array, image: Array) -> float:
        return self.f.curvature(self.M(z), image)

    def double(self) -> Objective:
        return composed(self.f.double(), self.M)

    def unbounded(self, atoms: AtomSet, x: Array) -> str:
        return ""


class ComposedQuadratic(Composed, QuadraticObjective):
    """The same for a quadratic, with the Hessian MᵀHM."""

    f: QuadraticObjective

    def __init__(self, f: QuadraticObjective, M: LinearMap) -> None:
        super().__init__(f, M)
        self.isometric = f.isometric

    @cached_property
    def L(self) -> float:  # type: ignore[override]
        """λ_max(MᵀHM)."""
        return leading_pair(_Symmetric(self)).sigma

    def pull(self, image: Array) -> Array:
        return self.M.push(self.f.pull(image))


class _Symmetric:
    """The Hessian of a quadratic as something to multiply with."""

    def __init__(self, f: QuadraticObjective) -> None:
        self._f, self.shape = f, 2 * f.shape

    def __matmul__(self, d: Array) -> Any:
        return self._f.hessian(d)

    @property
    def T(self) -> _Symmetric:
        return self


def composed(f: Objective, M: LinearMap) -> Objective:
    """f∘M: in its own form where it has one, else as the same f behind M."""
    own = f.seen_through(M)
    if own is not None:
        return own
    return Composed(f, M) if f.quadratic is None else ComposedQuadratic(f.quadratic, M)
