"""Directions along which a quadratic is unbounded below: a test of the null space of H.

½xᵀHx − bᵀx is unbounded below over lin(A) exactly where some d of lin(A) has Hd = 0 and a slope
⟨∇f, d⟩ ≠ 0, the same at every x. A curvature counts as zero where rounding in the precision of H
may have made all of it, and a slope as one where it is clearly more than that leaves.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.base.scaling import row_norms
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array

CLEAR = 50
"""How much larger than the root of a curvature that counts as zero a relative slope has to be."""


def falling(H: Array, gradient: Array, atoms: AtomSet) -> str:
    """Return why ½xᵀHx − bᵀx is unbounded below over the hull of the atoms; empty where it is not.

    Parameters
    ----------
    H
        The Hessian; its precision is that of its entries.
    gradient
        ∇f at a point, in float64.
    """
    rows = _frame(atoms)
    if rows is None or not gradient.any():
        return ""
    flat = len(H) * tolerances(H.dtype).rank
    H = H.astype(np.float64)
    slope = _steepest(H, gradient, rows, flat)
    if slope and atoms.finite is not None and atoms.one_sided:
        slope = _steepest_of_cone(H, gradient, atoms.finite, flat)
    if not slope:
        return ""
    return f"f falls without end: a direction of the atoms has slope {slope:.4g} and no curvature"


def _steepest(H: Array, gradient: Array, rows: Array, flat: float) -> float:
    """Return the largest slope along a null direction of H in the span of some rows, or zero.

    Rows are scaled to curvature one, so that a small entry on the diagonal of H counts as it is.
    """
    sizes = np.abs(rows)
    curvatures = np.einsum("ij,ij->i", rows @ H, rows)
    largest = np.einsum("ij,ij->i", sizes @ np.abs(H), sizes)
    straight = curvatures <= flat * largest
    slopes, lengths = rows @ gradient, row_norms(rows)
    told = CLEAR * sqrt(flat) * float(np.linalg.norm(gradient))
    steepest = float((np.abs(slopes) / lengths)[straight].max(initial=0.0))
    if steepest > told:
        return steepest
    curved, scales = rows[~straight], np.sqrt(curvatures[~straight])
    if not len(curved):
        return 0.0
    spectrum, axes = np.linalg.eigh(curved @ H @ curved.T / scales / scales[:, None])
    null = axes[:, spectrum <= flat * spectrum[-1]]
    scaled = slopes[~straight] / scales
    along = null.T @ scaled
    if not np.linalg.norm(along) > CLEAR * sqrt(flat) * np.linalg.norm(scaled):
        return 0.0
    direction = (null @ along / scales) @ curved
    return abs(float(gradient @ direction)) / float(np.linalg.norm(direction))


def _steepest_of_cone(H: Array, gradient: Array, atoms: FiniteAtoms, flat: float) -> float:
    """Return the slope along a null direction of non-negative coefficients that leads down.

    The least of aᵀZHZᵀa + (⟨∇f, Zᵀa⟩ + 1)² over a ≥ 0, all in units of one, is zero where there is
    such a direction: a non-negative least-squares problem.
    """
    from scipy.optimize import nnls

    Z = atoms.matrix.astype(np.float64)
    Z /= row_norms(Z)[:, None]
    spectrum, axes = np.linalg.eigh(H / np.abs(H).max())
    root = np.sqrt(np.maximum(spectrum, 0.0))[:, None] * axes.T
    slopes = Z @ gradient / float(np.linalg.norm(gradient))
    a, residual = nnls(np.vstack([root @ Z.T, slopes]), np.append(np.zeros(len(H)), -1.0))
    if residual > sqrt(flat):
        return 0.0
    direction = a @ Z
    return abs(float(gradient @ direction)) / float(np.linalg.norm(direction))


def _frame(atoms: AtomSet) -> Array | None:
    """Return rows that span lin(A), in float64; None where the set does not tell."""
    (d,) = atoms.shape
    if atoms.rank == d:
        return np.eye(d)
    if atoms.finite is not None:
        return atoms.finite.lin.frame
    axes = np.array([axis for axis in np.eye(d) if atoms.spans(axis)])
    return axes if len(axes) == atoms.rank else None
