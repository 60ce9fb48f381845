"""f at the x that coefficients stand for, computed from the atoms as given and in float64."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.points.base import Point, combined
from pursuit.points.linear import LinearPoint


@runtime_checkable
class EvaluatesItself(Protocol):
    """A point that puts x together, and finds the dual norm of the gradient there, in ways of its
    own."""

    def assemble(self, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
        """Return origin + Σ weights_k z_k over the atoms at these places."""
        ...

    def dual_norm_at(self, x: Array) -> float:
        """Return max |⟨∇f(x), z⟩| at an x in float64."""
        ...


def assemble(point: Point, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
    """Return origin + Σ weights_k z_k over the atoms at these places of a run, rounded once."""
    if (itself := _as_own(point)) is not None:
        return itself.assemble(atoms, origin, weights, places)
    return combined(point, atoms, origin, weights, places)


def value_and_gradient(point: Point, f: Objective, x: Array) -> tuple[float, Array]:
    """Return f(x) and ∇f(x) at an x in float64, f being that of the point as it was given."""
    if isinstance(point, LinearPoint):
        return point.value_and_gradient(f, x)
    return f.value_and_gradient(x)


def value_and_dual_norm(
    point: Point, f: Objective, x: Array, atoms: AtomSet, norms: Array | None
) -> tuple[float, float]:
    """Return f(x) and max |⟨∇f(x), z⟩| over these atoms divided by their norms."""
    if (itself := _as_own(point)) is not None:
        return f.value(x), itself.dual_norm_at(x)
    value, gradient = value_and_gradient(point, f, x)
    finite = atoms.finite
    if finite is None or (norms is None and point.is_local):  # whose correlations take much memory
        return value, atoms.dual_norm(gradient)
    c = np.abs(finite.correlate(gradient))
    return value, float((c if norms is None else c / norms).max())


def _as_own(point: Point) -> EvaluatesItself | None:
    return point if isinstance(point, EvaluatesItself) else None
