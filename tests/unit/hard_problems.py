"""A thousand problems made to break a solver: every unit and scale, every kind of bad atoms."""

import numpy as np

from pursuit import Dictionary, Huber, LeastSquares, Logistic, SquaredDistance

COUNT = 1000
LOSSES = ("distance", "least squares", "logistic", "huber")
KINDS = ("plain", "coherent", "duplicate", "rank-deficient")


def hard_problem(number):
    """(f, atoms): strongly convex, in 1 … 8 dimensions, with 1 … 16 atoms."""
    rng = np.random.default_rng(number)
    d, n = int(rng.integers(1, 9)), int(rng.integers(1, 17))
    f = objective(rng, LOSSES[number % 4], d)
    return f, Dictionary(atoms(rng, KINDS[number // 4 % 4], n, d))


def atoms(rng, kind, n, d):
    """Rows of lengths 1e-6 … 1e6: plain, coherent, duplicate or in a subspace."""
    Z = rng.standard_normal((n, d))
    if kind == "coherent":
        Z = 0.3 * Z + rng.standard_normal(d)
    if kind == "duplicate":
        Z[n // 2 :] = Z[: n - n // 2] * rng.choice([-1, 1], (n - n // 2, 1))
    if kind == "rank-deficient":
        Z = rng.standard_normal((n, max(1, d // 2))) @ rng.standard_normal((max(1, d // 2), d))
    return Z * 10.0 ** rng.uniform(-6, 6, (n, 1))


def objective(rng, kind, d):
    """Strongly convex on R^d in units of 1e-6 … 1e6 for what is measured and for x."""
    unit, size = 10.0 ** rng.uniform(-6, 6, 2)
    if kind == "distance":
        return SquaredDistance(size * rng.standard_normal(d))
    X = unit * rng.standard_normal((3 * d, d))
    if kind == "least squares":
        return LeastSquares(X, size * rng.standard_normal(3 * d))
    if kind == "logistic":
        return Logistic(X, rng.choice([-1, 1], 3 * d), l2=0.1 * unit**2)
    return Huber(X, size * rng.standard_t(1.5, 3 * d), delta=size, l2=0.1 * unit**2)
