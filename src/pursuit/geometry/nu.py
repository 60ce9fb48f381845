"""ν and ν′, the constants of the accelerated algorithms."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.sampling import Sampling, as_sampling, dense
from pursuit.atoms.whitening import Whitened, whiten
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, positive
from pursuit.geometry.constant import Constant, Kind, at_most
from pursuit.geometry.polar import ON, corners
from pursuit.geometry.span import inside, lengths, longest


def nu_random(atoms: AtomSet, sampling: object | None = None) -> Constant:
    """ν′ of Algorithm 3, exactly; at least r for unit atoms, r only for the D-optimal sampling.

    The largest generalized eigenvalue of (Σ p_j w_j z_j z_jᵀ, Σ p_j z_j z_jᵀ/‖z_j‖²) on lin(A).
    With b_j the directions z_j/‖z_j‖ in coordinates with Σ p_j b_j b_jᵀ = I, that is
    ‖Σ p_j w_j ‖z_j‖² b_j b_jᵀ‖, at most max_j w_j‖z_j‖².
    """
    serves = "Theorem 9"
    sampling = as_sampling(atoms, sampling)
    form = sampling.closed_form
    if form is not None:
        return Constant(1 / form.quality, Kind.EXACT, serves)
    finite = atoms.finite
    if finite is None:
        return _of_draws(atoms, sampling, serves)
    norms = lengths(finite)
    found = whiten(inside(finite) / norms[:, None], sampling.p)
    heavy = np.sqrt(sampling.p * sampling.moments.leverage) * norms
    largest = float(np.linalg.norm(heavy[:, None] * found.whitened, 2))
    return Constant(largest * largest, Kind.EXACT, serves)


def _of_draws(atoms: AtomSet, sampling: Sampling, serves: str) -> Constant:
    """ν′ of an infinite set: what its moments say, and at most max w‖z‖²."""
    known = atoms.max_leverage
    if known is not None and atoms.second_moment() is None:
        return Constant(known * atoms.radius**2, Kind.UPPER, serves)
    leverages = sampling.moments.leverages
    assert leverages is not None
    return at_most(*leverages.random, serves).stated(leverages.confidence)


def safe_nu(atoms: AtomSet) -> float:
    """r·radius², an upper bound on ν of Algorithm 4 for every sampling; it costs nothing."""
    size = longest(atoms)
    return float(atoms.rank) * size * size


def nu(atoms: AtomSet, sampling: object | None = None, *, delta: float | None = None) -> Constant:
    """ν of Algorithm 4: max over d of Σ p_j w_j c_j² · ‖z(d)‖² / c_{z(d)}², c_j = ⟨z_j, d⟩.

    With c scaled to max \\|c_j\\| = 1, d lies on the boundary of the polar of the atoms, and the
    maximum is at a corner: exact where corners can be listed. Else an interval, between the best
    corner found and radius² times a bound on max Σ p_j w_j c_j² (at most r). The value is the
    upper end, with which Theorem 8 stays true.

    Parameters
    ----------
    delta
        The quality of the oracle, the set's own unless given; a δ-approximate one may pick a longer
        atom with a smaller c.
    """
    serves = "Theorem 8"
    delta = atoms.quality if delta is None else positive("delta", delta)
    sampling = as_sampling(atoms, sampling)
    form = sampling.closed_form
    if form is not None:
        exact = 1 / form.squared_width
        return at_most(exact, exact / delta**2, serves)
    finite = atoms.finite
    if finite is None:
        return _between_moments(atoms, sampling, delta, serves)
    # In these coordinates Σ p_j w_j c_j² of a direction is its squared length.
    size, weights = longest(atoms), sampling.p * sampling.moments.leverage
    whitened = whiten(inside(finite) / size, weights)
    lower, upper, best = _at_corners(finite, whitened, delta)
    witness = (whitened.transform @ best) @ finite.lin.axes
    ends = min(lower, upper) * size * size, upper * size * size
    return at_most(*ends, serves, witness.reshape(atoms.shape))


def _between_moments(atoms: AtomSet, sampling: Sampling, delta: float, serves: str) -> Constant:
    """ν of an infinite set: at most r·radius²/δ², and at least what the rows d_i of G show.

    Σ E[w⟨d_i, z⟩²] = E[w²] ≥ r² for P = GᵀG, so that one of r directions has a ratio of at least
    r²/Σ⟨d_i, z(d_i)⟩²‖z(d_i)‖⁻².
    """
    upper = safe_nu(atoms) / delta**2
    try:
        moments = sampling.moments
    except InputError:  # nothing can be drawn
        return Constant(upper, Kind.UPPER, serves)
    found = 0.0
    for d in dense(moments.dual):
        z = atoms.lmo(d.reshape(atoms.shape))
        found += atoms.inner(d.reshape(atoms.shape), z) ** 2 / atoms.norm2(z)
    lower = max(1 - moments.rounding, 0.0) * len(moments.dual) ** 2 / found
    return at_most(min(lower, upper), upper, serves).stated(moments.confidence)


def _at_corners(atoms: FiniteAtoms, whitened: Whitened, delta: float) -> tuple[float, float, Array]:
    """Bounds on ν over the squared radius, and the best corner found."""
    norms = lengths(atoms)
    found = corners(whitened.whitened)
    values = np.einsum("ij,ij->i", found.points, found.points)
    active = np.abs(found.points @ whitened.whitened.T) > 1 - 10 * ON
    attained = values * np.where(active, (norms / norms.max()) ** 2, 0.0).max(axis=1)
    best = int(np.argmax(attained))
    lower = float(attained[best])
    # Σ p_j w_j = r, so that Σ p_j w_j c_j² ≤ r; the search may have proved less.
    upper = min(found.longest**2, float(atoms.rank)) / delta**2
    if found.complete and delta == 1:
        upper = min(upper, lower)
    return lower, upper, found.points[best]
