"""How x improves from a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pursuit.atoms.cone import Cone
from pursuit.base.validation import Array
from pursuit.objectives.problem import Problem
from pursuit.points import Needs, choose
from pursuit.points.base import Point
from pursuit.rules.cone_steps import within_cone
from pursuit.rules.directions import Direction, Steepest
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import Smooth, Step

Improve = Callable[[Point], Progress]


class Advance(Protocol):
    """A rule that moves a point to a better one."""

    @property
    def needs(self) -> Needs:
        """What it asks of the points that it moves."""
        return Needs.SLOPES

    def start(self, run: Run) -> Improve: ...

    def point(self, problem: Problem, x0: Array, gram_bytes: int | None = None) -> Point:
        """Where a run begins; a Gram matrix may take so many bytes."""
        return choose(problem.f, problem.atoms, x0, self.needs, gram_bytes)


@dataclass(frozen=True)
class Greedy(Advance):
    """One atom, one step: the body of Algorithms 1 and 2 and of random pursuit."""

    direction: Direction = field(default_factory=Steepest)
    step: Step = field(default_factory=Smooth)

    @property
    def needs(self) -> Needs:
        return Needs.VECTOR if getattr(self.direction, "ambient", False) else Needs.SLOPES

    def start(self, run: Run) -> Improve:
        choose = self.direction.start(run, "picks")
        measure = self.step.start(run)
        if isinstance(run.problem.atoms, Cone):
            measure = within_cone(measure)

        def improve(x: Point) -> Progress:
            z, c, slope = choose(x)  # z_t = LMO_A(∇f(x_t)), or z_t ~ p
            gamma, decrease = measure(x, z, c)
            x.move(gamma, z)  # x_{t+1} = x_t − γ z_t
            return Progress(z, gamma, c, slope, decrease)

        return improve
