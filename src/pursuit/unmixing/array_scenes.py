"""Scenes among the named arrays of a .mat, .npy, .npz or .csv file."""

from __future__ import annotations

import math

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import count, one_of, real_array, shown
from pursuit.files import ArrayFile
from pursuit.files.arrays import by
from pursuit.unmixing.extraction import Array
from pursuit.unmixing.layouts import CUBE_LAYOUT, LAYOUTS, split_pixel_axis, unfold
from pursuit.unmixing.raw import RawScene

ROW_NAMES = ("nrow", "nrows", "rows", "row", "lines", "nlines", "nl", "height", "h")
COLUMN_NAMES = (
    "ncol",
    "ncols",
    "columns",
    "cols",
    "col",
    "samples",
    "nsamples",
    "ns",
    "width",
    "w",
)
SHAPE_NAMES = ("image_shape", "imagesize", "image_size", "imsize", "im_size", "img_size", "imgsize")
"""What people call the sizes of a picture: one number each, or both in one array."""
WAVELENGTH_NAMES = ("wavelength", "wavelengths", "wavelen", "lambda", "lambdas", "wl", "wave")
SCALE_NAMES = ("maxvalue", "max_value", "scale_factor", "scalefactor", "reflectance_scale_factor")


def scene_in_arrays(
    file: ArrayFile, variable: str | None, layout: str | None, shape: tuple[int, int] | None
) -> RawScene:
    """The scene in a file, see `read_scene`."""
    name = _largest(file) if variable is None else variable
    values = file.load(name)
    if values.ndim not in (2, 3) or values.size == 0:
        raise InputError(
            f"{file.path}: expected '{name}' to have 2 or 3 axes, got {by(values.shape)}"
        )
    picture = _shape_in(file) if shape is None else _checked_shape(shape)
    if layout is not None:
        one_of("layout", layout, LAYOUTS)
    if values.ndim == 2:
        values, layout = split_pixel_axis(file.path, values, layout, picture)
    layout = layout or CUBE_LAYOUT
    pixels, places, unfolded = unfold(values, layout)
    if picture is not None and picture != unfolded:
        raise InputError(
            f"{file.path}: expected a picture of {by(picture)}, but as '{layout}' the array "
            f"'{name}' has one of {by(unfolded)}; pass another layout="
        )
    waves = _wavelengths_in(file, pixels.shape[1])
    return RawScene(file.path, pixels, places, unfolded, waves, scale=_scale_in(file))


def _largest(file: ArrayFile) -> str:
    sizes = {name: math.prod(shape) for name, shape in file.shapes.items() if len(shape) in (2, 3)}
    largest = [name for name in sizes if sizes[name] == max(sizes.values())]
    if len(largest) != 1:
        raise InputError(
            f"{file.path}: expected one array larger than the others, got {file.listing()}; "
            "choose one with variable="
        )
    return largest[0]


def _shape_in(file: ArrayFile) -> tuple[int, int] | None:
    """The shape of the picture where the file has it under one of the usual names."""
    numbers = {name.lower(): name for name, sizes in file.shapes.items() if math.prod(sizes) == 1}
    row = next((name for name in ROW_NAMES if name in numbers), None)
    column = next((name for name in COLUMN_NAMES if name in numbers), None)
    if row is not None and column is not None:
        return _whole_shape(file, [numbers[row], numbers[column]])
    both = next((name for name in file.shapes if name.lower() in SHAPE_NAMES), None)
    return None if both is None else _whole_shape(file, [both])


def _whole_shape(file: ArrayFile, names: list[str]) -> tuple[int, int]:
    where = f"{file.path}: {', '.join(names)}"
    numbers = real_array(where, np.concatenate([file.load(name).ravel() for name in names]))
    if len(numbers) != 2 or (numbers < 1).any() or (numbers % 1).any():
        raise InputError(f"{where}: expected rows and columns, got {numbers.tolist()}")
    return int(numbers[0]), int(numbers[1])


def _checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    try:
        rows, columns = shape
    except (TypeError, ValueError):
        raise InputError(f"shape: expected (rows, columns), got {shown(shape)}") from None
    return count("shape: rows", rows, 1), count("shape: columns", columns, 1)


def _wavelengths_in(file: ArrayFile, bands: int) -> Array | None:
    for name, sizes in file.shapes.items():
        if name.lower() in WAVELENGTH_NAMES and math.prod(sizes) == bands:
            return file.load(name).ravel().astype(np.float64)
    return None


def _scale_in(file: ArrayFile) -> float | None:
    for name, sizes in file.shapes.items():
        if name.lower() in SCALE_NAMES and math.prod(sizes) == 1:
            value = float(file.load(name).ravel()[0])
            return value if np.isfinite(value) and value > 0 else None
    return None
