"""A hyperspectral scene in memory: spectra as rows, and where each lies in the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.validation import positive, real_array
from pursuit.unmixing.extraction import Array, Integers
from pursuit.unmixing.georeference import Georeference


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """The pixels of a picture that hold data.

    Attributes
    ----------
    pixels
        One spectrum per row, shape ``(n_pixels, bands)``, in the order of the file.
    places
        The row and the column of every pixel in the picture, shape ``(n_pixels, 2)``, from 0.
    shape
        Rows and columns of the picture.
    bands
        The number of every band kept, counted from 1 as in headers and in the literature.
    wavelengths
        One per band kept, or None where the file has none.
    wavelength_unit
        As written in the file, or None.
    name
        What to call the scene.
    scale
        What the numbers of the file were divided by.
    file_scale
        What the file says its numbers are to be divided by, or None where it says nothing.
    georeference
        Where on Earth the picture lies, or None where the file does not say.
    """

    pixels: Array
    places: Integers
    shape: tuple[int, int]
    bands: Integers
    wavelengths: Array | None = None
    wavelength_unit: str | None = None
    name: str = "scene"
    scale: float = 1.0
    file_scale: float | None = None
    georeference: Georeference | None = None

    def __post_init__(self) -> None:
        for name in ("pixels", "places", "bands", "wavelengths"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name)))
        if self.pixels.shape != (len(self.places), len(self.bands)):
            raise InputError(
                f"pixels: expected one row for each of {len(self.places)} places and one column "
                f"for each of {len(self.bands)} bands, got {self.pixels.shape}"
            )
        if self.places.shape[1:] != (2,) or not self._inside():
            raise InputError(
                f"places: expected rows and columns inside of a picture of {self.shape}, each once"
            )
        if self.wavelengths is not None and self.wavelengths.shape != self.bands.shape:
            raise InputError(
                f"wavelengths: expected one for each of {len(self.bands)} bands, got "
                f"{self.wavelengths.shape}"
            )

    def _inside(self) -> bool:
        """Whether every pixel lies in the picture, in a place of its own."""
        inside = self.places.dtype.kind in "iu" and (self.places >= 0).all()
        if not (inside and (self.places < self.shape).all()):
            return False
        return bool(np.count_nonzero(self.mask) == len(self.places))

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def mask(self) -> Array:
        """True where the picture holds data, shape ``(rows, columns)``."""
        mask = np.zeros(self.shape, dtype=bool)
        mask[self.places[:, 0], self.places[:, 1]] = True
        return mask

    def image(self, values: object) -> Array:
        """Lay values out as a picture.

        Parameters
        ----------
        values
            One number per pixel, shape ``(n_pixels,)``, or k numbers per pixel, ``(n_pixels, k)``.

        Returns
        -------
        ndarray
            Shape ``(rows, columns)`` or ``(rows, columns, k)``; NaN where there is no data.
        """
        numbers = real_array("values", values)
        if len(numbers) != len(self) or numbers.ndim > 2:
            raise InputError(
                f"values: expected one row for each of {len(self)} pixels, got {numbers.shape}"
            )
        picture = np.full((*self.shape, *numbers.shape[1:]), np.nan, dtype=numbers.dtype)
        picture[self.places[:, 0], self.places[:, 1]] = numbers
        return picture

    def divided(self, divisor: float) -> Scene:
        """The scene with all numbers divided."""
        positive("divisor", divisor)
        return replace(self, pixels=self.pixels / divisor, scale=self.scale * divisor)

    def about(self) -> dict[str, Array]:
        """All but the pixels, as arrays to be saved."""
        arrays: dict[str, Array] = {
            "places": self.places,
            "image_shape": np.array(self.shape),
            "bands": self.bands,
            "scale": np.array(self.scale),
        }
        if self.wavelengths is not None:
            arrays["wavelengths"] = self.wavelengths
            arrays["wavelength_unit"] = np.array(self.wavelength_unit or "")
        if self.georeference is not None:
            arrays["transform"] = np.array(self.georeference.transform)
            arrays["crs"] = np.array(self.georeference.crs or "")
        return arrays

    def __repr__(self) -> str:
        rows, columns = self.shape
        parts = [f"{self.name}: picture of {rows} × {columns}", f"{len(self.bands)} bands"]
        if len(self) < rows * columns:
            parts.insert(1, f"{len(self)} pixels with data")
        if self.wavelengths is not None:
            unit = f" {self.wavelength_unit}" if self.wavelength_unit else ""
            parts.append(f"wavelengths {self.wavelengths[0]:g} to {self.wavelengths[-1]:g}{unit}")
        return ", ".join(parts)


def spectra_of(pixels: object) -> tuple[Array, Scene | None]:
    """Spectra as rows, and the scene that they are of if one was given."""
    scene = pixels if isinstance(pixels, Scene) else None
    rows = real_array("pixels", pixels if scene is None else scene.pixels, ndim=2)
    check_range("pixels", rows, "pixel")
    return rows, scene
