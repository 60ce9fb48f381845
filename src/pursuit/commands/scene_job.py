"""What `pursuit unmix` does once its options are understood: every stage in turn."""

from __future__ import annotations

import shlex
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.base.progress import Silent, bar
from pursuit.base.validation import count
from pursuit.commands.options import in_options
from pursuit.commands.scene_table import show
from pursuit.report.unmixing import Story, unmixing_html
from pursuit.unmixing import (
    Extraction,
    NumberEstimate,
    Scene,
    Unmixing,
    estimate_number,
    pick,
    read_scene,
    unmix,
)
from pursuit.unmixing.convergence import convergence
from pursuit.unmixing.libraries import (
    Match,
    SpectralLibrary,
    match_library,
    propose_names,
    read_library,
)
from pursuit.unmixing.scaling import matching_scale

if TYPE_CHECKING:
    from pursuit.base.validation import Array
STAGES = ("reading", "number", "endmembers", "abundances", "page", "writing")


@dataclass(frozen=True)
class Endmembers:
    """Where spectra are read from."""

    path: Path
    variable: str | None
    columns: bool


@dataclass(frozen=True)
class How:
    """What to do with a scene."""

    r: int | None
    picker: str
    average: bool
    seed: int
    known: Endmembers | None
    library: Endmembers | None
    constraint: str
    n_nonzero: int | None
    names: tuple[str, ...]
    scale: float | str
    convergence: bool


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    report: Path | None
    numbers: tuple[Path, ...]
    endmembers: Path | None

    @property
    def listed(self) -> list[tuple[str, Path]]:
        """What each file is, in the order of writing."""
        files = [
            ("all numbers" if path.suffix.lower() == ".npz" else "abundances", path)
            for path in self.numbers
        ]
        if self.endmembers is not None:
            files.append(("endmembers", self.endmembers))
        return files + ([] if self.report is None else [("the page", self.report)])


@dataclass(frozen=True)
class Findings:
    """What came out."""

    unmixing: Unmixing
    number: NumberEstimate | None
    matches: list[list[Match]]


def run(path: Path, reading: dict[str, object], how: How, outputs: Outputs) -> None:
    """Unmix the scene, write what is wanted, and print a table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with bar("unmix", len(STAGES), sys.stderr.isatty()) as shown:
            findings = _work(path, reading, how, outputs, shown)
    for warning in caught:
        print(f"pursuit: {warning.message}", file=sys.stderr)
    show(findings.unmixing, findings.number, findings.matches, outputs.listed)


def _work(
    path: Path, reading: dict[str, object], how: How, outputs: Outputs, shown: Silent
) -> Findings:
    """Every stage in turn; files are written at the end, when nothing can go wrong but writing."""
    _begin(shown, "reading")
    scene, known = _read(path, reading, how)
    _begin(shown, "number")
    number = _number(scene, how)
    _begin(shown, "endmembers")
    endmembers = known.spectra if known is not None else _pick(scene, how, number)
    matches = _matches(endmembers, scene, how.library)
    names = _names(how, known, matches, len(endmembers))
    _begin(shown, "abundances")
    unmixing = unmix(
        scene,
        endmembers,
        how.constraint,
        n_nonzero=how.n_nonzero,
        names=names,
        progress=False,
    )
    findings = Findings(unmixing, number, matches)
    _begin(shown, "page")
    page = _page(findings, how) if outputs.report else ""
    _begin(shown, "writing")
    _write(unmixing, page, outputs)
    shown.update(len(STAGES), "done")
    return findings


def _begin(shown: Silent, stage: str) -> None:
    shown.update(STAGES.index(stage), stage)


def _read(path: Path, reading: dict[str, object], how: How) -> tuple[Scene, SpectralLibrary | None]:
    """The scene, and its endmembers where they are known, in one scale."""
    if how.known is None:
        return read_scene(path, scale=how.scale, **reading), None  # type: ignore[arg-type]
    alone = 1.0 if how.scale == "auto" else how.scale
    scene = read_scene(path, scale=alone, **reading)  # type: ignore[arg-type]
    known = _read_known(how.known, scene)
    if how.scale == "auto":
        scale = matching_scale(scene.pixels, known.spectra, scene.file_scale)
        scene = scene if scale == 1 else scene.divided(scale)
    return scene, known


def _read_known(known: Endmembers, scene: Scene) -> SpectralLibrary:
    with in_options({"variable": "--endmember-variable"}):
        library = read_library(known.path, known.variable, known.columns)
    if library.spectra.shape[1] != len(scene.bands):
        raise InputError(
            f"{known.path}: expected endmembers of {len(scene.bands)} bands as in the scene, got "
            f"rows of {library.spectra.shape[1]}; --columns if they are columns"
        )
    return library


def _number(scene: Scene, how: How) -> NumberEstimate | None:
    return estimate_number(scene) if how.r is None and how.known is None else None


def _pick(scene: Scene, how: How, number: NumberEstimate | None) -> Extraction:
    r = number.number if number is not None else count("-r", how.r, 1)
    return pick(scene, r, how.picker, average=how.average, seed=how.seed)


def _matches(
    endmembers: Array | Extraction, scene: Scene, source: Endmembers | None
) -> list[list[Match]]:
    if source is None:
        return []
    with in_options({"variable": "--library-variable"}):
        library = read_library(source.path, source.variable)
    bands = len(scene.bands)
    if library.wavelengths is None and library.spectra.shape[1] != bands == len(library):
        library = replace(library, spectra=library.spectra.T)
    spectra = endmembers.endmembers if hasattr(endmembers, "endmembers") else endmembers
    return match_library(spectra, library, scene.wavelengths, scene.wavelength_unit)


def _names(
    how: How, known: SpectralLibrary | None, matches: list[list[Match]], r: int
) -> tuple[str, ...]:
    """Those given, else those of the endmembers' file, else those that a library proposes."""
    if how.names and len(how.names) != r:
        raise InputError(f"--names: expected {r}, one for each endmember, got {len(how.names)}")
    if how.names:
        return how.names
    return (known.names if known is not None else ()) or propose_names(matches)


def _page(findings: Findings, how: How) -> str:
    unmixing = findings.unmixing
    assert unmixing.scene is not None
    curves = None
    if how.convergence:
        curves = convergence(unmixing.scene.pixels, unmixing.endmembers)
    command = shlex.join(["pursuit", *sys.argv[1:]])
    return unmixing_html(unmixing, Story(findings.number, findings.matches, curves, command))


def _write(unmixing: Unmixing, page: str, outputs: Outputs) -> None:
    for path in outputs.numbers:
        unmixing.save(path)
    if outputs.endmembers is not None:
        unmixing.save_endmembers(outputs.endmembers)
    if outputs.report is not None:
        with whole_file(outputs.report) as part:
            part.write_text(page, encoding="utf-8")
