"""How f and the set fit together: L_A, μ_A, mDW."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.drawn import Leverages
from pursuit.atoms.sampling import Moments, Sampling, as_sampling, dense
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.geometry.constant import Constant, Kind, at_least, at_most
from pursuit.geometry.polar import Width, proved_width, width
from pursuit.geometry.span import (
    SpanHessian,
    basis_of,
    curved,
    inside,
    longest,
    round_bowl,
)
from pursuit.objectives.base import Objective

NEAREST = "Theorems 3, 4, 5 to the nearest minimiser"
"""What constants serve where f has many minimisers, and the level set no radius."""

# Above --------------------------------------------------------------------------------


def smoothness(f: Objective, atoms: AtomSet) -> Constant:
    """L_A, the smallest constant with f(x + γz) ≤ f(x) + γ⟨∇f(x), z⟩ + ½L_A γ² for ‖z‖_A = 1.

    max_j z_jᵀHz_j for a quadratic over a finite set (exact), max_g λ_max(H_gg) over `Groups`; the
    same with an upper bound of the Hessian over a finite set where the objective has one; else
    L·radius² (Lemma 2), exact where H = L·I.
    """
    serves = "Theorems 3, 4, 5"
    if atoms.finite is not None:
        largest = _largest_curvature(f, atoms.finite)
        if isfinite(largest):
            return largest
    if f.L is None:
        raise InputError(
            f"L_A: {type(f).__name__} does not know its smoothness constant; expected L_A or f.L"
        )
    if f.quadratic is not None:
        attained = atoms.largest_curvature(f.quadratic.hessian)
        if attained is not None:
            return Constant(attained, Kind.EXACT, serves)
    form = atoms.moments()
    everywhere = form is not None and form.squared_width == 1
    exact = round_bowl(f) or (everywhere and f.quadratic is not None)
    radius = longest(atoms)
    bound = f.L * radius * radius
    return Constant(bound, Kind.EXACT if exact else Kind.UPPER, serves)


def _largest_curvature(f: Objective, atoms: FiniteAtoms) -> Constant:
    """Return max_j z_jᵀHz_j, for an H that is nowhere below the Hessian."""
    wide = f.double()
    # Where H = I the curvature along an atom is its squared norm, and no more.
    some = atoms.period if f.identity else len(atoms)
    largest = max(_curvature(wide, atoms, j) for j in range(some))
    kind = Kind.UPPER if f.quadratic is None else Kind.EXACT
    return Constant(largest, kind, "Theorems 3, 4, 5")


def _curvature(f: Objective, atoms: FiniteAtoms, j: int) -> float:
    z = atoms.vector(j)
    if z.dtype == np.float64:
        return f.curvature(z, np.asarray(f.atom_image(atoms, j)))
    z = z.astype(np.float64)
    return f.curvature(z, f.image(z))


# Below --------------------------------------------------------------------------------


def directional_width(atoms: AtomSet) -> Constant:
    """mDW = min over ‖d‖ = 1 in lin(A) of max_j ⟨d, z_j⟩.

    Closed forms, enumeration in small cases, else an interval; the value is its lower end, with
    which Lemma 6 and the older rate of Algorithm 1 stay true.
    """
    return _width(atoms, width)


def strong_convexity(f: Objective, atoms: AtomSet) -> Constant:
    """μ_A, the largest constant with f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + ½μ_A‖y − x‖_A² on lin(A).

    A quadratic over a finite set: 1 / max yᵀH⁻¹y over the polar of the atoms, which is mDW² of
    the atoms' images under H^½. Otherwise at least mDW²·μ (Lemma 6). The value is the lower end
    of the interval, with which Theorem 5 and the slope certificate stay true.
    """
    return _convexity(f, atoms, width)


def growth(f: Objective, atoms: AtomSet) -> Constant:
    """μ̄_A, the largest constant with f(x) − f* ≤ ‖∇f(x)‖²_{A*}/(2μ̄_A) on lin(A).

    Where f is strongly convex it is μ_A. A quadratic with flat directions has μ_A = 0, and yet
    grows away from its minimisers: 1/μ̄_A = max yᵀH⁺y over those y of the polar of the atoms that
    are orthogonal to them, which is 1/mDW² of the atoms' images under H^½ in their own span. With
    R_A to the nearest minimiser, √(2ε₀/μ̄_A), Theorems 3, 4 and 5 hold as they stand: their proofs
    use x* at one point after the other.
    """
    mu_A = strong_convexity(f, atoms)
    if mu_A.lower > 0 or f.quadratic is None or f.lowest == -inf:
        return mu_A
    quadratic = curved(f, atoms)
    if quadratic is None:
        return _flat_growth(f.quadratic.curved_from, atoms)
    H = SpanHessian(quadratic, basis_of(atoms))
    if not H.singular:
        return mu_A
    if atoms.finite is None:
        return _flat_growth(float(H.roots.min()) ** 2, atoms)
    return _seen_through(H, atoms.finite, width, NEAREST)


def _flat_growth(curvature: float, atoms: AtomSet) -> Constant:
    """At least λ mDW², for a Hessian of at least λ where it is not zero (Lemma 6)."""
    if not curvature:
        return Constant(0.0, Kind.LOWER, NEAREST)
    mDW = directional_width(atoms)
    lower = curvature * mDW.lower**2
    return Constant(lower, Kind.LOWER, NEAREST, confidence=mDW.confidence)


def safe_strong_convexity(f: Objective, atoms: AtomSet) -> Constant:
    """The lower end of μ_A alone, without the search for the upper one."""
    return _convexity(f, atoms, proved_width)


Measure = Callable[[Array], Width]


def _width(atoms: AtomSet, measure: Measure) -> Constant:
    serves = "Lemma 6, older rate"
    form = atoms.moments()
    if form is not None:
        return Constant(sqrt(form.squared_width), Kind.EXACT, serves)
    finite = atoms.finite
    if finite is None:
        return _width_of_draws(atoms, serves)
    found = measure(inside(finite))
    return at_least(found.lower, found.upper, serves, _lift(found, basis_of(atoms), atoms))


def _drawn(atoms: AtomSet, name: str) -> tuple[Moments, Leverages]:
    """The moments of an infinite set, known or estimated, for a constant that needs them."""
    try:
        moments = Sampling(atoms).moments
    except InputError as error:
        raise InputError(f"{name}: it is not known for {type(atoms).__name__}: {error}") from error
    assert moments.leverages is not None
    return moments, moments.leverages


def _width_of_draws(atoms: AtomSet, serves: str) -> Constant:
    """λ_min(P̃) ≤ mDW² ≤ λ_min(P̃)/δ̂², and mDW is at most the radius."""
    moments, leverages = _drawn(atoms, "mDW")
    frame = dense(moments.frame)
    singular = np.linalg.svd(frame, compute_uv=False)
    least = float(singular[-1])
    lower = sqrt(max(1 - moments.rounding, 0.0)) * least
    upper = sqrt((1 + moments.rounding) * leverages.largest[1]) * least
    return at_least(lower, max(min(upper, atoms.radius), lower), serves).stated(moments.confidence)


def _convexity(f: Objective, atoms: AtomSet, measure: Measure) -> Constant:
    serves = "Theorem 5, slope certificates"
    if round_bowl(f):
        mDW = _width(atoms, measure)
        ends = [f.mu * end * end for end in (mDW.lower, mDW.upper)]
        return at_least(ends[0], ends[1], serves, mDW.witness).stated(mDW.confidence)
    quadratic = curved(f, atoms)
    if quadratic is None:
        if not f.mu:
            return Constant(0.0, Kind.LOWER, serves)
        mDW = _width(atoms, measure)
        lower = f.mu * mDW.lower**2
        return Constant(lower, Kind.LOWER, serves, confidence=mDW.confidence)
    H = SpanHessian(quadratic, basis_of(atoms))
    if not H.clear or H.singular:
        return Constant(0.0, Kind.EXACT if H.singular else Kind.LOWER, serves)
    if atoms.finite is None:
        return _between_norms(H, atoms, serves)
    return _seen_through(H, atoms.finite, measure, serves)


def _seen_through(H: SpanHessian, atoms: FiniteAtoms, measure: Measure, serves: str) -> Constant:
    """mDW² of the atoms' images under H^½, in the span of these."""
    found = measure(inside(atoms) @ H.root)
    witness = _lift(found, H.root.T @ H.basis, atoms)
    return at_least(found.lower**2, found.upper**2, serves, witness)


def _lift(found: Width, basis: Array, atoms: AtomSet) -> Array | None:
    """The witness as an array of the atoms' shape."""
    return None if found.witness is None else (found.witness @ basis).reshape(atoms.shape)


def _between_norms(H: SpanHessian, atoms: AtomSet, serves: str) -> Constant:
    """μ_A of an infinite set, from Lemma 6 and from λ_min(H, P) ≤ μ_A ≤ λ_min(H, P)/δ̂²."""
    form = atoms.moments()
    if form is None:
        return _between_drawn(H, atoms, serves)
    relative = _relative(H, np.diag(np.sqrt(form.diagonal[form.diagonal > 0])), 0.0, serves)
    lower = max(H.smallest**2 * form.squared_width, relative.lower)
    return at_least(lower, relative.upper / form.quality, serves)


def _between_drawn(H: SpanHessian, atoms: AtomSet, serves: str) -> Constant:
    """The same where P̃ is not diagonal, or known by draws alone."""
    moments, leverages = _drawn(atoms, "μ_A")
    frame = dense(moments.frame) @ H.basis.T
    relative = _relative(H, frame, moments.rounding, serves)
    upper = relative.upper * leverages.largest[1]
    return at_least(relative.lower, upper, serves).stated(moments.confidence)


def euclidean_convexity(f: Objective, atoms: AtomSet) -> Constant:
    """μ, the strong convexity of f over lin(A) in ‖·‖₂: λ_min of H there for a quadratic."""
    serves = "Lemma 6, older rate"
    quadratic = curved(f, atoms)
    if quadratic is None or round_bowl(f):
        return Constant(f.mu, Kind.EXACT if round_bowl(f) else Kind.LOWER, serves)
    H = SpanHessian(quadratic, basis_of(atoms))
    return _relative(H, np.eye(len(H.basis)), 0.0, serves)


def sampled_convexity(f: Objective, atoms: AtomSet, sampling: object | None = None) -> Constant:
    """λ_min(H, P): f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + ½λ‖y − x‖_P²; it bounds μ_A from below.

    λ_min(H, P) ≤ μ_A ≤ λ_min(H, P)/δ̂² for every p that reaches lin(A).
    """
    serves = "bounds of μ_A and of ‖x* − x0‖_P"
    moments = as_sampling(atoms, sampling).moments
    frame = dense(moments.frame)
    quadratic = curved(f, atoms)
    if quadratic is None:
        least = float(np.linalg.svd(frame, compute_uv=False)[-1])
        lower = f.mu * max(1 - moments.rounding, 0.0) * least**2
        return Constant(lower, Kind.LOWER, serves, confidence=moments.confidence)
    basis = basis_of(atoms)
    H = SpanHessian(quadratic, basis)
    found = _relative(H, frame @ basis.T, moments.rounding, serves)
    return found.stated(moments.confidence)


def sampled_smoothness(f: Objective, atoms: AtomSet, sampling: object | None = None) -> Constant:
    """L_P = max dᵀHd/‖d‖_P² over lin(A), at most L_A: what conjugate acceleration depends on."""
    serves = "the rate of conjugate acceleration"
    quadratic = curved(f, atoms)
    if quadratic is None:
        return Constant(smoothness(f, atoms).upper, Kind.UPPER, serves)
    moments, basis = as_sampling(atoms, sampling).moments, basis_of(atoms)
    frame, H = dense(moments.frame) @ basis.T, SpanHessian(quadratic, basis)
    if not H.clear:
        return Constant(smoothness(f, atoms).upper, Kind.UPPER, serves)
    largest, theta = float(np.linalg.norm(frame @ H.root, 2)) ** 2, moments.rounding
    ends = max(1 - theta, 0.0) * largest, (1 + theta) * largest
    return at_most(*ends, serves).stated(moments.confidence)


def _relative(H: SpanHessian, frame: Array, rounding: float, serves: str) -> Constant:
    """λ_min of F H Fᵀ = (F H^½)(F H^½)ᵀ, where draws leave FᵀF open by a share."""
    if not H.clear or H.singular:
        return Constant(0.0, Kind.EXACT if H.singular else Kind.LOWER, serves)
    least = float(np.linalg.svd(frame @ H.root, compute_uv=False)[-1]) ** 2
    return at_least(max(1 - rounding, 0.0) * least, (1 + rounding) * least, serves)
