"""The acceleration without parameters that suits a problem."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.acceleration.adaptive import Adaptive
from pursuit.acceleration.basis import QuadraticStepper
from pursuit.acceleration.linear import LinearStepper
from pursuit.atoms.sampling import Sampling, as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import count
from pursuit.geometry.guarantee import Guarantee
from pursuit.geometry.preconditioner import curved_sampling, preconditioner
from pursuit.objectives.problem import Problem
from pursuit.points import Needs, choose
from pursuit.points.ambient import as_ambient
from pursuit.points.base import Point
from pursuit.rules.advances import Advance
from pursuit.rules.momentum import Momentum, Stepper
from pursuit.rules.run import Run

ALL, FEW = 300, 6
"""Earlier steps that are kept: on quadratics, where each of them helps, and on linear models."""


@dataclass(frozen=True)
class Conjugate(Momentum):
    """Momentum that looks at x itself, for quadratics and linear models over finite sets.

    Any other problem gets `Adaptive`, which looks at a blend.

    Parameters
    ----------
    memory
        The most earlier steps to keep; 300 on quadratics and 6 on linear models where not given.
    sampling
        A `Sampling`, or probabilities; `pursuit.geometry.preconditioner` where not given.
    """

    memory: int | None = None
    sampling: object | None = None

    def start(self, run: Run, advance: Advance, x: Point) -> Stepper:
        f, atoms = run.problem.f, run.problem.atoms.finite
        most = None if self.memory is None else count("memory", self.memory, minimum=1)
        if atoms is None or not self.suits(run.problem):
            if most is not None:
                raise InputError(
                    f"memory: {type(f).__name__} over {type(run.problem.atoms).__name__} keeps no "
                    "earlier step; expected None, or a quadratic or linear model over a finite set"
                )
            return Adaptive(None, self.sampling).start(run, advance, x)
        # A Gram matrix would cost a product for each atom.
        point = as_ambient(x) or as_ambient(choose(f, atoms, x.vector, Needs.VECTOR))
        assert point is not None
        sampling, h = curved_sampling(f, atoms)
        p = sampling.p if self.sampling is None else as_sampling(atoms, self.sampling).p
        if f.quadratic is None:
            return LinearStepper(run, point, p, h, most or FEW)
        return QuadraticStepper(run, point, p, h, most or ALL)

    def guarantee(self, advance: Advance, problem: Problem) -> Guarantee:
        if not self.suits(problem):
            return Adaptive(None, self.sampling).guarantee(advance, problem)
        return Guarantee(self.sampled(problem), {}, surely=True)

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether f on a plane can be seen without products."""
        seen = problem.f.quadratic or problem.f.linear_model
        return seen is not None and problem.atoms.finite is not None

    def sampled(self, problem: Problem) -> Sampling:
        """The sampling in use."""
        if self.sampling is None and problem.atoms.finite is not None:
            return preconditioner(problem.f, problem.atoms.finite)
        return as_sampling(problem.atoms, self.sampling)
