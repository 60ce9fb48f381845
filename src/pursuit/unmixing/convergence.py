"""How fast the paper's methods, and acceleration without parameters, fit a scene's pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.unmixing.extraction import Array
from pursuit.unmixing.rows import evenly_spaced, unit_rows

METHODS = (
    "matching-pursuit",
    "random-pursuit",
    "accelerated-random",
    "accelerated-matching-pursuit",
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
    from pursuit import methods
    from pursuit.atoms import Dictionary
    from pursuit.encoding.accelerated import losses
    from pursuit.encoding.runs import rules_of, run_batch
    from pursuit.objectives import SquaredDistance
    from pursuit.objectives.problem import Problem

    signals = _near_one(evenly_spaced(pixels, SAMPLE))
    matrix, _ = unit_rows(endmembers[endmembers.any(axis=1)])
    optimum = np.linalg.lstsq(matrix.T, signals.T, rcond=None)[0].T
    problem = Problem(SquaredDistance(np.zeros(matrix.shape[1])), Dictionary(matrix))
    grid = np.unique(np.geomspace(1, ITERATIONS, POINTS).round().astype(np.int64))
    curves = {}
    for name in METHODS:
        rules = rules_of(methods.NAMED[name](), problem)
        assert rules is not None, name
        runs = run_batch(
            rules,
            matrix @ matrix.T,
            -signals @ matrix.T,
            np.concatenate([[0], grid]),
            optimum=optimum,
            seed=seed,
        )
        curves[name.replace("-", " ")] = _relative(runs.values)
    values, _ = losses(matrix, signals, optimum @ matrix, ITERATIONS)
    # Its runs end by themselves, and stay there.
    curves["accelerated"] = _relative(values[np.minimum([0, *grid], len(values) - 1)])
    return Convergence(grid, curves, len(signals))


def _relative(values: Array) -> Array:
    """What follows the first, in its units."""
    start = values[0] if values[0] > 0 else 1.0
    return np.maximum(values[1:] / start, 0.0)


def _near_one(rows: Array) -> Array:
    """The rows over one power of two, in float64: no square leaves the range of numbers."""
    exponent = int(np.frexp(np.abs(rows).max())[1])
    return np.ldexp(rows.astype(np.float64), -exponent)
