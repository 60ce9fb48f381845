"""The calls that `compare.py` times in two checkouts, by label.

    python benchmarks/rows.py --list
    python benchmarks/rows.py --row encode/W1/OMP/float32

Every checkout runs its own copy of this file, so that a call may be written differently there.
Three things stay the same between commits, or nothing can be compared: the labels, the work that a
label stands for, and the protocol. A row whose work changes gets a new label. Public names of the
library only: private modules come and go.

The protocol is `python benchmarks/rows.py --serve`, one line of JSON for each line of standard
input, beginning with a greeting that names versions:

    list          ["encode/W1/MP/float32", ...]
    run LABEL     {"seconds": 0.123}, {"skipped": "why"} or {"error": "what"}

Seconds are CPU time of one call on one thread. The first `run` of a label sets the row up and makes
one call that is not timed. Rows of `ROWS` are warm calls in this process. Those of `FRESH` are code
that a new process runs after importing NumPy, with an empty cache of compiled kernels.
"""

from __future__ import annotations

import argparse
import bz2
import gc
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = os.environ["PURSUIT_THREADS"] = "1"

import numpy as np
import scipy.sparse as sp
from data_files import find
from scipy.ndimage import gaussian_filter

import pursuit

Call = Callable[[], object]
ROWS: dict[str, Callable[[], Call]] = {}
FRESH: dict[str, str] = {}
QUIET: dict[str, Any] = {"threads": 1, "progress": False}


class SkippedRow(Exception):
    """A row that cannot run here, for example because a data file is absent."""


def row(label: str, *arguments: Any) -> Callable[[Callable[..., Call]], Callable[..., Call]]:
    """Add a set-up function, called with these arguments, to the table."""

    def add(set_up: Callable[..., Call]) -> Callable[..., Call]:
        assert label not in ROWS
        ROWS[label] = partial(set_up, *arguments)
        return set_up

    return add


def repeated(count: int, call: Call) -> Call:
    """Return a call that makes a short one many times."""

    def run() -> None:
        for _ in range(count):
            call()

    return run


# Sparse coding ----------------------------------------------------------------------------------


def sparse_signals(
    n: int, d: int, m: int, k: int, dtype: str, nonnegative: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return m signals of k unit Gaussian atoms each, with 5 % of noise, and the n atoms."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((n, d), np.float32)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signals = np.empty((m, d), np.float32)
    for i in range(m):
        weights = rng.standard_normal(k, np.float32)
        weights = np.abs(weights) if nonnegative else weights
        signals[i] = weights @ atoms[rng.choice(n, k, replace=False)]
    noise = 0.05 * np.linalg.norm(signals, axis=1, keepdims=True) / np.sqrt(d)
    signals += noise * rng.standard_normal((m, d), np.float32)
    return signals.astype(dtype), atoms.astype(dtype)


@row("encode/W1/MP/float32", "matching-pursuit", (256, 64, 80_000, 8), "float32")
@row("encode/W1/MP/float64", "matching-pursuit", (256, 64, 80_000, 8), "float64")
@row("encode/W1/OMP/float32", "orthogonal", (256, 64, 80_000, 8), "float32")
@row("encode/W1/OMP/float64", "orthogonal", (256, 64, 80_000, 8), "float64")
@row("encode/W2/OMP/float32", "orthogonal", (1024, 128, 8_000, 16), "float32")
@row("encode/W2/OMP/float64", "orthogonal", (1024, 128, 8_000, 16), "float64")
@row("encode/W3/OMP/float32", "orthogonal", (4096, 768, 500, 32), "float32")
@row("encode/W5/MP/float32", "matching-pursuit", (10_000, 2_000, 1, 50), "float32")
def _encode(method: str, sizes: tuple[int, int, int, int], dtype: str) -> Call:
    signals, atoms = sparse_signals(*sizes, dtype)
    limit = {"n_nonzero" if method == "orthogonal" else "max_iter": sizes[-1]}
    call = partial(pursuit.encode, signals, atoms, method, **limit, **QUIET)
    return repeated(3 if len(signals) == 1 else 1, call)


@row("encode/W4/MP/float32", "matching-pursuit", 100, "float32")
@row("encode/W4/MP/float64", "matching-pursuit", 100, "float64")
@row("encode/six-atoms/accelerated", "accelerated", 100, "float64")
@row("encode/six-atoms/random-pursuit", "random-pursuit", 100, "float64")
def _encode_six_atoms(method: str, steps: int, dtype: str) -> Call:
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((6, 162)) + 2 * rng.standard_normal(162)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signals = np.abs(rng.standard_normal((94_249, 6))) @ atoms
    signals += 0.05 * rng.standard_normal(signals.shape)
    signals, atoms = signals.astype(dtype), atoms.astype(dtype)
    calls = 3 if method == "matching-pursuit" else 1
    call = partial(pursuit.encode, signals, atoms, method, max_iter=steps, **QUIET)
    return repeated(calls, call)


@row("encode/cone/MP", "matching-pursuit")
@row("encode/cone/OMP", "orthogonal")
def _encode_cone(method: str) -> Call:
    signals, atoms = sparse_signals(1024, 128, 4_000, 16, "float64", nonnegative=True)
    cone = pursuit.Cone(atoms)
    return lambda: pursuit.encode(signals, cone, method, n_nonzero=16, **QUIET)


@row("encode/many-atoms/accelerated", "accelerated", 1_000, 30)
@row("encode/many-atoms/accelerated-random", "accelerated-random", 2_000, 500)
@row("encode/many-atoms/random-pursuit", "random-pursuit", 3_000, 1_000)
def _encode_other_methods(method: str, count: int, steps: int) -> Call:
    rng = np.random.default_rng(0)
    atoms, signals = rng.standard_normal((256, 64)), rng.standard_normal((count, 64))
    return lambda: pursuit.encode(signals, atoms, method, max_iter=steps, **QUIET)


@row("encoder/1-signal", 1, 200)
@row("encoder/32-signals", 32, 15)
def _encoder(count: int, calls: int) -> Call:
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((4096, 256), np.float32)
    signals = rng.standard_normal((count, 256), np.float32)
    encoder = pursuit.Encoder(atoms, n_nonzero=32, threads=1)
    return repeated(calls, lambda: encoder(signals, progress=False))


# One problem ------------------------------------------------------------------------------------


def small_problem() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    f = pursuit.SquaredDistance(rng.standard_normal(100))
    return f, pursuit.Dictionary(rng.standard_normal((200, 100)))


@row("solve/iteration/matching-pursuit", "matching-pursuit")
@row("solve/iteration/affine-invariant", "affine-invariant")
@row("solve/iteration/random-pursuit", "random-pursuit")
@row("solve/iteration/accelerated-random", "accelerated-random")
@row("solve/iteration/accelerated-matching-pursuit", "accelerated-matching-pursuit")
@row("solve/iteration/greedy-greedy", "greedy-greedy")
def _iterations(method: str) -> Call:
    """Calls too short to change over to compiled iterations, where these are not loaded."""
    f, atoms = small_problem()
    return lambda: pursuit.solve(f, atoms, method, max_iter=8_000, tol=0, every=100, **QUIET)


@row("solve/compiled-iteration/matching-pursuit", "matching-pursuit", 1_000_000)
@row("solve/compiled-iteration/accelerated-random", "accelerated-random", 500_000)
@row(
    "solve/compiled-iteration/accelerated-matching-pursuit", "accelerated-matching-pursuit", 200_000
)
def _compiled_iterations(method: str, steps: int) -> Call:
    f, atoms = small_problem()

    def run(count: int = steps) -> object:
        return pursuit.solve(f, atoms, method, max_iter=count, tol=0, every=1_000, **QUIET)

    run(100_000)  # more than a second, after which a run loads the compiled iterations
    return run


@row("solve/before-first-iteration/matching-pursuit", "matching-pursuit")
@row("solve/before-first-iteration/orthogonal", "orthogonal")
@row("solve/before-first-iteration/accelerated", "accelerated")
def _short_call(method: str) -> Call:
    rng = np.random.default_rng(0)
    atoms, signal = rng.standard_normal((200, 500)), rng.standard_normal(500)

    def run() -> object:
        f = pursuit.SquaredDistance(signal)
        return pursuit.solve(f, pursuit.Dictionary(atoms), method, max_iter=2, tol=0, **QUIET)

    return repeated(100, run)


@row("solve/few-atoms/orthogonal", "orthogonal")
@row("solve/few-atoms/blended", "blended")
def _few_atoms(method: str) -> Call:
    """100 of 2,000 atoms in 500 measurements."""
    signals, rows = sparse_signals(2000, 500, 1, 100, "float64")
    atoms, f = pursuit.Dictionary(rows), pursuit.SquaredDistance(signals[0])
    options: dict[str, Any] = {"tol": 0.0, "every": 10**9, **QUIET}
    call = partial(pursuit.solve, f, atoms, method, n_nonzero=100, max_iter=600, **options)
    return repeated(10, call)


@row("solve/shifts/MP/float32", "float32")
@row("solve/shifts/MP/float64", "float64")
def _shifts(dtype: str) -> Call:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10, 200)) * np.hanning(200)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signal = 0.05 * rng.standard_normal(100_000)
    for place in rng.integers(0, 100_000 - 200, 600):
        signal[place : place + 200] += 3 * rng.standard_normal() * rows[rng.integers(10)]
    templates, target = rows.astype(dtype), signal.astype(dtype)
    options: dict[str, Any] = {"max_iter": 12_000, "every": 12_000, "tol": 0.0, **QUIET}

    def run() -> object:
        atoms = pursuit.Shifts(templates, target.shape)
        return pursuit.solve(pursuit.SquaredDistance(target), atoms, "mp", **options)

    return run


# Linear models ----------------------------------------------------------------------------------


def sparse_samples() -> tuple[Any, np.ndarray]:
    """Return sparse samples of ones and labels, alike in shape to w8a."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, 301) ** 0.9
    words = rng.choice(300, (40_000, 12), p=frequency / frequency.sum())
    X = sp.csr_array(
        (np.ones(words.size), (np.repeat(np.arange(40_000), 12), words.ravel())), (40_000, 300)
    )
    X.sum_duplicates()
    X.data[:] = 1.0
    return sp.csc_array(X), noisy_labels(X, rng)


def dense_samples() -> tuple[Any, np.ndarray]:
    """Return dense standardized samples with correlated columns, and labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 2_000))
    X += 0.15 * rng.standard_normal((1_000, 20)) @ rng.standard_normal((20, 2_000))
    X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    return X, noisy_labels(X, rng)


def noisy_labels(X: Any, rng: np.random.Generator) -> np.ndarray:
    scores = X @ (rng.standard_normal(X.shape[1]) * (rng.random(X.shape[1]) < 0.1))
    scores = scores + 0.5 * scores.std() * rng.standard_normal(len(scores))
    return np.where(scores > np.median(scores), 1.0, -1.0)


def w8a() -> tuple[Any, np.ndarray]:
    path = find("libsvm/w8a.bz2")
    if path is None:
        raise SkippedRow("libsvm/w8a.bz2 is not in $PURSUIT_DATA or ../shared/data")
    from sklearn.datasets import load_svmlight_file

    with bz2.open(path) as file:
        X, y = load_svmlight_file(file, n_features=300)
    return sp.csc_array(X), y


Samples = Callable[[], tuple[Any, np.ndarray]]


@row("linear/l2-logistic/sparse", sparse_samples, "Logistic", 1.0, 0, 3)
@row("linear/l2-logistic/w8a", w8a, "Logistic", 1.0, 0, 3)
@row("linear/ridge/sparse", sparse_samples, "LeastSquares", 1.0, 0, 5)
@row("linear/ridge/w8a", w8a, "LeastSquares", 1.0, 0, 5)
@row("linear/lasso/sparse", sparse_samples, "LeastSquares", 0.0, 100, 5)
@row("linear/lasso/dense", dense_samples, "LeastSquares", 0.0, 20, 2)
@row("linear/lasso/w8a", w8a, "LeastSquares", 0.0, 100, 5)
@row("linear/l1-logistic/sparse", sparse_samples, "Logistic", 0.0, 200, 2)
@row("linear/l1-logistic/dense", dense_samples, "Logistic", 0.0, 40, 2)
@row("linear/l1-logistic/w8a", w8a, "Logistic", 0.0, 200, 2)
def _linear_model(samples: Samples, loss: str, l2: float, divisor: float, calls: int) -> Call:
    """To 1e-6 with the defaults; the ℓ1 strength is the largest correlation over `divisor`."""
    X, y = samples()
    penalty = pursuit.L1(float(np.abs(X.T @ y).max()) / divisor) if divisor else None

    def run() -> object:
        f = getattr(pursuit, loss)(X, y, l2=l2)
        atoms = pursuit.Coordinates(X.shape[1])
        return pursuit.solve(f, atoms, penalty=penalty, tol=1e-6, **QUIET)

    return repeated(calls, run)


@row("path/lasso/sparse", sparse_samples, "LeastSquares")
@row("path/lasso/dense", dense_samples, "LeastSquares")
@row("path/l1-logistic/sparse", sparse_samples, "Logistic")
@row("path/l1-logistic/dense", dense_samples, "Logistic")
@row("path/lasso/w8a", w8a, "LeastSquares")
def _penalty_path(samples: Samples, loss: str) -> Call:
    X, y = samples()
    atoms, options = (
        pursuit.Coordinates(X.shape[1]),
        {"n_lambdas": 10, "lambda_min_ratio": 0.02, **QUIET},
    )
    return lambda: pursuit.path(getattr(pursuit, loss)(X, y), atoms, **options)


# Estimators -------------------------------------------------------------------------------------


def regression(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X[:, :k] @ rng.standard_normal(k) + 0.1 * rng.standard_normal(n)


@row("estimators/OrthogonalMatchingPursuit/1000x2000")
def _orthogonal_estimator() -> Call:
    X, y = regression(1000, 2000, 20)
    model = pursuit.estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=20)
    return repeated(3, lambda: model.fit(X, y))


@row("estimators/penalized-regressor/2000x200", 2000, 200, 20)
@row("estimators/penalized-regressor/500x5000", 500, 5000, 3)
def _penalized_estimator(n: int, d: int, calls: int) -> Call:
    X, y = regression(n, d, 20)
    model = pursuit.estimators.PenalisedRegressor(alpha=0.05)
    return repeated(calls, lambda: model.fit(X, y))


# Learning, sounds, scenes -----------------------------------------------------------------------


@row("learn/online/float32", "float32")
@row("learn/online/float64", "float64")
def _learn(dtype: str) -> Call:
    signals, _ = sparse_signals(256, 64, 20_000, 5, dtype)
    return lambda: pursuit.learn(signals, 256, 5, "online", passes=1, **QUIET)


@row("decompose/3-seconds")
def _decompose() -> Call:
    rng, rate = np.random.default_rng(0), 22_050
    t = np.arange(3 * rate) / rate
    sound = 0.02 * rng.standard_normal(t.size)
    for begin in rng.uniform(0, 2.5, 12):
        since = np.maximum(t - begin, 0)
        pitch = 110 * 2 ** rng.uniform(0, 4)
        harmonics = sum(np.sin(2 * np.pi * h * pitch * since) / h for h in range(1, 6))
        sound += harmonics * np.exp(-5 * since) * (t > begin)
    return lambda: pursuit.decompose(sound, rate, 15.0, progress=False)


@row("unmix/non-negative", "non-negative", 1)
@row("unmix/sum-to-one", "sum-to-one", 1)
def _unmix(constraint: str, calls: int) -> Call:
    """150 × 150 pixels, 162 bands, 6 endmembers."""
    rng = np.random.default_rng(0)
    pure = 0.05 + 0.5 * np.abs(gaussian_filter(rng.standard_normal((6, 162)), (0, 8)))
    shares = np.stack([gaussian_filter(rng.standard_normal((150, 150)), 4) for _ in pure], -1)
    shares = np.exp(4 * shares / shares.std())
    pixels = (shares / shares.sum(axis=-1, keepdims=True)).reshape(-1, 6) @ pure
    pixels += 0.008 * rng.standard_normal(pixels.shape)
    call = partial(pursuit.unmixing.unmix, pixels, pure, constraint, **QUIET)
    return repeated(calls, call)


# Fresh processes --------------------------------------------------------------------------------

ENCODE = """
from pursuit import Cone, encode
rng = np.random.default_rng(0)
atoms, signals = rng.standard_normal((64, 32)), rng.standard_normal((100, 32))
encode(signals, {}, "{}", max_iter=8, threads=1, progress=False)
"""
FRESH |= {
    "cold/encode/MP": ENCODE.format("atoms", "matching-pursuit"),
    "cold/encode/OMP": ENCODE.format("atoms", "orthogonal"),
    "cold/encode/cone/OMP": ENCODE.format("Cone(atoms)", "orthogonal"),
    "import/pursuit": "import pursuit",
    "import/solve": "from pursuit import Dictionary, SquaredDistance, solve",
    "import/encode": "from pursuit import encode",
}
IMPORTS = 11
"""Processes that an import is the median of: it is short, and starts from an uneven state."""


def fresh_seconds(label: str) -> float:
    """Return the CPU seconds that the code of a row takes in a new process."""
    code = f"import time, numpy as np\nbegin = time.process_time()\n{FRESH[label]}\n"
    code += "print(time.process_time() - begin)"
    counts = range(IMPORTS if label.startswith("import/") else 1)
    return float(np.median([_run_fresh(code) for _ in counts]))


def _run_fresh(code: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {done.returncode}")
    return float(done.stdout)


# The protocol -----------------------------------------------------------------------------------


def labels() -> list[str]:
    """Return all labels, those of fresh processes last."""
    return [*sorted(ROWS), *FRESH]


class Timer:
    """Times rows; the last one stays set up."""

    def __init__(self) -> None:
        self._label, self._call = "", None

    def seconds(self, label: str) -> float:
        """Return the CPU seconds of one call of a row."""
        if label in FRESH:
            return fresh_seconds(label)
        if self._label != label:
            self._call = None  # frees the memory of the row before
            self._call = ROWS[label]()
            self._label = label
            self._call()
        gc.collect()
        begin = time.process_time()
        self._call()
        return time.process_time() - begin

    def answer(self, label: str) -> dict[str, float | str]:
        """Return what the protocol says about one run of a row."""
        if label not in labels():
            return {"error": f"unknown label {label!r}"}
        try:
            return {"seconds": self.seconds(label)}
        except SkippedRow as reason:
            return {"skipped": str(reason)}
        except Exception as error:  # the other rows can still run
            return {"error": f"{type(error).__name__}: {error}"}


def greeting() -> dict[str, str]:
    """Return what was imported: two environments can differ in more than the library."""
    packages = ("numpy", "scipy", "numba")
    versions = {name: importlib.metadata.version(name) for name in packages}
    return {"pursuit": str(pursuit.__file__), "python": sys.version.split()[0], **versions}


def serve(commands: TextIO, answers: TextIO) -> None:
    """Answer commands line by line until there are no more."""
    timer = Timer()

    def say(answer: object) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    say(greeting())
    for line in commands:
        command, _, label = line.strip().partition(" ")
        if command == "list":
            say(labels())
        elif command == "run":
            say(timer.answer(label))
        else:
            say({"error": f"unknown command {command!r}"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="print all labels")
    action.add_argument("--row", nargs="+", metavar="LABEL", help="time these rows once")
    action.add_argument("--serve", action="store_true", help="answer commands on standard input")
    options = parser.parse_args()
    if options.list:
        print("\n".join(labels()))
    elif options.row:
        timer = Timer()
        for label in options.row:
            print(label, json.dumps(timer.answer(label)), flush=True)
    else:
        # What a library prints must not get between the answers.
        answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
