"""The hyperspectral experiment: every pixel of the Urban scene over six of its spectra.

The loss is the paper's (1/N) Σ ‖x_i − b_i‖², counted from its floor over the span of the atoms.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.progress import Silent
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count
from pursuit.encoding.convergence import BLOCK, BatchProblem
from pursuit.experiments.curves import (
    DOUBLE,
    EXACT,
    FIGURES,
    IN_USE,
    Curve,
    Panel,
    Reading,
    competitors,
    grid_up_to,
)
from pursuit.experiments.observed import NuRun, nu_runs
from pursuit.experiments.pictures import draw_panels
from pursuit.experiments.urban_data import Pixels, urban

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITERATIONS = 8000
READINGS = (FIGURES, EXACT, DOUBLE)


def run(
    source: str | os.PathLike[str] | Pixels | None = None,
    iterations: int = ITERATIONS,
    seed: int = 0,
    *,
    readings: Sequence[Reading] = READINGS,
    bar: Silent | None = None,
) -> list[Panel]:
    """Run every competitor on all pixels at once, with unit atoms, under each reading of L.

    Parameters
    ----------
    source
        A file with the pixels (see `urban_data.urban`), or pixels with their atoms. None: the
        Urban file where it is found, a simulated scene where not.
    iterations, seed
        Of each run; every pixel has random draws of its own.
    readings
        The readings of L.
    bar
        A progress bar from 0 to ``len(readings)``.
    """
    grid = grid_up_to(count("iterations", iterations, minimum=1))
    count("seed", seed)
    with single_threaded_blas:
        scene = source if isinstance(source, Pixels) else urban(source)
        atoms = cast(Dictionary, scene.atoms.unit().atoms)  # as the unit set of one is
        field = BatchProblem(atoms, scene.signals)
        facts = _facts(field)
        return [
            _panel(scene, field, reading, grid, seed, facts, _Share(bar, k, len(scene.signals)))
            for k, reading in enumerate(readings)
        ]


def observed_nu(scene: Pixels, seed: int = 0) -> list[NuRun]:
    """Return ν along Algorithm 4 on the mean pixel of a scene."""
    atoms = cast(Dictionary, scene.atoms.unit().atoms)
    return nu_runs(f"{scene.name}: mean pixel", scene.signals.mean(axis=0), atoms, seed)


def draw(panels: list[Panel]) -> Figure:
    """Return a figure with one row for each panel: loss against iterations and products."""
    return draw_panels(panels, f"{panels[0].name}: the mean over all pixels")


def _panel(
    scene: Pixels,
    field: BatchProblem,
    reading: Reading,
    grid: Array,
    seed: int,
    facts: dict[str, float],
    bar: _Share,
) -> Panel:
    L = reading.constant(field.atoms)
    curves = {}
    entries = competitors(reading)
    for number, (key, competitor) in enumerate(entries.items()):
        bar.begin(number / len(entries), len(entries), competitor.label)
        course = field.best(competitor.make(field.atoms, L), grid, seed, bar)
        if course is not None:
            # f is half the square, and summed: the paper's loss is the mean of the squares.
            losses = course.values * 2 / len(scene.signals)
            curves[key] = Curve(losses[None], course.products, np.array([course.nu]))
    return Panel(
        name=scene.name,
        title=_title(scene),
        reading=reading,
        loss="mean ‖x − b‖² above its floor",
        dimension=field.atoms.rank,
        radius=field.atoms.radius,
        grid=grid,
        curves=curves,
        facts={**facts, IN_USE: L},
        role="appendix" if reading is DOUBLE else "main",
        is_simulated=scene.is_simulated,
    )


def _title(scene: Pixels) -> str:
    pixels, bands = scene.signals.shape
    return f"{pixels:,} pixels, {bands} bands, {len(scene.atoms)} unit atoms"


def _facts(field: BatchProblem) -> dict[str, float]:
    spectrum = np.linalg.eigvalsh(field.gram)
    squares: Array = np.einsum("ij,ij->i", field.signals, field.signals)
    return {
        "loss at zero": float(squares.mean()),
        "floor": field.floor * 2 / len(field.signals),
        "smallest Gram eigenvalue": float(spectrum[0]),
        "largest Gram eigenvalue": float(spectrum[-1]),
    }


class _Share(Silent):
    """The part of a progress bar that belongs to one competitor under one reading."""

    def __init__(self, bar: Silent | None, reading: int, pixels: int) -> None:
        self._bar, self._reading, self._label = bar, reading, ""
        self._blocks = -(-pixels // BLOCK)
        self._start, self._entries = 0.0, 1

    def begin(self, start: float, entries: int, label: str) -> None:
        """Go on to the next competitor, which starts at a fraction of the reading's work."""
        self._start, self._entries, self._label = start, entries, label

    def update(self, done: float, note: str = "") -> None:
        if self._bar is not None:
            share = self._start + done / self._blocks / self._entries
            self._bar.update(self._reading + share, self._label)
