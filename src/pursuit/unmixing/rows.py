"""Spectra as rows: at unit norm, over safe powers of two, evenly sampled."""

from __future__ import annotations

import numpy as np

from pursuit.unmixing.extraction import Array, Integers

SAFE = 400
"""Squares of numbers up to two to this power, and down to two to minus it, are exact enough."""
BLOCK = 1024
"""Rows that are worked on together where temporary arrays would be as large as the scene."""


def unit_rows(rows: Array) -> tuple[Array, Array]:
    """Rows at unit norm and their norms, in float64; zero rows stay."""
    exponent = exponents(rows)
    near = rows.astype(np.float64)
    safe = bool((np.abs(exponent) <= SAFE).all())
    if not safe:
        near = np.ldexp(near, -exponent[:, None])
    norms = np.sqrt(np.einsum("ij,ij->i", near, near))
    near /= np.where(norms > 0, norms, 1.0)[:, None]
    return near, norms if safe else np.ldexp(norms, exponent)


def exponents(*parts: Array) -> Array:
    """The power of two next to the largest entry of each row: divided by it, squares are safe.

    Several arrays of as many rows count as one with all of their columns.
    """
    largest = np.max([np.maximum(rows.max(axis=1), -rows.min(axis=1)) for rows in parts], axis=0)
    found: Array = np.frexp(largest)[1]
    return found


def evenly_spaced(rows: Array, size: int) -> Array:
    """At most `size` of the rows, evenly spaced from the first to the last."""
    if len(rows) <= size:
        return rows
    chosen: Array = rows[evenly_spaced_indices(len(rows), size)]
    return chosen


def evenly_spaced_indices(n: int, size: int) -> Integers:
    """Return `size` of the indices 0 … n − 1, evenly spaced from the first to the last."""
    spread: Integers = np.linspace(0, n - 1, size).round().astype(np.intp)
    return spread


def row_norms(rows: Array) -> Array:
    """Return the Euclidean norm of every row, without a copy of all squares at once."""
    norms = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        norms[start : start + BLOCK] = np.linalg.norm(rows[start : start + BLOCK], axis=1)
    return norms


def angles_between(some: Array, others: Array) -> Array:
    """The angle of every row of `some` with every row of `others`, in radians, to about 1e-8.

    With a zero row it is π/2.
    """
    angles: Array = np.arccos(np.clip(unit_rows(some)[0] @ unit_rows(others)[0].T, -1.0, 1.0))
    return angles
