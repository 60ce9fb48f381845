"""The run around a method of learning: trace, stopping, checkpoints, progress."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.progress import Silent
from pursuit.base.status import Status
from pursuit.learning.learned import Learned, LearningTrace
from pursuit.learning.round import Learner, Lesson, Round, Values, rounding_share
from pursuit.learning.signals import Source
from pursuit.solving.checkpoint import Fingerprint, State

SAVE_SECONDS = 30.0
"""Time between two checkpoints of a long run."""
NUMBERS = "numbers"


@dataclass(frozen=True)
class Stop:
    """When to stop, beside the passes."""

    tol: float | None
    max_time: float | None


@dataclass
class LearningRun:
    """A method at work."""

    name: str
    method: Learner
    source: Source
    lesson: Lesson
    stop: Stop
    mark: Fingerprint
    checkpoint: str | os.PathLike[str] | None = None
    rows: list[tuple[float, ...]] = field(default_factory=list)
    """The rows of the trace."""
    _before: float = 0.0

    def __call__(self, shown: Silent) -> Learned:
        """Learn until something says stop; an error carries what was learned until then."""
        self._began = self._saved = time.monotonic()
        try:
            ended = self._drive(shown)
        except BaseException as error:
            with suppress(Exception):
                partial = self._finish(Status.STOPPED, "an error interrupted the run")
                error.partial_result = partial  # type: ignore[attr-defined]
            raise
        return self._finish(*ended)

    def _drive(self, shown: Silent) -> tuple[Status, str]:
        verdict = self._verdict()
        rounds = self.method.rounds()
        while verdict is None and (seen := next(rounds, None)) is not None:
            self._record(seen)
            note = f"{self.rows[-1][3]:.4f} left out"
            shown.update(self.rows[-1][0], note)
            if self.checkpoint is not None and time.monotonic() - self._saved >= SAVE_SECONDS:
                self._save()
            verdict = self._verdict()
        return verdict or (Status.MAX_ITER, self._passes_over())

    def _record(self, seen: Round) -> None:
        before = self.rows[-1][0] if self.rows else 0.0
        objective = seen.residual2 / (2 * seen.signals)
        share = seen.residual2 / seen.energy if seen.energy else 0.0
        spent = self._before + time.monotonic() - self._began
        row = before + seen.signals, spent, objective, share, seen.renewed, seen.ended
        self.rows.append(tuple(map(float, row)))

    def _verdict(self) -> tuple[Status, str] | None:
        """Whether to stop, and what to say then."""
        if not self.rows:
            return None
        if self.rows[-1][5] and (settled := self._settled()):
            return Status.CONVERGED, settled
        if self.stop.max_time is not None and self.rows[-1][1] >= self.stop.max_time:
            return Status.MAX_TIME, f"{self.stop.max_time:g} s are over"
        return None

    def _settled(self) -> str:
        """Why there is nothing more to learn after a pass; empty where there may be."""
        trace = LearningTrace(self.rows)
        objective = trace.passes()
        begin = int(np.flatnonzero(trace.ended)[-2]) + 1 if len(objective) > 1 else 0
        if trace.share[begin:].max() <= rounding_share(self.source.dtype):
            return "nothing but rounding is left of any signal"
        if self.stop.tol is None or len(objective) < 2:
            return ""
        fall = 1 - objective[-1] / objective[-2]
        return f"the objective fell by {fall:.2%} in the last pass" if fall < self.stop.tol else ""

    def _passes_over(self) -> str:
        objective = LearningTrace(self.rows).passes()
        passes = max(self.lesson.passes, len(objective))  # a run that is continued may have more
        what = f"{passes} passes are over"
        if self.source.total is None:
            what = "the iterator gave its last signal"
        elif passes == 1:
            what = "one pass is over"
        if len(objective) < 2:
            return what
        return f"{what}, the objective fell by {1 - objective[-1] / objective[-2]:.2%} in the last"

    # What is kept ------------------------------------------------------------------------------

    def state(self) -> State:
        """All that is needed to go on after the last whole round."""
        values = self.method.values()
        numbers = {"fingerprint": self.mark, NUMBERS: values.numbers}
        trace = LearningTrace(self.rows).rows()
        return State({"trace": trace, **values.arrays}, numbers)

    def restore(self, state: State) -> None:
        """Go on from a state of the same run."""
        if str(state.numbers.get("fingerprint")) != str(self.mark):
            raise InputError(
                "resume: the checkpoint belongs to other signals, or to another n_atoms, "
                "n_nonzero, method, nonnegative, start or seed"
            )
        try:
            self.rows = [tuple(row) for row in state.arrays["trace"].tolist()]
            self.method.restore(Values(state.arrays, state.numbers[NUMBERS]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"resume: the checkpoint is incomplete: {error}") from error
        self._before = self.rows[-1][1] if self.rows else 0.0

    def _save(self) -> None:
        if self.checkpoint is not None:
            self.state().save(self.checkpoint)
        self._saved = time.monotonic()

    def _finish(self, status: Status, message: str) -> Learned:
        self._save()
        trace = LearningTrace(self.rows)
        atoms = self.method.atoms.astype(self.source.dtype)
        return Learned(
            atoms.reshape(len(atoms), *self.source.shape),
            trace,
            self.method.usage.copy(),
            int(np.sum(trace.renewed)),
            status,
            message,
            self.name,
            self.lesson.n_nonzero,
            self.lesson.nonnegative,
            self.state(),
        )
