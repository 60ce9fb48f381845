"""Wavelengths and bad bands that lie in a file of their own beside the scene."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.files import OPENERS
from pursuit.files.arrays import Array, existing_file, reading
from pursuit.files.tables import read_matrix
from pursuit.files.text import titled_table
from pursuit.unmixing.wavelengths import unit_in


def read_wavelengths(path: Path, bands: int) -> tuple[Array, str | None]:
    """One number for each band, and the unit if a title names it.

    Numbers in a line, a column, lines one after the other, or a table with one line for each band,
    of which the first column is taken that does not merely count.
    """
    titles, table = _numbers(path)
    if table.size == bands and (1 in table.shape or not _counts(table[:, 0])):
        return table.ravel().astype(np.float64), unit_in(" ".join(titles))
    if len(table) != bands:
        raise InputError(
            f"{path}: expected one wavelength for each of {bands} bands, got {_sizes(table)}"
        )
    column = next((k for k, values in enumerate(table.T) if not _counts(values)), 0)
    title = titles[column] if column < len(titles) else " ".join(titles)
    return table[:, column].astype(np.float64), unit_in(title)


def read_bad_bands(path: Path, bands: int) -> list[int]:
    """The numbers of bad bands from 1: listed as such (1-4, 76), or as one 0 for each bad band
    and one 1 for each good one, as in the ``bbl`` of ENVI headers."""
    file = existing_file(path)
    if file.suffix.lower() not in BINARY:
        with reading(file):
            text = file.read_text(encoding="utf-8-sig")
        listed = band_numbers(text, str(file))
    else:
        listed = [int(x) for x in _whole(file, read_matrix(file).ravel())]
    if len(listed) == bands > 1 and set(listed) <= {0, 1}:
        return [k + 1 for k, good in enumerate(listed) if not good]
    beyond = [number for number in listed if not 1 <= number <= bands]
    if beyond:
        raise InputError(f"{file}: expected numbers of bands from 1 to {bands}, got {beyond[0]}")
    return listed


def band_numbers(text: str, where: str, more: str = "") -> list[int]:
    """Numbers and ranges: 1-4,76 is 1, 2, 3, 4, 76; `more` is what else is expected there."""
    numbers: list[int] = []
    for part in filter(None, re.split(r"[,;\s]+", text)):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise InputError(f"{where}: expected numbers such as 1-4,76{more}, got {part[:40]!r}")
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    return numbers


BINARY = tuple(suffix for suffix in OPENERS if suffix != ".csv")


def _numbers(path: Path) -> tuple[list[str], Array]:
    file = existing_file(path)
    if file.suffix.lower() in BINARY:
        return [], read_matrix(file)
    with reading(file):
        titles, table = titled_table(file)
    if table is None or not np.isfinite(table).all():
        raise InputError(f"{file}: expected finite numbers")
    return titles, table


def _whole(path: Path, values: Array) -> Array:
    if (values % 1).any() or (np.abs(values) > 1e9).any():
        raise InputError(f"{path}: expected whole numbers of bands")
    return values


def _counts(values: Array) -> bool:
    return bool((np.diff(values) == 1).all()) and values[0] in (0, 1)


def _sizes(table: Array) -> str:
    return f"{table.size} numbers" if 1 in table.shape else f"{len(table)} lines"
