"""A dictionary whose atoms are zero nearly everywhere, kept as a sparse matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, Unit
from pursuit.atoms.local import LocalAtoms
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_nonzero, check_range
from pursuit.base.sparse import canonical_rows
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, extent


class SparseDictionary(LocalAtoms):
    """A = {z_1, …, z_n}, the rows of a sparse matrix.

    A step of `solve` on a `SquaredDistance` changes the correlations of the atoms that share an
    entry with its own; any other product costs the number of stored entries.

    Parameters
    ----------
    atoms
        A SciPy sparse matrix or array of shape (n, d), with an atom of any norm but zero in each
        row. Columns of a matrix D of this field are ``SparseDictionary(D.T)``.
    shape
        Of an atom, with d entries; (d,) where not given.

    Examples
    --------
    >>> import scipy.sparse
    >>> from pursuit import SparseDictionary
    >>> SparseDictionary(scipy.sparse.eye_array(1000, 2000) * 5)
    SparseDictionary of 1,000 atoms of shape (2000,), 1,000 entries
    """

    def __init__(self, atoms: Any, shape: int | tuple[int, ...] | None = None) -> None:
        rows = _checked(atoms)
        sizes = (rows.shape[1],) if shape is None else shape
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        self.shape = tuple(extent("shape", size) for size in sizes)
        if int(np.prod(self.shape)) != rows.shape[1]:
            raise InputError(
                f"shape: expected {rows.shape[1]} entries, as the columns of atoms, got "
                f"{self.shape}"
            )
        self.dtype, self.rows = rows.dtype, rows
        check_range("atoms", rows, "atom")
        check_nonzero("atoms", "atom", np.diff(rows.indptr))

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __repr__(self) -> str:
        return (
            f"SparseDictionary of {len(self):,} atoms of shape {self.shape}, {self.rows.nnz:,} "
            "entries"
        )

    @cached_property
    def _columns(self) -> Any:
        return self.rows.tocsc()

    @cached_property
    def norms(self) -> Array:
        squares = np.add.reduceat(self.rows.data.astype(np.float64) ** 2, self.rows.indptr[:-1])
        norms: Array = np.sqrt(squares).astype(self.dtype)
        return norms

    def norm2(self, z: Atom) -> float:
        entries = self.support(z)[1].astype(np.float64)
        return float(entries @ entries)

    def support(self, z: Atom) -> tuple[Array, Array]:
        mine = slice(self.rows.indptr[z], self.rows.indptr[z + 1])
        return self.rows.indices[mine], self.rows.data[mine]

    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]:
        columns = self._columns
        begins, counts = columns.indptr[where], np.diff(columns.indptr)[where]
        ends = np.cumsum(counts)
        # The stored entries of those columns, one column after another.
        stored = np.arange(ends[-1]) + np.repeat(begins - ends + counts, counts)
        products = columns.data[stored] * np.repeat(entries, counts)
        places, inverse = np.unique(columns.indices[stored], return_inverse=True)
        return places.astype(np.int64), np.bincount(inverse, products, len(places))

    def correlate(self, d: Array) -> Array:
        c: Array = self.rows @ d.reshape(-1)
        return c

    def combine(self, weights: Array) -> Array:
        x: Array = self.rows.T @ weights
        return x.reshape(self.shape)

    def _stacked(self, first: int, last: int) -> Array:
        rows: Array = self.rows[first:last].toarray()
        return rows

    def astype(self, dtype: np.dtype[Any]) -> SparseDictionary:
        if self.dtype == dtype:
            return self
        return SparseDictionary(self.rows.astype(dtype), self.shape)

    def unit(self) -> Unit:
        if np.abs(self.norms - 1).max() <= tolerances(self.dtype).equal:
            return Unit(self, None)
        rows = self.rows.copy()
        rows.data /= np.repeat(self.norms, np.diff(rows.indptr))
        return Unit(SparseDictionary(rows, self.shape), self.norms)


def _checked(atoms: Any) -> Any:
    """A sparse matrix with atoms in its rows, in canonical form and of its own."""
    from scipy.sparse import issparse

    if not issparse(atoms):
        raise InputError(
            f"atoms: expected a SciPy sparse matrix, got {type(atoms).__name__}; Dictionary takes "
            "arrays"
        )
    if atoms.ndim != 2 or 0 in atoms.shape:
        raise InputError(f"atoms: expected a matrix with atoms in its rows, got {atoms.shape}")
    rows = canonical_rows("atoms", atoms)
    rows.eliminate_zeros()
    return rows
