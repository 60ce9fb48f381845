"""What is added to the losses of a linear model, one coefficient at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array


@dataclass(frozen=True)
class Terms:
    """Σ_j l2_j w_j²/2 + weights_j |w_j|, on lower ≤ w ≤ upper."""

    l2: Array
    weights: Array
    lower: Array
    upper: Array

    def at(self, places: Array) -> Terms:
        """Those of some coefficients."""
        return Terms(*(part[places] for part in (self.l2, self.weights, self.lower, self.upper)))

    @cached_property
    def smooth(self) -> bool:
        """Whether there is nothing but l2."""
        return bool(self.unbound.all())

    @cached_property
    def unbound(self) -> Array:
        """Which coefficients have nothing but l2."""
        unbound: Array = (self.weights == 0) & np.isinf(self.lower) & np.isinf(self.upper)
        return unbound

    @cached_property
    def ridge(self) -> bool:
        """Whether it is one l2 > 0 for all coefficients but perhaps the last."""
        return self.smooth and bool((self.l2[:-1] == self.l2[0]).all()) and bool(self.l2[0] > 0)

    @property
    def parts(self) -> tuple[Array, Array, Array]:
        """The separable penalty as kernels take it."""
        return self.weights, self.lower, self.upper

    def value(self, w: Array) -> float:
        """Its value at a w within the bounds."""
        return float(0.5 * (self.l2 * w) @ w + self.weights @ np.abs(w))

    def distances(self, c: Array, w: Array) -> tuple[Array, float]:
        """How far −c_j is from ∂g_j(w_j), where c includes l2; and the largest."""
        from pursuit.kernels.working_set import distances

        out = np.empty(len(c))
        return out, distances(c, w, *self.parts, out)

    def face(self, w: Array) -> Face:
        """The coefficients that may move both ways, and how far the penalty is linear there."""
        penalised = self.weights > 0
        free = (self.lower < w) & (w < self.upper) & (~penalised | (w != 0))
        places = np.flatnonzero(free)
        there, bound = w[places], penalised[places]
        low = np.where(bound & (there > 0), 0.0, self.lower[places])
        high = np.where(bound & (there < 0), 0.0, self.upper[places])
        tilt = self.weights[places] * np.sign(there)
        return Face(places, there, low, high, tilt)


class Face(NamedTuple):
    """Places of free coefficients w, between which bounds the penalty is linear, and its slopes."""

    places: Array
    w: Array
    low: Array
    high: Array
    tilt: Array

    def clipped(self, step: Array) -> Array:
        """The step to the nearest point of the face."""
        return self.after(step) - self.w

    def after(self, step: Array) -> Array:
        """Where a step on the face ends: next to a small bound the sum may round beyond it."""
        there: Array = np.clip(self.w + step, self.low, self.high)
        return there

    def leaves(self, step: Array) -> bool:
        """Whether a step ends outside of the face."""
        there = self.w + step
        return bool(((there < self.low) | (there > self.high)).any())

    def up_to_edge(self, step: Array) -> Array:
        """The part of a step before it leaves the face, where it ends on an edge exactly."""
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = np.where(step > 0, self.high, self.low)
            shares = np.where(step != 0, (edge - self.w) / step, np.inf)
        share = float(shares.min())
        return np.where(shares <= share, edge - self.w, share * step)
