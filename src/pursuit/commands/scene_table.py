"""What `pursuit unmix` prints: the number and its curve, the contest, the endmembers, the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from pursuit.unmixing import NumberEstimate, Unmixing
    from pursuit.unmixing.extraction import Score
    from pursuit.unmixing.libraries import Match

BAR = 30
"""Characters of the longest bar of a curve."""
BEYOND = 4
"""How many points of a curve are drawn after the one that is taken."""


def show(
    unmixing: Unmixing,
    number: NumberEstimate | None,
    matches: list[list[Match]],
    files: Sequence[tuple[str, Path]],
) -> None:
    """Short tables, and where the files are."""
    import numpy as np
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    if number is not None:
        _show_number(console, number)
    if unmixing.extraction is not None and unmixing.extraction.contest:
        _show_contest(console, unmixing.extraction.contest)
    if unmixing.extraction is not None and unmixing.extraction.n_sampled is not None:
        console.print(
            f"endmembers extracted from {unmixing.extraction.n_sampled} evenly spaced pixels of "
            f"{len(unmixing)}: the scene is too large to search all"
        )
    _show_endmembers(console, unmixing, matches)
    degrees = np.degrees(unmixing.angles)
    console.print(
        f"constraint {unmixing.constraint}, relative error {100 * unmixing.relative_error:.4g} %, "
        f"median spectral angle {np.median(degrees):.3g}°"
    )
    for what, path in files:
        console.print(f"{what}: {path}")


def _show_number(console: Console, number: NumberEstimate) -> None:
    """The sentence, and the curve in bars: logarithms, as its bend is looked for there."""
    import numpy as np

    console.print(str(number))
    shown = number.curve[: number.number + BEYOND]
    logs = np.log(np.maximum(shown, number.curve[0] * 1e-4))
    spread = (logs - logs.min()) / (np.ptp(logs) or 1.0)
    for k, (left, share) in enumerate(zip(shown, spread, strict=True), 1):
        mark = "  taken" if k == number.number else ""
        bar = "█" * max(1, round(BAR * share))
        console.print(f"{k:4d} {100 * left:#8.3g} % left {bar}{mark}")


def _show_contest(console: Console, contest: Sequence[Score]) -> None:
    from rich.table import Table

    table = Table(title="contest of the pickers", title_justify="left")
    table.add_column("picker")
    table.add_column("mean relative residual", justify="right")
    table.add_column("")
    for score in contest:
        row = (score.picker, f"{100 * score.residual:#.4g} %", "taken" if score.won else "")
        table.add_row(*row)
    console.print(table, soft_wrap=False)


def _show_endmembers(console: Console, unmixing: Unmixing, matches: list[list[Match]]) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    scene, picked = unmixing.scene, unmixing.extraction
    assert scene is not None
    table = Table(title=Text(repr(scene)), title_justify="left")
    table.add_column("endmember")
    headings = ["row, column (from 0)"] * (picked is not None)
    headings += ["nearest in the library"] * bool(matches)
    for heading in (*headings, "mean abundance", "dominant in"):
        table.add_column(heading, justify="right")
    most = np.bincount(unmixing.dominant, minlength=len(unmixing.names)) / len(unmixing)
    for k, name in enumerate(unmixing.names):
        cells = []
        if picked is not None:
            row, column = scene.places[picked.indices[k]]
            cells.append(f"{row}, {column}")
        if matches:
            cells.append(f"{matches[k][0].name}, {matches[k][0].degrees:.1f}°")
        cells += [f"{unmixing.abundances[:, k].mean():.4g}", f"{100 * most[k]:.1f} %"]
        table.add_row(Text(name), *map(Text, cells))
    console.print(table, soft_wrap=False)
