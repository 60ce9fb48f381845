"""How x improves from a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from pursuit.atoms.cone import Cone
from pursuit.base.validation import Array
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point
from pursuit.rules.cone_steps import within_cone
from pursuit.rules.directions import Direction, Steepest
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import Smooth, Step

Improve = Callable[[Point], Progress]


class Advance(Protocol):
    """A rule that moves a point to a better one."""

    keeps_path: ClassVar[bool] = False
    """Whether the last point with each number of atoms is worth keeping."""

    def start(self, run: Run) -> Improve: ...

    def point(self, problem: Problem, x0: Array) -> Point:
        """Where a run begins, in the representation that suits the rule."""
        return problem.f.point(problem.atoms, x0)


@dataclass(frozen=True)
class Greedy(Advance):
    """One atom, one step: the body of Algorithms 1 and 2 and of random pursuit."""

    direction: Direction = field(default_factory=Steepest)
    step: Step = field(default_factory=Smooth)

    def point(self, problem: Problem, x0: Array) -> Point:
        ambient = getattr(self.direction, "ambient", False)
        choose = problem.f.ambient_point if ambient else problem.f.point
        return choose(problem.atoms, x0)

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
