"""Codes of a fixed width: five arrays with a row for each signal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.layouts import Piece

COLUMNS = ("indices", "values", "residual_norms", "iterations", "statuses")
NOBODY = -1
"""In place of an atom where a code has no more."""
Row = tuple[np.dtype[Any], tuple[int, ...]]


def columns_of(width: int, dtype: np.dtype[Any]) -> dict[str, Row]:
    """Type and shape of a row of each array."""
    return {
        "indices": (np.dtype(np.int32), (width,)),
        "values": (dtype, (width,)),
        "residual_norms": (np.dtype(np.float64), ()),
        "iterations": (np.dtype(np.int64), ()),
        "statuses": (np.dtype(np.uint8), ()),
    }


def fixed_width(piece: Piece, name: str, row: Row) -> Array:
    """One of the arrays for some codes."""
    (dtype, shape), entries = row, getattr(piece, name)
    if not shape or entries.size == len(piece.sizes) * shape[0]:  # all codes are full
        return np.ascontiguousarray(entries, dtype).reshape(-1, *shape)
    used = np.arange(*shape) < piece.sizes[:, None]
    rows = np.full(used.shape, NOBODY if name == "indices" else 0, dtype)
    rows[used] = entries
    return rows


def cut(piece: Piece, rows: int) -> Iterator[Piece]:
    """The codes of so many signals after the other, without a copy."""
    ends = np.cumsum(piece.sizes)
    entries = [0, *ends[rows - 1 : -1 : rows].tolist(), len(piece.indices)]
    for number, start in enumerate(range(0, len(piece.sizes), rows)):
        signals, here = slice(start, start + rows), slice(entries[number], entries[number + 1])
        yield Piece(
            piece.sizes[signals],
            piece.indices[here],
            piece.values[here],
            *(column[signals] for column in piece[3:]),
        )
