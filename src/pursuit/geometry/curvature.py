"""How f and the set fit together: L_A, μ_A, mDW, R_A, and how far a start is from the optimum."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.closed_forms import closed_form
from pursuit.atoms.sampling import Sampling, as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, shaped_array
from pursuit.geometry.constant import Constant, Kind, at_least, at_most
from pursuit.geometry.polar import Width, proved_width, squared_width
from pursuit.geometry.span import SpanHessian, basis_of, curved, inside, round_bowl
from pursuit.objectives.base import Objective, QuadraticObjective

# Above --------------------------------------------------------------------------------


def smoothness(f: Objective, atoms: AtomSet) -> Constant:
    """L_A, the smallest constant with f(x + γz) ≤ f(x) + γ⟨∇f(x), z⟩ + ½L_A γ² for ‖z‖_A = 1.

    max_j z_jᵀHz_j for a quadratic over a finite set (exact); the same with an upper bound of the
    Hessian where the objective has one; else L·radius² (Lemma 2), exact where H = L·I.
    """
    serves = "Theorems 3, 4, 5"
    if isinstance(atoms, FiniteAtoms):
        bound = max(f.curvature(atoms.vector(j), f.atom_image(atoms, j)) for j in range(len(atoms)))
        if np.isfinite(bound):
            kind = Kind.EXACT if isinstance(f, QuadraticObjective) else Kind.UPPER
            return Constant(bound, kind, serves)
    if f.L is None:
        raise InputError(
            f"L_A: {type(f).__name__} does not know its smoothness constant; expected L_A or f.L"
        )
    form = closed_form(atoms, Sampling(atoms))
    everywhere = form is not None and form.squared_width == 1
    exact = round_bowl(f) or (everywhere and isinstance(f, QuadraticObjective))
    return Constant(f.L * atoms.radius**2, Kind.EXACT if exact else Kind.UPPER, serves)


# Below --------------------------------------------------------------------------------


def directional_width(atoms: AtomSet) -> Constant:
    """mDW = min over ‖d‖ = 1 in lin(A) of max_j ⟨d, z_j⟩.

    Closed forms, enumeration in small cases, else an interval; the value is its lower end, with
    which Lemma 6 and the older rate of Algorithm 1 stay true.
    """
    return _width(atoms, squared_width)


def strong_convexity(f: Objective, atoms: AtomSet) -> Constant:
    """μ_A, the largest constant with f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + ½μ_A‖y − x‖_A² on lin(A).

    A quadratic over a finite set: 1 / max yᵀH⁻¹y over the polar of the atoms, which is mDW² of
    the atoms' images under H^½. Otherwise at least mDW²·μ (Lemma 6). The value is the lower end
    of the interval, with which Theorem 5 and the slope certificate stay true.
    """
    return _convexity(f, atoms, squared_width)


def safe_strong_convexity(f: Objective, atoms: AtomSet) -> Constant:
    """The lower end of μ_A alone, without the search for the upper one."""
    return _convexity(f, atoms, proved_width)


Measure = Callable[[Array], Width]


def _width(atoms: AtomSet, measure: Measure) -> Constant:
    serves = "Lemma 6, older rate"
    form = closed_form(atoms, Sampling(atoms))
    if form is not None:
        return Constant(sqrt(form.squared_width), Kind.EXACT, serves)
    if not isinstance(atoms, FiniteAtoms):
        raise InputError(f"mDW: it is not known for {type(atoms).__name__}")
    basis = basis_of(atoms)
    width = measure(inside(atoms, basis))
    return at_least(sqrt(width.lower), sqrt(width.upper), serves, _lift(width, basis, atoms))


def _convexity(f: Objective, atoms: AtomSet, measure: Measure) -> Constant:
    serves = "Theorem 5, slope certificates"
    if round_bowl(f):
        mDW = _width(atoms, measure)
        return at_least(f.mu * mDW.lower**2, f.mu * mDW.upper**2, serves, mDW.witness)
    if not curved(f, atoms):
        lower = f.mu * _width(atoms, measure).lower ** 2 if f.mu else 0.0
        return Constant(lower, Kind.LOWER, serves)
    assert isinstance(f, QuadraticObjective)
    basis = basis_of(atoms)
    H = SpanHessian(f, basis)
    if H.singular:
        return Constant(0.0, Kind.EXACT, serves)
    if not isinstance(atoms, FiniteAtoms):
        return _between_norms(H, atoms, serves)
    width = measure(inside(atoms, basis) @ H.root)
    return at_least(width.lower, width.upper, serves, _lift(width, H.root @ basis, atoms))


def _lift(width: Width, basis: Array, atoms: AtomSet) -> Array | None:
    """The witness as an array of the atoms' shape."""
    return None if width.witness is None else (width.witness @ basis).reshape(atoms.shape)


def _between_norms(H: SpanHessian, atoms: AtomSet, serves: str) -> Constant:
    """μ_A of an infinite set, from Lemma 6 and from λ_min(H, P) ≤ μ_A ≤ λ_min(H, P)/δ̂²."""
    form = closed_form(atoms, Sampling(atoms))
    if form is None:
        raise InputError(f"μ_A: {type(atoms).__name__} has no known second moments")
    relative = _relative(H, np.sqrt(form.diagonal[form.diagonal > 0]))
    lower = max(H.smallest * form.squared_width, relative)
    return at_least(lower, relative / form.quality, serves)


def euclidean_convexity(f: Objective, atoms: AtomSet) -> Constant:
    """μ, the strong convexity of f over lin(A) in ‖·‖₂: λ_min of H there for a quadratic."""
    serves = "Lemma 6, older rate"
    if not curved(f, atoms) or round_bowl(f):
        return Constant(f.mu, Kind.EXACT if round_bowl(f) else Kind.LOWER, serves)
    assert isinstance(f, QuadraticObjective)
    H = SpanHessian(f, basis_of(atoms))
    return Constant(0.0 if H.singular else H.smallest, Kind.EXACT, serves)


def sampled_convexity(f: Objective, atoms: AtomSet, sampling: object | None = None) -> Constant:
    """λ_min(H, P): f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + ½λ‖y − x‖_P²; it bounds μ_A from below.

    λ_min(H, P) ≤ μ_A ≤ λ_min(H, P)/δ̂² for every p that reaches lin(A).
    """
    serves = "bounds of μ_A and of ‖x* − x0‖_P"
    moments = as_sampling(atoms, sampling).moments
    if not curved(f, atoms):
        return Constant(f.mu * float(moments.spectrum.min()), Kind.LOWER, serves)
    assert isinstance(f, QuadraticObjective)
    H = SpanHessian(f, _dense(moments.basis))
    if H.singular:
        return Constant(0.0, Kind.EXACT, serves)
    return Constant(_relative(H, np.sqrt(moments.spectrum)), Kind.EXACT, serves)


def _relative(H: SpanHessian, scales: Array) -> float:
    """λ_min of S H S = (S H^½)(S H^½)ᵀ for a diagonal S."""
    return float(np.linalg.svd(scales[:, None] * H.root, compute_uv=False)[-1]) ** 2


# From a start -------------------------------------------------------------------------


def gap(f: Objective, atoms: AtomSet, x: object | None = None) -> Constant:
    """f(x) − min f over lin(A); x = 0 where it is not given.

    ½ gᵀH⁻¹g on lin(A) for a quadratic, else at most ‖g‖²_{A*}/(2μ_A).
    """
    serves = "Theorem 5, R_A"
    point = start_point(f, atoms, x)
    g = np.asarray(f.gradient(point), dtype=np.float64).reshape(-1)
    if curved(f, atoms):
        assert isinstance(f, QuadraticObjective)
        H = SpanHessian(f, basis_of(atoms))
        s = H.solve(H.basis @ g)
        if s is None:
            return Constant(inf, Kind.EXACT, serves)
        kind = Kind.ESTIMATE if H.singular else Kind.EXACT
        return Constant(0.5 * float(s @ (H.basis @ g)), kind, serves)
    mu_A = safe_strong_convexity(f, atoms)
    slope = atoms.dual_norm(g.reshape(atoms.shape))
    return Constant(slope**2 / (2 * mu_A.lower) if mu_A.lower else inf, Kind.UPPER, serves)


def level_radius(f: Objective, atoms: AtomSet, x0: object | None = None) -> Constant:
    """R_A = max ‖x − x*‖_A over the level set of x0; x0 = 0 where it is not given.

    √(2ε₀/μ_A) exactly for a quadratic, an upper bound for other strongly convex f, +inf where
    μ_A = 0. The value is the upper end, with which Theorems 3 and 4 stay true.
    """
    serves = "Theorems 3, 4"
    mu_A = strong_convexity(f, atoms)
    if mu_A.lower == 0:
        return Constant(inf, Kind.EXACT if mu_A.kind is Kind.EXACT else Kind.UPPER, serves)
    epsilon = gap(f, atoms, x0)
    upper = sqrt(2 * epsilon.upper / mu_A.lower)
    if not isinstance(f, QuadraticObjective):
        return Constant(upper, Kind.UPPER, serves)
    return at_most(sqrt(2 * epsilon.lower / mu_A.upper), upper, serves)


def distance(
    f: Objective, atoms: AtomSet, x0: object | None = None, sampling: object | None = None
) -> Constant:
    """‖x* − x0‖_P for the minimiser x* over lin(A) nearest to x0; x0 = 0 where it is not given.

    Exact for a quadratic; else at most √(2ε₀/λ) with λ from μ_A·δ̂² or from μ·λ_min(P̃).
    """
    serves = "Theorems 8, 9"
    point = start_point(f, atoms, x0)
    moments = as_sampling(atoms, sampling).moments
    if not curved(f, atoms):
        relative = sampled_convexity(f, atoms, sampling).lower
        squared = 2 * gap(f, atoms, point).upper / relative if relative else inf
        return Constant(sqrt(squared), Kind.UPPER, serves)
    assert isinstance(f, QuadraticObjective)
    scaled = np.sqrt(moments.spectrum)[:, None] * _dense(moments.basis)
    H = SpanHessian(f, scaled)
    s = H.solve(scaled @ np.asarray(f.gradient(point), dtype=np.float64).reshape(-1))
    if s is None:
        return Constant(inf, Kind.EXACT, serves)
    return Constant(float(np.linalg.norm(s)), Kind.UPPER if H.singular else Kind.EXACT, serves)


def start_point(f: Objective, atoms: AtomSet, x0: object | None) -> Array:
    """x0 checked, or zero."""
    if x0 is None:
        return np.zeros(atoms.shape, np.result_type(f.dtype, atoms.dtype))
    point = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(point):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return point


def _dense(basis: Array) -> Array:
    dense: Array = basis.toarray() if hasattr(basis, "toarray") else basis
    return dense
