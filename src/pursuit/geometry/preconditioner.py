"""The sampling that preconditions: it makes acceleration independent of all scales."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.atoms.sampling import Sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective


def preconditioner(f: Objective, atoms: FiniteAtoms, h: Array | None = None) -> Sampling:
    """p_j ∝ (evenness of z_j)^¼ / h_j, with h_j the curvature of f along z_j.

    p_j z_j z_jᵀ then depends on no scale of the atoms, nor of the columns of a linear model. For
    quadratics it is 1/h_j. Atoms that reach many samples of a linear model alike get more, since
    curvatures bound what f bends far too well there (`Objective.evenness`). `h` may be known.
    """
    h = curvatures(f, atoms) if h is None else h
    weights = f.evenness(atoms, h) ** 0.25 / h
    return Sampling(atoms, weights / weights.sum())


def curvatures(f: Objective, atoms: FiniteAtoms) -> Array:
    """h_j, raised to rounding for atoms along which f is flat as far as that tells.

    Where f is flat along all of them, those of ‖x‖²/2: there is no slope to follow anyway.
    """
    with np.errstate(over="ignore"):
        h, squares = f.curvatures(atoms), atoms.norms.astype(np.float64) ** 2
    wrong = np.flatnonzero(~np.isfinite(h))
    if wrong.size:
        raise InputError(f"f: its curvature along atom {wrong[0]} is out of the range of numbers")
    if not h.any():
        return squares
    eps = float(np.finfo(np.result_type(f.dtype, atoms.dtype)).eps)
    raised: Array = np.maximum(h, f.flat(eps) * squares * (h / squares).max())
    return raised
