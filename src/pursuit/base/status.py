"""How a run ended: stable numbers for files and kernels, sentences for people."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a run ended; the value is the message."""

    CONVERGED = "a stopping criterion was met"
    MAX_ITER = "maximum number of iterations reached"
    MAX_NONZERO = "maximum number of nonzero coefficients reached"
    MAX_TIME = "maximum time reached"
    STOPPED = "stopped by the callback"
    STALLED = "no further decrease at working precision"
    DIVERGED = "objective diverged"
    UNBOUNDED = "objective is unbounded below"

    @property
    def code(self) -> int:
        """A number that stays the same between versions."""
        return list(Status).index(self)

    @property
    def success(self) -> bool:
        return self is Status.CONVERGED
