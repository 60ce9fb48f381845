"""Steps that end where a coefficient reaches the end of what a penalty allows."""

from __future__ import annotations

from math import copysign

from pursuit.atoms.base import Atom
from pursuit.penalties import Penalty
from pursuit.points.base import Point
from pursuit.rules.steps import Measure


def within(penalty: Penalty, measure: Measure) -> Measure:
    """A step rule that is cut short where the coefficient of the atom may go no further.

    f is convex, so a share of the way gains at least that share of the promised decrease. Over a
    cone the coefficient ends at zero exactly: it is what is taken off it. Where the whole step γ
    is below the coefficient, rounding γ to its precision cannot lift it above.
    """

    def shortened(x: Point, z: Atom, c: float) -> tuple[float, float]:
        room = penalty.room(float(x.coef[z]), c)
        if room == 0:
            return 0.0, 0.0
        gamma, decrease = measure(x, z, c)
        if abs(gamma) > room:
            return copysign(room, gamma), decrease * (room / abs(gamma))
        return gamma, decrease

    return shortened
