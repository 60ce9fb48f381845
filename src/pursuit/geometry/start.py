"""How far a start is from the optimum: ε_0, R_A and ‖x* − x0‖_P.

For a quadratic they follow from H⁻¹∇f(x0). Where the curvature of a direction cannot be told from
rounding nothing is proved about them: they are estimates then, over the directions that are clear.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.sampling import as_sampling, dense
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, shaped_array
from pursuit.geometry.constant import Constant, Kind, at_most
from pursuit.geometry.curvature import (
    NEAREST,
    growth,
    safe_strong_convexity,
    sampled_convexity,
    strong_convexity,
)
from pursuit.geometry.span import SpanHessian, basis_of, curved
from pursuit.objectives.base import Objective

FLAT = 1e-7
"""The share of a gradient that rounding may leave along directions in which f is flat."""


def gap(f: Objective, atoms: AtomSet, x: object | None = None) -> Constant:
    """f(x) − min f over lin(A); x = 0 where it is not given.

    ½ gᵀH⁻¹g on lin(A) for a quadratic, else at most ‖g‖²_{A*}/(2μ_A).
    """
    serves, point = "Theorem 5, R_A", start_point(f, atoms, x).astype(np.float64)
    wide, quadratic = f.double(), curved(f, atoms)
    if quadratic is None:
        mu_A = safe_strong_convexity(f, atoms)
        if mu_A.lower == 0:
            mu_A = growth(f, atoms)
        norm = atoms.dual_norm(wide.gradient(point))
        upper = norm / mu_A.lower * norm / 2 if mu_A.lower else inf
        if f.quadratic is not None:  # a sum of squares is never below zero
            upper = min(upper, wide.value(point) - f.lowest)
        return Constant(upper, Kind.UPPER, serves, confidence=mu_A.confidence)
    H = SpanHessian(quadratic, basis_of(atoms))
    size, kind = _divided(H, np.ravel(wide.gradient(point)), 1)
    return Constant(size * size / 2, kind, serves)


def _divided(H: SpanHessian, g: Array, power: int) -> tuple[float, Kind]:
    """Return ‖H^(−power/2)g‖; an estimate over clear directions where others are flat.

    It is infinite where g has a part along these.
    """
    parts = H.axes.T @ (H.basis @ g)
    if np.linalg.norm(parts[H.flat]) > FLAT * np.linalg.norm(parts):
        return inf, Kind.UPPER
    clear = ~H.flat
    size = float(np.linalg.norm(parts[clear] / H.roots[clear] ** power))
    return size, Kind.EXACT if H.clear else Kind.ESTIMATE


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
    upper = sqrt(2 * epsilon.upper / mu_A.lower)
    if f.quadratic is None:
        return Constant(upper, Kind.UPPER, serves, confidence=mu_A.confidence)
    lower = sqrt(2 * epsilon.lower / mu_A.upper)
    return at_most(lower, upper, serves).stated(mu_A.confidence)


def distance(
    f: Objective, atoms: AtomSet, x0: object | None = None, sampling: object | None = None
) -> Constant:
    """‖x* − x0‖_P for the minimiser x* over lin(A) nearest to x0; x0 = 0 where it is not given.

    Exact for a quadratic; else at most √(2ε₀/λ) with λ from μ_A·δ̂² or from μ·λ_min(P̃).
    """
    serves, point = "Theorems 8, 9", start_point(f, atoms, x0)
    moments, quadratic = as_sampling(atoms, sampling).moments, curved(f, atoms)
    if quadratic is None:
        relative = sampled_convexity(f, atoms, sampling).lower
        upper = sqrt(2 * gap(f, atoms, point).upper / relative) if relative else inf
        return Constant(upper, Kind.UPPER, serves).stated(moments.confidence)
    # In coordinates a of x = Fᵀa, where P̃ = FᵀF, the P-norm is the Euclidean one.
    H = SpanHessian(quadratic, dense(moments.frame))
    gradient = f.double().gradient(point.astype(np.float64))
    size, kind = _divided(H, np.ravel(gradient), 2)
    theta = moments.rounding
    if kind is not Kind.EXACT or theta >= 1:
        uncertain = Kind.UPPER if size == inf else Kind.ESTIMATE
        return Constant(size, uncertain, serves)
    lower, upper = size / sqrt(1 + theta), size / sqrt(1 - theta)
    return at_most(lower, upper, serves).stated(moments.confidence)


def start_point(f: Objective, atoms: AtomSet, x0: object | None) -> Array:
    """Return x0 checked, or zero."""
    if x0 is None:
        return np.zeros(atoms.shape, np.result_type(f.dtype, atoms.dtype))
    point = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(point):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return point
