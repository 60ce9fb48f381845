"""The order of rows, columns and bands in an array, and the spectra of a picture as rows.

A layout is the names of the three axes in their order. A matrix has two of them merged: bands ×
pixels with the picture column by column, as MATLAB has it, is ``"bands columns rows"``.
"""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.files.arrays import by
from pursuit.unmixing.extraction import Array, Integers

LAYOUTS = tuple(" ".join(axes) for axes in permutations(("rows", "columns", "bands")))
CUBE_LAYOUT = "rows columns bands"
MATRIX_LAYOUTS = ("bands columns rows", "columns rows bands")
"""What an array is taken for where nobody says."""


def split_pixel_axis(
    path: Path, matrix: Array, layout: str | None, picture: tuple[int, int] | None
) -> tuple[Array, str]:
    """The matrix with its axis of pixels split into rows and columns, and the layout of that."""
    if picture is None:
        raise InputError(
            f"{path}: a matrix of {by(matrix.shape)} does not tell the shape of the picture; "
            "pass shape=(rows, columns)"
        )
    n_pixels = math.prod(picture)
    choices = MATRIX_LAYOUTS if layout is None else (layout,)
    fitting = [axes for axes in choices if _pixel_axis_size(matrix, axes) == n_pixels]
    if not fitting:
        suffix = "" if layout is None else f" as '{layout}'"
        raise InputError(
            f"{path}: a matrix of {by(matrix.shape)} does not fit a picture of {by(picture)} = "
            f"{n_pixels} pixels{suffix}"
        )
    if len(fitting) > 1:
        raise InputError(
            f"{path}: both axes of a matrix of {by(matrix.shape)} fit the picture; pass layout="
        )
    sizes = {"rows": picture[0], "columns": picture[1], "bands": matrix.size // n_pixels}
    return matrix.reshape([sizes[axis] for axis in fitting[0].split()]), fitting[0]


def _pixel_axis_size(matrix: Array, layout: str) -> int | None:
    """The length of the merged axis; None where the bands lie between rows and columns."""
    return {0: matrix.shape[1], 2: matrix.shape[0]}.get(layout.split().index("bands"))


def unfold(cube: Array, layout: str) -> tuple[Array, Integers, tuple[int, int]]:
    """Spectra as rows in the order of the file, their places, and the shape of the picture."""
    axes = layout.split()
    last = np.moveaxis(cube, axes.index("bands"), -1)
    axes.remove("bands")
    grid = dict(zip(axes, np.indices(last.shape[:2]).reshape(2, -1), strict=True))
    sizes = dict(zip(axes, last.shape[:2], strict=True))
    places = np.column_stack([grid["rows"], grid["columns"]])
    return last.reshape(-1, last.shape[2]), places, (sizes["rows"], sizes["columns"])
