"""Which atom: frozen rules, started once for a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Protocol

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.errors import InputError
from pursuit.points import Point
from pursuit.run import Choice, Run
from pursuit.sampling import as_sampling

Choose = Callable[[Point], Choice]


class Direction(Protocol):
    """A rule that picks an atom at a point."""

    def start(self, run: Run, purpose: str = "picks") -> Choose: ...


@dataclass(frozen=True)
class Steepest:
    """z = LMO_A(∇f(x)), the line `Find z_t` of Algorithms 1, 2 and 4."""

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        def choose(x: Point) -> Choice:
            z, c = x.steepest()
            return Choice(z, c, abs(c))

        return choose


@dataclass(frozen=True)
class Random:
    """z ~ p, the line `Sample z_t` of Algorithms 3 and 4.

    Parameters
    ----------
    sampling
        A `Sampling`, or the probabilities of a finite set; uniform where not given.
    """

    sampling: object | None = None

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        draw = run.stream(purpose, as_sampling(run.problem.atoms, self.sampling))

        def choose(x: Point) -> Choice:
            z = draw()
            return Choice(z, x.slope(z), nan)

        return choose


@dataclass(frozen=True)
class Replay:
    """The atoms of a given list, one an iteration: the same draws for two runs."""

    indices: Sequence[int]

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        atoms = run.problem.atoms
        if not isinstance(atoms, FiniteAtoms):
            raise InputError("indices: Replay needs a finite set of atoms")
        picks = np.asarray(self.indices)
        if picks.ndim != 1 or picks.dtype.kind not in "iu":
            raise InputError("indices: expected a list of row numbers")
        if picks.size and not (picks.min() >= 0 and picks.max() < len(atoms)):
            raise InputError(
                f"indices: expected row numbers from 0 to {len(atoms) - 1}, "
                f"got {picks.min()} … {picks.max()}"
            )
        listed = picks.tolist()

        def choose(x: Point) -> Choice:
            if run.t >= len(listed):
                raise InputError(f"indices: {len(listed)} atoms were given, and all were replayed")
            z = listed[run.t]
            return Choice(z, x.slope(z), nan)

        return choose
