"""Minima with a penalty: those of scikit-learn and SciPy, and where −∇f is in ∂g."""

import numpy as np
import pytest
from peers import logistic_penalty
from scipy.optimize import lsq_linear, minimize, nnls
from scipy.sparse import csc_array
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression

from pursuit import (
    L1,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Huber,
    LeastSquares,
    Logistic,
    NonNegative,
    Poisson,
    SquaredDistance,
    SquaredHinge,
    methods,
    solve,
)

EXACT = methods.matching_pursuit(step=ExactLineSearch())
LOSSES = {
    "LeastSquares": lambda X, y, **more: LeastSquares(X, y, **more),
    "Huber": lambda X, y, **more: Huber(X, y, 0.8, **more),
    "Logistic": lambda X, y, **more: Logistic(X, np.sign(y), **more),
    "SquaredHinge": lambda X, y, **more: SquaredHinge(X, np.sign(y), **more),
    "Poisson": lambda X, y, **more: Poisson(X / 3, np.round(np.abs(y)), **more),
}
PENALTIES = {
    "L1": L1(1.5),
    "L1 of each": L1(np.linspace(0.5, 3, 6)),
    "Box": Box(-0.05, 0.1),
    "NonNegative": NonNegative(),
    "non-negative L1": L1(1.5).joined(NonNegative()),
}


def samples(seed, N=40, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d)) * (rng.random((N, d)) < 0.6)
    return X, X @ rng.standard_normal(d) + rng.standard_normal(N)


def optimum(f, penalty, tol=1e-12):
    atoms = Coordinates(*f.shape)
    return solve(f, atoms, EXACT, penalty=penalty, tol=tol, max_iter=20000)


def distance(f, penalty, w):
    """The largest distance of −∇f from ∂g: by the definition of a subgradient."""
    weights, lower, upper = penalty.parts(len(w))
    least = np.where(w > lower, np.where(w > 0, weights, -weights), -np.inf)
    most = np.where(w < upper, np.where(w < 0, -weights, weights), np.inf)
    c = -f.gradient(w)
    return np.max(np.maximum(np.maximum(least - c, c - most), 0))


def by_scipy(f, penalty):
    """f + g over w = a − b with a, b ≥ 0, where g is smooth."""
    n = len(penalty.parts(f.shape[0]).weights)
    weights, lower, upper = penalty.parts(n)

    def value(ab):
        w = ab[:n] - ab[n:]
        gradient = f.gradient(w)
        return f.value(w) + weights @ (ab[:n] + ab[n:]), np.r_[
            gradient + weights, weights - gradient
        ]

    ends = [(0, high) for high in upper] + [(0, -low) for low in lower]
    options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 20000, "maxfun": 100000}
    best = minimize(value, np.zeros(2 * n), jac=True, bounds=ends, options=options).x
    return best[:n] - best[n:]


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())
@pytest.mark.parametrize("make", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_every_loss_with_every_penalty_has_the_minimum_of_scipy(make, penalty, sparse):
    X, y = samples(1)
    f = make(csc_array(X) if sparse else X, y, weights=np.linspace(0.5, 1.5, 40))
    result = optimum(f, penalty)
    assert result.status.name in ("CONVERGED", "STALLED")
    assert distance(f, penalty, result.x) <= 1e-9
    np.testing.assert_allclose(result.x, by_scipy(f, penalty), atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_least_squares_with_l1_is_the_lasso_and_with_l2_the_elastic_net(intercept):
    X, y = samples(2)
    y = y + 3
    options = {"fit_intercept": intercept, "tol": 1e-14, "max_iter": 100000}
    for l2, peer in (
        (0.0, Lasso(0.05, **options)),
        (1.2, ElasticNet(0.08, l1_ratio=0.625, **options)),
    ):
        peer.fit(X, y)
        found = optimum(LeastSquares(X, y, l2=l2, intercept=intercept), L1(2.0)).x
        np.testing.assert_allclose(found[:6], peer.coef_, atol=1e-8)
        assert not intercept or abs(found[6] - peer.intercept_) < 1e-8


@pytest.mark.parametrize("intercept", [False, True])
def test_a_logistic_loss_with_l1_is_that_of_scikit_learn(intercept):
    X, y = samples(3)
    weights = np.linspace(0.5, 2, 40)
    options = {"solver": "saga", "fit_intercept": intercept, "tol": 1e-12, "max_iter": 100000}
    peer = LogisticRegression(C=0.5, **logistic_penalty(1.0), **options)
    peer.fit(X, np.sign(y), weights)
    f = Logistic(X, np.sign(y), weights=weights, intercept=intercept)
    found = optimum(f, L1(2.0)).x
    np.testing.assert_allclose(found[:6], peer.coef_[0], atol=1e-6)
    assert not intercept or abs(found[6] - peer.intercept_[0]) < 1e-6


def test_least_squares_between_bounds_are_those_of_scipy():
    X, y = samples(4)
    lower, upper = np.linspace(-0.5, 0, 6), np.linspace(0.1, 0.6, 6)
    found = optimum(LeastSquares(X, y), Box(lower, upper))
    assert found.success
    assert (found.x >= lower).all()
    assert (found.x <= upper).all()
    expected = lsq_linear(X, y, (lower, upper), tol=1e-14).x
    np.testing.assert_allclose(found.x, expected, atol=1e-7)


def test_non_negative_least_squares_are_those_of_scipy():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, b = (
            rng.standard_normal((8, 12)) * 10.0 ** rng.uniform(-2, 2, (8, 1)),
            rng.standard_normal(12),
        )
        expected = nnls(rows.T, b)[0]
        size = np.abs(expected).max() or 1.0
        for method in ("orthogonal", EXACT):
            options = {"tol": 1e-14, "max_iter": 5000}
            f, atoms = SquaredDistance(b), Dictionary(rows)
            found = solve(f, atoms, method, penalty=NonNegative(), **options)
            assert np.abs(found.coef.toarray() - expected).max() <= 1e-12 * size
            cone = solve(f, Cone(atoms), method, **options)
            assert np.array_equal(found.x, cone.x)


def test_float32_comes_within_its_rounding_and_stays_what_it_is():
    X, y = samples(5)
    f = LeastSquares(X.astype(np.float32), y.astype(np.float32))
    for penalty in (L1(1.5), Box(-0.1, 0.1)):
        result = optimum(f, penalty, tol=1e-6)
        assert result.x.dtype == np.float32
        assert result.status.name in ("CONVERGED", "STALLED")
        exact = optimum(f.double(), penalty).x
        np.testing.assert_allclose(result.x, exact, atol=2e-5)


def test_float32_stands_still_where_a_slope_drowns_in_a_weight():
    X, y = samples(6)
    f = LeastSquares(X.astype(np.float32), y.astype(np.float32))
    peak = float(np.abs(f.gradient(np.zeros(6, np.float32))).max())
    for share in (0.9, 0.999, 0.99999):  # the first slope is small beside the weight
        result = optimum(f, L1(share * peak))
        assert result.status.name in ("CONVERGED", "STALLED")
        assert result.iterations < 500
        assert result.slope <= 8 * np.finfo(np.float32).eps * peak
