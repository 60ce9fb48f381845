"""What every method of learning is asked for and tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.kernels.pursuit import sum_squares


@dataclass(frozen=True)
class Lesson:
    """What to learn."""

    n_atoms: int
    n_nonzero: int
    nonnegative: bool
    passes: int
    seed: int
    threads: int

    def identity(self) -> list[object]:
        """What has to be the same for the same atoms, where a run is continued."""
        return [self.n_atoms, self.n_nonzero, self.nonnegative, self.seed]


class Round(NamedTuple):
    """A batch, or a pass, that was learned from.

    `residual2` and `energy` are sums of ‖x − γD‖² and ‖x‖² over its signals, coded before the
    atoms changed; `ended`: a pass is over, or as much as one.
    """

    signals: int
    residual2: float
    energy: float
    renewed: int
    ended: bool

    @staticmethod
    def of(signals: int, residual_norms: Array, x: Array, renewed: int, ended: bool) -> Round:
        residual2 = float(residual_norms @ residual_norms)
        return Round(signals, residual2, energy(x), renewed, ended)


def energy(x: Array) -> float:
    """Σ‖x_i‖²."""
    squares = np.empty(len(x))
    sum_squares(x, squares)
    return float(squares.sum())


def rounding2(x: Array) -> float:
    """The ‖residual‖² below which there is nothing but rounding, for signals of a batch."""
    return rounding_share(x.dtype) * energy(x) / len(x)


def rounding_share(dtype: np.dtype[Any]) -> float:
    """The share of ‖x‖² that rounding may leave."""
    return tolerances(dtype).dual_norm ** 2


class Values(NamedTuple):
    """The state of a method: arrays by name, and what JSON can hold."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]


class Learner(Protocol):
    """A way to learn."""

    @property
    def atoms(self) -> Array:
        """Unit rows, float64, after the last whole round."""

    @property
    def usage(self) -> Array:
        """The share of signals that use each atom."""

    def rounds(self) -> Iterator[Round]:
        """Learn, and say what was seen, until the passes are over."""

    def values(self) -> Values:
        """What has to be kept to go on after the last whole round."""

    def restore(self, values: Values) -> None:
        """Go on from there."""
