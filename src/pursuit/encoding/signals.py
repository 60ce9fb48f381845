"""Where signals come from: an array, a memory map, a file, an iterator of blocks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import Array, plain_array
from pursuit.files.arrays import existing_file, reading
from pursuit.files.npy import open_npy

if TYPE_CHECKING:
    from pursuit.encoding.encoder import Encoder
    from pursuit.encoding.stream import Sink, Throughput

UNKNOWN = 2**20
"""Signals that a job is planned for where nobody knows their number."""
WINDOW_BYTES = 2**26
"""What is held of an iterator's signals at a time."""


class SignalRows:
    """Signals as rows of numbers, wherever they come from; ``source[a:b]`` gives some of them."""

    dtype: np.dtype[Any]
    kind: str
    """What they are, for messages."""
    total: int | None = None
    """Their number, where it is known."""
    array: Array | None = None
    """All of them, where they are at hand."""

    @property
    def seen(self) -> int:
        """How many came so far."""
        return self.total or 0

    def __getitem__(self, rows: Any) -> Array:
        assert self.array is not None
        some: Array = self.array[rows]
        return some

    def windows(self, block: int) -> Iterable[range]:
        """Numbers of blocks, of `block` signals each, that are at hand together."""
        return [range(-(-self.seen // block))]

    def lazy_codes(self, encoder: Encoder) -> Any:
        """Return codes that are computed later, where that is what such signals are for."""
        return None

    def encode_missing(self, encoder: Encoder, sink: Sink, rate: Throughput) -> None:
        """Encode the blocks that a sink does not have, and compare the signals of the others."""
        block = encoder.plan(self.dtype).block

        def rows(number: int) -> Array:
            return self[number * block : (number + 1) * block]

        for window in self.windows(block):
            missing = [number for number in window if not sink.has(number)]
            for number in window:
                if sink.has(number):
                    sink.verify(number, len(rows(number)), sink.checksum(rows(number)))
            if missing:  # the dictionary's part is done when there is a first one
                encoder.encoders(self.dtype).each(missing, rows, sink.take, rate)
                rate.add(len(missing))


class SignalArray(SignalRows):
    """Signals that are an array, in memory or mapped from a file."""

    kind = "an array"

    def __init__(self, array: Array) -> None:
        self.array, self.dtype, self.total = array, array.dtype, len(array)


class SignalBlocks(SignalRows):
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
        as_rows(first[1], shape)
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
        buffer, filled = np.empty((rows, width), self.dtype), 0
        for array in self._checked():
            while len(array):
                taken = array[: rows - filled]
                buffer[filled : filled + len(taken)] = taken
                filled, array = filled + len(taken), array[len(taken) :]
                if filled == rows:
                    yield self._show(buffer, block)
                    filled = 0
        if filled:
            yield self._show(buffer[:filled], block)

    def _checked(self) -> Iterator[Array]:
        for number, array in self._arrays:
            if array.dtype != self.dtype:
                raise InputError(
                    f"signals: expected blocks of one type, got {self.dtype} first and "
                    f"{array.dtype} in block {number}"
                )
            yield as_rows(array, self._shape)

    def _show(self, window: Array, block: int) -> range:
        self._begin, self._window = self.seen, window
        return range(self._begin // block, -(-self.seen // block))


def _without_empty(arrays: Iterator[object]) -> Iterator[tuple[int, Array]]:
    """Yield the arrays that have rows, each with its number; a filter may leave some empty."""
    for number, block in enumerate(arrays):
        array = plain_array("signals", block)
        if array.ndim == 0 or len(array):
            yield number, array


# Opening ---------------------------------------------------------------------------------------

Adapter = Callable[[object, tuple[int, ...]], SignalRows | None]
adapters: list[Adapter] = []
"""What opens signals of other libraries: each gives None for what it does not know."""


def open_signals(signals: object, shape: tuple[int, ...]) -> SignalRows:
    """Return signals as rows for atoms of `shape`. A file is never read as a whole."""
    if isinstance(signals, Iterator):
        return SignalBlocks(signals, shape)
    for adapter in adapters:
        opened = adapter(signals, shape)
        if opened is not None:
            return opened
    if isinstance(signals, (str, os.PathLike)):
        signals = map_npy(signals)
    return SignalArray(as_rows(plain_array("signals", signals), shape))


def map_npy(path: str | os.PathLike[str]) -> Array:
    """Return the array of a .npy file, read from disk where needed. Nothing is unpickled."""
    file = path_of("signals", path, "an array or the path of a .npy file")
    if file.suffix.lower() != ".npy":
        raise InputError(
            f"signals: expected an array or the path of a .npy file, got {file!s:.200}"
        )
    file = existing_file(file)
    with reading(file):
        if not open_npy(file).shapes:
            raise InputError(f"{file}: holds no array of real numbers")
        mapped: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    return mapped


def npy_rows(path: str | os.PathLike[str], columns: bool = False) -> Array:
    """Return signals of a .npy file; one alone is a row, and `columns` are made rows."""
    array = map_npy(path)
    if array.ndim == 1:
        array = array[None]
    return array.T if columns and array.ndim == 2 else array


def as_rows(signals: Any, shape: tuple[int, ...]) -> Any:
    """Return signals as rows of numbers, checked against the shape of an atom; one alone is a
    row."""
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
