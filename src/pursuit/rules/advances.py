"""How x improves from a point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from pursuit.base.validation import Array
from pursuit.objectives.problem import Problem
from pursuit.penalties import Penalty
from pursuit.points import Needs, choose
from pursuit.points.base import Point
from pursuit.rules.directions import Direction, Steepest, as_direction
from pursuit.rules.prox_steps import prox_steps, slopes_of_all
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import Smooth, Step, as_step

GAP_PERIOD = 100
"""Steps along atoms that were looked for, between two looks at a duality gap."""

Improve = Callable[[Point], Progress]


class Advance(ABC):
    """A rule that moves a point to a better one.

    What is asked of it beside that has an answer here already, which is true of any rule.
    """

    gradient_free: ClassVar[bool] = False
    """Whether it looks at values of f alone."""
    keeps_path: ClassVar[bool] = False
    """Whether the last point with each number of atoms is worth keeping."""
    direction: Direction | None = None
    step: Step | None = None
    """The rules of an advance along one atom."""

    def against(self, penalty: Penalty) -> str:
        """Why it cannot run with a penalty on coefficients; empty where it can."""
        what = "cones" if penalty.one_sided else "penalties"
        return f"has an advance, {type(self).__name__}, that knows nothing of {what}"

    def gap_period(self, atoms: int) -> int:
        """Iterations between two looks at a duality gap, which costs a few products."""
        return 1

    def quality(self, problem: Problem) -> float | None:
        """The δ of equation (3) with which it picks atoms; None where there is none."""
        found = None if self.direction is None else self.direction.quality
        return None if found is None else found * problem.atoms.quality

    @property
    def as_algorithm_2(self) -> bool:
        """Whether f falls by ‖∇f(x)‖²_{A*}/(2L_A) or more."""
        return False

    @property
    def needs(self) -> Needs:
        """What it asks of the points that it moves."""
        return Needs.SLOPES

    @abstractmethod
    def start(self, run: Run) -> Improve:
        """What moves points in a run."""

    def point(
        self, problem: Problem, x0: Array, gram_bytes: int | None = None, alone: bool = True
    ) -> Point:
        """Where a run begins; a Gram matrix may take so many bytes; see `choose`."""
        return choose(problem.f, problem.atoms, x0, self.needs, gram_bytes, alone)


@dataclass(frozen=True)
class Greedy(Advance):
    """One atom, one step: lines 3 and 4 of Algorithms 1 and 2, lines 7 and 8 of 3 and 4 (from y).

    h(z), by which line 4 divides, is L‖z‖² in Algorithm 1 (`Smooth`) and L_A in Algorithm 2
    (`AffineInvariant`).
    """

    direction: Direction = field(default_factory=Steepest)
    step: Step = field(default_factory=Smooth)

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", as_direction(self.direction))
        object.__setattr__(self, "step", as_step(self.step))

    def against(self, penalty: Penalty) -> str:
        return ""

    def gap_period(self, atoms: int) -> int:
        return atoms if self.direction.blind else min(atoms, GAP_PERIOD)

    @property
    def as_algorithm_2(self) -> bool:
        return self.direction.quality == 1 and self.step.as_algorithm_2

    @property
    def needs(self) -> Needs:
        return Needs.VECTOR if self.direction.ambient else Needs.SLOPES

    def start(self, run: Run) -> Improve:
        choose = self.direction.start(run, "picks")
        if run.problem.atoms.penalty.free:
            measure = self.step.start(run)
        else:
            choose = slopes_of_all(self.direction, choose, run.problem)
            measure = prox_steps(self.step, run)

        def improve(x: Point) -> Progress:
            z, c, slope = choose(x)  # line 3: z_t = LMO_A(∇f(x_t)), or z_t ~ p; c = ⟨∇f(x_t), z_t⟩
            gamma, decrease = measure(x, z, c)  # line 4: γ = c / h(z_t)
            x.move(gamma, z)  # line 4: x_{t+1} = x_t − γ z_t
            return Progress(z, gamma, c, slope, decrease)

        return improve
