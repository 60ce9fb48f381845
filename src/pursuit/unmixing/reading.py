"""Scenes from files: MATLAB, ENVI, GeoTIFF and NumPy, in the layouts in use."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import (
    as_floats,
    count,
    is_finite,
    listed,
    number,
    positive,
    shaped_array,
)
from pursuit.files import OPENERS, open_arrays
from pursuit.files.arrays import existing_file
from pursuit.unmixing.array_scenes import scene_in_arrays
from pursuit.unmixing.envi import EnviHeader, read_envi
from pursuit.unmixing.extraction import Array, Integers
from pursuit.unmixing.georeference import envi_georeference
from pursuit.unmixing.geotiff import SUFFIXES, read_geotiff
from pursuit.unmixing.layouts import unfold
from pursuit.unmixing.raw import RawScene, say_unapplied
from pursuit.unmixing.scene import Scene
from pursuit.unmixing.side_files import read_bad_bands, read_wavelengths

BLOCK = 1024
"""Pixels that are compared with the no-data value together."""
BANDS_NAMED = 10
"""How many band numbers a message lists at most."""


# A number that is not finite is named with its band, and no NumPy warning comes before.
@np.errstate(over="ignore", invalid="ignore")
def read_scene(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: tuple[int, int] | None = None,
    bad_bands: Iterable[int] | str | os.PathLike[str] | None = None,
    nodata: float | None = None,
    scale: float | str = 1.0,
    wavelengths: object = None,
) -> Scene:
    """Read a scene from a .mat (also 7.3), .npy, .npz, .csv, GeoTIFF or ENVI file.

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
        (``nRow`` and ``nCol``, ``lines`` and ``samples``, ``image_shape``, and the like).
    bad_bands
        The numbers of bands to drop, counted from 1, or the path of a file with them, or with a 0
        for each bad band and a 1 for each good one. By default those that an ENVI header lists as
        bad.
    nodata
        A value that is no measurement: pixels with it in any band kept are left out. By default
        the one that an ENVI header or a GeoTIFF names. Use NaN where missing values are NaN.
    scale
        All numbers are divided by it. ``"auto"``: by what the file says (``maxValue`` in a .mat,
        ``reflectance scale factor`` in an ENVI header, the scale of a GeoTIFF), else by 1.
    wavelengths
        One for each band of the file, or the path of a file with them (text, a column or a line
        of numbers, with or without a title); by default those that the file has.

    Returns
    -------
    Scene
        Finite numbers; float32 stays float32, integers become float64.
    """
    file = existing_file(path)
    if not _is_auto(scale):
        positive("scale", scale)
    raw = _opened(file, variable, layout, shape)
    good = _good_bands(raw, _bad_bands(bad_bands, raw))
    waves, unit = _wavelengths(wavelengths, raw)
    # Copies as large as the scene are made only where something is dropped.
    pixels = as_floats(raw.pixels if len(good) == raw.pixels.shape[1] else raw.pixels[:, good])
    valid = _with_data(raw.path, pixels, raw.nodata if nodata is None else _checked(nodata))
    pixels = np.ascontiguousarray(pixels if valid.all() else pixels[valid])
    divisor = _divisor(scale, raw)
    if divisor != 1:
        # In place where the array is that of the reader, which nobody else holds.
        pixels = np.divide(pixels, divisor, out=pixels if pixels.flags.writeable else None)
    _refuse_holes(raw.path, pixels, good + 1)
    return Scene(
        pixels=pixels,
        places=raw.places[valid],
        shape=raw.shape,
        bands=good + 1,
        wavelengths=None if waves is None else waves[good],
        wavelength_unit=unit,
        name=file.stem,
        scale=divisor,
        file_scale=raw.scale,
        georeference=raw.georeference,
    )


def _opened(
    file: Path, variable: str | None, layout: str | None, shape: tuple[int, int] | None
) -> RawScene:
    """What the file says, by the reader for its ending; without a known one it is ENVI."""
    suffix = file.suffix.lower()
    if suffix in OPENERS:
        return scene_in_arrays(open_arrays(file), variable, layout, shape)
    kind, read = ("a GeoTIFF", read_geotiff) if suffix in SUFFIXES else ("an ENVI file", _from_envi)
    for name, value in (("variable", variable), ("layout", layout), ("shape", shape)):
        if value is not None:
            raise InputError(f"{name}: expected None for {kind}, which says it itself")
    return read(file)


def _from_envi(path: Path) -> RawScene:
    values, layout, header, binary = read_envi(path)
    pixels, places, shape = unfold(values, layout)
    good = header.numbers("bbl")
    factor = header.number("reflectance scale factor")
    if _has_gains(header):
        say_unapplied(path)
    return RawScene(
        path=path,
        pixels=pixels,
        places=places,
        shape=shape,
        wavelengths=header.numbers("wavelength"),
        wavelength_unit=header.fields.get("wavelength units"),
        bad_bands=() if good is None else tuple(int(i) + 1 for i in np.flatnonzero(good == 0)),
        nodata=header.number("data ignore value"),
        scale=factor if factor and np.isfinite(factor) and factor > 0 else None,
        georeference=envi_georeference(binary) if "map info" in header.fields else None,
    )


def _has_gains(header: EnviHeader) -> bool:
    """Whether numbers are to be multiplied or shifted, each band in its own way."""
    neutral = {"data gain values": 1, "data offset values": 0}
    lists = [(header.numbers(name), nothing) for name, nothing in neutral.items()]
    return any(values is not None and (values != nothing).any() for values, nothing in lists)


def _is_auto(scale: object) -> bool:
    return isinstance(scale, str) and scale == "auto"


def _divisor(scale: float | str, raw: RawScene) -> float:
    if _is_auto(scale):
        return raw.scale or 1.0
    return positive("scale", scale)


def _bad_bands(given: Iterable[int] | str | os.PathLike[str] | None, raw: RawScene) -> list[int]:
    if given is None:
        return list(raw.bad_bands)
    if isinstance(given, (str, os.PathLike)):
        return read_bad_bands(_beside("bad_bands", given), raw.pixels.shape[1])
    return listed("bad_bands", given, "numbers of bands")


def _beside(name: str, path: str | os.PathLike[str]) -> Path:
    file = path_of(name, path)
    if not os.path.isfile(file):
        raise InputError(f"{name}: {file}: there is no such file")
    return file


def _wavelengths(given: object, raw: RawScene) -> tuple[Array | None, str | None]:
    """Of all bands: those given, else those of the file."""
    if given is None and raw.wavelengths is not None and not np.isfinite(raw.wavelengths).all():
        warnings.warn(f"{raw.path}: its wavelengths are not all numbers: left out", stacklevel=3)
        return None, None
    if given is None:
        return raw.wavelengths, raw.wavelength_unit
    bands = raw.pixels.shape[1]
    if isinstance(given, (str, os.PathLike)):
        return read_wavelengths(_beside("wavelengths", given), bands)
    return shaped_array("wavelengths", given, (bands,)).astype(np.float64), None


def _good_bands(raw: RawScene, bad_bands: Iterable[int]) -> Integers:
    """The bands to keep, counted from 0."""
    bands = raw.pixels.shape[1]
    keep = np.ones(bands, dtype=bool)
    for band in bad_bands:
        if count("bad_bands", band, 1) > bands:
            raise InputError(f"bad_bands: expected numbers from 1 to {bands}, got {band}")
        keep[band - 1] = False
    if not keep.any():
        raise InputError(f"{raw.path}: all {bands} bands are bad")
    return np.flatnonzero(keep)


def _checked(nodata: float) -> float:
    """A no-data value: a number, or NaN."""
    missing = isinstance(nodata, (float, np.floating)) and np.isnan(nodata)
    return nodata if missing else number("nodata", nodata)


def _with_data(path: Path, pixels: Array, nodata: float | None) -> Array:
    """True for the pixels that do not have the no-data value in any band."""
    if nodata is None:
        return np.ones(len(pixels), dtype=bool)
    value = np.asarray(nodata).astype(pixels.dtype)
    valid = np.empty(len(pixels), dtype=bool)
    for start in range(0, len(pixels), BLOCK):
        part = pixels[start : start + BLOCK]
        missing = np.isnan(part) if np.isnan(value) else part == value
        valid[start : start + BLOCK] = ~missing.any(axis=1)
    if not valid.any():
        raise InputError(f"{path}: every pixel has the no-data value {nodata:g}")
    return valid


def _refuse_holes(path: Path, pixels: Array, bands: Integers) -> None:
    if not is_finite(pixels):
        holes = ~np.isfinite(pixels)
        numbers = [str(band) for band in bands[holes.any(axis=0)]]
        more = ", …" if len(numbers) > BANDS_NAMED else ""
        raise InputError(
            f"{path}: {np.count_nonzero(holes.any(axis=1))} of {len(pixels)} pixels have NaN or "
            f"infinite values, in band {', '.join(numbers[:BANDS_NAMED])}{more}; drop the bands "
            "with bad_bands= or leave out the pixels with nodata=nan"
        )
