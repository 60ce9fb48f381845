"""A dictionary: finitely many atoms of any scale, stored as rows."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from math import sqrt
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Unit
from pursuit.atoms.lin import Lin, lin
from pursuit.base.products import times
from pursuit.base.scaling import RANGE, check_nonzero, check_range, row_norms
from pursuit.base.threads import single_threaded_blas
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, real_array, refuse_nonfinite


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

    _along: FiniteAtoms | None = None

    def __init__(self, atoms: object) -> None:
        array = real_array("atoms", atoms, minimum=2, check_finite=False)
        self.shape = array.shape[1:]
        self.dtype = array.dtype
        self._matrix = np.ascontiguousarray(array.reshape(len(array), -1))
        with np.errstate(over="ignore", invalid="ignore"):
            self._norms = row_norms(self._matrix)
        # Norms in the range say that so are the largest entries: one pass over the atoms will do.
        least, most = RANGE[array.dtype]
        low, high = self._norms.min(), self._norms.max()
        if not (low >= least * sqrt(self._matrix.shape[1]) and high <= most):
            refuse_nonfinite("atoms", array)
            check_range("atoms", self._matrix, "atom")
            check_nonzero("atoms", "atom", self._norms)

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
        return times(self._matrix, d.reshape(-1))

    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]:
        return np.arange(len(self)), self._matrix[:, where] @ entries

    def combine(self, weights: Array) -> Array:
        return times(self._matrix.T, weights).reshape(self.shape)

    @cached_property
    def digest(self) -> bytes:
        """A hash of the atoms, computed once for all the runs that checkpoints tell apart by it."""
        digest = blake2b(f"{self.shape}{self.dtype.str}".encode(), digest_size=16)
        digest.update(self._matrix.data)
        return digest.digest()

    @cached_property
    @single_threaded_blas
    def lin(self) -> Lin:
        return lin(self._matrix) if self._along is None else self._along.lin

    def astype(self, dtype: np.dtype[Any]) -> Dictionary:
        if self.dtype == dtype:
            return self
        return Dictionary(self._matrix.astype(dtype).reshape(-1, *self.shape))

    def unit(self) -> Unit:
        if np.abs(self._norms - 1).max() <= tolerances(self.dtype).equal:
            return Unit(self, None)
        unit = object.__new__(Dictionary)  # whose rows need no check
        unit.shape, unit.dtype = self.shape, self.dtype
        unit._matrix = self._matrix / self._norms[:, None]
        unit._norms = np.ones_like(self._norms)
        return Unit(unit.along(self), self._norms)

    def along(self, other: FiniteAtoms) -> Dictionary:
        """This set, known to have the directions of another up to rounding, and so its span."""
        self._along = other
        return self


def as_atoms(atoms: object) -> AtomSet:
    """A set as it is; an array with an atom in each row as a `Dictionary`."""
    return atoms if isinstance(atoms, AtomSet) else Dictionary(atoms)
