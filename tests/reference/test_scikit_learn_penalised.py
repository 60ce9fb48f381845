"""Penalised estimators against scikit-learn's: the same optima, with λ converted."""

import warnings

import numpy as np
import pytest
from peers import logistic_penalty
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    enet_path,
)
from sklearn.multiclass import OneVsRestClassifier

from pursuit import Coordinates, LeastSquares, Logistic, Status, path
from pursuit.base.errors import InputError
from pursuit.estimators import PenalisedClassifier, PenalisedRegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 15)) @ (np.eye(15) + 0.3) * np.logspace(-0.5, 0.5, 15) + 1
Y = X[:, 2] - 0.5 * X[:, 9] + RNG.standard_normal(80) + 3
COUNTS = RNG.poisson(np.exp(0.3 * (X[:, 2] - X[:, 2].mean()))).astype(float)
LABELS = np.where(X[:, 4] - X[:, 4].mean() + RNG.standard_normal(80) > 0, "up", "down")
WEIGHTS = RNG.random(80) * 3
FORMS = {"dense": np.asarray, "sparse": csr_array}


def same(ours, other, tolerance=1e-6):
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(other.coef_), atol=tolerance)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=tolerance)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_the_lasso_and_the_elastic_net_are_scikit_learns(form, weights, intercept, positive, ratio):
    shared = {"fit_intercept": intercept, "positive": positive}
    kind = Lasso if ratio == 1 else ElasticNet
    more = {} if ratio == 1 else {"l1_ratio": ratio}
    for alpha in (0.01, 0.3):
        other = kind(alpha=alpha, tol=1e-13, max_iter=100_000, **shared, **more)
        other.fit(X, Y, sample_weight=weights)
        ours = PenalisedRegressor(alpha, l1_ratio=ratio, **shared)
        ours.fit(FORMS[form](X), Y, sample_weight=weights)
        same(ours, other)
        assert np.array_equal(ours.coef_ != 0, np.abs(other.coef_) > 1e-9)
        assert 0 <= ours.dual_gap_ <= 1e-9 * np.var(Y)


def logistic(C, ratio, **options):
    """ℓ1, ℓ2 or both, by scikit-learn."""
    shared = {"solver": "saga", "tol": 1e-12, "max_iter": 200_000, "random_state": 0}
    return LogisticRegression(C=C, **shared, **logistic_penalty(ratio), **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("ratio", [1.0, 0.4, 0.0])
def test_logistic_regression_is_scikit_learns(form, weights, ratio):
    units = (X - X.mean(axis=0)) / X.std(axis=0)  # saga needs it
    for C, intercept in ((0.3, True), (5.0, False)):
        other = logistic(C, ratio, fit_intercept=intercept)
        other.fit(units, LABELS, sample_weight=weights)
        ours = PenalisedClassifier(C, l1_ratio=ratio, fit_intercept=intercept)
        ours.fit(FORMS[form](units), LABELS, sample_weight=weights)
        same(ours, other)
        assert ours.predict(units).tolist() == other.predict(units).tolist()
        np.testing.assert_allclose(ours.predict_proba(units), other.predict_proba(units), atol=1e-6)


def test_several_classes_are_each_against_the_rest():
    units = (X - X.mean(axis=0)) / X.std(axis=0)
    three = np.array(["a", "b", "c"])[np.digitize(units[:, 0] - units[:, 3], [-0.7, 0.7])]
    ours = PenalisedClassifier(0.5).fit(units, three)
    other = OneVsRestClassifier(logistic(0.5, 1.0)).fit(units, three)
    for k, model in enumerate(other.estimators_):
        np.testing.assert_allclose(ours.coef_[k], model.coef_[0], atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(units), other.predict_proba(units), atol=1e-6)
    assert ours.dual_gap_.shape == ours.n_iter_.shape == (3,)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_poisson_ridge_is_scikit_learns(weights):
    ours = PenalisedRegressor(0.2, l1_ratio=0.0, loss="poisson")
    ours.fit(X, COUNTS, sample_weight=weights)
    other = PoissonRegressor(alpha=0.2, tol=1e-12, max_iter=100_000, solver="newton-cholesky")
    same(ours, other.fit(X, COUNTS, sample_weight=weights))


def test_every_loss_meets_its_conditions_of_optimality():
    for loss, y in (("squared", Y), ("huber", Y), ("poisson", COUNTS)):
        model = PenalisedRegressor(0.05, l1_ratio=0.7, loss=loss).fit(X, y)
        u = X @ model.coef_ + model.intercept_
        mean = np.exp(u) if loss == "poisson" else u
        slopes = np.clip(mean - y, -1.35, 1.35) if loss == "huber" else mean - y
        c = X.T @ slopes / 80 + 0.05 * 0.3 * model.coef_
        used = model.coef_ != 0
        assert used.any()
        assert slopes.sum() == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(c[used], -0.035 * np.sign(model.coef_[used]), atol=1e-7)
        assert (np.abs(c[~used]) <= 0.035 + 1e-7).all()


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_the_path_is_scikit_learns(ratio):
    centred, y = X - X.mean(axis=0), Y - Y.mean()
    model = PenalisedRegressor(l1_ratio=ratio).fit_path(X, Y, n_alphas=20)
    path = model.paths_[0]
    top = np.abs(centred.T @ y).max() / 80 / ratio
    np.testing.assert_allclose(path.at, np.geomspace(top, 1e-3 * top, 20))
    _, coefs, _ = enet_path(centred, y, l1_ratio=ratio, alphas=path.at, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(path.coefs.toarray(), coefs.T, atol=1e-6)
    assert not path.coefs[[0]].toarray().any()
    assert (path.gaps <= 1e-9 * Y.var() * 80).all()
    alone = PenalisedRegressor(path.at[-1], l1_ratio=ratio).fit(X, Y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)
    assert model.plot().get_xlabel() == "alpha"
    labels = PenalisedClassifier().fit_path(X, LABELS, n_Cs=10)
    assert not labels.paths_[0].coefs[[0]].toarray().any()
    assert labels.paths_[0].coefs[[1]].toarray().any()
    few = PenalisedClassifier().fit_path(X, LABELS, Cs=[1.0, 0.1])
    np.testing.assert_allclose(few.coef_, PenalisedClassifier(1.0).fit(X, LABELS).coef_, atol=1e-6)


def test_a_warm_start_begins_where_the_last_fit_ended():
    model = PenalisedRegressor(0.05, warm_start=True).fit(X, Y)
    cold, first = model.n_iter_, model.coef_.copy()
    model.fit(X, Y)
    assert model.n_iter_ <= min(cold, 2)
    np.testing.assert_allclose(model.coef_, first, atol=1e-9)
    model.set_params(alpha=0.04).fit(X, Y)
    np.testing.assert_allclose(model.coef_, PenalisedRegressor(0.04).fit(X, Y).coef_, atol=1e-7)
    labels = PenalisedClassifier(warm_start=True).fit(X, LABELS)
    again = labels.coef_.copy()
    np.testing.assert_allclose(labels.fit(X, LABELS).coef_, again, atol=1e-7)
    model.fit(X[:, :9], Y)  # other features: there is nothing to begin with
    assert model.coef_.shape == (9,)


def test_float32_stays_float32_and_ends_without_a_warning():
    single = X.astype(np.float32)
    model = PenalisedRegressor(0.05).fit(single, Y.astype(np.float32))
    assert model.coef_.dtype == model.predict(single).dtype == np.float32
    np.testing.assert_allclose(model.coef_, PenalisedRegressor(0.05).fit(X, Y).coef_, atol=1e-3)


def test_a_run_that_is_cut_off_says_how_far_it_came():
    with pytest.warns(ConvergenceWarning, match=r"MAX_ITER.*within .* of its minimum"):
        model = PenalisedClassifier(100.0, max_iter=1).fit(X, LABELS)
    assert model.dual_gap_[0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PenalisedClassifier(100.0).fit(X, LABELS)


def test_bad_arguments_are_named():
    for name, value in (("alpha", 0.0), ("l1_ratio", 1.5), ("tol", 0.0), ("max_iter", 0)):
        with pytest.raises(InputError, match=f"{name}: expected"):
            PenalisedRegressor(**{name: value}).fit(X, Y)
    with pytest.raises(InputError, match="C: expected a positive number"):
        PenalisedClassifier(-1.0).fit(X, LABELS)
    with pytest.raises(InputError, match="alphas: expected values, for without an ℓ1 norm"):
        PenalisedRegressor(l1_ratio=0.0).fit_path(X, Y)
    with pytest.raises(InputError, match="Cs: expected numbers above 0"):
        PenalisedClassifier().fit_path(X, LABELS, Cs=[0.0, 1.0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", [LeastSquares, Logistic])
def test_path_begins_with_zeros_at_lambda_max(loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 15)) + 0.5
    y = X[:, 0] - X[:, 1] + rng.standard_normal(80) + 3
    f = loss(X, y > 3 if loss is Logistic else y, intercept=True)
    found = path(f, Coordinates(16), n_lambdas=2)
    assert not found.coefs.toarray()[0, :15].any()
    assert found.runs[0].status is Status.CONVERGED


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_fit_at_the_largest_alpha_of_a_path_is_zero_from_a_warm_start(ratio):
    model = PenalisedRegressor(l1_ratio=ratio, warm_start=True).fit_path(X, Y, n_alphas=5)
    top = model.paths_[0].at[0]
    assert model.coef_.any()
    assert not model.set_params(alpha=top).fit(X, Y).coef_.any()
