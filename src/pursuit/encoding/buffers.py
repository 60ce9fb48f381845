"""Arrays that kernels write to."""

from __future__ import annotations

import numpy as np

from pursuit.kernels.layouts import Signals
from pursuit.kernels.pursuit import GOING, Outcome


def room_for(b: int, width: int) -> Outcome:
    """The state of a block of b signals, with codes of up to `width` atoms."""
    return Outcome(
        np.empty((b, width), np.int32),
        np.empty((b, width)),
        np.empty(b, np.int32),
        np.empty(b),
        np.empty(b, np.int64),
        np.empty(b, np.uint8),
    )


def fresh(room: Outcome, signals: Signals) -> Outcome:
    """The state of signals that nothing was done to yet."""
    found = Outcome(*(array[: len(signals.x)] for array in room))
    found.size[:] = 0
    found.residual2[:] = signals.norm2
    found.steps[:] = 0
    found.status[:] = GOING
    return found
