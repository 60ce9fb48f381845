"""Non-negative coefficients: the atoms in use stay on one side of zero, or leave.

The coefficients are found by an active set, as Lawson and Hanson (1974) do for least squares and
here for any smooth f: descend over the span of the atoms in use until a coefficient reaches zero,
let that atom go, and descend again over the others. An atom that has gone in this way comes back
as soon as it would grow again, so that what is left is the minimizer over the cone of all the
atoms that the refit began with.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from pursuit.active.engine import ActiveSet, no_places
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.points.base import Point

STEEP = 100
"""How much larger than √eps of the first dual norm a derivative has to be where a quadratic is
flat: below it may be rounding of the data."""


class NonNegativeActiveSet:
    """An active set whose coefficients are not negative, with the interface of `ActiveSet`."""

    def __init__(self, free: ActiveSet) -> None:
        self.free, self.memory = free, free.memory
        self.gains, self.remember = free.gains, free.remember

    def __len__(self) -> int:
        return len(self.free)

    @property
    def places(self) -> list[int]:
        """The places of the atoms in use."""
        return self.free.places

    def follow(self, x: Point) -> None:
        """Take in the atoms that a resumed run remembers, and those with a coefficient at x."""
        self.free.follow(x)
        self._before, self._used = x.coef.copy(), set(self.places)

    def add(self, x: Point, place: int) -> bool:
        """Take an atom in, perhaps in exchange for another; whether it entered."""
        if self.free.add(x, place):
            return True
        if not self._exchange(x, place):
            return False
        self.memory.dependent = self.memory.dependent[:-1]
        return self.free.add(x, place)

    def refit(self, x: Point) -> tuple[float, float]:
        """x ← argmin f over the cone of the atoms in use; see `ActiveSet.refit`."""
        decrease, dropped = 0.0, dict[int, float]()
        # Every turn lets an atom go, or brings one back where f is lower than ever before; only
        # rounding could make that endless.
        for _ in range(3 * len(self.free) + 10):
            moved, gain = 0.0, 0.0
            if len(self.free):
                moved, gain = self.free.refit(x, self._coefficients(x))
            decrease += gain
            left = self._drop_zeros(x)
            if left:
                # An atom that goes before anything moved has nothing to gain.
                dropped |= left if moved else {}
            elif not self._bring_back(x, dropped):
                break
        change = float(np.abs(x.coef - self._before).max())
        if change and not self._used <= set(self.places):
            self.memory.dependent = no_places()
        return change, decrease

    def _coefficients(self, x: Point) -> Array:
        return self.free.coefficients(x).astype(np.float64)

    def _drop_zeros(self, x: Point) -> dict[int, float]:
        """Let the atoms go whose coefficient is zero; return their places and lengths."""
        left = {}
        for k in np.flatnonzero(self.free.coefficients(x) == 0)[::-1].tolist():
            left[self.places[k]] = float(self.free.norms[k])
            self.free.drop(k)
        return left

    def _bring_back(self, x: Point, dropped: dict[int, float]) -> bool:
        """Let in again the atom that would grow most, of those that left; False if none would."""
        while dropped:
            places, norms = np.array(list(dropped)), np.array(list(dropped.values()))
            slopes = x.correlations()[places] / norms
            k = int(np.argmin(slopes))
            if not slopes[k] < -self.free.tolerance(x):
                return False
            del dropped[int(places[k])]
            if self.free.add(x, int(places[k])):
                return True
        return False

    def _exchange(self, x: Point, place: int) -> bool:
        """Make room for an atom z that differs from a point Σ weights·z_i of the span in the linear
        part of a quadratic alone.

        A quadratic that is flat there falls along z − Σ weights·z_i until a coefficient is zero.
        """
        if self.free.f.quadratic is None:
            return False
        weights = self.free.factor.solve(self.free.measure(x, place).column)
        correlations = x.correlations()
        slope = float(correlations[place]) - float(weights @ correlations[self.free.index])
        coef = self._coefficients(x)
        lengths = np.where(weights > 0, coef, np.inf) / np.where(weights > 0, weights, 1.0)
        if not slope < -self._uncertain(x, place) or not np.isfinite(lengths).any():
            return False
        k = int(np.argmin(lengths))
        delta = np.minimum(lengths[k] * weights, coef)
        delta[k] = coef[k]
        self.free.move(x, delta)
        x.move(-float(lengths[k]), place)
        self._drop_zeros(x)
        return True

    def _uncertain(self, x: Point, place: int) -> float:
        """Return a derivative that may be rounding of the data."""
        length = 1.0 if self.free.lengths is None else float(self.free.lengths[place])
        return STEEP * sqrt(tolerances(x.dtype).eps) * (self.memory.dual_norm or 0.0) * length
