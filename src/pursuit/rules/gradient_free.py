"""Pursuit without gradients: a random atom, and a line search on values of f."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import ClassVar

from pursuit.atoms.sampling import as_sampling
from pursuit.penalties import Penalty
from pursuit.points import Needs
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import ValueSearch


@dataclass(frozen=True)
class Blind(Advance):
    """z ~ p, and x ← the minimiser of f along z, by `ValueSearch`; no gradient is computed.

    Parameters
    ----------
    sampling
        A `Sampling`, or the probabilities of a finite set; uniform where not given.
    """

    sampling: object | None = None
    gradient_free: ClassVar[bool] = True
    needs = Needs.VALUES

    def against(self, penalty: Penalty) -> str:
        return "does not see which way an atom leads down"

    def start(self, run: Run) -> Improve:
        draw = run.stream("picks", as_sampling(run.problem.atoms, self.sampling))
        measure = ValueSearch().start(run)

        def improve(x: Point) -> Progress:
            z = draw()  # z_t ~ p
            gamma, decrease = measure(x, z, nan)
            if gamma:
                x.move(gamma, z)  # x_{t+1} = argmin f(x_t − γ z_t)
            return Progress(z, gamma, nan, nan, decrease)

        return improve
