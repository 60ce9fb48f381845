"""What is left to gain at coefficients w: a proved bound on f + g less its minimum.

The smaller one of two. The duality gap, for linear models (`pursuit.geometry.duality`). And, for
any convex f with ∇²f ≽ μ, what its lower bound at x leaves: with c_j = ⟨z_j, ∇f(x)⟩

    f + g ≥ f(x) + Σ_j min over v of c_j(v − w_j) + μ/2 (v − w_j)² + g_j(v),

where μ counts over `Coordinates` alone. Without a μ it is finite where coefficients have bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.atoms.forms import AtomForm
from pursuit.base.lengths import EPS, TINIEST, length
from pursuit.base.validation import Array
from pursuit.geometry.duality import Duality
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem
from pursuit.penalties import Penalty

ULPS = 64
"""Units in the last place that a term may owe to rounding."""


@dataclass(frozen=True)
class LeftToGain:
    """Bounds for f + g over a finite set.

    Attributes
    ----------
    duality
        The dual problem; None where f is no linear model with a known conjugate.
    f, atoms, penalty
        In float64.
    """

    duality: Duality | None
    f: Objective
    atoms: FiniteAtoms
    penalty: Penalty

    @staticmethod
    def of(problem: Problem) -> LeftToGain | None:
        """None where nothing would be known at any coefficients."""
        atoms = problem.atoms.finite
        wide = None if atoms is None else atoms.astype(np.dtype(np.float64)).finite
        if atoms is None or wide is None:
            return None
        left = LeftToGain(Duality.of(problem), problem.f.double(), wide, atoms.penalty)
        return left if left._known else None

    @property
    def on_axes(self) -> bool:
        """Whether coefficients are the entries of x."""
        return self.atoms.form is AtomForm.AXES

    @property
    def mu(self) -> float:
        """The strong convexity in each coefficient."""
        return self.f.mu if self.on_axes else 0.0

    @property
    def _known(self) -> bool:
        weights, lower, upper = self.penalty.parts(len(self.atoms))
        bounded = bool((np.isfinite(lower) & np.isfinite(upper)).all())
        charged = bool(((weights > 0) | np.isfinite(lower) | np.isfinite(upper)).any())
        ridge = self.duality is not None and self.on_axes and self.duality.model.l2 > 0
        return bounded or self.mu > 0 or ridge or (charged and self.duality is not None)

    def __call__(self, w: Array) -> float:
        """At least f + g at these coefficients less its minimum; infinite where not known."""
        w = w.astype(np.float64)
        bounds = [self._supported(w)]
        if self.duality is not None:
            bounds.append(self.duality.gap(w).value)
        return min(bounds)

    @np.errstate(over="ignore", invalid="ignore")
    def _supported(self, w: Array) -> float:
        """By the lower bound that f has at x."""
        x, mu = self.atoms.combine(w), self.mu
        gradient = self.f.gradient(x)
        c = self.atoms.correlate(gradient).reshape(-1)
        terms = x.size + 8
        about = self.atoms.norms * (
            self.f.gradient_rounding(x) + terms * EPS * length(gradient)
        ) + ULPS * EPS * mu * np.abs(w)
        if gradient.any():  # products may vanish
            about += terms * TINIEST
        sides = (mu * w - c + about, mu * w - c - about)
        above, below = (self.penalty.conjugate(v, mu) for v in sides)
        charge = np.maximum(above, below)
        here = self._charges(w) + c * w - mu * w * w / 2
        rounding = ULPS * EPS * (np.abs(c * w) + mu * w * w + charge) + about * np.abs(w)
        total = float(np.sum(here + charge + rounding))
        return float(np.nextafter(max(total, 0.0), inf)) if total < inf else inf

    def _charges(self, w: Array) -> Array:
        """g_j(w_j) for each coefficient."""
        weights, lower, upper = self.penalty.parts(len(w))
        return np.where((w < lower) | (w > upper), inf, weights * np.abs(w))


def coefficients(problem: Problem, x: Array, support: Array, weights: Array) -> Array:
    """w of a point of a run: with a penalty those that were kept, else x over `Coordinates`."""
    if problem.atoms.penalty.free and problem.atoms.form is AtomForm.AXES:
        return x.reshape(-1)
    finite = problem.atoms.finite
    w = np.zeros(0 if finite is None else len(finite))
    w[support] = weights
    return w
