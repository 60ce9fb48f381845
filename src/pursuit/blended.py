"""Blended pursuit: cheap steps over the atoms in use, and a new atom when they run dry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.advances import Advance, Improve
from pursuit.atoms.base import FiniteAtoms
from pursuit.descent import conjugate, descend
from pursuit.errors import InputError
from pursuit.points import Point
from pursuit.problem import Problem
from pursuit.run import Progress, Run
from pursuit.span import ambient, largest_slope, over, rounding
from pursuit.validation import Array, positive

POOL = 32
"""Candidates that a look at all atoms leaves for the steps after it."""
FRESH = 0.7
"""A candidate is taken while its slope is at least this share of the largest at that look."""
SPARED = 0.1
"""An atom leaves if f then rises by at most this share of what the same step made it fall."""


@dataclass(frozen=True)
class Blended(Advance):
    """Blended matching pursuit (Combettes & Pokutta 2019).

    The oracle's atom joins the atoms in use, then conjugate gradient steps over all of them
    follow, while their slope promises at least 1/κ of the oracle's. An atom whose coefficient
    vanishes, so that f hardly rises without it, is dropped. κ → ∞ is orthogonal pursuit.

    Parameters
    ----------
    kappa
        κ > 1: how much better than the atoms in use a new one has to be.
    """

    kappa: float = 4.0
    keeps_path = True

    def start(self, run: Run) -> Improve:
        if not positive("kappa", self.kappa) > 1:
            raise InputError(f"kappa: expected a number above 1, got {self.kappa!r}")
        return _Blended(run, self.kappa)

    def point(self, problem: Problem, x0: Array) -> Point:
        return ambient(problem, x0)


class _Blended:
    """The atoms in use follow from their order, which is kept in `run.memory`."""

    def __init__(self, run: Run, kappa: float) -> None:
        self.memory, self.kappa = run.memory, kappa
        self.span = over(run.problem)
        self.finite = isinstance(run.problem.atoms, FiniteAtoms)
        self.memory["active"] = np.empty(0, np.int64)
        self.memory["pool"] = np.empty(0, np.int64)
        self.memory["looked"] = 0.0

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = self._oracle(x)
        newest = self._enter(x, x.ledger.place(z))
        gamma, decrease = self._relax(x, newest)
        self.memory["active"] = np.array(self.span.places, np.int64)
        if self.finite and self._candidate(x) is None:
            self._look(x)
        return Progress(z, gamma, c, self.memory["looked"], decrease)

    # A new atom -------------------------------------------------------------------------

    def _oracle(self, x: Point) -> tuple[Atom, float]:
        """A candidate of the last look at all atoms that is still good, else the best atom."""
        x.counts.oracle_calls += 1
        return (self._candidate(x) if self.finite else None) or self._look(x)

    def _candidate(self, x: Point) -> tuple[Atom, float] | None:
        pool = self.memory["pool"]
        pool = pool[~np.isin(pool, self.span.places)]
        if x.looked or not len(pool):
            return None
        slopes = x.slopes(pool)
        k = int(np.argmax(np.abs(slopes)))
        if abs(slopes[k]) < FRESH * self.memory["looked"]:
            return None
        return int(pool[k]), float(slopes[k])

    def _look(self, x: Point) -> tuple[Atom, float]:
        if not self.finite:
            z, c = x.steepest()
        else:
            correlations = x.correlations()
            steepness = np.abs(correlations)
            best = np.argpartition(-steepness, min(POOL, len(steepness) - 1))[:POOL]
            self.memory["pool"] = best.astype(np.int64)
            z = int(np.argmax(steepness))
            c = float(correlations[z])
        self.memory["looked"] = abs(c)
        return z, c

    # Steps over the atoms in use --------------------------------------------------------

    def _follow(self, x: Point) -> None:
        """Take in the atoms of the run's memory, and those with a coefficient at x."""
        for place in self.memory["active"][len(self.span) :].tolist():
            self._enter(x, place)
        known = set(self.span.places)
        for place in np.flatnonzero(x.coef).tolist():
            if place not in known:
                self._enter(x, place)

    def _enter(self, x: Point, place: int) -> int:
        """Where in the span the atom is, or is now."""
        if place in self.span.places:
            return self.span.places.index(place)
        self.span.add(self.span.measure(x, place))
        return len(self.span) - 1

    def _relax(self, x: Point, newest: int) -> tuple[float, float]:
        """Steps over the atoms in use; the largest change of a coefficient, the decrease of f."""
        local, norms = self.span.at(x), np.array(self.span.norms)
        promise = float(abs(local.first[newest]) / norms[newest])
        least = rounding(self.span, x, self.memory.setdefault("steepness", promise))
        if not promise > least:
            return 0.0, 0.0
        enough = max(promise / self.kappa, least)

        def conjugate_steps(delta: Array, slopes: Array) -> Array:
            return conjugate(local.hessian(delta), slopes, lambda r: r / norms**2, norms, enough)

        delta, last = descend(local.slopes, local.first, conjugate_steps, norms, enough)
        decrease = local.decrease(delta, last)
        self.span.move(x, delta)
        return float(np.abs(delta).max()), decrease - self._drop(x, newest, last, decrease)

    def _drop(self, x: Point, newest: int, slopes: Array, decrease: float) -> float:
        """Drop the atom that f misses least, if it hardly does; the most that f rises by."""
        coef = self.span.coefficients(x)
        # f(x − aᵢzᵢ) ≤ f(x) − aᵢ⟨∇f(x), zᵢ⟩ + ½ aᵢ²hᵢ
        rises = -coef * slopes + 0.5 * (coef * self.span.norms) ** 2
        rises[newest] = np.inf
        k = int(np.argmin(rises))
        if not rises[k] <= SPARED * decrease:
            return 0.0
        x.move(float(coef[k]), self.span.atoms[k])
        self.span.drop(k)
        return max(0.0, float(rises[k]))
