"""encode() with the random and accelerated methods: ``python benchmarks/encode_methods.py``.

Two jobs: the 5,929 pixels of Urban over 6 of them in 162 bands (Gaussian stand-ins of that size
where the file is absent), and 2,000 Gaussian signals over 256 atoms in 64 dimensions. For each
method, the seconds of up to 1,000 iterations a signal by `encode` on one thread, against a Python
loop of `solve` over a few of the signals, scaled to all. Both take turns; of each the best round
counts. `encode` leaves a signal when nothing but rounding is left of its slopes, where `solve` with
``tol=0`` goes on: the last column is the ratio for one iteration.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from data_files import find
from numpy.typing import NDArray

from pursuit import Dictionary, SquaredDistance, encode, solve
from pursuit.encoding import METHODS

Rows = NDArray[np.float64]
STEPS = 1000


def jobs() -> Iterator[tuple[str, Rows, Rows]]:
    """Title, signals, atoms."""
    rng = np.random.default_rng(0)
    file = find("urban77/urban77.npz")
    if file is None:
        yield "Gaussian, 6 atoms", *(np.abs(rng.standard_normal((k, 162))) for k in (5929, 6))
    else:
        with np.load(file) as stored:
            pixels = np.ascontiguousarray(stored["pixels"].T, np.float64)
            yield "Urban, 6 pixels chosen by H2NMF", pixels, pixels[stored["h2nmf_indices"]]
    atoms = rng.standard_normal((256, 64))
    yield "Gaussian, 256 atoms", rng.standard_normal((2000, 64)), atoms


def by_encode(signals: Rows, atoms: Dictionary, method: str) -> float:
    """The mean number of iterations."""
    codes = encode(signals, atoms, method, max_iter=STEPS, threads=1, progress=False)
    return float(codes.iterations.mean())


def by_solve(signals: Rows, atoms: Dictionary, method: str) -> float:
    options = {"max_iter": STEPS, "tol": 0.0, "every": STEPS, "progress": False}
    runs = [solve(SquaredDistance(signal), atoms, method, **options) for signal in signals]
    return float(np.mean([run.iterations for run in runs]))


def best_of(rounds: int, *runs: Callable[[], float]) -> list[tuple[float, float]]:
    """(seconds, what it returned) of each, in turns."""
    best = [(np.inf, 0.0) for _ in runs]
    for _ in range(rounds):
        for place, run in enumerate(runs):
            began = time.perf_counter()
            returned = run()
            best[place] = min(best[place], (time.perf_counter() - began, returned))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=5, help="signals of the loop of solve")
    options = parser.parse_args()
    for title, signals, rows in jobs():
        m, atoms = len(signals), Dictionary(rows)
        few = signals[np.linspace(0, m - 1, options.sample).astype(int)]
        print(f"\n{title}: {m:,} × {signals.shape[1]}, at most {STEPS:,} iterations")
        print(
            f"{'method':>30}{'encode, s':>12}{'iterations':>12}"
            f"{'solve, s':>12}{'iterations':>12}{'ratio':>9}{'each':>9}"
        )
        for method in (name for name, offer in METHODS.items() if not offer.one_sided):
            by_encode(signals[:2], atoms, method)  # compiled before anything is timed
            (ours, steps), (loop, their_steps) = best_of(
                options.rounds,
                partial(by_encode, signals, atoms, method),
                partial(by_solve, few, atoms, method),
            )
            scaled = loop * m / len(few)
            each = (scaled / their_steps) / (ours / steps)
            print(
                f"{method:>30}{ours:>12.3f}{steps:>12.0f}{scaled:>12.1f}{their_steps:>12.0f}"
                f"{scaled / ours:>9.0f}{each:>9.0f}"
            )


if __name__ == "__main__":
    main()
