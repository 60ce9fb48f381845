"""What is true at the point that a result returns.

Steps keep a point up to date by differences, in the precision of the run and over atoms of unit
norm. What a result says is computed anew: x from its coefficients and the atoms as given, f and the
largest slope of these at that x, all in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point


class Verified(NamedTuple):
    """x with the places of its atoms and their weights, f(x) + g(w), and the largest slope of the
    atoms that the method runs on."""

    x: Array
    used: Array
    weights: Array
    value: float
    slope: float


@dataclass(frozen=True)
class Verification:
    """x = origin + Σ coef_j z_j, and what f says there.

    Attributes
    ----------
    problem
        f and the atoms as given.
    scale
        The norms that were divided out of them; None where they were not.
    origin
        What the coefficients of a result count from.
    """

    problem: Problem
    scale: Array | None
    origin: Array

    def __call__(self, point: Point, weights: Array, used: Array) -> Verified:
        """What is true at a point whose weights, for unit atoms, are these at these places."""
        f, atoms = self.problem.f, self.problem.atoms
        if self.scale is not None:
            scaled = weights.astype(np.float64) / self.scale[used]
            weights = scaled.astype(weights.dtype)
        if not atoms.penalty.free:
            weights = self._allowed(point, weights, used)
        x = point.assembled(atoms, self.origin, weights, used)
        exact = x.astype(np.float64)
        if atoms.penalty.free:
            whole = point.atoms.dtype == np.float64  # atoms at unit norm, in full precision
            told = (point.atoms, None) if whole else (atoms, self.scale)
            return Verified(x, used, weights, *point.value_and_slope(f, exact, *told))
        value, gradient = point.value_and_gradient(f, exact)
        value += atoms.penalty.at(used).value(weights)
        coef = self._coefficients(point, weights, used)
        return Verified(x, used, weights, value, self._penalised_slope(point, gradient, coef))

    def _allowed(self, point: Point, weights: Array, used: Array) -> Array:
        """Weights at a bound, or as near as one cannot tell, exactly where those of the run are."""
        _, lower, upper = self.problem.atoms.penalty.within(weights.dtype).at(used).terms
        if np.all(np.isinf(lower)) and np.all(np.isinf(upper)):
            return weights
        kept = point.coef[used]
        _, low, high = point.atoms.penalty.at(used).terms
        ends = np.where(kept <= low, lower, np.where(kept >= high, upper, weights))
        return np.clip(ends, lower, upper).astype(weights.dtype)

    def _coefficients(self, point: Point, weights: Array, used: Array) -> Array:
        """Those of the point: at a bound where the weights are, which rounding may have led to."""
        _, lower, upper = self.problem.atoms.penalty.within(weights.dtype).at(used).terms
        _, low, high = point.atoms.penalty.at(used).terms
        coef = point.coef.copy()
        coef[used] = np.where(weights == lower, low, np.where(weights == upper, high, coef[used]))
        return coef

    def _penalised_slope(self, point: Point, gradient: Array, coef: Array) -> float:
        """The largest slope of f + g at these coefficients."""
        atoms, given = point.atoms.finite, self.problem.atoms.finite
        assert atoms is not None
        assert given is not None
        c = (atoms if atoms.dtype == np.float64 else given).correlate(gradient)
        if self.scale is not None and atoms.dtype != np.float64:
            c = c / self.scale
        return float(np.abs(atoms.admissible(c, coef)).max())
