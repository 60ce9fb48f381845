"""Active sets for the three kinds of f: quadratics, linear models, anything else."""

from __future__ import annotations

from functools import partial

import numpy as np

from pursuit.active.engine import ActiveMemory, ActiveSet, Entry, Restriction
from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.base.growing import Table
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.linalg.conjugate_gradients import Apply, conjugate_gradients
from pursuit.objectives.base import QuadraticObjective
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.problem import Problem
from pursuit.points.ambient import as_ambient
from pursuit.points.base import Point
from pursuit.points.gram import as_gram

REGULARIZED = 1e-7
"""The share of the metric that makes a singular Hessian definite."""
NEWTON_TOLERANCE = 0.01
"""The share of the gradient at which conjugate gradients end a step."""


def active_set(problem: Problem, memory: ActiveMemory, selection: str = "omp") -> ActiveSet:
    """Return the active set that suits f, with no atoms yet."""
    if problem.f.quadratic is not None:
        return QuadraticActiveSet(problem, memory, selection)
    if problem.f.linear_model is not None:
        return LinearActiveSet(problem, memory, selection)
    return GeneralActiveSet(problem, memory, selection)


# Quadratics ---------------------------------------------------------------------------------


class QuadraticActiveSet(ActiveSet):
    """Least squares in Gram form: the metric zᵢᵀHzⱼ is the Hessian."""

    f: QuadraticObjective
    accuracy = 0.0

    def products(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        if as_gram(x) is not None:  # the effect of z is its Gram row
            return effect[self.index].astype(np.float64), float(effect[z])
        if self.f.isometric:
            flat = effect.reshape(-1).astype(np.float64, copy=False)
            return self.effects.each_times(flat), float(flat @ flat)
        pulled = self.f.pull(effect)
        return self.inner(pulled), self.set.inner(pulled, z)

    def metric_row(self, x: Point, entry: Entry) -> Array:
        return super().metric_row(x, entry) if as_gram(x) is None else entry.effect

    def pulled(self, entry: Entry) -> Array:
        return self.f.pull(entry.effect)

    def at(self, x: Point) -> Restriction:
        return _QuadraticRestriction(self, x)


class _QuadraticRestriction(Restriction):
    def _at_zero(self) -> Array:
        x, active, ambient = self.x, self.active, as_ambient(self.x)
        if ambient is not None and ambient.image is ambient.x:
            x.counts.products += self.product
            return active.effects.times(ambient.gradient().reshape(-1))
        if active.finite is not None:
            return x.correlations_at(active.index)
        return np.array([x.correlation(z) for z in active.atoms])

    def _gradient(self, delta: Array) -> Array:
        gradient: Array = self.first - times(self.active.gram.matrix, delta)
        return gradient

    def hessian(self, delta: Array) -> Apply:
        return partial(times, self.active.gram.matrix)

    def newton(self, delta: Array, gradient: Array) -> Array:
        return self.active.factor.solve(gradient)

    def decrease(self, delta: Array, last: Array) -> float:
        return 0.5 * float(delta @ (self.first + last))  # exact


# Linear models ------------------------------------------------------------------------------


class LinearActiveSet(ActiveSet):
    """f(β) = Σ wᵢ ℓᵢ(uᵢ) + l2/2 ‖β‖² with u = Xβ: all is seen through the images of the atoms.

    The metric is the Hessian where every loss curves most.
    """

    f: LinearModel

    def __init__(self, problem: Problem, memory: ActiveMemory, selection: str = "omp") -> None:
        super().__init__(problem, memory, selection)
        self.ridge = Table()

    def products(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        weighted = self._weighted(effect)
        column, norm2 = self.effects.each_times(weighted), float(weighted @ effect)
        if self.f.l2:
            ridge, more = self._ridge(z)
            column, norm2 = column + ridge, norm2 + more
        return column, norm2

    def _weighted(self, effect: Array) -> Array:
        weighted: Array = self.f.typical_bend * (self.f.weights * effect).astype(np.float64)
        return weighted

    def _ridge(self, z: Atom) -> tuple[Array, float]:
        """Return the products of l2 alone."""
        f = self.f
        column = f.l2 * self.inner(f.shrunk(self.set.vector(z)))
        return column, f.l2 * f.shrunk_norm2(self.set, z)

    def pulled(self, entry: Entry) -> Array:
        return self.f.pulled(self.set.vector(entry.atom), self._weighted(entry.effect))

    def insert(self, entry: Entry) -> Entry:
        if self.f.l2:
            self.ridge.append(*self._ridge(entry.atom))
        return super().insert(entry)

    def drop(self, k: int) -> None:
        super().drop(k)
        if self.f.l2:
            self.ridge.drop(k)

    def at(self, x: Point) -> Restriction:
        return _LinearRestriction(self, x)


class _LinearRestriction(Restriction):
    active: LinearActiveSet

    def __init__(self, active: LinearActiveSet, x: Point) -> None:
        self.f, self.images = active.f, active.effects.array
        self.u = x.arrays()["image"]
        self.pull = active.f.l2 * active.inner(active.f.shrunk(x.vector)) if active.f.l2 else None
        super().__init__(active, x)

    def _image(self, delta: Array) -> Array:
        image: Array = self.u - times(self.images.T, delta)
        return image

    def _gradient(self, delta: Array) -> Array:
        gradient = times(self.images, self.f.slopes(self._image(delta)))
        if self.pull is not None:
            gradient = gradient + self.pull - self.active.ridge.matrix @ delta
        return gradient.astype(np.float64, copy=False)

    def hessian(self, delta: Array) -> Apply:
        curvatures = self.f.bends(self._image(delta))

        def apply(p: Array) -> Array:
            self.x.counts.products += 2 * self.product
            image = times(self.images, curvatures * times(self.images.T, p))
            return image + self.active.ridge.matrix @ p if self.pull is not None else image

        return apply

    def newton(self, delta: Array, gradient: Array) -> Array:
        linalg = scipy_linalg()
        curvatures = self.f.bends(self._image(delta))
        self.x.counts.products += len(delta) * self.product
        H = times(self.images * curvatures, self.images.T).astype(np.float64)
        if self.pull is not None:
            H += self.active.ridge.matrix
        # A loss with flat parts has a singular Hessian.
        for share in (0.0, REGULARIZED):
            try:
                factor = linalg.cho_factor(H + share * self.active.gram.matrix, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            step: Array = linalg.cho_solve(factor, gradient, check_finite=False)
            return step
        # The metric bounds the Hessian, so its step always descends.
        return self.active.factor.solve(gradient)


# Anything else ------------------------------------------------------------------------------


class GeneralActiveSet(ActiveSet):
    """An f of which only values and gradients are known; the metric is L·⟨zᵢ, zⱼ⟩."""

    def __init__(self, problem: Problem, memory: ActiveMemory, selection: str = "omp") -> None:
        self.L = problem.f.L or 1.0
        super().__init__(problem, memory, selection)
        self.majorizes = problem.f.L is not None

    def products(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        return self.L * self.inner(self.set.vector(z)), self.L * self.set.norm2(z)

    def pulled(self, entry: Entry) -> Array:
        return self.L * self.set.vector(entry.atom)

    def diagonal(self, finite: FiniteAtoms) -> Array:
        return self.L * finite.norms.astype(np.float64) ** 2

    def at(self, x: Point) -> Restriction:
        return _GeneralRestriction(self, x)


class _GeneralRestriction(Restriction):
    def _gradient(self, delta: Array) -> Array:
        y = self.x.vector.copy()
        for step, z in zip(delta.tolist(), self.active.atoms, strict=True):
            self.active.set.shift(y, step, z)
        return self.active.inner(self.active.f.gradient(y))

    def hessian(self, delta: Array) -> Apply:
        here = self.gradient(delta)
        size = float(np.linalg.norm(self.active.coefficients(self.x) - delta))

        def apply(p: Array) -> Array:
            # A difference of gradients over a step long enough to be told from rounding.
            h = 1e-6 * max(1.0, size / float(np.linalg.norm(p)))
            return (here - self.gradient(delta + h * p)) / h

        return apply

    def newton(self, delta: Array, gradient: Array) -> Array:
        norms, metric = self.active.norms, self.active.factor.solve
        least, steps = NEWTON_TOLERANCE * float(np.max(np.abs(gradient) / norms)), 2 * len(delta)
        hessian = self.hessian(delta)
        return conjugate_gradients(hessian, gradient, norms, least, steps + 10, metric, flat=0.0)
