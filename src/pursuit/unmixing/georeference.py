"""Where on Earth a picture lies: the words of its file, kept for what is written from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Georeference:
    """The place of a picture in the coordinates of a map.

    Attributes
    ----------
    crs
        The coordinate reference system as well-known text, or None where the file names none.
    transform
        (a, b, c, d, e, f): pixel corner (row, column) lies at x = a·column + b·row + c and
        y = d·column + e·row + f.
    """

    crs: str | None
    transform: tuple[float, float, float, float, float, float]
