"""Directions of lin(A) that are kept and combined over many steps, and their rounding.

A direction is stored as what it adds to the arrays of a point: its coefficients and their effect.
Sums of directions that nearly cancel leave mostly rounding behind, with coefficients and effect
that no longer belong together. So each direction knows how much of it may be rounding, and is
computed anew from its coefficients when that is too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.points.base import Point, Shift, mix

SPOILT = 1e5
"""Units in the last place of its reach beyond which the rounding of a sum is not tolerated."""


@dataclass(frozen=True)
class Heading:
    """A direction d = Σ a_j z_j.

    Attributes
    ----------
    shift
        What it adds to the arrays of a point.
    reach
        Σ |a_j|·‖z_j‖, the length of the terms that d is a sum of.
    error
        How far its effect may be from that of its coefficients, in units of length.
    """

    shift: Shift
    reach: float
    error: float

    @staticmethod
    def fresh(x: Point, shift: Shift) -> Heading:
        """A direction whose effect was computed from its coefficients."""
        reach = _reach(x, shift)
        return Heading(shift, reach, _eps(shift) * reach)

    @staticmethod
    def nowhere(x: Point) -> Heading:
        """The zero direction at a point."""
        zero = {name: np.zeros_like(array) for name, array in x.arrays().items()}
        return Heading(zero, 0.0, 0.0)


def total(x: Point, *terms: tuple[float, Heading]) -> Heading:
    """Σ weight·direction; it costs a product if too much of it would be rounding."""
    shift = mix(*((weight, heading.shift) for weight, heading in terms))
    eps = _eps(shift)
    reach = _reach(x, shift)
    error = sum(abs(weight) * (of.error + eps * of.reach) for weight, of in terms)
    if error > SPOILT * eps * reach:
        return Heading.fresh(x, x.gather(shift["coef"]))
    return Heading(shift, reach, error)


def _reach(x: Point, shift: Shift) -> float:
    assert isinstance(x.atoms, FiniteAtoms)
    return float(np.abs(shift["coef"]) @ x.atoms.norms)


def _eps(shift: Shift) -> float:
    return float(np.finfo(shift["coef"].dtype).eps)
