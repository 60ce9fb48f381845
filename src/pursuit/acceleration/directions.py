"""A few directions of lin(A) that a run keeps; where there is no room, the oldest leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.validation import Array
from pursuit.points.base import Shift

BYTES = 2**28
"""The most memory that kept directions take."""
FIRST = 32
"""Rows that there is room for at first."""


class Directions:
    """Directions as rows of matrices, which are plain arrays in the memory of the run.

    Parameters
    ----------
    like
        The arrays of a point, to which a direction adds.
    most
        The number of directions to keep, as far as `BYTES` allow.
    ahead
        Rows before those that are kept, for directions of one step only.
    """

    def __init__(self, memory: dict[str, Any], like: Shift, most: int, ahead: int = 0) -> None:
        self._memory, self._ahead = memory, ahead
        self._shapes = {name: array.shape for name, array in like.items()}
        self.most = max(1, min(most, BYTES // sum(array.nbytes for array in like.values())))
        for name, array in like.items():
            rows = ahead + min(self.most, FIRST)
            memory[f"kept.{name}"] = np.zeros((rows, array.size), array.dtype)
        memory["kept"] = 0

    def __len__(self) -> int:
        return min(int(self._memory["kept"]), self.most)

    def rows(self, skip: int = 0) -> Shift:
        """All of them from a row on."""
        end = self._ahead + len(self)
        return {name: self._memory[f"kept.{name}"][skip:end] for name in self._shapes}

    def put(self, row: int, direction: Shift) -> None:
        """Write a row."""
        for name in self._shapes:
            self._memory[f"kept.{name}"][row] = direction[name].reshape(-1)

    def keep(self, direction: Shift) -> None:
        """Add a direction, in the place of the oldest where there is no room."""
        row = self._ahead + int(self._memory["kept"]) % self.most
        for name in self._shapes:
            rows = self._memory[f"kept.{name}"]
            if row == len(rows):
                more = np.zeros(
                    (min(row, self._ahead + self.most - row), rows.shape[1]), rows.dtype
                )
                self._memory[f"kept.{name}"] = np.concatenate([rows, more])
        self.put(row, direction)
        self._memory["kept"] += 1

    def clear(self) -> None:
        """Forget all that are kept."""
        self._memory["kept"] = 0

    def total(self, weights: Array, skip: int = 0) -> Shift:
        """Σ weights_i d_i."""
        return {
            name: (weights.astype(rows.dtype, copy=False) @ rows).reshape(self._shapes[name])
            for name, rows in self.rows(skip).items()
        }
