"""Products and norms that lose nothing to a lower precision, or to the range of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.validation import Array

CONVERTED = 2**24
"""Bytes of a matrix that are converted to another precision at a time."""
SAFE = (1e-140, 1e140)
"""Numbers whose squares, and sums of many of them, are numbers."""


def norm(x: Array) -> float:
    """‖x‖ in float64, without overflow or underflow of the squares."""
    flat = x.reshape(-1).astype(np.float64, copy=False)
    peak = float(np.abs(flat).max(initial=0.0))
    if SAFE[0] < peak < SAFE[1]:
        return float(np.sqrt(flat @ flat))
    if peak == 0 or not np.isfinite(peak):
        return peak
    near = flat / peak
    return peak * float(np.sqrt(near @ near))


def peak(A: Any) -> float:
    """The largest |entry| of an array or a sparse array; zero where there are none to see."""
    entries = getattr(A, "data", A) if hasattr(A, "tocsr") else A
    if not isinstance(entries, np.ndarray) or not entries.size:
        return 0.0
    return max(float(entries.max()), -float(entries.min()))


def times(A: Any, x: Array) -> Array:
    """A x in the precision of x; a dense A of a lower one is converted some rows at a time."""
    product: Array
    if not _lower(A, x):
        product = A @ x
        return product
    product = np.concatenate([A[rows].astype(x.dtype) @ x for rows in _pieces(A, x)])
    return product


def transposed_times(A: Any, y: Array) -> Array:
    """Aᵀ y, likewise."""
    product: Array
    if not _lower(A, y):
        product = A.T @ y
        return product
    product = np.zeros(A.shape[1], y.dtype)
    for rows in _pieces(A, y):
        product += A[rows].T.astype(y.dtype) @ y[rows]
    return product


def _lower(A: Any, x: Array) -> bool:
    """Whether A is an array of a lower precision than x."""
    return isinstance(A, np.ndarray) and A.dtype.itemsize < x.dtype.itemsize


def _pieces(A: Array, x: Array) -> list[slice]:
    rows = max(1, CONVERTED // max(1, A.shape[1] * x.dtype.itemsize))
    return [slice(begin, begin + rows) for begin in range(0, len(A), rows)]
