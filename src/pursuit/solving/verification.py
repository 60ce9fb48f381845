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
    """x with the places of its atoms and their weights, f(x), and the largest slope of the atoms
    that the method runs on."""

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
        if self.scale is not None:
            scaled = weights.astype(np.float64) / self.scale[used]
            weights = scaled.astype(weights.dtype)
        x = point.assembled(self.problem.atoms, self.origin, weights, used)
        exact = x.astype(np.float64)
        return Verified(x, used, weights, self.problem.f.value(exact), self._slope(point, exact))

    def _slope(self, point: Point, x: Array) -> float:
        """The largest slope at x of atoms at unit norm, where these are kept in full precision."""
        if point.atoms.dtype == np.float64:
            return point.slope_at(x, point.atoms, None)
        return point.slope_at(x, self.problem.atoms, self.scale)
