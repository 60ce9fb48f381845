"""Blended pursuit: cheap steps over the atoms in use, and a new atom when they run dry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pursuit.active.active_set import ActiveMemory, Local, no_places, rounding
from pursuit.active.newton import conjugate, descend
from pursuit.active.restricted import over
from pursuit.atoms.base import Atom
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, positive, shown
from pursuit.penalties import Penalty
from pursuit.points import Needs
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.run import Progress, Run

POOL = 32
"""Candidates that a look at all atoms leaves for the steps after it."""
FRESH = 0.5
"""A candidate is taken while its slope is at least this share of the largest at that look."""
SPARED = 0.1
"""An atom leaves if f then rises by at most this share of what the same step made it fall."""


@dataclass(frozen=True)
class Blended(Advance):
    """Blended matching pursuit (Combettes & Pokutta 2019).

    A new atom joins the atoms in use, then conjugate gradient steps over all of them follow,
    while their slope promises at least 1/κ of what the new one did. An atom whose coefficient
    vanishes, so that f hardly rises without it, is dropped. Without drops κ → ∞ is orthogonal
    pursuit.

    The oracle is lazy, as theirs: a look at all atoms leaves a pool of candidates, and the best
    of them enters while its slope is at least half of the largest at that look.

    Parameters
    ----------
    kappa
        κ > 1: how much better than the atoms in use a new one has to be.
    """

    kappa: float = 4.0
    keeps_path: ClassVar[bool] = True
    needs = Needs.VECTOR

    def against(self, penalty: Penalty) -> str:
        return "steps along all atoms in use at once, whatever the signs of their coefficients"

    def start(self, run: Run) -> Improve:
        if not positive("kappa", self.kappa) > 1:
            raise InputError(f"kappa: expected a number above 1, got {shown(self.kappa)}")
        return _BlendedRun(run, self.kappa)


@dataclass
class _BlendedMemory(ActiveMemory):
    """The pool of candidates, the best of them, and the largest slope at the last look."""

    pool: Array = field(default_factory=no_places)
    candidate: int = -1
    looked: float = 0.0


class _BlendedRun:
    """The atoms in use follow from their order, which is remembered."""

    def __init__(self, run: Run, kappa: float) -> None:
        self.memory, self.kappa = run.remember("active", _BlendedMemory()), kappa
        self.span, self.set = over(run.problem), run.problem.atoms
        self.finite = self.span.finite
        # The slopes of coordinates are the gradient: to have some is to have all.
        self.lazy = self.finite and self.set.form is not AtomForm.AXES
        self._gathered: tuple[object, Array] = (None, np.empty(0))

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = self._oracle(x)
        gamma, decrease = self._step(x, z, c)
        stale = self.span.lengths is not None  # the candidate of an earlier look
        while gamma == 0 and (self.span.doubted(z, c, self.memory) or stale):
            z, c = self._look(x)
            gamma, decrease = self._step(x, z, c)
            stale = False
        self.memory.active = self.span.index.copy()
        if self.finite and gamma:
            self._look_ahead(x)
        return Progress(z, gamma, c, self.memory.looked, decrease)

    def _step(self, x: Point, z: Atom, c: float) -> tuple[float, float]:
        """Improve all coefficients, that of one more atom among them; nothing if c is rounding."""
        if self.span.negligible(z, c, x, self.memory):
            return 0.0, 0.0
        newest = self._enter(x, x.ledger.place(z))
        return (0.0, 0.0) if newest is None else self._improve(x, newest, c)

    # A new atom -------------------------------------------------------------------------

    def _oracle(self, x: Point) -> tuple[Atom, float]:
        """The candidate if it is still good, else the best of all atoms."""
        x.counts.oracle_calls += 1
        z = self.memory.candidate
        if z >= 0:
            c = float(x.correlations()[z]) if x.looked else x.slope(z)
            if abs(c) >= FRESH * self.memory.looked:
                return z, c
        return self._look(x)

    def _look_ahead(self, x: Point) -> None:
        """Find the next candidate now, so that the slope is known where a run may end."""
        ambient = x.ambient
        if self.lazy and ambient is not None:
            steepness = np.abs(self._pool() @ ambient.gradient().reshape(-1))
            x.counts.products += len(steepness) * self.span.share
            k = int(steepness.argmax())
            if steepness[k] >= FRESH * self.memory.looked:
                self.memory.candidate = int(self.memory.pool[k])
                return
        self._look(x)

    def _pool(self) -> Array:
        """The candidates as rows, gathered once after each look."""
        places = self.memory.pool
        if self._gathered[0] is not places:
            rows = np.array([self.set.vector(z).reshape(-1) for z in places.tolist()])
            self._gathered = places, rows
        return self._gathered[1]

    def _look(self, x: Point) -> tuple[Atom, float]:
        """Look at all atoms: the best one, and a pool of others that are not in use."""
        if not self.finite:
            z, c = x.steepest()
            self.memory.looked = abs(c) / x.atoms.quality
            return z, c
        correlations = x.correlations()
        steepness = np.abs(self.span.told(correlations, x, self.memory))
        z = int(np.argmax(steepness))
        self.memory.candidate, self.memory.looked = z, float(steepness[z])
        if self.lazy:
            steepness[[z, *self.span.places]] = 0
            size = min(POOL, len(steepness))
            self.memory.pool = np.argpartition(steepness, -size)[-size:]
        return z, float(correlations[z])

    # Steps over the atoms in use --------------------------------------------------------

    def _follow(self, x: Point) -> None:
        """Take in the atoms that are remembered, and those with a coefficient at x."""
        for place in self.memory.active[len(self.span) :].tolist():
            self._enter(x, place)
        for place in self.span.missing(x):
            self._enter(x, place)

    def _enter(self, x: Point, place: int) -> int | None:
        """Where in the span the atom is, or is now; None where f does not bend along it."""
        if place in self.span.places:
            return self.span.places.index(place)
        entry = self.span.measure(x, place)
        if entry.norm2 == 0:
            return None
        self.span.add(entry)
        return len(self.span) - 1

    def _improve(self, x: Point, newest: int, c: float) -> tuple[float, float]:
        """Steps over the atoms in use: how far a coefficient moved, and the decrease of f."""
        local, norms = self.span.at(x), self.span.norms
        length = float(norms[newest])
        promise = abs(c) / length
        least = rounding(self.span, x, self.memory.first_steepness(promise))
        if not promise > least:
            return 0.0, 0.0
        enough = max(promise / self.kappa, least)
        if self.span.gram is not None:
            # Perhaps the minimiser along the new atom is good enough.
            gamma = c / length**2
            x.counts.products += self.span.share
            there = local.first - gamma * self.span.gram.matrix[newest]
            if (np.abs(there) / norms).max() <= enough:
                x.move(gamma, self.span.atoms[newest])
                return gamma, c * gamma / 2
        delta, last = self._relax(local, norms, enough)
        decrease = local.decrease(delta, last)
        self.span.move(x, delta)
        decrease -= self._drop(x, newest, last, decrease)
        return float(np.abs(delta).max()), decrease

    def _relax(self, local: Local, norms: Array, enough: float) -> tuple[Array, Array]:
        """Conjugate steps until no atom in use promises more than `enough`."""
        inverse = norms**-2

        def conjugate_steps(delta: Array, slopes: Array) -> Array:
            return conjugate(local.hessian(delta), slopes, inverse.__mul__, norms, enough)

        return descend(local.slopes, local.first, conjugate_steps, norms, enough)

    def _drop(self, x: Point, newest: int, slopes: Array, decrease: float) -> float:
        """Drop the atom that f misses least, if it hardly does; the most that f rises by."""
        coef = self.span.coefficients(x)
        # f(x − aᵢzᵢ) ≤ f(x) − aᵢ⟨∇f(x), zᵢ⟩ + ½ aᵢ²hᵢ
        rises = -coef * slopes + 0.5 * (coef * self.span.norms) ** 2
        rises[newest] = np.inf
        k = int(np.argmin(rises))
        z, a, rise = self.span.atoms[k], float(coef[k]), float(rises[k])
        if not self.span.bounding:
            rise = x.value_along(a, z) - x.value()
        if not rise <= SPARED * decrease:
            return 0.0
        x.move(a, z)
        self.span.drop(k)
        return max(0.0, rise)
