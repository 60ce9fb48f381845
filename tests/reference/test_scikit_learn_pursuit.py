"""Orthogonal pursuit by scikit-learn's names, against scikit-learn's own."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model

from pursuit import estimators
from pursuit.base.errors import InputError


def problem(seed, samples, features, targets):
    """Columns of scale 0.1 … 10, and targets that few of them explain, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) * 10 ** rng.uniform(-1, 1, features)
    w = rng.standard_normal((features, targets)) * (rng.random((features, targets)) < 0.3)
    return X + rng.standard_normal(features), X @ w + rng.standard_normal((samples, targets)) + 3


def theirs(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "ended prematurely": see the tests below
        return function(*arguments, **options)


def same(ours, other):
    assert np.shape(ours) == np.shape(other)
    assert np.array_equal(np.equal(ours, 0), np.equal(other, 0))  # the support
    np.testing.assert_allclose(ours, other, rtol=1e-8, atol=1e-10)


@settings(max_examples=500)
@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(8, 40),
    features=st.integers(2, 30),
    targets=st.integers(1, 3),
    share=st.floats(0.02, 1.5),
    by_count=st.booleans(),
    intercept=st.booleans(),
)
def test_without_unit_atoms_everything_is_scikit_learns(
    seed, samples, features, targets, share, by_count, intercept
):
    X, Y = problem(seed, samples, features, targets)
    Y = Y[:, 0] if targets == 1 and seed % 2 else Y
    k = 1 + seed % min(samples - 3, features)
    spread = float(np.min(np.var(Y, axis=0))) * samples
    stop = {"n_nonzero_coefs": k} if by_count else {"tol": share * spread}
    ours = estimators.OrthogonalMatchingPursuit(unit_atoms=False, fit_intercept=intercept, **stop)
    other = linear_model.OrthogonalMatchingPursuit(fit_intercept=intercept, **stop)
    ours.fit(X, Y)
    theirs(other.fit, X, Y)
    same(ours.coef_, other.coef_)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, rtol=1e-8, atol=1e-9)
    assert ours.n_iter_ == other.n_iter_
    assert ours.n_nonzero_coefs_ == other.n_nonzero_coefs_
    np.testing.assert_allclose(ours.predict(X), other.predict(X), rtol=1e-8, atol=1e-8)
    options = stop | {"return_n_iter": True}
    found, steps = estimators.orthogonal_mp(X, Y, unit_atoms=False, **options)
    expected, expected_steps = theirs(linear_model.orthogonal_mp, X, Y, **options)
    same(found, expected)
    assert steps == expected_steps
    gram = X.T @ X, X.T @ Y
    options["norms_squared"] = (Y**2).sum(axis=0)
    found, steps = estimators.orthogonal_mp_gram(*gram, unit_atoms=False, **options)
    same(found, expected)
    assert steps == expected_steps


@pytest.mark.parametrize("seed", range(20))
def test_the_path_and_the_choice_by_folds_are_scikit_learns(seed):
    X, Y = problem(seed, 40, 12, 2)
    for y in (Y[:, 0], Y):
        options = {"n_nonzero_coefs": 6, "return_path": True}
        ours = estimators.orthogonal_mp(X, y, unit_atoms=False, **options)
        same(ours, theirs(linear_model.orthogonal_mp, X, y, **options))
        gram = X.T @ X, X.T @ y
        same(estimators.orthogonal_mp_gram(*gram, unit_atoms=False, **options), ours)
    ours = estimators.OrthogonalMatchingPursuitCV(cv=4, max_iter=8, unit_atoms=False)
    other = linear_model.OrthogonalMatchingPursuitCV(cv=4, max_iter=8)
    ours.fit(X, Y[:, 0])
    theirs(other.fit, X, Y[:, 0])
    assert ours.n_nonzero_coefs_ == other.n_nonzero_coefs_
    same(ours.coef_, other.coef_)
    assert ours.intercept_ == pytest.approx(other.intercept_)


def shares_found(model, trials=30):
    """The mean share of a true support of 6 of 60 columns, of scale 0.1 … 10, that is found."""
    shares = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        scale = 10 ** rng.uniform(-1, 1, 60)
        X, true = rng.standard_normal((100, 60)), rng.choice(60, 6, replace=False)
        y = X[:, true] @ rng.choice([-1.0, 1.0], 6) + 0.1 * rng.standard_normal(100)
        shares.append(np.isin(true, np.flatnonzero(model.fit(X * scale, y).coef_)).mean())
    return np.mean(shares)


def test_columns_of_any_scale_are_found_where_scikit_learn_misses_them():
    ours = shares_found(estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=6))
    other = shares_found(linear_model.OrthogonalMatchingPursuit(n_nonzero_coefs=6))
    assert ours == 1.0
    assert other < 0.75
    as_printed = estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=6, unit_atoms=False)
    assert shares_found(as_printed) == other


def test_dependent_columns_do_not_end_a_run():
    X, Y = problem(3, 40, 6, 1)
    doubled = np.hstack([X, X, X.sum(axis=1, keepdims=True)])
    with pytest.warns(RuntimeWarning, match="prematurely"):
        linear_model.orthogonal_mp(doubled, Y[:, 0], n_nonzero_coefs=9)
    ours = estimators.orthogonal_mp(doubled, Y[:, 0], n_nonzero_coefs=9)
    np.testing.assert_allclose(doubled @ ours, X @ np.linalg.lstsq(X, Y[:, 0])[0], atol=1e-8)
    gram = doubled.T @ doubled, doubled.T @ Y[:, 0]
    ours = estimators.orthogonal_mp_gram(*gram, n_nonzero_coefs=9)
    np.testing.assert_allclose(doubled @ ours, X @ np.linalg.lstsq(X, Y[:, 0])[0], atol=1e-7)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_gram_matrix_is_as_good_as_its_columns_whatever_their_scale(scale):
    X, Y = problem(5, 30, 20, 2)
    X[:, ::2] *= scale
    found = estimators.orthogonal_mp_gram(X.T @ X, X.T @ Y, n_nonzero_coefs=5)
    expected = estimators.orthogonal_mp(X, Y, n_nonzero_coefs=5)
    assert np.array_equal(found != 0, expected != 0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_positive_coefficients_are_the_least_squares_fit_over_their_support():
    from scipy.optimize import nnls

    X, Y = problem(7, 40, 12, 1)
    y = Y[:, 0]
    for k in (1, 3, 12):
        w = estimators.orthogonal_mp(X, y, n_nonzero_coefs=k, positive=True)
        assert (w >= 0).all()
        assert np.count_nonzero(w) <= k
        used = np.flatnonzero(w)
        np.testing.assert_allclose(w[used], nnls(X[:, used], y)[0], rtol=1e-8)
    path = estimators.orthogonal_mp(X, y, n_nonzero_coefs=5, positive=True, return_path=True)
    assert (path >= 0).all()
    errors = np.linalg.norm(y[:, None] - X @ path, axis=0)
    assert (np.diff(errors) <= 1e-9).all()
    model = estimators.OrthogonalMatchingPursuitCV(positive=True).fit(X, y)
    assert (model.coef_ >= 0).all()


def test_what_cannot_be_answered_is_refused_by_name():
    X, Y = problem(1, 20, 5, 2)
    with pytest.raises(InputError, match="norms_squared: expected"):
        estimators.orthogonal_mp_gram(X.T @ X, X.T @ Y, tol=0.1)
    with pytest.raises(InputError, match="norms_squared: expected one for each of 2"):
        estimators.orthogonal_mp_gram(X.T @ X, X.T @ Y, tol=0.1, norms_squared=[1.0])
    with pytest.raises(InputError, match="y: expected 20 rows"):
        estimators.orthogonal_mp(X, Y[:-1])
    with pytest.raises(InputError, match="Gram, Xy: expected a square matrix"):
        estimators.orthogonal_mp_gram(X, X.T @ Y)
    with pytest.raises(InputError, match="tol: expected a number of at least 0"):
        estimators.orthogonal_mp(X, Y, tol=-1.0)
    with pytest.warns(
        UserWarning, match="n_nonzero_coefs=9 is more than the features there are: 5"
    ):
        estimators.orthogonal_mp(X, Y, n_nonzero_coefs=9)
