"""The loop: steps, looks and stops."""

from __future__ import annotations

import os
import time
from math import isfinite, isnan

import numpy as np

from pursuit.base.status import Status
from pursuit.rules.run import Unbounded
from pursuit.solving.checkpoint import state_of
from pursuit.solving.compiled import Compiled
from pursuit.solving.ends import WATCH, Ended, Reasons, ended
from pursuit.solving.interrupted import Keeper
from pursuit.solving.observing import Observer
from pursuit.solving.running import Running
from pursuit.solving.stopping import Stopping

SAVE_SECONDS = 30.0
"""Time between two checkpoints of a long run."""


class Loop:
    """Drives a run to its end; the state is written to the file `checkpoint`, if there is one."""

    def __init__(
        self,
        running: Running,
        reasons: Reasons,
        observer: Observer,
        keeper: Keeper,
        stop: Stopping,
        stretch: Compiled | None,
    ) -> None:
        self.running, self.observer, self.keeper = running, observer, keeper
        self._reasons, self._stop, self._stretch = reasons, stop, stretch
        self.checkpoint: str | os.PathLike[str] | None = None

    def drive(self) -> Ended:
        """To the end, and how it came."""
        running = self.running
        running.record()
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                found = self._reasons.before() or self._iterations()
            except Unbounded as endless:  # a search along a line has moved nothing yet
                found, running.whole = self._reasons.endless(str(endless)), None
            value = self.observer.last_value()
            if isfinite(value) and found[0] is not Status.UNBOUNDED:
                value = running.verified.value  # in the user's scale it may be out of range
        self._save()
        return self._reasons.told(found) if isfinite(value) else self._reasons.diverged(value)

    def _iterations(self) -> Ended:
        running, observer, keeper = self.running, self.observer, self.keeper
        run, every, stop = running.run, observer.every, self._stop
        if observer.unseen and observer.look():
            return ended(Status.STOPPED)
        saved = time.monotonic()
        keeper.begin()
        while run.t < stop.max_iter:
            began = time.perf_counter()
            if began >= keeper.due:
                began = keeper.keep(began)
            running.whole = run.t
            found = self.iterate(stop.max_iter)
            running.whole = None
            running.seconds += time.perf_counter() - began
            if running.recorder is not None:
                running.record()
            asked = run.t % every == 0 and observer.look()
            if found:
                return found
            if asked:
                return ended(Status.STOPPED)
            if stop.max_time is not None and running.seconds >= stop.max_time:
                return ended(Status.MAX_TIME)
            if self.checkpoint is not None and time.monotonic() - saved > SAVE_SECONDS:
                self._save()
                saved = time.monotonic()
        return ended(Status.MAX_ITER)

    def iterate(self, end: int) -> Ended | None:
        """All that changes the state of the run: one iteration, or as many before `end` as nobody
        wants to look between; and whether a test was met."""
        running = self.running
        if self._stretch is None or not self._stretched(self._stretch, end):
            running.step()
        t = running.run.t
        found = self._reasons.reached()
        if found is None and t % self._reasons.watching == 0:
            found = self._reasons.watch()
        if t % running.period == 0:
            running.refresh()
        return found

    def _stretched(self, stretch: Compiled, end: int) -> bool:
        """Whether compiled iterations were made, up to the next look."""
        running, every = self.running, self.observer.every
        if (every < WATCH and not stretch.always) or not stretch.worth_it(running.seconds):
            return False
        t, period = running.run.t, self._reasons.period
        looks = [running.period - t % running.period, every - t % every, end - t]
        if self._stop.tol and isnan(running.last.slope):  # the slope is tested, and not seen
            looks.append(period - t % period)
        if self._reasons.gap is not None:
            looks.append(self._reasons.gap.period - t % self._reasons.gap.period)
        if (beat := stretch.beat) is not None:
            looks.append(beat - t % beat)
        return running.stretch(stretch, min(looks))

    def _save(self) -> None:
        if self.checkpoint is not None:
            state_of(self.running).save(self.checkpoint)
