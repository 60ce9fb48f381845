"""A linear model on a plane x − span{d_1, …, d_k}: Newton's steps, without products.

f(x − Σ δ_i d_i) needs u − δM alone, with u = Xx and M the images of the directions as rows, and a
few k × k numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.objectives.linear_models import Expansion
from pursuit.points.base import Shift
from pursuit.points.linear import LinearPoint

NEWTON, ENOUGH = 3, 0.02
"""The most steps on one plane; they end where no direction promises this share of the gain."""
TRIES, FACTOR = 40, 4.0
"""How often a step is made longer or shorter, and by which factor."""
CLEAR = 1e3
"""How many times larger than its rounding a difference of values has to be."""
SAMPLES = 4096
"""Samples that are summed over together: few enough to stay in the cache."""


@dataclass
class Look:
    """f at a point of the plane, its slopes along the directions, and the samples.

    `image` is δM: what the step from x takes off the image of x.
    """

    delta: Array
    image: Array
    value: float
    slopes: Array
    samples: Expansion


class Plane:
    """f(x − Σ δ_i d_i) as a function of δ; `directions` are rows of matrices."""

    def __init__(self, x: LinearPoint, directions: Shift) -> None:
        f = self.f = x.f
        self.image, self.known = x.image, x.samples
        self.images = directions["image"].astype(np.float64, copy=False)
        seen = (f.shrunk(a) for a in (directions["x"], x.x))
        rows, here = (a.astype(np.float64, copy=False) for a in seen)
        self.ridge, self.pull = f.l2 * (rows @ rows.T), f.l2 * (rows @ here)
        self.offset = 0.5 * f.l2 * float(here @ here)
        self._tolerances = tolerances(x.coef.dtype)

    def look(self, delta: Array, samples: Expansion | None = None) -> Look:
        """f at a point; its samples may be known."""
        image = delta @ self.images
        samples = samples or self.f.expansion(self.image - image)
        ridge = self.offset - float(delta @ self.pull) + 0.5 * float(delta @ self.ridge @ delta)
        slopes = self.images @ samples.slopes + self.pull - self.ridge @ delta
        return Look(delta, image, samples.value + ridge, slopes, samples)

    def gain(self, a: Look, b: Look) -> float:
        """A lower bound on f(a) − f(b) that is proved where it is above zero.

        The difference of the values while that is reliable, else what small steps do not drown:
        ⟨∇f(b), a − b⟩, and (ℓ′(a) − ℓ′(b))²/(2 max ℓ″) for the divergence of each sample.
        """
        measured = a.value - b.value
        rounding = self._tolerances.equal * (abs(a.value) + abs(b.value))
        if measured > CLEAR * rounding:
            return measured - rounding
        step, change = b.delta - a.delta, a.samples.slopes - b.samples.slopes
        bends = self.f.bends_within(b.samples.bends, np.abs(b.image - a.image))
        diverged = float(change @ (change / np.where(bends > 0, bends, np.inf)))
        return float(b.slopes @ step) + 0.5 * (diverged + float(step @ self.ridge @ step))

    def best(self) -> tuple[Look, float]:
        """A low point, and a proved lower bound on what it gains.

        Newton's step has to gain what the best direction by itself surely would: else that of a
        quadratic above f is taken.
        """
        here, total = self.look(np.zeros(len(self.images)), self.known), 0.0
        above = self.f.majorants(self.image)
        bounds = np.diag(self.ridge) + sum(part**2 @ bend for part, bend in self._pieces(above))
        bounds = np.where(bounds > 0, bounds, np.inf)
        for _ in range(NEWTON):
            # Slopes along a direction as long as ∇f are as small as f: their squares may vanish.
            best = float((np.abs(here.slopes) / np.sqrt(bounds)).max())
            surely = 0.5 * best * best
            if surely <= ENOUGH * total:
                break
            there, gain = self._along(here, here.samples.bends)
            if gain < surely:
                there, gain = max((there, gain), self._along(here, above), key=itemgetter(1))
            here, total = there, total + gain
        return here, total

    def _along(self, here: Look, bends: Array) -> tuple[Look, float]:
        """Where the step to the minimum of a quadratic leads.

        It is made shorter until it pays, or longer while f falls half as steeply as at first.
        """
        step = self._minimiser(bends, here.slopes)
        low, gain, size, fall = here, 0.0, 1.0, float(here.slopes @ step)
        for _ in range(TRIES if fall > 0 else 0):
            there = self.look(here.delta + size * step)
            more = self.gain(low, there)
            if more > 0:
                low, gain = there, gain + more
            if gain > 0 and (size < 1 or more <= 0 or float(there.slopes @ step) <= fall / 2):
                break
            size = size * FACTOR if gain > 0 else size / FACTOR
        return low, gain

    def _minimiser(self, bends: Array, slopes: Array) -> Array:
        """That of a quadratic with these bends, over what is more than rounding."""
        hessian: Array = self.ridge.copy()
        for part, bend in self._pieces(bends):
            hessian += (part * bend) @ part.T
        sizes = np.sqrt(np.diag(hessian))
        scale = np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1), 0.0)
        scaled = hessian * np.outer(scale, scale)
        inverse = np.linalg.pinv(scaled, rcond=self._tolerances.dependent, hermitian=True)
        step: Array = scale * (inverse @ (scale * slopes))
        return step

    def _pieces(self, each: Array) -> Iterator[tuple[Array, Array]]:
        """The images, and numbers of the samples, some samples at a time."""
        for first in range(0, len(each), SAMPLES):
            yield self.images[:, first : first + SAMPLES], each[first : first + SAMPLES]
