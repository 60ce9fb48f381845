"""The Gram matrix of the columns that working sets have held so far: each pair multiplied once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pursuit.active.columns import DenseColumns
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.rules.memory import Memory


@dataclass
class Entered(Memory):
    """Columns in the order in which they entered, and how many there were after each time."""

    columns: Array = field(default_factory=lambda: np.empty(0, np.int64))
    ends: Array = field(default_factory=lambda: np.empty(0, np.int64))


class GrowingGram:
    """XᵀX for the columns that have entered.

    Products of blocks depend on their shapes to the last bit, so a run that is resumed makes the
    same blocks again: `entered` says which.
    """

    def __init__(self, columns: DenseColumns, entered: Entered) -> None:
        self.columns, self.entered = columns, entered
        self._place = np.full(columns.shape[1], -1)
        self._taken = np.empty((columns.shape[0], 0), order="F")
        self._gram = np.empty((0, 0))
        self._size = 0

    def at(self, places: Array) -> Array:
        """The Gram matrix of some columns, to be changed at will."""
        self._follow()
        new = places[self._place[places] < 0]
        if len(new):
            self.entered.columns = np.append(self.entered.columns, new)
            self.entered.ends = np.append(self.entered.ends, len(self.entered.columns))
            self._follow()
        at = self._place[places]
        gram: Array = self._gram[np.ix_(at, at)]
        return gram

    def _follow(self) -> None:
        """Multiply the blocks that have entered and are not there yet."""
        for end in self.entered.ends[np.searchsorted(self.entered.ends, self._size, "right") :]:
            self._enter(self.entered.columns[self._size : end])

    def _enter(self, new: Array) -> None:
        begin, end = self._size, self._size + len(new)
        if len(new) == self.columns.shape[1]:  # all at once, and in their order
            self._gram = self.columns.gram(np.ones(self.columns.shape[0]))
        else:
            self._make_room(end)
            taken, gram = self._taken, self._gram
            self.columns.fill(new, taken[:, begin:end])
            block = times(taken[:, begin:end].T, taken[:, :end])
            gram[begin:end, :end] = block
            gram[:begin, begin:end] = block[:, :begin].T
        self._place[new] = np.arange(begin, end)
        self._size = end

    def _make_room(self, size: int) -> None:
        if size <= len(self._gram):
            return
        room = max(size, 2 * len(self._gram))
        gram, taken = np.empty((room, room)), np.empty((self.columns.shape[0], room), order="F")
        old = self._size
        gram[:old, :old] = self._gram[:old, :old]
        taken[:, :old] = self._taken[:, :old]
        self._gram, self._taken = gram, taken
