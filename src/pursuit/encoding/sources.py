"""Where signals come from: an array, a memory map, a file, an iterator of blocks, Dask's chunks."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array, plain_array
from pursuit.encoding.chunks import Chunks, from_zarr, is_dask, is_zarr
from pursuit.encoding.rows import Held, SignalRows, flat, map_npy

UNKNOWN = 2**20
"""Signals that a job is planned for where nobody knows their number."""
WINDOW_BYTES = 2**26
"""What is held of an iterator's signals at a time."""


class Blocks(SignalRows):
    """Signals from an iterator of arrays of rows: a window of them is in memory at a time.

    ``blocks[a:b]`` gives signals by their number in the whole, as long as they are inside of the
    window. The arrays that the iterator gives may have any number of rows, none too.
    """

    kind = "an iterator"

    def __init__(self, arrays: Iterator[object], shape: tuple[int, ...]) -> None:
        numbered = _without_empty(arrays)
        first = next(numbered, None)
        if first is None:
            raise InputError("signals: expected at least one block, got an iterator without any")
        flat(first[1], shape)
        self._arrays, self._shape = chain([first], numbered), shape
        self.dtype: np.dtype[Any] = first[1].dtype
        self._window = np.empty((0, math.prod(shape)), self.dtype)
        self._begin = 0

    def __getitem__(self, rows: slice) -> Array:
        return self._window[rows.start - self._begin : rows.stop - self._begin]

    @property
    def seen(self) -> int:
        return self._begin + len(self._window)

    def windows(self, block: int) -> Iterator[range]:
        """Move the window along; the numbers of the blocks, of `block` signals, inside it."""
        width = self._window.shape[1]
        rows = max(1, WINDOW_BYTES // (block * width * self.dtype.itemsize)) * block
        room, filled = np.empty((rows, width), self.dtype), 0
        for array in self._checked():
            while len(array):
                taken = array[: rows - filled]
                room[filled : filled + len(taken)] = taken
                filled, array = filled + len(taken), array[len(taken) :]
                if filled == rows:
                    yield self._show(room, block)
                    filled = 0
        if filled:
            yield self._show(room[:filled], block)

    def _checked(self) -> Iterator[Array]:
        for number, array in self._arrays:
            if array.dtype != self.dtype:
                raise InputError(
                    f"signals: expected blocks of one type, got {self.dtype} first and "
                    f"{array.dtype} in block {number}"
                )
            yield flat(array, self._shape)

    def _show(self, window: Array, block: int) -> range:
        self._begin, self._window = self.seen, window
        return range(self._begin // block, -(-self.seen // block))


def _without_empty(arrays: Iterator[object]) -> Iterator[tuple[int, Array]]:
    """Yield the arrays that have rows, each with its number; a filter may leave some empty."""
    for number, block in enumerate(arrays):
        array = plain_array("signals", block)
        if array.ndim == 0 or len(array):
            yield number, array


def open_signals(signals: object, shape: tuple[int, ...]) -> SignalRows:
    """Signals as rows for atoms of `shape`. A file is never read as a whole."""
    if isinstance(signals, Iterator):
        return Blocks(signals, shape)
    if is_dask(signals):
        return Chunks(signals, shape)
    if is_zarr(signals):
        return Chunks(from_zarr(signals), shape, lazy=False)
    if isinstance(signals, (str, os.PathLike)):
        signals = map_npy(signals)
    return Held(flat(plain_array("signals", signals), shape))
