"""When plain pursuit has become slow enough to be worth accelerating."""

from __future__ import annotations

from math import inf, log

import numpy as np

from pursuit.base.validation import Array
from pursuit.rules.run import Run

WINDOW = 5
"""The fewest steps whose decreases are compared."""


class Patience:
    """Watches the decreases of plain pursuit for its time constant.

    With D1 and D0 the decreases summed over the last W = max(5, t/4) steps and over the W steps
    before, W/ln(D0/D1) is the number of steps in which what is left falls by a factor e.

    Parameters
    ----------
    run
        Its memory holds the decreases so far.
    limit
        The time constant from which on pursuit counts as slow; 0: from the beginning.
    """

    def __init__(self, run: Run, limit: float) -> None:
        self._memory, self._limit = run.memory, limit
        self._memory["fallen"] = np.zeros(2 * WINDOW + 1)
        self._memory["pursued"] = 0
        self._memory["lost"] = limit == 0

    @property
    def lost(self) -> bool:
        """Whether pursuit was found slow."""
        return bool(self._memory["lost"])

    def watch(self, decrease: float) -> None:
        """Take in the decrease of one more step of plain pursuit."""
        memory = self._memory
        t = memory["pursued"] = memory["pursued"] + 1
        fallen = memory["fallen"]
        if t == len(fallen):
            fallen = memory["fallen"] = np.concatenate([fallen, np.zeros(t)])
        fallen[t] = fallen[t - 1] + decrease
        memory["lost"] = time_constant(fallen, t) > self._limit
        if memory["lost"]:
            memory["fallen"] = np.zeros(0)  # it is looked at no more


def time_constant(fallen: Array, t: int) -> float:
    """W/ln(D0/D1) after t steps; `fallen` are the decreases so far, summed."""
    window = max(WINDOW, t // 4)
    if t < 2 * window:
        return 0.0
    last = fallen[t] - fallen[t - window]
    before = fallen[t - window] - fallen[t - 2 * window]
    if last >= before:
        return inf
    return window / log(before / last) if last > 0 else 0.0
