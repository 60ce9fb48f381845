"""Lemmas 2 and 6 in ‖·‖₁ and ‖·‖_∞: L_A ≤ L radius² and μ_A ≥ μ mDW² hold in every norm.

L, μ, the radius and the width belong to one norm there. mDW is the smallest ‖d‖_{A*}/‖d‖_* over
lin(A), ‖·‖_* being the dual of that norm. It is 1/max ‖v‖_A over the corners v of the norm's unit
ball, for a convex function is largest at a corner: linear programmes, one for each of the d corners
±e_i of ‖·‖₁ or of the 2^d sign vectors of ‖·‖_∞. Where these are too many, norms are compared.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.coordinates import Coordinates
from pursuit.atoms.dictionary import Dictionary
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, shown
from pursuit.geometry.constant import Constant, Kind, at_least
from pursuit.geometry.curvature import (
    directional_width,
    euclidean_convexity,
    smoothness,
    strong_convexity,
)
from pursuit.geometry.norms import SIGNS, corners, gauge
from pursuit.geometry.span import SpanHessian, curved
from pursuit.objectives.base import Objective


def norm_width(atoms: AtomSet, norm: float) -> Constant:
    """mDW in ‖·‖₁ (norm=1) or ‖·‖_∞ (norm=inf); 2 is `directional_width`.

    Exact up to what linear programmes leave open if the atoms span the space, else a lower bound.
    """
    serves, d = "Lemma 6", int(np.prod(atoms.shape))
    if _checked(norm) == 2:
        return directional_width(atoms)
    if norm == inf and d > SIGNS:
        lower = max(norm_width(atoms, 1).lower / d, directional_width(atoms).lower / sqrt(d))
        return at_least(lower, inf, serves)
    gauges = [gauge(atoms, _within(atoms, v)) for v in corners(d, norm)]
    lower = 1 / max(one.upper for one in gauges)
    # Outside lin(A) the dual norm is taken for a larger one than it is on it.
    upper = 1 / max(one.lower for one in gauges) if atoms.rank == d else inf
    return at_least(lower, upper, serves)


def _within(atoms: AtomSet, v: Array) -> Array:
    """The part of v in lin(A), of the shape of the atoms."""
    point = v.reshape(atoms.shape)
    return point if atoms.finite is None else atoms.finite.lin.project(point)


def norm_smoothness(f: Objective, norm: float) -> Constant:
    """L in ‖·‖₁, ‖·‖₂ or ‖·‖_∞: the largest dᵀHd over its unit ball.

    In ‖·‖₁ the largest entry of H on the diagonal; in ‖·‖_∞ the largest sᵀHs over signs.
    """
    d = _dimension(f)
    if _checked(norm) == 2:
        if f.L is None:
            raise InputError(f"L: {type(f).__name__} does not know it")
        return Constant(f.L, Kind.UPPER, "Lemma 2")
    if norm == 1:
        return smoothness(f, Coordinates(d))
    if d <= SIGNS:
        return smoothness(f, Dictionary(np.array(list(corners(d, inf)))))
    quadratic = f.quadratic
    if quadratic is None:
        return Constant(d * norm_smoothness(f, 2), Kind.UPPER, "Lemma 2")
    sums = sum(float(np.abs(quadratic.hessian(e)).sum()) for e in np.eye(d))
    return Constant(sums, Kind.UPPER, "Lemma 2")


def norm_convexity(f: Objective, norm: float) -> Constant:
    """μ in ‖·‖₁, ‖·‖₂ or ‖·‖_∞: the smallest dᵀHd over its unit sphere.

    In ‖·‖_∞ one over the largest entry of H⁻¹ on the diagonal; in ‖·‖₁ it is μ_A of coordinates.
    """
    d, serves = _dimension(f), "Lemma 6"
    if _checked(norm) == 2:
        return euclidean_convexity(f, Coordinates(d))
    if norm == 1:
        return strong_convexity(f, Coordinates(d))
    quadratic = curved(f, Coordinates(d))
    if quadratic is None:
        return Constant(f.mu, Kind.LOWER, serves)  # ‖x‖_∞ ≤ ‖x‖₂
    H = SpanHessian(quadratic, np.eye(d))
    if not H.clear or H.singular:
        return Constant(0.0, Kind.EXACT if H.singular else Kind.LOWER, serves)
    inverse = float(((H.axes / H.roots) ** 2).sum(axis=1).max())
    return Constant(1 / inverse, Kind.EXACT, serves)


def _dimension(f: Objective) -> int:
    if len(f.shape) != 1:
        raise InputError(f"f: expected one of vectors, got shape {f.shape}")
    return f.shape[0]


def _checked(norm: float) -> float:
    if norm not in (1, 2, inf):
        raise InputError(f"norm: expected 1, 2 or inf, got {shown(norm)}")
    return norm
