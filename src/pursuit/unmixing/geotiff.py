"""GeoTIFF scenes, read by `rasterio`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.memory import check_memory
from pursuit.base.validation import REAL_KINDS
from pursuit.files.arrays import Array, reading
from pursuit.unmixing.georeference import georeference_of, raster
from pursuit.unmixing.layouts import unfold
from pursuit.unmixing.raw import RawScene, say_unapplied
from pursuit.unmixing.wavelengths import unit_in

SUFFIXES = (".tif", ".tiff")
MOST_PACKED = 2000
"""How many times its size a file may hold: a damaged one claims anything."""


def read_geotiff(path: Path) -> RawScene:
    """All bands of the file, its no-data value, scale, wavelengths and place."""
    with reading(path), raster(path, "GTiff", "reading a GeoTIFF") as file:
        _refuse_what_cannot_be(path, file)
        pixels, places, shape = unfold(file.read(), "bands rows columns")
        waves, unit = _wavelengths(file)
        return RawScene(
            path=path,
            pixels=pixels,
            places=places,
            shape=shape,
            wavelengths=waves,
            wavelength_unit=unit,
            nodata=None if file.nodata is None else float(file.nodata),
            scale=_scale(path, file),
            georeference=georeference_of(file),
        )


def _refuse_what_cannot_be(path: Path, file: Any) -> None:
    types = set(file.dtypes)
    if len(types) > 1 or np.dtype(file.dtypes[0]).kind not in REAL_KINDS:
        raise InputError(f"{path}: expected real numbers of one type, got {', '.join(types)}")
    held = file.count * file.height * file.width * np.dtype(file.dtypes[0]).itemsize
    if held > MOST_PACKED * path.stat().st_size:
        raise InputError(
            f"{path}: is damaged or incomplete (its {path.stat().st_size} bytes claim to hold "
            f"{file.count} bands of {file.height} × {file.width})"
        )
    check_memory(path, held)


def _scale(path: Path, file: Any) -> float | None:
    """The divisor that the file's factors stand for, where all bands have one and no offset."""
    factors = set(file.scales)
    if len(factors) != 1 or any(file.offsets):
        say_unapplied(path)
        return None
    factor = float(factors.pop())
    usable = np.isfinite(factor) and factor > 0 and factor != 1
    return 1 / factor if usable else None


def _wavelengths(file: Any) -> tuple[Array | None, str | None]:
    """From the tags of every band, else from their descriptions, as GDAL and others write them."""
    for found in (_tagged(file, "IMAGERY", "central_wavelength_um"), _tagged(file, None, None)):
        if found is not None:
            return found
    texts = [re.search(r"([\d.]+)\s*([^\W\d]+)\)?$", text or "") for text in file.descriptions]
    units = {unit_in(text[2]) if text else None for text in texts}
    if len(units) == 1 and None not in units:
        return np.array([float(text[1]) for text in texts if text]), units.pop()
    return None, None


def _tagged(file: Any, domain: str | None, name: str | None) -> tuple[Array, str | None] | None:
    """One number for each band under the tag `name`, or under ``wavelength`` with its unit."""
    tags = [_lower(file.tags(band, ns=domain)) for band in range(1, file.count + 1)]
    try:
        values = np.array([float(tag[name or "wavelength"]) for tag in tags])
    except (KeyError, ValueError):
        return None
    unit = "um" if name else tags[0].get("wavelength_units", tags[0].get("wavelength_unit"))
    return values, unit


def _lower(tags: dict[str, str]) -> dict[str, str]:
    return {name.lower(): text for name, text in tags.items()}
