"""`pursuit unmix`: a scene in, endmembers and abundance maps out, on a page to look at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pursuit.base.errors import InputError
from pursuit.base.validation import one_of, positive, shown
from pursuit.commands.options import Force, in_options, new_file
from pursuit.commands.scene_job import Endmembers, How, Outputs, run
from pursuit.report.page import require_templates
from pursuit.unmixing import exports
from pursuit.unmixing.envi import BINARY_SUFFIXES
from pursuit.unmixing.exports import files_written
from pursuit.unmixing.side_files import band_numbers

CONSTRAINTS = ("none", "non-negative", "sum-to-one", "sum-at-most-one", "sparse")
PICKERS = ("auto", "h2nmf", "spa", "h2nmf-normalised", "spa-normalised", "spa-constant", "vca")
OPTIONS = {
    "r": "-r",
    "n_nonzero": "--nonzero",
    "endmembers": "--endmembers",
    "library": "--library",
    "names": "--names",
    "seed": "--seed",
    "variable": "--variable",
    "layout": "--layout",
    "shape": "--shape",
    "wavelengths": "--wavelengths",
    "bad_bands": "--bad-bands",
    "nodata": "--nodata",
    "scale": "--scale",
}
"""What the arguments of `read_scene`, `pick`, `unmix` and `match_library` are here."""


def unmix(
    scene: Annotated[Path, typer.Argument(help="A .mat, .npy, .npz, .csv, GeoTIFF or ENVI file.")],
    r: Annotated[
        int | None,
        typer.Option(
            "-r", help="How many endmembers to pick; estimated without it.", metavar="NUMBER"
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page (.html) to look at.", metavar="FILE")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write all numbers (.npz), or the abundances as GeoTIFF (.tif) or ENVI (.img). "
            "May be given several times.",
            metavar="FILE",
        ),
    ] = None,
    endmembers_out: Annotated[
        Path | None,
        typer.Option(
            help="Write the endmembers as a table (.csv) or an ENVI library (.sli).", metavar="FILE"
        ),
    ] = None,
    constraint: Annotated[
        str,
        typer.Option(help="What abundances must obey.", metavar="|".join(CONSTRAINTS)),
    ] = "non-negative",
    nonzero: Annotated[
        int | None,
        typer.Option(
            help="With sparse: the most endmembers in a pixel, none negative.", metavar="NUMBER"
        ),
    ] = None,
    picker: Annotated[
        str,
        typer.Option(
            help="How endmembers are picked; auto takes the best of all that draw nothing.",
            metavar="|".join(PICKERS),
        ),
    ] = "auto",
    average: Annotated[
        bool, typer.Option(help="Average a picked pixel with those that differ by noise alone.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the picker vca.", metavar="NUMBER")] = 0,
    endmembers: Annotated[
        Path | None,
        typer.Option(
            help="Known endmembers, none picked: a table or an ENVI library, or a matrix of rows "
            "(see --columns).",
            metavar="FILE",
        ),
    ] = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="The endmembers are columns of their file.")
    ] = False,
    endmember_variable: Annotated[
        str | None, typer.Option(help="The name of the endmembers in their file.", metavar="NAME")
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="Names of the endmembers: a,b,c.", metavar="NAMES")
    ] = None,
    library: Annotated[
        Path | None,
        typer.Option(
            help="Name the endmembers after the nearest of these spectra.", metavar="FILE"
        ),
    ] = None,
    library_variable: Annotated[
        str | None, typer.Option(help="The name of the spectra in their file.", metavar="NAME")
    ] = None,
    variable: Annotated[
        str | None, typer.Option(help="The name of the scene in its file.", metavar="NAME")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="The axes in their order: 'bands columns rows'.", metavar="AXES"),
    ] = None,
    shape: Annotated[
        str | None, typer.Option(help="Rows and columns: 95x95.", metavar="ROWSxCOLUMNS")
    ] = None,
    wavelengths: Annotated[
        Path | None, typer.Option(help="A text with one wavelength a band.", metavar="FILE")
    ] = None,
    bad_bands: Annotated[
        str | None,
        typer.Option(
            help="Bands to drop, from 1: 1-4,76,101-111; or a file with them.", metavar="LIST|FILE"
        ),
    ] = None,
    nodata: Annotated[
        float | None, typer.Option(help="Leave out pixels with this value.", metavar="VALUE")
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="Divide the scene by this; auto: by what its file says, or by the power of ten "
            "that known endmembers want.",
            metavar="NUMBER|auto",
        ),
    ] = "1",
    convergence: Annotated[
        bool,
        typer.Option("--convergence", help="Show on the page how fast pursuit reaches the fit."),
    ] = False,
    force: Force = False,
) -> None:
    """Unmix a hyperspectral scene: endmembers, abundance maps, and a page to look at.

    pursuit unmix scene.mat --report scene.html
    """
    one_of("--constraint", constraint, CONSTRAINTS)
    one_of("--picker", picker, PICKERS)
    if r is not None and endmembers is not None:
        raise InputError("-r: expected either -r NUMBER or --endmembers FILE, and not both")
    if (constraint == "sparse") != (nonzero is not None):
        raise InputError("--nonzero: expected a number with --constraint sparse, and only then")
    _refuse_unused(endmembers, "--endmembers", endmember_variable, "--endmember-variable")
    _refuse_unused(endmembers, "--endmembers", columns or None, "--columns")
    _refuse_unused(library, "--library", library_variable, "--library-variable")
    outputs = Outputs(report, tuple(out or ()), endmembers_out)
    _check_outputs(outputs)
    dropped = None if bad_bands is None else _bad_bands(bad_bands)
    read = [scene, endmembers, library, wavelengths, dropped if isinstance(dropped, Path) else None]
    _refuse_to_replace(outputs, read, force)
    reading: dict[str, object] = {
        "variable": variable,
        "layout": layout,
        "shape": None if shape is None else _shape(shape),
        "wavelengths": wavelengths,
        "bad_bands": dropped,
        "nodata": nodata,
    }
    how = How(
        r=r,
        picker=picker,
        average=average,
        seed=seed,
        known=None if endmembers is None else Endmembers(endmembers, endmember_variable, columns),
        library=None if library is None else Endmembers(library, library_variable, False),
        constraint=constraint,
        n_nonzero=nonzero,
        names=_split_names(names),
        scale=_scale(scale),
        convergence=convergence,
    )
    with in_options({**OPTIONS, "pixels": str(scene)}):
        run(scene, reading, how, outputs)


def _refuse_unused(file: Path | None, given: str, value: object, option: str) -> None:
    """An option about a file is refused where none was given: it would do nothing."""
    if value is not None and file is None:
        raise InputError(f"{option}: expected {given} FILE with it, got none")


# Options as text ---------------------------------------------------------------------------


def _check_outputs(outputs: Outputs) -> None:
    """Find out before the work whether its results can be written."""
    wanted: list[tuple[str, Path, tuple[str, ...]]]
    wanted = [("--out", path, (".npz", *exports.CUBE_ENDINGS)) for path in outputs.numbers]
    if outputs.report is not None:
        wanted.append(("--report", outputs.report, (".html",)))
    if outputs.endmembers is not None:
        wanted.append(("--endmembers-out", outputs.endmembers, exports.LIBRARY_ENDINGS))
    for name, path, endings in wanted:
        exports.one_of_endings(name, path, endings)
    for path in outputs.numbers:
        exports.require_cube_writer(path)
    if outputs.endmembers is not None:
        exports.require_library_writer(outputs.endmembers)
    if outputs.report is not None:
        require_templates()


def _refuse_to_replace(outputs: Outputs, read: Sequence[Path | None], force: bool) -> None:
    """Nothing that is read, written too or there is written over; ENVI files are two."""
    taken = {path.resolve() for path in read if path is not None}
    for path in list(taken):
        if path.suffix.lower() in (*BINARY_SUFFIXES, ".hdr"):
            taken |= {path.with_suffix(suffix) for suffix in (*BINARY_SUFFIXES, ".hdr")}
    wanted = [("--out", path, ".img") for path in outputs.numbers]
    wanted += [("--endmembers-out", path, ".sli") for path in [outputs.endmembers] if path]
    wanted += [("--report", path, "") for path in [outputs.report] if path]
    for option, path, numbers in wanted:
        written = {file.resolve() for file in files_written(path, numbers)}
        if written & taken:
            name = min(written & taken).name
            raise InputError(f"{option}: {path} would replace {name}, which is read or written too")
        for file in files_written(path, numbers):
            new_file(file, force, option)
        taken |= written


def _shape(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,18})\s*[x×,]\s*(\d{1,18})", text.strip())
    if not found:
        raise InputError(f"--shape: expected rows and columns such as 95x95, got {shown(text)}")
    return int(found[1]), int(found[2])


def _bad_bands(text: str) -> list[int] | Path:
    return Path(text) if Path(text).is_file() else band_numbers(text, "--bad-bands", ", or a file")


def _scale(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return positive("--scale", float(text))
    except ValueError:
        raise InputError(f"--scale: expected a positive number or auto, got {text!r}") from None


def _split_names(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(name.strip() for name in text.split(","))
