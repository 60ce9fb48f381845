"""Conjugate acceleration on linear models: the last few steps span a plane with u and v − x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.acceleration.conjugate import ConjugateStepper
from pursuit.acceleration.directions import Directions
from pursuit.acceleration.plane import Plane
from pursuit.base.validation import Array
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Shift
from pursuit.points.linear import LinearPoint
from pursuit.rules.memory import Memory
from pursuit.rules.run import Run

SLIGHT = 1e-3
"""A slope along v − x of at most this share of the last gain is left alone: it brings rounding."""


@dataclass
class SecondSequence(Memory):
    """v and its image, beside its coefficients; and what the last step gained."""

    x: Array
    image: Array
    gain: float = 0.0


class LinearStepper(ConjugateStepper):
    """x goes to a low point of x + span{v − x, u, the last steps}."""

    wait = 20
    x: LinearPoint

    def __init__(self, run: Run, x: AmbientPoint, p: Array, h: Array, memory: int) -> None:
        super().__init__(run, x, p, h)
        self.kept = run.remember("directions", Directions(x.arrays(), memory, ahead=2))
        second = SecondSequence(x.x.astype(np.float64), x.image.astype(np.float64))
        self._second = run.remember("second", second)

    def _improve(self, c: Array, u: Shift, along: float) -> float:
        skip = 0 if abs(along) > SLIGHT * self._second.gain > 0 else 1
        if not skip:
            self.kept.put(0, self._away())
        self.kept.put(1, u)
        low, gain = Plane(self.x, self.kept.rows(skip)).best()
        if gain > 0:
            step = self.kept.total(low.delta, skip, ("coef", "x")) | {"image": low.image}
            if self.close:  # of sums of sums little but rounding would be left
                step = self.x.gather(step["coef"])
            self.x.shift(1.0, step)
            if step["image"] is low.image:
                self.x.set_samples(low.samples)
            self.kept.keep(step)
            self._second.gain = gain
        return gain

    def _away(self) -> Shift:
        """v − x."""
        here, v = self.x.arrays(), self._second
        known = {"coef": self.memory.v, "x": v.x, "image": v.image}
        return {name: known[name] - here[name] for name in here}

    def _follow(self, alpha: float, u: Shift) -> None:
        second = self._second
        second.x = second.x - alpha * u["x"]
        second.image = second.image - alpha * u["image"]
