"""Conjugate acceleration on linear models: the last few steps span a plane with u and v − x."""

from __future__ import annotations

import numpy as np

from pursuit.acceleration.conjugate import ConjugateStepper
from pursuit.acceleration.directions import Directions
from pursuit.acceleration.plane import Plane
from pursuit.base.validation import Array
from pursuit.objectives.linear_models import Expansion, LinearModel
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Shift
from pursuit.rules.run import Run

SLIGHT = 1e-3
"""A slope along v − x of at most this share of the last gain is left alone: it brings rounding."""


class LinearStepper(ConjugateStepper):
    """x goes to a low point of x + span{v − x, u, the last steps}."""

    wait = 20
    _seen: tuple[Array, Expansion] | None = None

    def __init__(self, run: Run, x: AmbientPoint, p: Array, h: Array, memory: int) -> None:
        super().__init__(run, x, p, h)
        assert isinstance(x.f, LinearModel)
        self._f = x.f
        self.kept = Directions(run.memory, x.arrays(), memory, ahead=2)
        run.memory["gain"] = 0.0
        for name in ("x", "image"):
            run.memory[f"v.{name}"] = x.arrays()[name].astype(np.float64)

    def _improve(self, c: Array, u: Shift, along: float) -> float:
        skip = 0 if abs(along) > SLIGHT * self._memory["gain"] > 0 else 1
        if not skip:
            here = self.x.arrays()
            self.kept.put(0, {name: self._memory[f"v.{name}"] - here[name] for name in here})
        self.kept.put(1, u)
        low, gain = Plane(self._f, self.x, self.kept.rows(skip)).best(self._known())
        if gain > 0:
            step = self.kept.total(low.delta, skip)
            if self.close:  # of sums of sums little but rounding would be left
                step = self.x.gather(step["coef"])
            self.x.shift(1.0, step)
            self.kept.keep(step)
            self._memory["gain"] = gain
            self._seen = self.x.image.copy(), low.samples
        return gain

    def _known(self) -> Expansion | None:
        """The samples at x, where the last plane has seen them to the last bit."""
        if self._seen is None or self.x.image.dtype != np.float64:
            return None
        return self._seen[1] if np.array_equal(self._seen[0], self.x.image) else None

    def _follow(self, alpha: float, u: Shift) -> None:
        for name in ("x", "image"):
            self._memory[f"v.{name}"] = self._memory[f"v.{name}"] - alpha * u[name]
