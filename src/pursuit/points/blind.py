"""Points of methods without gradients."""

from __future__ import annotations

from math import nan

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import combined


class BlindPoint(AmbientPoint):
    """A point that knows values of f and no slopes."""

    def __init__(self, f: Objective, atoms: AtomSet, x0: Array) -> None:
        if not isinstance(x0, np.ndarray):
            raise InputError(f"method: gradient-free cannot run on a {type(f).__name__}")
        super().__init__(f, atoms, x0)

    def dual_norm(self) -> float:
        return nan

    def assemble(self, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
        return combined(self, atoms, origin, weights, places)

    def dual_norm_at(self, x: Array) -> float:
        return nan
