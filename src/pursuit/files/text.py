"""Tables of numbers as text: .csv with commas, semicolons, tabs or blanks."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.memory import memory_for
from pursuit.files.arrays import Array, ArrayFile, no_arrays

FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet takes for a formula, or that was escaped already."""
PLAIN = re.compile(r"\w[\w .()/-]*")
"""Cells that need no quotes, whatever separates them."""
QUOTED = re.compile(r'"(?:[^"]|"")*"')


def title_line(titles: list[str]) -> str:
    """The first line of a .csv file; titles that begin like formulas get an apostrophe (OWASP)."""
    cells = [f"'{title}" if FORMULA.match(title) else title for title in titles]
    if not all(map(PLAIN.fullmatch, cells)):
        cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    return ",".join(cells) + "\r\n"


def _original_title(cell: str) -> str:
    """A title without the apostrophe that `title_line` put before it."""
    title = cell.strip()
    return title[1:] if title.startswith("'") and FORMULA.match(title) else title


def open_csv(path: Path) -> ArrayFile:
    """The table in a text file, under its name; a first line without any number is a title."""
    _, table = titled_table(path)
    if table is None:
        return no_arrays(path)
    return ArrayFile(path, {path.stem: table.shape}, lambda _: table)


def titled_table(path: Path) -> tuple[list[str], Array | None]:
    """The titles in the first line of a text file, if it has any, and the numbers below."""
    numbered = _numbered_lines(path)
    first, second = [*numbered.values(), "", ""][:2]
    bare = QUOTED.sub("", first) + second
    separator = next((mark for mark in ";\t," if mark in bare), None)
    titles: list[str] = []
    if not any(_is_number(cell) for cell in first.split(separator)):
        cells = next(csv.reader([first], delimiter=separator)) if separator else first.split()
        titles = [_original_title(cell) for cell in cells]
        numbered = dict(list(numbered.items())[1:])
    return titles, _table(path, numbered, separator) if numbered else None


def _numbered_lines(path: Path) -> dict[int, str]:
    """The lines that are not blank, by their number; quotes keep the line ends of a first line."""
    # The text is in memory twice, as a whole and in lines.
    with (
        memory_for(path, 2 * path.stat().st_size),
        path.open(encoding="utf-8-sig", newline="") as stream,
    ):
        text = stream.read()
    title = re.match(r'(?:[^"\r\n]|"(?:[^"]|"")*")*', text)
    first = title[0] if title and text.startswith('"') else ""
    if text[len(first) : len(first) + 1] not in ("", "\r", "\n"):  # a quote that nothing closes
        first = ""
    skipped = len(first.splitlines())
    lines = text[len(first) :].splitlines()
    numbered = {i: line for i, line in enumerate(lines, max(skipped, 1)) if line.strip()}
    return {1: first, **numbered} if first.strip() else numbered


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
