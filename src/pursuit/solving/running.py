"""A run on its way: where it is, and what was seen so far."""

from __future__ import annotations

from functools import cached_property
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from pursuit.base.validation import Array
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run
from pursuit.solving.path import Recorder
from pursuit.solving.state import Fingerprint
from pursuit.solving.verification import Verification, Verified

if TYPE_CHECKING:
    from pursuit.solving.compiled import Compiled

REFRESH = 1000
"""Iterations between two recomputations of what steps keep up to date."""
NOTHING = Progress(None, nan, nan, nan, nan)
"""What is known of a last iteration where there is none."""


class Running:
    """What changes while a method runs; all of it is in a checkpoint.

    Attributes
    ----------
    run, stepper
        What the rules share, and the momentum at work with its points.
    offset
        Coefficients that the run began with, which those of its points count from.
    recorder
        The last point with each number of atoms, for rules that keep it.
    mark
        What tells this run from others.
    seconds, last
        Time in steps, and the last of them.
    rows, off_beat
        What was observed; whether the last row is that of an end between two observations.
    whole
        Within an iteration, the number of those before it.
    """

    def __init__(
        self,
        run: Run,
        stepper: Stepper,
        verify: Verification,
        mark: Fingerprint,
        offset: Array | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.run, self.stepper, self.mark = run, stepper, mark
        self.offset, self.recorder, self._verify = offset, recorder, verify
        self.seconds, self.last = 0.0, NOTHING
        self.rows: list[tuple[float, ...]] = []
        self.off_beat = False
        self.whole: int | None = None
        self._verified: Verified | None = None

    # What moves it ----------------------------------------------------------------------

    def step(self) -> None:
        """One iteration, by the rules."""
        self._verified = None
        self.last = self.stepper.step()
        self.run.t += 1

    def stretch(self, compiled: Compiled, most: int) -> bool:
        """Up to so many iterations, compiled; False if the rules have to make the next one."""
        self._verified = None
        progress = compiled(most)
        if progress is None:
            return False
        self.last = progress
        return True

    def refresh(self) -> None:
        """Compute anew what steps keep up to date."""
        self.stepper.refresh()
        for memory in self.run.memories.values():
            memory.refreshed()

    def record(self) -> None:
        """Keep the point as the last one with its number of atoms."""
        if self.recorder is not None:
            x = self.stepper.x
            used = x.used
            places = used if self.offset is None else np.flatnonzero(self.coef)
            self.recorder.record(len(places), used, x.weights(used), self.seconds)

    def forget(self) -> None:
        """The points have been replaced by others."""
        self._verified = None

    # What is asked of it ----------------------------------------------------------------

    @property
    def coef(self) -> Array:
        """The coefficients of the atoms that the method runs on, those it began with included."""
        coef = self.stepper.x.coef
        return coef if self.offset is None else coef + self.offset

    @property
    def used(self) -> Array:
        """The places of the atoms in use."""
        return self.stepper.x.used if self.offset is None else np.flatnonzero(self.coef)

    @property
    def support(self) -> int:
        """The number of atoms in use."""
        x = self.stepper.x
        return x.support if self.offset is None else int(np.count_nonzero(self.coef))

    @property
    def verified(self) -> Verified:
        """What is true at the point that a result would return."""
        if self._verified is None:
            used = self.used
            x = self.stepper.x
            weights = x.weights(used) if self.offset is None else self.coef[used]
            self._verified = self._verify(x, weights, used)
        return self._verified

    @cached_property
    def period(self) -> int:
        """Iterations between two recomputations."""
        return REFRESH * self.stepper.x.steadiness

    @cached_property
    def eps(self) -> float:
        return float(np.finfo(self.stepper.x.dtype).eps)
