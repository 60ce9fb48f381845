"""A dictionary: finitely many atoms of any scale, stored as rows."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Unit
from pursuit.base.errors import InputError
from pursuit.base.precision import norm
from pursuit.base.validation import Array, real_array

_COMFORT = (1e-250, 1e250)
"""Sums of squares in this range have lost nothing to underflow or overflow."""


class Dictionary(FiniteAtoms):
    """A = {z_1, …, z_n}, the rows of an array.

    Parameters
    ----------
    atoms
        Shape (n, *shape): ``atoms[j]`` is an atom, of any norm but zero. Columns of a matrix
        D of this field are ``Dictionary(D.T)``.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Dictionary
    >>> Dictionary(np.eye(3)[:2] * 5)
    Dictionary of 2 atoms of shape (3,), rank 2, norms 5 … 5
    """

    def __init__(self, atoms: object) -> None:
        array = real_array("atoms", atoms, minimum=2)
        self.shape = array.shape[1:]
        self.dtype = array.dtype
        self._matrix = np.ascontiguousarray(array.reshape(len(array), -1))
        self._norms = row_norms(self._matrix)
        zero = np.flatnonzero(self._norms == 0)
        if zero.size:
            raise InputError(f"atoms: atom {zero[0]} is zero; expected atoms with a direction")

    def __len__(self) -> int:
        return len(self._matrix)

    def __repr__(self) -> str:
        low, high = self._norms.min(), self._norms.max()
        return (
            f"Dictionary of {len(self)} atoms of shape {self.shape}, rank {self.rank}, "
            f"norms {low:.4g} … {high:.4g}"
        )

    @property
    def matrix(self) -> Array:
        return self._matrix

    @property
    def norms(self) -> Array:
        return self._norms

    def vector(self, z: Atom) -> Array:
        row: Array = self._matrix[z].reshape(self.shape)
        return row

    def inner(self, d: Array, z: Atom) -> float:
        return float(self._matrix[z] @ d.reshape(-1))

    def correlate(self, d: Array) -> Array:
        c: Array = self._matrix @ d.reshape(-1)
        return c

    def combine(self, weights: Array) -> Array:
        combined: Array = (weights @ self._matrix).reshape(self.shape)
        return combined

    @cached_property
    def digest(self) -> bytes:
        """A hash of the atoms, computed once for all the runs that checkpoints tell apart by it."""
        digest = blake2b(f"{self.shape}{self.dtype.str}".encode(), digest_size=16)
        digest.update(self._matrix.data)
        return digest.digest()

    @cached_property
    def basis(self) -> Array:
        """An orthonormal basis of lin(A) as rows, shape (r, d)."""
        directions = self._matrix / self._norms[:, None]
        _, s, vt = np.linalg.svd(directions, full_matrices=False)
        tolerance = max(self._matrix.shape) * np.finfo(self.dtype).eps * s[0]
        basis: Array = vt[s > tolerance]
        return basis

    @property
    def rank(self) -> int:
        return len(self.basis)

    def spans(self, x: Array) -> bool:
        flat = x.reshape(-1)
        rest = flat - (self.basis @ flat) @ self.basis
        return norm(rest) <= 1e-6 * norm(flat)

    def astype(self, dtype: np.dtype[Any]) -> Dictionary:
        if self.dtype == dtype:
            return self
        return Dictionary(self._matrix.astype(dtype).reshape(-1, *self.shape))

    def unit(self) -> Unit:
        if np.abs(self._norms - 1).max() <= 4 * np.finfo(self.dtype).eps:
            return Unit(self, None)
        # Dividing by the largest entry first keeps atoms of 1e±200 from losing their digits.
        peak = np.abs(self._matrix).max(axis=1, keepdims=True)
        rows = self._matrix / peak
        rows /= row_norms(rows)[:, None]
        return Unit(Dictionary(rows.reshape(-1, *self.shape)), self._norms)


def as_atoms(atoms: object) -> AtomSet:
    """A set as it is; an array with an atom in each row as a `Dictionary`."""
    return atoms if isinstance(atoms, AtomSet) else Dictionary(atoms)


def row_norms(matrix: Array) -> Array:
    """‖row‖ without overflow or underflow, in the matrix's precision."""
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    if squares.min() > _COMFORT[0] and squares.max() < _COMFORT[1]:
        lengths: Array = np.sqrt(squares).astype(matrix.dtype)
        return lengths
    peak = np.abs(matrix).max(axis=1)
    safe = np.where(peak == 0, 1, peak)[:, None]
    scaled = (matrix / safe).astype(np.float64, copy=False)
    norms: Array = (peak * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))).astype(matrix.dtype)
    return norms
