"""Blended pursuit: cheap steps over the atoms in use, and a new atom when they run dry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.advances import Improve
from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.descent import conjugate, descend
from pursuit.points import Point
from pursuit.run import Progress, Run
from pursuit.span import Local, largest_slope, over, rounding
from pursuit.validation import Array, positive

SPARED = 0.1
"""An atom leaves if f then rises by at most this share of what the same step made it fall."""


@dataclass(frozen=True)
class Blended:
    """Blended matching pursuit (Combettes & Pokutta 2019).

    The oracle's atom joins the atoms in use, then conjugate gradient steps over all of them
    follow, while their slope promises at least 1/κ of the oracle's. An atom whose coefficient
    vanishes, so that f hardly rises without it, is dropped. κ → ∞ is orthogonal pursuit.

    Parameters
    ----------
    kappa
        κ ≥ 1: how much better than the atoms in use a new one has to be.
    """

    kappa: float = 4.0
    keeps_path = True

    def start(self, run: Run) -> Improve:
        return _Blended(run, positive("kappa", self.kappa))


class _Blended:
    """The atoms in use follow from their order, which is kept in `run.memory`."""

    def __init__(self, run: Run, kappa: float) -> None:
        self.memory, self.kappa = run.memory, kappa
        self.span = over(run.problem)
        self.finite = isinstance(run.problem.atoms, FiniteAtoms)
        self.memory["active"] = np.empty(0, np.int64)

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = x.steepest()
        place = x.ledger.place(z)
        if place not in self.span.places:
            self.span.add(self.span.measure(x, place))
        gamma, decrease = self._relax(x, abs(c))
        decrease -= self._prune(x, decrease)
        self.memory["active"] = np.array(self.span.places, np.int64)
        return Progress(z, gamma, c, largest_slope(x) if self.finite else abs(c), decrease)
