"""Directions of lin(A) that are kept and combined over many steps, and their rounding.

A direction is stored as what it adds to the arrays of a point: its coefficients and their effect.
Sums of directions that nearly cancel leave mostly rounding behind, with coefficients and effect
that no longer belong together. So each direction knows how much of it may be rounding, and is
computed anew from its coefficients when that is too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from pursuit.points import Point, Shift, mix
from pursuit.validation import Array


@dataclass(frozen=True)
class Heading:
    """A direction, its length in coefficients, and the share of it that may be rounding."""

    shift: Shift
    length: float
    noise: float

    @staticmethod
    def fresh(shift: Shift) -> Heading:
        """A direction whose effect was computed from its coefficients."""
        coef = shift["coef"]
        return Heading(shift, _norm(coef), float(np.finfo(coef.dtype).eps))

    @staticmethod
    def nowhere(x: Point) -> Heading:
        """The zero direction at a point."""
        return Heading.fresh({name: np.zeros_like(array) for name, array in x.arrays().items()})


def total(x: Point, *terms: tuple[float, Heading]) -> Heading:
    """Σ weight·direction; one product if rounding makes up more than √eps of it."""
    shift = mix(*((weight, heading.shift) for weight, heading in terms))
    eps = float(np.finfo(shift["coef"].dtype).eps)
    length = _norm(shift["coef"])
    error = sum(abs(weight) * of.length * (of.noise + eps) for weight, of in terms)
    if error > sqrt(eps) * length:
        return Heading.fresh(x.gather(shift["coef"]))
    return Heading(shift, length, error / length if length else 0.0)


def _norm(coef: Array) -> float:
    return float(np.linalg.norm(coef))
