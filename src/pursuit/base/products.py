"""Products with large arrays in fixed blocks, which the threads of a run share.

What is computed depends on the shape and layout of the array alone. With BLAS at one thread, as in
`pursuit.base.threads.Crew`, no bit depends on how many threads there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.threads import each
from pursuit.base.validation import Array

LARGE = 2**20
"""Numbers of an array from which on to wake another thread takes less time than it saves."""
PIECE = 2**18
"""Numbers of a block: a few times what handing it out costs."""
PIECES = 64
"""The most blocks of a product."""
MANY, FEW = 1000, 4
"""Rows or columns of a matrix from which on it pays to take out those in use, if they are at most
one in so many."""
STEP = 16
"""Blocks are whole multiples of so many rows or columns."""


def times(A: Any, x: Array) -> Array:
    """A x, for an array, a sparse array or a linear operator A."""
    if not isinstance(A, np.ndarray) or A.size < LARGE:
        if x.ndim == 1 and hasattr(A, "indptr") and not x.any():  # where a run begins
            return np.zeros(A.shape[0], np.result_type(A.dtype, x))
        product: Array = A @ x
        return product
    if x.ndim == 2:
        return _stacked(A, x)
    if not x.any():  # where a run begins
        return np.zeros(len(A), np.result_type(A, x))
    return _stacked(A, x) if _by_rows(A) else _summed(A, x)


def _by_rows(A: Array) -> bool:
    """Whether blocks of rows are cut: numbers that lie together, where that gives enough blocks."""
    rows, columns = A.shape
    together = rows if A.flags.c_contiguous else columns
    if together >= PIECES * STEP:
        return A.flags.c_contiguous
    return bool(rows >= columns)


def combined(A: Any, x: Array) -> Array:
    """A x by the columns that x uses, where they are few of many that lie one after another."""
    by_columns = A.flags.f_contiguous if isinstance(A, np.ndarray) else hasattr(A, "tocsc")
    if not by_columns or max(A.shape) < MANY:
        return times(A, x)
    used = np.flatnonzero(x)
    if FEW * len(used) > len(x):
        return times(A, x)
    if isinstance(A, np.ndarray):
        return times(np.take(A.T, used, axis=0).T, x[used])
    return times(A[:, used], x[used])


def row_by_row(A: Array, x: Array) -> Array:
    """A x one row at a time: no bit depends on which other rows there are."""
    out = np.empty((len(A), 1, 1), np.result_type(A, x))
    pieces = _pieces(len(A), A.size) if A.size >= LARGE else [slice(len(A))]
    each(len(pieces), lambda k: np.matmul(A[pieces[k], None], x[:, None], out=out[pieces[k]]))
    return out.reshape(-1)


def _stacked(A: Array, x: Array) -> Array:
    """Blocks of rows, each with its part of the product."""
    pieces = _pieces(len(A), A.size)
    out = np.empty((len(A), *x.shape[1:]), np.result_type(A, x))
    each(len(pieces), lambda k: np.matmul(A[pieces[k]], x, out=out[pieces[k]]))
    return out


def _summed(A: Array, x: Array) -> Array:
    """Blocks of columns, whose products add up, in their order and in float64."""
    pieces = _pieces(len(x), A.size)
    parts = np.empty((len(pieces), len(A)), np.result_type(A, x))
    each(len(pieces), lambda k: np.matmul(A[:, pieces[k]], x[pieces[k]], out=parts[k]))
    total: Array = parts.sum(axis=0, dtype=np.float64)
    return total.astype(parts.dtype, copy=False)


def _pieces(length: int, size: int) -> list[slice]:
    count = min(PIECES, size // PIECE)
    step = -(-length // (count * STEP)) * STEP
    return [slice(begin, min(begin + step, length)) for begin in range(0, length, step)]
