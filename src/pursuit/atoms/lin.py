"""lin(A): how many dimensions the stored atoms span, decided in float64 whatever their precision.

A float32 number is a float64 number: what it was rounded from is not known, and a bound that is
to hold for the atoms as they are may not take a direction away because float32 would not see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.base.lengths import EPS
from pursuit.base.validation import Array

PRIME = 2_147_483_629
"""A prime below 2³¹: products of two residues fit in 64 bits, and powers of 2 do not soon recur."""


@dataclass(frozen=True)
class Lin:
    """The span of finitely many atoms.

    Attributes
    ----------
    dimension
        Of the space that the atoms live in.
    basis
        An orthonormal basis as rows, shape (r, d); None where lin(A) is the whole space.
    tilt
        The sine of the largest angle by which rounding may have turned the basis.
    atoms
        The stored atoms, rows.
    """

    dimension: int
    basis: Array | None = None
    tilt: float = 0.0
    atoms: Array | None = None

    @property
    def rank(self) -> int:
        """dim lin(A): the numerical rank."""
        return self.dimension if self.basis is None else len(self.basis)

    @property
    def axes(self) -> Array:
        """The basis as an array, the identity for the whole space."""
        return np.eye(self.dimension) if self.basis is None else self.basis

    def inside(self, rows: Array) -> Array:
        """Vectors, as rows or as one, in the coordinates of the basis, in float64."""
        double = rows.astype(np.float64, copy=False)
        return double if self.basis is None else double @ self.basis.T

    def project(self, x: Array) -> Array:
        """The nearest point of lin(A), in float64."""
        flat = x.reshape(-1).astype(np.float64, copy=False)
        if self.basis is not None:
            flat = (self.basis @ flat) @ self.basis
        return flat.reshape(x.shape)

    @cached_property
    def blurred(self) -> bool:
        """Whether the stored numbers span more than the basis, by what rounding alone could be.

        Atoms that depend on each other exactly do not; those that do up to rounding only do, and
        what f may gain along the directions in question cannot be bounded.
        """
        if self.atoms is None or self.rank == min(self.atoms.shape):
            return False
        return modular_rank(self.atoms, self.rank + 1) > self.rank


def lin(atoms: Array) -> Lin:
    """The span of the rows of a matrix.

    Its dimension is the number of singular values that float64 can tell from zero, once rows and
    columns have been brought to one scale: neither the norm of an atom nor the unit of a
    coordinate has a say in it.
    """
    rows = unit_rows(atoms)
    columns = np.abs(rows).max(axis=0)
    used = columns > 0
    dimension, tolerance = len(used), max(rows.shape) * EPS
    rows /= np.where(used, columns, 1.0)
    rank = _clear(np.linalg.svd(rows, compute_uv=False), tolerance)
    if rank == dimension:
        return Lin(dimension)
    if rank == np.count_nonzero(used):
        return Lin(dimension, np.eye(dimension)[used], 0.0, atoms)
    _, s, vt = np.linalg.svd(unit_rows(atoms), full_matrices=False)
    rank = max(rank, _clear(s, tolerance))
    seen = s[rank - 1] > tolerance * s[0]
    return Lin(dimension, vt[:rank], tolerance * s[0] / s[rank - 1] if seen else 1.0, atoms)


def _clear(singular: Array, tolerance: float) -> int:
    return int(np.count_nonzero(singular > tolerance * singular[0]))


def unit_rows(atoms: Array) -> Array:
    """The rows divided by their norms, in float64, whatever their scale."""
    rows = atoms / np.abs(atoms).max(axis=1, keepdims=True).astype(np.float64)
    directions: Array = rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return directions


def modular_rank(atoms: Array, most: int) -> int:
    """The rank of the stored numbers modulo a prime, counted up to `most`.

    Floats are integers times powers of two, so that elimination modulo a prime is exact. The
    result is never above the rank of the numbers themselves, and below it in one case of a
    thousand million.
    """
    rest = residues(atoms)
    for rank in range(most):
        places = np.argwhere(rest)
        if not len(places):
            return rank
        i, j = places[0]
        pivot = rest[i] * pow(int(rest[i, j]), -1, PRIME) % PRIME
        rest = np.delete((rest - rest[:, [j]] * pivot) % PRIME, i, axis=0)
    return most


def residues(atoms: Array) -> Array:
    """Floats modulo the prime."""
    fraction, exponent = np.frexp(atoms.astype(np.float64))
    whole = (fraction * 2.0**53).astype(np.int64) % PRIME
    powers, places = np.unique(exponent, return_inverse=True)
    factors = np.array([pow(2, int(power) - 53, PRIME) for power in powers], dtype=np.int64)
    residues: Array = whole * factors[places].reshape(whole.shape) % PRIME
    return residues
