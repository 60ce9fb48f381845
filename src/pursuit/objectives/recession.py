"""Directions along which a quadratic falls without end.

½xᵀHx − bᵀx is unbounded below over lin(A) exactly where some d of lin(A) has Hd = 0 and a slope
⟨∇f, d⟩ ≠ 0, the same at every x. Both are told from rounding: the curvature dᵀHd against that of
its own terms, |d|ᵀ|H||d|, so that 1e-17 on a diagonal counts as what it is; the slope against what
errors of the null space of H, and of a b that was itself computed, may make of none.
"""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.base.precision import norm
from pursuit.base.validation import Array

ULPS = 8
"""Units in the last place for each entry of a direction that a product may owe to rounding."""


def falling(H: Array, gradient: Array, atoms: AtomSet) -> str:
    """Why ½xᵀHx − bᵀx falls without end over the hull of the atoms; empty where it may not.

    Parameters
    ----------
    H
        The Hessian; its precision is that of its entries.
    gradient
        ∇f at a point, in float64.
    """
    basis = _basis(atoms)
    if basis is None:
        return ""
    flat, slopes = _Flat(H, basis), basis @ gradient
    ways = (inside @ basis for inside in (flat.steepest(slopes), *flat.each(slopes)))
    d = next((d for d in ways if flat.along(d)), None)
    if d is not None and atoms.one_sided:
        d = _of_the_cone(flat, gradient, atoms)
    if d is None or not flat.along(d):
        return ""
    slope = abs(float(gradient @ d)) / norm(d)
    return f"f falls without end: a direction of the atoms has slope {slope:.4g} and no curvature"


class _Flat:
    """The null space of H on a subspace, as far as rounding lets it be told.

    Parameters
    ----------
    H
        The Hessian in its own precision.
    basis
        Orthonormal rows that span the subspace.
    """

    def __init__(self, H: Array, basis: Array) -> None:
        self.eps, self.H = float(np.finfo(H.dtype).eps), H.astype(np.float64)
        self.noise = len(H) * self.eps * norm(H)
        spectrum, vectors = np.linalg.eigh(basis @ self.H @ basis.T)
        self.null = vectors[:, spectrum <= self.noise].T
        # An error of `noise` in H turns its null space by noise/λ towards the next eigenvector.
        stiff = spectrum[spectrum > self.noise]
        turned = ULPS * self.noise / float(stiff[0]) if len(stiff) else 0.0
        self.told = max(float(np.sqrt(self.eps)), turned)

    def steepest(self, slopes: Array) -> Array:
        """The direction of the null space with the largest slope; zero where that is rounding."""
        along = self.null @ slopes
        d: Array = along @ self.null
        return d if norm(along) > self.told * norm(slopes) else np.zeros_like(slopes)

    def each(self, slopes: Array) -> list[Array]:
        """Its basis vectors with a slope."""
        return [d for d in self.null if abs(float(d @ slopes)) > self.told * norm(slopes)]

    def along(self, d: Array) -> bool:
        """Whether f does not bend along a direction, up to the rounding of dᵀHd."""
        size = np.abs(d)
        rounding = ULPS * len(d) * self.eps * float(size @ np.abs(self.H) @ size)
        return bool(d.any()) and float(d @ self.H @ d) <= rounding


def _basis(atoms: AtomSet) -> Array | None:
    """An orthonormal basis of lin(A) as rows, in float64; None where the set does not tell."""
    (d,) = atoms.shape
    if atoms.rank == d:
        return np.eye(d)
    if not isinstance(atoms, FiniteAtoms):
        axes = np.array([axis for axis in np.eye(d) if atoms.spans(axis)])
        return axes if len(axes) == atoms.rank else None
    directions = atoms.matrix.astype(np.float64) / atoms.norms.astype(np.float64)[:, None]
    _, s, vt = np.linalg.svd(directions, full_matrices=False)
    basis: Array = vt[s > max(directions.shape) * np.finfo(np.float64).eps * s[0]]
    return basis


def _of_the_cone(flat: _Flat, gradient: Array, atoms: AtomSet) -> Array | None:
    """A flat direction that leads down, of non-negative coefficients: a linear program.

    The least ⟨∇f, Σ a_j z_j⟩ over a ≥ 0, Σ a_j ≤ 1 with H Σ a_j z_j = 0.
    """
    from scipy.optimize import linprog

    assert isinstance(atoms, FiniteAtoms)
    Z = atoms.matrix.astype(np.float64) / atoms.norms.astype(np.float64)[:, None]
    spectrum, vectors = np.linalg.eigh(flat.H)
    curved = vectors[:, spectrum > flat.noise]
    sums, zeros = np.ones((1, len(Z))), np.zeros(curved.shape[1])
    slopes = Z @ gradient / norm(gradient)
    found = linprog(slopes, A_ub=sums, b_ub=[1.0], A_eq=(Z @ curved).T, b_eq=zeros)
    return found.x @ Z if found.success and found.fun < -flat.told else None
