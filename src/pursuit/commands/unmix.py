"""`pursuit unmix`: a scene in, endmembers and abundance maps out, on a page to look at."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pursuit.base.errors import InputError
from pursuit.base.progress import Silent, bar
from pursuit.base.validation import count, one_of
from pursuit.commands.options import in_options

if TYPE_CHECKING:
    from pursuit.base.validation import Array
    from pursuit.unmixing import Extraction, Scene, Unmixing

CONSTRAINTS = ("none", "non-negative", "sum-to-one", "sparse")
PICKERS = ("h2nmf", "spa")
OPTIONS = {
    "r": "-r",
    "n_nonzero": "--nonzero",
    "endmembers": "--endmembers",
    "variable": "--variable",
    "layout": "--layout",
    "shape": "--shape",
    "bad_bands": "--bad-bands",
    "nodata": "--nodata",
    "scale": "--scale",
}
"""What the arguments of `read_scene`, `unmix` and the pickers are here."""
STAGES = ("reading", "endmembers", "abundances", "convergence", "writing")


def unmix(
    scene: Annotated[Path, typer.Argument(help="A .mat, .npy, .npz, .csv or ENVI file.")],
    r: Annotated[
        int | None, typer.Option("-r", help="How many endmembers to pick.", metavar="NUMBER")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page (.html) to look at.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write all numbers (.npz).", metavar="FILE")
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
        str, typer.Option(help="How endmembers are picked.", metavar="|".join(PICKERS))
    ] = "h2nmf",
    endmembers: Annotated[
        Path | None,
        typer.Option(help="Known endmembers as rows (see --columns), none picked.", metavar="FILE"),
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
    bad_bands: Annotated[
        str | None, typer.Option(help="Bands to drop, from 1: 1-4,76,101-111.", metavar="LIST")
    ] = None,
    nodata: Annotated[
        float | None, typer.Option(help="Leave out pixels with this value.", metavar="VALUE")
    ] = None,
    scale: Annotated[float, typer.Option(help="Divide the scene by this.", metavar="NUMBER")] = 1.0,
) -> None:
    """Unmix a hyperspectral scene: endmembers, abundance maps, and a page to look at.

    pursuit unmix scene.mat -r 6 --report scene.html
    """
    one_of("--constraint", constraint, CONSTRAINTS)
    one_of("--picker", picker, PICKERS)
    if (r is None) == (endmembers is None):
        raise InputError("-r: expected either -r NUMBER or --endmembers FILE, and not both")
    if (constraint == "sparse") != (nonzero is not None):
        raise InputError("--nonzero: expected a number with --constraint sparse, and only then")
    _check_outputs(report, out)
    reading: dict[str, object] = {
        "variable": variable,
        "layout": layout,
        "shape": None if shape is None else _shape(shape),
        "bad_bands": None if bad_bands is None else _numbers(bad_bands),
        "nodata": nodata,
        "scale": scale,
    }
    known = None if endmembers is None else _Known(endmembers, endmember_variable, columns)
    how = _How(r, picker, known, constraint, nonzero, _split_names(names))
    with in_options({**OPTIONS, "pixels": str(scene)}):
        _run(scene, reading, how, _Outputs(report, out))


@dataclass(frozen=True)
class _Known:
    """Where endmembers are read from."""

    path: Path
    variable: str | None
    columns: bool


@dataclass(frozen=True)
class _How:
    """What to do with a scene."""

    r: int | None
    picker: str
    known: _Known | None
    constraint: str
    n_nonzero: int | None
    names: list[str]


@dataclass(frozen=True)
class _Outputs:
    report: Path | None
    numbers: Path | None


def _run(path: Path, reading: dict[str, object], how: _How, outputs: _Outputs) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with bar("unmix", len(STAGES), sys.stderr.isatty()) as shown:
            unmixing, extraction, names = _work(path, reading, how, outputs, shown)
    for warning in caught:
        print(f"pursuit: {warning.message}", file=sys.stderr)
    _show(unmixing, extraction, names, outputs)


def _work(
    path: Path, reading: dict[str, object], how: _How, outputs: _Outputs, shown: Silent
) -> tuple[Unmixing, Extraction | None, list[str]]:
    """Every stage in turn; files are written at the end, when nothing can go wrong but writing."""
    from pursuit.unmixing import read_scene
    from pursuit.unmixing import unmix as unmix_scene

    _begin(shown, "reading")
    scene = read_scene(path, **reading)  # type: ignore[arg-type]
    _begin(shown, "endmembers")
    extraction = _pick(scene, how)
    spectra = _read_known(how.known, scene) if extraction is None else extraction.endmembers
    names = _endmember_names(how.names, len(spectra))
    _begin(shown, "abundances")
    unmixing = unmix_scene(scene, spectra, how.constraint, n_nonzero=how.n_nonzero, progress=False)
    page = _page(unmixing, extraction, names, shown) if outputs.report else ""
    _begin(shown, "writing")
    _write(unmixing, page, outputs)
    shown.update(len(STAGES), "done")
    return unmixing, extraction, names


def _begin(shown: Silent, stage: str) -> None:
    shown.update(STAGES.index(stage), stage)


def _pick(scene: Scene, how: _How) -> Extraction | None:
    from pursuit.unmixing import h2nmf, spa

    if how.r is None:
        return None
    pickers = {"h2nmf": h2nmf, "spa": spa}
    return pickers[how.picker](scene.pixels, count("-r", how.r, 1))


def _read_known(known: _Known | None, scene: Scene) -> Array:
    from pursuit.files.tables import read_matrix

    assert known is not None
    with in_options({"variable": "--endmember-variable"}):
        matrix = read_matrix(known.path, known.variable, known.columns)
    if matrix.shape[1] != len(scene.bands):
        raise InputError(
            f"{known.path}: expected endmembers of {len(scene.bands)} bands as in the scene, got "
            f"rows of {matrix.shape[1]}; --columns if they are columns"
        )
    return matrix


def _endmember_names(given: list[str], r: int) -> list[str]:
    if given and len(given) != r:
        raise InputError(f"--names: expected {r}, one for each endmember, got {len(given)}")
    return given or [f"Endmember {k + 1}" for k in range(r)]


def _page(
    unmixing: Unmixing, extraction: Extraction | None, names: list[str], shown: Silent
) -> str:
    from pursuit.report.unmixing import Story, unmixing_html
    from pursuit.unmixing.convergence import convergence

    _begin(shown, "convergence")
    assert unmixing.scene is not None
    curves = convergence(unmixing.scene.pixels, unmixing.endmembers)
    command = shlex.join(["pursuit", *sys.argv[1:]])
    return unmixing_html(unmixing, Story(names, extraction, curves, command))


def _write(unmixing: Unmixing, page: str, outputs: _Outputs) -> None:
    from pursuit.base.archive import whole_file

    if outputs.numbers is not None:
        unmixing.save(outputs.numbers)
    if outputs.report is not None:
        with whole_file(outputs.report) as part:
            part.write_text(page, encoding="utf-8")


def _show(
    unmixing: Unmixing, extraction: Extraction | None, names: list[str], outputs: _Outputs
) -> None:
    """A short table, and where the files are."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    scene = unmixing.scene
    assert scene is not None
    table = Table(title=Text(repr(scene)), title_justify="left")
    table.add_column("endmember")
    for heading in ("row, column", "mean abundance", "dominant in"):
        if extraction is not None or heading != "row, column":
            table.add_column(heading, justify="right")
    most = np.bincount(unmixing.dominant, minlength=len(names)) / len(unmixing)
    for k, name in enumerate(names):
        cells = [f"{unmixing.abundances[:, k].mean():.4g}", f"{100 * most[k]:.1f} %"]
        if extraction is not None:
            row, column = scene.places[extraction.indices[k]]
            cells.insert(0, f"{row}, {column}")
        table.add_row(Text(name), *cells)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(table, soft_wrap=False)
    degrees = np.degrees(unmixing.angles)
    console.print(
        f"constraint {unmixing.constraint}, relative error {100 * unmixing.relative_error:.4g} %, "
        f"median spectral angle {np.median(degrees):.3g}°"
    )
    if outputs.numbers is not None:
        console.print(f"all numbers: {outputs.numbers}")
    if outputs.report is not None:
        console.print(f"the page: {outputs.report}")


# Options as text ---------------------------------------------------------------------------


def _check_outputs(report: Path | None, out: Path | None) -> None:
    """Find out before the work whether its results can be written."""
    from pursuit.base.archive import writable_path

    for name, path, suffix in (("--report", report, ".html"), ("--out", out, ".npz")):
        if path is not None:
            if path.suffix.lower() != suffix:
                raise InputError(f"{name}: expected a file that ends in {suffix}, got {path}")
            writable_path(path)
    if report is not None:
        from pursuit.report.page import require_templates

        require_templates()


def _shape(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)\s*[x×,]\s*(\d+)", text.strip())
    if not found:
        raise InputError(f"--shape: expected rows and columns such as 95x95, got {text!r}")
    return int(found[1]), int(found[2])


def _numbers(text: str) -> list[int]:
    """Numbers and ranges: 1-4,76 is 1, 2, 3, 4, 76."""
    numbers: list[int] = []
    for part in filter(None, re.split(r"[,\s]+", text)):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise InputError(f"--bad-bands: expected numbers such as 1-4,76, got {part!r}")
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    return numbers


def _split_names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]
