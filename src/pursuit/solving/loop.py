"""The loop: step, record, ask the stopping criteria, store a checkpoint."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite, log, nan
from typing import NamedTuple, Protocol

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.progress import Silent
from pursuit.base.status import Status
from pursuit.base.validation import Array
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run, Unbounded
from pursuit.solving.checkpoint import (
    Owners,
    PathEntries,
    State,
    StateCopy,
    join,
    pack_path,
    split,
    unpack_path,
    without_arrays,
)
from pursuit.solving.compiled import CompiledSteps, KernelLimits, compiled_steps
from pursuit.solving.problem import PointEvaluation, PreparedProblem

REFRESH = 1000
"""Iterations between two recomputations of what steps keep up to date, where a step changes all of
it; times the `refresh_factor` of a point, where it does not."""
SAVE_SECONDS = 30.0
"""Time between two checkpoints of a long run."""
SMALL_STATE = 2**18
"""Bytes up to which a state is copied at every record."""
COPY_SHARE = 20
"""Copies of larger states take at most one part in so many of the time of a run."""

NO_STEP = Progress(atom=None, gamma=nan, correlation=nan, slope=nan, decrease=nan)
"""What is known of the last step before the first."""

Termination = tuple[Status, str]
"""How a run ends, and the message."""


class TraceRow(NamedTuple):
    """A row of the trace, which gives its columns their names and their order."""

    iteration: float
    seconds: float
    value: float
    slope: float
    support: float
    oracle_calls: float
    products: float


@dataclass(frozen=True)
class Snapshot:
    """What a callback receives at a record; it returns True to stop the run.

    Attributes
    ----------
    iteration, seconds, value, slope, support
        Those of the row of the trace: f(x), with a penalty f(x) + g(w); the dual norm of the
        gradient or the KKT violation; the number of atoms in use.
    x
        A copy of the point.
    """

    iteration: int
    seconds: float
    value: float
    slope: float
    support: int
    x: Array


Callback = Callable[[Snapshot], bool | None]


@dataclass
class RunState:
    """All that changes while a method runs, and all that a checkpoint stores.

    Attributes
    ----------
    problem
        The problem, which does not change.
    run, stepper
        What the rules of the method share and remember, with the number of iterations; and the
        momentum with its points.
    kernels
        What makes the steps of a compiled run; None: the rules make each by themselves.
    coef0
        The coefficients of the start, where those of the points are only what steps have added to
        them; None: where those of the points are all.
    initial_value, initial_dual_norm
        f + g and the dual norm of the gradient at the initial point. Here and below a dual norm is
        the `slope` of a result: with a penalty the KKT violation.
    refresh_every
        Iterations between two recomputations of what steps keep up to date.
    seconds, last
        The time spent in steps, and the last of them.
    best_value, n_increases, refreshed_dual_norm
        What the stopping criteria remember: the lowest value, how many values in a row were too
        high, and the dual norm when a run last went on although its steps saw nothing to gain.
    records
        The rows of the trace.
    path
        The last point with each number of atoms, for methods that correct all coefficients.
    """

    problem: PreparedProblem
    run: Run
    stepper: Stepper
    kernels: CompiledSteps | None
    coef0: Array | None
    initial_value: float
    initial_dual_norm: float
    refresh_every: int
    best_value: float
    n_increases: int = 0
    refreshed_dual_norm: float = inf
    seconds: float = 0.0
    last: Progress = NO_STEP
    records: list[TraceRow] = field(default_factory=list)
    path: PathEntries | None = None
    _evaluation: PointEvaluation | None = None

    # What moves it ------------------------------------------------------------------------

    def step(self, most: int, limits: KernelLimits) -> None:
        """Make one iteration; a compiled run makes up to `most`, but none beyond the limits."""
        self._evaluation = None
        if self.kernels is None:
            self.last = self.stepper.step()
            self.run.t += 1
        else:
            self.last = self.kernels(most, limits)
        if self.run.t % self.refresh_every == 0:
            self.refresh()

    def refresh(self) -> None:
        """Recompute what steps keep up to date, from the coefficients."""
        self._evaluation = None
        self.stepper.refresh()
        for memory in self.run.memories.values():
            memory.refreshed()

    def add_to_path(self) -> None:
        """Keep the point as the last one with its number of atoms."""
        if self.path is not None:
            x = self.stepper.x
            used = x.used
            self.path[self.support] = (self.seconds, used, x.weights(used))

    # What it says -------------------------------------------------------------------------

    @property
    def t(self) -> int:
        """The number of iterations."""
        return self.run.t

    @property
    def support(self) -> int:
        """The number of atoms in use."""
        x = self.stepper.x
        return x.support if self.coef0 is None else int(np.count_nonzero(x.coef + self.coef0))

    @property
    def evaluation(self) -> PointEvaluation:
        """x as a result has it, and f there: computed anew, once for each iteration that asks."""
        if self._evaluation is None:
            x = self.stepper.x
            if self.coef0 is None:
                used = x.used
                weights = x.weights(used)
            else:
                coef = x.coef + self.coef0
                used = np.flatnonzero(coef)
                weights = coef[used]
            self._evaluation = self.problem.evaluate(x, weights, used)
        return self._evaluation

    def record(self) -> TraceRow:
        """Return a row of the trace, which does not enter it; nothing that it asks for changes a
        number of the run."""
        x = self.stepper.x
        counts = x.counts
        work = (counts.oracle_calls, counts.products)
        return TraceRow(self.t, self.seconds, x.total(), x.dual_norm(), self.support, *work)

    # What a checkpoint stores -------------------------------------------------------------

    def copy(self) -> StateCopy:
        """Return a copy that later steps do not change."""
        run, points, x = self.run, self.stepper.points(), self.stepper.x
        memories = {name: memory.saved() for name, memory in run.memories.items()}
        owners = {name: point.arrays() for name, point in points.items()}
        owners |= {f"memory.{name}": values for name, values in memories.items()}
        arrays = {k: v.copy() for k, v in join(owners).items() if isinstance(v, np.ndarray)}
        numbers = {
            "compiled": self.kernels is not None,
            "iteration": run.t,
            "seconds": self.seconds,
            "last": [self.last.gamma, self.last.slope],
            "criteria": [self.best_value, self.n_increases, self.refreshed_dual_norm],
            "counts": dict(vars(x.counts)),
            "evaluated": {name: point.is_evaluated for name, point in points.items()},
            "memory": {name: without_arrays(values) for name, values in memories.items()},
            "streams": {name: stream.state() for name, stream in run.streams.items()},
        }
        path = None if self.path is None else dict(self.path)
        return StateCopy(arrays, numbers, len(self.records), x.ledger.size, path)

    def stored(self, copy: StateCopy | None = None) -> State:
        """Return what a checkpoint holds of a copy, or of the run where it is."""
        copy = copy or self.copy()
        rows, x = self.records[: copy.rows], self.stepper.x
        arrays = copy.arrays | {"trace": np.array(rows).reshape(-1, len(TraceRow._fields))}
        if copy.path is not None:
            arrays |= join({"path": pack_path(copy.path)})
        if x.ledger.finite is None:
            arrays["atoms"] = x.atoms.pack(x.ledger.registered[: copy.atoms])
        identity = {"rng": self.problem.seed, "fingerprint": self.problem.fingerprint}
        return State(arrays, copy.numbers | identity)

    def restore(self, state: State) -> None:
        """Continue from a stored state of the same run."""
        ours, theirs = self.problem.fingerprint, state.numbers.get("fingerprint")
        if theirs is not ours and str(theirs) != str(ours):
            raise InputError(
                "resume: the checkpoint belongs to another problem, method, start or rng"
            )
        try:
            self._restore(state)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"resume: the checkpoint is incomplete: {error}") from error

    def _restore(self, state: State) -> None:
        run, stepper, numbers = self.run, self.stepper, state.numbers
        self._evaluation = None
        run.t, self.seconds = numbers["iteration"], numbers["seconds"]
        gamma, dual_norm = numbers["last"]
        self.last = NO_STEP._replace(gamma=gamma, slope=dual_norm)
        self.best_value, self.n_increases, self.refreshed_dual_norm = numbers["criteria"]
        if not numbers["compiled"]:
            self.kernels = None
        elif self.kernels is None:
            self.kernels = compiled_steps(run, self.problem.method, stepper, however_small=True)
        if "atoms" in state.arrays:
            stepper.x.ledger.restore(run.problem.atoms.unpack(state.arrays["atoms"]))
        arrays: Owners = split(state.arrays)
        memories, streams = numbers["memory"], numbers["streams"]
        for name, memory in run.memories.items():
            copies = {k: a.copy() for k, a in arrays.get(f"memory.{name}", {}).items()}
            memory.restore(memories[name] | copies)
        for name, point in stepper.points().items():
            point.restore(arrays[name])
            if numbers["evaluated"][name]:
                point.is_evaluated = True  # which was counted then
                if point.ledger.finite is not None:
                    point.correlations()
        if self.path is not None:
            self.path = unpack_path(arrays["path"])
        for name, stream in run.streams.items():
            stream.restore(streams[name])
        vars(stepper.x.counts).update(numbers["counts"])
        self.records = [TraceRow(*row) for row in state.arrays["trace"].tolist()]


def initialize(problem: PreparedProblem, gram_bytes: int | None) -> RunState:
    """Return the state of a run before its first iteration."""
    method = problem.method
    run = Run(problem.problem, problem.seed)
    point, coef0 = problem.point(gram_bytes)
    stepper = method.momentum.start(run, method.advance, point)
    x = stepper.x
    value = x.total()
    if not isfinite(value):
        raise InputError(f"f: the value at the start is {value}; expected a finite number")
    dual_norm = x.dual_norm()
    if dual_norm == inf:
        raise InputError("f: the slope at the start is inf; expected a finite number")
    return RunState(
        problem=problem,
        run=run,
        stepper=stepper,
        kernels=compiled_steps(run, method, stepper) if coef0 is None else None,
        coef0=coef0,
        initial_value=value,
        initial_dual_norm=dual_norm,
        refresh_every=REFRESH * x.refresh_factor,
        best_value=value,
        path={} if method.advance.keeps_path else None,
    )


class Criteria(Protocol):
    """What ends a run: what the loop asks of `pursuit.solving.stopping.StoppingCriteria`, which
    knows the state above.

    Attributes
    ----------
    max_iter, target
        The most iterations, and the value at which the run ends, if there is one.
    limits
        Where compiled steps pause for the criteria.
    """

    max_iter: int
    target: float | None
    limits: KernelLimits

    def at_start(self, state: RunState) -> Termination | None:
        """Whether there is nothing to do."""

    def check(self, state: RunState) -> Termination | None:
        """Whether a criterion is met after an iteration."""

    def exhausted(self, state: RunState) -> Termination | None:
        """Whether the time or the iterations are used up."""

    def unbounded(self, state: RunState, why: str) -> Termination:
        """The end where f has no minimum along an atom."""

    def steps_to_check(self, t: int) -> int:
        """The most compiled iterations before the criteria are to be asked again."""


class Recorder:
    """Records a run every so many iterations: for the trace, the callback and the progress bar.

    At each record the state is copied, so that a run that raises has a result (`latest`).
    """

    def __init__(
        self,
        state: RunState,
        criteria: Criteria,
        every: int | None,
        callback: Callback | None,
        bar: Silent,
    ) -> None:
        self._callback, self._bar = callback, bar
        self._target, self._max_iter = criteria.target or 0.0, criteria.max_iter
        costly = 1 if state.kernels is None else state.kernels.value_every
        self.every = every or max(1, self._max_iter // 1000, costly)
        self.latest: StateCopy | None = None
        self._next_copy = -inf

    def __call__(self, state: RunState) -> Termination | None:
        """Record a state where that is due; the end of the run if the callback asks for it."""
        if state.t % self.every or _is_recorded(state):
            if self.latest is None:  # a resumed run
                self._copy(state)
            return None
        row = state.record()
        state.records.append(row)
        self._copy(state)
        return (Status.STOPPED, Status.STOPPED.value) if self._show(state, row) else None

    def last_row(self, state: RunState) -> list[TraceRow]:
        """Return the row of an end between two records, and none for an end at a record. It is not
        kept among the records, which a checkpoint stores: a run that goes on has none there."""
        if _is_recorded(state):
            return []
        row = state.record()
        self._show(state, row)
        return [row]

    def _show(self, state: RunState, row: TraceRow) -> bool:
        t, seconds, value, dual_norm, support, *_ = row
        self._bar.update(self._share_done(state, value), f"value {value:.6g}")
        if self._callback is None:
            return False
        x = state.stepper.x.vector.copy()
        return bool(self._callback(Snapshot(int(t), seconds, value, dual_norm, int(support), x)))

    def _copy(self, state: RunState) -> None:
        began = time.monotonic()
        if self._callback is None and began < self._next_copy:
            return
        self.latest = state.copy()
        if sum(array.nbytes for array in self.latest.arrays.values()) > SMALL_STATE:
            now = time.monotonic()
            self._next_copy = now + COPY_SHARE * (now - began)

    def _share_done(self, state: RunState, value: float) -> float:
        """Return how far the run is, in iterations: those made, or the share of the way to the
        target value in logarithms."""
        first = state.records[0].value if state.records else value
        if not (isfinite(value) and 0 < self._target < first):
            return state.t
        share = log(first / max(value, self._target)) / log(first / self._target)
        return max(state.t, self._max_iter * share)


def _is_recorded(state: RunState) -> bool:
    return bool(state.records) and state.records[-1].iteration == state.t


def run(
    state: RunState,
    criteria: Criteria,
    recorder: Recorder,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Termination:
    """Make iterations until a criterion is met, and return which.

    `state.seconds` is the time of steps and their criteria: not of records, checkpoints and the
    callback. A limit of time or of iterations is asked last: the iteration at which it is reached
    may also be the one that converges, or at which the callback stops the run.
    """
    state.add_to_path()
    try:
        end = criteria.at_start(state) or recorder(state) or criteria.exhausted(state)
        saved = time.monotonic()
        while end is None:
            began = time.perf_counter()
            most = 1 if state.kernels is None else _steps_to_pause(state, criteria, recorder)
            state.step(most, criteria.limits)
            end = criteria.check(state)
            state.seconds += time.perf_counter() - began
            state.add_to_path()
            stopped = recorder(state)
            end = end or stopped or criteria.exhausted(state)
            if checkpoint is not None and time.monotonic() - saved > SAVE_SECONDS:
                state.stored().save(checkpoint)
                saved = time.monotonic()
    except Unbounded as error:  # of a step, whose search along a line has moved nothing yet
        end = criteria.unbounded(state, str(error))
    if checkpoint is not None:
        state.stored().save(checkpoint)
    return end


def _steps_to_pause(state: RunState, criteria: Criteria, recorder: Recorder) -> int:
    """Return how many compiled iterations may be made before the state is next refreshed, recorded
    or asked for a criterion that kernels do not know."""
    t = state.t
    to_refresh = state.refresh_every - t % state.refresh_every
    return min(to_refresh, recorder.every - t % recorder.every, criteria.steps_to_check(t))
