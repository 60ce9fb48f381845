"""Runs cases, one after another in this process or in several, and gathers what they find."""

from __future__ import annotations

import multiprocessing
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

import numpy as np

from fuzz.areas import AREAS
from fuzz.case import Case, Finding, Refused
from fuzz.warm import warm_up

LIMIT = 60.0
"""Seconds of work after which a case counts as hung."""
WAITED = 10
"""How many times as long it may take on a machine that has other work."""
COMPILED = 1200.0
"""Seconds after which everything is compiled, on a busy machine with an empty cache."""
LIBRARY = "pursuit"


class Hang(BaseException):
    """A case took longer than `LIMIT`; no handler of errors may catch it."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended; `problem` is one line, empty where all is well."""

    area: str
    number: int
    calls: int
    refusals: int
    seconds: float
    problem: str = ""
    kind: str = ""
    """What findings with one cause share."""


# One case ----------------------------------------------------------------------------------


def run_case(area: str, seed: int, number: int, limit: float = LIMIT) -> Outcome:
    """Run a case to its end, whatever that is."""
    case, began = Case(area, seed, number), time.monotonic()
    problem = kind = ""
    try:
        with _alarm(limit), np.errstate(all="ignore"):
            AREAS[area](case)
    except Refused:
        pass
    except Hang as error:
        problem, kind = f"no end after {limit:g} s, in {_place(error)}", "hang"
    except Finding as error:
        problem = kind = str(error)
    except Exception as error:
        problem = f"{_line(error)}, in {_place(error)}"
        kind = f"{type(error).__name__} {_place(error)}"
    finally:
        case.close()
    took = time.monotonic() - began
    return Outcome(area, number, case.calls, case.refusals, took, problem, _kind(area, kind))


TIMERS = {
    signal.SIGPROF: (signal.ITIMER_PROF, 1),  # of this process at work
    signal.SIGALRM: (signal.ITIMER_REAL, WAITED),
}
"""The clocks that end a case, and how many limits each of them allows."""


class _alarm:
    """Raises `Hang` in the main thread when the time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        def ring(*_: object) -> None:
            raise Hang

        self._before = {name: signal.signal(name, ring) for name in TIMERS}
        for timer, times in TIMERS.values():
            signal.setitimer(timer, times * self._seconds)

    def __exit__(self, *_: object) -> None:
        for name, (timer, _times) in TIMERS.items():
            signal.setitimer(timer, 0)
            signal.signal(name, self._before[name])


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _place(error: BaseException) -> str:
    """The innermost line of the library that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if f"/{LIBRARY}/" in frame.filename] or frames
    last = inside[-1]
    return f"{Path(last.filename).name}:{last.lineno} {last.name}"


def _kind(area: str, text: str) -> str:
    """A text without its numbers, paths and quoted words."""
    plain = re.sub(r"/\S+|'[^']*'|\"[^\"]*\"", "…", text)
    return f"{area}: {re.sub(r'[-+]?[0-9][0-9.e+-]*|nan|inf', '#', plain)[:110]}" if text else ""


# Many cases --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """What to run: cases of the areas in turn until so many calls or seconds have passed."""

    areas: tuple[str, ...]
    seed: int
    calls: int | None
    seconds: float | None
    first: int = 0
    limit: float = LIMIT

    def keys(self, worker: int, workers: int, begin: int) -> Iterator[tuple[str, int]]:
        """The cases of a worker, from number `begin` on."""
        number = self.first + worker
        while True:
            if number >= begin:
                yield self.areas[number % len(self.areas)], number
            number += workers


@dataclass
class Tally:
    """What a run found."""

    cases: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    findings: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.cases[outcome.area] += 1
        self.calls[outcome.area] += outcome.calls
        self.refusals[outcome.area] += outcome.refusals
        self.seconds[outcome.area] += outcome.seconds  # type: ignore[assignment]
        if outcome.problem:
            self.findings.append(outcome)

    def __str__(self) -> str:
        head = f"{'area':<12}{'cases':>9}{'calls':>9}{'answered':>10}{'refused':>9}{'seconds':>9}"
        rows = [self._row(area, [area]) for area in sorted(self.cases)]
        total = self._row("all", list(self.cases))
        return "\n".join([head, *rows, total, f"findings: {len(self.findings)}"])

    def _row(self, name: str, areas: list[str]) -> str:
        cases, calls, refusals = (
            sum(column[area] for area in areas)
            for column in (self.cases, self.calls, self.refusals)
        )
        seconds = sum(self.seconds[area] for area in areas)
        return f"{name:<12}{cases:>9}{calls:>9}{calls - refusals:>10}{refusals:>9}{seconds:>9.0f}"


Heard = Callable[[Tally, Outcome], None]


def run_here(order: Order, heard: Heard | None = None) -> Tally:
    """Run an order in this process."""
    warm_up()
    tally, began = Tally(), time.monotonic()
    for area, number in order.keys(0, 1, 0):
        outcome = run_case(area, order.seed, number, order.limit)
        tally.add(outcome)
        if heard is not None:
            heard(tally, outcome)
        if _over(order, tally.calls.total(), began, 1):
            return tally
    raise AssertionError("cases never end")


def _over(order: Order, calls: int, began: float, workers: int) -> bool:
    if order.seconds is not None and time.monotonic() - began >= order.seconds:
        return True
    return order.calls is not None and calls * workers >= order.calls


# Several processes -------------------------------------------------------------------------


def run_workers(order: Order, workers: int, heard: Heard) -> Tally:
    """Run an order in processes that may hang or die: that is a finding, and the rest goes on."""
    tally, began = Tally(), time.monotonic()
    crew = [_Worker(order, number, workers, began) for number in range(workers)]
    while working := [worker for worker in crew if not worker.done]:
        wait([worker.pipe for worker in working], timeout=1.0)
        for worker in working:
            for outcome in worker.hear():
                tally.add(outcome)
                heard(tally, outcome)
    return tally


class _Worker:
    """A process that runs its share of the cases, started again after a case that ended it."""

    def __init__(self, order: Order, number: int, workers: int, began: float) -> None:
        self._order, self._number, self._workers, self._began = order, number, workers, began
        self._calls, self.done = 0, False
        self._start(0)

    def _start(self, begin: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        left = (self._order, self._number, self._workers, begin, self._calls, self._began)
        self._process = context.Process(target=_work, args=(theirs, *left), daemon=True)
        self._process.start()
        theirs.close()
        self._case: tuple[str, int] | None = None
        self._since = time.monotonic()

    def hear(self) -> Iterator[Outcome]:
        """Outcomes that came in; a process that is silent for too long or dead is one, too."""
        try:
            while self.pipe.poll():
                message = self.pipe.recv()
                self._since = time.monotonic()
                if message is None:
                    self.done = True
                    self._process.join()
                    return
                if isinstance(message, Outcome):
                    self._calls += message.calls
                    yield message
                else:
                    self._case = message
        except EOFError:
            yield from self._lost("the process died")
            return
        # Before its first case a process compiles what the cache does not have.
        patience = 2 * WAITED * self._order.limit if self._case is not None else COMPILED
        if time.monotonic() - self._since > patience:
            self._process.kill()
            yield from self._lost(f"no end after {patience:g} s, in compiled code")

    def _lost(self, problem: str) -> Iterator[Outcome]:
        self._process.join()
        if self._case is None:
            raise RuntimeError(f"{problem} before it ran a case")
        area, number = self._case
        yield Outcome(area, number, 1, 0, 0.0, problem, f"{area}: {problem}")
        self._start(number + 1)


def _work(
    pipe: Connection,
    order: Order,
    worker: int,
    workers: int,
    begin: int,
    calls: int,
    began: float,
) -> None:
    warm_up()
    for area, number in order.keys(worker, workers, begin):
        pipe.send((area, number))
        outcome = run_case(area, order.seed, number, order.limit)
        pipe.send(outcome)
        calls += outcome.calls
        if _over(order, calls, began, workers):
            pipe.send(None)
            return
