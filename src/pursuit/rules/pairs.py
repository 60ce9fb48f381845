"""Algorithm 3 on linear models over coordinates: x and v as one pair, in O(entries of a column).

x = v + θb. Blending makes θ smaller, and a step changes one entry of v and one of b: nothing that
is as long as x is touched (Lee & Sidford 2013; Fercoq & Richtárik 2015). x itself is put together
when someone looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.points.base import Point
from pursuit.points.columns import ColumnPoint, suits_columns
from pursuit.points.gram import as_gram
from pursuit.rules.advances import Advance
from pursuit.rules.directions import Direction, next_picks
from pursuit.rules.memory import Memory
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import column_bounds

if TYPE_CHECKING:
    from pursuit.rules.momentum import Blending


@dataclass
class PairMemory(Memory):
    """b and its image, θ and β; and whether x has been put together since they changed."""

    b: Array
    image: Array
    theta: float = 1.0
    beta: float = 0.0
    seen: bool = False

    def restore(self, saved: object) -> None:
        super().restore(saved)  # type: ignore[arg-type]
        self.seen = False


class ColumnPair:
    """The pair (x, v) of Algorithm 3, and its steps.

    Parameters
    ----------
    run, pick, bounds, blending
        The run, its draws, h_j of γ = c/h_j, and how y is blended.
    x
        Where it begins.
    """

    def __init__(
        self, run: Run, pick: Direction, bounds: Array, blending: Blending, x: Point
    ) -> None:
        self._run, self._pick, self._bounds, self._blending = run, pick, bounds, blending
        self.v = ColumnPoint.of(run.problem.f, run.problem.atoms, x.vector)
        self._x = ColumnPoint.of(run.problem.f, run.problem.atoms, x.vector)
        self._x.counts, self._x.ledger = self.v.counts, self.v.ledger
        zeros = np.zeros_like(self.v.coef), np.zeros_like(self.v.image)
        self.memory = run.remember("momentum", PairMemory(*zeros))
        self._pick.start(run, "picks")

    @staticmethod
    def of(run: Run, advance: Advance, blending: Blending, x: Point) -> ColumnPair | None:
        """One for a run, if it draws its coordinates, steps by bounds and has columns."""
        pick, step, problem = advance.direction, advance.step, run.problem
        if pick is None or step is None or blending.probe is not None or not pick.drawn:
            return None
        if as_gram(x) is not None or not suits_columns(problem.f, problem.atoms):
            return None
        bounds = column_bounds(step, problem)
        return None if bounds is None else ColumnPair(run, pick, bounds, blending, x)

    @property
    def x(self) -> Point:
        """x = v + θb, put together where it has changed."""
        x, v, memory = self._x, self.v, self.memory
        if not memory.seen:
            theta = x.coef.dtype.type(memory.theta)
            np.add(v.x, theta * memory.b, out=x.x)
            np.add(v.coef, theta * memory.b, out=x.coef)
            np.add(v.image, theta * memory.image, out=x.image)
            x.invalidate()
            memory.seen = True
        return x

    def steps(self, most: int) -> tuple[int, Progress]:
        """Up to so many steps, as many as the next draws are known: how many, and the last."""
        from pursuit.kernels import coordinates as kernels

        picks = next_picks(self._pick, self._run, "picks", most)
        n, v, memory = len(self.v.coef), self.v, self.memory
        if not picks.size:
            raise InputError(f"direction: {type(self._pick).__name__}.ahead gives no draws")
        stiffness = self._blending.stiffness
        assert stiffness is not None
        notes = np.zeros(9)
        notes[kernels.PRODUCTS] = v.counts.products
        notes[kernels.THETA], notes[kernels.BETA] = memory.theta, memory.beta
        b = kernels.ColumnPlace(memory.b, memory.b, memory.image)
        kernels.descend_accelerated(
            v.model, self._bounds, stiffness, v.iterate, b, picks, 1 / n, notes
        )
        memory.theta, memory.beta = float(notes[kernels.THETA]), float(notes[kernels.BETA])
        memory.seen = False
        v.invalidate()
        v.counts.products = float(notes[kernels.PRODUCTS])
        self._pick.skip(self._run, "picks", len(picks))
        atom, gamma, c, _, gain = notes[kernels.ATOM : kernels.USED].tolist()
        return len(picks), Progress(int(atom), gamma, c, nan, gain)

    def refresh(self) -> None:
        """The images anew, against the drift of rounding."""
        self.v.refresh()
        memory = self.memory
        memory.image[...] = times(self.v.f.X, memory.b.astype(np.float64, copy=False))
        memory.seen = False
