"""Signals as rows of numbers, in memory or in a .npy file."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.files.arrays import existing_file, reading
from pursuit.files.npy import open_npy


def map_npy(path: str | os.PathLike[str]) -> Array:
    """The array of a .npy file, read from disk where it is looked at. Nothing is unpickled."""
    if Path(path).suffix.lower() != ".npy":
        raise InputError(
            f"signals: expected an array or the path of a .npy file, got {path!s:.200}"
        )
    file = existing_file(path)
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
