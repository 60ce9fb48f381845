"""The spans of the three kinds of f: quadratics, linear models, anything else."""

from __future__ import annotations

from functools import partial

import numpy as np

from pursuit.active.active_set import Entry, Local, Span
from pursuit.active.newton import Apply, conjugate
from pursuit.atoms.base import Atom
from pursuit.base.growing import Table
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.objectives.base import QuadraticObjective
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point

BENT = 1e-7
"""The share of the metric that bends a singular Hessian."""


def over(problem: Problem) -> Span:
    """The span that suits f, with no atoms yet."""
    if problem.f.quadratic is not None:
        return QuadraticSpan(problem)
    if problem.f.linear_model is not None:
        return LinearSpan(problem)
    return GeneralSpan(problem)


# Quadratics ---------------------------------------------------------------------------------


class QuadraticSpan(Span):
    """A constant Hessian H: the metric zᵢᵀHzⱼ is the whole truth."""

    f: QuadraticObjective
    gram: Table

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.gram = Table()

    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        if x.in_gram_form is not None:  # the effect of z is its Gram row
            return effect[self.index].astype(np.float64), float(effect[z])
        if self.f.isometric:
            flat = effect.reshape(-1).astype(np.float64, copy=False)
            return self.effects.each_times(flat), float(flat @ flat)
        pulled = self.f.pull(effect)
        return self.inner(pulled), self.set.inner(pulled, z)

    def add(self, entry: Entry) -> None:
        super().add(entry)
        self.gram.append(entry.column, entry.norm2)

    def drop(self, k: int) -> None:
        super().drop(k)
        self.gram.drop(k)

    def at(self, x: Point) -> Local:
        return _QuadraticLocal(self, x)


class _QuadraticLocal(Local):
    span: QuadraticSpan

    def _here(self) -> Array:
        x, finite = self.x, self.span.finite
        if finite and x.looked:
            return x.correlations()[self.span.index]
        ambient = x.ambient
        if ambient is not None and ambient.image is ambient.x:
            x.counts.products += self._product
            return self.span.effects.times(ambient.gradient().reshape(-1))
        if finite:
            return x.slopes(self.span.index)
        return np.array([x.slope(z) for z in self.span.atoms])

    def _slopes(self, delta: Array) -> Array:
        slopes: Array = self.first - times(self.span.gram.matrix, delta)
        return slopes

    def hessian(self, delta: Array) -> Apply:
        return partial(times, self.span.gram.matrix)

    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        return metric(slopes)

    def decrease(self, delta: Array, last: Array) -> float:
        return 0.5 * float(delta @ (self.first + last))  # exact


# Linear models ------------------------------------------------------------------------------


class LinearSpan(Span):
    """f(β) = Σ wᵢ ℓᵢ(uᵢ) + l2/2 ‖β‖² with u = Xβ: all is seen through the images of the atoms.

    The metric is the Hessian where every loss bends most.
    """

    f: LinearModel

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.ridge, self.metric = Table(), Table()

    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        f = self.f
        weighted = f.typical_bend * (f.weights * effect).astype(np.float64)
        norm2 = float(weighted @ effect)
        column = self.effects.each_times(weighted)
        if f.l2:
            column = column + f.l2 * self.inner(f.shrunk(self.set.vector(z)))
            norm2 += f.l2 * f.shrunk_norm2(self.set, z)
        return column, norm2

    def add(self, entry: Entry) -> None:
        if self.f.l2:
            f, vector = self.f, self.f.shrunk(self.set.vector(entry.atom))
            self.ridge.append(
                f.l2 * self.inner(vector), f.l2 * f.shrunk_norm2(self.set, entry.atom)
            )
        super().add(entry)
        self.metric.append(entry.column, entry.norm2)

    def drop(self, k: int) -> None:
        super().drop(k)
        self.metric.drop(k)
        if self.f.l2:
            self.ridge.drop(k)

    def at(self, x: Point) -> Local:
        return _LinearLocal(self, x)


class _LinearLocal(Local):
    span: LinearSpan

    def __init__(self, span: LinearSpan, x: Point) -> None:
        self.f, self.images = span.f, span.effects.array
        self.u = x.arrays()["image"]
        self.pull = span.f.l2 * span.inner(span.f.shrunk(x.vector)) if span.f.l2 else None
        super().__init__(span, x)

    def _image(self, delta: Array) -> Array:
        image: Array = self.u - times(self.images.T, delta)
        return image

    def _slopes(self, delta: Array) -> Array:
        slopes = times(self.images, self.f.slopes(self._image(delta)))
        if self.pull is not None:
            slopes = slopes + self.pull - self.span.ridge.matrix @ delta
        return slopes.astype(np.float64, copy=False)

    def hessian(self, delta: Array) -> Apply:
        bends = self.f.bends(self._image(delta))

        def apply(p: Array) -> Array:
            self.x.counts.products += 2 * self._product
            out = times(self.images, bends * times(self.images.T, p))
            return out + self.span.ridge.matrix @ p if self.pull is not None else out

        return apply

    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        linalg = scipy_linalg()
        bends = self.f.bends(self._image(delta))
        self.x.counts.products += self.size * self._product
        H = times(self.images * bends, self.images.T).astype(np.float64)
        if self.pull is not None:
            H += self.span.ridge.matrix
        # A loss with flat parts has a singular Hessian: a little of the metric bends it.
        for bent in (0.0, BENT):
            try:
                factor = linalg.cho_factor(H + bent * self.span.metric.matrix, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            step: Array = linalg.cho_solve(factor, slopes, check_finite=False)
            return step
        return metric(slopes)  # the metric bounds the Hessian, so its step always descends


# Anything else ------------------------------------------------------------------------------


class GeneralSpan(Span):
    """An f of which only values and gradients are known; the metric is L·⟨zᵢ, zⱼ⟩."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.bounding = problem.f.L is not None

    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        L = self.f.L or 1.0
        return L * self.inner(self.set.vector(z)), L * self.set.norm2(z)

    def at(self, x: Point) -> Local:
        return _GeneralLocal(self, x)


class _GeneralLocal(Local):
    span: GeneralSpan

    def _slopes(self, delta: Array) -> Array:
        y = self.x.vector.copy()
        for step, z in zip(delta.tolist(), self.span.atoms, strict=True):
            self.span.set.shift(y, step, z)
        return self.span.inner(self.span.f.gradient(y))

    def hessian(self, delta: Array) -> Apply:
        here = self.slopes(delta)
        reach = float(np.linalg.norm(self.span.coefficients(self.x) - delta))

        def apply(p: Array) -> Array:
            # A difference of slopes over a step long enough to be told from rounding.
            length = float(np.linalg.norm(p))
            h = 1e-6 * max(1.0, reach / length)
            return (here - self.slopes(delta + h * p)) / h

        return apply

    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        norms = self.span.norms
        enough = 0.01 * float(np.max(np.abs(slopes) / norms))
        return conjugate(self.hessian(delta), slopes, metric, norms, enough)
