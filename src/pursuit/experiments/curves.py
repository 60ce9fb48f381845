"""Who competes in the experiments, and what their runs leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit import geometry, methods
from pursuit.atoms.dictionary import Dictionary
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.plots import HUGE

POINTS_PER_DECADE = 40
TRIED = 2.0 ** -np.arange(0, 3.5, 0.5)
"""Shares of the safe ν that the one tuned in hindsight is chosen from; below, all runs diverge."""


@dataclass(frozen=True)
class Contestant:
    """A method with its constants; `make` is given the atoms.

    Where it makes several methods, the one that ended lowest is told in hindsight.
    """

    label: str
    make: Callable[[Dictionary], list[Method]]


def _tuned(atoms: Dictionary) -> list[Method]:
    safe = geometry.safe_nu(atoms)
    return [methods.accelerated_matching_pursuit(nu=float(safe * share)) for share in TRIED]


CONTESTANTS: dict[str, Contestant] = {
    "mp": Contestant("MP (Alg. 1)", lambda atoms: [methods.matching_pursuit()]),
    "rp": Contestant("random pursuit", lambda atoms: [methods.random_pursuit()]),
    "alg3-printed": Contestant(
        "Alg. 3, ν′ = dim as printed", lambda atoms: [methods.accelerated_random(nu=atoms.rank)]
    ),
    "alg3-exact": Contestant("Alg. 3, exact ν′", lambda atoms: [methods.accelerated_random()]),
    "alg4-printed": Contestant(
        "Alg. 4, ν = 1 as printed", lambda atoms: [methods.accelerated_matching_pursuit(nu=1)]
    ),
    "alg4-safe": Contestant(
        "Alg. 4, safe ν", lambda atoms: [methods.accelerated_matching_pursuit()]
    ),
    "alg4-tuned": Contestant("Alg. 4, ν tuned in hindsight", _tuned),
    "parameter-free": Contestant(
        "conjugate, parameter-free", lambda atoms: [methods.accelerated()]
    ),
}


@dataclass(frozen=True, eq=False)
class Curve:
    """The loss of one contestant above its floor.

    Attributes
    ----------
    losses
        One row for each run, one column for each iteration number; +inf after an overflow.
    products
        Products with the atoms up to each iteration number, the median over runs.
    nu
        ν or ν′ of each run of Algorithms 3 and 4, else empty.
    """

    losses: Array
    products: Array
    nu: Array

    def quantile(self, share: float) -> Array:
        """A quantile over the runs, at every iteration number."""
        found: Array = np.quantile(np.minimum(self.losses, HUGE), share, axis=0)
        return found

    @cached_property
    def median(self) -> Array:
        return self.quantile(0.5)


@dataclass(frozen=True, eq=False)
class Panel:
    """All contestants on one kind of problem.

    Attributes
    ----------
    name, title
        A short name for tables, and what stands above the picture.
    loss
        What the vertical axis shows.
    dimension
        dim lin(A).
    radius
        The norm of the longest atom.
    grid
        Iteration numbers from 0.
    curves
        By the key of the contestant.
    facts
        Numbers that describe the problem.
    """

    name: str
    title: str
    loss: str
    dimension: int
    radius: float
    grid: Array
    curves: dict[str, Curve]
    facts: dict[str, float]

    @property
    def runs(self) -> int:
        return len(self.curves["mp"].losses)


def grid_up_to(iterations: int) -> Array:
    """0, about `POINTS_PER_DECADE` numbers for each factor of ten, and 1, 2, 5, 10, 20, 50, …"""
    points = int(POINTS_PER_DECADE * np.log10(max(iterations, 10)))
    spaced = np.geomspace(1, iterations, points).round().astype(np.int64)
    powers = 10 ** np.arange(int(np.log10(iterations)) + 1)
    round_numbers = np.outer(powers, [1, 2, 5]).ravel()
    grid: Array = np.unique(np.concatenate([[0], spaced, round_numbers]))
    return grid[grid <= iterations]
