"""A run after a whole iteration, kept in memory: where an interrupted one is taken up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.base.validation import Array
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run
from pursuit.solving.path import Entries, packed
from pursuit.solving.results import Trace
from pursuit.solving.state import Fingerprint, State


@dataclass(frozen=True)
class Checkpoint:
    """What changes in a run, copied; what only grows, by its length.

    Attributes
    ----------
    points, looked
        The arrays of each point, and whether it was looked at.
    memory, streams, counts
        What the rules remember, where their draws are, the work done.
    rows, atoms
        How many observations there were, and how many atoms of an infinite set.
    path
        The entries of the recorder, if there is one.
    """

    iteration: int
    seconds: float
    last: Progress
    points: dict[str, dict[str, Array]]
    looked: dict[str, bool]
    memory: dict[str, Any]
    streams: dict[str, dict[str, Any]]
    counts: dict[str, float]
    rows: int
    atoms: int
    path: Entries | None

    @staticmethod
    def of(
        run: Run, stepper: Stepper, seconds: float, last: Progress, rows: int, path: Entries | None
    ) -> Checkpoint:
        points, x = stepper.points(), stepper.x
        return Checkpoint(
            run.t,
            seconds,
            last,
            {name: _copies(point.arrays()) for name, point in points.items()},
            {name: point.looked for name, point in points.items()},
            _copies(run.memory),
            {name: stream.state() for name, stream in run.streams.items()},
            dict(vars(x.counts)),
            rows,
            x.ledger.size,
            None if path is None else dict(path),
        )

    def state(self, mark: Fingerprint, stepper: Stepper, rows: list[tuple[float, ...]]) -> State:
        """All that a file needs; the points and the trace may have gone further meanwhile."""
        arrays = {"trace": Trace(rows[: self.rows]).rows()}
        for name, stored in self.points.items():
            arrays |= {f"{name}.{key}": array for key, array in stored.items()}
        memory = {k: a for k, a in self.memory.items() if not isinstance(a, np.ndarray)}
        arrays |= {f"memory.{k}": a for k, a in self.memory.items() if k not in memory}
        if self.path is not None:
            arrays |= {f"path.{key}": a for key, a in packed(self.path).items()}
        x = stepper.x
        if not isinstance(x.atoms, FiniteAtoms):
            arrays["atoms"] = x.atoms.pack(x.ledger.seen[: self.atoms])
        numbers = {
            "fingerprint": mark,
            "iteration": self.iteration,
            "seconds": self.seconds,
            "memory": memory,
            "streams": self.streams,
            "counts": self.counts,
            "looked": self.looked,
            "last": [self.last.gamma, self.last.slope],
        }
        return State(arrays, numbers)


def _copies(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}
