"""Where on Earth a picture lies: the words of its file, kept for what is written from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pursuit.base.errors import MissingExtra


@dataclass(frozen=True)
class Georeference:
    """The place of a picture in the coordinates of a map.

    Attributes
    ----------
    crs
        The coordinate reference system as well-known text, or None where the file names none.
    transform
        (a, b, c, d, e, f): the corner of pixel (row, column) lies at x = a·column + b·row + c,
        y = d·column + e·row + f.
    """

    crs: str | None
    transform: tuple[float, float, float, float, float, float]


def georeference_of(dataset: Any) -> Georeference | None:
    """What an open file of `rasterio` says about its place; None where it says nothing."""
    if dataset.transform.is_identity and dataset.crs is None:
        return None
    crs = None if dataset.crs is None else dataset.crs.to_wkt()
    a, b, c, d, e, f = map(float, dataset.transform[:6])
    return Georeference(crs, (a, b, c, d, e, f))


def envi_georeference(path: Path) -> Georeference | None:
    """What the header beside a file of raw numbers says about its place.

    A header that `rasterio` does not understand, or a missing `rasterio`, is warned of: then
    what is written from the scene has no place.
    """
    try:
        with raster(path, "ENVI") as dataset:
            return georeference_of(dataset)
    except Exception as error:  # decoders raise nearly anything
        line = " ".join(str(error).split()) or type(error).__name__
        warnings.warn(f"{path}: its map information is left out ({line})", stacklevel=4)
        return None


@contextmanager
def raster(path: Path, driver: str, purpose: str = "reading map information") -> Iterator[Any]:
    """The file open in `rasterio`, by one driver alone; having no place is no warning."""
    try:
        import rasterio
    except ImportError:
        raise MissingExtra("scenes", f"{path}: {purpose}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(path.resolve(), driver=driver) as dataset:
            yield dataset
