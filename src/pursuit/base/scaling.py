"""The range of magnitudes that data may have, and scaling by exact powers of two.

Public functions call these once, on entry. Within the range, squares and products of squares are
ordinary numbers, and nothing below the public functions asks how large numbers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array

RANGE = {np.dtype(np.float64): (1e-70, 1e70), np.dtype(np.float32): (1e-15, 1e15)}
"""The smallest and largest magnitude that the largest entry of nonzero data may have."""

LARGEST_PARAMETER = 1e230
"""Larger penalty weights are it, larger bounds are infinite, and weights below its inverse zero:
products with data are ordinary numbers."""


def largest_magnitudes(array: Any, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the largest absolute value of an array or sparse array, or of each of its slices."""
    if hasattr(array, "tocsr"):
        if axis is None and array.format in ("csr", "csc"):
            return largest_magnitudes(array.data)  # without a copy of the indices
        array = abs(array)
        largest = array.max(axis=axis)
        return np.asarray(largest.toarray().ravel() if hasattr(largest, "toarray") else largest)
    # Two reductions need no copy of the size of the array, as np.abs does.
    highest = np.max(array, axis=axis, initial=0)
    return np.asarray(np.maximum(highest, -np.min(array, axis=axis, initial=0)))


def check_range(
    name: str,
    array: Any,
    row: str | None = None,
    numbers: Array | None = None,
    dtype: np.dtype[Any] | None = None,
) -> None:
    """Raise InputError if the largest magnitude of an array is neither zero nor in the range.

    With the word for a `row` ("signal", "atom") every row is checked by itself. The error counts
    rows from zero, or gives the one of their `numbers`. The range is that of `dtype` where the
    array is to be converted to it.
    """
    largest = np.atleast_1d(_largest_of_rows(array) if row else largest_magnitudes(array))
    least, most = RANGE[np.dtype(largest.dtype if dtype is None else dtype)]
    outside = np.flatnonzero((largest != 0) & ~((largest >= least) & (largest <= most)))
    if outside.size:
        number = outside[0] if numbers is None else numbers[outside[0]]
        where = f" in {row} {number}" if row else ""
        raise InputError(
            f"{name} must be zero or have its largest magnitude from {least:g} to {most:g}, "
            f"got {largest[outside[0]]:.3g}{where}; rescale the data"
        )


def power_of_two(array: Any) -> float:
    """Return the power of two over which the largest magnitude of an array is in [1/2, 1)."""
    return float(np.ldexp(1.0, np.frexp(float(largest_magnitudes(array)))[1]))


def check_nonzero(name: str, row: str, sizes: Array) -> None:
    """Raise InputError if a row, of which `sizes` has the norms, is zero."""
    zero = np.flatnonzero(sizes == 0)
    if zero.size:
        raise InputError(f"{name} must be nonzero, got zeros in {row} {zero[0]}")


def scale_rows(rows: Array) -> tuple[Array, Array]:
    """Return rows divided by powers of two, so that each has its largest magnitude in [1/2, 1).

    The second array has the powers. No digit changes, but of entries that are next to nothing
    beside the largest of their row. Rows of zeros stay as they are.
    """
    exponents = np.frexp(_largest_of_rows(rows))[1]
    shape = (len(rows),) + (1,) * (rows.ndim - 1)
    scaled: Array = np.ldexp(rows, -exponents.reshape(shape))
    powers: Array = np.ldexp(np.ones(len(rows), rows.dtype), exponents)
    return scaled, powers


def unit_rows(rows: Array) -> tuple[Array, Array]:
    """Return rows divided by their Euclidean norms, and the norms. Rows of zeros stay zero."""
    norms = row_norms(rows)
    unit: Array = rows / np.where(norms == 0, 1, norms)[:, None]
    return unit, norms


def norm(x: Array) -> float:
    """Return the Euclidean norm of all entries of an array, computed in float64."""
    return float(np.linalg.norm(x.astype(np.float64, copy=False)))


def row_norms(rows: Array) -> Array:
    """Return the Euclidean norm of each row in its precision, from a float64 sum of squares."""
    norms: Array = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)).astype(rows.dtype)
    return norms


def _largest_of_rows(rows: Any) -> Array:
    """Return the largest magnitude of each row."""
    return largest_magnitudes(rows, tuple(range(1, rows.ndim)) if rows.ndim != 2 else 1)
