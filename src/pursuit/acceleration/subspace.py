"""The best point of x − span(a few directions), and a proved lower bound on what it gains.

Directions are differences of stored arrays (`pursuit.points.base.Shift`), so nothing here costs a
product with the atoms: f on the plane is seen through the correlations of a Gram form, through
the image of x under f's linear map, or not at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import sqrt

import numpy as np

from pursuit.acceleration.headings import Heading
from pursuit.base.validation import Array
from pursuit.objectives.base import QuadraticObjective
from pursuit.objectives.linear_models import LinearModel
from pursuit.points.base import AmbientPoint, GramPoint, Point, Shift
from pursuit.rules.line_search import Line

CUT = 1e4
"""Units in the last place, relative to the largest, of a curvature that is more than rounding."""
FLAT = 0.05
"""Newton steps end when each slope on the plane has fallen to this share of its first value."""
STEPS = 3
"""The most Newton steps on one plane."""
CUTS = 4
"""The number of lengths at which one of them is tried."""


def seen(x: Point) -> bool:
    """Whether f on a plane through x can be looked at without products."""
    known = isinstance(x.f, (QuadraticObjective, LinearModel))
    return known and isinstance(x, (GramPoint, AmbientPoint))


def best(x: Point, directions: list[Heading]) -> tuple[Array, float]:
    """The δ for which f(x − Σ δ_i d_i) is smallest, and a proved lower bound on what it gains.

    A direction that is nothing but rounding keeps δ_i = 0.
    """
    if isinstance(x.f, LinearModel):
        assert isinstance(x, AmbientPoint)
        return LinearPlane(x, x.f, directions).best()
    return QuadraticPlane(x, directions).best()


def bend(x: Point, direction: Shift) -> float:
    """dᵀHd for a quadratic f, 0 for any other."""
    if not isinstance(x.f, QuadraticObjective):
        return 0.0
    if isinstance(x, GramPoint):
        return max(float(direction["coef"] @ direction["s"]), 0.0)
    return x.f.curvature(direction["x"], direction.get("image", direction["x"]))


class Plane(ABC):
    """f(x − Σ δ_i d_i) as a function of δ."""

    def __init__(self, directions: list[Heading]) -> None:
        self._directions = [heading.shift for heading in directions]
        self._reach2 = np.array([heading.reach**2 for heading in directions])
        self._cut = CUT * float(np.finfo(self._directions[0]["coef"].dtype).eps)

    def _rows(self, name: str) -> Array:
        """One of the arrays of each direction as rows, in float64."""
        rows = [direction[name].reshape(-1) for direction in self._directions]
        return np.array(rows, np.float64)

    def minimiser(self, hessian: Array, slopes: Array) -> tuple[Array, float]:
        """That of a quadratic with this Hessian and these slopes at x."""
        return solve_small(hessian, slopes, self._reach2, self._cut)

    @abstractmethod
    def best(self) -> tuple[Array, float]:
        """The minimiser δ, and a proved lower bound on f(x) − f(x − Σ δ_i d_i)."""


class QuadraticPlane(Plane):
    """A quadratic: the slopes at x and the Hessian between the directions say all."""

    def __init__(self, x: Point, directions: list[Heading]) -> None:
        super().__init__(directions)
        if isinstance(x, GramPoint):
            coef = self._rows("coef")
            self.slopes, self.hessian = coef @ x.s, coef @ self._rows("s").T
        else:
            assert isinstance(x, AmbientPoint)
            assert isinstance(x.f, QuadraticObjective)
            self.slopes = self._rows("x") @ x.gradient().reshape(-1)
            self.hessian = self._ambient(x.f, "x" if x.image is x.x else "image")

    def _ambient(self, f: QuadraticObjective, image: str) -> Array:
        images = self._rows(image)
        if f.isometric:
            return images @ images.T
        pulled = [f.pull(direction[image]).reshape(-1) for direction in self._directions]
        product: Array = self._rows("x") @ np.array(pulled, np.float64).T
        return product

    def best(self) -> tuple[Array, float]:
        return self.minimiser(self.hessian, self.slopes)


class LinearPlane(Plane):
    """A linear model: the images of x and of the directions say all."""

    def __init__(self, x: AmbientPoint, f: LinearModel, directions: list[Heading]) -> None:
        super().__init__(directions)
        self.f, self.u = f, x.image
        self.images = self._rows("image")
        rows = self._rows("x") if f.l2 else np.zeros((len(directions), 1))
        self.pull = f.l2 * (rows @ x.x.reshape(-1)) if f.l2 else 0.0
        self.ridge = f.l2 * (rows @ rows.T)

    def slopes(self, delta: Array) -> Array:
        """⟨∇f(x − Σ δ_i d_i), d_j⟩."""
        here: Array = self.images @ self.f.slopes(self.u - delta @ self.images)
        return here + self.pull - self.ridge @ delta

    def _steps(self, delta: Array, slopes: Array) -> Iterator[Array]:
        """Steps to try from δ: Newton's, shorter ones, and one that cannot overshoot."""
        bends = self.f.bends(self.u - delta @ self.images)
        hessian = (self.images * bends) @ self.images.T + self.ridge
        step, _ = self.minimiser(hessian, slopes)
        for _ in range(CUTS):
            yield step
            step = step / 4
        bound = self.f.bend * (self.images * self.f.weights) @ self.images.T + self.ridge
        yield self.minimiser(bound, slopes)[0]

    def _descend(self, first: Array) -> Array:
        """A few steps, none of which overshoots by much."""
        delta, here = np.zeros(len(first)), first
        for _ in range(STEPS):
            for step in self._steps(delta, here):
                fall = float(here @ step)
                there = self.slopes(delta + step)
                if fall > 0 and float(there @ step) >= -fall / 4:
                    break
            else:
                break
            delta, here = delta + step, there
            if (np.abs(here) <= FLAT * np.abs(first)).all():
                break
        return delta

    def best(self) -> tuple[Array, float]:
        first = self.slopes(np.zeros(len(self.images)))
        delta = self._descend(first)
        fall = float(first @ delta)
        if not fall > 0:
            return np.zeros(len(delta)), 0.0
        # Along 0 … δ the slope falls, by convexity: sums of its right ends are lower bounds.
        image = delta @ self.images
        bound = self.f.bend * float(image @ (self.f.weights * image)) + delta @ self.ridge @ delta
        line = Line(lambda t: float(self.slopes(t * delta) @ delta), fall, float(bound))
        line(1.0)
        decrease = line.sharpen(1.0)
        return (delta, decrease) if decrease > 0 else (np.zeros(len(delta)), 0.0)


def solve_small(hessian: Array, slopes: Array, reach2: Array, cut: float) -> tuple[Array, float]:
    """The minimiser δ of ½δᵀHδ − slopes·δ over what H tells from rounding, and minus its value.

    A direction is left alone if its curvature, relative to its reach squared, is at most `cut`
    times the largest. A Cholesky factorisation of the rest, scaled to a diagonal of ones, leaves
    alone what hardly leaves the span of the directions before it.
    """
    k = len(slopes)
    stiffest = 0.0
    for i in range(k):
        if reach2[i] > 0:
            stiffest = max(stiffest, hessian[i, i] / reach2[i])
    lower, scale, along = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for i in range(k):
        if not hessian[i, i] > cut * stiffest * reach2[i]:
            continue
        unit = 1 / sqrt(hessian[i, i])
        pivot, rest = 1.0, slopes[i] * unit
        for j in range(i):
            if scale[j] > 0:
                entry = hessian[i, j] * unit * scale[j]
                for other in range(j):
                    entry -= lower[i, other] * lower[j, other]
                entry /= lower[j, j]
                lower[i, j] = entry
                pivot -= entry * entry
                rest -= entry * along[j]
        if pivot > sqrt(cut):
            scale[i], lower[i, i] = unit, sqrt(pivot)
            along[i] = rest / lower[i, i]
    delta = np.zeros(k)
    for i in range(k - 1, -1, -1):
        if scale[i] > 0:
            rest = along[i]
            for j in range(i + 1, k):
                rest -= lower[j, i] * delta[j]
            delta[i] = rest / lower[i, i]
    return delta * scale, 0.5 * float(np.sum(along * along))
