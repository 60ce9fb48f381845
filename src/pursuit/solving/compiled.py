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
from typing import TYPE_CHECKING

import numpy as np

from pursuit import geometry
from pursuit.atoms.cone import Cone
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.points.base import GramPoint, Point
from pursuit.rules.advances import Greedy
from pursuit.rules.directions import Direction, Random, Replay, Steepest
from pursuit.rules.momentum import FixedNu, FixedNuStepper, Plain, Stepper
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import AffineInvariant, ExactLineSearch, Smooth, smoothness
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


class Stretch:
    """Makes iterations of a method in place of its stepper."""

    def __init__(
        self,
        run: Run,
        method: Method,
        stepper: Stepper,
        stop: Stopping,
        watched: Watched,
        watch: int,
    ) -> None:
        assert isinstance(method.advance, Greedy)
        self._run, self._stepper, self._stop = run, stepper, stop
        self._watched, self._watch = watched, watch
        self._step, self._pick = method.advance.step, method.advance.direction
        momentum = method.momentum
        self._probe = momentum.probe if isinstance(momentum, FixedNu) else None
        self._seen: dict[int, IteratedPoint] = {}
        self._ready: tuple[IterationRules, Ends] | None = None

    @staticmethod
    def suits(method: Method, stepper: Stepper) -> bool:
        """Whether the kernels know the rules, and the points are in Gram form."""
        advance, momentum, x = method.advance, method.momentum, stepper.x
        if not isinstance(advance, Greedy) or type(x) is not GramPoint or isinstance(x.atoms, Cone):
            return False
        probe = momentum.probe if isinstance(momentum, FixedNu) else None
        return (
            isinstance(advance.direction, (Steepest, Random, Replay))
            and isinstance(advance.step, (Smooth, AffineInvariant, ExactLineSearch))
            and isinstance(momentum, (Plain, FixedNu))
            and isinstance(probe, (Random, Replay, type(None)))
        )

    def worth_it(self, seconds: float) -> bool:
        """Whether the kernels are loaded, or a run of so many seconds may load them."""
        if _KERNELS not in sys.modules:
            left = inf if self._stop.max_time is None else self._stop.max_time - seconds
            if seconds < PATIENCE or left < LOADING:
                return False
        return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them; None if the stepper has to make it."""
        from pursuit.kernels import iterations as kernels

        stepper, x = self._stepper, self._x
        picks, probes = self._ahead(self._pick, "picks", most), _NO_DRAWS
        if not isinstance(self._pick, Steepest):
            most = len(picks)
        if self._probe is not None:
            probes = self._ahead(self._probe, "probes", most)
            most = len(probes)
        if most == 0 or x.looked:
            return None
        rules, ends = self._ready = self._ready or self._prepare()
        if isinstance(self._step, ExactLineSearch):
            diagonal = x.gram.rows.diagonal()  # of the rows that are known
            rules.bounds[:] = np.where(diagonal > 0, diagonal, inf)  # no step where f is flat
        span, notes = (self._run.t, self._run.t + most), self._notes()
        if isinstance(stepper, FixedNuStepper):
            y, v = self._point(stepper.y), self._point(stepper.v)
            draws = picks, probes
            steps, missing = kernels.accelerated(
                rules, ends, self._point(x), y, v, draws, span, notes
            )
            stepper.take(steps, float(notes[kernels.BETA]))
        else:
            steps, missing = kernels.plain(rules, ends, self._point(x), picks, span, notes)
        if missing != kernels.NOTHING:
            x.gram.row(missing)
        self._book(steps, notes)
        return self._progress(*notes[kernels.ATOM : kernels.BETA].tolist()) if steps else None

    # What the kernels are given -----------------------------------------------------------

    @property
    def _x(self) -> GramPoint:
        x = self._stepper.x
        assert isinstance(x, GramPoint)
        return x

    def _ahead(self, rule: Direction, purpose: str, most: int) -> Array:
        """The atoms of the next iterations, as many as are known; none for the oracle."""
        if isinstance(rule, Random):
            return self._run.streams[purpose].ahead(most)
        if isinstance(rule, Replay):
            return np.asarray(rule.indices, np.int64)[self._run.t : self._run.t + most]
        return _NO_DRAWS

    def _point(self, point: Point) -> IteratedPoint:
        from pursuit.kernels.iterations import IteratedPoint

        assert isinstance(point, GramPoint)
        if id(point) not in self._seen:
            bits = point.s.view(f"i{point.s.itemsize}")
            self._seen[id(point)] = IteratedPoint(point.coef, point.s, bits)
        return self._seen[id(point)]

    def _prepare(self) -> tuple[IterationRules, Ends]:
        from pursuit.kernels.iterations import Ends, IterationRules

        x, stop, stepper = self._x, self._stop, self._stepper
        gram = x.gram
        L, nu = (stepper.L, stepper.nu) if isinstance(stepper, FixedNuStepper) else (1.0, 1.0)
        rules = IterationRules(gram.rows, gram.known, self._bounds(), self._work(), L, nu)
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

    def _bounds(self) -> Array:
        """h_j of the step rule; room for them where it is the exact search."""
        step, problem, atoms = self._step, self._run.problem, self._x.atoms
        if isinstance(step, AffineInvariant):
            L_A = step.L_A or geometry.smoothness(problem.f, atoms).upper
            return np.full(len(atoms), float(L_A))
        L = smoothness(problem, step.L) if isinstance(step, Smooth) else 1.0
        bounds: Array = L * atoms.norms.astype(np.float64) ** 2
        return bounds

    def _work(self) -> Array:
        """The products of an iteration, in the order in which points count them."""
        one = 1 / len(self._x.atoms)
        look = 1.0 if isinstance(self._pick, Steepest) else one
        probe = [] if self._probe is None else [one]
        moves = [one, one] if isinstance(self._stepper, FixedNuStepper) else [one]
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
        if isinstance(self._pick, Steepest):
            x.counts.oracle_calls += steps
        for rule, purpose in ((self._pick, "picks"), (self._probe, "probes")):
            if isinstance(rule, Random):
                run.streams[purpose].skip(steps)

    def _progress(self, atom: float, gamma: float, correlation: float) -> Progress:
        slope = abs(correlation) if isinstance(self._pick, Steepest) else nan
        return Progress(int(atom), gamma, correlation, slope, 0.5 * gamma * correlation)
