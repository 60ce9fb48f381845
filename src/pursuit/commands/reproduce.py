"""`pursuit reproduce`: the paper's two experiments, with a verdict on each of its claims."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pursuit import plots
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.validation import count, one_of
from pursuit.commands.options import Force, new_file
from pursuit.report.page import require_templates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pursuit.experiments.curves import Panel
    from pursuit.experiments.urban_data import Pixels
    from pursuit.experiments.verdicts import Finding

EXPERIMENTS = ("toy", "urban", "all")
PAGE, CURVES, VERDICTS = "index.html", "curves.json", "verdicts.md"
FIGURES = {"toy-unit-atoms": "unit", "toy-raw-atoms": "raw", "toy-short-atoms": "1/√dim"}
"""The lengths of the atoms in each figure of the toy problems."""
RESOLUTION = 150
"""Dots per inch of the PNG files."""
PAGE_WIDTH = 180
"""Columns of the table of verdicts where the output is not a terminal."""


def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="toy, urban or all.", metavar="toy|urban|all")
    ] = "all",
    out: Annotated[
        Path, typer.Option(help="The folder for figures, curves and verdicts.", metavar="DIR")
    ] = Path("reproduction"),
    data: Annotated[
        Path | None,
        typer.Option(
            help="The Urban pixels (.npz, .mat, .npy, .csv). Looked for in $PURSUIT_DATA if not "
            "given; a simulated scene takes their place if there are none.",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed that every random number comes from.")] = 0,
    seeds: Annotated[int, typer.Option(help="Toy problems of each kind.")] = 20,
    iterations: Annotated[int, typer.Option(help="Iterations of every run.")] = 5000,
    force: Force = False,
) -> None:
    """Run the paper's experiments again and judge its claims.

    Matching pursuit, random pursuit and both accelerated algorithms, with
    the constants that the paper prints and with valid ones, and acceleration
    without parameters. Writes a page to look at (index.html), figures (PNG,
    SVG), every curve (curves.json) and the verdicts with the numbers behind
    them (verdicts.md).
    """
    one_of("EXPERIMENT", experiment, EXPERIMENTS)
    for name, number in (("seed", seed), ("seeds", seeds), ("iterations", iterations)):
        count(f"--{name}", number, minimum=0 if name == "seed" else 1)
    scene = None if experiment == "toy" else _scene(data)
    _check_output(out)
    for file in _files(out, experiment):
        new_file(file, force)
    panels: dict[str, list[Panel]] = {}
    if experiment != "urban":
        panels["toy"] = _toy(seeds, iterations, seed)
    if scene is not None:
        panels["urban"] = _urban(scene, iterations, seed)
    _finish(panels, out, seed)


def _toy(seeds: int, iterations: int, seed: int) -> list[Panel]:
    from pursuit.experiments import toy

    with bar("toy data", seeds * len(toy.KINDS), sys.stderr.isatty()) as shown:
        return toy.run(seeds, iterations, seed, bar=shown)


def _scene(data: Path | None) -> Pixels:
    from pursuit.experiments.urban_data import urban

    return urban(data)


def _urban(scene: Pixels, iterations: int, seed: int) -> list[Panel]:
    from pursuit.experiments import urban

    with bar("hyperspectral data", 1, sys.stderr.isatty()) as shown:
        return [urban.run(scene, iterations, seed, bar=shown)]


def _figures(panels: dict[str, list[Panel]]) -> dict[str, Figure]:
    from pursuit.experiments import toy, urban

    figures = {}
    for name, length in FIGURES.items() if "toy" in panels else ():
        pairs = zip(toy.KINDS, panels["toy"], strict=True)
        figures[name] = toy.draw([panel for kind, panel in pairs if kind.length == length])
    if "urban" in panels:
        figures["urban"] = urban.draw(panels["urban"][0])
    return figures


def _finish(panels: dict[str, list[Panel]], out: Path, seed: int) -> None:
    from pursuit.experiments.documents import as_json, as_markdown
    from pursuit.experiments.verdicts import judge
    from pursuit.report import reproduction_html

    every = [panel for some in panels.values() for panel in some]
    findings = judge(every)
    figures = _figures(panels)
    texts = {
        CURVES: as_json(every, findings, seed),
        VERDICTS: as_markdown(every, findings, seed),
        PAGE: reproduction_html(every, findings),
    }
    written = _write(out, texts, figures)
    _show(every, findings, written)


def _show(panels: list[Panel], findings: list[Finding], written: list[Path]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pursuit.experiments.documents import cases, verdicts

    table = Table(title="The claims of the paper's section 4", expand=True)
    table.add_column("claim", ratio=3)
    for panel in panels:
        table.add_column(Text(panel.name), ratio=2)
    last = ""
    for claim, case in cases(findings):
        if claim != last:
            table.add_section()
            table.add_row(Text(claim, style="bold"))
            last = claim
        cells = verdicts(panels, findings, claim, case)
        table.add_row(Text(f"  {case}"), *(Text(cell, style=_colour(cell)) for cell in cells))
    width = None if sys.stdout.isatty() else PAGE_WIDTH
    console = Console(highlight=False, markup=False, soft_wrap=True, width=width)
    console.print(table, soft_wrap=False)
    console.print("The numbers behind the verdicts, the curves and the figures:")
    for path in written:
        if path.name != PAGE:
            console.print(f"  {path}")
    console.print(f"The page to look at: {next(path for path in written if path.name == PAGE)}")


def _colour(verdict: str) -> str:
    if verdict.startswith("not"):
        return "dim"
    return "green" if verdict.startswith("holds") else "red"


# Files -------------------------------------------------------------------------------------


def _check_output(out: Path) -> None:
    """Find out before the work whether its results can be drawn and written."""
    plots.figure(1, 1)
    require_templates()
    with _writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass


def _files(out: Path, experiment: str) -> list[Path]:
    """What is written for an experiment."""
    drawn = [*(FIGURES if experiment != "urban" else ()), *["urban"] * (experiment != "toy")]
    figures = [f"{name}{ending}" for name in drawn for ending in (".png", ".svg")]
    return [out / name for name in (PAGE, CURVES, VERDICTS, *figures)]


def _write(out: Path, texts: dict[str, str], figures: dict[str, Figure]) -> list[Path]:
    """Write everything beside its place, then move it there: no file is ever half written."""
    with _writing_to(out), tempfile.TemporaryDirectory(dir=out, prefix=".unfinished-") as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for name, figure in figures.items():
            figure.savefig(Path(folder) / f"{name}.png", dpi=RESOLUTION)
            figure.savefig(Path(folder) / f"{name}.svg", metadata={"Date": None})
        names = sorted(path.name for path in Path(folder).iterdir())
        for name in names:
            os.replace(Path(folder) / name, out / name)
    return [out / name for name in names]


@contextmanager
def _writing_to(out: Path) -> Iterator[None]:
    """Turn what the system says about a folder into one sentence that names it."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out: cannot write to the folder {out} ({reason})") from None
