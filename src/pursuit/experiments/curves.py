"""The methods compared in the experiments, the readings of L, and the curves of their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pursuit import geometry, methods
from pursuit.atoms.dictionary import Dictionary
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.plots import HUGE
from pursuit.rules.steps import Smooth

POINTS_PER_DECADE = 40
TRIED = 2.0 ** -np.arange(0, 3.5, 0.5)
"""Fractions of the safe ν that are tried for the tuned one; with smaller ones all runs diverge."""
IN_USE = "L in use"
"""The fact of a panel that depends on the reading of L."""
HEADROOM = 20.0
"""How far above the first loss a figure follows a curve."""
DEPTH = 1e-8
"""How far below the first loss a figure reaches at most."""
GREEDY_FRACTION = 1 / 3
"""ν of greedy-greedy as a fraction of dim lin(A): it has no proof, and this one works well."""


class Reading(NamedTuple):
    """A way to read the paper's "upper bound L on the smoothness" of ½‖x − b‖²."""

    key: str
    title: str
    short: str
    constant: Callable[[Dictionary], float]


def spectral_bound(atoms: Dictionary) -> float:
    """Return ‖D‖₂², the smoothness constant of ½‖Dα − b‖² in the coefficients α."""
    return float(np.linalg.norm(atoms.matrix, 2)) ** 2


FIGURES = Reading("figures", "L = ‖D‖₂² (the paper's figures)", "L = ‖D‖₂²", spectral_bound)
DOUBLE = Reading("double", "L = 2 (twice the exact L)", "L = 2", lambda atoms: 2.0)
EXACT = Reading("exact", "exact L", "exact L", lambda atoms: 1.0)
READINGS = {reading.key: reading for reading in (FIGURES, DOUBLE, EXACT)}


@dataclass(frozen=True)
class Competitor:
    """A method with its constants; `make` is given the atoms and L.

    Where it makes several methods, the run that ends lowest is chosen in hindsight. Methods whose
    constants are valid, or tuned, for the exact L only are not run with another one.
    """

    label: str
    make: Callable[[Dictionary, float], list[Method]]
    exact_only: bool = False


def _tuned(atoms: Dictionary, L: float) -> list[Method]:
    safe = geometry.safe_nu(atoms)
    return [methods.accelerated_matching_pursuit(nu=float(safe * share)) for share in TRIED]


COMPETITORS: dict[str, Competitor] = {
    "mp": Competitor("MP (Alg. 1)", lambda atoms, L: [methods.matching_pursuit(step=Smooth(L))]),
    "rp": Competitor("random pursuit", lambda atoms, L: [methods.random_pursuit(step=Smooth(L))]),
    "alg3-printed": Competitor(
        "Alg. 3, ν′ = dim as printed",
        lambda atoms, L: [methods.accelerated_random(nu=atoms.rank, L=L)],
    ),
    "alg3-exact": Competitor(
        "Alg. 3, exact ν′", lambda atoms, L: [methods.accelerated_random()], exact_only=True
    ),
    "alg4-printed": Competitor(
        "Alg. 4, ν = 1 as printed",
        lambda atoms, L: [methods.accelerated_matching_pursuit(nu=1, L=L)],
    ),
    "alg4-safe": Competitor(
        "Alg. 4, safe ν",
        lambda atoms, L: [methods.accelerated_matching_pursuit()],
        exact_only=True,
    ),
    "alg4-tuned": Competitor("Alg. 4, ν tuned in hindsight", _tuned, exact_only=True),
    "parameter-free": Competitor(
        "accelerated (conjugate, no L, no ν)", lambda atoms, L: [methods.accelerated()]
    ),
    "greedy-greedy": Competitor(
        "greedy-greedy, ν = dim/3",
        lambda atoms, L: [methods.greedy_greedy(nu=atoms.rank * GREEDY_FRACTION, L=L)],
    ),
}


def competitors(reading: Reading) -> dict[str, Competitor]:
    """Return the competitors that take part under a reading."""
    exact = reading is EXACT
    return {key: one for key, one in COMPETITORS.items() if exact or not one.exact_only}


@dataclass(frozen=True, eq=False)
class Curve:
    """The loss of one competitor above its floor.

    Attributes
    ----------
    losses
        One row for each run, one column for each iteration number; +inf after an overflow.
    products
        Products with the atoms up to each iteration number, the median over runs.
    nu
        ν or ν′ of each run of Algorithms 3 and 4, else nan.
    """

    losses: Array
    products: Array
    nu: Array

    def quantile(self, share: float) -> Array:
        """Return a quantile over the runs at every iteration number."""
        quantile: Array = np.quantile(np.minimum(self.losses, HUGE), share, axis=0)
        return quantile

    @cached_property
    def median(self) -> Array:
        return self.quantile(0.5)


@dataclass(frozen=True, eq=False)
class Panel:
    """All competitors on one kind of problem under one reading of L.

    Attributes
    ----------
    name, title
        A short name for tables, and the heading of the figure.
    reading
        The reading of L.
    loss
        The label of the vertical axis.
    dimension
        dim lin(A).
    radius
        The norm of the longest atom.
    grid
        Iteration numbers from 0.
    curves
        By the key of the competitor.
    facts
        Numbers that describe the problem.
    role
        ``"main"`` for the paper's figures, ``"second"`` for their variants, ``"appendix"`` else.
    is_simulated
        Whether the data stand in for the paper's: no claim is judged on them.
    """

    name: str
    title: str
    reading: Reading
    loss: str
    dimension: int
    radius: float
    grid: Array
    curves: dict[str, Curve]
    facts: dict[str, float]
    role: str = "main"
    is_simulated: bool = False

    @property
    def runs(self) -> int:
        return len(self.curves["mp"].losses)

    @property
    def is_toy(self) -> bool:
        """Whether the panel shows several random problems."""
        return self.name.startswith("toy")

    @property
    def key(self) -> str:
        """A name that no other panel has."""
        return f"{self.name} | {self.reading.key}"

    def loss_range(self) -> tuple[float, float]:
        """Return the smallest and the largest loss that a figure shows.

        The parameter-free method may leave it below: it is faster by so much that the others would
        lie on one line.
        """
        start = float(self.curves["mp"].median[0])
        medians = [curve.median for key, curve in self.curves.items() if key != "parameter-free"]
        lowest = min(float(median.min()) for median in medians)
        highest = max(float(median.max()) for median in medians)
        return max(lowest, DEPTH * start), min(highest, HEADROOM * start)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The loss after a fixed number of iterations against the L in use.

    Attributes
    ----------
    name, loss
        The problem, and the label of the vertical axis.
    iterations
        After how many iterations the loss is taken.
    ratios
        L over the exact L.
    losses
        One row for each run, one column for each ratio, by the key of the competitor.
    figures_ratio
        ‖D‖₂² over the exact L, the median over the runs.
    """

    name: str
    loss: str
    iterations: int
    ratios: Array
    losses: dict[str, Array]
    figures_ratio: float


def grid_up_to(iterations: int) -> Array:
    """Return 0, about `POINTS_PER_DECADE` numbers per decade, and 1, 2, 5, 10, 20, 50, …"""
    points = int(POINTS_PER_DECADE * np.log10(max(iterations, 10)))
    spaced = np.geomspace(1, iterations, points).round().astype(np.int64)
    powers = 10 ** np.arange(int(np.log10(iterations)) + 1)
    round_numbers = np.outer(powers, [1, 2, 5]).ravel()
    grid: Array = np.unique(np.concatenate([[0], spaced, round_numbers]))
    return grid[grid <= iterations]
