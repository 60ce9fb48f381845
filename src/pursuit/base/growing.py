"""Vectors and matrices that grow with the atoms in use, without being copied each time."""

from __future__ import annotations

import numpy as np

from pursuit.base.products import row_by_row, times
from pursuit.base.validation import Array


def lengthened(vector: Array, size: int) -> Array:
    """`vector` with zeros after it: a view of a larger array, where zeros are left for more."""
    room = vector.base
    if not isinstance(room, np.ndarray) or room.shape != (room.size,) or room.size < size:
        room = np.zeros(max(8, 2 * size), vector.dtype)
        room[: len(vector)] = vector
    return room[:size]


class Growing:
    """What grows along its first axis: the first `_count` entries of a larger array."""

    _store: Array
    _count: int = 0

    def drop(self, k: int) -> None:
        """Close the gap of the k-th entry."""
        self._store[k : self._count - 1] = self._store[k + 1 : self._count]
        self._count -= 1

    @property
    def array(self) -> Array:
        """What has been added so far; not to be kept."""
        return self._store[: self._count]


class Numbers(Growing):
    """A vector that grows by a number."""

    def __init__(self, dtype: type = np.float64) -> None:
        self._store = np.empty(8, dtype)

    def append(self, number: float) -> None:
        """Add a number."""
        if self._count == len(self._store):
            self._store = np.concatenate([self._store, np.empty_like(self._store)])
        self._store[self._count] = number
        self._count += 1


class Rows(Growing):
    """A matrix that grows by rows."""

    def __init__(self) -> None:
        self._store = np.empty((0, 0))

    def append(self, row: Array) -> None:
        """Add a row; an array of any shape counts as one."""
        if self._count == len(self._store):
            wider = np.empty((max(8, 2 * self._count), row.size), row.dtype)
            if self._count:
                wider[: self._count] = self._store
            self._store = wider
        self._store[self._count] = row.reshape(-1)
        self._count += 1

    def times(self, vector: Array) -> Array:
        """matrix · vector, also when there is no row yet."""
        return times(self.array, vector) if self._count else np.empty(0)

    def each_times(self, vector: Array) -> Array:
        """The same one row at a time: no bit depends on which other rows there are."""
        return row_by_row(self.array, vector) if self._count else np.empty(0)


class Table:
    """A symmetric matrix that grows by one row and column."""

    def __init__(self) -> None:
        self._store: Array = np.empty((0, 0))
        self._count = 0

    def append(self, column: Array, corner: float) -> None:
        """Add what stands beside and below the matrix, and in the new corner."""
        k = self._count
        if k == len(self._store):
            wider = np.empty((max(8, 2 * k), max(8, 2 * k)))
            wider[:k, :k] = self._store[:k, :k]
            self._store = wider
        self._store[k, :k] = self._store[:k, k] = column
        self._store[k, k] = corner
        self._count += 1

    def drop(self, k: int) -> None:
        """Close the gap of the k-th row and column."""
        keep = np.delete(np.arange(self._count), k)
        self._count -= 1
        self._store[: self._count, : self._count] = self._store[np.ix_(keep, keep)]

    @property
    def matrix(self) -> Array:
        """What has been added so far; not to be kept."""
        return self._store[: self._count, : self._count]
