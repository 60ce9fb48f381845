"""The norms that a set of atoms makes: radius, gauge, dual norm."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as choices
from math import inf, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, shaped_array, shown
from pursuit.geometry.constant import Constant, Kind, at_most
from pursuit.geometry.span import inside, lengths, longest

AXES = 1000
"""Dimensions up to which an infinite set is looked at along each axis."""
SIGNS = 10
"""Dimensions up to which all sign vectors are looked at."""


def radius(atoms: AtomSet, norm: float = 2) -> Constant:
    """max ‖z‖ over A in ‖·‖₂, ‖·‖₁ or ‖·‖_∞.

    ‖z‖₁ and ‖z‖_∞ are the largest \\|⟨v, z⟩\\| over corners v, so that an infinite set has the
    largest ‖v‖_{A*}: of the axes for ‖·‖_∞, of all vectors of signs for ‖·‖₁. Where these are too
    many, norms are compared.
    """
    if norm == 2:
        return Constant(longest(atoms), _radius_kind(atoms), "Lemma 2")
    if norm not in (1, inf):
        raise InputError(f"norm: expected 1, 2 or inf, got {shown(norm)}")
    if atoms.finite is None:
        return _radius_by_corners(atoms, norm)
    sizes = np.abs(atoms.finite.matrix.astype(np.float64))
    lengths_ = sizes.sum(axis=1) if norm == 1 else sizes.max(axis=1)
    return Constant(float(lengths_.max()), Kind.EXACT, "Lemma 2")


def _radius_by_corners(atoms: AtomSet, norm: float) -> Constant:
    d, euclidean = int(np.prod(atoms.shape)), longest(atoms)
    if norm == inf and d > AXES:
        return Constant(euclidean, Kind.UPPER, "Lemma 2")
    if norm == 1 and d > SIGNS:
        axes = radius(atoms, inf).upper
        return Constant(min(sqrt(d) * euclidean, d * axes), Kind.UPPER, "Lemma 2")
    seen = [dual_norm(atoms, v.reshape(atoms.shape)) for v in corners(d, 1 if norm == inf else inf)]
    return at_most(max(one.lower for one in seen), max(one.upper for one in seen), "Lemma 2")


def corners(d: int, norm: float) -> Iterator[Array]:
    """One of each pair of corners of the unit ball of ‖·‖₁ or ‖·‖_∞."""
    if norm == 1:
        yield from np.eye(d)
    else:
        yield from (np.array([1.0, *rest]) for rest in choices((1.0, -1.0), repeat=d - 1))


def diameter(atoms: AtomSet) -> Constant:
    """max ‖z − z′‖ over A ∪ −A, which is twice the radius."""
    return Constant(2 * longest(atoms), _radius_kind(atoms), "older rates")


def _radius_kind(atoms: AtomSet) -> Kind:
    """Infinite sets may know no more than an upper bound."""
    known = atoms.finite is not None or atoms.moments() is not None
    return Kind.EXACT if known else Kind.UPPER


def dual_norm(atoms: AtomSet, d: object) -> Constant:
    """‖d‖_{A*} = max \\|⟨d, z⟩\\| over A; an interval where the oracle is approximate."""
    direction = shaped_array("d", d, atoms.shape)
    largest = atoms.dual_norm(direction)
    return at_most(atoms.quality * largest, largest, "slope certificates")


def gauge(atoms: AtomSet, x: object) -> Constant:
    """The atomic norm ‖x‖_A, +inf outside lin(A).

    The set's own formula where it has one; for other finite sets a linear programme,
    min Σ\\|a_j\\| subject to Σ a_j z_j = x.
    """
    point = shaped_array("x", x, atoms.shape)
    serves = "R_A, μ_A"
    if type(atoms).gauge is not AtomSet.gauge:
        return Constant(atoms.gauge(point), Kind.EXACT, serves)
    finite = atoms.finite
    if finite is None:
        raise InputError(f"atoms: {type(atoms).__name__} has no known gauge")
    if not atoms.spans(point):
        return Constant(np.inf, Kind.EXACT, serves)
    size = float(np.linalg.norm(point))
    lower, upper = _least_weights(finite, point / size) if size else (0.0, 0.0)
    return at_most(lower * size, upper * size, serves)


def _least_weights(atoms: FiniteAtoms, x: Array) -> tuple[float, float]:
    """min Σ\\|a_j\\| subject to Σ a_j z_j = x, over unit atoms with costs 1/‖z_j‖.

    The solver works to tolerances: its weights and its multipliers, brought to where they satisfy
    their constraints, give an upper and a lower bound.
    """
    from scipy.optimize import linprog

    norms = lengths(atoms)
    directions = (inside(atoms) / norms[:, None]).T
    target = atoms.lin.inside(x.reshape(-1))
    cost = norms.min() / norms
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solved = linprog(
        np.concatenate([cost, cost]),
        A_eq=np.hstack([directions, -directions]),
        b_eq=target,
        method="highs",
        options=tight,
    )
    if solved.x is None:
        raise InputError(f"x: its gauge was not found ({solved.message})")
    weights = solved.x[: len(norms)] - solved.x[len(norms) :]
    weights = weights + np.linalg.lstsq(directions, target - directions @ weights, rcond=None)[0]
    y = solved.eqlin.marginals
    peak = float((np.abs(y @ directions) / cost).max())
    lower = float(y @ target) / peak if peak else 0.0
    upper = float(cost @ np.abs(weights))
    least = float(norms.min())
    return max(min(lower, upper), 0.0) / least, upper / least
