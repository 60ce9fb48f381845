"""Why a fit is bad, in one sentence."""

from __future__ import annotations

import numpy as np

from pursuit.unmixing.extraction import Array
from pursuit.unmixing.scaling import shares_of_any_sum
from pursuit.unmixing.scene import Scene

BAD = 0.15
"""A mean relative residual above this is worth a warning."""
OTHER_SCALE = 2.0
"""Shares whose median sum is this many times too large or too small speak of another scale."""
SUMMED = ("sum-to-one", "sum-at-most-one")
"""The constraints that need pixels and endmembers of one scale."""


def complaint(
    pixels: Array, endmembers: Array, constraint: str, residual: float, scene: Scene | None
) -> str | None:
    """What is wrong with a fit whose mean relative residual is `residual`; None if nothing is.

    For constraints on the sum, shares without it tell what is to blame: if they fit no better,
    the endmembers; if their sum is far from one, the scale; else the light, which varies.
    """
    if residual <= BAD:
        return None
    said = f"the fit is bad: the mean residual is {100 * residual:.3g} % of a pixel's norm"
    if constraint not in SUMMED:
        return f"{said}; {BLAME_ENDMEMBERS}"
    free, sums = shares_of_any_sum(pixels, endmembers)
    if free > max(BAD, residual / 2):
        return f"{said}, and {100 * free:.3g} % with shares of any sum; {BLAME_ENDMEMBERS}"
    low, median, high = np.quantile(sums, (0.05, 0.5, 0.95))
    said += f", but {100 * free:.3g} % with shares of any sum, which "
    if not 1 / OTHER_SCALE <= median <= OTHER_SCALE:
        return f"{said}is {median:.3g} in the median pixel: {_blame_scale(float(median), scene)}"
    shade = constraint == "sum-to-one" and high <= 1 + BAD
    return (
        f"{said}goes from {low:.2g} to {high:.2g}: brightness varies from pixel to pixel; "
        f"use the constraint {'sum-at-most-one' if shade else 'non-negative'}"
    )


BLAME_ENDMEMBERS = (
    "the endmembers do not make up the scene: take more of them, or let another picker find them"
)


def _blame_scale(factor: float, scene: Scene | None) -> str:
    said = "scene and endmembers have other scales; "
    if scene is not None and scene.file_scale not in (None, scene.scale):
        return f"{said}its file says to divide by {scene.file_scale:g} (scale auto does)"
    return f"{said}divide the scene by about {factor:.2g} (scale)"
