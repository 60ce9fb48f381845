"""Euclidean norms that neither overflow nor underflow where the numbers themselves do not."""

from __future__ import annotations

from math import inf

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array

EPS = float(np.finfo(np.float64).eps)
TINIEST = 5e-324
"""What underflow may take off a product."""
_COMFORT = (1e-250, 1e250)
"""Sums of squares in this range have lost nothing to underflow or overflow."""
_EASY = (1e-100, 1e100)
"""Largest entries in this range have squares of which nothing that counts is lost."""
_SQUARED = (2.0**-500, 2.0**500)
"""Norms in this range have squares, and slopes along such vectors have too."""


def scale(entries: Array) -> float:
    """What to divide entries by before they are squared: one, unless they are huge or tiny."""
    peak = float(np.abs(entries).max(initial=0.0))
    return 1.0 if peak == 0 or _EASY[0] < peak < _EASY[1] else peak


def length(x: Array) -> float:
    """‖x‖, in float64; of a matrix, that of all its entries; inf where one of them is."""
    flat = x.reshape(-1).astype(np.float64, copy=False)
    size = scale(flat)
    if size == inf:
        return size
    return size * float(np.linalg.norm(flat if size == 1 else flat / size))


def squarable(name: str, x: Array) -> None:
    """Refuse numbers whose squares, or those of slopes along them, are out of range."""
    size = length(x)
    if size and not _SQUARED[0] <= size <= _SQUARED[1]:
        raise InputError(
            f"{name}: numbers of the size {size:.3g} have squares out of the range of float64; "
            "expected other units"
        )


def row_norms(matrix: Array) -> Array:
    """‖row‖ without overflow or underflow, in the matrix's precision."""
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    if squares.min() > _COMFORT[0] and squares.max() < _COMFORT[1]:
        lengths: Array = np.sqrt(squares).astype(matrix.dtype)
        return lengths
    peak = np.abs(matrix).max(axis=1)
    safe = np.where(peak == 0, 1, peak)[:, None]
    scaled = (matrix / safe).astype(np.float64, copy=False)
    with np.errstate(over="ignore"):  # a norm that is no number is infinite
        norms: Array = (peak * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))).astype(matrix.dtype)
    return norms


def refuse_zero(name: str, what: str, sizes: Array) -> None:
    """Say which of some atoms has no direction: its size is zero."""
    zero = np.flatnonzero(sizes == 0)
    if zero.size:
        raise InputError(f"{name}: {what} {zero[0]} is zero; expected {what}s with a direction")


def refuse_endless(name: str, what: str, norms: Array, start: int = 0) -> None:
    """Say which of some rows, counted from `start`, is too long for a number."""
    if not np.isfinite(norms).all():
        longest = start + int(np.argmax(norms))
        raise InputError(
            f"{name}: the norm of {what} {longest} is outside the range of {norms.dtype}; expected "
            "a larger unit"
        )


def refuse_blurred(name: str, what: str, norms: Array) -> None:
    """Say which of some rows is so short that its norm has lost digits."""
    blurred = np.flatnonzero(norms < np.finfo(norms.dtype).smallest_normal)
    if blurred.size:
        raise InputError(
            f"{name}: the norm of {what} {blurred[0]} is {norms[blurred[0]]:.3g}, below the "
            f"numbers of {norms.dtype} that have all their digits; expected a smaller unit"
        )
