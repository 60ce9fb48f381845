"""The parameter-free acceleration on 1,000 problems made to break it."""

import numpy as np
import pytest

from pursuit import Dictionary, Huber, LeastSquares, Logistic, SquaredDistance, solve

CHUNK = 50
BUDGET = 5000


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


@pytest.mark.parametrize("first", range(0, 1000, CHUNK))
def test_no_nan_no_rise_and_the_slope_falls_to_1e_8(first):
    for number in range(first, first + CHUNK):
        rng = np.random.default_rng(number)
        d, n = int(rng.integers(1, 9)), int(rng.integers(1, 17))
        f = objective(rng, ("distance", "least squares", "logistic", "huber")[number % 4], d)
        kind = ("plain", "coherent", "duplicate", "rank-deficient")[number // 4 % 4]
        A = Dictionary(atoms(rng, kind, n, d))
        result = solve(f, A, "accelerated", max_iter=BUDGET, tol=1e-8, seed=number)
        said = (number, type(f).__name__, kind, result.status, result.message)
        assert np.isfinite(result.x).all(), said
        assert np.isfinite(result.weights).all(), said
        assert np.isfinite([result.value, result.slope]).all(), said
        assert np.isfinite(result.trace.value).all(), said
        start = f.value(np.zeros(d))
        assert result.value <= start * (1 + 1e-12), said
        assert result.status.name == "CONVERGED", said


def test_drawing_atoms_it_neither_rises_nor_fails():
    """One and four draws, on every seventh of the same problems, in a smaller budget."""
    from pursuit import methods

    for number in range(0, 1000, 7):
        rng = np.random.default_rng(number)
        d, n = int(rng.integers(1, 9)), int(rng.integers(1, 17))
        f = objective(rng, ("distance", "least squares", "logistic", "huber")[number % 4], d)
        A = Dictionary(atoms(rng, "plain", n, d))
        method = methods.accelerated(exploration=1 + 3 * (number % 2), patience=0)
        result = solve(f, A, method, max_iter=100, tol=1e-8, seed=number)
        assert np.isfinite(result.x).all(), number
        assert result.value <= f.value(np.zeros(d)) * (1 + 1e-12), (number, result.message)
