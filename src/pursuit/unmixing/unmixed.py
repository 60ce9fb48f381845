"""The abundances of a scene: the result, what it prints and what it saves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.base import html
from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import count, shown
from pursuit.unmixing.exports import CUBE_ENDINGS, one_of_endings, save_cube, save_spectra
from pursuit.unmixing.extraction import Array, Extraction, Integers
from pursuit.unmixing.scene import Scene

LISTED = 12
"""How many endmembers are printed one by one."""


@dataclass(frozen=True, eq=False, repr=False)
class Unmixing:
    """How much of every endmember is in every pixel: ``abundances @ endmembers ≈ pixels``.

    Attributes
    ----------
    abundances
        Shape ``(n_pixels, r)``.
    endmembers
        Shape ``(r, bands)``, as given.
    residual_norms
        ‖pixel − fit‖ for every pixel.
    angles
        The spectral angle between pixel and fit in radians; π/2 where one of the two is zero, 0
        where both are.
    pixel_norms
        ‖pixel‖.
    constraint
        What the abundances obey.
    scene
        Where the pixels lie, or None if rows of numbers were unmixed.
    names
        Of the endmembers.
    extraction
        The pixels that were picked as endmembers, if they were.
    warning
        A sentence where the fit is bad, with the likely cause; else None.
    """

    abundances: Array
    endmembers: Array
    residual_norms: Array
    angles: Array
    pixel_norms: Array
    constraint: str
    scene: Scene | None = None
    names: tuple[str, ...] = ()
    extraction: Extraction | None = None
    warning: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", endmember_names(self.names, len(self.endmembers)))

    def __len__(self) -> int:
        return len(self.abundances)

    @cached_property
    def relative_error(self) -> float:
        """‖pixels − fits‖ / ‖pixels‖ over the whole scene; 0 for a scene of zeros."""
        whole = float(np.linalg.norm(self.pixel_norms))
        return float(np.linalg.norm(self.residual_norms)) / whole if whole else 0.0

    @cached_property
    def mean_relative_residual(self) -> float:
        """The mean of ‖pixel − fit‖ / ‖pixel‖ over pixels that are not zero; 0 if all are."""
        return mean_ratio(self.residual_norms, self.pixel_norms)

    @cached_property
    def dominant(self) -> Integers:
        """For every pixel the number of its largest abundance, counted from 0."""
        largest: Integers = np.argmax(self.abundances, axis=1)
        return largest

    def maps(self) -> Array:
        """The abundances as pictures, shape ``(rows, columns, r)``; NaN where there is no data."""
        return self._placed().image(self.abundances)

    def error_map(self) -> Array:
        """The residual norms as a picture, shape ``(rows, columns)``."""
        return self._placed().image(self.residual_norms)

    def fit(self, pixel: int) -> Array:
        """The spectrum that the abundances of a pixel give."""
        if count("pixel", pixel) >= len(self):
            raise InputError(f"pixel: expected a number below {len(self)}, got {pixel}")
        spectrum: Array = self.abundances[pixel] @ self.endmembers
        return spectrum

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all numbers (.npz), or the abundances as GeoTIFF (.tif) or ENVI (.img, .hdr).

        Files are written whole or not at all. GeoTIFF and ENVI carry the names, NaN as no data,
        and the place of the scene; they need the ``scenes`` extra. No pickle is involved.
        """
        target = path_of("path", path)
        one_of_endings("path", target, (".npz", *CUBE_ENDINGS))
        if target.suffix.lower() != ".npz":
            save_cube(target, self.maps(), self.names, self._placed())
            return
        with whole_file(target) as part, part.open("wb") as stream:
            np.savez(stream, **self._arrays())  # type: ignore[arg-type]

    def save_endmembers(self, path: str | os.PathLike[str]) -> None:
        """Write the endmembers as a table (.csv) or an ENVI spectral library (.sli, float32)."""
        save_spectra(path, self.endmembers, self.names, self.scene)

    def _arrays(self) -> dict[str, Array]:
        arrays = {
            "abundances": self.abundances,
            "endmembers": self.endmembers,
            "names": np.array(self.names),
            "residual_norms": self.residual_norms,
            "angles": self.angles,
            "constraint": np.array(self.constraint),
        }
        if self.extraction is not None:
            arrays["picked"] = self.extraction.indices
            arrays["picker"] = np.array(self.extraction.method)
        if self.scene is not None:
            arrays |= self.scene.about()
            if self.extraction is not None:
                arrays["picked_places"] = self.scene.places[self.extraction.indices]
        return arrays

    def __repr__(self) -> str:
        more = len(self.endmembers) - LISTED
        lines = [self._title(), *(f"  {name}: {text}" for name, text in self._facts().items())]
        lines += [
            f"  {name}: mean abundance {mean}, largest in {most} pixels"
            for name, mean, most in self._shares()
        ]
        lines += [f"  and {more} more"] * (more > 0)
        return "\n".join(lines + [f"  warning: {self.warning}"] * (self.warning is not None))

    def _repr_html_(self) -> str:
        curve = html.distribution(self.residual_norms, "residual norms, largest first")
        about = self._facts() | ({"warning": self.warning} if self.warning else {})
        shares = html.columns(("endmember", "mean abundance", "largest in pixels"), self._shares())
        return html.page(
            self._title(), html.facts(about, {"residual norms, sorted": curve}), shares
        )

    def _title(self) -> str:
        r, bands = self.endmembers.shape
        return f"{len(self)} pixels of {bands} bands unmixed into {r} endmembers"

    def _facts(self) -> dict[str, str]:
        degrees = np.degrees(self.angles)
        return {
            "constraint": self.constraint,
            "relative error": f"{100 * self.relative_error:.4g} %",
            "spectral angle": f"median {np.median(degrees):.3g}°, largest {degrees.max():.3g}°",
        }

    def _shares(self) -> list[tuple[str, str, str]]:
        """Of the first endmembers: name, mean abundance, pixels in which it is the largest."""
        r = len(self.endmembers)
        means, most = self.abundances.mean(axis=0), np.bincount(self.dominant, minlength=r)
        return [(self.names[k], f"{means[k]:.4g}", str(most[k])) for k in range(min(r, LISTED))]

    def _placed(self) -> Scene:
        if self.scene is None:
            raise InputError("maps: expected pixels with places; unmix a Scene to have pictures")
        return self.scene


def mean_ratio(residual_norms: Array, pixel_norms: Array) -> float:
    """The mean of residual over pixel norms where these are not zero; 0 if all are."""
    some = pixel_norms > 0
    return float(np.mean(residual_norms[some] / pixel_norms[some])) if some.any() else 0.0


def endmember_names(given: Sequence[str], r: int) -> tuple[str, ...]:
    """As given, one for each of `r` endmembers; numbered from 1 where none are."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"names: expected one for each of {r} endmembers, got {shown(given)}")
    names = tuple(map(str, given)) or tuple(f"Endmember {k + 1}" for k in range(r))
    if len(names) != r:
        raise InputError(f"names: expected {r}, one for each endmember, got {len(names)}")
    return names
