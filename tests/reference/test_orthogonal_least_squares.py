"""Orthogonal least squares against a plain NumPy reference, and on input without a best answer."""

import numpy as np
import pytest

from pursuit import (
    Cone,
    Coordinates,
    Dictionary,
    Function,
    InputError,
    LeastSquares,
    Logistic,
    RankOne,
    SquaredDistance,
    Status,
    methods,
    solve,
)


def fitted(columns, y):
    coef = np.linalg.lstsq(columns, y, rcond=None)[0]
    return coef, ((y - columns @ coef) ** 2).sum()


def forward_regression(X, y, k):
    """Enter, k times, the column that leaves the smallest sum of squares; every fit is lstsq's."""
    support = []
    for _ in range(k):
        rest = [j for j in range(X.shape[1]) if j not in support]
        left = [fitted(X[:, [*support, j]], y)[1] for j in rest]
        support.append(rest[int(np.argmin(left))])
    coef = np.zeros(X.shape[1])
    coef[support] = fitted(X[:, support], y)[0]
    return support, coef


def a_problem(seed):
    """Correlated columns of any length, and a y of a few of them and noise."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 40)), int(rng.integers(3, 30))
    k = int(rng.integers(1, min(n, p, 9)))
    X = rng.standard_normal((n, p)) @ (np.eye(p) + rng.uniform(0, 0.6)) * rng.uniform(0.1, 9, p)
    y = X[:, rng.choice(p, k, replace=False)] @ rng.standard_normal(k) + rng.standard_normal(n)
    return X, y, k


@pytest.mark.parametrize("block", range(10))
def test_supports_and_coefficients_are_those_of_forward_regression(block):
    for seed in range(50 * block, 50 * block + 50):
        X, y, k = a_problem(seed)
        support, coef = forward_regression(X, y, k)
        as_columns = solve(LeastSquares(X, y), Coordinates(X.shape[1]), "ols", n_nonzero=k, tol=0)
        as_atoms = solve(SquaredDistance(y), Dictionary(X.T), "OLS", n_nonzero=k, tol=0)
        for result in (as_columns, as_atoms):
            assert result.support.tolist() == sorted(support), seed
            np.testing.assert_allclose(result.coef.toarray(), coef, rtol=1e-8, atol=1e-10)
            for size in range(1, k + 1):
                found = np.flatnonzero(result.path.coefs[[size]].toarray())
                assert found.tolist() == sorted(support[:size]), seed


def test_it_fits_no_worse_than_omp_where_columns_are_correlated():
    better = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.cumsum(rng.standard_normal((60, 40)), axis=1)
        y = X[:, rng.choice(40, 5, replace=False)].sum(axis=1) + rng.standard_normal(60)
        f, columns = LeastSquares(X, y), Coordinates(40)
        ols, omp = (solve(f, columns, name, n_nonzero=5).value for name in ("ols", "omp"))
        better += ols < omp
    assert better >= 30


@pytest.mark.parametrize("seed", range(10))
def test_over_a_cone_each_atom_is_the_best_that_may_grow(seed):
    rng = np.random.default_rng(seed)
    b, rows = rng.standard_normal(20) + 0.5, rng.standard_normal((40, 20)) + 0.4
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    path = solve(SquaredDistance(b), Cone(rows), "ols", n_nonzero=4, tol=0).path
    used = []
    for size in range(1, len(path)):
        c, basis = rows @ (b - path.x(size - 1)), rows[used]
        d = 1 - (rows * (rows @ np.linalg.pinv(basis) @ basis)).sum(axis=1) if used else np.ones(40)
        gains = np.where((c > 0) & (d > 1e-6), c**2 / np.where(d > 1e-6, d, 1), 0)
        gains[used] = 0
        now = np.flatnonzero(path.coefs[[size]].toarray()).tolist()
        if set(used) < set(now):
            assert int(np.argmax(gains)) in now
        used = now


@pytest.mark.parametrize("kind", ["logistic", "only a gradient"])
def test_any_smooth_f_is_fitted_by_few_of_many_columns(kind):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 30))
    margin = 3 * X[:, [2, 11, 20]].sum(axis=1)
    f = Logistic(X, margin + rng.logistic(size=200) > 0, l2=0.1)
    if kind != "logistic":
        logistic = f
        f = Function(logistic.value, logistic.gradient, shape=30, L=logistic.L)
    result = solve(f, Coordinates(30), "ols", n_nonzero=3)
    assert result.support.tolist() == [2, 11, 20]
    assert np.abs(f.gradient(result.x)[result.support]).max() < 1e-8


def test_stopped_and_resumed_equals_uninterrupted(tmp_path):
    rng = np.random.default_rng(5)
    for atoms in (Dictionary(rng.standard_normal((40, 20))), Cone(rng.random((40, 20)))):
        f = SquaredDistance(rng.random(20))
        options = {"tol": 0, "every": 1}
        whole = solve(f, atoms, "ols", max_iter=9, **options)
        for stop in (1, 4, 7):
            solve(f, atoms, "ols", max_iter=stop, checkpoint=tmp_path / "run", **options)
            again = solve(f, atoms, "ols", max_iter=9, resume=tmp_path / "run", **options)
            assert again.x.tobytes() == whole.x.tobytes()
            assert again.support.tolist() == whole.support.tolist()


# Input without a best answer ------------------------------------------------------------------


@pytest.mark.parametrize("method", ["omp", "ols"])
class TestBadInput:
    def test_more_atoms_than_the_rank(self, method):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 12))
        y = rng.standard_normal(30)
        result = solve(LeastSquares(X, y), Coordinates(12), method, n_nonzero=9, tol=1e-9)
        assert result.status in (Status.CONVERGED, Status.STALLED)
        assert len(result.support) == 4
        assert 2 * result.value == pytest.approx(fitted(X, y)[1], rel=1e-9)

    def test_fewer_samples_than_atoms_asked_for(self, method):
        rng = np.random.default_rng(1)
        X, y = rng.standard_normal((5, 40)), rng.standard_normal(5)
        result = solve(LeastSquares(X, y), Coordinates(40), method, n_nonzero=20, tol=0)
        assert len(result.support) <= 5
        assert result.value < 1e-20
        assert np.isfinite(result.x).all()

    def test_duplicate_and_constant_columns(self, method):
        rng = np.random.default_rng(2)
        X = rng.standard_normal((30, 6))
        X = np.hstack([X, -2 * X[:, :3], np.ones((30, 2))])
        y = X[:, 0] + X[:, 4] + 3 + 0.1 * rng.standard_normal(30)
        result = solve(LeastSquares(X, y), Coordinates(11), method, n_nonzero=11, tol=1e-9)
        assert len(result.support) == 7
        assert 2 * result.value == pytest.approx(fitted(X, y)[1], rel=1e-9)
        assert np.abs(result.weights).max() < 10

    def test_no_atoms_at_all(self, method):
        atoms = np.eye(3)
        assert len(solve(SquaredDistance([1.0, 2.0, 3.0]), atoms, method, max_iter=0).support) == 0

    def test_nothing_to_fit(self, method):
        result = solve(SquaredDistance(np.zeros(3)), np.eye(3), method)
        assert result.status is Status.CONVERGED
        assert not result.x.any()


def test_columns_that_are_nearly_alike_do_not_enter_together():
    """1e-4 apart they have a diagonal entry of the inverse Gram matrix of 1e8."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 6))
    X[:, 5] = X[:, 0] + 1e-4 * rng.standard_normal(50)
    y = 1e3 * (X[:, 5] - X[:, 0]) + X[:, 0] + 0.01 * rng.standard_normal(50)
    result = solve(LeastSquares(X, y), Coordinates(6), "ols", tol=0)
    assert not {0, 5} <= set(result.support.tolist())
    assert np.isfinite(result.value)


# Names and what it cannot run on ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["ols", "OLS", "Orthogonal_Least_Squares"])
def test_its_names_are_case_insensitive_with_hyphens_or_underscores(name):
    assert methods.as_method(name) == methods.orthogonal_least_squares()
    assert methods.as_method(name).advance == methods.orthogonal(selection="ols").advance


def test_an_unknown_name_lists_those_known():
    with pytest.raises(InputError, match=r"orthogonal-least-squares.*mp, omp, ols.*got 'oms'"):
        solve(SquaredDistance([1.0]), Coordinates(1), "oms")


def test_an_unknown_selection_or_an_infinite_set_is_refused():
    with pytest.raises(InputError, match="selection must be one of omp, ols, got 'best'"):
        solve(SquaredDistance([1.0]), Coordinates(1), methods.orthogonal(selection="best"))
    with pytest.raises(InputError, match="selection must be omp where atoms is not a finite set"):
        solve(SquaredDistance(np.eye(2)), RankOne(2, 2), "ols")
