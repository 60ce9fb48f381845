"""What a sampling sees of a set: second moments, leverages, δ̂², and the best sampling."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.closed_forms import ClosedForm
from pursuit.atoms.sampling import Moments, Sampling, as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, positive
from pursuit.geometry.constant import Constant, Kind, at_least
from pursuit.geometry.designs import d_optimal
from pursuit.geometry.span import inside


def closed_form(atoms: AtomSet, sampling: object | None = None) -> ClosedForm | None:
    """What the set knows of P̃ and of its width without computing, or None."""
    return as_sampling(atoms, sampling).closed_form


def second_moment(atoms: AtomSet, sampling: object | None = None) -> Moments:
    """P̃ = Σ p_j z_j z_jᵀ in factored form, with its pseudo-inverse P and its rank."""
    return as_sampling(atoms, sampling).moments


def leverage(atoms: AtomSet, sampling: object | None = None) -> Array:
    """w_j = ‖z_j‖_P² for each atom; Σ p_j w_j = r. For an infinite set: the values it takes."""
    return second_moment(atoms, sampling).leverage.copy()


def sampling_quality(atoms: AtomSet, sampling: object | None = None) -> Constant:
    """δ̂² = min over d of E⟨d, z⟩² / ‖d‖²_{A*} = 1 / max_j w_j, at most 1/r."""
    serves = "Theorems 4, 5"
    sampling = as_sampling(atoms, sampling)
    if atoms.finite is None and sampling.closed_form is None and atoms.max_leverage is not None:
        return Constant(1 / atoms.max_leverage, Kind.EXACT, serves)
    moments = sampling.moments
    if moments.leverages is not None:
        low, high = moments.leverages.largest
        return at_least(1 / high, 1 / low, serves).stated(moments.confidence)
    return Constant(1 / float(moments.leverage.max()), Kind.EXACT, serves)


def optimal_sampling(atoms: AtomSet, tolerance: float = 1e-5) -> Sampling:
    """The sampling with the largest δ̂² = 1/r: the D-optimal design (Kiefer and Wolfowitz).

    Parameters
    ----------
    tolerance
        max_j w_j is at most (1 + tolerance)·r.
    """
    uniform = Sampling(atoms)
    tolerance = positive("tolerance", tolerance)
    w = uniform.moments.leverage
    if np.all(w <= (1 + tolerance) * atoms.rank):
        return uniform
    if atoms.finite is None:
        raise InputError(f"atoms: optimal_sampling needs a finite set, got {type(atoms).__name__}")
    rows = inside(atoms.finite)
    return Sampling(atoms, d_optimal(rows / np.abs(rows).max(), tolerance))
