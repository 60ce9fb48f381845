"""Stretches of iterations over translated templates, compiled: bit for bit those of the rules."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np

from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.points.base import Point
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run
from pursuit.solving.compiled import CLOSE
from pursuit.solving.stopping import Stopping

if TYPE_CHECKING:
    from pursuit.kernels.local import LocalEnds
    from pursuit.points.local import ShiftsPoint
    from pursuit.solving.ends import Watched

MONOTONE = 0.5
"""With a bound of at least this share of ‖z‖² no step makes the value rise."""


class LocalStretch:
    """Makes iterations of matching pursuit, or along drawn atoms, in place of the stepper."""

    always = False
    beat = None

    def __init__(
        self, run: Run, method: Method, stepper: Stepper, stop: Stopping, watched: Watched
    ) -> None:
        assert method.advance.direction is not None
        assert method.advance.step is not None
        self._run, self._stop, self._watched = run, stop, watched
        self._pick, self._step = method.advance.direction, method.advance.step
        self._stepper = stepper
        self._bounds: Array | None = None
        self._able = True

    @staticmethod
    def suits(method: Method, stepper: Stepper) -> bool:
        """Whether the kernel knows the rules, and the point is one of translated templates."""
        advance, x = method.advance, stepper.x
        if not (x.compiled and method.momentum.alone):
            return False
        pick, step = advance.direction, advance.step
        return pick is not None and step is not None and (pick.exact or pick.blind)

    def worth_it(self, seconds: float) -> bool:
        """Whether the kernel can make the steps; it is loaded already."""
        if self._able and self._bounds is None:
            self._bounds = self._known_bounds(self._stepper.x)
            self._able = self._bounds is not None
        return self._able

    def _known_bounds(self, x: Point) -> Array | None:
        """h_j of γ = c/h_j; None where the step is more than that, or may make the value rise."""
        squares, n = _shifts(x).atoms.squares, len(_shifts(x).atoms)
        if self._step.exact:
            return squares
        kinds = np.arange(len(squares) if self._step.by_norm else n)
        bounds = self._step.bounds_of(self._run.problem, kinds)
        if bounds is None or (bounds < MONOTONE * squares[kinds % len(squares)]).any():
            return None
        return bounds

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them; None if the stepper has to make it."""
        from pursuit.kernels import local as kernels

        x, run = _shifts(self._stepper.x), self._run
        picks = np.empty(0, np.int64)
        if not self._pick.exact:
            picks = self._pick.ahead(run, "picks", most)
            most = len(picks)
        if most == 0 or self._bounds is None:
            return None
        x.room(most)
        x.notes[kernels.PRODUCTS] = x.counts.products
        kept = (x.kept, x.windows, x.residual, x.coefs)
        rules = (self._bounds, x.atoms.squares)
        steps = kernels.pursue(*kept, *rules, picks, most, self._ends(x), x.notes)
        run.t += steps
        x.looked, x.counts.products = False, float(x.notes[kernels.PRODUCTS])
        if self._pick.exact:
            x.counts.oracle_calls += steps
        self._pick.skip(run, "picks", steps)
        self._watched.best = min(self._watched.best, x.value())
        return self._progress(*x.notes[: kernels.VALUE].tolist())

    def _ends(self, x: ShiftsPoint) -> LocalEnds:
        from pursuit.kernels.local import LocalEnds

        stop, first = self._stop, self._watched.first_value
        value = -inf
        if stop.goal is not None:
            eps = float(np.finfo(x.dtype).eps)
            value = stop.goal[0] + CLOSE * eps * max(abs(stop.goal[0]), abs(first))
        work = round(x.atoms.crowding) / len(x.atoms)
        return LocalEnds(stop.tol * self._watched.first_slope, value, stop.max_atoms or 0, work)

    def _progress(self, atom: float, gamma: float, correlation: float) -> Progress:
        slope = abs(correlation) if self._pick.exact else nan
        return Progress(int(atom), gamma, correlation, slope, 0.5 * gamma * correlation)


def _shifts(x: Point) -> ShiftsPoint:
    from pursuit.points.local import ShiftsPoint

    assert isinstance(x, ShiftsPoint)
    return x
