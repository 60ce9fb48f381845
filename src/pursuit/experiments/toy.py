"""The toy experiment: a random signal in 100 dimensions and 200 random atoms.

The paper does not say how the atoms are drawn or scaled: Gaussian atoms and atoms with entries
uniform in [0, 1], each divided by their norms, as drawn, and at norm 1/√dim, where the paper's
ν = 1 is valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.progress import Silent
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count
from pursuit.encoding.courses import Course, Field
from pursuit.experiments.curves import CONTESTANTS, Curve, Panel, grid_up_to
from pursuit.experiments.pictures import draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = 20
ITERATIONS = 5000


class AtomLaw(NamedTuple):
    """How atoms are drawn and scaled."""

    law: str
    length: str

    @property
    def name(self) -> str:
        return f"{self.law}, {self.length}"


UNIT, RAW, SHORT = "unit", "raw", "1/√dim"
LENGTHS = {
    UNIT: "divided by their norms",
    RAW: "as drawn",
    SHORT: "of norm 1/√dim",
}
"""What is done to the lengths of atoms, in words."""
KINDS = tuple(AtomLaw(law, length) for length in LENGTHS for law in ("Gaussian", "uniform"))


def run(
    seeds: int = SEEDS,
    iterations: int = ITERATIONS,
    seed: int = 0,
    *,
    atoms: int = 200,
    dimension: int = 100,
    bar: Silent | None = None,
) -> list[Panel]:
    """Run every contestant on `seeds` problems of each kind.

    Parameters
    ----------
    seeds, iterations, seed
        Problems of each kind, iterations of each run, and the seed that all draws come from.
    atoms, dimension
        The size of a problem; the paper's by default.
    bar
        Told how many of ``seeds * len(KINDS)`` problems are done.
    """
    count("seeds", seeds, minimum=1)
    grid = grid_up_to(count("iterations", iterations, minimum=1))
    panels = []
    with single_threaded_blas:
        for k, kind in enumerate(KINDS):
            rows, radius = [], 0.0
            for number in range(seeds):
                problem = np.random.SeedSequence((count("seed", seed), number))
                field = _field(kind, problem, atoms, dimension)
                radius = max(radius, field.atoms.radius)
                rows.append(_courses(field, grid, problem))
                if bar is not None:
                    bar.update(k * seeds + number + 1, kind.name)
            panels.append(_panel(kind, grid, (radius, min(atoms, dimension)), rows))
    return panels


def draw(panels: list[Panel]) -> Figure:
    """One row of pictures for each panel: loss against iterations and against products."""
    runs = panels[0].runs
    return draw_panels(panels, f"Toy data, {runs} problems: median, 10th to 90th percentile")


def _field(kind: AtomLaw, problem: np.random.SeedSequence, n: int, d: int) -> Field:
    rng = np.random.default_rng(problem)
    signal = rng.standard_normal((1, d))
    rows = rng.random((n, d)) if kind.law == "uniform" else rng.standard_normal((n, d))
    if kind.length != RAW:
        rows /= Dictionary(rows).norms[:, None]
    if kind.length == SHORT:
        rows /= np.sqrt(min(n, d))
    return Field(Dictionary(rows), signal)


def _courses(field: Field, grid: Array, problem: np.random.SeedSequence) -> dict[str, Course]:
    seed = int(problem.generate_state(1)[0])
    courses = {
        key: field.best(contestant.make(field.atoms), grid, seed)
        for key, contestant in CONTESTANTS.items()
    }
    return {key: course for key, course in courses.items() if course is not None}


def _panel(
    kind: AtomLaw, grid: Array, size: tuple[float, int], rows: list[dict[str, Course]]
) -> Panel:
    curves = {
        key: Curve(
            np.array([row[key].values for row in rows]),
            np.median([row[key].products for row in rows], axis=0),
            np.array([row[key].nu for row in rows]),
        )
        for key in rows[0]
    }
    return Panel(
        name=f"toy: {kind.name}",
        title=f"{kind.law.capitalize()} atoms, {LENGTHS[kind.length]}",
        loss="½‖x − b‖²",
        dimension=size[1],
        radius=size[0],
        grid=grid,
        curves=curves,
        facts={"loss at zero": float(np.median(curves["mp"].losses[:, 0]))},
    )
