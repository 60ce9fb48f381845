"""Abundances and endmembers in the formats of remote sensing, with the place of the scene."""

from __future__ import annotations

import csv
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.archive import whole_file, writable_path
from pursuit.base.errors import InputError, MissingExtra
from pursuit.base.paths import path_of
from pursuit.files.text import title_line
from pursuit.unmixing.extraction import Array
from pursuit.unmixing.scene import Scene

GEOTIFF = (".tif", ".tiff")
ENVI = (".hdr", ".img", ".dat", ".bsq")
CUBE_ENDINGS = (*GEOTIFF, *ENVI)
LIBRARY_ENDINGS = (".csv", ".sli", ".hdr")


def save_cube(
    path: str | os.PathLike[str], cube: Array, names: Sequence[str], scene: Scene
) -> None:
    """Write a picture with named bands as GeoTIFF or ENVI, whole or not at all.

    Parameters
    ----------
    path
        Ends in .tif or .tiff for GeoTIFF; in .img, .dat or .bsq for ENVI, whose header is written
        beside it, or in .hdr, whose numbers are written beside it as .img.
    cube
        Shape ``(rows, columns, bands)``; NaN, where there is no data, is declared as such.
    names
        One for each band.
    scene
        Whose place on Earth the file gets.
    """
    target = path_of("path", path)
    require_cube_writer(target)
    if target.suffix.lower() in GEOTIFF:
        packed = {"compress": "deflate", "predictor": 3, "bigtiff": "if_safer"}
        with whole_file(target) as part:
            _write_raster(part, "GTiff", cube, names, scene, packed)
        return
    one_of_endings("path", target, CUBE_ENDINGS)
    binary = ".img" if target.suffix.lower() == ".hdr" else target.suffix
    with whole_pair(target, binary) as part:
        listed = [_plain(name) for name in names]
        _write_raster(part, "ENVI", cube, listed, scene, {"suffix": "replace"})


def _write_raster(
    path: Path, driver: str, cube: Array, names: Sequence[str], scene: Scene, more: dict[str, Any]
) -> None:
    import rasterio

    rows, columns, bands = cube.shape
    place = scene.georeference
    if place is not None:
        more = more | {"transform": rasterio.Affine(*place.transform)}
        more |= {} if place.crs is None else {"crs": place.crs}
    more |= {"driver": driver, "dtype": cube.dtype.name, "nodata": np.nan}
    with warnings.catch_warnings():  # having no place is no warning
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(path, "w", height=rows, width=columns, count=bands, **more) as file:
            file.write(np.moveaxis(cube, -1, 0))
            file.descriptions = tuple(names)


def save_spectra(
    path: str | os.PathLike[str], spectra: Array, names: Sequence[str], scene: Scene | None
) -> None:
    """Write named spectra as a table (.csv) or as an ENVI spectral library (.sli and .hdr).

    Parameters
    ----------
    path
        By its ending.
    spectra
        One per row.
    names
        One for each.
    scene
        Whose band numbers and wavelengths are written beside them.
    """
    target = path_of("path", path)
    one_of_endings("path", target, LIBRARY_ENDINGS)
    if target.suffix.lower() == ".csv":
        _write_table(target, spectra, names, scene)
    else:
        require_library_writer(target)
        with whole_pair(target, ".sli") as part:
            _write_library(part, spectra, names, scene)


def _write_table(path: Path, spectra: Array, names: Sequence[str], scene: Scene | None) -> None:
    columns: dict[str, Array] = {"band": np.arange(1, spectra.shape[1] + 1)}
    if scene is not None:
        columns["band"] = scene.bands
        if scene.wavelengths is not None:
            unit = f" ({scene.wavelength_unit})" if scene.wavelength_unit else ""
            columns[f"wavelength{unit}"] = scene.wavelengths
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        stream.write(title_line([*columns, *names]))
        csv.writer(stream).writerows(
            zip(*(c.tolist() for c in columns.values()), *spectra.tolist(), strict=True)
        )


def _write_library(path: Path, spectra: Array, names: Sequence[str], scene: Scene | None) -> None:
    from spectral.io.envi import SpectralLibrary

    header: dict[str, object] = {"spectra names": [_plain(name) for name in names]}
    if scene is not None and scene.wavelengths is not None:
        header["wavelength"] = scene.wavelengths.tolist()
        header["wavelength units"] = scene.wavelength_unit or "Unknown"
    SpectralLibrary(spectra, header, None).save(str(path.with_suffix("")))


def require_cube_writer(path: Path) -> None:
    """Refuse, before the work, to write a picture without the package that does it."""
    if path.suffix.lower() in CUBE_ENDINGS and find_spec("rasterio") is None:
        raise MissingExtra("scenes", f"{path}: writing a picture")


def require_library_writer(path: Path) -> None:
    """Refuse, before the work, to write a spectral library without the package that does it."""
    if path.suffix.lower() != ".csv" and find_spec("spectral") is None:
        raise MissingExtra("scenes", f"{path}: writing a spectral library")


def _plain(name: str) -> str:
    """A name without the marks that end names in a header."""
    return name.translate(str.maketrans(",{}\n\r", ";()  "))


def one_of_endings(argument: str, path: Path, endings: Sequence[str]) -> None:
    """Refuse a file by its ending before any work is done for it."""
    if path.suffix.lower() not in endings:
        raise InputError(
            f"{argument}: expected a file that ends in one of {', '.join(endings)}, got {path}"
        )


def files_written(path: Path, numbers: str) -> tuple[Path, ...]:
    """The file, and for ENVI its header; `numbers` is how they end where a header is named."""
    suffix = path.suffix.lower()
    if suffix == ".hdr":
        return path, path.with_suffix(numbers)
    return (path, path.with_suffix(".hdr")) if suffix in (*ENVI, ".sli") else (path,)


def refuse_foreign_header(target: Path, binary: str) -> None:
    """Refuse to replace a header whose numbers are those of another file."""
    header = target.with_suffix(".hdr")
    if os.path.lexists(header) and not os.path.lexists(target.with_suffix(binary)):
        raise InputError(f"{target}: {header} is there already and belongs to another file")


@contextmanager
def whole_pair(target: Path, binary: str) -> Iterator[Path]:
    """A path to write numbers to, with a header beside them; both become the target's, or none."""
    for suffix in (target.suffix, binary, ".hdr"):
        writable_path(target.with_suffix(suffix))
    refuse_foreign_header(target, binary)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pursuit-") as folder:
            part = Path(folder) / target.with_suffix(binary).name
            yield part
            for suffix in (binary, ".hdr"):
                os.replace(part.with_suffix(suffix), target.with_suffix(suffix))
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error})") from None
