"""The toy experiment: a random signal in 100 dimensions and 200 random atoms.

The paper does not say how the atoms are drawn or scaled. The main panel has atoms with entries
uniform in [0, 1], divided by their norms, with which the paper's figures come out; absolute values
of Gaussian entries and Gaussian entries are beside it. Atoms as drawn and of norm 1/√dim, where
ν = 1 is valid, are in the appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.progress import Silent
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, count
from pursuit.encoding.convergence import BatchProblem, ConvergenceCurve
from pursuit.experiments.curves import (
    EXACT,
    FIGURES,
    IN_USE,
    Curve,
    Panel,
    Reading,
    Sensitivity,
    competitors,
    grid_up_to,
    spectral_bound,
)
from pursuit.experiments.observed import NuRun, nu_runs
from pursuit.experiments.pictures import draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = 20
ITERATIONS = 8000
SENSITIVITY_ITERATIONS = 1000
RATIOS = np.geomspace(1, 512, 19)
"""L over the exact L in the sensitivity panel."""
FOUR = ("mp", "rp", "alg3-printed", "alg4-printed")
"""The paper's four methods with its constants."""


class AtomLaw(NamedTuple):
    """How atoms are drawn and scaled, and under which readings of L they are run."""

    law: str
    length: str
    role: str
    readings: tuple[Reading, ...]

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
LAWS: dict[str, tuple[str, Callable[[np.random.Generator, tuple[int, int]], Array]]] = {
    "uniform": ("U[0, 1]", lambda rng, shape: rng.random(shape)),
    "|Gaussian|": ("|Gaussian|", lambda rng, shape: np.abs(rng.standard_normal(shape))),
    "Gaussian": ("Gaussian", lambda rng, shape: rng.standard_normal(shape)),
}
"""The title of a law, and how to draw from it."""
KINDS = (
    AtomLaw("uniform", UNIT, "main", (FIGURES, EXACT)),
    AtomLaw("|Gaussian|", UNIT, "second", (FIGURES, EXACT)),
    AtomLaw("Gaussian", UNIT, "second", (FIGURES, EXACT)),
    AtomLaw("Gaussian", RAW, "appendix", (EXACT,)),
    AtomLaw("uniform", RAW, "appendix", (EXACT,)),
    AtomLaw("Gaussian", SHORT, "appendix", (EXACT,)),
    AtomLaw("uniform", SHORT, "appendix", (EXACT,)),
)


def run(
    seeds: int = SEEDS,
    iterations: int = ITERATIONS,
    seed: int = 0,
    *,
    atoms: int = 200,
    dimension: int = 100,
    kinds: Sequence[AtomLaw] = KINDS,
    readings: Sequence[Reading] = (FIGURES, EXACT),
    bar: Silent | None = None,
) -> list[Panel]:
    """Run every competitor on `seeds` problems of each kind, under each reading of L.

    Parameters
    ----------
    seeds, iterations, seed
        Problems of each kind, iterations of each run, and the seed that all draws come from.
    atoms, dimension
        The size of a problem; the paper's by default.
    kinds, readings
        Which kinds of atoms are run, and under which of their readings of L.
    bar
        A progress bar over the ``seeds * len(kinds)`` problems.
    """
    count("seeds", seeds, minimum=1)
    grid = grid_up_to(count("iterations", iterations, minimum=1))
    panels = []
    with single_threaded_blas:
        for k, kind in enumerate(kinds):
            fields, chosen = [], [one for one in kind.readings if one in readings]
            rows: dict[str, list[dict[str, ConvergenceCurve]]] = {one.key: [] for one in chosen}
            for number in range(seeds):
                problem = np.random.SeedSequence((count("seed", seed), number))
                fields.append(_field(kind, problem, atoms, dimension))
                for reading in chosen:
                    rows[reading.key].append(_courses(fields[-1], reading, grid, problem))
                if bar is not None:
                    bar.update(k * seeds + number + 1, kind.name)
            panels += [_panel(kind, one, grid, fields, rows[one.key]) for one in chosen]
    return panels


def sensitivity(
    seeds: int = SEEDS, seed: int = 0, *, atoms: int = 200, dimension: int = 100
) -> Sensitivity:
    """Return the loss of the paper's four methods after 1,000 iterations against L."""
    grid = np.array([0, SENSITIVITY_ITERATIONS])
    losses: dict[str, list[list[float]]] = {key: [] for key in FOUR}
    bounds = []
    with single_threaded_blas:
        for number in range(seeds):
            problem = np.random.SeedSequence((seed, number))
            field = _field(KINDS[0], problem, atoms, dimension)
            bounds.append(spectral_bound(field.atoms))
            for key, row in _losses_by_ratio(field, grid, _draw_seed(problem)).items():
                losses[key].append(row)
    return Sensitivity(
        name="toy: U[0, 1] unit atoms",
        loss="½‖x − b‖²",
        iterations=SENSITIVITY_ITERATIONS,
        ratios=RATIOS,
        losses={key: np.array(rows) for key, rows in losses.items()},
        figures_ratio=float(np.median(bounds)),
    )


def observed_nu(seed: int = 0) -> list[NuRun]:
    """Return ν along Algorithm 4 on the first problem, with unit atoms and with shorter ones."""
    problem = np.random.SeedSequence((seed, 0))
    unit, short = (_field(kind, problem, 200, 100) for kind in (KINDS[0], KINDS[-1]))
    return [
        *nu_runs("toy: U[0, 1] unit atoms", unit.signals[0], unit.atoms, seed),
        *nu_runs("toy: the same of norm 1/√dim", short.signals[0], short.atoms, seed, [EXACT]),
    ]


def _losses_by_ratio(field: BatchProblem, grid: Array, seed: int) -> dict[str, list[float]]:
    rows: dict[str, list[float]] = {}
    for key in FOUR:
        runs = [_run_with(field, key, float(ratio), grid, seed) for ratio in RATIOS]
        rows[key] = [float(course.values[-1]) for course in runs if course is not None]
    return rows


def _run_with(
    field: BatchProblem, key: str, L: float, grid: Array, seed: int
) -> ConvergenceCurve | None:
    competitor = competitors(FIGURES)[key]
    return field.best(competitor.make(field.atoms, L), grid, seed)


def draw(panels: list[Panel]) -> Figure:
    """Return a figure with one row for each panel: loss against iterations and products."""
    runs = panels[0].runs
    return draw_panels(panels, f"Toy data, {runs} problems: median, 10th to 90th percentile")


def _field(kind: AtomLaw, problem: np.random.SeedSequence, n: int, d: int) -> BatchProblem:
    rng = np.random.default_rng(problem)
    signal = rng.standard_normal((1, d))
    rows = LAWS[kind.law][1](rng, (n, d))
    if kind.length != RAW:
        rows /= Dictionary(rows).norms[:, None]
    if kind.length == SHORT:
        rows /= np.sqrt(min(n, d))
    return BatchProblem(Dictionary(rows), signal)


def _draw_seed(problem: np.random.SeedSequence) -> int:
    return int(problem.generate_state(1)[0])


def _courses(
    field: BatchProblem, reading: Reading, grid: Array, problem: np.random.SeedSequence
) -> dict[str, ConvergenceCurve]:
    L = reading.constant(field.atoms)
    courses = {
        key: field.best(competitor.make(field.atoms, L), grid, _draw_seed(problem))
        for key, competitor in competitors(reading).items()
    }
    return {key: course for key, course in courses.items() if course is not None}


def _panel(
    kind: AtomLaw,
    reading: Reading,
    grid: Array,
    fields: list[BatchProblem],
    rows: list[dict[str, ConvergenceCurve]],
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
        title=f"{LAWS[kind.law][0]} atoms {LENGTHS[kind.length]}",
        reading=reading,
        loss="½‖x − b‖²",
        dimension=min(fields[0].atoms.matrix.shape),
        radius=max(field.atoms.radius for field in fields),
        grid=grid,
        curves=curves,
        facts={
            "loss at zero": float(np.median(curves["mp"].losses[:, 0])),
            IN_USE: float(np.median([reading.constant(field.atoms) for field in fields])),
        },
        role=kind.role,
    )
