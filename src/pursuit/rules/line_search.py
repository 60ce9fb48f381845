"""Searches along one line, by slopes or by values, that need no constant of f.

Downhill from x along ±z, ψ(τ) is the rate at which f still falls after a way τ: |⟨∇f(x), z⟩| at
first, zero at the minimum. Because f is convex, ψ never grows, and that alone proves what a step
gains.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf, isfinite, sqrt

import numpy as np

from pursuit.base.tolerances import DOUBLE, Tolerances
from pursuit.linalg.line_search import line_search
from pursuit.rules.run import Unbounded

PROVED = 0.8
"""The proved share of a decrease below which the line is looked at once more."""
LOOKS = 100
"""The most looks along one line."""
FAR_UNSCALED = 1e150
"""Multiples of a first guess that knows nothing of the scale of f, that a line is followed for
before f counts as unbounded along it."""
BRACKETS = 40
"""The most distances tried for three values of a parabola."""
STRAIGHT = 1e-6
"""A line along which the slope has changed by less than this share of it is straight so far."""
CLEAR = 100
"""How many times larger than their rounding differences of values have to be."""


class Line:
    """ψ along a line: where it was computed, and what that proves.

    Parameters
    ----------
    slope
        τ ↦ ψ(τ).
    first
        ψ(0) > 0.
    bend
        An upper bound on −ψ′, where one is known.
    flat
        A slope at most this, relative to the first one, is zero.
    """

    def __init__(
        self,
        slope: Callable[[float], float],
        first: float,
        bend: float = inf,
        flat: float = DOUBLE.line,
    ) -> None:
        self._slope, self.first, self.bend, self._flat = slope, first, bend, flat
        self.nodes: dict[float, float] = {0.0: first}

    def __call__(self, tau: float) -> float:
        if tau not in self.nodes:
            self.nodes[tau] = self._slope(tau)
        return self.nodes[tau]

    def decrease(self, tau: float) -> float:
        """A proved lower bound on f(0) − f(τ).

        Between two neighbours a < b, ψ is at least ψ(b), and at least ψ(a) − bend·(t − a): its
        integral is at least (b − a)ψ(b) + (ψ(a) − ψ(b))²/(2 bend), a right-end Riemann sum.
        """
        places = sorted(node for node in self.nodes if node <= tau)
        total = 0.0
        for a, b in pairwise(places):
            fall = self.nodes[a] - self.nodes[b]
            total += (b - a) * self.nodes[b] + fall * fall / (2 * self.bend)
        return total

    def sharpen(self, tau: float, looks: int = 6) -> float:
        """The decrease up to τ, proved to within a fifth or by so many further looks."""
        for _ in range(looks):
            places = sorted(node for node in self.nodes if node <= tau)
            gaps = [self._gap(a, b) for a, b in pairwise(places)]
            proved = self.decrease(tau)
            if proved >= PROVED * (proved + sum(gaps)):
                break
            widest = int(np.argmax(gaps))
            self(0.5 * (places[widest] + places[widest + 1]))
        return self.decrease(tau)

    def _gap(self, a: float, b: float) -> float:
        """How much more than proved the decrease between two neighbours may be."""
        fall = self.nodes[a] - self.nodes[b]
        return (b - a) * fall - fall * fall / self.bend

    def curvature(self, tau: float) -> float:
        """The mean of −ψ′ up to τ."""
        return (self.first - self(tau)) / tau

    def typical_curvature(self, tau: float) -> float:
        """The mean of −ψ′ up to about where ψ vanishes, whatever the units of the first τ are."""
        best, end = self.first / tau, FAR_UNSCALED * tau
        for _ in range(LOOKS):
            mean = self.curvature(tau)
            if not isfinite(mean):
                tau *= 1e-3
            elif mean * tau < STRAIGHT * self.first:
                if tau > end:
                    raise Unbounded
                tau *= 1e3
                best = self.first / tau
            elif best / 4 <= mean <= 4 * best:
                return mean
            else:
                best, tau = mean, self.first / mean
        return best

    def root(self, tau: float) -> float:
        """Where ψ vanishes, the minimiser of f along the line; τ is a first guess.

        Where f falls right up to where it is no number any more, the last τ before that.
        """
        t = line_search(
            lambda t: -self(t),
            self.first,
            tau,
            accuracy=(self._flat, self._flat),
            max_evaluations=LOOKS,
        )
        if t == inf:
            raise Unbounded
        return t


def by_values(
    value: Callable[[float], float], start: float, reach: float, tolerance: Tolerances = DOUBLE
) -> tuple[float, float]:
    """The γ that minimises a convex φ(γ), φ(0) = start, from its values alone.

    Three equidistant values give a parabola; their distance, at first `reach`, is changed until
    the minimum lies between them and their differences stand out of the rounding of values. The
    vertex of the parabola is exact for a quadratic; else it competes with Brent's search. Returns
    γ and the decrease, both zero where no value below the start was found.
    """
    from scipy.optimize import minimize_scalar

    reach = _bracket(value, start, reach, tolerance.equal)
    if reach == 0:
        return 0.0, 0.0
    left, right = value(-reach), value(reach)
    bend, tilt = left + right - 2 * start, (left - right) / 2
    vertex = reach * (tilt / bend)
    gain, promised = start - value(vertex), tilt * (tilt / (2 * bend))
    if gain > 0 and abs(gain - promised) <= tolerance.line * promised:
        return vertex, gain
    found = minimize_scalar(
        lambda share: value(share * reach),
        bounds=(-1, 1),
        method="bounded",
        options={"xatol": 1e-7},
    )
    if start - found.fun > gain:
        vertex, gain = float(found.x) * reach, start - float(found.fun)
    return (vertex, gain) if gain > 0 else (0.0, 0.0)


def _bracket(value: Callable[[float], float], start: float, reach: float, equal: float) -> float:
    """A distance at which φ rises on both sides and its parabola has a vertex well inside.

    Zero where φ does not seem to change at all.
    """
    end = FAR_UNSCALED * reach
    for _ in range(BRACKETS):
        left, right = value(-reach), value(reach)
        if not (isfinite(left) and isfinite(right)):
            reach *= 1e-3
            continue
        noise = equal * max(abs(start), abs(left), abs(right))
        bend, tilt = left + right - 2 * start, abs(left - right) / 2
        if max(abs(left - start), abs(right - start)) <= CLEAR * noise:
            reach *= 30
        elif min(left, right) >= start - noise:
            # Closer to the vertex, as long as the bend of φ still stands out of the rounding.
            closer = max(8 * tilt / bend, sqrt(20 * CLEAR * noise / bend), 1e-3)
            if tilt >= 0.05 * bend or closer > 0.5:
                return reach
            reach *= closer
        elif bend > CLEAR * noise:
            reach *= min(max(2 * tilt / bend, 1.5), 100)
        elif reach > end:
            raise Unbounded
        else:  # a straight line, as far as one sees: its bend, if it has any, is below this
            reach *= max(tilt / (CLEAR * noise), 100)
    return 0.0
