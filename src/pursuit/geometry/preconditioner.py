"""The sampling that preconditions: it makes acceleration independent of all scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.atoms.sampling import Sampling
from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective


def preconditioner(f: Objective, atoms: FiniteAtoms) -> Sampling:
    """p_j ∝ (evenness of z_j)^¼ / h_j, with h_j the curvature of f along z_j.

    p_j z_j z_jᵀ then depends on no scale of the atoms, nor of the columns of a linear model. For
    quadratics it is 1/h_j. Atoms that reach many samples of a linear model alike get more, since
    there h_j bounds what f bends by too much (`Objective.scales`).
    """
    return curved_sampling(f, atoms)[0]


def curved_sampling(f: Objective, atoms: FiniteAtoms) -> tuple[Sampling, Array]:
    """The same with the h_j, raised to rounding where f is flat as far as that tells.

    Where f is flat along all atoms, they are those of ‖x‖²/2: there is no slope to follow anyway.
    """
    (h, even), squares = f.scales(atoms), atoms.norms.astype(np.float64) ** 2
    wrong = np.flatnonzero(~np.isfinite(h))
    if wrong.size:
        raise InputError(f"f: its curvature along atom {wrong[0]} is out of the range of numbers")
    least = zero_curvature(f, np.result_type(f.dtype, atoms.dtype)) * squares
    h = np.maximum(h, least * (h / squares).max()) if h.any() else squares
    weights = even**0.25 / h
    return Sampling(atoms, weights / weights.sum()), h


def zero_curvature(f: Objective, dtype: Any) -> float:
    """Return the share of Σ a_j²h_j at which the computed curvature of Σ a_j z_j is zero.

    h_j is the curvature of z_j. Through images a curvature is a sum of squares, and as small as its
    terms allow.
    """
    dependent = tolerances(dtype).dependent
    through_images = f.quadratic is None or f.quadratic.isometric
    return dependent**2 if through_images else dependent
