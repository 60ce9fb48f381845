"""Stretches of iterations between two looks of the driver, compiled.

On a quadratic over a finite set an iteration of Algorithms 1 to 4 is a few vector operations, and
most of its time goes into calling them. The kernels make many iterations at a time, bit for bit
those of the rules, so that a run may change over at any moment: it does when it has taken as long
as loading the kernels does, or at once where they are loaded.
"""

from __future__ import annotations

import os
import sys
from math import inf, nan
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.points.base import Point
from pursuit.points.gram import GramPoint
from pursuit.rules.directions import next_picks
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import bounds_of
from pursuit.solving.stopping import Stopping

if TYPE_CHECKING:
    from pursuit.kernels.iterations import Ends, IteratedPoint, IterationRules
    from pursuit.solving.ends import Watched

PATIENCE = 1.0
"""Seconds in steps after which a run loads the kernels, if nothing else has."""
LOADING = 10.0
"""Seconds that a run must have left to load them: to compile them for the first time takes some."""
CLOSE = 130
"""Units in the last place within which the driver computes a value anew, and some more."""
_KERNELS = "pursuit.kernels.iterations"
_NO_DRAWS = np.empty(0, np.int64)


class Compiled(Protocol):
    """What makes many iterations at a time in place of a stepper."""

    always: bool
    """Whether it makes every iteration of a run, however often that is looked at."""

    @property
    def beat(self) -> int | None:
        """Iterations between two looks at the value; None: looks cost little."""

    def worth_it(self, seconds: float) -> bool:
        """Whether it may make the next iterations of a run of so many seconds."""

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them; None if the stepper has to make it."""


class Stretch:
    """Makes iterations of a method in place of its stepper."""

    always = False
    beat = None

    def __init__(
        self,
        run: Run,
        method: Method,
        stepper: Stepper,
        stop: Stopping,
        watched: Watched,
        watch: int,
    ) -> None:
        advance, blending = method.advance, stepper.blending
        assert advance.direction is not None
        assert advance.step is not None
        assert blending is not None
        self._run, self._stepper, self._stop = run, stepper, stop
        self._watched, self._watch = watched, watch
        self._step, self._pick, self._probe = advance.step, advance.direction, blending.probe
        self._blending, self._unbounded = blending, False
        self._seen: dict[int, IteratedPoint] = {}
        self._ready: tuple[IterationRules, Ends] | None = None

    @staticmethod
    def suits(method: Method, stepper: Stepper) -> bool:
        """Whether the kernels know the rules, and the points are in Gram form."""
        advance, blending, x = method.advance, stepper.blending, stepper.x
        if x.in_gram_form is None or not x.atoms.penalty.free:
            return False
        pick, step = advance.direction, advance.step
        if pick is None or step is None or blending is None:
            return False
        return (pick.exact or pick.blind) and (blending.probe is None or blending.probe.blind)

    def worth_it(self, seconds: float) -> bool:
        """Whether the kernels are loaded, or a run of so many seconds may load them."""
        if self._unbounded:
            return False
        if _KERNELS not in sys.modules:
            left = inf if self._stop.max_time is None else self._stop.max_time - seconds
            if seconds < PATIENCE or left < LOADING:
                return False
        return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them; None if the stepper has to make it."""
        stepper, x, run = self._stepper, self._x, self._run
        picks = probes = _NO_DRAWS
        if not self._pick.exact:
            picks = next_picks(self._pick, run, "picks", most)
            most = len(picks)
        if self._probe is not None:
            probes = next_picks(self._probe, run, "probes", most)
            most = len(probes)
        self._ready = self._ready or self._prepare()
        if most == 0 or x.looked or self._ready is None:
            return None
        from pursuit.kernels import iterations as kernels

        rules, ends = self._ready
        if self._step.exact:
            diagonal = x.gram.rows.diagonal()  # of the rows that are known
            rules.bounds[:] = np.where(diagonal > 0, diagonal, inf)  # no step where f is flat
        span, notes = (run.t, run.t + most), self._notes()
        if (pair := stepper.pair) is not None:
            y, v = self._point(pair.y), self._point(pair.v)
            draws = picks, probes
            steps, missing = kernels.accelerated(
                rules, ends, self._point(x), y, v, draws, span, notes
            )
            pair.take(steps, float(notes[kernels.BETA]))
        else:
            steps, missing = kernels.plain(rules, ends, self._point(x), picks, span, notes)
        if missing != kernels.NOTHING:
            x.gram.row(missing)
        self._book(steps, notes)
        return self._progress(*notes[kernels.ATOM : kernels.BETA].tolist()) if steps else None

    # What the kernels are given -----------------------------------------------------------

    @property
    def _x(self) -> GramPoint:
        x = self._stepper.x.in_gram_form
        assert x is not None
        return x

    def _point(self, point: Point) -> IteratedPoint:
        from pursuit.kernels.iterations import IteratedPoint

        if id(point) not in self._seen:
            stored = point.arrays()
            s = stored["s"]
            self._seen[id(point)] = IteratedPoint(stored["coef"], s, s.view(f"i{s.itemsize}"))
        return self._seen[id(point)]

    def _prepare(self) -> tuple[IterationRules, Ends] | None:
        """The method as arrays; None where the step rule is more than bounds."""
        x, stop, gram = self._x, self._stop, self._x.gram
        # Those of the exact search are known as the rows of the Gram matrix are.
        bounds = (
            np.ones(len(x.coef)) if self._step.exact else bounds_of(self._step, self._run.problem)
        )
        if bounds is None:
            self._unbounded = True
            return None
        from pursuit.kernels.iterations import Ends, IterationRules

        rules = IterationRules(gram.rows, gram.known, bounds, self._work(), *self._blending[:2])
        slope = stop.tol * self._watched.first_slope
        goal, first = -inf, self._watched.first_value
        if stop.goal is not None:
            eps = float(np.finfo(x.coef.dtype).eps)
            goal = stop.goal[0] - gram.value
            goal += CLOSE * eps * max(abs(stop.goal[0]), abs(first), abs(gram.value))
        high = 2 * (first - gram.value)
        atoms = min(stop.max_atoms or 0, len(x.coef) + 1)
        tests = (slope, atoms, goal, self._watch, high)
        return rules, Ends(*tests, gram.correlations)

    def _notes(self) -> Array:
        from pursuit.kernels import iterations as kernels

        x, notes = self._x, np.zeros(7)
        notes[kernels.PRODUCTS] = x.counts.products
        notes[kernels.BETA] = self._stepper.beta
        notes[kernels.BEST] = self._watched.best - x.gram.value
        return notes

    def _work(self) -> Array:
        """The products of an iteration, in the order in which points count them."""
        one = 1 / len(self._x.atoms)
        look = 1.0 if self._pick.exact else one
        probe = [] if self._probe is None else [one]
        moves = [one] if self._stepper.pair is None else [one, one]
        return np.array([*probe, look, *moves])

    # What the kernels have done -----------------------------------------------------------

    def _book(self, steps: int, notes: Array) -> None:
        from pursuit.kernels import iterations as kernels

        run, x = self._run, self._x
        run.t += steps
        x.counts.products = float(notes[kernels.PRODUCTS])
        if notes[kernels.WATCHED]:  # and the value was never high
            best = x.gram.value + float(notes[kernels.BEST])
            self._watched.best, self._watched.strikes = min(self._watched.best, best), 0
        if self._pick.exact:
            x.counts.oracle_calls += steps
        self._pick.skip(run, "picks", steps)
        if self._probe is not None:
            self._probe.skip(run, "probes", steps)

    def _progress(self, atom: float, gamma: float, correlation: float) -> Progress:
        slope = abs(correlation) if self._pick.exact else nan
        return Progress(int(atom), gamma, correlation, slope, 0.5 * gamma * correlation)
