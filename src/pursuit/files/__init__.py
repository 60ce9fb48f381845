"""Named arrays in .npy, .npz, .mat and .csv files. Nothing is ever unpickled.

A damaged file raises an `InputError` of one sentence that names the file and what is wrong;
nothing half-read is ever returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pursuit.base.errors import InputError
from pursuit.files.arrays import ArrayFile, existing_file, reading
from pursuit.files.matlab import open_mat
from pursuit.files.npy import open_npy, open_npz
from pursuit.files.text import open_csv

__all__ = ["READABLE", "ArrayFile", "open_arrays"]

OPENERS: dict[str, Callable[[Path], ArrayFile]] = {
    ".npy": open_npy,
    ".npz": open_npz,
    ".mat": open_mat,
    ".csv": open_csv,
}
READABLE = " or ".join(", ".join(OPENERS).rsplit(", ", 1))
"""The endings of files that can be read, in words."""


def open_arrays(path: str | os.PathLike[str]) -> ArrayFile:
    """What arrays of real numbers the file holds; none of them is loaded yet."""
    file = existing_file(path)
    opener = OPENERS.get(file.suffix.lower())
    if opener is None:
        known = ", ".join(OPENERS)
        raise InputError(f"{file}: expected a file that ends in one of {known}")
    with reading(file):
        arrays = opener(file)
    if not arrays.shapes:
        raise InputError(
            f"{file}: holds no array of real numbers (pickled Python objects are never loaded)"
        )
    return arrays
