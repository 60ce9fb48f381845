"""How v explores: what it moves by, and the energy S_t = E‖move‖²_P that this costs.

v ← v − (α/m) Σ c_j z_j over m draws j ~ p with replacement, c_j = ⟨∇f(y), z_j⟩. The mean of the
move is α P̃∇f(y), and the mean of its squared length in the P-norm is α²S_t with

    S_t = (1/m) Σ p_j w_j c_j² + (1 − 1/m) Σ p_j c_j²,    w_j = ‖z_j‖²_P.

m → ∞ moves v by the mean itself, u = Σ p_j c_j z_j: nothing is random then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.atoms.closed_forms import closed_form
from pursuit.atoms.sampling import Sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.objectives.matrices import MatrixObjective
from pursuit.points.base import Point, Shift
from pursuit.rules.run import Run


class Glimpse(ABC):
    """What was seen at y before x moved away from it."""

    energy: float
    """S_t."""

    @abstractmethod
    def explore(self, v: Point, alpha: float) -> None:
        """Move v."""

    @abstractmethod
    def rises(self, start: Point, end: Point) -> bool:
        """Whether ⟨∇f(y), end − start⟩ > 0."""


class Exploration(ABC):
    """A way to explore, started for a run."""

    @abstractmethod
    def look(self, y: Point) -> Glimpse:
        """Look at y."""


# All atoms ----------------------------------------------------------------------------------


class Everything(Exploration):
    """m → ∞ over a finite set: v ← v − α Σ p_j c_j z_j. The coefficients become dense."""

    def __init__(self, sampling: Sampling) -> None:
        self._p = sampling.p

    def look(self, y: Point) -> Overview:
        return Overview(y, self._p)


class _Finite(Glimpse):
    correlations: Array

    def rises(self, start: Point, end: Point) -> bool:
        return float(self.correlations @ (end.coef - start.coef)) > 0


class Overview(_Finite):
    """All atoms as seen from y; `mean` is the direction u = Σ p_j c_j z_j."""

    def __init__(self, y: Point, p: Array) -> None:
        # y will move on, and its correlations with it.
        self.correlations = y.correlations().astype(np.float64)
        weights = p * self.correlations
        self.energy = float(weights @ self.correlations)
        self.mean: Shift = y.gather(weights.astype(y.coef.dtype, copy=False))

    def explore(self, v: Point, alpha: float) -> None:
        v.shift(alpha, self.mean)

    def along(self, direction: Shift) -> float:
        """⟨∇f(y), d⟩."""
        return float(self.correlations @ direction["coef"])


# A few draws of a finite set ----------------------------------------------------------------


class Draws(Exploration):
    """m draws from a finite set. m = 1 is the paper's Algorithm 4."""

    def __init__(self, run: Run, sampling: Sampling, m: int) -> None:
        self._draw = run.stream("probes", sampling)
        self._m = m
        self._weights = sampling.p * (sampling.moments.leverage / m + (1 - 1 / m))

    def look(self, y: Point) -> Glimpse:
        return _Drawn(self, y)

    def atoms(self) -> list[Any]:
        """The next m atoms."""
        return [self._draw() for _ in range(self._m)]

    def energy(self, correlations: Array) -> float:
        return float(self._weights @ correlations**2)


class _Drawn(_Finite):
    def __init__(self, rule: Draws, y: Point) -> None:
        self._rule = rule
        self.correlations = y.correlations().astype(np.float64)
        self.energy = rule.energy(self.correlations)

    def explore(self, v: Point, alpha: float) -> None:
        atoms = self._rule.atoms()
        for z in atoms:
            v.move(alpha / len(atoms) * float(self.correlations[z]), z)


# A few draws of an infinite set -------------------------------------------------------------


class IsotropicDraws(Exploration):
    """m draws from an infinite set whose P̃ is diagonal and constant over every atom.

    Then Σ p_j w_j c_j² = ‖∇f‖² over lin(A) and Σ p_j c_j² = ∇fᵀP̃∇f.
    """

    def __init__(self, run: Run, sampling: Sampling, m: int) -> None:
        form = closed_form(run.problem.atoms, sampling)
        if form is None:
            raise InputError(
                f"atoms: the second moments of {type(run.problem.atoms).__name__} are not known, "
                "and without them v cannot be weighed; expected a finite set, or one of "
                "Coordinates, Groups, RankOne, Sphere"
            )
        self._draw = run.stream("probes", sampling)
        self._m = m
        inside = form.diagonal > 0
        self._weights = np.where(inside, 1 / m + (1 - 1 / m) * form.diagonal, 0.0)

    def look(self, y: Point) -> Glimpse:
        return _Isotropic(self, y)

    def atoms(self) -> list[Any]:
        """The next m atoms."""
        return [self._draw() for _ in range(self._m)]

    def energy(self, y: Point) -> float:
        if isinstance(y.f, MatrixObjective):
            # The gradient is a residual of which f is half the square; P̃ is a multiple of I.
            return float(self._weights[0]) * 2 * y.value()
        gradient = y.gradient().reshape(-1).astype(np.float64)  # type: ignore[attr-defined]
        return float(self._weights @ gradient**2)


class _Isotropic(Glimpse):
    def __init__(self, rule: IsotropicDraws, y: Point) -> None:
        self._rule, self._set, self._f = rule, y.atoms, y.f
        self._gradient = y.gradient()  # type: ignore[attr-defined]
        self.energy = rule.energy(y)

    def explore(self, v: Point, alpha: float) -> None:
        atoms = self._rule.atoms()
        for z in atoms:
            v.move(alpha / len(atoms) * self._set.inner(self._gradient, z), z)

    def rises(self, start: Point, end: Point) -> bool:
        if not isinstance(self._f, MatrixObjective):
            return float(np.vdot(self._gradient, end.vector - start.vector)) > 0
        return end.value() > start.value()


def exploring(run: Run, sampling: Sampling, m: int | None) -> Exploration:
    """The exploration of m draws, or of all atoms where m is None."""
    if not isinstance(run.problem.atoms, FiniteAtoms):
        return IsotropicDraws(run, sampling, 1 if m is None else m)
    return Everything(sampling) if m is None else Draws(run, sampling, m)
