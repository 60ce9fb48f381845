"""Blended pursuit: cheap steps over the atoms in use, and a new atom when they run dry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pursuit.active.engine import ActiveMemory, Restriction, minimize, no_places
from pursuit.active.models import active_set
from pursuit.atoms.base import Atom
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, positive, shown
from pursuit.linalg.conjugate_gradients import conjugate_gradients
from pursuit.penalties import Penalty
from pursuit.points import Needs
from pursuit.points.ambient import as_ambient
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.run import Progress, Run

POOL = 32
"""Candidates that a product with all atoms leaves for the steps after it."""
FRESH = 0.5
"""A candidate is taken while its slope is at least this share of the largest at that product."""
SPARED = 0.1
"""An atom leaves if f then rises by at most this share of what the same step made it fall."""


@dataclass(frozen=True)
class Blended(Advance):
    """Blended matching pursuit (Combettes & Pokutta 2019).

    A new atom joins the atoms in use, then conjugate gradient steps over all of them follow, while
    the gradient over them promises at least 1/κ of what the new one did. An atom whose coefficient
    vanishes, so that f hardly rises without it, is dropped. Without drops κ → ∞ is orthogonal
    pursuit.

    The oracle is lazy, as theirs: a product with all atoms leaves a pool of candidates, and the
    best of them enters while its slope is at least half of the largest one found then.

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
    """The pool of candidates, the best of them, and the largest slope when they were found."""

    pool: Array = field(default_factory=no_places)
    candidate: int = -1
    largest: float = 0.0


class _BlendedRun:
    """The atoms in use follow from their order, which is remembered."""

    def __init__(self, run: Run, kappa: float) -> None:
        self.memory, self.kappa = run.remember("active", _BlendedMemory()), kappa
        self.active, self.set = active_set(run.problem, self.memory), run.problem.atoms
        self.finite = self.active.finite is not None
        # The slopes of coordinates are the gradient: to have some is to have all.
        self.lazy = self.finite and self.set.form is not AtomForm.AXES
        self._gathered: tuple[object, Array] = (None, np.empty(0))

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = self._oracle(x)
        gamma, decrease = self._step(x, z, c)
        self.memory.active = self.active.index.copy()
        if self.finite and gamma:
            self._find_next(x)
        return Progress(z, gamma, c, self.memory.largest, decrease)

    def _step(self, x: Point, z: Atom, c: float) -> tuple[float, float]:
        """Improve all coefficients, that of one more atom among them; nothing if c is rounding."""
        length = 1.0 if self.active.lengths is None else float(self.active.lengths[z])
        if self.memory.is_negligible(abs(c) / length, x.dtype):
            return 0.0, 0.0
        newest = self._enter(x, x.ledger.place(z))
        return (0.0, 0.0) if newest is None else self._improve(x, newest, c)

    # A new atom -------------------------------------------------------------------------

    def _oracle(self, x: Point) -> tuple[Atom, float]:
        """Return the candidate if it is still good, else the best of all atoms."""
        x.counts.oracle_calls += 1
        z = self.memory.candidate
        if z >= 0:
            c = float(x.correlations()[z]) if x.is_evaluated else x.correlation(z)
            if abs(c) >= FRESH * self.memory.largest:
                return z, c
        return self._find_candidates(x)

    def _find_next(self, x: Point) -> None:
        """Find the next candidate now, so that the dual norm is known where a run may end."""
        if self.lazy and as_ambient(x) is not None:
            slopes = np.abs(self._pool() @ x.gradient().reshape(-1))
            x.counts.products += len(slopes) * self.active.share
            k = int(slopes.argmax())
            if slopes[k] >= FRESH * self.memory.largest:
                self.memory.candidate = int(self.memory.pool[k])
                return
        self._find_candidates(x)

    def _pool(self) -> Array:
        """Return the candidates as rows, gathered once after each product with all atoms."""
        places = self.memory.pool
        if self._gathered[0] is not places:
            rows = np.array([self.set.vector(z).reshape(-1) for z in places.tolist()])
            self._gathered = places, rows
        return self._gathered[1]

    def _find_candidates(self, x: Point) -> tuple[Atom, float]:
        """Return the best of all atoms; keep a pool of others that are not in use."""
        if not self.finite:
            z, c = x.lmo()
            self.memory.largest = abs(c) / x.atoms.quality
            return z, c
        correlations, gains = x.correlations(), self.active.gains(x)
        z = int(np.argmax(gains))
        largest = gains[z] if gains[z] > 0 else np.abs(correlations).max()
        self.memory.candidate, self.memory.largest = z, float(largest)
        if self.lazy:
            gains[[z, *self.active.places]] = 0
            size = min(POOL, len(gains))
            self.memory.pool = np.argpartition(gains, -size)[-size:]
        return z, float(correlations[z])

    # Steps over the atoms in use --------------------------------------------------------

    def _follow(self, x: Point) -> None:
        """Take in the atoms that are remembered, and those with a coefficient at x."""
        for place in self.memory.active[len(self.active) :].tolist():
            self._enter(x, place)
        for place in self.active.missing(x):
            self._enter(x, place)

    def _enter(self, x: Point, place: int) -> int | None:
        """Return which of the atoms in use an atom is now; None where f has no curvature along
        it."""
        if place in self.active.places:
            return self.active.places.index(place)
        entry = self.active.measure(x, place)
        if entry.norm2 == 0:
            return None
        self.active.insert(entry)
        return len(self.active) - 1

    def _improve(self, x: Point, newest: int, c: float) -> tuple[float, float]:
        """Step over the atoms in use: how far a coefficient moved, and the decrease of f."""
        active, norms = self.active, self.active.norms
        local, length = active.at(x), float(norms[newest])
        promise = abs(c) / length
        if self.memory.gradient is None:
            self.memory.gradient = promise
        least = active.rounding(x)
        if not promise > least:
            return 0.0, 0.0
        tolerance = max(promise / self.kappa, least)
        if active.f.quadratic is not None:
            # Perhaps the minimizer along the new atom is good enough.
            gamma = c / length**2
            x.counts.products += active.share
            there = local.first - gamma * active.gram.matrix[newest]
            if (np.abs(there) / norms).max() <= tolerance:
                x.move(gamma, active.atoms[newest])
                return gamma, c * gamma / 2
        delta, last = self._relax(local, norms, tolerance)
        decrease = local.decrease(delta, last)
        active.move(x, delta)
        decrease -= self._drop(x, newest, last, decrease)
        return float(np.abs(delta).max()), decrease

    def _relax(self, local: Restriction, norms: Array, tolerance: float) -> tuple[Array, Array]:
        """Step until no atom in use promises more than the tolerance."""

        def conjugate_steps(delta: Array, gradient: Array) -> Array:
            hessian, steps = local.hessian(delta), 2 * len(norms) + 10
            return conjugate_gradients(hessian, gradient, norms, tolerance, steps, flat=0.0)

        return minimize(local, conjugate_steps, norms, tolerance)

    def _drop(self, x: Point, newest: int, gradient: Array, decrease: float) -> float:
        """Drop the atom that f misses least, if it hardly does; the most that f rises by."""
        coef = self.active.coefficients(x)
        # f(x − aᵢzᵢ) ≤ f(x) − aᵢ⟨∇f(x), zᵢ⟩ + ½ aᵢ²hᵢ
        rises = -coef * gradient + 0.5 * (coef * self.active.norms) ** 2
        rises[newest] = np.inf
        k = int(np.argmin(rises))
        z, a, rise = self.active.atoms[k], float(coef[k]), float(rises[k])
        if not self.active.majorizes:
            rise = x.value_along(a, z) - x.value()
        if not rise <= SPARED * decrease:
            return 0.0
        x.move(a, z)
        self.active.drop(k)
        return max(0.0, rise)
