"""Steps over a cone: no coefficient falls below zero."""

from __future__ import annotations

from pursuit.atoms.base import Atom
from pursuit.points.base import Point
from pursuit.rules.steps import Measure


def within_cone(measure: Measure) -> Measure:
    """A step rule that is cut short where the coefficient of the atom reaches zero.

    f is convex, so a share of the way gains at least that share of the promised decrease. The
    coefficient ends at zero exactly: it is what is taken off it. Where the whole step γ is below
    the coefficient, rounding γ to its precision cannot lift it above.
    """

    def shortened(x: Point, z: Atom, c: float) -> tuple[float, float]:
        room = float(x.coef[z])
        if room == 0 and c >= 0:
            return 0.0, 0.0
        gamma, decrease = measure(x, z, c)
        return (room, decrease * (room / gamma)) if gamma > room else (gamma, decrease)

    return shortened
