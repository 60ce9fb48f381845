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

CLEAR = 100
"""How much larger than what rounding may make of it a slope has to be."""
SMALL = 1e-6
"""Of the largest coefficient of a linear program: others are its tolerance."""
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
    finite = atoms.finite
    if finite is not None and (why := _along_an_atom(H, gradient, finite)):
        return why
    basis = _basis(atoms)
    if basis is None:
        return ""
    flat = _Flat(H, basis)
    d = flat.steepest(basis @ gradient) @ basis
    if d.any() and finite is not None and atoms.one_sided:
        d = _of_the_cone(H, gradient, finite)
    if not (d.any() and flat.along(d)):
        return ""
    slope = abs(float(gradient @ d)) / norm(d)
    return f"f falls without end: a direction of the atoms has slope {slope:.4g} and no curvature"


def _along_an_atom(H: Array, gradient: Array, atoms: FiniteAtoms) -> str:
    """The same for an atom z with Hz = 0 to the last bit: nothing about it can be rounding."""
    flat = ~np.any(atoms.matrix @ H, axis=1)
    slopes = atoms.admissible(atoms.correlate(gradient), np.zeros(len(atoms))) / atoms.norms
    steepness = np.where(flat, np.abs(slopes), 0.0)
    z, told = int(np.argmax(steepness)), CLEAR * float(np.sqrt(np.finfo(H.dtype).eps))
    if not steepness[z] > told * norm(gradient):
        return ""
    return (
        f"f falls without end along atom {z}, which has slope {steepness[z]:.4g} and no curvature"
    )


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
        flat = spectrum <= self.noise
        flat[flat] = [self.along(v @ basis) for v in vectors.T[flat]]
        self.null, self.curved, self.stiff = vectors.T[flat], vectors.T[~flat], spectrum[~flat]

    def along(self, d: Array) -> bool:
        """Whether f does not bend along a direction, up to the rounding of dᵀHd."""
        size = np.abs(d)
        rounding = ULPS * len(d) * self.eps * float(size @ np.abs(self.H) @ size)
        return float(d @ self.H @ d) <= rounding

    def steepest(self, slopes: Array) -> Array:
        """The direction of the null space with the largest slope; zero where that is rounding."""
        along = self.null @ slopes
        d: Array = along @ self.null
        return d if self.tells(norm(along), slopes) else np.zeros_like(slopes)

    def tells(self, slope: float, slopes: Array) -> bool:
        """Whether a slope in the null space is none of rounding.

        An error of `noise` in H turns its null space by noise/λ towards the next eigenvector. And
        where b is Aᵀy and H = AᵀA, an eigenvalue that drowned in rounding leaves a slope of up to
        √noise·‖y‖, ‖y‖² being Σ⟨b, v⟩²/λ over the eigenvectors.
        """
        share = CLEAR * np.sqrt(len(self.H) * self.eps)
        y2 = 0.0
        if len(self.stiff) and self.stiff[0] > 0:
            share = max(share, ULPS * self.noise / float(self.stiff[0]))
            y2 = float(np.sum((self.curved @ slopes) ** 2 / self.stiff))
        return bool(slope > share * norm(slopes) and slope > CLEAR * np.sqrt(self.noise * y2))


def _basis(atoms: AtomSet) -> Array | None:
    """An orthonormal basis of lin(A) as rows, in float64; None where the set does not tell."""
    (d,) = atoms.shape
    if atoms.rank == d:
        return np.eye(d)
    if atoms.finite is not None:
        return atoms.finite.lin.axes
    axes = np.array([axis for axis in np.eye(d) if atoms.spans(axis)])
    return axes if len(axes) == atoms.rank else None


def _of_the_cone(H: Array, gradient: Array, atoms: FiniteAtoms) -> Array:
    """A flat direction that leads down, of non-negative coefficients; zero where there is none.

    The least ⟨∇f, Σ a_j z_j⟩ over a ≥ 0, Σ a_j ≤ 1 with H Σ a_j z_j = 0: a linear program.
    """
    from scipy.optimize import linprog

    Z = atoms.matrix.astype(np.float64) / atoms.norms.astype(np.float64)[:, None]
    flat, slopes = _Flat(H, np.eye(len(H))), Z @ gradient / norm(gradient)
    sums, bent = np.ones((1, len(Z))), flat.curved @ Z.T
    found = linprog(slopes, A_ub=sums, b_ub=[1.0], A_eq=bent, b_eq=np.zeros(len(bent)))
    if not found.success:
        return np.zeros(len(H))
    a = _on_its_face(bent, found.x, flat.eps)
    leads_down = flat.tells(-float(slopes @ a) * norm(gradient), gradient)
    return flat.null.T @ (flat.null @ (a @ Z)) if leads_down else np.zeros(len(H))


def _on_its_face(bent: Array, a: Array, eps: float) -> Array:
    """The coefficients of a program, which has tolerances, with bent·a = 0 up to rounding.

    Zero where there are none on the same atoms: a direction that hardly bends is not flat.
    """
    used = a > SMALL * a.max(initial=0.0)
    part, exact = bent[:, used], np.zeros_like(a)
    near = a[used] - np.linalg.lstsq(part, part @ a[used])[0]
    rounding = ULPS * len(a) * eps * (np.abs(part) @ np.abs(near))
    if (near >= 0).all() and (np.abs(part @ near) <= rounding).all():
        exact[used] = near
    return exact
