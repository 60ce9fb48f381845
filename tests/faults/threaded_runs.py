"""The runs of test_threaded_bits.py. As a script: makes them all on the given number of threads,
and prints a mark of each result."""

import hashlib
import json
import sys

import numpy as np
import scipy.sparse

import pursuit
from pursuit.base.products import LARGE
from pursuit.methods import NAMED

SAMPLED = ("matching-pursuit", "accelerated", "accelerated-random", "orthogonal")


def mark(result):
    """A text that tells two results apart by any bit."""
    x = [result.x] if isinstance(result.x, np.ndarray) else vars(result.x).values()
    digest = hashlib.blake2b(digest_size=16)
    for array in (*x, result.weights, result.support, result.trace.value, result.trace.slope):
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"{digest.hexdigest()} {result.value.hex()} {result.status.name}"


def problems():
    """Problems whose arrays are so large that threads share them: f, atoms, and the methods."""
    rng = np.random.default_rng(3)
    Z, X = rng.standard_normal((2, 8500, 125))
    wide = rng.standard_normal((400, 2700))
    y, S = rng.standard_normal(8500), wide[:, :1050].T @ wide[:, :1050]
    single = Z.astype(np.float32)
    assert min(Z.size, X.size, wide.size, S.size) >= LARGE
    distance, measured = pursuit.SquaredDistance(Z[0] - Z[1]), pursuit.LeastSquares(X, y)
    yield "dictionary", distance, pursuit.Dictionary(Z), NAMED
    yield "float32", pursuit.SquaredDistance(single[0]), pursuit.Dictionary(single), SAMPLED
    yield "cone", distance, pursuit.Cone(Z), ("matching-pursuit", "orthogonal")
    yield "least squares", measured, pursuit.Coordinates(125), NAMED
    yield "logistic", pursuit.Logistic(X, np.sign(y), l2=1.0), pursuit.Coordinates(125), NAMED
    yield "wide", pursuit.LeastSquares(wide, y[:400]), pursuit.Coordinates(2700), SAMPLED
    yield "Quadratic", pursuit.Quadratic(S, y[:1050]), pursuit.Coordinates(1050), SAMPLED
    yield "matrix", pursuit.MatrixDistance(wide), pursuit.RankOne(*wide.shape), SAMPLED[:1]
    sparse = scipy.sparse.random_array((20_000, 300), density=0.05, rng=rng)
    labels = np.sign(rng.standard_normal(20_000))
    yield "sparse", pursuit.Logistic(sparse, labels), pursuit.Coordinates(300), SAMPLED


def every_mark(threads):
    options = {"max_iter": 12, "tol": 0, "every": 4, "threads": threads, "progress": False}
    return {
        f"{name}, {method}": mark(pursuit.solve(f, atoms, method, **options))
        for name, f, atoms, methods in problems()
        for method in methods
    }


if __name__ == "__main__":
    print(json.dumps(every_mark(int(sys.argv[1]))))
