"""Runs that take minutes. As a script: begins the one that is named, says so, and when it is
interrupted says how long ago that was heard of."""

import sys
import time

import numpy as np

from pursuit import Cone, Dictionary, SquaredDistance, encode, learn, solve
from pursuit.unmixing import unmix

RNG = np.random.default_rng(0)


def near(n, d):
    """Atoms so near to each other that a pursuit takes for ever."""
    return 1 + 1e-4 * RNG.standard_normal((n, d))


def block(method):
    """One block of a few signals, each of which takes very many steps."""
    atoms, signals = near(1500, 64), RNG.standard_normal((64, 64))
    encode(signals, atoms, method, max_iter=10**9, rtol=1e-12, threads=2)


def conjugate():
    atoms, signals = RNG.standard_normal((4000, 3900)), RNG.standard_normal((128, 3900))
    encode(signals, atoms, "accelerated", max_iter=10**9)


def orthogonal(make=np.asarray):
    atoms = RNG.standard_normal((6000, 3000)).astype("f4")
    signals = RNG.standard_normal((64, 3000)).astype("f4")
    encode(signals, make(atoms), "orthogonal", n_nonzero=2900)


def few():
    encode(RNG.standard_normal((500_000, 32)), near(8, 32), "matching-pursuit", max_iter=2**22)


def simplex():
    unmix(RNG.random((4000, 600)), RNG.random((500, 600)), "sum-to-one")


def stream(**options):
    """Blocks of which each takes a while, into a folder."""
    rng = np.random.default_rng(1)
    signals, atoms = rng.standard_normal((6000, 32)), 1 + 1e-3 * rng.standard_normal((512, 32))
    return encode(signals, atoms, "matching-pursuit", max_iter=6000, threads=2, **options)


def compiled():
    atoms = Dictionary(near(3000, 50))
    every = {"max_iter": 10**9, "every": 10**9, "tol": 0}
    solve(SquaredDistance(RNG.standard_normal(50)), atoms, "accelerated-random", **every)


def learning(method, signals=200_000, passes=10**6):
    learn(RNG.standard_normal((signals, 64)), 512, 20, method, passes=passes, threads=2)


RUNS = {
    "matching-pursuit": lambda: block("matching-pursuit"),
    "random-pursuit": lambda: block("random-pursuit"),
    "accelerated-random": lambda: block("accelerated-random"),
    "accelerated": conjugate,
    "orthogonal": orthogonal,
    "cone, orthogonal": lambda: orthogonal(Cone),
    "few atoms": few,
    "sum-to-one": simplex,
    "stream": lambda: stream(out=sys.argv[2]),
    "solve": compiled,
    "learn, online": lambda: learning("online"),
    "learn, aksvd": lambda: learning("aksvd"),
}

if __name__ == "__main__":
    if sys.argv[1].startswith("learn"):  # an interrupt may get lost inside of a compiler
        learning(sys.argv[1].split()[1], signals=600, passes=1)
    print("begun", flush=True)
    try:
        RUNS[sys.argv[1]]()
    except KeyboardInterrupt:
        print("heard", time.time(), flush=True)
    else:
        print("finished", flush=True)
