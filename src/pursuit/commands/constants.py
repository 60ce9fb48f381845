"""`pursuit constants`: the geometry of a dictionary in a file."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.scaling import check_range
from pursuit.commands.options import in_options
from pursuit.files import READABLE
from pursuit.files.tables import read_matrix

if TYPE_CHECKING:
    from pursuit.geometry import Constant

NARROWEST = 110
"""Columns of the table where the output is not a terminal."""


def constants(
    file: Annotated[Path, typer.Argument(help=f"The dictionary: {READABLE}.", metavar="FILE")],
    columns: Annotated[bool, typer.Option(help="The file has one atom per column.")] = False,
    unit: Annotated[bool, typer.Option(help="Divide the atoms by their norms first.")] = False,
    variable: Annotated[
        str | None, typer.Option(help="The matrix, where the file holds several.", metavar="NAME")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Print the constants that decide how fast pursuit over a dictionary converges.

    Atoms are drawn with equal probabilities. Each constant comes with its
    proved interval, what is proved about it and the theorem that it serves.
    """
    with in_options({"atoms": str(file), "variable": "--variable"}):
        matrix = read_matrix(file, variable, columns)
        check_range("atoms", matrix, "atom")
        given = Dictionary(matrix)
        atoms = cast(Dictionary, given.unit().atoms) if unit else given
        rows = table(atoms)
    if as_json:
        typer.echo(json.dumps(_document(file, atoms, rows), ensure_ascii=False, indent=2))
    else:
        _print(file, atoms, rows)


def table(atoms: Dictionary) -> list[tuple[str, str, Constant]]:
    """(symbol, meaning, constant) for a dictionary under uniform sampling."""
    from pursuit import geometry
    from pursuit.geometry import Constant, Kind

    best = Constant(1 / atoms.rank, Kind.EXACT, "Theorems 4, 5")
    return [
        ("radius", "longest atom", geometry.radius(atoms)),
        ("diameter", "twice the radius", geometry.diameter(atoms)),
        ("mDW", "minimal directional width", geometry.directional_width(atoms)),
        ("δ̂²", "quality of uniform sampling", geometry.sampling_quality(atoms)),
        ("1/r", "the same, best sampling", best),
        ("ν′", "Algorithm 3, random", geometry.nu_random(atoms)),
        ("ν", "Algorithm 4, greedy", geometry.nu(atoms)),
    ]


def _print(file: Path, atoms: Dictionary, rows: list[tuple[str, str, Constant]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, NARROWEST))
    shown = Table(title=f"{file.name}: {atoms!r}", title_justify="left")
    for heading in ("constant", "meaning", "value", "proved interval", "kind", "serves"):
        shown.add_column(heading)
    for symbol, meaning, value in rows:
        interval = f"[{value.lower:#.6g}, {value.upper:#.6g}]"
        shown.add_row(symbol, meaning, f"{value:#.6g}", interval, value.kind.value, value.serves)
    console.print(shown)


def _document(
    file: Path, atoms: Dictionary, rows: list[tuple[str, str, Constant]]
) -> dict[str, Any]:
    return {
        "file": str(file),
        "atoms": len(atoms),
        "shape": list(atoms.shape),
        "rank": atoms.rank,
        "constants": [
            {
                "constant": symbol,
                "meaning": meaning,
                "value": float(value),
                # JSON has no infinity.
                "lower": value.lower if isfinite(value.lower) else None,
                "upper": value.upper if isfinite(value.upper) else None,
                "kind": value.kind.value,
                "serves": value.serves,
            }
            for symbol, meaning, value in rows
        ],
    }
