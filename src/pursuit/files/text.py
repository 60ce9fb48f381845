"""Tables of numbers as text: .csv with commas, semicolons, tabs or blanks."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.files.arrays import Array, ArrayFile, no_arrays


def open_csv(path: Path) -> ArrayFile:
    """The table in a text file, under its name; a first line without any number is a title."""
    _, table = titled_table(path)
    if table is None:
        return no_arrays(path)
    return ArrayFile(path, {path.stem: table.shape}, lambda _: table)


def titled_table(path: Path) -> tuple[list[str], Array | None]:
    """The titles in the first line of a text file, if it has any, and the numbers below."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    numbered = {i: line for i, line in enumerate(lines, 1) if line.strip()}
    first, second = [*numbered.values(), "", ""][:2]
    separator = next((mark for mark in ";\t," if mark in first + second), None)
    titles: list[str] = []
    if not any(_is_number(cell) for cell in first.split(separator)):
        titles = next(csv.reader([first], delimiter=separator)) if separator else first.split()
        numbered = dict(list(numbered.items())[1:])
    return titles, _table(path, numbered, separator) if numbered else None


def _table(path: Path, numbered: dict[int, str], separator: str | None) -> Array:
    try:
        return np.loadtxt(numbered.values(), delimiter=separator, comments=None, ndmin=2)
    except ValueError as error:
        raise InputError(f"{path}: {_first_problem(numbered, separator) or error}") from None


def _first_problem(numbered: dict[int, str], separator: str | None) -> str | None:
    """Where a table that NumPy refused is wrong, in the line numbers of the file."""
    width = len(next(iter(numbered.values())).split(separator))
    for i, line in numbered.items():
        cells = line.split(separator)
        for j, cell in enumerate(cells, 1):
            if not _is_number(cell):
                return f"line {i}, column {j}: {cell.strip()!r} is not a number"
        if len(cells) != width:
            return f"line {i}: expected {width} numbers as in the first line, got {len(cells)}"
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
