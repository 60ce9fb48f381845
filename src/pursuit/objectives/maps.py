"""Linear maps as objectives keep them: arrays, sparse arrays and operators, and their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range, norm
from pursuit.base.sparse import sparse_array
from pursuit.base.validation import Array, real_array, shaped_array
from pursuit.linalg.leading_pair import leading_pair

if TYPE_CHECKING:
    from pursuit.kernels.coordinates import ColumnEntries

DENSE_LIMIT = 2000
"""Up to this size the largest singular value is taken from a dense factorisation."""

ROWS = 16
"""Rows of a matrix that are looked at together."""


def magnitudes(A: Any, x: Array) -> Array:
    """|A||x|, the terms of Ax; a bound on each of them where the entries of A are not known."""
    if hasattr(A, "dot") and hasattr(A, "__abs__"):
        terms: Array = abs(A) @ np.abs(x)
        return terms
    size = largest_singular_value(A) * norm(x)
    return np.full((A.shape[0], *x.shape[1:]), size)


def linear_map(name: str, value: Any) -> Any:
    """A dense array, or a sparse array, by rows or by columns, or an operator, left as it is.

    Of an operator nobody sees the entries, and so not their range.
    """
    from scipy.sparse import issparse
    from scipy.sparse.linalg import LinearOperator

    if isinstance(value, LinearOperator):
        if np.dtype(value.dtype).kind == "c":
            raise InputError(f"{name}: expected a real operator, got one of type {value.dtype}")
        return value
    A = sparse_array(name, value) if issparse(value) else real_array(name, value, ndim=2)
    check_range(name, A)
    return A


def by_columns(X: Any) -> Any:
    """A sparse array by columns, without duplicate entries; the one given is left as it is."""
    columns = X.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy() if columns is X else columns
        columns.sum_duplicates()
    return columns


def columns_of(X: Any) -> ColumnEntries:
    """The columns of an array, or of a sparse array by columns, as kernels take them."""
    from pursuit.kernels.coordinates import ColumnEntries

    if isinstance(X, np.ndarray):
        N, d = X.shape
        # One column after another: a copy, where they do not lie in memory like that.
        return ColumnEntries(X.reshape(-1, order="F"), np.empty(0, np.int32), N * np.arange(d + 1))
    rows = X.indices.astype(np.int32, copy=False)
    return ColumnEntries(X.data, rows, X.indptr.astype(np.int64, copy=False))


def with_ones(A: Any) -> Any:
    """A with a last column of ones: what an intercept is multiplied with."""
    ones = np.ones((A.shape[0], 1), A.dtype)
    if isinstance(A, np.ndarray):
        return np.hstack([A, ones])
    from scipy.sparse import hstack, issparse

    if issparse(A):
        return hstack([A, ones], format=A.format, dtype=A.dtype)
    from scipy.sparse.linalg import LinearOperator

    def matvec(x: Array) -> Array:
        x = x.reshape(-1)
        product: Array = A @ x[:-1] + x[-1]
        return product

    def rmatvec(u: Array) -> Array:
        return np.append(A.T @ u.reshape(-1), u.sum())

    shape = (A.shape[0], A.shape[1] + 1)
    return LinearOperator(shape, matvec=matvec, rmatvec=rmatvec, dtype=A.dtype)


def last_axis(d: int) -> Array:
    """The direction of the intercept."""
    axis = np.zeros(d)
    axis[-1] = 1
    return axis


def with_rows_scaled(A: Any, root: Array) -> Any:
    """diag(root) A."""
    if isinstance(A, np.ndarray):
        return A * root[:, None]
    from scipy.sparse import diags_array, issparse

    if issparse(A):
        return (diags_array(root) @ A).asformat(A.format)
    from scipy.sparse.linalg import aslinearoperator

    return aslinearoperator(diags_array(root)) @ A


def sample_weights(weights: object | None, samples: int, dtype: np.dtype[Any]) -> Array | None:
    """Numbers of at least zero, one for each sample; None where none are given."""
    if weights is None:
        return None
    array = shaped_array("weights", weights, (samples,))
    if array.min() < 0 or array.max() == 0:
        raise InputError(
            "weights: expected numbers of at least 0 that are not all 0, "
            f"got {array.min():g} … {array.max():g}"
        )
    check_range("weights", array, dtype=dtype)
    return array.astype(dtype, copy=False)


def doubled(A: Any) -> Any:
    """A linear map in float64; an operator is left as it is."""
    return A.astype(np.float64, copy=False) if hasattr(A, "astype") else A


def image_sums(A: Any, atoms: FiniteAtoms, root: Array) -> tuple[Array, Array]:
    """Σ_i root_i|(A z_j)_i| and Σ_i (root_i (A z_j)_i)² for every atom, in float64."""
    sums = [_sums(columns, root.astype(np.float64)) for columns in atoms.images(A)]
    absolute, squared = (np.concatenate(part) for part in zip(*sums, strict=True))
    return absolute, squared


def _sums(columns: Any, root: Array) -> tuple[Array, Array]:
    """Of the columns of a matrix."""
    if not isinstance(columns, np.ndarray):
        shape, places = columns.shape, (columns.indices, columns.indptr)
        sizes = type(columns)((np.abs(columns.data), *places), shape)
        absolute = np.asarray(root @ sizes).reshape(-1)
        sizes.data *= sizes.data
        return absolute, np.asarray(root**2 @ sizes).reshape(-1)
    absolute, squared = np.zeros((2, columns.shape[1]))
    for first in range(0, len(columns), ROWS):  # few enough to stay in the cache
        part, sizes = root[first : first + ROWS], np.abs(columns[first : first + ROWS])
        absolute += part @ sizes
        sizes *= sizes
        squared += part**2 @ sizes
    return absolute, squared


def largest_singular_value(A: Any) -> float:
    """‖A‖₂: a dense factorisation where it is small, Lanczos otherwise."""
    if isinstance(A, np.ndarray) and min(A.shape) <= DENSE_LIMIT:
        return float(np.linalg.norm(A.astype(np.float64, copy=False), 2))
    # From its shorter side the iteration ends in as many steps as that has entries.
    return leading_pair(A if A.shape[0] >= A.shape[1] else A.T).sigma
