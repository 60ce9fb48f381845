"""A dictionary or signals from a file: one matrix, one atom or signal per row."""

from __future__ import annotations

import os

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.memory import memory_for
from pursuit.base.validation import real_array
from pursuit.files import ArrayFile, open_arrays
from pursuit.files.arrays import Array, by


def read_matrix(
    path: str | os.PathLike[str], variable: str | None = None, columns: bool = False
) -> Array:
    """The matrix in a .npy, .npz, .mat (also 7.3) or .csv file.

    Parameters
    ----------
    path
        The file. Pickled objects are never loaded.
    variable
        The name of the matrix; needed only where the file holds several.
    columns
        The file has one atom or signal per column: the matrix is transposed.

    Returns
    -------
    ndarray
        Finite numbers, one atom or signal per row; float32 stays float32, other types become
        float64. An array of one dimension is a single row.
    """
    file = open_arrays(path)
    name = _only_matrix(file) if variable is None else variable
    values = file.load(name)
    if values.ndim not in (1, 2):
        raise InputError(
            f"{file.path}: expected '{name}' to be a matrix, got an array of {by(values.shape)}"
        )
    with memory_for(file.path):
        matrix = real_array(f"{file.path}: {name}", values)
        return np.ascontiguousarray(np.atleast_2d(matrix.T if columns else matrix))


def _only_matrix(file: ArrayFile) -> str:
    """The name of the one matrix in the file; numbers and vectors beside it do not count."""
    matrices = [name for name, shape in file.shapes.items() if sum(size > 1 for size in shape) > 1]
    names = matrices or list(file.shapes)
    if len(names) > 1:
        raise InputError(
            f"{file.path}: holds several arrays, {file.listing()}; choose one with variable="
        )
    return names[0]
