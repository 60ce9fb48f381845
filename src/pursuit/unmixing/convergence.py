"""How fast the paper's methods, and acceleration without parameters, fit a scene's pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.unmixing.extraction import Array
from pursuit.unmixing.rows import evenly_spaced, unit_rows

METHODS = (
    "matching-pursuit",
    "random-pursuit",
    "accelerated-random",
    "accelerated-matching-pursuit",
    "accelerated",
)
SAMPLE = 2000
"""Pixels that the methods are run on at most, evenly spaced in the scene."""
ITERATIONS = 1000
POINTS = 60
LOWEST = 1e-9
"""Relative distances below this are not drawn."""


@dataclass(frozen=True, eq=False)
class Convergence:
    """Σ f(x_t) − f* over pixels, relative to t = 0, f = ½‖x − pixel‖² over the endmembers' span.

    Attributes
    ----------
    grid
        Iteration numbers from 1.
    curves
        One value for each, by the name of the method.
    pixels
        How many were run.
    """

    grid: Array
    curves: dict[str, Array]
    pixels: int

    @property
    def lowest(self) -> float:
        """Where a picture of the curves may end."""
        smallest = min(float(curve.min()) for curve in self.curves.values())
        return max(smallest, LOWEST)


def convergence(pixels: Array, endmembers: Array, *, seed: int = 0) -> Convergence:
    """Run the paper's methods with valid constants, and `accelerated`, which needs none.

    Parameters
    ----------
    pixels, endmembers
        One spectrum per row. The methods run on the endmembers divided by their norms; those
        that are zero are left out.
    seed
        Of the random methods.
    """
    from pursuit.encoding.convergence import BatchProblem  # and the compiler with it
    from pursuit.methods import NAMED

    signals = evenly_spaced(pixels, SAMPLE).astype(np.float64)
    matrix, _ = unit_rows(endmembers[endmembers.any(axis=1)])
    field = BatchProblem(Dictionary(matrix), signals)
    grid = np.unique(np.geomspace(1, ITERATIONS, POINTS).round().astype(np.int64))
    curves = {}
    for name in METHODS:
        course = field.curve(NAMED[name](), np.concatenate([[0], grid]), seed)
        assert course is not None, name
        curves[name.replace("-", " ")] = _relative(course.values)
    return Convergence(grid, curves, len(signals))


def _relative(values: Array) -> Array:
    """What follows the first, in its units."""
    start = values[0] if values[0] > 0 else 1.0
    return np.maximum(values[1:] / start, 0.0)
