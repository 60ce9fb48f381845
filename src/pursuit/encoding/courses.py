"""How methods fare on some signals, all at once, by what `encode` runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.progress import Silent
from pursuit.base.validation import Array
from pursuit.encoding.accelerated import losses
from pursuit.encoding.runs import BLOCK, MethodArrays, rules_of, run_batch
from pursuit.methods import Method, accelerated
from pursuit.objectives.problem import Problem
from pursuit.objectives.quadratic import SquaredDistance

RESOLUTION = 1e-12
"""Losses below this share of the first one are rounding, and equal."""


@dataclass(frozen=True, eq=False)
class Course:
    """How a method fared.

    Attributes
    ----------
    values
        Σ over signals of f(x_t) − f*, at every iteration number; what rounding takes below 0 is 0.
    products
        Products with the atoms up to there, for one signal.
    nu
        The ν or ν′ in use; nan for a method without.
    """

    values: Array
    products: Array
    nu: float


def _end(course: Course) -> tuple[float, int]:
    """Where a run ended, rounding being equal, and for how many records it was above it."""
    smallest = RESOLUTION * course.values[0]
    return max(float(course.values[-1]), smallest), int(np.sum(course.values > smallest))


@dataclass(frozen=True, eq=False)
class Field:
    """f(x) = ½‖x − b‖² for every row b of `signals`, over the atoms as they are."""

    atoms: Dictionary
    signals: Array

    @cached_property
    def problem(self) -> Problem:
        """One f for all: the methods use its Hessian only."""
        return Problem(SquaredDistance(np.zeros(self.atoms.shape)), self.atoms)

    @cached_property
    def gram(self) -> Array:
        gram: Array = self.atoms.matrix @ self.atoms.matrix.T
        return gram

    @cached_property
    def correlations(self) -> Array:
        """Z∇f(0) of every signal."""
        correlations: Array = -self.signals @ self.atoms.matrix.T
        return correlations

    @cached_property
    def optimum(self) -> Array:
        """The shortest coefficients of the projection of every signal onto lin(A)."""
        best: Array = np.linalg.lstsq(self.atoms.matrix.T, self.signals.T, rcond=None)[0]
        return best.T

    @cached_property
    def floor(self) -> float:
        """Σ over signals of f*."""
        rest = self.signals - self.optimum @ self.atoms.matrix
        return 0.5 * float(np.vdot(rest, rest))

    def best(
        self, methods: list[Method], grid: Array, seed: int, bar: Silent | None = None
    ) -> Course | None:
        """The run that ends lowest, and of those that end in rounding the first one there."""
        courses = [self.course(method, grid, seed, bar) for method in methods]
        known = [course for course in courses if course is not None]
        return min(known, key=_end, default=None)

    def course(
        self, method: Method, grid: Array, seed: int, bar: Silent | None = None
    ) -> Course | None:
        """Run a method; None where it has no form for many signals at once."""
        rules = rules_of(method, self.problem)
        if rules is not None:
            blending = method.momentum.blending(method.advance, self.problem)
            nu = np.nan if blending is None or blending.stiffness is None else blending.nu
            return self._compiled(rules, nu, grid, seed, bar)
        return self._conjugate(grid, bar) if method == accelerated() else None

    def _compiled(
        self, rules: MethodArrays, nu: float, grid: Array, seed: int, bar: Silent | None
    ) -> Course:
        runs = run_batch(
            rules, self.gram, self.correlations, grid, optimum=self.optimum, seed=seed, bar=bar
        )
        return Course(np.maximum(runs.values, 0), rules.products * grid, nu)

    def _conjugate(self, grid: Array, bar: Silent | None) -> Course:
        best = self.optimum @ self.atoms.matrix
        values, steps = losses(self.atoms.matrix, self.signals, best, int(grid[-1]))
        if bar is not None:
            bar.update(-(-len(self.signals) // BLOCK))
        # A run that ended stays where it ended. Each step looks at all atoms and combines them.
        spent = np.minimum(steps[:, None], grid).mean(axis=0)
        return Course(values[np.minimum(grid, len(values) - 1)], 2 * spent, np.nan)
