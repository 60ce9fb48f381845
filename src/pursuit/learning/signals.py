"""Signals to learn from, a batch at a time: in memory, on disk, from an iterator or from Dask.

A pass is a sequence of windows, arrays of rows that are at hand together, and a window a sequence
of batches, drawn from it at random. Which signals a batch holds depends on the seed and the source
alone. An array in memory is one window; of one on disk a window holds pieces from all over it; an
iterator fills one window after another.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, float_type, in_rows, is_finite, plain_array
from pursuit.encoding.chunks import from_zarr, is_dask, is_zarr
from pursuit.encoding.signals import map_npy

ROWS = 2**16
"""Signals of a window that has to be read."""
BYTES = 2**28
"""The most bytes of a window, unless that were too few signals for the atoms."""
PIECE = 256
"""Signals on disk that are read together."""
BATCH = 2048
SMALLEST = 256
BATCHES = 32
"""There are so many batches in a pass over few signals."""

SAMPLED = 64
"""Signals that are looked at to recognise them when a run is continued."""

ORDER, SHUFFLE = 0, 1
"""What draws are for."""


class Window(NamedTuple):
    """Signals at hand, and their numbers in the whole; None: 0, 1, 2, …"""

    rows: Array
    numbers: Array | None


class Batch(NamedTuple):
    """Signals of the type that is computed in, and their numbers in the whole."""

    rows: Array
    numbers: Array


class Place(NamedTuple):
    """Where a run is: the pass, the window, and the batch that comes next."""

    turn: int
    window: int
    batch: int


class Source(Protocol):
    """Where signals come from."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a signal."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that is computed in."""

    @property
    def total(self) -> int | None:
        """The number of signals, where it is known."""

    def windows(self, turn: int, first: int, seed: int) -> Iterator[Window]:
        """The windows of a pass from number `first` on."""

    def sample(self, seed: int) -> Array:
        """Signals of the first window, to choose first atoms from."""

    def everything(self) -> Array:
        """All signals as rows."""

    def identity(self) -> list[object]:
        """What tells these signals from others."""


def batch_size(total: int | None) -> int:
    """Signals of a batch: enough to be worth a new dictionary, fewer where there are few."""
    if total is None:
        return BATCH
    return min(BATCH, max(SMALLEST, total // BATCHES))


def batches(source: Source, at: Place, seed: int) -> Iterator[tuple[Batch, Place]]:
    """The batches of a pass from a place on, and the place after each."""
    size = batch_size(source.total)
    for number, window in enumerate(source.windows(at.turn, at.window, seed), start=at.window):
        m = len(window.rows)
        order = np.random.default_rng([seed, SHUFFLE, at.turn, number]).permutation(m)
        parts = max(1, round(m / size))
        cuts = np.linspace(0, m, parts + 1).astype(int)
        skipped = at.batch if number == at.window else 0
        for part in range(skipped, parts):
            chosen = order[cuts[part] : cuts[part + 1]]
            rows = in_rows(window.rows[chosen], source.dtype)
            numbers = chosen if window.numbers is None else window.numbers[chosen]
            whole = part + 1 == parts
            after = Place(at.turn, number + whole, 0 if whole else part + 1)
            yield Batch(rows, numbers), after


def open_source(signals: object, n_atoms: int) -> Source:
    """Signals as a source of batches, checked as far as that can be done without reading them."""
    if isinstance(signals, Iterator):
        return SignalStream(signals, n_atoms)
    if is_dask(signals) or is_zarr(signals):
        return ChunkedSignals(signals if is_dask(signals) else from_zarr(signals), n_atoms)
    on_disk = isinstance(signals, (str, os.PathLike, np.memmap))
    if isinstance(signals, (str, os.PathLike)):
        signals = map_npy(signals)
    rows = plain_array("signals", signals)
    _check_shape(rows.shape, n_atoms)
    return StoredSignals(rows, n_atoms) if on_disk else HeldSignals(rows)


class HeldSignals:
    """An array in memory."""

    total: int | None

    def __init__(self, rows: Array) -> None:
        self.shape, self.total, self.dtype = rows.shape[1:], len(rows), float_type(rows.dtype)
        self._rows = rows.reshape(len(rows), -1)

    def windows(self, turn: int, first: int, seed: int) -> Iterator[Window]:
        if first == 0:
            yield Window(self._rows, None)

    def sample(self, seed: int) -> Array:
        return self._rows

    def everything(self) -> Array:
        return in_rows(self._rows, self.dtype)

    def identity(self) -> list[object]:
        rows = np.unique(np.linspace(0, len(self._rows) - 1, SAMPLED).astype(int))
        return [self._rows.shape, self._rows.dtype.str, np.array(self._rows[rows])]


class StoredSignals:
    """An array on disk, read in pieces that come from all over it."""

    _rows: Any

    def __init__(self, rows: Array, n_atoms: int) -> None:
        self.shape, self.total, self.dtype = rows.shape[1:], len(rows), float_type(rows.dtype)
        self._rows = rows.reshape(len(rows), -1)
        self._pieces = np.append(np.arange(0, self.total, PIECE), self.total)
        self._window = window_rows(self._rows.shape[1], self.dtype, n_atoms)

    def read(self, first: int, last: int) -> Array:
        """Some rows, in memory."""
        return np.array(self._rows[first:last])

    def windows(self, turn: int, first: int, seed: int) -> Iterator[Window]:
        order = np.random.default_rng([seed, ORDER, turn]).permutation(len(self._pieces) - 1)
        for chosen in self._grouped(order)[first:]:
            bounds = [(self._pieces[p], self._pieces[p + 1]) for p in chosen]
            numbers = np.concatenate([np.arange(*bound) for bound in bounds])
            yield Window(np.concatenate([self.read(*bound) for bound in bounds]), numbers)

    def _grouped(self, order: Array) -> list[Array]:
        """Pieces of windows of nearly equal size: a small last one would be a poor batch."""
        ends = np.cumsum(np.diff(self._pieces)[order])
        count = max(1, round(self.total / self._window))
        cuts = np.searchsorted(ends, np.arange(1, count) * self.total / count) + 1
        return [part for part in np.split(order, cuts) if part.size]

    def sample(self, seed: int) -> Array:
        return next(self.windows(0, 0, seed)).rows

    def everything(self) -> Array:
        return in_rows(self.read(0, self.total), self.dtype)

    def identity(self) -> list[object]:
        ends = np.concatenate([self.read(0, 1), self.read(self.total - 1, self.total)])
        return [self._rows.shape, self._rows.dtype.str, ends]


class ChunkedSignals(StoredSignals):
    """A dask array: its chunks of rows are computed when they are needed."""

    def __init__(self, rows: Any, n_atoms: int) -> None:
        lengths = rows.chunks[0]
        if any(math.isnan(length) for length in lengths):
            raise InputError(
                "signals: expected a dask array whose chunks have known lengths; give its "
                "compute_chunk_sizes()"
            )
        _check_shape(rows.shape, n_atoms)
        self.shape, self.total = rows.shape[1:], int(rows.shape[0])
        self.dtype = float_type(rows.dtype)
        self._rows = rows.reshape(self.total, -1)
        self._pieces = np.cumsum([0, *lengths])
        self._window = window_rows(self._rows.shape[1], self.dtype, n_atoms)

    def read(self, first: int, last: int) -> Array:
        rows = plain_array("signals", self._rows[first:last].compute())
        if rows.shape != (last - first, self._rows.shape[1]):
            raise InputError(
                f"signals: expected {last - first} rows from {first} on, as the dask array says, "
                f"got shape {rows.shape}"
            )
        return rows

    def identity(self) -> list[object]:
        # Which signals are drawn together depends on the chunks.
        return [*super().identity(), self._pieces]


class SignalStream:
    """An iterator of arrays of rows. It gives its signals once: there is one pass."""

    def __init__(self, arrays: Iterator[object], n_atoms: int) -> None:
        head = next(arrays, None)
        if head is None:
            raise InputError("signals: expected at least one block, got an iterator without any")
        first = plain_array("signals", head)
        if first.ndim < 2:
            raise InputError(f"signals: expected blocks of rows, got shape {first.shape} first")
        if math.prod(first.shape[1:]) == 0:
            raise InputError(f"signals: expected at least one entry, got shape {first.shape} first")
        self.shape, self.total = first.shape[1:], None
        self._given, self.dtype = first.dtype, float_type(first.dtype)
        self._arrays, self._n_atoms = chain([head], arrays), n_atoms
        self._rows = window_rows(math.prod(self.shape), self.dtype, n_atoms)
        self._windows: Iterator[Window] = self._filled()

    def windows(self, turn: int, first: int, seed: int) -> Iterator[Window]:
        if turn > 0:
            return
        for number, window in enumerate(self._windows):
            if number >= first:
                yield window

    def sample(self, seed: int) -> Array:
        return self._first().rows

    def _first(self) -> Window:
        """The first window, which stays the next one."""
        first = next(self._windows, None)
        if first is None or len(first.rows) < self._n_atoms:
            _refuse_few(0 if first is None else len(first.rows), self._n_atoms)
        self._windows = chain([first], self._windows)
        return first

    def _filled(self) -> Iterator[Window]:
        room, filled, seen = self._room(), 0, 0
        for array in self._checked():
            while len(array):
                taken = array[: self._rows - filled]
                room[filled : filled + len(taken)] = taken
                filled, array = filled + len(taken), array[len(taken) :]
                if filled == self._rows:
                    yield Window(room, np.arange(seen, seen + filled))
                    room, filled, seen = self._room(), 0, seen + filled
        if filled:
            yield Window(room[:filled], np.arange(seen, seen + filled))

    def _room(self) -> Array:
        return np.empty((self._rows, math.prod(self.shape)), self._given)

    def _checked(self) -> Iterator[Array]:
        for number, given in enumerate(self._arrays):
            array = plain_array("signals", given)
            if array.dtype != self._given or array.shape[1:] != self.shape:
                raise InputError(
                    f"signals: expected blocks of one type and width, got {self._given} of "
                    f"{self.shape} first and {array.dtype} of {array.shape[1:]} in block {number}"
                )
            yield array.reshape(len(array), math.prod(self.shape))

    def everything(self) -> Array:
        raise InputError(
            "method: only online learns from an iterator, which gives its signals once; expected "
            "method='online', or an array"
        )

    def identity(self) -> list[object]:
        return ["blocks", self.shape, self._given.str, self._first().rows[0].copy()]


def window_rows(length: int, dtype: np.dtype[Any], n_atoms: int) -> int:
    """Signals of a window."""
    return max(4 * n_atoms, min(ROWS, BYTES // (length * dtype.itemsize)), SMALLEST)


def _check_shape(shape: tuple[int, ...], n_atoms: int) -> None:
    if len(shape) < 2:
        raise InputError(f"signals: expected rows, at least 2 dimensions, got shape {shape}")
    if math.prod(shape) == 0:
        raise InputError(f"signals: expected at least one entry, got shape {shape}")
    if shape[0] < n_atoms:
        _refuse_few(shape[0], n_atoms)


def _refuse_few(total: int, n_atoms: int) -> NoReturn:
    raise InputError(
        f"signals: expected at least as many as there are atoms to learn, {n_atoms}, got {total}"
    )


def check_batch(batch: Batch) -> None:
    """Raise InputError if a number is not finite or a signal is out of range, and name it."""
    if not is_finite(batch.rows):
        bad = np.argwhere(~np.isfinite(batch.rows))
        row, entry = bad[np.argmin(batch.numbers[bad[:, 0]])]
        raise InputError(
            f"signals must be finite, got {batch.rows[row, entry]} in signal "
            f"{batch.numbers[row]}, entry {entry}"
        )
    check_range("signals", batch.rows, "signal", batch.numbers)
