"""How far: a step rule is an upper bound h(z) on the curvature of f along z, γ = ⟨∇f, z⟩ / h(z).

Then f(x − γz) ≤ f(x) − ⟨∇f, z⟩² / (2 h(z)), the decrease that every rule here can promise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.errors import InputError
from pursuit.objectives.base import QuadraticObjective
from pursuit.points import Point
from pursuit.problem import Problem
from pursuit.run import Run
from pursuit.validation import Array, positive

Measure = Callable[[Point, Atom, float], tuple[float, float]]
"""(x, z, ⟨∇f(x), z⟩) ↦ (γ, a proved lower bound on f(x) − f(x − γz))."""


class Step(Protocol):
    """A rule that says how far to go along an atom."""

    def start(self, run: Run) -> Measure: ...


@dataclass(frozen=True)
class Smooth:
    """h(z) = L‖z‖², the step of Algorithms 1, 3 and 4. L is the objective's unless given."""

    L: float | None = None

    def start(self, run: Run) -> Measure:
        L = smoothness(run.problem, self.L)
        atoms = run.problem.atoms
        if isinstance(atoms, FiniteAtoms):
            return from_bounds(L * atoms.norms.astype(np.float64) ** 2)

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            h = L * atoms.norm2(z)
            return c / h, c * c / (2 * h)

        return measure


@dataclass(frozen=True)
class AffineInvariant:
    """h(z) = L_A, the step of Algorithm 2. L_A is computed unless given."""

    L_A: float | None = None

    def start(self, run: Run) -> Measure:
        if self.L_A is not None:
            h = positive("L_A", self.L_A)
        else:
            from pursuit import geometry

            h = geometry.smoothness(run.problem.f, run.problem.atoms).upper

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            return c / h, c * c / (2 * h)

        return measure


@dataclass(frozen=True)
class ExactLineSearch:
    """The minimiser of f along z; for a quadratic h(z) = zᵀHz."""

    def start(self, run: Run) -> Measure:
        if not isinstance(run.problem.f, QuadraticObjective):
            raise InputError(
                "step: ExactLineSearch needs a quadratic objective, "
                f"got {type(run.problem.f).__name__}"
            )

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            h = x.curvature(z)
            # A flat direction of a convex quadratic that is bounded below has no slope.
            return (c / h, c * c / (2 * h)) if h > 0 else (0.0, 0.0)

        return measure


def from_bounds(h: Array) -> Measure:
    """The step rule of a finite set with one curvature bound an atom."""
    bounds = h.tolist()

    def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
        return c / bounds[z], c * c / (2 * bounds[z])

    return measure


def smoothness(problem: Problem, given: float | None) -> float:
    """L as given, else the objective's; an objective that does not know it is an input error."""
    if given is not None:
        return positive("L", given)
    if problem.f.L is None:
        raise InputError(
            f"L: {type(problem.f).__name__} does not know its smoothness constant; "
            "expected L to be given, or a step rule that does not need it"
        )
    return problem.f.L
