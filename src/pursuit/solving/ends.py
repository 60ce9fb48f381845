"""How a run ends: the tests that it meets, and what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, isnan

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.base.scaling import norm
from pursuit.base.status import Status
from pursuit.points.base import Point
from pursuit.rules.memory import Memory
from pursuit.solving.gap import GapTest
from pursuit.solving.penalised import why_zero
from pursuit.solving.running import NOTHING, REFRESH, Running
from pursuit.solving.stopping import Stopping

WATCH = 10
"""Iterations between two looks at whether the value runs away."""
STRIKES = 3
"""Looks in a row that must find the value too high."""
MADE = 1000
"""Units in the last place of its terms that a slope may owe to a start that is a sum itself."""

OPEN = (Status.CONVERGED, Status.STALLED, Status.MAX_ITER)
"""Ends of a run that may have been after a minimiser that does not exist."""

OUT_OF_SCALE = (
    "atoms: in their scale, coefficients would leave the range of float64; expected atoms in other "
    "units"
)

Ended = tuple[Status, str]


@dataclass
class Watched(Memory):
    """The first and the best value, the first slope, looks that found the value too high, and the
    slope at the last end that was not one."""

    first_value: float
    first_slope: float
    best: float
    strikes: int = 0
    unproved: float = inf

    @staticmethod
    def of(x: Point) -> Watched:
        """At the start."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = x.total()
            if not isfinite(value):
                raise InputError(f"f: the value at the start is {value}; expected a finite number")
            slope = x.largest_slope()
        if slope == inf:
            raise InputError("f: the slope at the start is inf; expected a finite number")
        return Watched(value, slope, value)


class Reasons:
    """Reasons to end; none depends on what is observed.

    `gradient` is the size of the terms whose difference a gradient is. Values are looked at in
    every iteration, or where that costs much once in `beat`.
    """

    def __init__(
        self,
        running: Running,
        watched: Watched,
        stop: Stopping,
        gradient: float,
        gap: GapTest | None = None,
        beat: int | None = None,
    ) -> None:
        self._beat, self.watching = beat or 1, beat or WATCH
        self._running, self._stop, self._gradient, self.gap = running, stop, gradient, gap
        self._run, self._watched = running.run, watched
        self.period = _period(self._run.problem.atoms)
        # What `tol` asks for. Of a δ-approximate oracle the first slope is an upper bound, and δ
        # times it a lower one: what is below tol times that has fallen as far, whatever it missed.
        quality = self._run.problem.atoms.quality
        self._threshold = float(stop.tol * watched.first_slope * quality)

    def before(self) -> Ended | None:
        """Whether there is nothing to do: a start that is optimal, a resumed run that had ended."""
        if self._run.t > 0:
            return self.reached() or self._struck()
        f, atoms = self._run.problem.f, self._run.problem.atoms
        if self._watched.first_slope <= self._rounding and not self._told():
            return Status.CONVERGED, self._optimal_start()
        unlimited = atoms.penalty.free or atoms.one_sided
        if unlimited and f.lowest == -inf:
            endless = f.unbounded(atoms, self._running.stepper.x.vector)
            if endless:
                return self.endless(endless)
        near = None if self.gap is None else self.gap.reached(self._running.verified)
        return near or self._value_reached()

    def _told(self) -> bool:
        """Whether a first slope that drowns in the gradient is more than the rounding of the terms
        that its atom sees: those of the entries of the gradient at the start."""
        problem, start = self._run.problem, self._running.stepper.x.vector
        if problem.atoms.finite is None or not isinstance(start, np.ndarray):
            return False
        terms = problem.f.gradient_terms(start.astype(np.float64))
        if terms is None:
            return False
        gradient = problem.f.gradient(start)
        z = problem.atoms.vector(problem.atoms.lmo(gradient)).astype(np.float64)
        seen = float(np.abs(z).reshape(-1) @ terms.reshape(-1))
        # Shared transforms of all atoms let one see what another one does.
        slope = min(self._watched.first_slope, abs(float(np.vdot(z, gradient))))
        units = MADE if start.any() else 8
        return slope > units * self._running.eps * seen

    def _optimal_start(self) -> str:
        penalty = self._run.problem.atoms.penalty
        if penalty.free or penalty.one_sided:
            return f"the start is optimal over the {penalty.hull} of the atoms"
        return f"the start is optimal{self._zero()}"

    def _zero(self) -> str:
        """That a penalty leaves no coefficient that it is about but zero, if so."""
        x = self._running.stepper.x
        return "" if x.atoms.penalty.free else why_zero(x)

    def endless(self, why: str) -> Ended:
        """A rule has found no end to the fall of f: where f has a floor, by rounding."""
        f = self._run.problem.f
        known = int(np.prod(f.shape)) * float(np.finfo(f.dtype).eps) * (f.L or 0.0)
        bounded = f.lowest > -inf or f.mu > known
        return ended(Status.STALLED) if bounded else (Status.UNBOUNDED, why)

    def told(self, found: Ended) -> Ended:
        """An end of the run's own, or that f has no minimiser and only grows flatter."""
        self._check_scale()
        status, message = found
        asked = self._stop.goal is not None and message == self._stop.goal[1]
        if asked or status not in OPEN or not self._may_grow():
            return found
        why = self._run.problem.f.escapes(self._running.verified.x.astype(np.float64))
        return (Status.UNBOUNDED, why) if why else found

    def _check_scale(self) -> None:
        """Refuse coefficients that all vanish in the scale of atoms as given: who looks at no
        gradient has not been asked for the range of his numbers before."""
        moved = isnan(self._gradient) and self._running.stepper.x.coef.any()
        if moved and not self._running.verified.weights.any():
            raise InputError(OUT_OF_SCALE)

    def _may_grow(self) -> bool:
        """Whether the penalty has nothing against any multiple of x."""
        x, penalty = self._running.stepper.x, self._run.problem.atoms.penalty
        return penalty.free or penalty.one_sided or penalty.lets_grow(x.coef)

    def reached(self) -> Ended | None:
        """Whether the last iteration met a test."""
        stop, last = self._stop, self._running.last
        looked_at = stop.goal is not None and self._run.t % self._beat == 0
        found = self._value_reached() if looked_at else None
        if found is None and not (last.slope > self._threshold and last.gamma):
            if not isnan(last.slope):
                found = self._slope_reached(last.slope, last.gamma == 0)
            elif self._run.t % self.period == 0:  # one random direction was seen, and no more
                found = self._slope_looked_at()
        if found is None and self.gap is not None and self._run.t % self.gap.period == 0:
            found = self.gap.reached(self._running.verified)
        if found is None and stop.max_atoms is not None:
            return ended(Status.MAX_ATOMS) if self._running.support >= stop.max_atoms else None
        return found

    # The value --------------------------------------------------------------------------

    def _value_reached(self) -> Ended | None:
        if self._stop.goal is None:
            return None
        (goal, message), running = self._stop.goal, self._running
        value = running.stepper.x.total()
        # A point keeps its value up to rounding: a close call is settled by computing it anew.
        close = 64 * running.eps * max(abs(value), abs(self._watched.first_value))
        if value > goal + close or running.verified.value > goal:
            return None
        return Status.CONVERGED, message

    # The slope --------------------------------------------------------------------------

    def _slope_reached(self, slope: float, stands: bool) -> Ended | None:
        """Whether a small slope, or a run that stands still, is an end."""
        kept, threshold = self._running.stepper.x.largest_slope(), self._threshold
        if not (stands or kept <= threshold):
            return None
        true = self._running.verified.slope
        if self._stop.tol and true <= threshold:
            return self._flat()
        if slope == 0 and true <= self._rounding:
            return ended(Status.CONVERGED)
        if not stands and true * self._run.problem.atoms.quality <= 1.01 * kept:
            return None  # two answers of an approximate oracle, and nothing that went wrong
        return self._unproved(true, stands and true <= max(2 * kept, self._rounding))

    @cached_property
    def _rounding(self) -> float:
        """A slope that is nothing but rounding."""
        return 8 * self._running.eps * self._run.problem.atoms.radius * self._gradient

    def _unproved(self, slope: float, final: bool) -> Ended | None:
        """The run is at its end as it sees it, and the slope is larger than that.

        It goes on from what is true, as long as that helps.
        """
        if final or not slope <= 0.5 * self._watched.unproved:
            return ended(Status.STALLED)
        self._watched.unproved = slope
        self._running.refresh()
        self._running.last = NOTHING  # what it saw is no longer so
        return None

    def _flat(self) -> Ended:
        found = f"the slope is at most {self._stop.tol:g} of its first value"
        return Status.CONVERGED, found + self._zero()

    def _slope_looked_at(self) -> Ended | None:
        """The slope test of methods with random directions, once in `period` iterations."""
        running = self._running
        if not self._stop.tol or running.stepper.x.largest_slope() > self._threshold:
            return None
        return self._flat() if running.verified.slope <= self._threshold else None

    # A value that runs away -------------------------------------------------------------

    def watch(self) -> Ended | None:
        """Whether the value is above its start by more than all it ever fell, again and again."""
        watched, value = self._watched, self._running.stepper.x.total()
        if not isfinite(value):
            watched.strikes = STRIKES  # so that a resumed run knows it, too
            return self._struck()
        watched.best = min(watched.best, value)
        watched.strikes = watched.strikes + 1 if self._high(value) else 0
        if watched.strikes == STRIKES:
            # The terms of a value may be far larger than it, and steps follow their rounding.
            true = self._running.verified
            size = norm(true.x.astype(np.float64)) if isinstance(true.x, np.ndarray) else 0.0
            terms = self._gradient * size
            watched.strikes = STRIKES if self._high(true.value, terms) else 0
        return self._struck()

    def _high(self, value: float, terms: float = 0.0) -> bool:
        watched, first = self._watched, self._watched.first_value
        rounding = max(1e-12, 64 * self._running.eps) * (abs(first) + terms)
        return not value - first <= first - watched.best + rounding  # nor where it is no number

    def _struck(self) -> Ended | None:
        if self._watched.strikes < STRIKES:
            return None
        return self.diverged(self._running.stepper.x.total())

    def diverged(self, value: float) -> Ended:
        """The message names the likely cause."""
        if isnan(self._gradient):  # by values alone each step was one down
            raise InputError(OUT_OF_SCALE)
        first, suspect = self._watched.first_value, self._running.stepper.suspect()
        return Status.DIVERGED, f"the value went from {first:.6g} to {value:.6g}: {suspect}"


def ended(status: Status) -> Ended:
    """An end that needs no words of its own."""
    return status, status.value


def _period(atoms: AtomSet) -> int:
    """Iterations between two looks at the largest slope, where directions are random."""
    return min(atoms.rank, REFRESH) if atoms.finite is None else len(atoms.finite)
