"""The hyperspectral experiment: every pixel of the Urban scene over six of its spectra.

The loss is the paper's (1/N) Σ ‖x_i − b_i‖², counted from its floor over the span of the atoms.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.progress import Silent
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count
from pursuit.encoding.courses import Field
from pursuit.encoding.runs import BLOCK
from pursuit.experiments.curves import CONTESTANTS, Curve, Panel, grid_up_to
from pursuit.experiments.pictures import draw_panels
from pursuit.experiments.urban_data import Pixels, urban

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITERATIONS = 5000


def run(
    source: str | os.PathLike[str] | Pixels | None = None,
    iterations: int = ITERATIONS,
    seed: int = 0,
    *,
    bar: Silent | None = None,
) -> Panel:
    """Run every contestant on all pixels at once, with atoms divided by their norms.

    Parameters
    ----------
    source
        A file with the pixels (see `scene.urban`), or pixels with their atoms. None: the Urban
        file where it is found, a simulated scene where not.
    iterations, seed
        Of each run; every pixel has random draws of its own.
    bar
        Told the share of the work that is done, from 0 to 1.
    """
    grid = grid_up_to(count("iterations", iterations, minimum=1))
    count("seed", seed)
    with single_threaded_blas:
        scene = source if isinstance(source, Pixels) else urban(source)
        atoms = cast(Dictionary, scene.atoms.unit().atoms)  # as the unit set of one is
        field = Field(atoms, scene.signals)
        curves = {}
        for number, (key, contestant) in enumerate(CONTESTANTS.items()):
            share = _Share(bar, number, len(scene.signals), contestant.label)
            course = field.best(contestant.make(atoms), grid, seed, share)
            if course is not None:
                # f is half the square, and summed: the paper's loss is the mean of the squares.
                losses = course.values * 2 / len(scene.signals)
                curves[key] = Curve(losses[None], course.products, np.array([course.nu]))
    return Panel(
        name=scene.name,
        title=_title(scene),
        loss="mean ‖x − b‖² above its floor",
        dimension=atoms.rank,
        radius=atoms.radius,
        grid=grid,
        curves=curves,
        facts=_facts(field),
    )


def draw(panel: Panel) -> Figure:
    """Loss against iterations and against products."""
    return draw_panels([panel], f"{panel.name}: the mean over all pixels")


def _title(scene: Pixels) -> str:
    pixels, bands = scene.signals.shape
    return f"{pixels:,} pixels, {bands} bands, {len(scene.atoms)} unit atoms"


def _facts(field: Field) -> dict[str, float]:
    spectrum = np.linalg.eigvalsh(field.gram)
    squares: Array = np.einsum("ij,ij->i", field.signals, field.signals)
    return {
        "loss at zero": float(squares.mean()),
        "floor": field.floor * 2 / len(field.signals),
        "smallest Gram eigenvalue": float(spectrum[0]),
        "largest Gram eigenvalue": float(spectrum[-1]),
    }


class _Share(Silent):
    """A contestant's part of a bar: blocks of pixels as a share of all the work."""

    def __init__(self, bar: Silent | None, number: int, pixels: int, label: str) -> None:
        self._bar, self._number, self._label = bar, number, label
        self._blocks = -(-pixels // BLOCK)

    def update(self, done: float, note: str = "") -> None:
        if self._bar is not None:
            self._bar.update((self._number + done / self._blocks) / len(CONTESTANTS), self._label)
