"""No penalty."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from pursuit.base.validation import Array
from pursuit.penalties.base import Number, Penalty


@dataclass(frozen=True)
class Free(Penalty):
    """g = 0: no penalty, combinations are lin(A)."""

    terms = (0.0, -inf, inf)
    free = True

    def value(self, w: Array) -> float:
        return 0.0

    def prox(self, w: Array, h: Number) -> Array:
        return w

    def subgradient(self, c: Array, w: Array) -> Array:
        return c

    def gain(self, c: Array) -> Array:
        return np.abs(c)


FREE = Free()
