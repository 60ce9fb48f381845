"""Coefficients of one sign."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from pursuit.base.validation import Array
from pursuit.penalties.base import Number, Penalty


@dataclass(frozen=True)
class NonNegative(Penalty):
    """g = 0 for w ≥ 0, else ∞: coefficients never fall below zero.

    ``solve(f, atoms, penalty=NonNegative())`` is ``solve(f, Cone(atoms))``.
    """

    hull: ClassVar[str] = "cone"
    one_sided: ClassVar[bool] = True
    terms = (0.0, 0.0, inf)
    free = False

    def rescaled(self, scales: Array | None) -> Penalty:
        return self

    def value(self, w: Array) -> float:
        return 0.0 if np.all(w >= 0) else inf

    def prox(self, w: Array, h: Number) -> Array:
        return np.maximum(w, 0)

    def subgradient(self, c: Array, w: Array) -> Array:
        return np.where((c >= 0) & (w <= 0), 0, c)

    def gain(self, c: Array) -> Array:
        return -c
