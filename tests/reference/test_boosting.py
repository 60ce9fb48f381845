"""Boosting as pursuit: regression trees of scikit-learn as atoms, on real data."""

import numpy as np
import pytest

sklearn_ensemble = pytest.importorskip("sklearn.ensemble", reason="needs scikit-learn")

from sklearn.datasets import load_diabetes  # noqa: E402

from pursuit import (  # noqa: E402
    InputError,
    RegressionTrees,
    Smooth,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.testing import check_atoms  # noqa: E402


@pytest.fixture(scope="module")
def diabetes():
    """442 patients: 10 measurements, and how far the disease went in a year."""
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order] - y.mean()
    return X[:330], y[:330], X[330:], y[330:]


def boosted(rate, **options):
    """scikit-learn's gradient boosting from zero, with the trees that pursuit grows."""
    return sklearn_ensemble.GradientBoostingRegressor(
        learning_rate=rate, init="zero", random_state=0, **options
    )


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_matching_pursuit_over_trees_is_gradient_boosting(diabetes, depth, rate):
    """x ← x − ⟨g, z⟩z/L with L = 1/rate: the same function after each of 40 trees."""
    X, y, X_new, _ = diabetes
    trees = RegressionTrees(X, max_depth=depth)
    method = methods.matching_pursuit(step=Smooth(1 / rate))
    result = solve(SquaredDistance(y), trees, method, max_iter=40, tol=0)
    reference = boosted(rate, max_depth=depth, n_estimators=40).fit(X, y)
    scale = np.abs(y).max()
    assert np.allclose(result.x, reference.predict(X), rtol=0, atol=1e-8 * scale)
    if depth == 1:  # deeper trees have splits of few samples that several features give alike
        new = trees.predict(result, X_new), reference.predict(X_new)
        assert np.allclose(*new, rtol=0, atol=1e-8 * scale)


def test_the_oracle_finds_the_best_of_all_trees_of_one_split(diabetes):
    """Against every split of every feature, by sums."""
    X = diabetes[0][:60]
    trees = RegressionTrees(X)
    for seed in range(5):
        d = np.random.default_rng(seed).standard_normal(60)
        best = 0.0
        for column in X.astype(np.float32).T:
            order = np.argsort(column, kind="stable")
            sums, sizes = np.cumsum(d[order])[:-1], np.arange(1, 60)
            gain = sums**2 / sizes + (d.sum() - sums) ** 2 / (60 - sizes)
            best = max(best, gain[np.diff(column[order]) > 0].max())
        assert trees.dual_norm(d) == pytest.approx(np.sqrt(best), rel=1e-9)


def test_corrected_weights_need_fewer_trees_for_the_same_error_in_training(diabetes):
    X, y, *_ = diabetes
    trees = RegressionTrees(X)
    plain = solve(SquaredDistance(y), trees, max_iter=60, tol=0)
    corrected = solve(SquaredDistance(y), trees, "orthogonal", max_iter=60, tol=0)
    assert corrected.value < plain.value
    first = np.flatnonzero(corrected.trace.value <= plain.value)[0]
    assert corrected.trace.support[first] < 55


def test_a_shrunken_run_predicts_as_well_as_gradient_boosting(diabetes):
    X, y, X_new, y_new = diabetes
    trees = RegressionTrees(X, max_depth=2)
    method = methods.matching_pursuit(step=Smooth(10.0))
    result = solve(SquaredDistance(y), trees, method, max_iter=80, tol=0)
    ours = np.mean((trees.predict(result, X_new) - y_new) ** 2)
    reference = boosted(0.1, max_depth=2, n_estimators=80).fit(X, y)
    theirs = np.mean((reference.predict(X_new) - y_new) ** 2)
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert ours < 0.7 * np.mean(y_new**2)


def test_trees_are_stored_and_come_back_to_the_same_bits(diabetes):
    X, y, X_new, _ = diabetes
    trees, f = RegressionTrees(X, max_depth=2), SquaredDistance(y)
    whole = solve(f, trees, max_iter=12, tol=0)
    half = solve(f, trees, max_iter=6, tol=0)
    resumed = solve(f, trees, max_iter=12, tol=0, resume=half)
    assert np.array_equal(resumed.x, whole.x)
    assert np.array_equal(trees.predict(resumed, X_new), trees.predict(whole, X_new))


def test_trees_keep_the_contract_of_atom_sets(diabetes):
    check_atoms(RegressionTrees(diabetes[0][:25]), draws=12)
    # A deeper tree is not the best of its depth, and never worse than one split.
    deep, shallow = (RegressionTrees(diabetes[0][:40], max_depth=k) for k in (3, 1))
    for d in np.random.default_rng(1).standard_normal((20, 40)):
        assert deep.dual_norm(d) >= shallow.dual_norm(d) * (1 - 1e-12)


def test_other_features_are_refused(diabetes):
    trees = RegressionTrees(diabetes[0])
    result = solve(SquaredDistance(diabetes[1]), trees, max_iter=1)
    with pytest.raises(InputError, match="X: expected 10 features, got 3"):
        trees.predict(result, np.zeros((2, 3)))


def test_what_no_tree_can_see_is_refused_by_name(diabetes):
    X, y, *_ = diabetes
    with pytest.raises(InputError, match="X must be zero or have its largest magnitude"):
        RegressionTrees(1e40 * X)
    with pytest.raises(InputError, match="seed: expected an integer below"):
        RegressionTrees(X, seed=2**32)
    trees, f = RegressionTrees(X), SquaredDistance(y)
    begun = solve(f, trees, x0=np.ones(len(X)), max_iter=1)
    with pytest.raises(InputError, match="result: expected that of a run from zero"):
        trees.predict(begun, X)
    with pytest.raises(InputError, match="result: expected that of a run over regression trees"):
        trees.predict(solve(f, np.eye(len(X)), max_iter=1), X)
