"""How far a start is from the optimum: ε_0, R_A and ‖x* − x0‖_P.

For a quadratic they follow from H⁻¹∇f(x0). Where the curvature of a direction cannot be told from
rounding nothing is proved about them: they are estimates then, over the directions that are clear.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.sampling import Moments, as_sampling, dense
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, TINIEST, length
from pursuit.base.validation import Array, shaped_array
from pursuit.geometry.constant import Constant, Kind, at_most, in_range
from pursuit.geometry.curvature import (
    NEAREST,
    growth,
    safe_strong_convexity,
    sampled_convexity,
    strong_convexity,
)
from pursuit.geometry.slope import Slope, slope_at
from pursuit.geometry.span import SpanHessian, basis_of, curved, tilt
from pursuit.objectives.base import Objective

FLAT = 1e-7
"""The share of a gradient that rounding may leave along directions in which f is flat."""
_DISTANCE = "‖x* − x0‖_P"


def gap(f: Objective, atoms: AtomSet, x: object | None = None) -> Constant:
    """f(x) − min f over lin(A); x = 0 where it is not given.

    ½ gᵀH⁻¹g on lin(A) for a quadratic, else at most ‖g‖²_{A*}/(2μ_A).
    """
    serves = "Theorem 5, R_A"
    seen = slope_at(f, atoms, start_point(f, atoms, x))
    quadratic = curved(f, atoms)
    if quadratic is None:
        mu_A = safe_strong_convexity(f, atoms)
        if mu_A.lower == 0:
            mu_A = growth(f, atoms)
        upper = seen.gap(mu_A.lower)
        if f.quadratic is not None and f.lowest > -inf:  # a sum of squares is never below zero
            upper = min(upper, f.value(seen.point) - f.lowest + seen.off)
        return Constant(upper, Kind.UPPER, serves, confidence=mu_A.confidence)
    H = SpanHessian(quadratic, basis_of(atoms), tilt(atoms))
    slopes = _slopes(H, seen)
    if not H.clear:
        half = _estimate("ε_0", H, slopes, 1, serves)
        whole = half * half / 2
        return Constant(whole if half == inf else in_range("ε_0", whole), half.kind, serves)
    ways = length(slopes.steps(1)), slopes.error(1)
    size, error = (slopes.scaled(way, 1) for way in ways)
    upper = float((size + error) / (1 - H.doubt))
    lower = float(max(size - error, 0.0) / (1 + H.doubt))
    # A square may underflow, and the gap is zero at a minimiser alone.
    least, most = lower * lower / 2 - seen.off, upper * upper / 2 + seen.off
    most += TINIEST if upper else 0.0
    return at_most(max(least - TINIEST, 0.0), in_range("ε_0", most), serves)


@dataclass(frozen=True)
class _Slopes:
    """The gradient along the axes of H, beside the roots of H's eigenvalues, both in units.

    In powers of two: products of tiny vectors would be zero, those of large ones no numbers, where
    the steps that follow from them are moderate.
    """

    parts: Array
    noise: float
    """How long the error of the parts may be."""
    unit: int
    roots: Array
    root_unit: int

    def steps(self, power: int, along: Any = slice(None)) -> Array:
        """H^(−power/2)g along these axes, to be `scaled`."""
        steps: Array = self.parts[along]
        for _ in range(power):
            steps = steps / self.roots[along]
        return steps

    def error(self, power: int) -> float:
        """How long the error of those steps may be, along all axes."""
        return self.noise / float(self.roots.min()) ** power

    def scaled(self, length: float, power: int) -> float:
        """A length in the unit of steps; inf where it is above the range of floating point."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(length, self.unit - power * self.root_unit))


def _slopes(H: SpanHessian, seen: Slope) -> _Slopes:
    g = np.asarray(seen.gradient, dtype=np.float64).reshape(-1)
    noise = seen.rounding + sum(H.basis.shape) * EPS * length(g)
    if H.tilt:
        noise += H.tilt * (length(g) + (H.f.L or inf) * length(seen.point))
    of_basis, of_roots = _exponent(H.basis), _exponent(H.roots)
    of_g = _exponent(g) if g.any() else _exponent(noise)
    parts = H.axes.T @ (np.ldexp(H.basis, -of_basis) @ np.ldexp(g, -of_g))
    noise = float(np.ldexp(noise, -of_g)) * float(np.ldexp(H.stretch, -of_basis))
    return _Slopes(parts, noise, of_g + of_basis, np.ldexp(H.roots, -of_roots), of_roots)


def _exponent(array: Array | float) -> int:
    """k, where the largest of the entries is between 2^(k − 1) and 2^k."""
    return int(np.frexp(np.abs(array).max(initial=0.0))[1])


def _estimate(name: str, H: SpanHessian, slopes: _Slopes, power: int, serves: str) -> Constant:
    """‖H^(−power/2)g‖ over the directions that are clear; +inf with a slope along another."""
    flat = H.drowned
    if length(slopes.parts[flat]) > FLAT * length(slopes.parts):
        return Constant(inf, Kind.UPPER, serves)
    size = slopes.scaled(length(slopes.steps(power, ~flat)), power)
    return Constant(in_range(name, size), Kind.ESTIMATE, serves)


def level_radius(f: Objective, atoms: AtomSet, x0: object | None = None) -> Constant:
    """R_A = max ‖x − x*‖_A over the level set of x0; x0 = 0 where it is not given.

    √(2ε₀/μ_A) exactly for a quadratic, an upper bound for other strongly convex f. A quadratic
    with flat directions has an unbounded level set, and x* is then the minimiser nearest to x, with
    which Theorems 3 and 4 hold as well: √(2ε₀/μ̄_A) (`growth`; `serves` says which it is). Else
    +inf where μ_A = 0. The value is the upper end, with which the theorems stay true.
    """
    serves = "Theorems 3, 4"
    mu_A = strong_convexity(f, atoms)
    if mu_A.lower == 0:
        exact, mu_A = mu_A.kind is Kind.EXACT, growth(f, atoms)
        serves = NEAREST
        if mu_A.lower == 0:
            return Constant(inf, Kind.EXACT if exact else Kind.UPPER, "Theorems 3, 4")
    epsilon = gap(f, atoms, x0)
    upper = sqrt(2 * epsilon.upper) / sqrt(mu_A.lower)
    if f.quadratic is None:
        return Constant(upper, Kind.UPPER, serves, confidence=mu_A.confidence)
    lower = sqrt(2 * epsilon.lower) / sqrt(mu_A.upper)
    return at_most(lower, upper, serves).stated(mu_A.confidence)


def distance(
    f: Objective, atoms: AtomSet, x0: object | None = None, sampling: object | None = None
) -> Constant:
    """‖x* − x0‖_P for the minimiser x* over lin(A) nearest to x0; x0 = 0 where it is not given.

    Exact for a quadratic; else at most √(2ε₀/λ) with λ from μ_A·δ̂² or from μ·λ_min(P̃).
    """
    moments = as_sampling(atoms, sampling).moments
    return _distance(f, atoms, start_point(f, atoms, x0), moments, sampling).stated(
        moments.confidence
    )


def _distance(
    f: Objective, atoms: AtomSet, point: Array, moments: Moments, sampling: object | None
) -> Constant:
    serves = "Theorems 8, 9"
    quadratic = curved(f, atoms)
    if quadratic is None:
        relative = sampled_convexity(f, atoms, sampling).lower
        upper = sqrt(2 * gap(f, atoms, point).upper) / sqrt(relative) if relative else inf
        return Constant(upper, Kind.UPPER, serves)
    seen = slope_at(f, atoms, point)
    H = SpanHessian(quadratic, basis_of(atoms), tilt(atoms))
    if H.clear and not H.singular:
        return _to_minimiser(H, seen, moments, serves)
    # Of many minimisers, the one that is nearest in the P-norm.
    H = SpanHessian(quadratic, dense(moments.frame), tilt(atoms))
    slopes = _slopes(H, seen)
    if H.deep_doubt >= 1:
        return _estimate(_DISTANCE, H, slopes, 2, serves)
    ways = length(slopes.steps(2)), slopes.error(2)
    size, error = (slopes.scaled(way, 2) for way in ways)
    return _around(size, error, H.deep_doubt, moments.rounding, serves)


def _to_minimiser(H: SpanHessian, seen: Slope, moments: Moments, serves: str) -> Constant:
    """‖H⁻¹g‖_P: the only minimiser is found in coordinates that know nothing of P."""
    slopes = _slopes(H, seen)
    dual, doubt = dense(moments.dual), H.deep_doubt
    with np.errstate(over="ignore", invalid="ignore"):
        step = (H.axes @ slopes.steps(2)) @ H.basis
        size = in_range(_DISTANCE, slopes.scaled(length(dual @ step), 2))
    if doubt >= 1:
        return Constant(size, Kind.ESTIMATE, serves)
    wrong = doubt / (1 - doubt) * length(step) + slopes.error(2)
    error = slopes.scaled(wrong * length(dual), 2)
    return _around(size, error, 0.0, moments.rounding, serves)


def _around(size: float, error: float, doubt: float, rounding: float, serves: str) -> Constant:
    """A length in the P-norm, where the error, the doubt of H and the rounding of P leave one."""
    if rounding >= 1:
        return Constant(size, Kind.ESTIMATE, serves)
    upper = (size + error) / (1 - doubt) / sqrt(1 - rounding)
    lower = max(size - error, 0.0) * (1 - doubt) / sqrt(1 + rounding)
    return at_most(lower, in_range(_DISTANCE, upper), serves)


def start_point(f: Objective, atoms: AtomSet, x0: object | None) -> Array:
    """x0 checked, or zero."""
    if x0 is None:
        return np.zeros(atoms.shape, np.result_type(f.dtype, atoms.dtype))
    point = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(point):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return point
