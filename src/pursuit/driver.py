"""solve(): the one driver. It starts the rules of a method, steps, watches and stops."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, isnan, sqrt

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.errors import InputError
from pursuit.methods import Method, as_method
from pursuit.momentum import Stepper
from pursuit.objectives.base import Objective
from pursuit.problem import Problem
from pursuit.progress import Silent, bar
from pursuit.results import Result, Status, Trace
from pursuit.run import Progress, Run
from pursuit.state import State, fingerprint
from pursuit.validation import Array, count, non_negative, number, positive, shaped_array

REFRESH = 1000
"""Iterations between two recomputations of what steps keep up to date."""
WATCH = 10
"""Iterations between two looks at whether the value runs away."""
STRIKES = 3
"""Looks in a row that must find the value too high."""
SAVE_SECONDS = 30.0
"""Time between two checkpoints of a long run."""


@dataclass(frozen=True)
class Snapshot:
    """What a callback is given at an observation; it returns True to stop the run."""

    iteration: int
    seconds: float
    value: float
    slope: float
    support: int
    x: Array


Callback = Callable[[Snapshot], bool | None]


def solve(
    f: Objective,
    atoms: AtomSet,
    method: str | Method = "matching-pursuit",
    x0: object | None = None,
    *,
    coef0: object | None = None,
    max_iter: int = 1000,
    tol: float | None = None,
    rtol: float | None = None,
    target: float | None = None,
    max_atoms: int | None = None,
    max_time: float | None = None,
    every: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    seed: int = 0,
    unit_atoms: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: State | Result | str | os.PathLike[str] | None = None,
) -> Result:
    """Minimise f over the span of the atoms, one atom at a time.

    Parameters
    ----------
    f
        The objective, e.g. ``SquaredDistance(signal)``.
    atoms
        The set of atoms, e.g. ``Dictionary(rows)``.
    method
        A name of `pursuit.methods`, or what one of its functions returns.
    x0, coef0
        Where to start: a point of lin(A), or coefficients of the atoms. Zero if not given. The
        weights of the result count from x0, and include coef0.
    max_iter
        The most iterations of this run, those before a `resume` included.
    tol
        Stop when the slope max \\|⟨∇f(x), z⟩\\| has fallen to `tol` times its first value. Where
        not given: 1e-6, for a method that looks at gradients. 0 turns it off. Methods with random
        directions are tested when observed (see `every`).
    rtol
        Stop when the residual norm has fallen to `rtol` times the norm of the signal (for
        `SquaredDistance` and `LeastSquares`).
    target
        Stop when f(x) has fallen to this value.
    max_atoms
        Stop when so many distinct atoms are in use.
    max_time
        Stop after so many seconds in steps.
    every
        Observe (trace, callback) every so many iterations; at most about 1,000 times by default.
        It changes what is recorded and no number of the run.
    callback
        Called at each observation with a `Snapshot`; returns True to stop. If it raises, the
        error passes through with the result so far as its attribute ``partial_result``.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when the
        run takes more than two seconds.
    seed
        Of the random directions.
    unit_atoms
        Run on the atoms divided by their norms, and give coefficients for the atoms as they
        are: no result then depends on their scale. False runs the algorithms as printed.
    checkpoint
        A file that the state is written to, every half minute and at the end.
    resume
        A checkpoint file, a result or its state. Stopped and resumed equals uninterrupted.

    Returns
    -------
    Result
        It says how the run ended: see `Status`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Dictionary, SquaredDistance, solve
    >>> atoms = Dictionary([[3.0, 0.0], [1.0, 1.0]])
    >>> result = solve(SquaredDistance([5.0, 1.0]), atoms, max_iter=50)
    >>> result.status.name, result.coef.toarray().round(5).tolist()
    ('CONVERGED', [1.33333, 1.0])
    """
    given = Problem(f, atoms)
    rules = as_method(method)
    stop = _Stopping.checked(given, max_iter, tol, rtol, target, max_atoms, max_time)
    start, weights0 = _start(given, x0, coef0)
    unit, scale = atoms.unit() if unit_atoms else (atoms, None)
    problem = Problem(f, unit)
    run = Run(problem, count("seed", seed))
    x = f.point(unit, start)
    stepper = rules.momentum.start(run, rules.advance, x)
    mark = fingerprint(f, atoms, rules.advance, rules.momentum, start, unit_atoms, run.seed)
    if every is None:
        every = max(1, stop.max_iter // 1000)
    driver = _Driver(run, stepper, stop, count("every", every, minimum=1), callback, mark)
    if resume is not None:
        driver.restore(resume)
    driver.checkpoint = checkpoint
    finish = _Finish(given, rules.name, scale, weights0)
    with bar(rules.name, stop.max_iter, progress) as driver.bar:
        try:
            status, message = driver.drive()
        except BaseException as error:
            partial = finish(driver, Status.STOPPED, "an error interrupted the run")
            error.partial_result = partial  # type: ignore[attr-defined]
            raise
    return finish(driver, status, message)


def _start(problem: Problem, x0: object, coef0: object) -> tuple[Array, Array | None]:
    """The first point, and the coefficients that it stands for."""
    atoms = problem.atoms
    if x0 is not None and coef0 is not None:
        raise InputError("x0, coef0: expected one of them, got both")
    if coef0 is not None:
        if not isinstance(atoms, FiniteAtoms):
            raise InputError("coef0: expected a finite set of atoms; give x0 instead")
        weights = shaped_array("coef0", coef0, (len(atoms),))
        return atoms.combine(weights), weights
    if x0 is None:
        return np.zeros(atoms.shape, np.result_type(problem.f.dtype, atoms.dtype)), None
    start = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(start):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return start, None


@dataclass(frozen=True)
class _Stopping:
    """When to stop, checked."""

    max_iter: int
    tol: float
    residual_value: float | None
    target: float | None
    max_atoms: int | None
    max_time: float | None

    @staticmethod
    def checked(
        problem: Problem,
        max_iter: int,
        tol: float | None,
        rtol: float | None,
        target: float | None,
        max_atoms: int | None,
        max_time: float | None,
    ) -> _Stopping:
        residual_value = None
        if rtol is not None:
            norm = getattr(problem.f, "signal_norm", None)
            if norm is None:
                raise InputError(
                    "rtol: expected an objective with a residual (SquaredDistance, LeastSquares), "
                    f"got {type(problem.f).__name__}"
                )
            residual_value = 0.5 * (non_negative("rtol", rtol) * norm) ** 2
        return _Stopping(
            count("max_iter", max_iter),
            1e-6 if tol is None else non_negative("tol", tol),
            residual_value,
            None if target is None else number("target", target),
            None if max_atoms is None else count("max_atoms", max_atoms, minimum=1),
            None if max_time is None else positive("max_time", max_time),
        )


class _Driver:
    """The loop, and what it has to remember."""

    bar: Silent
    checkpoint: str | os.PathLike[str] | None = None

    def __init__(
        self,
        run: Run,
        stepper: Stepper,
        stop: _Stopping,
        every: int,
        callback: Callback | None,
        mark: str,
    ) -> None:
        self.run, self.stepper, self.stop = run, stepper, stop
        self.every, self.callback, self.mark = every, callback, mark
        self.seconds = 0.0
        self.rows: list[tuple[float, ...]] = []
        value, slope = stepper.x.value(), stepper.x.largest_slope()
        if not isfinite(value):
            raise InputError(f"f: the value at the start is {value}; expected a finite number")
        run.memory.update(first_value=value, best=value, strikes=0.0, first_slope=slope)

    # The loop ---------------------------------------------------------------------------

    def drive(self) -> tuple[Status, str]:
        with np.errstate(over="ignore", invalid="ignore"):
            ended = self._ended_before() or self._loop()
        if not self.rows or self.rows[-1][0] != self.run.t:
            self._observe()
        self._save()
        return ended

    def _loop(self) -> tuple[Status, str]:
        run, stop, stepper = self.run, self.stop, self.stepper
        if not self.rows and self._observe():
            return _ended(Status.STOPPED)
        last_save = time.monotonic()
        while run.t < stop.max_iter:
            began = time.perf_counter()
            progress = stepper.step()
            run.t += 1
            ended = self._ended_after(progress)
            if run.t % REFRESH == 0:
                for point in stepper.points().values():
                    point.refresh()
            self.seconds += time.perf_counter() - began
            if run.t % self.every == 0 and self._observe():
                return _ended(Status.STOPPED)
            if ended or (isnan(progress.slope) and (ended := self._slope_observed())):
                return ended
            if stop.max_time is not None and self.seconds >= stop.max_time:
                return _ended(Status.MAX_TIME)
            if time.monotonic() - last_save > SAVE_SECONDS:
                self._save()
                last_save = time.monotonic()
        return _ended(Status.MAX_ITER)

    # Reasons to end ---------------------------------------------------------------------

    def _ended_before(self) -> tuple[Status, str] | None:
        """Whether there is nothing to do at the start."""
        if self.run.t > 0:
            return None
        x = self.stepper.x
        problem = self.run.problem
        norm = float(np.linalg.norm(problem.f.gradient(x.vector)))
        rounding = 8 * float(np.finfo(x.coef.dtype).eps) * problem.atoms.radius * norm
        if self.run.memory["first_slope"] <= rounding:
            return Status.CONVERGED, "the start is optimal over the span of the atoms"
        return self._value_reached(x.value())

    def _ended_after(self, progress: Progress) -> tuple[Status, str] | None:
        """Whether this iteration was the last; no test here depends on what is observed."""
        stop, x = self.stop, self.stepper.x
        if stop.target is not None or stop.residual_value is not None:
            ended = self._value_reached(x.value())
            if ended:
                return ended
        if not isnan(progress.slope):
            ended = self._slope_reached(progress)
            if ended:
                return ended
        if stop.max_atoms is not None and x.support >= stop.max_atoms:
            return _ended(Status.MAX_ATOMS)
        if self.run.t % WATCH == 0:
            return self._watch()
        return None

    def _value_reached(self, value: float) -> tuple[Status, str] | None:
        stop = self.stop
        if stop.target is not None and value <= stop.target:
            return Status.CONVERGED, f"the value is at most the target {stop.target:.6g}"
        if stop.residual_value is not None and value <= stop.residual_value:
            residual = sqrt(2 * stop.residual_value)
            return Status.CONVERGED, f"the residual norm is at most {residual:.6g}"
        return None

    def _slope_reached(self, progress: Progress) -> tuple[Status, str] | None:
        threshold = self.stop.tol * self.run.memory["first_slope"]
        if progress.slope <= threshold and self.stepper.x.largest_slope() <= threshold:
            return Status.CONVERGED, f"the slope is at most {self.stop.tol:g} of its first value"
        if progress.gamma == 0:
            return _ended(Status.CONVERGED if progress.slope == 0 else Status.STALLED)
        return None

    def _slope_observed(self) -> tuple[Status, str] | None:
        """The slope test of methods that see one random direction at a time."""
        if self.stop.tol == 0 or self.run.t % self.every:
            return None
        if self.rows[-1][3] <= self.stop.tol * self.run.memory["first_slope"]:
            return Status.CONVERGED, f"the slope is at most {self.stop.tol:g} of its first value"
        return None

    def _watch(self) -> tuple[Status, str] | None:
        """Whether the value is above its start by more than all it ever fell, again and again."""
        memory = self.run.memory
        value, first = self.stepper.x.value(), memory["first_value"]
        if isfinite(value):
            memory["best"] = min(memory["best"], value)
            fallen = first - memory["best"]
            high = value - first > fallen + 1e-12 * abs(first)
            memory["strikes"] = memory["strikes"] + 1 if high else 0.0
        if not isfinite(value) or memory["strikes"] >= STRIKES:
            message = f"the value rose from {first:.6g} to {value:.6g}: {self.stepper.suspect()}"
            return Status.DIVERGED, message
        return None

    # Looking and saving -----------------------------------------------------------------

    def _observe(self) -> bool:
        """Record where the run is; True if the callback wants to stop."""
        x, counts = self.stepper.x, self.stepper.x.counts
        value, slope = x.value(), x.largest_slope()
        work = (counts.oracle_calls, counts.products)
        self.rows.append((self.run.t, self.seconds, value, slope, x.support, *work))
        self.bar.update(self.run.t, f"value {value:.6g}")
        if self.callback is None:
            return False
        shown = Snapshot(self.run.t, self.seconds, value, slope, x.support, x.vector.copy())
        return bool(self.callback(shown))

    def state(self) -> State:
        run = self.run
        arrays = {"trace": Trace(self.rows).rows()}
        for name, point in self.stepper.points().items():
            arrays |= {f"{name}.{key}": a.copy() for key, a in point.arrays().items()}
        memory = {k: a for k, a in run.memory.items() if not isinstance(a, np.ndarray)}
        arrays |= {f"memory.{k}": a.copy() for k, a in run.memory.items() if k not in memory}
        ledger = self.stepper.x.ledger
        if not isinstance(run.problem.atoms, FiniteAtoms):
            arrays["atoms"] = run.problem.atoms.pack(ledger.seen)
        numbers = {
            "fingerprint": self.mark,
            "iteration": run.t,
            "seconds": self.seconds,
            "memory": memory,
            "streams": {name: stream.state() for name, stream in run.streams.items()},
            "counts": vars(self.stepper.x.counts),
        }
        return State(arrays, numbers)

    def restore(self, source: State | Result | str | os.PathLike[str]) -> None:
        """Continue from a state."""
        if isinstance(source, Result):
            source = source.state
        state = source if isinstance(source, State) else State.load(source)
        if state.numbers["fingerprint"] != self.mark:
            raise InputError(
                "resume: the checkpoint belongs to another problem, method, start or seed"
            )
        run, stepper = self.run, self.stepper
        run.t, self.seconds = state.numbers["iteration"], state.numbers["seconds"]
        run.memory.update(state.numbers["memory"])
        if "atoms" in state.arrays:
            stepper.x.ledger.restore(run.problem.atoms.unpack(state.arrays["atoms"]))
        saved: dict[str, dict[str, Array]] = {}
        for key, array in state.arrays.items():
            owner, _, name = key.partition(".")
            if owner == "memory":
                run.memory[name] = array.copy()
            elif name:
                saved.setdefault(owner, {})[name] = array
        for name, point in stepper.points().items():
            point.restore(saved[name])
        for name, stream in run.streams.items():
            stream.restore(state.numbers["streams"][name])
        vars(stepper.x.counts).update(state.numbers["counts"])
        self.rows = [tuple(row) for row in state.arrays["trace"]]

    def _save(self) -> None:
        if self.checkpoint is not None:
            self.state().save(self.checkpoint)


def _ended(status: Status) -> tuple[Status, str]:
    return status, status.value


@dataclass(frozen=True)
class _Finish:
    """Turns the end of a run into a result in the user's scale."""

    problem: Problem
    method: str
    scale: Array | None
    weights0: Array | None

    def __call__(self, driver: _Driver, status: Status, message: str) -> Result:
        x = driver.stepper.x
        coef = x.coef if self.scale is None else x.coef / self.scale
        if self.weights0 is not None:
            coef = coef + self.weights0
        support = np.flatnonzero(coef)
        finite = isinstance(self.problem.atoms, FiniteAtoms)
        used = support.tolist() if finite else [x.ledger.seen[k] for k in support]
        vector = x.vector.copy()
        return Result(
            x=vector,
            weights=coef[support],
            support=support,
            used=used,
            size=len(coef),
            value=self.problem.f.value(vector),
            slope=x.largest_slope(),
            status=status,
            message=message,
            method=self.method,
            iterations=driver.run.t,
            seconds=driver.seconds,
            counts=x.counts,
            trace=Trace(driver.rows),
            state=driver.state(),
        )
