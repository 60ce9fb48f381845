"""ν and ν′, the constants of the accelerated algorithms."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.closed_forms import closed_form
from pursuit.atoms.sampling import Sampling, as_sampling
from pursuit.base.validation import Array, positive
from pursuit.geometry.constant import Constant, Kind, at_most
from pursuit.geometry.polar import ON, corners
from pursuit.geometry.span import inside


def nu_random(atoms: AtomSet, sampling: object | None = None) -> Constant:
    """ν′ of Algorithm 3, exactly; at least r for unit atoms, r only for the D-optimal sampling.

    The largest generalized eigenvalue of (Σ p_j w_j z_j z_jᵀ, Σ p_j z_j z_jᵀ/‖z_j‖²) on lin(A):
    with Q the orthonormal factor of the rows √p_j z_j/‖z_j‖, that is ‖diag(√w_j‖z_j‖) Q‖².
    """
    serves = "Theorem 9"
    sampling = as_sampling(atoms, sampling)
    form = closed_form(atoms, sampling)
    if form is not None:
        return Constant(1 / form.quality, Kind.EXACT, serves)
    if not isinstance(atoms, FiniteAtoms):
        return Constant(atoms.max_leverage * atoms.radius**2, Kind.UPPER, serves)
    moments, norms = sampling.moments, atoms.norms.astype(np.float64)
    directions = inside(atoms, moments.basis) / norms[:, None]
    orthonormal, _ = np.linalg.qr(np.sqrt(sampling.p)[:, None] * directions)
    scaled = (np.sqrt(moments.leverage) * norms)[:, None] * orthonormal
    return Constant(float(np.linalg.norm(scaled, 2)) ** 2, Kind.EXACT, serves)


def safe_nu(atoms: AtomSet) -> float:
    """r·radius², an upper bound on ν of Algorithm 4 for every sampling; it costs nothing."""
    return float(atoms.rank * atoms.radius**2)


def nu(atoms: AtomSet, sampling: object | None = None, *, delta: float = 1.0) -> Constant:
    """ν of Algorithm 4: max over d of Σ p_j w_j c_j² · ‖z(d)‖² / c_{z(d)}², c_j = ⟨z_j, d⟩.

    With c scaled to max \\|c_j\\| = 1, d lies on the boundary of the polar of the atoms, and the
    maximum is at a corner: exact where corners can be listed. Else an interval, between the best
    corner found and radius² times a bound on max Σ p_j w_j c_j² (at most r). The value is the
    upper end, with which Theorem 8 stays true.

    Parameters
    ----------
    delta
        The quality of the oracle; a δ-approximate one may pick a longer atom with a smaller c.
    """
    serves = "Theorem 8"
    delta = positive("delta", delta)
    sampling = as_sampling(atoms, sampling)
    form = closed_form(atoms, sampling)
    if form is not None:
        exact = 1 / form.squared_width
        return at_most(exact, exact / delta**2, serves)
    if not isinstance(atoms, FiniteAtoms):
        return Constant(safe_nu(atoms) / delta**2, Kind.UPPER, serves)
    rows, transform = _whitened(atoms, sampling)
    found = corners(rows)
    values = np.einsum("ij,ij->i", found.points, found.points)
    squares = atoms.norms.astype(np.float64) ** 2
    active = np.abs(found.points @ rows.T) > 1 - 10 * ON
    attained = values * np.where(active, squares, 0.0).max(axis=1)
    best = int(np.argmax(attained))
    # Σ p_j w_j = r, so that Σ p_j w_j c_j² ≤ r; the search may have proved less.
    longest = values.max() if found.complete else min(1 / found.bound, atoms.rank)
    bound = atoms.radius**2 * float(longest) / delta**2
    upper = attained[best] if found.complete and delta == 1 else max(bound, attained[best])
    witness = (transform @ found.points[best]) @ sampling.moments.basis
    return at_most(float(attained[best]), float(upper), serves, witness.reshape(atoms.shape))


def _whitened(atoms: FiniteAtoms, sampling: Sampling) -> tuple[Array, Array]:
    """(rows, T) with rows = atoms·T such that Σ p_j w_j c_j² of d = Tu is ‖u‖²."""
    moments = sampling.moments
    coordinates = inside(atoms, moments.basis)
    weights = np.sqrt(sampling.p * moments.leverage)
    _, singular, axes = np.linalg.svd(weights[:, None] * coordinates, full_matrices=False)
    transform = axes.T / singular
    return coordinates @ transform, transform
