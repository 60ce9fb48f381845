"""How a run ended: stable numbers for files and kernels, sentences for people."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a run ended; the value is the message."""

    CONVERGED = "the stopping test was met"
    MAX_ITER = "the iterations ran out"
    MAX_ATOMS = "the allowed number of atoms is in use"
    MAX_TIME = "the time ran out"
    STOPPED = "the callback asked to stop"
    STALLED = "no further progress is possible in this precision"
    DIVERGED = "the value runs away"
    UNBOUNDED = "f falls without end"

    @property
    def code(self) -> int:
        """A number that stays the same between versions."""
        return list(Status).index(self)

    @property
    def success(self) -> bool:
        return self is Status.CONVERGED
