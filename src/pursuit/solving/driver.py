"""solve(): the one driver. It starts the rules of a method, steps, watches and stops."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, isnan, nan
from pathlib import Path

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.cone import Cone
from pursuit.atoms.dictionary import as_atoms
from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import Silent, bar
from pursuit.base.status import Status
from pursuit.base.threads import Crew
from pursuit.base.validation import Array, count, flag, non_negative, shaped_array
from pursuit.methods import Method, as_method
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run, Unbounded
from pursuit.solving.checkpoint import Checkpoint
from pursuit.solving.compiled import Stretch
from pursuit.solving.cone_start import begin, check_cone, check_weights
from pursuit.solving.path import Recorder, SupportPath
from pursuit.solving.results import Origin, Result, Trace
from pursuit.solving.scale import in_range
from pursuit.solving.state import Fingerprint, State
from pursuit.solving.stopping import Stopping
from pursuit.solving.verification import Verification, Verified

REFRESH = 1000
"""Iterations between two recomputations of what steps keep up to date."""
WATCH = 10
"""Iterations between two looks at whether the value runs away."""
STRIKES = 3
"""Looks in a row that must find the value too high."""
SAVE_SECONDS = 30.0
"""Time between two checkpoints of a long run."""
KEEP = 200
"""Checkpoints in memory come so many times what one takes apart: half a percent of a run."""
FIRST_KEEP = 2e-3
"""Seconds before the first one, where a run can as well be begun anew."""
PATIENCE = 0.2
"""Seconds that preparing a run may take to be done once more when it is interrupted."""


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
    atoms: object,
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
    threads: int | None = None,
    gram_bytes: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: State | Result | str | os.PathLike[str] | None = None,
) -> Result:
    """Minimise f over the span of the atoms, or over their `Cone`, one atom at a time.

    Parameters
    ----------
    f
        The objective, e.g. ``SquaredDistance(signal)``.
    atoms
        The set of atoms, e.g. ``Dictionary(rows)``; or the rows themselves, as an array.
    method
        A name of `pursuit.methods`, or what one of its functions returns.
    x0, coef0
        Where to start: a point of lin(A), or coefficients of the atoms. Zero if not given. The
        weights of the result count from x0, and include coef0. Over a `Cone`, coef0 alone.
    max_iter
        The most iterations of this run, those before a `resume` included.
    tol
        Stop when the slope max \\|⟨∇f(x), z⟩\\| has fallen to `tol` times its first value. Where
        not given: 1e-6, for a method that looks at gradients. 0 turns it off. Methods with random
        directions are tested once in as many iterations as there are atoms.
    rtol
        Stop when the residual norm has fallen to `rtol` times the norm of the signal (for
        `SquaredDistance` and `LeastSquares`).
    target
        Stop when f(x) has fallen to this value.
    max_atoms
        Stop when so many distinct atoms are in use.
    max_time
        Stop after so many seconds in steps, those before a `resume` included.
    every
        Observe (trace, callback) every so many iterations; at most about 1,000 times by default.
        It changes what is recorded and no number of the run.
    callback
        Called at each observation with a `Snapshot`; returns True to stop. If it raises, the
        error passes through with the result so far as its attribute ``partial_result``; so does
        an interrupt, or any error, within an iteration. It resumes after the last whole one.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when the
        run takes more than two seconds.
    seed
        Of the random directions.
    unit_atoms
        Run on the atoms divided by their norms, and give coefficients for the atoms as they
        are: up to rounding no result then depends on their scale (but for an `Oracle`, whose
        atoms are taken as it gives them). False runs the algorithms as printed.
    threads
        Threads that share products with large dense arrays; else ``$PURSUIT_THREADS``, else every
        core. It changes no bit of the result. During the run BLAS is limited to one thread in the
        whole process.
    gram_bytes
        For a quadratic f over a finite set of n atoms: the most memory that their n × n Gram matrix
        may take, 256 MiB where not given. With it, steps cost one of its rows; above the limit a
        run keeps x and looks at the atoms in each iteration. 0 never forms one. Up to rounding it
        changes no number of the run.
    checkpoint
        A file that the state is written to, every half minute and at the end.
    resume
        A checkpoint file, a result or its state, of the same problem, method, start and seed.
        Stopped and resumed equals uninterrupted, on the same machine.

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
    atoms = as_atoms(atoms)
    given = Problem(f, atoms)
    rules = as_method(method)
    check_cone(atoms, rules, x0)
    _check_outlets(callback, checkpoint)
    if rules.gradient_free and tol is not None and non_negative("tol", tol) > 0:
        raise InputError(f"tol: {rules.name} sees no slope to test; expected target or max_iter")
    stop = Stopping.checked(given, max_iter, tol, rtol, target, max_atoms, max_time)
    looks = max(1, stop.max_iter // 1000) if every is None else count("every", every, minimum=1)
    with Crew(thread_count(threads)):
        start, weights0 = _start(given, x0, coef0)
        check_weights(atoms, weights0)
        gradient, unit_atoms = nan, flag("unit_atoms", unit_atoms)
        unit = atoms if unit_atoms else _as_given(atoms)
        if not rules.gradient_free:
            f, gradient = in_range(given, start, unit_atoms)
            given = Problem(f, atoms)
        dtype = np.result_type(f.dtype, atoms.dtype, start.dtype)
        unit, scale = atoms.astype(dtype).unit() if unit_atoms else (unit, None)
        problem = Problem(f, unit)
        limit = None if gram_bytes is None else count("gram_bytes", gram_bytes)
        place = (start, weights0, unit_atoms, count("seed", seed))
        mark = Fingerprint(f, atoms, rules.advance, rules.momentum, *place)
        weights = weights0 if weights0 is None or scale is None else weights0 * scale
        origin = start if coef0 is None else f.origin(atoms)
        verify = Verification(given, scale, origin)
        begin = _Beginning(
            problem, rules, start, weights, place[-1], stop, looks, mark, verify, gradient, limit
        )
        driver = begin()
        if resume is not None:
            driver.restore(resume)
        driver.callback, driver.checkpoint = callback, checkpoint
        finish = _Finish(scale, Origin(problem, start, rules))
        with bar(rules.name, stop.max_iter, progress) as driver.bar:
            try:
                return finish(driver, *driver.drive())
            except BaseException as error:
                _tell_partial_result(error, driver, begin, finish)
                raise


def _tell_partial_result(
    error: BaseException, driver: _Driver, begin: _Beginning, finish: _Finish
) -> None:
    """Let an error say what the run came to: where it was after the last whole iteration."""
    # What raised may do so again when it is asked about that point: then there is nothing to say.
    with suppress(Exception):
        whole = driver if driver.whole is None else driver.after_iterations(driver.whole, begin)
        partial = finish(whole, Status.STOPPED, "an error interrupted the run")
        error.partial_result = partial  # type: ignore[attr-defined]


def _check_outlets(callback: object, checkpoint: str | os.PathLike[str] | None) -> None:
    """What the run will report to, checked before any work is done."""
    if callback is not None and not callable(callback):
        raise InputError(f"callback: expected a function, got {type(callback).__name__}")
    if checkpoint is None:
        return
    if not isinstance(checkpoint, (str, os.PathLike)):
        raise InputError(f"checkpoint: expected a path, got {type(checkpoint).__name__}")
    if not Path(checkpoint).absolute().parent.is_dir():
        raise InputError(f"checkpoint: there is no directory for {os.fspath(checkpoint)}")


def _as_given(atoms: AtomSet) -> AtomSet:
    """The atoms in their own scale, where the squares of their norms are still numbers."""
    if isinstance(atoms, FiniteAtoms):
        low, high = float(atoms.norms.min()), float(atoms.norms.max())
        if low * low == 0 or not isfinite(high * high):
            raise InputError(
                f"atoms: norms from {low:.3g} to {high:.3g} have squares out of the range of "
                "floating point; expected unit_atoms=True for them"
            )
    return atoms


def _start(problem: Problem, x0: object, coef0: object) -> tuple[Array, Array | None]:
    """The first point, and the coefficients that it stands for."""
    atoms = problem.atoms
    if x0 is not None and coef0 is not None:
        raise InputError("x0, coef0: expected one of them, got both")
    if coef0 is not None:
        if not isinstance(atoms, FiniteAtoms):
            raise InputError("coef0: expected a finite set of atoms; give x0 instead")
        weights = shaped_array("coef0", coef0, (len(atoms),))
        # A point of a cone has to know its coefficients: it starts at zero and is given them.
        start = problem.f.origin(atoms) if isinstance(atoms, Cone) else atoms.combine(weights)
        return start, weights
    if x0 is None:
        return problem.f.origin(atoms), None
    start = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(start):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return start, None


@dataclass(frozen=True)
class _Beginning:
    """A run before its first iteration; `weights` are what a start by coefficients gave."""

    problem: Problem
    rules: Method
    x0: Array
    weights: Array | None
    seed: int
    stop: Stopping
    every: int
    mark: Fingerprint
    verify: Verification
    gradient: float
    gram_bytes: int | None

    def __call__(self) -> _Driver:
        began = time.perf_counter()
        rules, run = self.rules, Run(self.problem, self.seed)
        x = rules.advance.point(self.problem, self.x0, self.gram_bytes)
        offset = begin(x, self.weights)
        stepper = rules.momentum.start(run, rules.advance, x)
        driver = _Driver(run, stepper, self.stop, self.every, self.mark)
        if getattr(rules.advance, "keeps_path", False):
            driver.recorder = Recorder()
        if offset is None and Stretch.suits(rules, stepper):
            driver.stretch = Stretch(run, rules, stepper, self.stop, WATCH)
        driver.offset, driver.verify, driver.gradient = offset, self.verify, self.gradient
        driver.preparing = time.perf_counter() - began
        return driver


class _Driver:
    """The loop, and what it has to remember."""

    bar: Silent
    callback: Callback | None = None
    checkpoint: str | os.PathLike[str] | None = None
    offset: Array | None = None
    """Coefficients that the run began with, which those of its points count from."""
    recorder: Recorder | None = None
    stretch: Stretch | None = None
    last = Progress(None, nan, nan, nan, nan)
    off_beat = False
    whole: int | None = None
    """Within an iteration, the number of those before it."""
    preparing = 0.0
    resumed: State | None = None
    kept: Checkpoint | None = None
    _keep_at = -inf
    verify: Verification
    gradient: float
    """The size of the terms whose difference a gradient is: their rounding hides small slopes."""
    _verified: Verified | None = None

    def __init__(
        self, run: Run, stepper: Stepper, stop: Stopping, every: int, mark: Fingerprint
    ) -> None:
        self.run, self.stepper, self.stop = run, stepper, stop
        self.every, self.mark = every, mark
        self.period = _period(run.problem.atoms)
        self.seconds = 0.0
        self.rows: list[tuple[float, ...]] = []
        value, slope = stepper.x.value(), stepper.x.largest_slope()
        if not isfinite(value):
            raise InputError(f"f: the value at the start is {value}; expected a finite number")
        run.memory.update(first_value=value, best=value, strikes=0.0, first_slope=slope)
        run.memory["unproved"] = inf

    # The loop ---------------------------------------------------------------------------

    def drive(self) -> tuple[Status, str]:
        self._record()
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                ended = self._ended_before() or self._loop()
            except Unbounded as endless:  # a search along a line has moved nothing yet
                ended, self.whole = self._endless(str(endless)), None
            if not self.rows or self.rows[-1][0] != self.run.t:
                self._observe()
                self.off_beat = True
            value = self.rows[-1][2]
        self._save()
        return ended if isfinite(value) else self._diverged(value)

    def _loop(self) -> tuple[Status, str]:
        run, stop = self.run, self.stop
        if self._unseen and self._observe():
            return _ended(Status.STOPPED)
        last_save = time.monotonic()
        if self.preparing < FIRST_KEEP:
            self._keep_at = time.perf_counter() + FIRST_KEEP
        while run.t < stop.max_iter:
            began = time.perf_counter()
            if began >= self._keep_at:
                began = self._keep(began)
            self.whole = run.t
            ended = self._iterate(stop.max_iter)
            self.whole = None
            self.seconds += time.perf_counter() - began
            self._record()
            asked = run.t % self.every == 0 and self._observe()
            if ended:
                return ended
            if asked:
                return _ended(Status.STOPPED)
            if stop.max_time is not None and self.seconds >= stop.max_time:
                return _ended(Status.MAX_TIME)
            if self.checkpoint is not None and time.monotonic() - last_save > SAVE_SECONDS:
                self._save()
                last_save = time.monotonic()
        return _ended(Status.MAX_ITER)

    def _iterate(self, end: int) -> tuple[Status, str] | None:
        """All that changes the state of the run: one iteration, or as many before `end` as nobody
        wants to look between; and whether a test was met."""
        run, self._verified = self.run, None
        if self.stretch is None or not self._stretched(self.stretch, end):
            self.last = self.stepper.step()
            run.t += 1
        t = run.t
        ended = self._reached()
        if ended is None and t % WATCH == 0:
            ended = self._watch()
        if t % REFRESH == 0:
            self._refresh()
        return ended

    def _stretched(self, stretch: Stretch, end: int) -> bool:
        """Whether compiled iterations were made, up to the next look."""
        if self.every < WATCH or not stretch.worth_it(self.seconds):
            return False
        t = self.run.t
        looks = [REFRESH - t % REFRESH, self.every - t % self.every, end - t]
        if isnan(self.last.slope):
            looks.append(self.period - t % self.period)
        progress = stretch(min(looks))
        self.last = self.last if progress is None else progress
        return progress is not None

    # Reasons to end ---------------------------------------------------------------------

    def _ended_before(self) -> tuple[Status, str] | None:
        """Whether there is nothing to do: a start that is optimal, a resumed run that had ended."""
        if self.run.t > 0:
            return self._reached() or self._struck()
        if self.run.memory["first_slope"] <= self._rounding:
            hull = "cone" if isinstance(self.run.problem.atoms, Cone) else "span"
            return Status.CONVERGED, f"the start is optimal over the {hull} of the atoms"
        f, atoms = self.run.problem.f, self.run.problem.atoms
        if f.lowest == -inf and (endless := f.unbounded(atoms, self.stepper.x.vector)):
            return self._endless(endless)
        return self._value_reached()

    def _endless(self, why: str) -> tuple[Status, str]:
        """A rule has found no end to the fall of f: where f has a floor, by rounding."""
        bounded = self.run.problem.f.lowest > -inf
        return _ended(Status.STALLED) if bounded else (Status.UNBOUNDED, why)

    def _reached(self) -> tuple[Status, str] | None:
        """Whether the last iteration met a test; none here depends on what is observed."""
        ended = self._value_reached() if self.stop.goal is not None else None
        ended = ended or self._slope_reached()
        if ended is None and self.stop.max_atoms is not None:
            return _ended(Status.MAX_ATOMS) if self.support >= self.stop.max_atoms else None
        return ended

    def _value_reached(self) -> tuple[Status, str] | None:
        if self.stop.goal is None:
            return None
        (goal, message), x = self.stop.goal, self.stepper.x
        value = x.value()
        # A point keeps its value up to rounding: a close call is settled by computing it anew.
        close = 64 * self.eps * max(abs(value), abs(self.run.memory["first_value"]))
        if value > goal + close or self.verified.value > goal:
            return None
        return Status.CONVERGED, message

    def _slope_reached(self) -> tuple[Status, str] | None:
        slope, stands = self.last.slope, self.last.gamma == 0
        if isnan(slope):  # one random direction was seen, and no more
            return None if self.run.t % self.period else self._slope_looked_at()
        if not (slope <= self._threshold or stands):
            return None
        kept, threshold = self.stepper.x.largest_slope(), self._threshold
        if not (stands or kept <= threshold):
            return None
        true = self.verified.slope
        if self.stop.tol and true <= threshold:
            return self._flat()
        if slope == 0 and true <= self._rounding:
            return _ended(Status.CONVERGED)
        return self._unproved(true, stands and true <= max(2 * kept, self._rounding))

    def _unproved(self, slope: float, final: bool) -> tuple[Status, str] | None:
        """The run is at its end as it sees it, and the slope is larger than that.

        It goes on from what is true, as long as that helps.
        """
        if final or not slope <= 0.5 * self.run.memory["unproved"]:
            return _ended(Status.STALLED)
        self.run.memory["unproved"] = slope
        self._refresh()
        self.last = Progress(None, nan, nan, nan, nan)  # what it saw is no longer so
        return None

    @cached_property
    def _threshold(self) -> float:
        """The slope that `tol` asks for."""
        return float(self.stop.tol * self.run.memory["first_slope"])

    @cached_property
    def _rounding(self) -> float:
        """A slope that is nothing but rounding."""
        return 8 * self.eps * self.run.problem.atoms.radius * self.gradient

    def _flat(self) -> tuple[Status, str]:
        return Status.CONVERGED, f"the slope is at most {self.stop.tol:g} of its first value"

    def _slope_looked_at(self) -> tuple[Status, str] | None:
        """The slope test of methods with random directions, once in `period` iterations."""
        if not self.stop.tol or self.stepper.x.largest_slope() > self._threshold:
            return None
        if self.verified.slope <= self._threshold:
            return self._flat()
        return None

    def _watch(self) -> tuple[Status, str] | None:
        """Whether the value is above its start by more than all it ever fell, again and again."""
        memory = self.run.memory
        value, first = self.stepper.x.value(), memory["first_value"]
        if not isfinite(value):
            return self._diverged(value)
        memory["best"] = min(memory["best"], value)
        rounding = max(1e-12, 64 * self.eps) * abs(first)
        high = value - first > first - memory["best"] + rounding
        memory["strikes"] = memory["strikes"] + 1 if high else 0.0
        return self._struck()

    def _struck(self) -> tuple[Status, str] | None:
        if self.run.memory["strikes"] < STRIKES:
            return None
        return self._diverged(self.stepper.x.value())

    def _diverged(self, value: float) -> tuple[Status, str]:
        first = self.run.memory["first_value"]
        suspect = self.stepper.suspect()
        return Status.DIVERGED, f"the value went from {first:.6g} to {value:.6g}: {suspect}"

    # Looking and saving -----------------------------------------------------------------

    @property
    def _unseen(self) -> bool:
        """Whether an observation is due: of the start, or where a run was interrupted in one."""
        return self.run.t % self.every == 0 and (not self.rows or self.rows[-1][0] != self.run.t)

    def _observe(self) -> bool:
        """Record where the run is; True if the callback wants to stop."""
        x, counts = self.stepper.x, self.stepper.x.counts
        value, slope, support = x.value(), x.largest_slope(), self.support
        work = (counts.oracle_calls, counts.products)
        self.rows.append((self.run.t, self.seconds, value, slope, support, *work))
        self.bar.update(self.run.t, f"value {value:.6g}")
        if self.callback is None:
            return False
        shown = Snapshot(self.run.t, self.seconds, value, slope, support, x.vector.copy())
        return bool(self.callback(shown))

    def _record(self) -> None:
        """Keep the point as the last one with its number of atoms."""
        if self.recorder is not None:
            self.recorder.record(self.stepper.x.coef, self.offset, self.seconds)

    @property
    def coef(self) -> Array:
        """The coefficients of the atoms that the method runs on, those it began with included."""
        coef = self.stepper.x.coef
        return coef if self.offset is None else coef + self.offset

    @property
    def support(self) -> int:
        x = self.stepper.x
        return x.support if self.offset is None else int(np.count_nonzero(self.coef))

    @property
    def verified(self) -> Verified:
        """What is true at the point that a result would return."""
        if self._verified is None:
            self._verified = self.verify(self.stepper.x, self.coef)
        return self._verified

    @cached_property
    def eps(self) -> float:
        return float(np.finfo(self.stepper.x.coef.dtype).eps)

    def _refresh(self) -> None:
        for point in self.stepper.points().values():
            point.refresh()

    # Where an interrupted run is taken up again -----------------------------------------

    def _keep(self, now: float) -> float:
        """Remember where the run is; the time when that is done."""
        self.kept = self._checkpoint()
        done = time.perf_counter()
        self._keep_at = done + KEEP * (done - now)
        return done

    def after_iterations(self, whole: int, begin: _Beginning) -> _Driver:
        """The run as it was after its whole iterations, the next one having been interrupted.

        They are made again from the last checkpoint, in a few milliseconds. Where f raises again,
        or preparing the run takes long, it is left at the checkpoint.
        """
        finite = isinstance(self.run.problem.atoms, FiniteAtoms)
        if self.kept is None:
            return self._repeated(whole, begin)
        again = self.kept.iteration < whole and self.preparing <= PATIENCE
        if again or not finite:
            with suppress(Exception):
                return self._repeated(whole, begin)
        return self._set_back(self if finite else begin())

    def _repeated(self, whole: int, begin: _Beginning) -> _Driver:
        other = self._set_back(begin())
        other.stepper.x.adopt(self.stepper.x)
        while other.run.t < whole:
            other._iterate(whole)
        other.rows, other.recorder, other.seconds = self.rows, self.recorder, self.seconds
        return other

    def _set_back(self, other: _Driver) -> _Driver:
        if self.kept is not None:
            state = self.kept.state(self.mark, self.stepper, self.rows)
        elif self.resumed is not None:
            state = self.resumed
        else:
            return other
        other.run.memory.clear()
        other._restore(state)
        return other

    # Saving -----------------------------------------------------------------------------

    def _checkpoint(self) -> Checkpoint:
        # The row of an end between two observations is no row of a run that goes on.
        rows = len(self.rows) - self.off_beat
        path = None if self.recorder is None else self.recorder.entries
        return Checkpoint.of(self.run, self.stepper, self.seconds, self.last, rows, path)

    def state(self) -> State:
        return self._checkpoint().state(self.mark, self.stepper, self.rows)

    def restore(self, source: State | Result | str | os.PathLike[str]) -> None:
        """Continue from a state."""
        if isinstance(source, Result):
            source = source.state
        state = source if isinstance(source, State) else State.load(source)
        if str(state.numbers.get("fingerprint")) != str(self.mark):
            raise InputError(
                "resume: the checkpoint belongs to another problem, method, start or seed"
            )
        try:
            self._restore(state)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"resume: the checkpoint is incomplete: {error}") from error
        self.resumed = state

    def _restore(self, state: State) -> None:
        self._verified = None
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
            if state.numbers["looked"][name]:
                point.look_again()
        if self.recorder is not None:
            self.recorder.restore(saved["path"])
        for name, stream in run.streams.items():
            stream.restore(state.numbers["streams"][name])
        vars(stepper.x.counts).update(state.numbers["counts"])
        self.rows = [tuple(row) for row in state.arrays["trace"].tolist()]
        gamma, slope = state.numbers["last"]
        self.last = Progress(None, gamma, nan, slope, nan)

    def _save(self) -> None:
        if self.checkpoint is not None:
            self.state().save(self.checkpoint)


def _period(atoms: AtomSet) -> int:
    """Iterations between two looks at the largest slope, where directions are random."""
    return len(atoms) if isinstance(atoms, FiniteAtoms) else min(atoms.rank, REFRESH)


def _ended(status: Status) -> tuple[Status, str]:
    return status, status.value


@dataclass(frozen=True)
class _Finish:
    """Turns the end of a run into a result in the user's scale."""

    scale: Array | None
    origin: Origin

    @np.errstate(over="ignore", invalid="ignore")
    def __call__(self, driver: _Driver, status: Status, message: str) -> Result:
        x, (vector, coef, value, slope) = driver.stepper.x, driver.verified
        support = np.flatnonzero(coef)
        return Result(
            x=vector,
            weights=coef[support],
            support=support,
            used=[x.ledger.atom(int(k)) for k in support],
            size=len(coef),
            value=value,
            slope=slope,
            status=status,
            message=message,
            method=self.origin.method.name,
            iterations=driver.run.t,
            seconds=driver.seconds,
            counts=x.counts,
            trace=Trace(driver.rows),
            state=driver.state(),
            origin=self.origin,
            path=self._path(driver),
        )

    def _path(self, driver: _Driver) -> SupportPath | None:
        if driver.recorder is None:
            return None
        x, origin = driver.stepper.x, self.origin
        handles = range(x.ledger.size) if isinstance(x.atoms, FiniteAtoms) else x.ledger.seen
        known = (origin.problem, origin.start, handles, driver.offset, self.scale)
        return SupportPath(driver.recorder.entries, *known)
