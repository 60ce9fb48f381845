"""Losses of labels y in {−1, 1}: functions of the margins yᵢuᵢ."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.objectives.linear_models import EVERY, Expansion, Rows, Supervised


class Labelled(Supervised):
    """A linear model of labels y in {−1, 1}."""

    def checked(self, y: Array) -> Array:
        values = np.unique(y)
        if np.isin(values, (-1, 1)).all():
            return y
        if np.isin(values, (0, 1)).all():
            return 2 * y - 1
        shown = ", ".join(f"{value:g}" for value in values[:4])
        raise InputError(
            f"y: expected labels −1 and 1, 0 and 1, or booleans, got {len(values)} values: {shown}"
            + (" …" if len(values) > 4 else "")
        )


class Logistic(Labelled):
    """f(β) = Σ wᵢ log(1 + exp(−yᵢ xᵢᵀβ)) + l2/2 ‖β‖².

    Parameters
    ----------
    X, l2, weights, intercept
        See `LinearModel`.
    y
        The labels: −1 and 1, or 0 and 1, or False and True (0 and False stand for −1).

    Examples
    --------
    >>> from pursuit import Coordinates, Logistic, solve
    >>> f = Logistic([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]], [0, 1, 1], l2=1.0)
    >>> solve(f, Coordinates(2), tol=1e-8).x.round(4).tolist()
    [-0.2264, 0.7543]
    """

    bend = 0.25
    growth = 1.0

    def checked(self, y: Array) -> Array:
        labels = super().checked(y)
        seen = np.unique(labels[self.weights > 0])
        if self.intercept and len(seen) == 1:
            raise InputError(
                f"y: expected labels of two classes where there is an intercept, got {seen[0]:g} "
                "alone: f falls without end as the intercept grows"
            )
        return labels

    @property
    def entropic(self) -> Array:
        return self.y

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        t, far = self._margins(u, rows)
        losses: Array = self.weights[rows] * (np.log1p(far) - np.minimum(t, 0))
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        t, far = self._margins(u, rows)
        return self._slopes(t, 1 / (1 + far), rows)

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        _, far = self._margins(u, rows)
        bends: Array = self.weights[rows] * far / (1 + far) ** 2
        return bends

    def kernel_loss(self) -> tuple[Any, Array, Array]:
        from pursuit.kernels.coordinates import Signed

        return Signed(self.bend, self.growth), self.y, self.y

    def conjugates(self, a: Array) -> Array:
        """w(p log p + (1 − p) log(1 − p)) for a = −w y p with p in [0, 1]."""
        from scipy.special import xlogy

        p, w = _shares(np.negative(self.y) * a, self.weights)
        inside = (p >= 0) & (p <= 1)
        p = np.where(inside, p, 0.5)
        entropy: Array = np.where(inside, w * (xlogy(p, p) + xlogy(1 - p, 1 - p)), np.inf)
        return entropy

    def escapes(self, x: Array) -> str:
        """Where x separates the labels, f falls to zero as x grows, and no x has f(x) = 0."""
        if self.l2:
            return ""
        t = np.asarray(self.y * self.image(x), np.float64)[self.weights > 0]
        if not t.any() or t.min() < 0:
            return ""
        return (
            "f falls without end: x separates the labels, and the larger it grows the smaller f "
            "is; expected l2 > 0 or a penalty"
        )

    def expansion(self, u: Array) -> Expansion:
        t, far = self._margins(u, EVERY)
        near: Array = 1 / (1 + far)
        losses: Array = np.log1p(far)
        losses -= np.minimum(t, 0)
        losses *= self.weights
        far *= near  # and these are the bends
        far *= near
        far *= self.weights
        return Expansion(float(losses.sum(dtype=np.float64)), self._slopes(t, near, EVERY), far)

    def _margins(self, u: Array, rows: Rows) -> tuple[Array, Array]:
        """t = y·u, and exp(−|t|), of which everything else is made without overflow."""
        t: Array = self.y[rows] * u
        far: Array = np.exp(-np.abs(t))
        return t, far

    def _slopes(self, t: Array, near: Array, rows: Rows) -> Array:
        """−w y/(1 + exp(t)); a choice by the sign of t would take longer than another exp."""
        slopes: Array = np.exp(-np.maximum(t, 0))
        slopes *= near
        slopes *= self._signed[rows]
        return slopes

    @cached_property
    def _signed(self) -> Array:
        signed: Array = np.negative(self.weights) * self.y
        return signed


class SquaredHinge(Labelled):
    """f(β) = ½ Σ wᵢ max(0, 1 − yᵢ xᵢᵀβ)² + l2/2 ‖β‖²: the L2-loss support vector machine.

    scikit-learn's `LinearSVC` with ``loss="squared_hinge"`` minimises the same function, without
    an intercept, for l2 = 1/(2C).

    Parameters
    ----------
    X, l2, weights, intercept
        See `LinearModel`.
    y
        The labels: −1 and 1, or 0 and 1, or False and True (0 and False stand for −1).
    """

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        r = self._short(u, rows)
        losses: Array = self.weights[rows] * (r * r / 2)
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        slopes: Array = -self.weights[rows] * self.y[rows] * self._short(u, rows)
        return slopes

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        bends: Array = self.weights[rows] * (self._short(u, rows) > 0)
        return bends

    def kernel_loss(self) -> tuple[Any, Array, Array]:
        """y = ±1 makes 1 − yu = −y(u − y): a residual, clipped on the side of large margins."""
        from pursuit.kernels.coordinates import Clipped

        far, zero = np.full_like(self.y, np.inf), np.zeros_like(self.y)
        right = np.equal(self.y, 1)
        low, high = np.where(right, -far, zero), np.where(right, zero, far)
        return Clipped(self.bend, self.growth), low, high

    def conjugates(self, a: Array) -> Array:
        """w(p²/2 − p) for a = −w y p with p ≥ 0."""
        p, w = _shares(np.negative(self.y) * a, self.weights)
        conjugates: Array = np.where(p >= 0, w * (p * p / 2 - p), np.inf)
        return conjugates

    def _short(self, u: Array, rows: Rows) -> Array:
        """By how much the margins are short of one."""
        short: Array = np.maximum(1 - self.y[rows] * u, 0)
        return short


def _shares(a: Array, weights: Array) -> tuple[Array, Array]:
    """a/w and w in float64: the conjugate of wℓ at a is w ℓ*(a/w), where w = 0 that of zero.

    What rounding has put an ulp or two outside of [0, 1] is put back.
    """
    w = weights.astype(np.float64)
    none = w == 0
    p = np.where(none, np.where(a == 0, 0.0, np.inf), a.astype(np.float64) / np.where(none, 1, w))
    slack = tolerances(weights.dtype).equal
    p = np.where((p < 0) & (p > -slack), 0.0, p)
    return np.where((p > 1) & (p < 1 + slack), 1.0, p), w
