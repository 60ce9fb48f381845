"""Linear models with and without penalties: CPU time to 1e-3, 1e-6 and 1e-9 beside the peers.

    python benchmarks/coordinate_descent.py [--family first second] [--only SET/PROBLEM …]

One thread. Every solver is warmed up, then run from zero at a ladder of its own tolerances; the
time to a level is the least of those after which (F − F*)/(F(0) − F*) was at most the level, where
F* is the lowest value that any of them has found. Ours is `solve` with its defaults, the
construction of f included; its duality gap is checked against the error in every run. A row gives
our seconds, and those of the fastest peer (named) as a multiple of ours: above 1 we are faster.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from coordinate_descent_peers import LADDER, MISSING, Task, peers
from coordinate_descent_sets import FIRST, SECOND, Set
from threadpoolctl import threadpool_limits

from pursuit import L1, Coordinates, LeastSquares, Logistic, NonNegative, Result, solve

LEVELS = (1e-3, 1e-6, 1e-9)
SHORT, REPEATS = 0.2, 3
"""Runs that take less than so many seconds are repeated, and the least time counts."""
CAP, FAR = 0.2, 10
"""A peer whose run took so many seconds, and so many times ours, is not asked for more digits."""
LEVEL, AHEAD, BEHIND = 1 / 1.1, 1.5, 1 / 2.5
FAMILIES = {"first": FIRST, "second": SECOND}


def tasks(X: Any, y: np.ndarray) -> dict[str, Task]:
    """The problems on one set."""
    top = float(np.abs(X.T @ y).max())  # λmax of half squares; of the logistic loss it is half that
    return {
        "logistic-l2-1": Task(X, y, True, l2=1.0),
        "logistic-l2-100": Task(X, y, True, l2=0.01),
        "lasso-10": Task(X, y, False, l1=top / 10),
        "lasso-100": Task(X, y, False, l1=top / 100),
        "elastic-net-100": Task(X, y, False, l1=top / 100, l2=top / 100),
        "logistic-l1-10": Task(X, y, True, l1=top / 20),
        "logistic-l1-100": Task(X, y, True, l1=top / 200),
        "ridge": Task(X, y, False, l2=1.0),
        "non-negative": Task(X, y, False, positive=True),
    }


def pursuit(task: Task, tol: float) -> Result:
    """Ours, with the defaults."""
    loss: Any = Logistic if task.logistic else LeastSquares
    f = loss(task.X, task.y, l2=task.l2)
    penalty: Any = L1(task.l1) if task.l1 else NonNegative() if task.positive else None
    return solve(f, Coordinates(task.X.shape[1]), penalty=penalty, tol=tol, threads=1)


@dataclass
class Timed:
    """One run: seconds, value and, of ours, the gap."""

    seconds: float
    value: float
    gap: float | None = None


def timed(task: Task, run: Callable[[float], Any], tol: float) -> Timed:
    """The least time of a few runs."""
    seconds = np.inf
    for _ in range(REPEATS):
        begun = time.process_time()
        found = run(tol)
        seconds = min(seconds, time.process_time() - begun)
        if seconds > SHORT:
            break
    if isinstance(found, Result):
        return Timed(seconds, task.value(found.x), found.gap)
    return Timed(seconds, task.value(found))


def climb(
    task: Task, run: Callable[[float], Any], ladder: list[float], goal: float, cap: float = np.inf
) -> list[Timed]:
    """Runs at tolerances from loose to tight, until the goal is reached or time is up."""
    runs: list[Timed] = []
    for tol in ladder:
        runs.append(timed(task, run, tol))
        if runs[-1].value <= goal or runs[-1].seconds > cap:
            break
    return runs


class Row:
    """All solvers on one problem."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.zero = task.value(np.zeros(task.X.shape[1]))
        least = task.value(pursuit(task, 1e-12).x)
        goal = least + 1e-10 * (self.zero - least)
        self.ours = climb(task, lambda tol: pursuit(task, tol), LADDER, goal)
        cap = max(CAP, FAR * self.ours[-1].seconds)
        self.theirs: dict[str, list[Timed]] = {}
        for name, (solver, ladder) in peers(task).items():
            solver(task, ladder[0])  # warmed up

            def run(tol: float, solver: Any = solver) -> Any:
                return solver(task, tol)

            self.theirs[name] = climb(task, run, ladder, goal, cap)
        every = [*self.ours, *(run for runs in self.theirs.values() for run in runs)]
        self.least = min(least, *(run.value for run in every))

    def seconds(self, runs: list[Timed], level: float) -> float:
        """The least time after which a level was reached."""
        goal = self.least + level * (self.zero - self.least)
        return min((run.seconds for run in runs if run.value <= goal), default=np.inf)

    def ratio(self, level: float) -> tuple[float, str]:
        """The time of the fastest peer as a multiple of ours, and its name."""
        times = {name: self.seconds(runs, level) for name, runs in self.theirs.items()}
        name = min(times, key=lambda name: times[name])
        ours = self.seconds(self.ours, level)
        return (times[name] / ours if ours < np.inf else 0.0), name

    @property
    def certified(self) -> bool:
        """Whether no gap is below the error, up to the rounding of the two values."""
        rounding = 1e-12 * abs(self.zero)
        return all(
            run.gap is not None and run.gap >= run.value - self.least - rounding
            for run in self.ours
        )

    def __str__(self) -> str:
        cells = []
        for level in LEVELS:
            ratio, name = self.ratio(level)
            cells.append(f"{self.seconds(self.ours, level):.4f} ({ratio:.2f} × {name})")
        last = self.ours[-1].gap
        gap = "none" if last is None else f"{last / max(self.zero - self.least, 1e-300):.0e}"
        return " | ".join([*cells, gap if self.certified else f"{gap} BELOW THE ERROR"])


def verdict(ratios: list[float]) -> str:
    """How often we are level or ahead at 1e-6."""
    level = sum(ratio >= LEVEL for ratio in ratios)
    ahead = sum(ratio >= AHEAD for ratio in ratios)
    behind = sum(ratio < BEHIND for ratio in ratios)
    return (
        f"{len(ratios)} rows at 1e-6: level with the fastest peer or ahead (within 10 %) in "
        f"{level}, ahead by {AHEAD} × in {ahead}, behind by more than {1 / BEHIND:g} × in "
        f"{behind}; the least ratio is {min(ratios):.2f}, the median {np.median(ratios):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--only", nargs="+", default=[], help="SET, /PROBLEM or SET/PROBLEM")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # peers that stop at their most iterations say so
    for name in MISSING:
        print(f"{name} is not installed, left out")
    with threadpool_limits(1):
        tables(options.family, options.only)


def tables(families: list[str], only: list[str]) -> None:
    for family in families:
        print(f"\n{family} family")
        print("| set | problem | 1e-3 | 1e-6 | 1e-9 | gap |\n|---|---|---|---|---|---|")
        ratios = []
        for name, load in FAMILIES[family].items():
            ratios += rows(name, load, only)
        if ratios:
            print(verdict(ratios))


def rows(name: str, load: Callable[[], Set | None], only: list[str]) -> list[float]:
    """The rows of one set, printed; the ratios at 1e-6."""

    def wanted(problem: str) -> bool:
        full = f"{name}/{problem}"
        return not only or any(o in (name, full) or o == f"/{problem}" for o in only)

    if only and not any(wanted(problem) for problem in PROBLEMS):
        return []
    made = load()
    if made is None:
        print(f"| {name} | its file was not found, left out | | | | |")
        return []
    ratios = []
    for problem, task in tasks(*made).items():
        if wanted(problem):
            row = Row(task)
            ratios.append(row.ratio(1e-6)[0])
            print(f"| {name} | {problem} | {row} |", flush=True)
    return ratios


PROBLEMS = list(tasks(np.eye(1), np.ones(1)))


if __name__ == "__main__":
    main()
