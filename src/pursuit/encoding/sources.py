"""Where signals come from: an array, a memory map, a .npy file, or an iterator of blocks."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array, plain_array
from pursuit.files.arrays import existing_file, reading
from pursuit.files.npy import open_npy

UNKNOWN = 2**20
"""Signals that a job is planned for where nobody knows their number."""
WINDOW_BYTES = 2**26
"""What is held of an iterator's signals at a time."""


class Blocks:
    """Signals from an iterator of arrays of rows: a window of them is in memory at a time.

    ``blocks[a:b]`` gives signals by their number in the whole, as long as they are inside of the
    window. The arrays that the iterator gives may have any number of rows.
    """

    def __init__(self, arrays: Iterator[object], shape: tuple[int, ...]) -> None:
        first = next(arrays, None)
        if first is None:
            raise InputError("signals: expected at least one block, got an iterator without any")
        self._arrays, self._shape = chain([first], arrays), shape
        self.dtype: np.dtype[Any] = plain_array("signals", first).dtype
        self._window = np.empty((0, math.prod(shape)), self.dtype)
        self._begin = 0

    def __getitem__(self, rows: slice) -> Array:
        return self._window[rows.start - self._begin : rows.stop - self._begin]

    @property
    def seen(self) -> int:
        """Signals that came so far."""
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
        for number, given in enumerate(self._arrays):
            array = plain_array("signals", given)
            if array.dtype != self.dtype:
                raise InputError(
                    f"signals: expected blocks of one type, got {self.dtype} first and "
                    f"{array.dtype} in block {number}"
                )
            yield flat(array, self._shape)

    def _show(self, window: Array, block: int) -> range:
        self._begin, self._window = self.seen, window
        return range(self._begin // block, -(-self.seen // block))


def open_signals(signals: object, shape: tuple[int, ...]) -> Array | Blocks:
    """Signals as rows for atoms of `shape`. A .npy file is mapped, never read as a whole."""
    if isinstance(signals, Iterator):
        return Blocks(signals, shape)
    if isinstance(signals, (str, os.PathLike)):
        signals = map_npy(signals)
    return flat(plain_array("signals", signals), shape)


def expected(signals: Array | Blocks) -> int:
    """How many signals there are, or how many to plan for."""
    return UNKNOWN if isinstance(signals, Blocks) else len(signals)


def map_npy(path: str | os.PathLike[str]) -> Array:
    """The array of a .npy file, read from disk where it is looked at. Nothing is unpickled."""
    file = existing_file(path)
    if file.suffix.lower() != ".npy":
        raise InputError(f"signals: expected an array or the path of a .npy file, got {file}")
    with reading(file):
        if not open_npy(file).shapes:
            raise InputError(f"{file}: holds no array of real numbers")
        mapped: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    return mapped


def flat(signals: Array, shape: tuple[int, ...]) -> Array:
    """Signals as rows of numbers, checked against the shape of an atom; one alone is a row."""
    given = signals.shape
    if given == shape:
        signals = signals[None]
    if signals.shape[1:] != shape and (signals.ndim != 2 or signals.shape[1] != math.prod(shape)):
        raise InputError(
            f"signals: expected rows of the atoms' shape {shape}, or one of that shape alone, got "
            f"shape {given}"
        )
    if not len(signals):
        raise InputError(f"signals: expected at least one, got shape {given}")
    return signals.reshape(len(signals), -1)
