"""How far a start is from the optimum: ε_0, R_A and ‖x* − x0‖_P.

For a quadratic they follow from H⁻¹∇f(x0). Where the curvature of a direction cannot be told from
rounding nothing is proved about them: they are estimates then, over the directions that are clear.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.sampling import Moments, as_sampling, dense
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, length
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
    parts, noise = _slopes(H, seen)
    if not H.clear:
        half = _estimate("ε_0", H, parts, 1, serves)
        whole = half * half / 2
        return Constant(whole if half == inf else in_range("ε_0", whole), half.kind, serves)
    with np.errstate(over="ignore"):
        size = length(parts / H.roots)
    error = noise / float(H.roots.min())
    upper = float((size + error) / (1 - H.doubt))
    lower = float(max(size - error, 0.0) / (1 + H.doubt))
    ends = lower * lower / 2 - seen.off, in_range("ε_0", upper * upper / 2 + seen.off)
    return at_most(max(ends[0], 0.0), ends[1], serves)


def _slopes(H: SpanHessian, seen: Slope) -> tuple[Array, float]:
    """The gradient along the axes of H, and how long its error may be."""
    g = np.asarray(seen.gradient, dtype=np.float64).reshape(-1)
    noise = seen.rounding + sum(H.basis.shape) * EPS * length(g)
    if H.tilt:
        noise += H.tilt * (length(g) + (H.f.L or inf) * length(seen.point))
    with np.errstate(over="ignore", invalid="ignore"):
        parts = H.axes.T @ (H.basis @ g)
    if not np.isfinite(parts).all():
        raise InputError("f: its slopes along the atoms are out of the range of floating point")
    return parts, noise * H.stretch


def _estimate(name: str, H: SpanHessian, parts: Array, power: int, serves: str) -> Constant:
    """‖H^(−power/2)g‖ over the directions that are clear; +inf with a slope along another."""
    flat = H.drowned
    if length(parts[flat]) > FLAT * length(parts):
        return Constant(inf, Kind.UPPER, serves)
    steps = parts[~flat]
    with np.errstate(over="ignore"):
        for _ in range(power):
            steps = steps / H.roots[~flat]
    return Constant(in_range(name, length(steps)), Kind.ESTIMATE, serves)


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
    parts, noise = _slopes(H, seen)
    if H.deep_doubt >= 1:
        return _estimate(_DISTANCE, H, parts, 2, serves)
    with np.errstate(over="ignore"):
        size = length(parts / H.roots / H.roots)
    error = noise / float(H.roots.min()) / float(H.roots.min())
    return _around(size, error, H.deep_doubt, moments.rounding, serves)


def _to_minimiser(H: SpanHessian, seen: Slope, moments: Moments, serves: str) -> Constant:
    """‖H⁻¹g‖_P: the only minimiser is found in coordinates that know nothing of P."""
    parts, noise = _slopes(H, seen)
    dual, doubt, least = dense(moments.dual), H.deep_doubt, float(H.roots.min())
    with np.errstate(over="ignore", invalid="ignore"):
        step = (H.axes @ (parts / H.roots / H.roots)) @ H.basis
        size = in_range(_DISTANCE, length(dual @ step))
    if doubt >= 1:
        return Constant(size, Kind.ESTIMATE, serves)
    wrong = doubt / (1 - doubt) * length(step) + noise / least / least
    return _around(size, wrong * length(dual), 0.0, moments.rounding, serves)


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
