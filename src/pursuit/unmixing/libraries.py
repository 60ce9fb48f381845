"""Spectral libraries: reading them, and which of their spectra an endmember is nearest to."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import REAL_KINDS, real_array, shaped_array, shown
from pursuit.files import OPENERS
from pursuit.files.arrays import Array, existing_file, reading
from pursuit.files.tables import read_matrix
from pursuit.files.text import titled_table
from pursuit.unmixing.envi import read_envi_library
from pursuit.unmixing.rows import angles_between
from pursuit.unmixing.wavelengths import in_nanometres, unit_in

AXIS = re.compile(r"(band|wave|lambda|wl|nm|[uµ]m|micro|nano)", re.IGNORECASE)
"""How the title of a column begins that is no spectrum."""
LIKELY = 10.0
"""Up to this angle, in degrees, the name of the nearest spectrum is proposed."""
SHOWN = 3
"""How many of the nearest spectra are told."""
FEWEST_BANDS = 3
"""Two spectra are compared on at least so many."""
DELETED = -1e30
"""Numbers below are no measurements: the USGS writes -1.23e34 for bands that it left out."""


@dataclass(frozen=True, eq=False)
class SpectralLibrary:
    """Spectra with names.

    Attributes
    ----------
    spectra
        One per row, shape ``(n, bands)``; NaN where a band was not measured.
    names
        One for each, or none at all.
    wavelengths
        One for each band, or None.
    wavelength_unit
        As written in the file, or None.
    """

    spectra: Array
    names: tuple[str, ...] = ()
    wavelengths: Array | None = None
    wavelength_unit: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "spectra", np.asarray(self.spectra))
        if self.spectra.ndim != 2 or self.spectra.dtype.kind not in REAL_KINDS:
            raise InputError("spectra: expected rows of numbers")
        if self.names and len(self.names) != len(self.spectra):
            raise InputError(
                f"names: expected one for each of {len(self.spectra)} spectra, got "
                f"{len(self.names)}"
            )
        if self.wavelengths is not None:
            bands = self.spectra.shape[1:]
            object.__setattr__(
                self, "wavelengths", shaped_array("wavelengths", self.wavelengths, bands)
            )

    def __len__(self) -> int:
        return len(self.spectra)


@dataclass(frozen=True)
class Match:
    """A spectrum of a library, and its angle to an endmember in degrees."""

    name: str
    degrees: float


def read_library(
    path: str | os.PathLike[str], variable: str | None = None, columns: bool = False
) -> SpectralLibrary:
    """Spectra from an ENVI spectral library, a .csv with titles, or a plain matrix.

    Parameters
    ----------
    path
        An ENVI library (.sli, or its .hdr); a .csv whose first titles are ``band`` or
        ``wavelength`` and whose other columns are spectra; or a .npy, .npz, .mat or .csv with a
        matrix of spectra as rows.
    variable
        The name of the matrix; needed only where the file holds several.
    columns
        The spectra are columns of the matrix.
    """
    file = existing_file(path)
    if file.suffix.lower() not in OPENERS:
        return _from_envi(file)
    if file.suffix.lower() == ".csv":
        with reading(file):
            titles, table = titled_table(file)
        if titles and table is not None and AXIS.match(titles[0]):
            return _from_columns(file, titles, table)
    return SpectralLibrary(read_matrix(file, variable, columns))


def _from_envi(path: Path) -> SpectralLibrary:
    spectra, _, header, _ = read_envi_library(path)
    spectra = _measured(spectra, header.number("data ignore value"))
    listed = header.fields.get("spectra names", "")
    names = tuple(name.strip() for name in listed.split(",")) if listed else ()
    if names and len(names) != len(spectra):
        raise InputError(
            f"{header.path}: expected a name for each of {len(spectra)} spectra, got {len(names)}"
        )
    waves = header.numbers("wavelength", of="samples")
    unit = header.fields.get("wavelength units")
    return SpectralLibrary(spectra, names, waves, unit)


def _measured(spectra: Array, ignored: float | None) -> Array:
    """NaN where a library says that it has no value."""
    values = spectra if spectra.dtype.kind == "f" else spectra.astype(np.float64)
    missing = ~np.isfinite(values) | (values < DELETED)
    if ignored is not None:
        missing |= values == np.asarray(ignored).astype(values.dtype)
    return np.where(missing, np.nan, values)


def _from_columns(path: Path, titles: list[str], table: Array) -> SpectralLibrary:
    """A table with titles: columns of band numbers and wavelengths first, then the spectra."""
    if len(titles) != table.shape[1]:
        raise InputError(f"{path}: expected {table.shape[1]} titles, got {len(titles)}")
    axes = [bool(AXIS.match(title)) for title in titles]
    first = axes.index(False) if False in axes else len(titles)
    if first == len(titles):
        raise InputError(f"{path}: expected spectra beside the columns {', '.join(titles)}")
    waves = [k for k in range(first) if not titles[k].lower().startswith("band")]
    return SpectralLibrary(
        real_array(str(path), np.ascontiguousarray(table[:, first:].T)),
        tuple(titles[first:]),
        real_array(str(path), table[:, waves[0]]) if waves else None,
        unit_in(titles[waves[0]]) if waves else None,
    )


def match_library(
    endmembers: Array,
    library: SpectralLibrary,
    wavelengths: Array | None = None,
    wavelength_unit: str | None = None,
) -> list[list[Match]]:
    """For every endmember the spectra of the library at the smallest angles, nearest first.

    Of spectra with one name the nearest counts. Where both have wavelengths the library is
    interpolated to those of the endmembers, and bands outside its range do not count; otherwise
    both must have as many bands. Bands that a spectrum of the library lacks do not count for it.
    """
    rows = real_array("endmembers", endmembers, ndim=2)
    if not hasattr(library, "spectra"):
        raise InputError(f"library: expected a SpectralLibrary, got {shown(library)}")
    if wavelengths is not None:
        wavelengths = shaped_array("wavelengths", wavelengths, rows.shape[1:])
    spectra = _on_bands(library, rows.shape[1], wavelengths, wavelength_unit)
    angles = np.degrees(_angles(rows, spectra))
    names = library.names or tuple(f"spectrum {k + 1}" for k in range(len(library)))
    return [_nearest(row, names) for row in angles]


def _angles(rows: Array, spectra: Array) -> Array:
    """Of every row with every spectrum, on the bands that the spectrum has; else π/2."""
    known = np.isfinite(spectra)
    angles = np.full((len(rows), len(spectra)), np.pi / 2)
    for bands in np.unique(known, axis=0):
        if np.count_nonzero(bands) >= min(FEWEST_BANDS, len(bands)):
            alike = (known == bands).all(axis=1)
            angles[:, alike] = angles_between(rows[:, bands], spectra[alike][:, bands])
    return angles


def _nearest(degrees: Array, names: Sequence[str]) -> list[Match]:
    found: dict[str, float] = {}
    for k in np.argsort(degrees, kind="stable"):
        found.setdefault(str(names[k]), float(degrees[k]))
        if len(found) == SHOWN:
            break
    return [Match(name, angle) for name, angle in found.items()]


def _on_bands(
    library: SpectralLibrary, bands: int, wavelengths: Array | None, unit: str | None
) -> Array:
    """The library's spectra on the bands of a scene; NaN where it does not have them."""
    here = None if wavelengths is None else in_nanometres(wavelengths, unit)
    there = None
    if library.wavelengths is not None:
        there = in_nanometres(library.wavelengths, library.wavelength_unit)
    if here is None or there is None:
        if library.spectra.shape[1] != bands:
            raise InputError(
                f"library: expected {bands} bands as in the scene, or wavelengths in both, got "
                f"{library.spectra.shape[1]} bands"
            )
        return library.spectra
    order = np.argsort(there, kind="stable")
    spectra = np.array([np.interp(here, there[order], row[order]) for row in library.spectra])
    outside = (here < there.min()) | (here > there.max())
    if np.count_nonzero(~outside) < min(FEWEST_BANDS, bands):
        raise InputError(
            f"library: expected wavelengths that overlap with {here.min():g} to {here.max():g} nm, "
            f"got {there.min():g} to {there.max():g} nm"
        )
    spectra[:, outside] = np.nan
    return spectra


def propose_names(matches: Sequence[Sequence[Match]]) -> tuple[str, ...]:
    """The name of the nearest spectrum where it is near enough; numbered where it comes again."""
    found = [best[0].name if best[0].degrees <= LIKELY else None for best in matches]
    names = []
    for k, name in enumerate(found):
        if name is None:
            names.append(f"Endmember {k + 1}")
        else:
            again = found.count(name) > 1
            names.append(f"{name} {found[: k + 1].count(name)}" if again else name)
    return tuple(names)
