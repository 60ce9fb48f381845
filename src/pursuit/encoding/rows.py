"""Signals as rows of numbers, in memory or in a .npy file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import Array
from pursuit.files.arrays import existing_file, reading
from pursuit.files.npy import open_npy

if TYPE_CHECKING:
    from pursuit.encoding.chunks import Chunks


class SignalRows:
    """Signals as rows of numbers, wherever they come from; ``source[a:b]`` gives some of them."""

    dtype: np.dtype[Any]
    kind: str
    """What they are, for messages."""
    total: int | None = None
    """Their number, where it is known."""
    array: Array | None = None
    """All of them, where they are at hand."""
    chunks: Chunks | None = None
    """The same, where workers are to compute them chunk by chunk."""

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


class Held(SignalRows):
    """Signals that are an array, in memory or mapped from a file."""

    kind = "an array"

    def __init__(self, array: Array) -> None:
        self.array, self.dtype, self.total = array, array.dtype, len(array)


def map_npy(path: str | os.PathLike[str]) -> Array:
    """The array of a .npy file, read from disk where it is looked at. Nothing is unpickled."""
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
    """Signals of a .npy file; one alone is a row, and `columns` are made rows."""
    array = map_npy(path)
    if array.ndim == 1:
        array = array[None]
    return array.T if columns and array.ndim == 2 else array


def flat(signals: Any, shape: tuple[int, ...]) -> Any:
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
