"""Stretches of coordinate descent on linear models, compiled.

Where the columns of X are worth it every iteration of a run is one of the kernels', so that no bit
depends on when it changed over to them, nor on how often it is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.points.columns import ColumnPoint
from pursuit.rules.directions import Direction, next_picks
from pursuit.rules.memory import Memory
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import column_bounds
from pursuit.solving.stopping import Stopping

if TYPE_CHECKING:
    from pursuit.kernels.coordinates import PenaltyArrays
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

    always = True

    def __init__(
        self,
        run: Run,
        stepper: Stepper,
        pick: Direction,
        bounds: Array,
        stop: Stopping,
        watched: Watched,
    ) -> None:
        self._run, self._stepper, self._pick, self._bounds = run, stepper, pick, bounds
        self._most, self._tol, self._watched = stop.max_atoms, stop.tol, watched
        self._arrays: PenaltyArrays | None = None
        self._kept: KeptSlopes | None = None
        if pick.exact:
            zeros = np.zeros(len(self._x.image)), np.zeros(len(self._x.coef))
            self._kept = run.remember("slopes", KeptSlopes(*zeros))

    @staticmethod
    def of(
        run: Run, method: Method, stepper: Stepper, stop: Stopping, watched: Watched
    ) -> ColumnStretch | None:
        """One for a run, if the kernels know its rules and the point is one of columns."""
        pick, step = method.advance.direction, method.advance.step
        if stepper.x.columnar is None or not method.momentum.alone or pick is None or step is None:
            return None
        # No bounds: Newton's steps.
        bounds = np.empty(0) if step.newton else column_bounds(step, run.problem)
        if bounds is None or not (pick.exact or pick.blind):
            return None
        return ColumnStretch(run, stepper, pick, bounds, stop, watched)

    @property
    def beat(self) -> int:
        """Iterations between two looks at the value."""
        return LOOKS if self._pick.exact else len(self._x.coef)

    def worth_it(self, seconds: float) -> bool:
        """The kernels make every iteration."""
        return True

    def __call__(self, most: int) -> Progress | None:
        """Up to `most` iterations, and the last of them; None if the stepper has to make it."""
        from pursuit.kernels import coordinates as kernels

        x, run = self._x, self._run
        notes = np.zeros(9)
        notes[kernels.PRODUCTS] = x.counts.products
        notes[kernels.USED] = x.support if self._most else 0
        make = self._steepest if self._pick.exact else self._picked
        steps = make(x, most, notes)
        if steps == 0:  # a rule that does not know its picks, or has no more of them
            return None
        run.t += steps
        x.moved()
        x.counts.products = float(notes[kernels.PRODUCTS])
        atom, gamma, c, slope, gain = notes[kernels.ATOM : kernels.USED].tolist()
        return Progress(int(atom), gamma, c, slope if self._pick.exact else nan, gain)

    # Its parts ---------------------------------------------------------------------------

    def _picked(self, x: ColumnPoint, most: int, notes: Array) -> int:
        from pursuit.kernels import coordinates as kernels

        picks, n = next_picks(self._pick, self._run, "picks", most), len(x.coef)
        limit = self._most or n + 1
        rules = x.model, self._penalties(x), self._bounds
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
        low = self._tol * self._watched.first_slope
        limits = most, self._most or n + 1, low
        rules = model, x.f.kernel_rows, self._penalties(x), self._bounds
        steps = kernels.descend_steepest(
            *rules, x.place, kept.samples, kept.c, limits, 1 / n, notes
        )
        x.counts.oracle_calls += steps
        return int(steps)

    def _penalties(self, x: ColumnPoint) -> PenaltyArrays:
        if self._arrays is None:
            from pursuit.kernels.coordinates import PenaltyArrays

            self._arrays = PenaltyArrays(*x.atoms.penalty.parts(len(x.coef)))
        return self._arrays

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
