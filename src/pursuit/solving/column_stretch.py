"""Stretches of coordinate descent on linear models, compiled.

Where the columns of X are worth it every iteration of a run is one of the kernels', so that no bit
depends on when it changed over to them, nor on how often it is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.points.columns import ColumnPoint
from pursuit.rules.memory import Memory
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import bounds_of
from pursuit.solving.stopping import Stopping

if TYPE_CHECKING:
    from pursuit.kernels.coordinates import ColumnEntries, PenaltyArrays
    from pursuit.solving.ends import Watched

LOOKS = 100
"""Iterations along steepest coordinates between two looks at the value."""


@dataclass
class KeptSlopes(Memory):
    """wᵢ ℓᵢ′ of the samples and c = Xᵀ of them, which steps keep up to date."""

    samples: Array
    c: Array
    stale: bool = True

    def refreshed(self) -> None:
        self.stale = True


class ColumnStretch:
    """Makes iterations along coordinates in place of the stepper."""

    def __init__(
        self, run: Run, method: Method, stepper: Stepper, stop: Stopping, watched: Watched
    ) -> None:
        assert method.advance.direction is not None
        assert method.advance.step is not None
        self._run, self._stop, self._watched = run, stop, watched
        self._pick, self._step = method.advance.direction, method.advance.step
        self._stepper = stepper
        self._bounds: Array | None = None
        self._arrays: PenaltyArrays | None = None
        self._across: ColumnEntries | None = None
        x = self._x
        self._kept: KeptSlopes | None = None
        if self._pick.exact:
            zeros = np.zeros(len(x.image)), np.zeros(len(x.coef))
            self._kept = run.remember("slopes", KeptSlopes(*zeros))

    @staticmethod
    def suits(method: Method, stepper: Stepper, problem: Problem) -> bool:
        """Whether the kernels know the rules, and the point is one of columns."""
        pick, step = method.advance.direction, method.advance.step
        if stepper.x.columnar is None or not method.momentum.alone or pick is None or step is None:
            return False
        by_bounds = step.newton or step.bounds(problem) is not None
        return (pick.exact or pick.blind) and by_bounds

    always = True

    @property
    def beat(self) -> int:
        """Iterations between two looks at the value."""
        return LOOKS if self._pick.exact else len(self._x.coef)

    def worth_it(self, seconds: float) -> bool:
        """The kernels make every iteration."""
        return True

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them."""
        from pursuit.kernels import coordinates as kernels

        x, run = self._x, self._run
        notes = np.zeros(9)
        notes[kernels.PRODUCTS] = x.counts.products
        notes[kernels.USED] = x.support if self._stop.max_atoms else 0
        make = self._steepest if self._pick.exact else self._picked
        steps = make(x, most, notes)
        run.t += steps
        x.moved()
        x.counts.products = float(notes[kernels.PRODUCTS])
        atom, gamma, c, slope, gain = notes[kernels.ATOM : kernels.USED].tolist()
        return Progress(int(atom), gamma, c, slope if self._pick.exact else nan, gain)

    # Its parts ---------------------------------------------------------------------------

    def _picked(self, x: ColumnPoint, most: int, notes: Array) -> int:
        from pursuit.kernels import coordinates as kernels

        picks = np.asarray(self._pick.ahead(self._run, "picks", most), np.int64)
        n = len(x.coef)
        if not picks.size or picks.min() < 0 or picks.max() >= n:
            raise InputError(
                f"direction: {type(self._pick).__name__}.ahead gives {picks[:3]} …; expected row "
                f"numbers from 0 to {n - 1}"
            )
        limit = self._stop.max_atoms or n + 1
        rules = x.model, self._penalties(x), self._known_bounds()
        steps = kernels.descend(*rules, x.place, picks, limit, 1 / n, notes)
        self._pick.skip(self._run, "picks", steps)
        return int(steps)

    def _steepest(self, x: ColumnPoint, most: int, notes: Array) -> int:
        from pursuit.kernels import coordinates as kernels

        kept, model, n = self._kept, x.model, len(x.coef)
        assert kept is not None
        if kept.stale:
            kernels.slopes_of(model, x.image, kept.samples)
            kept.c[...] = times(x.f.X.T, kept.samples)
            kept.stale = False
        low = self._stop.tol * self._watched.first_slope
        limits = most, self._stop.max_atoms or n + 1, low
        rules = model, self._rows(x), self._penalties(x), self._known_bounds()
        steps = kernels.descend_steepest(
            *rules, x.place, kept.samples, kept.c, limits, 1 / n, notes
        )
        x.counts.oracle_calls += steps
        return int(steps)

    def _known_bounds(self) -> Array:
        """h_j of γ = c/h_j; none for Newton's steps."""
        if self._bounds is None:
            known = None if self._step.newton else bounds_of(self._step, self._run.problem)
            self._bounds = np.empty(0) if known is None else known
        return self._bounds

    def _penalties(self, x: ColumnPoint) -> PenaltyArrays:
        if self._arrays is None:
            from pursuit.kernels.coordinates import PenaltyArrays

            self._arrays = PenaltyArrays(*x.atoms.penalty.parts(len(x.coef)))
        return self._arrays

    def _rows(self, x: ColumnPoint) -> ColumnEntries:
        if self._across is None:
            self._across = x.f.kernel_rows
        return self._across

    @property
    def _x(self) -> ColumnPoint:
        x = self._stepper.x.columnar
        assert x is not None
        return x


class PairStretch:
    """Makes iterations of Algorithm 3 in place of the stepper."""

    always = True

    def __init__(self, run: Run, stepper: Stepper) -> None:
        assert stepper.column_pair is not None
        self._run, self._pair = run, stepper.column_pair
        self.beat = len(self._pair.v.coef)

    def worth_it(self, seconds: float) -> bool:
        """The kernels make every iteration."""
        return True

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them."""
        steps, progress = self._pair.steps(most)
        self._run.t += steps
        return progress
