"""Orthogonal pursuit over a cone: a new atom, then the best coefficients that are not negative.

The coefficients are found by an active set, as Lawson and Hanson (1974) do for least squares and
here for any smooth f: descend over the span of the atoms in use until a coefficient reaches zero,
let that atom go, and descend again over the others. An atom that has gone in this way comes back
as soon as it would grow again, so that what is left is the minimiser over the cone of all the
atoms that the correction began with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from pursuit.active.active_set import EPS, ActiveMemory, Entry, correct, enough, no_places
from pursuit.active.factor import DEPENDENT, Factor
from pursuit.active.restricted import over
from pursuit.base.growing import Table
from pursuit.base.validation import Array
from pursuit.points.base import Point
from pursuit.rules.run import Progress, Run

STEEP = 100
"""How much larger than what the rounding of H and b may make of it a slope has to be where a
quadratic is flat."""


@dataclass
class _ConeMemory(ActiveMemory):
    """The first `factored` atoms in use were factored at once when an atom last went.

    `aside` are atoms that depend on those in use and would gain nothing; they are tried again when
    an atom has gone.
    """

    aside: Array = field(default_factory=no_places)
    factored: int = 0


class ConeCorrective:
    """The atoms in use, in the order in which they came, and the factor of their metric.

    Both follow from what is remembered.
    """

    def __init__(self, run: Run) -> None:
        self.memory = run.remember("active", _ConeMemory())
        self.span, self.metric, self.factor = over(run.problem), Table(), Factor()
        f = run.problem.f.quadratic
        self.isometric = f is not None and f.isometric

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        before, used = x.coef.copy(), set(self.span.places)
        z, c, decrease = self._improve(x)
        gamma = float(np.abs(x.coef - before).max())
        if gamma and not used <= set(self.span.places):
            self.memory.aside = no_places()
        self.memory.active = self.span.index.copy()
        slope = float(np.abs(self._slopes(x)).max())
        return Progress(z, gamma, c, slope, decrease)

    # A new atom -------------------------------------------------------------------------

    def _improve(self, x: Point) -> tuple[int, float, float]:
        """Let the oracle's atom in, or the next best one if it depends on others, and correct."""
        x.counts.oracle_calls += 1
        while True:
            slopes = self.span.told(self._slopes(x), x, self.memory)
            slopes[self.memory.aside] = 0
            z = int(np.argmax(np.abs(slopes)))
            c = float(slopes[z])
            known = self.span.negligible(z, c, x, self.memory) or z in self.span.places
            if known or self._admit(x, z) or self._exchange(x, z, c):
                return z, c, self._correct(x)
            self.memory.aside = np.append(self.memory.aside, z)

    def _slopes(self, x: Point) -> Array:
        """Those along which x may move, as an array of its own."""
        return x.atoms.penalty.subgradient(x.correlations(), x.coef)

    # Which atoms are in use -------------------------------------------------------------

    def _follow(self, x: Point) -> None:
        """Take in the atoms that are remembered, and those that x began with."""
        if not len(self.span) and len(self.memory.active):
            for place in self.memory.active.tolist():
                self._take(self.span.measure(x, place))
            self.factor.renew(self.metric.matrix, self.memory.factored)
        aside = set(self.memory.aside.tolist())
        for place in self.span.missing(x):
            if place not in aside and not self._admit(x, place):
                self.memory.aside = np.append(self.memory.aside, place)

    def _admit(self, x: Point, place: int) -> bool:
        """Let an atom in unless its distance from the span of the others is rounding.

        Atoms may be nearly dependent: as no coefficient is negative, their shares do not cancel.
        """
        entry = self.span.measure(x, place)
        y, pivot = self.factor.row(entry.column, entry.norm2)
        ulps = DEPENDENT + len(self.span)
        # Inner products of images are summed in float64 whatever those are kept in.
        precision = np.dtype(np.float64) if self.isometric else entry.effect.dtype
        if pivot <= ulps * EPS[precision] * entry.norm2:
            return False
        self.factor.push(y, pivot)
        self._take(entry)
        return True

    def _exchange(self, x: Point, z: int, c: float) -> bool:
        """Let in an atom that f does not tell from Σ shares·z_i but by a slope, for one of these.

        A quadratic that is flat there falls along z − Σ shares·z_i until a coefficient is zero.
        """
        if self.span.gram is None:
            return False
        shares = self.factor.solve(self.span.measure(x, z).column)
        slope = c - float(shares @ x.correlations()[self.span.index])
        coef = self.span.coefficients(x).astype(np.float64)
        ahead = np.where(shares > 0, coef, np.inf) / np.where(shares > 0, shares, 1.0)
        if not slope < -self._drowned(x, z) or not np.isfinite(ahead).any():
            return False
        k = int(np.argmin(ahead))
        way = float(ahead[k])
        delta = np.minimum(way * shares, coef)
        delta[k] = coef[k]
        self.span.move(x, delta)
        x.move(-way, z)
        self._let_go(x)
        return self._admit(x, z)

    def _drowned(self, x: Point, z: int) -> float:
        """A slope where f is flat that may be rounding of the data: in proportion to √eps."""
        length = 1.0 if self.span.lengths is None else float(self.span.lengths[z])
        return STEEP * sqrt(EPS[x.coef.dtype]) * (self.memory.first_oracle or 0.0) * length

    def _take(self, entry: Entry) -> None:
        self.span.add(entry)
        self.metric.append(entry.column, entry.norm2)

    def _let_go(self, x: Point) -> dict[int, float]:
        """Part with the atoms whose coefficient is zero: their places and lengths."""
        gone = {}
        for k in np.flatnonzero(self.span.coefficients(x) == 0)[::-1].tolist():
            gone[self.span.places[k]] = float(self.span.norms[k])
            self.span.drop(k)
            self.metric.drop(k)
        if gone:
            self.memory.factored = len(self.span)
            self.factor.renew(self.metric.matrix, len(self.span))
        return gone

    # Their coefficients -----------------------------------------------------------------

    def _correct(self, x: Point) -> float:
        """Minimise over the cone of the atoms in use; a lower bound on the decrease of f."""
        decrease, gone = 0.0, dict[int, float]()
        # Every turn lets an atom go, or brings one back where f is lower than ever before; only
        # rounding could make that endless.
        for _ in range(3 * len(self.span) + 10):
            gain = self._descend(x) if len(self.span) else None
            decrease += gain or 0.0
            left = self._let_go(x)
            if left:
                # An atom that goes before anything moved has nothing to gain.
                gone |= left if gain is not None else {}
            elif not self._bring_back(x, gone):
                break
        return decrease

    def _descend(self, x: Point) -> float | None:
        """Towards the minimiser over the span, until a coefficient is zero: the decrease of f,
        or None where x is there already."""
        room = self.span.coefficients(x).astype(np.float64)
        gamma, decrease = correct(self.span, x, self.memory, self.factor.solve, room)
        return decrease if gamma else None

    def _bring_back(self, x: Point, gone: dict[int, float]) -> bool:
        """Let in again the atom that would grow most, of those that went; False if none would."""
        while gone:
            places, norms = np.array(list(gone)), np.array(list(gone.values()))
            slopes = x.correlations()[places] / norms
            k = int(np.argmin(slopes))
            if not slopes[k] < -enough(self.span, x, self.memory):
                return False
            del gone[int(places[k])]
            if self._admit(x, int(places[k])):
                return True
        return False
