"""ν along runs of Algorithm 4 with ν = 1: what the proof would have needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pursuit import methods
from pursuit.atoms.dictionary import Dictionary
from pursuit.base.validation import Array
from pursuit.experiments.curves import EXACT, FIGURES, Reading
from pursuit.objectives.quadratic import SquaredDistance
from pursuit.rules.observed_nu import ObservedNu
from pursuit.solving.solve import solve

ITERATIONS = 5000


@dataclass(frozen=True, eq=False)
class NuRun:
    """The smallest ν with which the proof of Theorem 8 holds at every step so far.

    Attributes
    ----------
    name, reading
        The problem, and the reading of L.
    values
        One for each iteration, from the first; a run that diverges ends early.
    diverges
        Whether it does.
    """

    name: str
    reading: Reading
    values: Array
    diverges: bool


def nu_runs(
    name: str,
    signal: Array,
    atoms: Dictionary,
    seed: int = 0,
    readings: Sequence[Reading] = (FIGURES, EXACT),
) -> list[NuRun]:
    """Run Algorithm 4 with ν = 1 under each reading of L and record the ν it would have needed."""
    runs = []
    for reading in readings:
        record = ObservedNu()
        method = methods.accelerated_matching_pursuit(
            nu=1, L=reading.constant(atoms), direction=record
        )
        result = solve(
            SquaredDistance(signal),
            atoms,
            method,
            max_iter=ITERATIONS,
            tol=0,
            rng=seed,
            unit_atoms=False,
        )
        diverges = result.status.name == "DIVERGED"
        runs.append(NuRun(name, reading, np.asarray(record.values), diverges))
    return runs
