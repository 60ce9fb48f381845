"""Whether a scene and its endmembers are in the same units, from the sums of free shares."""

from __future__ import annotations

import numpy as np

from pursuit.base.errors import InputError
from pursuit.unmixing.extraction import Array
from pursuit.unmixing.rows import evenly_spaced, unit_rows

HALF_A_POWER = 0.5
"""Of ten: how far a scale may be from the sum of shares."""
SAMPLE = 4096
"""Pixels looked at at most, evenly spaced in the scene."""


def matching_scale(pixels: Array, endmembers: Array, said: float | None = None) -> float:
    """What to divide the pixels by, so that they are in the units of the endmembers.

    Reflectance is often kept times 100, 1000 or 10000. `said`, what the file says, is taken where
    it brings the median sum of non-negative shares near one; else the power of ten next to that
    sum. What a power of ten does not mend is not a matter of units.
    """
    _, sums = shares_of_any_sum(pixels, endmembers)
    median = float(np.median(sums)) if len(sums) else 1.0
    if median == 0:
        raise InputError("scale: no scale makes these endmembers fit the scene")
    if said is not None and abs(np.log10(median / said)) <= HALF_A_POWER:
        return said
    return float(10.0 ** np.round(np.log10(median)))


def shares_of_any_sum(pixels: Array, endmembers: Array) -> tuple[float, Array]:
    """The mean relative residual of non-negative shares of any sum, and their sums."""
    from pursuit.encoding.nonnegative import nonnegative_fits

    sample = evenly_spaced(pixels, SAMPLE)
    unit, norms = unit_rows(sample[sample.any(axis=1)])
    if not len(unit) or not endmembers.any():
        return float(len(unit) > 0), np.zeros(len(unit))
    atoms, lengths = unit_rows(endmembers[endmembers.any(axis=1)])
    fits = nonnegative_fits(unit, atoms, progress=False)
    sums = (fits.coefficients @ (1 / lengths)) * norms
    return float(fits.residual_norms.mean()), sums
