"""A few directions of lin(A) that a run keeps; where there is no room, the oldest leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pursuit.base.validation import Array
from pursuit.points.base import Shift
from pursuit.rules.memory import Memory

BYTES = 2**28
"""The most memory that kept directions take."""
FIRST = 32
"""Rows that there is room for at first."""


class Directions(Memory):
    """Directions as rows of matrices, remembered by the run.

    Parameters
    ----------
    like
        The arrays of a point, to which a direction adds.
    most
        The number of directions to keep, as far as `BYTES` allow.
    ahead
        Rows before those that are kept, for directions of one step only.
    """

    def __init__(self, like: Shift, most: int, ahead: int = 0) -> None:
        self._ahead, self._kept = ahead, 0
        self._shapes = {name: array.shape for name, array in like.items()}
        self.most = max(1, min(most, BYTES // sum(array.nbytes for array in like.values())))
        rows = ahead + min(self.most, FIRST)
        self._rows = {name: np.zeros((rows, a.size), a.dtype) for name, a in like.items()}

    def saved(self) -> dict[str, Any]:
        return {"kept": self._kept, **self._rows}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self._kept, self._rows = saved["kept"], {name: saved[name] for name in self._rows}

    def __len__(self) -> int:
        return min(self._kept, self.most)

    def rows(self, skip: int = 0) -> Shift:
        """All of them from a row on."""
        end = self._ahead + len(self)
        return {name: rows[skip:end] for name, rows in self._rows.items()}

    def put(self, row: int, direction: Shift) -> None:
        """Write a row."""
        for name, rows in self._rows.items():
            rows[row] = direction[name].reshape(-1)

    def keep(self, direction: Shift) -> None:
        """Add a direction, in the place of the oldest where there is no room."""
        row = self._ahead + self._kept % self.most
        for name, rows in self._rows.items():
            if row == len(rows):
                more = np.zeros(
                    (min(row, self._ahead + self.most - row), rows.shape[1]), rows.dtype
                )
                self._rows[name] = np.concatenate([rows, more])
        self.put(row, direction)
        self._kept += 1

    def clear(self) -> None:
        """Forget all that are kept."""
        self._kept = 0

    def total(self, weights: Array, skip: int = 0, names: Iterable[str] | None = None) -> Shift:
        """Σ weights_i d_i, or those of its arrays that are asked for."""
        rows = self.rows(skip)
        return {
            name: (weights.astype(rows[name].dtype, copy=False) @ rows[name]).reshape(
                self._shapes[name]
            )
            for name in names or rows
        }
