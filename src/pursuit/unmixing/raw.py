"""What the file of a scene says, before bands are dropped and pixels left out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from pursuit.unmixing.extraction import Array, Integers
from pursuit.unmixing.georeference import Georeference


def say_unapplied(path: Path) -> None:
    """Warn of what a file wants done to its numbers, band by band, and is not done."""
    warnings.warn(
        f"{path}: says a factor or an offset for each band, which is not applied", stacklevel=5
    )


@dataclass(frozen=True, eq=False)
class RawScene:
    """All pixels and all bands, and what the file says about them.

    Attributes
    ----------
    bad_bands
        Counted from 1.
    scale
        What the numbers are to be divided by, or None where the file does not say.
    """

    path: Path
    pixels: Array
    places: Integers
    shape: tuple[int, int]
    wavelengths: Array | None = None
    wavelength_unit: str | None = None
    bad_bands: tuple[int, ...] = ()
    nodata: float | None = None
    scale: float | None = None
    georeference: Georeference | None = None
