"""The duality gap of a linear model with a penalty on coefficients.

For P(w) = Σ φᵢ(uᵢ) + l2/2 ‖x‖² + g(w) with x = Σ w_j z_j and u = Xx, and for every θ,

    P ≥ D(θ) = −Σ φᵢ*(θᵢ) − Σ_j g_j*(−⟨z_j, Xᵀθ⟩)

everywhere; over `Coordinates` g_j takes in l2/2 w_j², and over other atoms the l2 is samples more.
With a θ from φ′(u), made feasible (`pursuit.geometry.dual_points`), P(w) − D(θ) goes to zero as w
goes to a minimiser. What rounding may have done is added to P and taken off D, so that the gap is
never below P(w) − min P.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.base.lengths import EPS, length
from pursuit.base.validation import Array
from pursuit.geometry.dual_points import DualPoint, DualSpace
from pursuit.objectives.base import Objective
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.maps import magnitudes
from pursuit.objectives.problem import Problem
from pursuit.objectives.regression import Squares
from pursuit.penalties import Penalty

ULPS = 64
"""Units in the last place that a loss, or its conjugate, may owe to rounding."""


class Gap(NamedTuple):
    """P at some coefficients and D at a dual point, each on the safe side of its rounding."""

    primal: float
    dual: float

    @property
    def value(self) -> float:
        """At least P(w) − min P."""
        return float(np.nextafter(max(self.primal - self.dual, 0.0), inf))


@dataclass(frozen=True)
class Duality:
    """f + g over a finite set, and its dual problem.

    Attributes
    ----------
    model
        f, in float64.
    atoms, penalty
        The set in float64, and g for it.
    """

    model: LinearModel
    atoms: FiniteAtoms
    penalty: Penalty

    @staticmethod
    def of(problem: Problem) -> Duality | None:
        """None where f is no linear model with a known conjugate, or the set is not finite."""
        model, atoms = _model(problem.f), problem.atoms.finite
        if model is None or atoms is None:
            return None
        wide = atoms.astype(np.dtype(np.float64)).finite
        return None if wide is None else Duality(model, wide, atoms.penalty)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def gap(self, w: Array) -> Gap:
        """The gap at coefficients w; infinite where no dual point is known."""
        w = w.astype(np.float64)
        x = self.atoms.combine(w).reshape(-1)
        u = self.model.image(x)
        primal, dual = self._primal(w, x, u), -inf
        for point in self._space.feasible(x, u):
            worth = self._worth(point, u)
            if isfinite(worth):
                dual = worth
                break
        return Gap(primal if isfinite(primal) else inf, dual)

    @cached_property
    def _space(self) -> DualSpace:
        return DualSpace(self.model, self.atoms, self.penalty)

    def _primal(self, w: Array, x: Array, u: Array) -> float:
        """At least P(w)."""
        f, charge = self.model, self.penalty.value(w)
        losses, shrunk = f.losses(u), f.shrunk(x)
        ridge = 0.5 * f.l2 * float(shrunk @ shrunk)
        terms = float(np.abs(losses).sum()) + ridge + charge
        # u is a sum of products, and the losses change with it as their slopes say.
        off = self._space.operations * EPS * self._spread(w)
        moved = float(np.abs(f.slopes(u)) @ off + f.sensitivity(u) @ (off * off))
        moved += f.l2 * self._off(w) * (length(shrunk) + 0.5 * self._off(w))
        return float(losses.sum()) + ridge + charge + ULPS * EPS * terms + moved

    def _off(self, w: Array) -> float:
        """At least the norm of what rounding did to x, whose terms may cancel; none on axes."""
        if self._space.on_axes:
            return 0.0
        return self._space.operations * EPS * float(self.atoms.norms @ np.abs(w))

    def _spread(self, w: Array) -> Array:
        """At least Σ_j |X||z_j||w_j|: the terms of u."""
        if self._space.on_axes:
            return magnitudes(self.model.X, w)
        most = np.full(self.model.shape, float(self.atoms.norms @ np.abs(w)))
        return magnitudes(self.model.X, most)

    def _worth(self, point: DualPoint, u: Array) -> float:
        """At most D(θ)."""
        theta, rest = point.theta[: len(u)], point.theta[len(u) :]
        conjugates = self.model.conjugates(theta)
        ridge = 0.5 * float(rest @ rest)
        # Convex as it is, a charge is largest at an end of where a slope may be.
        sides = (-point.c + point.about, -point.c - point.about)
        above, below = (self.penalty.conjugate(v, self._space.ridge) for v in sides)
        charge = float(np.maximum(above, below).sum())
        terms = float(np.abs(conjugates).sum() + np.abs(theta) @ np.abs(u)) + ridge + charge
        return -float(conjugates.sum()) - ridge - charge - ULPS * EPS * terms


def _model(f: Objective) -> LinearModel | None:
    """f as a linear model in float64 whose conjugate is known; one with the Hessian I is one."""
    wide = f.double()
    if f.identity:
        from scipy.sparse import eye_array

        target = -wide.gradient(np.zeros(f.shape)).reshape(-1)
        return Squares(eye_array(len(target), format="csc"), target)
    model = wide.linear_model
    known = model is not None and type(model).conjugates is not LinearModel.conjugates
    return model if known else None
