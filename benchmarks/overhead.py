"""What the loop costs on top of the arithmetic, and what importing the package costs.

    python benchmarks/overhead.py

Microseconds an iteration in Gram form with 200 atoms, recorded every 100 iterations: by the rules
themselves, and by the compiled steps of runs over more atoms. And the
seconds that imports take in a fresh process beyond those of NumPy. The smallest of many is the
best estimate, since other work on the machine can only add to it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import pursuit
from pursuit.methods import NAMED
from pursuit.points import choose
from pursuit.points.gram import GramPoint
from pursuit.solving import compiled as compiling

N, D = 200, 100
EVERY = 100
ITERATIONS = 4000
LIMITS = {"matching-pursuit": 20.0, "accelerated-matching-pursuit": 40.0}
METHODS = [
    *("matching-pursuit", "affine-invariant", "random-pursuit"),
    *("accelerated-random", "accelerated-matching-pursuit", "greedy-greedy"),
]
IMPORTS: dict[str, float | None] = {
    "import pursuit": 0.3,
    "from pursuit import Dictionary, SquaredDistance, solve": None,
}
REPEATS = 15


def microseconds(name: str, compiled: bool) -> tuple[float, float]:
    """The smallest and the median cost of an iteration, over stretches of 100."""
    compiling.LOADING_SECONDS = 0.0 if compiled else np.inf
    rng = np.random.default_rng(0)
    f = pursuit.SquaredDistance(rng.standard_normal(D))
    atoms = pursuit.Dictionary(rng.standard_normal((N, D)))
    assert isinstance(choose(f, atoms, np.zeros(D)), GramPoint)
    trace = pursuit.solve(f, atoms, name, max_iter=ITERATIONS, tol=0, every=EVERY).trace
    # The first half meets atoms for the first time, and computes their Gram rows.
    stretches = np.diff(trace.seconds)[ITERATIONS // EVERY // 2 :] / EVERY * 1e6
    return float(stretches.min()), float(np.median(stretches))


def seconds(code: str) -> float:
    """What a fresh process spends in running `code` after NumPy is there."""
    script = f"import time, numpy; began = time.perf_counter()\n{code}\n"
    script += "print(time.perf_counter() - began)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main() -> None:
    print(f"loop, Gram form, {N} atoms, every={EVERY}: µs an iteration")
    print(f"{'method':<30} {'best':>7} {'median':>7} {'limit':>7} {'compiled':>9} {'median':>7}")
    for name in METHODS:
        assert name in NAMED
        best, usual = zip(*(microseconds(name, False) for _ in range(5)), strict=True)
        limit = f"{LIMITS[name]:7.0f}" if name in LIMITS else " " * 7
        row = f"{name:<30} {min(best):7.1f} {statistics.median(usual):7.1f} {limit}"
        best, usual = zip(*(microseconds(name, True) for _ in range(5)), strict=True)
        print(f"{row} {min(best):9.2f} {statistics.median(usual):7.2f}")
    print("\nimport, beyond NumPy: seconds")
    print(f"{'statement':<56} {'best':>7} {'median':>7} {'limit':>7}")
    for code, allowed in IMPORTS.items():
        times = [seconds(code) for _ in range(REPEATS)]
        limit = f"{allowed:7.1f}" if allowed else ""
        print(f"{code:<56} {min(times):7.3f} {statistics.median(times):7.3f} {limit}")


if __name__ == "__main__":
    main()
