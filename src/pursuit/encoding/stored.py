"""The arrays of a folder of codes, mapped; rows are checked when they are first looked at."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.encoding.about import ABOUT, About
from pursuit.encoding.columns import COLUMNS
from pursuit.encoding.marks import checksum
from pursuit.files.npy import npy_header


class StoredRows:
    """The rows of the five arrays in a folder.

    Parameters
    ----------
    folder, about
        Where they are, and what they are.
    marks
        The records of the blocks (`pursuit.encoding.marks`). A block is compared with its
        checksums once, when rows of it are first asked for.
    """

    def __init__(self, folder: Path, about: About, marks: Array) -> None:
        self._folder, self._about, self._marks = folder, about, marks
        if not len(marks):
            self._rows = about.signals or 0
        else:
            self._rows = about.block * (len(marks) - 1) + int(marks["rows"][-1])
        self._arrays = {name: self._map(name) for name in COLUMNS}
        self._unseen = {name: np.ones(len(marks), bool) for name in COLUMNS}

    def __len__(self) -> int:
        return self._rows

    def column(self, name: str) -> Array:
        """One array as a whole, still on the disk."""
        self._check(name, slice(0, self._rows))
        return self._arrays[name]

    def take(self, rows: slice | Array) -> dict[str, Array]:
        """Some rows of every array, in memory."""
        for name in COLUMNS:
            self._check(name, rows)
        return {name: np.array(self._arrays[name][rows]) for name in COLUMNS}

    def verify(self) -> None:
        """Compare every block that is finished with its checksums."""
        for name in COLUMNS:
            self._check(name, slice(0, self._rows))

    def _check(self, name: str, rows: slice | Array) -> None:
        """Compare the blocks that some rows are of with their checksums, once."""
        unseen, size = self._unseen[name], self._about.block
        if not unseen.any():
            return
        for number in np.unique(_places(rows, self._rows) // size).tolist():
            if unseen[number]:
                self._compare(name, number, self._arrays[name][number * size :][:size])
                unseen[number] = False

    def _compare(self, name: str, number: int, rows: Array) -> None:
        mark = self._marks[number]
        if not mark["rows"]:  # not finished: nobody reads it, and it is written again
            return
        if mark["sums"][COLUMNS.index(name)] != checksum(rows[: mark["rows"]]):
            first = number * self._about.block
            raise InputError(
                f"{self._folder}: {name}.npy is damaged in block {number}, the codes of signals "
                f"{first} to {first + int(mark['rows']) - 1}"
            )

    # Opening --------------------------------------------------------------------------------

    def _map(self, name: str) -> Array:
        """An array of the folder, if the file is what was described."""
        dtype, shape = self._about.columns[name]
        file = self._folder / f"{name}.npy"
        header = npy_header(dtype, (self._about.signals or 0, *shape))
        self._inspect(file, header, prod(shape) * dtype.itemsize)
        if not self._rows:  # which cannot be mapped
            return np.empty((0, *shape), dtype)
        mapped: Array = np.memmap(file, dtype, "r", len(header), (self._rows, *shape))
        return mapped

    def _inspect(self, file: Path, header: bytes, row: int) -> None:
        """Refuse a file that is missing, shorter than its rows, or of another type."""
        try:
            with open(file, "rb") as stream:
                start = stream.read(len(header))
            size = file.stat().st_size
        except OSError as error:
            problem = "is missing" if isinstance(error, FileNotFoundError) else "cannot be read"
            raise InputError(f"{self._folder}: {file.name} {problem}") from None
        known = self._about.signals is not None
        missing = len(header) + (self._about.signals or self._rows) * row - size
        if missing > 0:
            raise InputError(
                f"{self._folder}: {file.name} is incomplete, {missing} bytes are missing"
            )
        if known and (start != header or missing < 0):
            raise InputError(f"{self._folder}: {file.name} is not what {ABOUT} says it is")


def _places(rows: slice | Array, total: int) -> Array:
    """The numbers of some rows."""
    return np.arange(*rows.indices(total)) if isinstance(rows, slice) else rows
