"""Steps along one atom where coefficients have a penalty: prox steps of f + g.

With c = ⟨∇f(x), z⟩ and h at least the curvature of f along z, a step of γ takes f + g from

    f(x) + g(w)   to at most   f(x) − cγ + hγ²/2 + g(w − γ).

The γ that makes this smallest is the prox step, w − γ = prox_{g/h}(w − c/h). What it minimises is
strongly convex with modulus h, so that f + g falls by hγ²/2 or more.
"""

from __future__ import annotations

from math import copysign, inf, isfinite
from typing import TYPE_CHECKING, cast

import numpy as np

from pursuit.atoms.base import Atom
from pursuit.base.tolerances import tolerances
from pursuit.points.base import Point
from pursuit.rules.directions import Choose, Direction
from pursuit.rules.pieces import Pieces, TiltedPoint
from pursuit.rules.run import Choice, Run
from pursuit.rules.steps import Curvature, Measure, Step, flat

if TYPE_CHECKING:
    from pursuit.objectives.problem import Problem


def slopes_of_all(direction: Direction, choose: Choose, problem: Problem) -> Choose:
    """Picks with the slope of f + g in place of that of f."""
    if direction.penalised:
        return choose
    pieces = Pieces(problem)

    def chosen(x: Point) -> Choice:
        z, c, slope = choose(x)
        if not direction.blind:  # what it gives may be anything that it has seen
            c = x.correlation(z)
        return Choice(z, pieces.slope(z, c, float(x.coef[z])), slope)

    return chosen


def prox_steps(step: Step, run: Run) -> Measure:
    """(x, z, the slope of f + g along z) ↦ (γ, a proved lower bound on the decrease of f + g)."""
    pieces, curvature = Pieces(run.problem), step.curvatures(run)
    if curvature is None:
        return _on_one_piece(pieces, step.start(run))
    return _whole(pieces, curvature)


def _whole(pieces: Pieces, curvature: Curvature) -> Measure:
    """The prox step for a curvature bound, across zero where it leads there.

    Moved by τ downhill, f + g falls at a rate of at least |slope| − hτ up to zero and of 2λ less
    beyond it.
    """

    def measure(x: Point, z: Atom, slope: float) -> tuple[float, float]:
        if abs(slope) <= pieces.weight(z) * tolerances(x.coef.dtype).equal:
            return 0.0, 0.0
        w, h, s = float(x.coef[z]), curvature(x, z, slope), abs(slope)
        room, end = pieces.room(z, w, slope), pieces.end(z, w, slope)
        tau = s / h if h > 0 else inf
        beyond = s - 2 * pieces.weight(z) if room < end else 0.0
        if tau > room:
            tau = max(room, min(beyond / h if h > 0 else inf, end)) if beyond > 0 else room
        if tau == inf:
            return flat(x, z, slope)
        further = max(tau - room, 0.0)
        gain = s * (tau - further) + beyond * further - h * tau * tau / 2
        return _landed(x, z, w, tau, slope, pieces), gain

    return measure


def _on_one_piece(pieces: Pieces, measure: Measure) -> Measure:
    """A rule that finds γ in its own way, for f and the straight piece of g: at most to its end.

    f + g is convex, so a share of the way gains at least that share of the promised decrease. A
    step that would lead across zero ends there, and the next one along the atom goes on.
    """

    def shortened(x: Point, z: Atom, slope: float) -> tuple[float, float]:
        w = float(x.coef[z])
        room = pieces.room(z, w, slope)
        if room == 0 or abs(slope) <= pieces.weight(z) * tolerances(x.coef.dtype).equal:
            return 0.0, 0.0
        seen = cast(Point, TiltedPoint(x, pieces.tilt(z, w, slope), room))
        gamma, decrease = measure(seen, z, slope)
        if gamma == 0:
            return 0.0, 0.0
        if abs(gamma) > room:
            decrease *= room / abs(gamma)
        return _landed(x, z, w, min(abs(gamma), room), slope, pieces), decrease

    return shortened


def _landed(x: Point, z: Atom, w: float, tau: float, slope: float, pieces: Pieces) -> float:
    """γ = ±τ, but such that the coefficient w − γ, as it is rounded, is not beyond its bound.

    At the bound itself γ is chosen to bring it there: a coefficient an ulp away would count as one
    that may still move. Zero is met exactly, for it is the coefficient that is taken off.
    """
    gamma, bound = copysign(tau, slope), pieces.bound(z, slope)
    if bound == 0 or not isfinite(bound):
        return gamma
    kind = x.coef.dtype.type
    side = copysign(1.0, slope)
    if tau >= pieces.end(z, w, slope):
        gamma = w - bound
    step = kind(gamma)
    while side * (float(kind(w) - step) - bound) < 0:
        step = np.nextafter(step, kind(0))
    return float(step)
