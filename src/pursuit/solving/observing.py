"""What is seen of a run: its trace, the callback, the progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, log

from pursuit.base.progress import Silent
from pursuit.base.validation import Array
from pursuit.solving.running import Running


@dataclass(frozen=True)
class Snapshot:
    """What a callback is given at an observation; it returns True to stop the run."""

    iteration: int
    seconds: float
    value: float
    slope: float
    support: int
    x: Array


Callback = Callable[[Snapshot], bool | None]


class Observer:
    """Looks at a run every so many iterations; looking changes no number of it."""

    bar: Silent
    goal: float = 0.0
    """The value at which the run ends, where one is known."""
    limit: int = 0
    """The most iterations."""

    def __init__(self, running: Running, every: int) -> None:
        self._running, self.every = running, every
        self.callback: Callback | None = None

    @property
    def unseen(self) -> bool:
        """Whether an observation is due: of the start, or where a run was interrupted in one."""
        return self._running.run.t % self.every == 0 and not self._seen

    @property
    def _seen(self) -> bool:
        rows = self._running.rows
        return bool(rows) and rows[-1][0] == self._running.run.t

    def look(self) -> bool:
        """Record where the run is; True if the callback wants to stop."""
        running = self._running
        t, seconds, x, support = running.run.t, running.seconds, running.stepper.x, running.support
        value, slope, counts = x.total(), x.largest_slope(), x.counts
        work = (counts.oracle_calls, counts.products)
        running.rows.append((t, seconds, value, slope, support, *work))
        self.bar.update(self._way(t, value), f"value {value:.6g}")
        if self.callback is None:
            return False
        return bool(self.callback(Snapshot(t, seconds, value, slope, support, x.vector.copy())))

    def _way(self, t: int, value: float) -> float:
        """How far the run is, in iterations: those made, or its share of the way to the goal,
        by the logarithm of the value."""
        first = self._running.rows[0][2]
        if not (isfinite(value) and 0 < self.goal < first):
            return t
        return max(t, self.limit * log(first / max(value, self.goal)) / log(first / self.goal))

    def last_value(self) -> float:
        """The value at the end, which may come between two observations."""
        if not self._seen:
            self.look()
            self._running.off_beat = True
        return self._running.rows[-1][2]
