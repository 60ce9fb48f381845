"""Spectra as rows: at unit norm, evenly sampled, and the angles between them."""

from __future__ import annotations

import numpy as np

from pursuit.base import scaling
from pursuit.unmixing.extraction import Array, Integers


def unit_rows(rows: Array) -> tuple[Array, Array]:
    """Return rows at unit norm and their norms, in float64. Rows of zeros stay zero."""
    return scaling.unit_rows(rows.astype(np.float64, copy=False))


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


def angles_between(some: Array, others: Array) -> Array:
    """The angle of every row of `some` with every row of `others`, in radians, to about 1e-8.

    With a zero row it is π/2.
    """
    angles: Array = np.arccos(np.clip(unit_rows(some)[0] @ unit_rows(others)[0].T, -1.0, 1.0))
    return angles
