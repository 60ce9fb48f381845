"""g along one atom: where it is straight, in plain numbers."""

from __future__ import annotations

from math import copysign, inf
from typing import Any

from pursuit.atoms.base import Atom
from pursuit.base.errors import InputError
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point


class Pieces:
    """g_j(w) = λ_j|w| on [lower_j, upper_j], for one atom j after another.

    f + g is smooth between two kinks: at zero, where λ_j > 0, and at the ends of the interval.
    """

    def __init__(self, problem: Problem) -> None:
        atoms = problem.atoms.finite
        if atoms is None:
            raise InputError(f"penalty: expected a finite set of atoms, got {problem.atoms!r}")
        parts = atoms.penalty.parts(len(atoms))
        self._weights: list[float] = parts.weights.tolist()
        self._lower: list[float] = parts.lower.tolist()
        self._upper: list[float] = parts.upper.tolist()

    def slope(self, z: Atom, c: float, w: float) -> float:
        """Of c + ∂g_j(w) the number next to zero: the slope of f + g, where c is that of f."""
        weight = self._weights[z]
        left = c + (weight if w > 0 else -weight)
        if left > 0:
            return left if w > self._lower[z] else 0.0
        right = c + (-weight if w < 0 else weight)
        return right if right < 0 and w < self._upper[z] else 0.0

    def weight(self, z: Atom) -> float:
        """λ_j."""
        return self._weights[z]

    def tilt(self, z: Atom, w: float, slope: float) -> float:
        """g_j′ on the piece that a step against a slope of f + g goes along."""
        return copysign(self._weights[z], w if w else -slope)

    def kink(self, w: float, slope: float) -> bool:
        """Whether such a step comes to zero."""
        return w * slope > 0

    def end(self, z: Atom, w: float, slope: float) -> float:
        """How far it may go before the coefficient leaves the interval."""
        return w - self._lower[z] if slope > 0 else self._upper[z] - w

    def room(self, z: Atom, w: float, slope: float) -> float:
        """How far it may go on its piece."""
        straight = abs(w) if self._weights[z] and self.kink(w, slope) else inf
        return min(straight, self.end(z, w, slope))

    def bound(self, z: Atom, slope: float) -> float:
        """The end of the interval that it goes to."""
        return self._lower[z] if slope > 0 else self._upper[z]


class TiltedPoint:
    """A point as f + tilt·w sees it: f and a straight piece of g, which ends after `room`."""

    def __init__(self, x: Point, tilt: float, room: float) -> None:
        self._x, self._tilt, self.room = x, tilt, room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._x, name)

    def correlation(self, z: Atom) -> float:
        return self._x.correlation(z) + self._tilt

    def derivative_along(self, gamma: float, z: Atom) -> float:
        return self._x.derivative_along(gamma, z) + self._tilt

    def value_along(self, gamma: float, z: Atom) -> float:
        return self._x.value_along(gamma, z) - self._tilt * gamma
