"""Scenes from files: MATLAB, ENVI and NumPy, in the layouts in use."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import count, one_of, positive, real_array
from pursuit.files import OPENERS, ArrayFile, open_arrays
from pursuit.files.arrays import by, existing_file
from pursuit.unmixing.envi import read_envi
from pursuit.unmixing.extraction import Array, Integers
from pursuit.unmixing.layouts import CUBE_LAYOUT, LAYOUTS, split_pixel_axis, unfold
from pursuit.unmixing.scene import Scene

SHAPE_NAMES = (("nrow", "ncol"), ("nrows", "ncols"), ("rows", "columns"), ("image_shape",))
WAVELENGTH_NAMES = ("wavelength", "wavelengths", "lambda", "wl")
BANDS_NAMED = 10
"""How many band numbers a message lists at most."""


def read_scene(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: tuple[int, int] | None = None,
    bad_bands: Iterable[int] | None = None,
    nodata: float | None = None,
    scale: float = 1.0,
) -> Scene:
    """Read a scene from a .mat (also 7.3), .npy, .npz, .csv or ENVI file.

    Parameters
    ----------
    path
        The file; for ENVI the header or the file of raw numbers beside it. Nothing is unpickled.
    variable
        The name of the array in a file that holds several; by default the largest.
    layout
        The axes of the array in their order: the words ``rows``, ``columns`` and ``bands``. An
        array of three axes is ``"rows columns bands"`` by default. In a matrix two of them are
        merged: ``"bands columns rows"`` is bands × pixels with the picture column by column, as
        MATLAB has it; ``"rows columns bands"`` is pixels × bands with the picture row by row. By
        default the picture is column by column, on whichever axis has rows × columns entries.
    shape
        Rows and columns of the picture; needed for a matrix unless the file says so itself
        (``nRow`` and ``nCol``, or ``image_shape``).
    bad_bands
        The numbers of bands to drop, counted from 1. By default those that an ENVI header lists
        as bad.
    nodata
        A value that is no measurement: pixels with it in any band kept are left out. By default
        the ``data ignore value`` of an ENVI header. Use NaN where missing values are NaN.
    scale
        All numbers are divided by it. The file's own scale factor is never applied.

    Returns
    -------
    Scene
        Finite numbers; float32 stays float32, integers become float64.
    """
    file = existing_file(path)
    scale = positive("scale", scale)
    if file.suffix.lower() in OPENERS:
        raw = _from_arrays(open_arrays(file), variable, layout, shape)
    else:
        raw = _from_envi(file)
        _refuse_beside_envi(variable=variable, layout=layout, shape=shape)
    good = _good_bands(raw, raw.bad_bands if bad_bands is None else bad_bands)
    pixels = _as_floats(raw.pixels[:, good])
    valid = _with_data(raw.path, pixels, raw.nodata if nodata is None else nodata)
    pixels = np.ascontiguousarray(pixels[valid])
    pixels /= scale
    _refuse_holes(raw.path, pixels, good + 1)
    return Scene(
        pixels=pixels,
        places=raw.places[valid],
        shape=raw.shape,
        bands=good + 1,
        wavelengths=None if raw.wavelengths is None else raw.wavelengths[good],
        wavelength_unit=raw.wavelength_unit,
        name=file.stem,
    )


@dataclass(frozen=True, eq=False)
class _Raw:
    """What a file says, before bands are dropped and pixels left out."""

    path: Path
    pixels: Array
    places: Integers
    shape: tuple[int, int]
    wavelengths: Array | None = None
    wavelength_unit: str | None = None
    bad_bands: tuple[int, ...] = ()
    nodata: float | None = None


def _from_envi(path: Path) -> _Raw:
    values, layout, header = read_envi(path)
    pixels, places, shape = unfold(values, layout)
    good = header.numbers("bbl")
    return _Raw(
        path=path,
        pixels=pixels,
        places=places,
        shape=shape,
        wavelengths=header.numbers("wavelength"),
        wavelength_unit=header.fields.get("wavelength units"),
        bad_bands=() if good is None else tuple(int(i) + 1 for i in np.flatnonzero(good == 0)),
        nodata=header.number("data ignore value"),
    )


def _refuse_beside_envi(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InputError(f"{name}: expected None for an ENVI file, whose header says it")


def _from_arrays(
    file: ArrayFile, variable: str | None, layout: str | None, shape: tuple[int, int] | None
) -> _Raw:
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
    return _Raw(file.path, pixels, places, unfolded, _wavelengths_in(file, pixels.shape[1]))


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
    names = {name.lower(): name for name in file.shapes}
    for group in SHAPE_NAMES:
        if all(name in names for name in group):
            found = np.concatenate([file.load(names[name]).ravel() for name in group])
            where = f"{file.path}: {', '.join(group)}"
            numbers = real_array(where, found)
            if len(numbers) != 2 or (numbers < 1).any() or (numbers % 1).any():
                raise InputError(f"{where}: expected rows and columns, got {numbers.tolist()}")
            return int(numbers[0]), int(numbers[1])
    return None


def _checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    try:
        rows, columns = shape
    except (TypeError, ValueError):
        raise InputError(f"shape: expected (rows, columns), got {shape!r}") from None
    return count("shape: rows", rows, 1), count("shape: columns", columns, 1)


def _wavelengths_in(file: ArrayFile, bands: int) -> Array | None:
    for name, sizes in file.shapes.items():
        if name.lower() in WAVELENGTH_NAMES and math.prod(sizes) == bands:
            return file.load(name).ravel().astype(np.float64)
    return None


def _as_floats(values: Array) -> Array:
    """float32 and float64 stay; all other types become float64, which holds their sums."""
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _good_bands(raw: _Raw, bad_bands: Iterable[int]) -> Integers:
    """The bands to keep, counted from 0."""
    bands = raw.pixels.shape[1]
    keep = np.ones(bands, dtype=bool)
    for number in bad_bands:
        if count("bad_bands", number, 1) > bands:
            raise InputError(f"bad_bands: expected numbers from 1 to {bands}, got {number}")
        keep[number - 1] = False
    if not keep.any():
        raise InputError(f"{raw.path}: all {bands} bands are bad")
    return np.flatnonzero(keep)


def _with_data(path: Path, pixels: Array, nodata: float | None) -> Array:
    """True for the pixels that do not have the no-data value in any band."""
    if nodata is None:
        return np.ones(len(pixels), dtype=bool)
    with np.errstate(over="ignore"):  # the largest float32, written with more digits than it has
        value = np.asarray(nodata).astype(pixels.dtype)
    missing = np.isnan(pixels) if np.isnan(value) else pixels == value
    valid = ~missing.any(axis=1)
    if not valid.any():
        raise InputError(f"{path}: every pixel has the no-data value {nodata:g}")
    return np.asarray(valid)


def _refuse_holes(path: Path, pixels: Array, bands: Integers) -> None:
    holes = ~np.isfinite(pixels)
    if holes.any():
        numbers = [str(band) for band in bands[holes.any(axis=0)]]
        more = ", …" if len(numbers) > BANDS_NAMED else ""
        raise InputError(
            f"{path}: {np.count_nonzero(holes.any(axis=1))} of {len(pixels)} pixels have NaN or "
            f"infinite values, in band {', '.join(numbers[:BANDS_NAMED])}{more}; drop the bands "
            "with bad_bands= or leave out the pixels with nodata=nan"
        )
