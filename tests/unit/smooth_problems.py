"""Objectives of every kind, by name: what the tests of corrective methods share."""

import numpy as np

from pursuit import (
    Dictionary,
    Function,
    Huber,
    LeastSquares,
    Logistic,
    Quadratic,
    SquaredDistance,
)


def problem(seed=0, n=30, d=12):
    """Least squares over a dictionary."""
    rng = np.random.default_rng(seed)
    A, Z = rng.standard_normal((2 * d, d)), rng.standard_normal((n, d))
    return LeastSquares(A, rng.standard_normal(2 * d)), Dictionary(Z)


def objective(name, rng, d=12):
    X = rng.standard_normal((80, d))
    y = np.sign(X[:, 0] + rng.standard_normal(80))
    match name:
        case "distance":
            return SquaredDistance(rng.standard_normal(d))
        case "least squares":
            return LeastSquares(X, y)
        case "quadratic":
            return Quadratic(X.T @ X, X.T @ y)
        case "logistic":
            return Logistic(X, y)
        case "logistic with ridge":
            return Logistic(X, y, l2=0.3)
        case "Huber":
            return Huber(X, 5 * rng.standard_normal(80), delta=0.7)
        case "Huber with ridge":
            return Huber(X, 5 * rng.standard_normal(80), delta=0.1, l2=0.2)
        case "only a gradient":
            return Function(
                lambda x: float(np.cosh(X @ x / 4 - y / 2).sum()),
                lambda x: X.T @ np.sinh(X @ x / 4 - y / 2) / 4,
                shape=(d,),
            )


QUADRATICS = ["distance", "least squares", "quadratic"]
SMOOTH = ["logistic", "logistic with ridge", "Huber", "Huber with ridge", "only a gradient"]
