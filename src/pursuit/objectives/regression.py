"""Losses of responses y: squares, Huber's, and those of counts."""

from __future__ import annotations

from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range, row_norms
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, positive
from pursuit.objectives.base import HessianBound
from pursuit.objectives.linear_models import EVERY, Rows, Supervised
from pursuit.objectives.maps import magnitudes


class Responses(Supervised):
    """A linear model of real responses y."""

    def _clipped(self, bound: float) -> tuple[Any, Array, Array]:
        """Residuals between ±bound, as kernels take them."""
        from pursuit.kernels.coordinates import Clipped

        high = np.full_like(self.y, bound)
        return Clipped(self.bend, self.growth), -high, high

    def _residuals(self, u: Array, rows: Rows) -> Array:
        residuals: Array = u - self.y[rows]
        return residuals


class Squares(Responses):
    """f(β) = ½ Σ wᵢ(xᵢᵀβ − yᵢ)² + l2/2 ‖β‖²: `LeastSquares` as what it shares with other losses."""

    growth = 0.0

    @staticmethod
    def of(A: Any, b: Array, l2: float, intercept: bool) -> Squares:
        """Of what `LeastSquares` has checked; A has the column of the intercept already."""
        model = Squares.__new__(Squares)
        model._keep(A, l2, intercept)
        model.weights = np.ones(len(b), model.dtype)
        model.y = b.astype(model.dtype, copy=False)
        return model

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        r = self._residuals(u, rows)
        losses: Array = self.weights[rows] * (r * r / 2)
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        slopes: Array = self.weights[rows] * self._residuals(u, rows)
        return slopes

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        return self.weights[rows]

    def hessian_below(self, rows: Array) -> HessianBound:
        roots = np.sqrt(self.weights.astype(np.float64))
        images = np.asarray(self.X @ rows.T).T * roots
        sizes = np.asarray(magnitudes(self.X, rows.T)).T * roots
        if self.l2:
            shrunk = sqrt(self.l2) * self.shrunk(rows)
            images, sizes = np.hstack([images, shrunk]), np.hstack([sizes, np.abs(shrunk)])
        return HessianBound(images, row_norms(sizes), exact=True)

    def kernel_loss(self) -> tuple[Any, Array, Array]:
        return self._clipped(inf)

    def conjugates(self, a: Array) -> Array:
        """a²/(2w) + ay."""
        return _square_conjugates(a, self.y, self.weights)


class Huber(Responses):
    """f(β) = Σ wᵢ h(xᵢᵀβ − yᵢ) + l2/2 ‖β‖², h(r) = r²/2 up to |r| = delta and linear beyond.

    scikit-learn's `HuberRegressor` minimises the same function with delta = epsilon · scale_ and
    l2 = alpha · scale_.

    Parameters
    ----------
    X, l2, weights, intercept
        See `LinearModel`.
    y
        The responses.
    delta
        Where the loss turns from quadratic to linear, in the units of y.
    """

    def __init__(
        self,
        X: Any,
        y: object,
        delta: float,
        l2: float = 0.0,
        weights: object | None = None,
        intercept: bool = False,
    ) -> None:
        super().__init__(X, y, l2, weights, intercept)
        self.delta = positive("delta", delta)
        check_range("delta", np.array(self.delta), dtype=self.dtype)

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        r = np.abs(self._residuals(u, rows))
        inside = np.minimum(r, self.delta)
        # r²/2 inside and delta·(r − delta/2) outside, in one formula.
        losses: Array = self.weights[rows] * inside * (r - inside / 2)
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        inside = np.clip(self._residuals(u, rows), -self.delta, self.delta)
        slopes: Array = self.weights[rows] * inside
        return slopes

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        bends: Array = self.weights[rows] * (np.abs(self._residuals(u, rows)) <= self.delta)
        return bends

    def kernel_loss(self) -> tuple[Any, Array, Array]:
        return self._clipped(self.delta)

    def conjugates(self, a: Array) -> Array:
        """a²/(2w) + ay for |a| ≤ w·delta."""
        slack = 1 + tolerances(self.dtype).equal
        inside = np.abs(a) <= self.weights.astype(np.float64) * self.delta * slack
        conjugates: Array = np.where(inside, _square_conjugates(a, self.y, self.weights), inf)
        return conjugates

    def majorants(self, u: Array) -> Array:
        majorants: Array = self.weights / np.maximum(np.abs(u - self.y) / self.delta, 1)
        return majorants


class Poisson(Responses):
    """f(β) = Σ wᵢ(exp(xᵢᵀβ) − yᵢ xᵢᵀβ) + l2/2 ‖β‖²: counts yᵢ ≥ 0 of mean exp(xᵢᵀβ).

    exp bends without bound, so f has no smoothness constant: it needs steps that measure, such as
    those of the methods ``"cyclic"``, ``"shuffled"``, ``"orthogonal"`` and ``"accelerated"``.
    scikit-learn's `PoissonRegressor` minimises the same function for l2 = alpha · Σwᵢ.

    Parameters
    ----------
    X, l2, weights, intercept
        See `LinearModel`.
    y
        The counts, or rates: numbers of at least 0.
    """

    bend = inf
    growth = 1.0

    def checked(self, y: Array) -> Array:
        if y.min() < 0:
            raise InputError(f"y: expected counts of at least 0, got {y.min():g}")
        if self.intercept and not y[self.weights > 0].any():
            raise InputError(
                "y: expected a count above 0 where there is an intercept, got none: f falls "
                "without end as the intercept falls"
            )
        return y

    @cached_property
    def lowest(self) -> float:  # type: ignore[override]
        """Σ wᵢ(yᵢ − yᵢ log yᵢ)."""
        from scipy.special import xlogy

        w, y = self.weights.astype(np.float64), self.y.astype(np.float64)
        return float(w @ (y - xlogy(y, y)))

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        losses: Array = self.weights[rows] * (self._means(u) - self.y[rows] * u)
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        slopes: Array = self.weights[rows] * (self._means(u) - self.y[rows])
        return slopes

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        bends: Array = self.weights[rows] * self._means(u)
        return bends

    def kernel_loss(self) -> tuple[Any, Array, Array]:
        from pursuit.kernels.coordinates import Counted

        return Counted(self.bend, self.growth), self.y, self.y

    def conjugates(self, a: Array) -> Array:
        """w(m log m − m) for a = w(m − y) with m ≥ 0."""
        from scipy.special import xlogy

        w, y = self.weights.astype(np.float64), self.y.astype(np.float64)
        m = np.where(w > 0, a / np.where(w > 0, w, 1), 0) + y
        slack = tolerances(self.dtype).equal * y
        m = np.where((m < 0) & (m >= -slack), 0.0, m)
        inside = (m >= 0) & ((w > 0) | (a == 0))
        m = np.where(inside, m, 1.0)
        conjugates: Array = np.where(inside, w * (xlogy(m, m) - m), inf)
        return conjugates

    def curvature(self, z: Array, image: Array) -> float:
        bent = bool((self.weights * image).any())
        return inf if bent else self.l2 * float(np.vdot(self.shrunk(z), z))

    def curvature_here(self, x: Array, image: Array) -> float:
        bends = self.bends(image).astype(np.float64)
        return float(bends @ image.astype(np.float64) ** 2) + self.l2 * float(np.vdot(x, x))

    def majorants(self, u: Array) -> Array:
        """Of parabolas that are above wᵢ ℓᵢ where u rises by at most one: none is everywhere."""
        majorants: Array = np.e * self.bends(u).astype(np.float64)
        return majorants

    def sensitivity(self, u: Array) -> Array:
        return self.majorants(u)

    @property
    def typical_bend(self) -> float:
        """The mean count."""
        w = self.weights.astype(np.float64)
        return float(w @ self.y / w.sum()) or 1.0

    @staticmethod
    def _means(u: Array) -> Array:
        means: Array = np.exp(u)
        return means


def _square_conjugates(a: Array, y: Array, weights: Array) -> Array:
    w, a = weights.astype(np.float64), a.astype(np.float64)
    none = w == 0
    conjugates: Array = np.where(
        none, np.where(a == 0, 0.0, inf), a * a / np.where(none, 1, 2 * w) + a * y
    )
    return conjugates
