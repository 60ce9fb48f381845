"""Coordinate descent on linear models: what a step costs, and how long w8a takes.

    python benchmarks/coordinates.py

First, CPU microseconds a step of Algorithm 3 (`accelerated-random`) and of shuffled Newton steps at
a fixed number of entries a column, while the number of columns grows a thousandfold; the rest of
the growth is cache misses. Second, ℓ2-logistic regression on w8a with C = 1: CPU seconds until
f(x) − f* is 1e-3, 1e-6 and 1e-9 of f(0) − f*, for shuffled and cyclic Newton steps, and for what
there was before: matching pursuit with the default steps and with exact ones. The clock stops
while a run is looked at. One thread; medians of interleaved runs.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from data_files import find
from scipy.sparse import csc_array

from pursuit import Coordinates, ExactLineSearch, Logistic, Method, methods, solve

COLUMNS = [10**3, 10**4, 10**5, 10**6]
ENTRIES, SAMPLES = 50, 20_000
STEPS, REPEATS = 100_000, 3
LEVELS = (1e-3, 1e-6, 1e-9)
SECONDS = 20.0


def columns(n: int) -> Logistic:
    """n columns with 50 entries each, in random places of 20,000 samples."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, SAMPLES, (n, ENTRIES)).astype(np.int32)
    entries = rng.standard_normal(n * ENTRIES) / np.sqrt(ENTRIES)
    X = csc_array((entries, rows.ravel(), ENTRIES * np.arange(n + 1)), (SAMPLES, n))
    return Logistic(X, rng.random(SAMPLES) < 0.5, l2=1.0)


def step_cost(f: Logistic, method: str) -> float:
    """CPU microseconds a step, the looks at the start and at the end taken off."""
    n = f.shape[0]
    spent = []
    for steps in (STEPS // 10, STEPS + STEPS // 10):
        began = time.process_time()
        run = solve(f, Coordinates(n), method, max_iter=steps, tol=0, every=10**9, progress=False)
        spent.append(time.process_time() - began)
        assert run.iterations == steps, run.message
    return (spent[1] - spent[0]) / STEPS * 1e6


def scaling() -> None:
    print(f"a step, {ENTRIES} entries a column (CPU µs; median of {REPEATS})")
    problems = {n: columns(n) for n in COLUMNS}
    for name in ("accelerated-random", "shuffled"):
        costs: dict[int, list[float]] = {n: [] for n in COLUMNS}
        for f in problems.values():
            solve(f, Coordinates(f.shape[0]), name, max_iter=10, tol=0)  # compiled, and L
        for _ in range(REPEATS):
            for n, f in problems.items():
                costs[n].append(step_cost(f, name))
        medians = {n: statistics.median(each) for n, each in costs.items()}
        shown = ", ".join(f"{n:,}: {cost:.2f}" for n, cost in medians.items())
        growth = medians[COLUMNS[-1]] / medians[COLUMNS[0]]
        print(f"  {name:20} {shown}; ×{growth:.2f} from {COLUMNS[0]:,} to {COLUMNS[-1]:,} columns")


def w8a() -> Logistic:
    from sklearn.datasets import load_svmlight_file

    path = find("libsvm/w8a.bz2")
    if path is None:
        raise SystemExit("libsvm/w8a.bz2 is not there: set PURSUIT_DATA")
    X, y = load_svmlight_file(str(path), n_features=300)
    return Logistic(csc_array(X), y, l2=1.0)


def race(f: Logistic, method: str | Method, least: float, every: int) -> list[str]:
    """CPU seconds in steps to each level; no more than so many in all."""
    first = f.value(np.zeros(f.shape))
    reached: dict[float, float] = {}
    clock = {"began": time.process_time(), "looking": 0.0}

    def look(snapshot: object) -> bool:
        now = time.process_time()
        spent = now - clock["began"] - clock["looking"]
        gap = (f.value(snapshot.x) - least) / (first - least)  # type: ignore[attr-defined]
        for level in LEVELS:
            if gap <= level:
                reached.setdefault(level, spent)
        clock["looking"] += time.process_time() - now
        return len(reached) == len(LEVELS) or spent > SECONDS

    n = f.shape[0]
    solve(f, Coordinates(n), method, max_iter=10**8, tol=0, every=every, callback=look)
    return [f"{reached[level]:.3f}" if level in reached else "—" for level in LEVELS]


def comparison() -> None:
    f = w8a()
    n = f.shape[0]
    best = solve(f, Coordinates(n), "shuffled", max_iter=2000 * n, tol=1e-13)
    print(f"w8a, l2 = 1: CPU seconds to 1e-3 / 1e-6 / 1e-9 (at most {SECONDS:g} s)")
    exact = methods.matching_pursuit(step=ExactLineSearch())
    rows = {
        "shuffled": ("shuffled", n),
        "cyclic": ("cyclic", n),
        "matching-pursuit": ("matching-pursuit", 100),
        "the same, exact steps": (exact, 100),
    }
    for name, (method, every) in rows.items():
        times = race(f, method, best.value, every)
        print(f"  {name:24} {' / '.join(times)}", flush=True)


if __name__ == "__main__":
    scaling()
    comparison()
