"""Separable functions of the coefficients, g(w) = Σ_j g_j(w_j), convex, with g_j(0) = 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import RANGE
from pursuit.base.validation import Array

Number = float | Array
"""One number for all atoms, or one for each."""


class Parts(NamedTuple):
    """g_j(w) = weights_j |w| on [lower_j, upper_j], ∞ outside; lower_j ≤ 0 ≤ upper_j."""

    weights: Array
    lower: Array
    upper: Array


class Penalty(ABC):
    """g(w) = Σ_j g_j(w_j) of the coefficients of a finite set: f(Σ w_j z_j) + g(w) is minimised.

    Each g_j is a multiple of |w| on an interval around zero. A subclass says which, by `terms`;
    what a rule asks follows: what is steepest, where a step ends, what a dual point is worth. So
    a prox is one soft threshold and one clip, here and in compiled code, which gets `parts`.
    """

    hull: ClassVar[str] = "span"
    """What combinations of the atoms with finite g fill."""
    one_sided: ClassVar[bool] = False
    """Whether g is 0 for w ≥ 0 and ∞ below, for all atoms: combinations are their cone."""

    @property
    @abstractmethod
    def terms(self) -> tuple[Number, Number, Number]:
        """λ, lower and upper of g_j(w) = λ|w| on [lower, upper], each for all atoms or for each."""

    @cached_property
    def free(self) -> bool:
        """Whether g = 0 everywhere, so that combinations are lin(A)."""
        weights, lower, upper = self.terms
        return not np.any(weights) and bool(np.all(np.isinf(lower)) and np.all(np.isinf(upper)))

    @property
    def weighted(self) -> bool:
        """Whether a coefficient costs something where it may be."""
        return bool(np.any(self.terms[0]))

    def parts(self, n: int) -> Parts:
        """λ_j, lower_j and upper_j for each of n atoms, in float64."""
        return Parts(*(self._spread(term, n) for term in self.terms))

    def _spread(self, term: Number, n: int) -> Array:
        if not isinstance(term, np.ndarray) or not term.ndim:
            return np.full(n, term, np.float64)
        if term.shape != (n,):
            raise InputError(
                f"penalty: {type(self).__name__} has {len(term)} numbers, one for each atom; "
                f"expected {n}, as there are atoms"
            )
        return np.ascontiguousarray(term, np.float64)

    # The same g for other atoms -----------------------------------------------------------

    def at(self, places: Array) -> Penalty:
        """g of some of the atoms."""
        if not any(isinstance(term, np.ndarray) for term in self.terms):
            return self
        return Separable(*(t[places] if isinstance(t, np.ndarray) else t for t in self.terms))

    def rescaled(self, scales: Array | None) -> Penalty:
        """g for atoms that were divided by these scales: of the coefficients w_j · scales_j.

        λ_j becomes λ_j/scales_j and the interval is stretched by scales_j, so that f + g has the
        same minimiser.
        """
        if scales is None or self.free:
            return self
        s = np.asarray(scales, np.float64)
        weights, lower, upper = self.terms
        return Separable(weights / s, lower * s, upper * s)

    def within(self, dtype: np.dtype[Any]) -> Penalty:
        """g with an interval whose ends are numbers of a precision: not beyond those of its own."""
        weights, *bounds = self.terms
        if dtype == np.float64 or all(np.all((b == 0) | np.isinf(b)) for b in bounds):
            return self
        return Separable(weights, *(_toward_zero(bound, dtype) for bound in bounds))

    def times(self, factor: float) -> Penalty:
        """g with its weights multiplied by a factor and the bounds that it has."""
        weights, lower, upper = self.terms
        return Separable(np.multiply(weights, factor), lower, upper)

    def only(self, places: Array, n: int) -> Penalty:
        """g for n atoms of which all but those at some places are to stay at zero."""
        weights, lower, upper = (np.zeros_like(part) for part in self.parts(n))
        for new, part in zip((weights, lower, upper), self.parts(n), strict=True):
            new[places] = part[places]
        return Separable(weights, lower, upper)

    def freed(self, places: Array, n: int) -> Penalty:
        """g for n atoms, but nothing for those at some places."""
        weights, lower, upper = (part.copy() for part in self.parts(n))
        weights[places], lower[places], upper[places] = 0.0, -inf, inf
        return Separable(weights, lower, upper)

    def joined(self, other: Penalty) -> Penalty:
        """The sum of two penalties: both weights, and the interval that both allow."""
        if self.free or other.free:
            return other if self.free else self
        (a, low, high), (b, lower, upper) = self.terms, other.terms
        return Separable(a + b, np.maximum(low, lower), np.minimum(high, upper))

    # What it says -----------------------------------------------------------------------

    def value(self, w: Array) -> float:
        """g(w); inf outside of its domain."""
        if not self.allows(w):
            return inf
        return float(np.sum(self.terms[0] * np.abs(w, dtype=np.float64)))

    def allows(self, w: Array) -> bool:
        """Whether coefficients are in the domain of g."""
        _, *bounds = self.terms
        lower, upper = (np.asarray(bound, np.float64) for bound in bounds)
        return bool(np.all(w >= lower) and np.all(w <= upper))

    def prox(self, w: Array, h: Number) -> Array:
        """argmin over v of g(v) + Σ_j h_j (v_j − w_j)²/2: a soft threshold and a clip."""
        weights, lower, upper = self.terms
        shrunk = np.copysign(np.maximum(np.abs(w) - weights / h, 0), w)
        return np.clip(shrunk, lower, upper)

    def subgradient(self, c: Array, w: Array) -> Array:
        """Of c_j + ∂g_j(w_j) the number next to zero, where c = Z∇f: zero exactly at the optimum.

        Its size is the distance of −c_j from the subdifferential: what a steepest rule compares.
        """
        weights, lower, upper = self.terms
        left = np.where(w > lower, c + np.where(w > 0, weights, np.negative(weights)), -inf)
        right = np.where(w < upper, c + np.where(w < 0, np.negative(weights), weights), inf)
        return np.maximum(left, 0) + np.minimum(right, 0)

    def gain(self, c: Array) -> Array:
        """How fast f + g falls at best along each atom from w = 0, where c = Z∇f; may be < 0."""
        weights, lower, upper = self.terms
        down = np.where(np.less(lower, 0), c - weights, -inf)
        up = np.where(np.greater(upper, 0), -c - weights, -inf)
        return np.maximum(down, up)

    def conjugate(self, v: Array, l2: Number = 0.0) -> Array:
        """sup over w of v_j w − g_j(w) − l2_j w²/2, for each atom: what a dual point is charged.

        Without l2 it is the support function of the interval at what v exceeds λ by.
        """
        weights, lower, upper = self.terms
        over: Array = np.maximum(np.abs(v) - weights, 0)
        end = np.where(v > 0, upper, np.negative(lower))
        curved = np.broadcast_to(np.asarray(l2, np.float64), over.shape)
        vertex = np.divide(over, curved, out=np.full(over.shape, inf), where=curved > 0)
        best = np.where(over > 0, np.minimum(vertex, end), 0.0)
        charge: Array = best * over
        ridged = np.isfinite(best)
        charge[ridged] -= curved[ridged] * best[ridged] ** 2 / 2
        return charge

    def lets_grow(self, w: Array) -> bool:
        """Whether g(kw) = 0 for all k ≥ 0: nothing in use has a weight, or a bound ahead."""
        weights, lower, upper = self.terms
        ahead = np.where(w > 0, upper, np.negative(lower))
        return bool(((w == 0) | (np.equal(weights, 0) & np.isposinf(ahead))).all())

    def room(self, w: float, c: float) -> float:
        """How far w may move against the sign of c before it leaves the domain."""
        _, lower, upper = self.terms
        return float(w - lower if c > 0 else upper - w)


def _number(term: Number) -> Number:
    """A float for all atoms, or an array with one for each."""
    return term if np.ndim(term) else float(term)


def _toward_zero(bound: Number, dtype: np.dtype[Any]) -> Array:
    """The nearest number of a precision that is not further from zero.

    A finite bound is at most the largest coefficient of data in the range of that precision.
    """
    least, most = RANGE[dtype]
    bound = np.where(np.isinf(bound), bound, np.clip(bound, -most / least, most / least))
    near = bound.astype(dtype)
    beyond = np.abs(near, dtype=np.float64) > np.abs(bound)
    return np.where(beyond, np.nextafter(near, dtype.type(0)), near).astype(np.float64)


class Separable(Penalty):
    """g_j(w) = λ_j|w| on [lower_j, upper_j]: what penalties become for other atoms, or together."""

    def __init__(self, weights: Number, lower: Number, upper: Number) -> None:
        self.weights, self.lower, self.upper = map(_number, (weights, lower, upper))

    @property
    def terms(self) -> tuple[Number, Number, Number]:
        return self.weights, self.lower, self.upper
