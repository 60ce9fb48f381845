"""lin(A) and a quadratic on it, in coordinates of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.sampling import Sampling
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective, QuadraticObjective

LARGEST = 4000
"""Dimensions of lin(A) up to which a Hessian is formed on it."""


def dimension(atoms: AtomSet) -> int:
    """The dimension of the space that the atoms live in."""
    return int(np.prod(atoms.shape))


def basis_of(atoms: AtomSet) -> Array:
    """An orthonormal basis of lin(A) as rows."""
    stored = getattr(atoms, "basis", None)
    if stored is not None:
        return np.asarray(stored, dtype=np.float64)
    if atoms.rank == dimension(atoms):
        return np.eye(dimension(atoms))
    if not isinstance(atoms, FiniteAtoms):
        basis: Array = Sampling(atoms).moments.basis.toarray()
        return basis
    directions = atoms.matrix / atoms.norms[:, None]
    axes: Array = np.linalg.svd(directions.astype(np.float64), full_matrices=False)[2]
    return axes[: atoms.rank]


def inside(atoms: FiniteAtoms, basis: Array) -> Array:
    """The atoms in the coordinates of a basis of lin(A)."""
    coordinates: Array = atoms.matrix.astype(np.float64, copy=False) @ basis.T
    return coordinates


def curved(f: Objective, atoms: AtomSet) -> bool:
    """Whether f is a quadratic whose Hessian on lin(A) is small enough to be formed."""
    return isinstance(f, QuadraticObjective) and atoms.rank <= LARGEST


def round_bowl(f: Objective) -> bool:
    """Whether the Hessian of f is a multiple of the identity."""
    return isinstance(f, QuadraticObjective) and f.L is not None and f.mu == f.L


@dataclass(frozen=True)
class SpanHessian:
    """B H Bᵀ for the rows of B: a quadratic's Hessian in the coordinates of a basis of lin(A)."""

    f: QuadraticObjective
    basis: Array

    @cached_property
    def matrix(self) -> Array:
        shape = self.f.shape
        columns = [np.asarray(self.f.hessian(d.reshape(shape))).reshape(-1) for d in self.basis]
        H = self.basis @ np.array(columns, dtype=np.float64).T
        return (H + H.T) / 2

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        spectrum, axes = np.linalg.eigh(self.matrix)
        return spectrum, axes

    @property
    def singular(self) -> bool:
        """Whether H has no inverse on the span, to working precision."""
        spectrum, _ = self._eigen
        return bool(spectrum[0] <= self._rounding)

    @property
    def _rounding(self) -> float:
        spectrum, _ = self._eigen
        return 4 * len(spectrum) * float(np.finfo(np.float64).eps) * float(spectrum[-1])

    @property
    def smallest(self) -> float:
        """λ_min of H on the span."""
        return max(float(self._eigen[0][0]), 0.0)

    @cached_property
    def root(self) -> Array:
        """H^½ on the span."""
        spectrum, axes = self._eigen
        root: Array = (axes * np.sqrt(np.maximum(spectrum, 0))) @ axes.T
        return root

    def solve(self, g: Array) -> Array | None:
        """The shortest s with Hs = g; None where there is none."""
        spectrum, axes = self._eigen
        parts = axes.T @ g
        flat = spectrum <= self._rounding
        # Rounding leaves a gradient a part along directions in which f is flat.
        if np.linalg.norm(parts[flat]) > 1e-7 * np.linalg.norm(g):
            return None
        return axes[:, ~flat] @ (parts[~flat] / spectrum[~flat])
