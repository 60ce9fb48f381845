"""A run of `learn` in a process of its own, to be killed: python learning_runs.py METHOD FILE."""

import sys

import numpy as np

from pursuit import learn
from pursuit.learning import run, signals

SIGNALS = np.random.default_rng(0).standard_normal((6000, 16)).astype(np.float32)
PASSES = 30


def go(method, **options):
    source = SIGNALS
    if method == "iterator":
        signals.ROWS = 500
        source = (SIGNALS[i : i + 100] for _ in range(PASSES) for i in range(0, 6000, 100))
    name = "online" if method == "iterator" else method
    return learn(source, 60, 3, name, passes=PASSES, threads=1, **options)


if __name__ == "__main__":
    run.SAVE_SECONDS = 0.0  # at every moment, so that there are many to be killed in
    method, file = sys.argv[1:]
    print("begun", flush=True)
    go(method, checkpoint=file)
