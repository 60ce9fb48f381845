"""Where an interrupted run is taken up again: after its last whole iteration."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from pursuit.solving.checkpoint import Checkpoint, copied, restore
from pursuit.solving.running import Running
from pursuit.solving.state import State

if TYPE_CHECKING:
    from pursuit.solving.loop import Loop

KEEP = 200
"""Checkpoints in memory come so many times what one takes apart: half a percent of a run."""
FIRST_KEEP = 2e-3
"""Seconds before the first one, where a run can as well be begun anew."""
PATIENCE = 0.2
"""Seconds that preparing a run may take to be done once more when it is interrupted."""


class Keeper:
    """Keeps a checkpoint in memory, from which the iterations since are made again.

    Attributes
    ----------
    due
        When the next one is to be kept.
    resumed
        The state that the run continued from.
    """

    def __init__(self, running: Running, preparing: float) -> None:
        self._running, self._preparing = running, preparing
        self.due = -inf
        self.resumed: State | None = None
        self._kept: Checkpoint | None = None

    def begin(self) -> None:
        """The loop begins."""
        if self._preparing < FIRST_KEEP:
            self.due = time.perf_counter() + FIRST_KEEP

    def keep(self, now: float) -> float:
        """Remember where the run is; the time when that is done."""
        self._kept = Checkpoint.of(self._running, copied)
        done = time.perf_counter()
        self.due = done + KEEP * (done - now)
        return done

    def after_iterations(self, whole: int, begin: Callable[[], Loop]) -> Running:
        """The run as it was after its whole iterations, the next one having been interrupted.

        They are made again from the last checkpoint, in a few milliseconds. Where f raises again,
        or preparing the run takes long, it is left at the checkpoint.
        """
        if self._kept is None:
            return self._repeated(whole, begin())
        finite = self._running.run.problem.atoms.finite is not None
        again = self._kept.iteration < whole and self._preparing <= PATIENCE
        if again or not finite:
            with suppress(Exception):
                return self._repeated(whole, begin())
        return self._set_back(self._running if finite else begin().running)

    def _repeated(self, whole: int, loop: Loop) -> Running:
        before, other = self._running, self._set_back(loop.running)
        other.stepper.x.adopt(before.stepper.x)
        while other.run.t < whole:
            loop.iterate(whole)
        other.rows, other.recorder, other.seconds = before.rows, before.recorder, before.seconds
        return other

    def _set_back(self, other: Running) -> Running:
        state = self.resumed
        if self._kept is not None:
            state = self._kept.state(self._running)
        if state is not None:
            restore(other, state)
        return other
