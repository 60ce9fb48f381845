"""Orthogonal pursuit: a new atom, then the best coefficients for all atoms in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pursuit.active.active_set import EPS, ULPS, Entry, correct, largest_slope
from pursuit.active.factor import Factor
from pursuit.active.nonnegative import ConeCorrective
from pursuit.active.overlapping import (
    Clusters,
    Correction,
    CorrectiveMemory,
    Neighbours,
)
from pursuit.active.restricted import over
from pursuit.atoms.base import Atom
from pursuit.atoms.forms import AtomForm
from pursuit.base.validation import Array
from pursuit.penalties import Penalty
from pursuit.points import Needs
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.run import Progress, Run


@dataclass(frozen=True)
class Corrective(Advance):
    """Orthogonal matching pursuit for any smooth f: x ← argmin f over x + span(atoms in use).

    The oracle's atom joins the atoms in use, and all their coefficients are corrected: for a
    quadratic by one solve with a Cholesky factor that grows by a row with each atom, for a linear
    model by Newton's method, for any other f by Newton's method with conjugate gradients,
    warm-started at x. An atom that depends on those in use adds nothing: it is set aside for good
    and the next best one is taken. Over `Coordinates` the intercept of f comes first, before any
    choice could depend on it.

    From a blended point y the atoms in use include all those with a coefficient there. Over a
    `Cone` coefficients stay at or above zero: see `pursuit.active.nonnegative`.
    """

    keeps_path: ClassVar[bool] = True
    needs = Needs.ONCE
    _overlapping: ClassVar[type[Clusters] | type[Neighbours]] = Clusters

    def against(self, penalty: Penalty) -> str:
        return "" if penalty.one_sided else "corrects all coefficients at once, without a penalty"

    def start(self, run: Run) -> Improve:
        if run.problem.atoms.one_sided:
            return ConeCorrective(run)
        memory = run.remember("active", CorrectiveMemory())
        spanned = _CorrectiveRun(run, memory)
        overlapping = Correction(run, memory, self._overlapping)

        def improve(x: Point) -> Progress:
            return overlapping(x) if x.local else spanned(x)

        return improve


@dataclass(frozen=True)
class LocalCorrective(Corrective):
    """Locally orthogonal pursuit: a new atom, then the best coefficients of it and its neighbours.

    Atoms in use that overlap the new one are corrected with it, the others stay as they are, so
    that a step costs what the neighbourhood does however many atoms are in use (Mailhé, Gribonval,
    Vandergheynst and Bimbot 2011). It is not orthogonal pursuit, which corrects all that hangs
    together; but where a set does not say which of its atoms overlap, all of them may, and it is.
    """

    keeps_path: ClassVar[bool] = False
    _overlapping: ClassVar[type[Clusters] | type[Neighbours]] = Neighbours

    def against(self, penalty: Penalty) -> str:
        wanted = "from falling below 0" if penalty.one_sided else "where a penalty wants them"
        return f"corrects coefficients without keeping them {wanted}"


class _CorrectiveRun:
    """The atoms in use and their factor follow from who entered and who may not."""

    def __init__(self, run: Run, memory: CorrectiveMemory) -> None:
        self.memory = memory
        self.span, self.factor = over(run.problem), Factor()
        self.finite = self.span.finite
        axes = run.problem.f.intercept and run.problem.atoms.form is AtomForm.AXES
        self.intercept = run.problem.f.shape[0] - 1 if axes else -1  # its place, if there is one

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = self._choose(x)
        gamma, decrease = 0.0, 0.0
        if len(self.span):
            gamma, decrease = correct(self.span, x, self.memory, self.factor.solve)
        slope = largest_slope(x) if self.finite else abs(c) / x.atoms.quality
        return Progress(z, gamma, c, slope, decrease)

    # Which atoms are in use -------------------------------------------------------------

    def _follow(self, x: Point) -> None:
        """Take in the atoms that are remembered, and those with a coefficient at x."""
        for place in self.memory.active[len(self.span) :].tolist():
            self._admit(self.span.measure(x, place))
        dependent = set(self.memory.dependent.tolist())
        for place in self.span.missing(x):
            if place not in dependent:
                self._try(x, place)

    def _choose(self, x: Point) -> tuple[Atom, float]:
        """The oracle's atom, of those that are not known to depend on others."""
        if not self.finite:
            z, c = x.steepest()
            if not self.span.negligible(z, c, x, self.memory):
                self._try(x, x.ledger.place(z))
            return z, c
        x.counts.oracle_calls += 1
        correlations = x.correlations()
        if self._intercept_first(x, correlations):
            return self.intercept, float(correlations[self.intercept])
        steepness = np.abs(self.span.told(correlations, x, self.memory))
        steepness[self.memory.dependent] = 0
        z = int(np.argmax(steepness))
        while (
            not self.span.negligible(z, float(steepness[z]), x, self.memory)
            and z not in self.span.places
            and not self._try(x, z)
        ):
            steepness[z] = 0
            z = int(np.argmax(steepness))
        return z, float(correlations[z])

    def _intercept_first(self, x: Point, correlations: Array) -> bool:
        """Let the intercept in, if it is not; whether that is enough for this step."""
        place = self.intercept
        if place < 0 or place in self.span.places or place in self.memory.dependent:
            return False
        rounding = ULPS * EPS[x.coef.dtype] * float(np.abs(correlations).max())
        return self._try(x, place) and abs(float(correlations[place])) > rounding

    def _try(self, x: Point, place: int) -> bool:
        """Let an atom in unless it depends on the others; remember either."""
        entered = self._admit(self.span.measure(x, place))
        memory = self.memory
        if entered:
            memory.active = np.append(memory.active, place)
        else:
            memory.dependent = np.append(memory.dependent, place)
        return entered

    def _admit(self, entry: Entry) -> bool:
        eps = EPS[entry.effect.dtype]
        entered = self.factor.append(entry.column, entry.norm2, self.span.norms, eps)
        if entered:
            self.span.add(entry)
        return entered
