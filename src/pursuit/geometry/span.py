"""lin(A) and a quadratic on it, in coordinates of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.sampling import Sampling
from pursuit.base.scaling import row_norms
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective, QuadraticObjective

LARGEST = 4000
"""Dimensions of lin(A) up to which a Hessian is formed on it."""
IMAGES = 30_000_000
"""Entries of the images of a basis of lin(A) up to which they are kept."""


def basis_of(atoms: AtomSet) -> Array:
    """Return an orthonormal basis of lin(A) as rows."""
    if atoms.finite is not None:
        return atoms.finite.lin.axes
    if atoms.rank == int(np.prod(atoms.shape)):
        return np.eye(atoms.rank)
    return Sampling(atoms).moments.axes


def inside(atoms: FiniteAtoms) -> Array:
    """Return the atoms in the coordinates of that basis."""
    return atoms.lin.inside(atoms.matrix)


def lengths(atoms: FiniteAtoms) -> Array:
    """Return ‖z_j‖ in float64, whatever the precision of the atoms."""
    if atoms.norms.dtype == np.float64:
        return atoms.norms
    return row_norms(atoms.matrix.astype(np.float64))


def longest(atoms: AtomSet) -> float:
    """Return max ‖z‖ in float64; of an infinite set, what it knows."""
    return atoms.radius if atoms.finite is None else float(lengths(atoms.finite).max())


def curved(f: Objective, atoms: AtomSet) -> QuadraticObjective | None:
    """Return f, if it is a quadratic whose Hessian on lin(A) is small enough to be formed."""
    return f.quadratic if atoms.rank <= LARGEST else None


def round_bowl(f: Objective) -> bool:
    """Return whether the Hessian of f is a multiple of the identity."""
    return f.quadratic is not None and f.L is not None and f.mu == f.L


@dataclass(frozen=True)
class SpanHessian:
    """B H Bᵀ = U diag(σ²) Uᵀ for the rows of B: a Hessian in the coordinates of a basis of lin(A).

    Where zᵀHz′ is the inner product of the images of z and z′ it is never formed: the images of
    the basis are a root of it, and singular values of a root see twice as deep. If there are
    fewer of them than rows of B, the rest of the directions are flat for certain.

    Attributes
    ----------
    f, basis
        The quadratic and B.
    """

    f: QuadraticObjective
    basis: Array

    @cached_property
    def _images(self) -> Array | None:
        """The images of the rows of B, or None where they are no root of the Hessian."""
        if not self.f.isometric:
            return None
        first = np.asarray(self.f.image(self.basis[0].reshape(self.f.shape)))
        if first.size * len(self.basis) > IMAGES:
            return None
        rows = [np.ravel(self.f.image(d.reshape(self.f.shape))) for d in self.basis]
        return np.array(rows, np.float64)

    @cached_property
    def _matrix(self) -> Array:
        shape = self.f.shape
        columns = [np.ravel(self.f.hessian(d.reshape(shape))) for d in self.basis]
        H = self.basis @ np.array(columns, dtype=np.float64).T
        return (H + H.T) / 2

    @cached_property
    def _factors(self) -> tuple[Array, Array, Array]:
        """U, σ, and which of σ are zero up to rounding."""
        images, tolerance = self._images, max(self.basis.shape) * tolerances(np.float64).rank
        if images is None:
            spectrum, axes = np.linalg.eigh(self._matrix)
            flat = spectrum <= tolerance * spectrum[-1]
            return axes, np.sqrt(np.maximum(spectrum, 0)), flat
        if images.shape[1] > len(images):
            images = np.asarray(np.linalg.qr(images.T, mode="r")).T
        axes, roots, _ = np.linalg.svd(images, full_matrices=False)
        return axes, roots, roots <= tolerance * roots[0]

    @property
    def axes(self) -> Array:
        """U, the directions in which H is known to be curved if it is `clear`."""
        return self._factors[0]

    @property
    def roots(self) -> Array:
        """σ, roots of the eigenvalues in those directions."""
        return self._factors[1]

    @property
    def flat(self) -> Array:
        """Which of the axes have a curvature that cannot be told from rounding."""
        return self._factors[2]

    @property
    def clear(self) -> bool:
        """Whether every direction is curved, or flat for certain."""
        return not self.flat.any()

    @property
    def singular(self) -> bool:
        """Whether H has flat directions, for certain."""
        return self.clear and len(self.roots) < len(self.basis)

    @property
    def smallest(self) -> float:
        """√λ_min of H on the span; 0 where there are flat directions."""
        return 0.0 if len(self.roots) < len(self.basis) else float(self.roots.min())

    @cached_property
    def root(self) -> Array:
        """R with RRᵀ = H on the span."""
        return self.axes * self.roots
