"""Working sets: scikit-learn's and SciPy's optima, for every loss with every penalty."""

import numpy as np
import pytest
import scipy.optimize
from peers import logistic_penalty
from scipy.sparse import csc_array
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge

from pursuit import (
    L1,
    Box,
    Coordinates,
    Huber,
    LeastSquares,
    Logistic,
    NonNegative,
    Poisson,
    SquaredHinge,
    solve,
)

N, D = 80, 12
rng = np.random.default_rng(5)
X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.7) * 10.0 ** rng.uniform(-0.5, 0.5, D)
RESPONSES = X @ rng.standard_normal(D) + rng.standard_normal(N)
LABELS = np.where(np.median(RESPONSES) < RESPONSES, 1.0, -1.0)
COUNTS = rng.poisson(np.exp(0.1 * RESPONSES)).astype(float)
WEIGHTS = rng.uniform(0.5, 2, N)
LOSSES = {
    "least squares": (LeastSquares, RESPONSES),
    "logistic": (Logistic, LABELS),
    "squared hinge": (SquaredHinge, LABELS),
    "huber": (lambda X, y, **options: Huber(X, y, 1.5, **options), RESPONSES),
    "poisson": (Poisson, COUNTS),
}
PENALTIES = {
    "none": None,
    "l1": L1(2.0),
    "weights": L1(np.linspace(0, 4, D + 1)),
    "non-negative": NonNegative(),
    "box": Box(-0.2, 0.1),
}
FORMS = {"dense": np.asfortranarray, "by rows": np.ascontiguousarray, "sparse": csc_array}


def distance(f, penalty, x):
    """The largest distance of −∇f from the subdifferential, coordinate by coordinate."""
    c = f.gradient(x)
    weights, lower, upper = (penalty or L1(0.0)).parts(len(x))
    weights, lower, upper = weights.copy(), lower.copy(), upper.copy()
    if f.intercept:
        weights[-1], lower[-1], upper[-1] = 0, -np.inf, np.inf
    worst = 0.0
    for cj, xj, weight, low, high in zip(c, x, weights, lower, upper, strict=True):
        left = -np.inf if xj <= low else cj + (weight if xj > 0 else -weight)
        right = np.inf if xj >= high else cj + (-weight if xj < 0 else weight)
        worst = max(worst, left, -right)
    return worst


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimality_conditions_hold_to_1e_9(loss, penalty, form, intercept):
    make, y = LOSSES[loss]
    f = make(FORMS[form](X), y, l2=0.1, weights=WEIGHTS, intercept=intercept)
    g = PENALTIES[penalty]
    if penalty == "weights" and not intercept:
        g = L1(np.linspace(0, 4, D))
    result = solve(f, Coordinates(f.shape[0]), "working-set", penalty=g, tol=1e-11)
    first = distance(f, g, np.zeros(f.shape))
    assert distance(f, g, result.x) <= 1e-9 * max(first, 1.0)
    assert result.success


def test_the_lasso_is_scikit_learns():
    result = solve(LeastSquares(X, RESPONSES), Coordinates(D), penalty=L1(8.0), tol=1e-10)
    peer = Lasso(8.0 / N, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X, RESPONSES)
    assert result.method == "working-set"
    np.testing.assert_allclose(result.x, peer.coef_, atol=1e-6)
    assert (result.x == 0).sum() == (peer.coef_ == 0).sum() > 0


def test_the_elastic_net_is_scikit_learns_with_its_intercept():
    f = LeastSquares(X, RESPONSES, l2=3.0, intercept=True)
    result = solve(f, Coordinates(D + 1), penalty=L1(5.0), tol=1e-10)
    peer = ElasticNet(8.0 / N, l1_ratio=5 / 8, tol=1e-14, max_iter=10**6).fit(X, RESPONSES)
    np.testing.assert_allclose(result.x, [*peer.coef_, peer.intercept_], atol=1e-6)


def test_logistic_regressions_are_scikit_learns():
    smooth = solve(Logistic(X, LABELS, l2=0.5), Coordinates(D), "working-set", tol=1e-10)
    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=10**4)
    np.testing.assert_allclose(smooth.x, peer.fit(X, LABELS).coef_[0], atol=1e-6)
    sparse = solve(Logistic(X, LABELS), Coordinates(D), penalty=L1(2.0), tol=1e-10)
    options = {"solver": "liblinear", "fit_intercept": False, "tol": 1e-12, "max_iter": 10**5}
    peer = LogisticRegression(C=0.5, **logistic_penalty(1.0), **options)
    np.testing.assert_allclose(sparse.x, peer.fit(X, LABELS).coef_[0], atol=1e-6)


def test_non_negative_least_squares_are_scipys_to_1e_12():
    result = solve(LeastSquares(X, RESPONSES), Coordinates(D), penalty=NonNegative(), tol=1e-14)
    expected = scipy.optimize.nnls(X, RESPONSES)[0]
    np.testing.assert_allclose(result.x, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("intercept", [False, True])
def test_with_few_samples_one_matrix_of_their_size_gives_ridge_regression(intercept):
    wide = np.random.default_rng(6).standard_normal((15, 200))
    y = wide[:, 0] + 3
    f = LeastSquares(wide, y, l2=2.0, intercept=intercept)
    result = solve(f, Coordinates(f.shape[0]), "working-set", tol=1e-12)
    peer = Ridge(2.0, fit_intercept=intercept, solver="svd").fit(wide, y)
    np.testing.assert_allclose(result.x[:200], peer.coef_, atol=1e-10)
    if intercept:
        np.testing.assert_allclose(result.x[-1], peer.intercept_, atol=1e-10)


def test_float32_stays_and_is_right_within_its_rounding():
    f = Logistic(X.astype(np.float32), LABELS, l2=0.5)
    result = solve(f, Coordinates(D), "working-set", penalty=L1(np.float32(1.0)), tol=1e-6)
    wide = solve(Logistic(X, LABELS, l2=0.5), Coordinates(D), penalty=L1(1.0), tol=1e-10)
    assert result.x.dtype == np.float32
    np.testing.assert_allclose(result.x, wide.x, atol=1e-5)


def test_the_defaults_converge_on_standardised_breast_cancer():
    data, labels = load_breast_cancer(return_X_y=True)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    result = solve(Logistic(data, labels, l2=1.0), Coordinates(30))
    assert result.status.name == "CONVERGED"
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10**4)
    best = Logistic(data, labels, l2=1.0).value(peer.fit(data, labels).coef_[0])
    assert result.value <= best * (1 + 1e-9)
    assert result.gap <= 1e-6 * best
