"""A run after a whole iteration: what is copied, what a file holds, and the way back."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.rules.run import Progress
from pursuit.solving.path import Entries, packed
from pursuit.solving.results import Result, Trace
from pursuit.solving.running import Running
from pursuit.solving.state import State

Named = dict[str, dict[str, Any]]
"""Arrays and numbers by name, of each owner by its name."""


@dataclass(frozen=True)
class Checkpoint:
    """What changes in a run, copied where it goes on; what only grows, by its length.

    Attributes
    ----------
    points, looked
        The arrays of each point, and whether it was looked at.
    memories, streams, counts
        What the rules remember, where their draws are, the work done.
    rows, atoms
        How many observations there were, and how many atoms of an infinite set.
    path
        The entries of the recorder, if there is one.
    """

    iteration: int
    seconds: float
    last: Progress
    points: Named
    looked: dict[str, bool]
    memories: Named
    streams: Named
    counts: dict[str, float]
    rows: int
    atoms: int
    path: Entries | None

    @staticmethod
    def of(running: Running, copies: Callable[[dict[str, Any]], dict[str, Any]]) -> Checkpoint:
        run, stepper, recorder = running.run, running.stepper, running.recorder
        points, x = stepper.points(), stepper.x
        return Checkpoint(
            run.t,
            running.seconds,
            running.last,
            {name: copies(point.arrays()) for name, point in points.items()},
            {name: point.looked for name, point in points.items()},
            {name: copies(memory.saved()) for name, memory in run.memories.items()},
            {name: stream.state() for name, stream in run.streams.items()},
            dict(vars(x.counts)),
            # The row of an end between two observations is no row of a run that goes on.
            len(running.rows) - running.off_beat,
            x.ledger.size,
            None if recorder is None else dict(recorder.entries),
        )

    def state(self, running: Running) -> State:
        """All that a file needs; the points and the trace may have gone further meanwhile."""
        arrays = {"trace": Trace(running.rows[: self.rows]).rows(), **_joined(self.points)}
        arrays |= _joined({f"memory.{name}": _arrays(m) for name, m in self.memories.items()})
        if self.path is not None:
            arrays |= _joined({"path": packed(self.path)})
        x = running.stepper.x
        if x.ledger.finite is None:
            arrays["atoms"] = x.atoms.pack(x.ledger.seen[: self.atoms])
        numbers = {
            "fingerprint": running.mark,
            "iteration": self.iteration,
            "seconds": self.seconds,
            "memory": {name: _numbers(memory) for name, memory in self.memories.items()},
            "streams": self.streams,
            "counts": self.counts,
            "looked": self.looked,
            "last": [self.last.gamma, self.last.slope],
        }
        return State(arrays, numbers)


def state_of(running: Running) -> State:
    """Where a run is now, which no longer changes: at its end, or while it is written to a file."""
    return Checkpoint.of(running, dict).state(running)


def continue_from(running: Running, source: State | Result | str | os.PathLike[str]) -> State:
    """Continue from a state of the same run."""
    state = State.of(source)
    if str(state.numbers.get("fingerprint")) != str(running.mark):
        raise InputError("resume: the checkpoint belongs to another problem, method, start or seed")
    try:
        restore(running, state)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"resume: the checkpoint is incomplete: {error}") from error
    return state


def restore(running: Running, state: State) -> None:
    """Set a run to where another one was."""
    run, stepper, numbers = running.run, running.stepper, state.numbers
    running.forget()
    run.t, running.seconds = numbers["iteration"], numbers["seconds"]
    if "atoms" in state.arrays:
        stepper.x.ledger.restore(run.problem.atoms.unpack(state.arrays["atoms"]))
    arrays = _parted(state.arrays)
    for name, memory in run.memories.items():
        memory.restore(numbers["memory"][name] | copied(arrays.get(f"memory.{name}", {})))
    for name, point in stepper.points().items():
        point.restore(arrays[name])
        if numbers["looked"][name]:
            point.look_again()
    if running.recorder is not None:
        running.recorder.restore(arrays["path"])
    for name, stream in run.streams.items():
        stream.restore(numbers["streams"][name])
    vars(stepper.x.counts).update(numbers["counts"])
    running.rows = [tuple(row) for row in state.arrays["trace"].tolist()]
    gamma, slope = numbers["last"]
    running.last = Progress(None, gamma, nan, slope, nan)


# Arrays of many owners in one dict ------------------------------------------------------------


def _joined(owners: Named) -> dict[str, Array]:
    return {f"{owner}.{k}": a for owner, arrays in owners.items() for k, a in arrays.items()}


def _parted(arrays: dict[str, Array]) -> dict[str, dict[str, Array]]:
    owners: dict[str, dict[str, Array]] = {}
    for key, array in arrays.items():
        owner, _, name = key.rpartition(".")
        owners.setdefault(owner, {})[name] = array
    return owners


def copied(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}


def _arrays(values: dict[str, Any]) -> dict[str, Array]:
    return {k: v for k, v in values.items() if isinstance(v, np.ndarray)}


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in values.items() if not isinstance(v, np.ndarray)}
