"""The estimators among others of scikit-learn: pipelines, searches, frames, weights, sparse X."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import HuberRegressor, LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import encode, estimators, learn
from pursuit.base.errors import InputError

RNG = np.random.default_rng(0)  # for the data of all tests; a test that draws has its own
X = RNG.standard_normal((120, 12)) * np.logspace(-2, 2, 12) + 1
UNITS = (X - X.mean(axis=0)) / X.std(axis=0)
LABELS = np.where(UNITS[:, 2] - UNITS[:, 7] + 0.3 * RNG.standard_normal(120) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[
    np.argmax(UNITS[:, :3] + 0.2 * RNG.standard_normal((120, 3)), axis=1)
]
COUNTS = RNG.poisson(np.exp(1 + 0.5 * UNITS[:, 4] - 0.5 * UNITS[:, 9])).astype(float)
ATOMS = RNG.standard_normal((20, 12)) * np.logspace(-1, 1, 20)[:, None]


# Coders


def test_a_coder_is_encode():
    coder = estimators.PursuitCoder(ATOMS, n_nonzero=3).fit(X)
    codes = encode(X, ATOMS, n_nonzero=3)
    assert np.array_equal(coder.transform(X), codes.toarray())
    np.testing.assert_allclose(coder.inverse_transform(codes.matrix), codes @ ATOMS)
    sparse = estimators.PursuitCoder(ATOMS, n_nonzero=3, sparse_output=True).fit_transform(X)
    assert np.array_equal(sparse.toarray(), codes.toarray())
    drawn = estimators.PursuitCoder(ATOMS, method="random-pursuit", max_steps=9, random_state=4)
    expected = encode(X, ATOMS, "random-pursuit", max_iter=9, rng=4)
    assert np.array_equal(drawn.fit_transform(X), expected.toarray())


def test_a_coder_without_a_dictionary_takes_the_rows_that_it_is_fitted_on():
    rows = np.vstack([X[:15], np.zeros(12)])
    coder = estimators.PursuitCoder(n_nonzero=1).fit(rows)
    assert np.array_equal(coder.components_, X[:15])
    np.testing.assert_allclose(coder.transform(X[:15]), np.eye(15), atol=1e-12)
    with pytest.raises(InputError, match="X: expected a row that is not zero"):
        estimators.PursuitCoder().fit(np.zeros((3, 2)))


def test_sparse_rows_have_the_codes_of_dense_ones():
    rows = X * (np.random.default_rng(1).random(X.shape) < 0.4)
    coder = estimators.PursuitCoder(ATOMS, n_nonzero=2).fit(csr_array(rows))
    np.testing.assert_allclose(coder.transform(csr_array(rows)), coder.transform(rows))
    learner = estimators.PursuitDictionary(8, n_nonzero=2, random_state=0)
    dense = learner.fit(rows).components_
    assert np.array_equal(learner.fit(csr_array(rows)).components_, dense)


def test_positive_codes_are_positive():
    for coder in (
        estimators.PursuitCoder(ATOMS, n_nonzero=4, positive=True),
        estimators.PursuitDictionary(8, n_nonzero=2, positive=True, random_state=0),
    ):
        codes = coder.fit_transform(np.abs(X))
        assert codes.min() == 0 < codes.max()
    assert coder.components_.min() >= 0


def test_a_dictionary_of_other_width_is_refused():
    with pytest.raises(InputError, match="dictionary: expected atoms of 12 entries"):
        estimators.PursuitCoder(ATOMS[:, 1:]).fit(X)
    with pytest.raises(InputError, match="X: expected codes over 20 atoms"):
        estimators.PursuitCoder(ATOMS).fit(X).inverse_transform(X)


def test_a_dictionary_is_what_learn_finds():
    learner = estimators.PursuitDictionary(16, n_nonzero=2, passes=2, random_state=3).fit(UNITS)
    learned = learn(UNITS, 16, 2, passes=2, seed=3)
    assert np.array_equal(learner.components_, learned.atoms)
    expected = encode(UNITS, learned.atoms, n_nonzero=2).toarray()
    assert np.array_equal(learner.transform(UNITS), expected)


def test_parts_are_learned_from_one_after_the_other():
    rng = np.random.default_rng(5)
    true = rng.standard_normal((12, 10))
    true /= np.linalg.norm(true, axis=1, keepdims=True)

    def signals(count):
        places = np.array([rng.choice(12, 2, replace=False) for _ in range(count)])
        return sum(rng.standard_normal((count, 1)) * true[places[:, k]] for k in range(2))

    def share(learner):
        return np.mean(np.abs(learner.components_ @ true.T).max(axis=0) > 0.97)

    learner = estimators.PursuitDictionary(12, n_nonzero=2, random_state=0)
    first = share(learner.partial_fit(signals(400)))
    for _ in range(60):
        learner.partial_fit(signals(400))
    assert learner.n_iter_ == 61
    assert share(learner) > first + 0.2
    again = pickle.loads(pickle.dumps(learner))
    more = signals(400)
    assert np.array_equal(
        again.partial_fit(more).components_, learner.partial_fit(more).components_
    )
    before = learner.fit(more).components_
    assert not np.array_equal(learner.partial_fit(signals(400)).components_, before)
    with pytest.raises(InputError, match="method: expected online for partial_fit"):
        estimators.PursuitDictionary(4, method="mod").partial_fit(more)


# Among others


def test_a_grid_search_over_a_pipeline_in_two_processes():
    steps = make_pipeline(
        StandardScaler(), estimators.PursuitCoder(ATOMS), estimators.PursuitClassifier()
    )
    grid = {"pursuitcoder__n_nonzero": [2, 30], "pursuitclassifier__n_nonzero": [1, 4]}
    search = GridSearchCV(steps, grid, n_jobs=2, cv=3, error_score="raise")
    with pytest.warns(UserWarning, match="n_nonzero=30 is more than the atoms there are: 20"):
        search.set_params(estimator__pursuitcoder__n_nonzero=30).estimator.fit(X, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # those of the workers, and of the last fit
        search.fit(X, LABELS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.5


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name[0].isupper()])
def test_clones_and_pickles_do_what_the_first_does(name):
    model = getattr(estimators, name)()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    y = LABELS if hasattr(model, "predict_proba") else COUNTS
    model.fit(X, y)
    answer = "transform" if hasattr(model, "transform") else "predict"
    expected = getattr(model, answer)(X)
    for other in (clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(getattr(other, answer)(X), expected)


def test_frames_in_frames_out():
    frame = pd.DataFrame(X, columns=[f"band {k}" for k in range(12)], index=range(5, 125))
    coder = estimators.PursuitCoder(ATOMS, n_nonzero=2).set_output(transform="pandas").fit(frame)
    out = coder.transform(frame)
    assert list(out.columns) == [f"pursuitcoder{k}" for k in range(20)]
    assert out.index.equals(frame.index)
    learner = estimators.PursuitDictionary(5, random_state=0).set_output(transform="pandas")
    assert list(learner.fit_transform(frame).columns[:2]) == [
        "pursuitdictionary0",
        "pursuitdictionary1",
    ]
    model = estimators.PursuitRegressorCV(cv=3).fit(frame, COUNTS)
    assert list(model.feature_names_in_) == list(frame.columns)
    shown = model.plot(row=0).get_legend_handles_labels()[1]
    assert set(shown) <= set(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"band 0": "other"}))


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name[0].isupper()])
def test_float32_stays_float32(name):
    model, single = getattr(estimators, name)(), UNITS.astype(np.float32)
    labels = hasattr(model, "predict_proba")
    model.fit(single, LABELS if labels else COUNTS.astype(np.float32))
    if hasattr(model, "transform"):
        assert model.components_.dtype == model.transform(single).dtype == np.float32
        return
    assert model.coef_.dtype == np.float32
    answer = model.predict_proba(single) if labels else model.predict(single)
    assert answer.dtype == np.float32


def test_models_with_few_features_select_them_for_others():
    chosen = SelectFromModel(estimators.PursuitClassifier(n_nonzero=2), threshold=1e-12).fit(
        X, LABELS
    )
    assert chosen.get_support(indices=True).tolist() == [2, 7]


# Linear models


def test_the_squared_loss_gives_orthogonal_matching_pursuit():
    rng = np.random.default_rng(2)
    y = UNITS @ rng.standard_normal(12) + rng.standard_normal(120) + 4
    for k in (1, 3, 12):
        other = estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=k).fit(X, y)
        for data in (X, csr_array(X)):
            model = estimators.PursuitRegressor(n_nonzero=k).fit(data, y)
            np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-12)
            assert model.intercept_ == pytest.approx(other.intercept_)
    path = model.paths_[0]
    assert path.at.tolist() == list(range(13))
    np.testing.assert_allclose(path.coefs[[3]].toarray()[0], _few(y, 3), rtol=1e-6, atol=1e-12)


def _few(y, k):
    return estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=k).fit(X, y).coef_


def test_with_all_features_every_loss_has_scikit_learns_optimum():
    rng = np.random.default_rng(3)
    weights = rng.random(120)
    counts = estimators.PursuitRegressor("poisson", n_nonzero=12, l2=0.7)
    counts.fit(X, COUNTS, sample_weight=weights)
    other = PoissonRegressor(alpha=0.7 / weights.sum(), tol=1e-10, max_iter=10_000)
    middle = np.average(X, axis=0, weights=weights)
    units = (X - middle) / np.sqrt(np.average((X - middle) ** 2, axis=0, weights=weights))
    other.fit(units, COUNTS, sample_weight=weights)
    np.testing.assert_allclose(counts.predict(X), other.predict(units), rtol=1e-4)
    labels = estimators.PursuitClassifier(n_nonzero=12, l2=0.5)
    labels.fit(X, LABELS, sample_weight=weights)
    other = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)
    other.fit(units, LABELS, sample_weight=weights)
    np.testing.assert_allclose(labels.predict_proba(X), other.predict_proba(units), atol=1e-6)
    assert labels.classes_.tolist() == ["no", "yes"]
    y = UNITS[:, 1] * 3 + rng.standard_t(1.5, 120)
    other = HuberRegressor(alpha=0.0, tol=1e-10, max_iter=10_000).fit(UNITS, y)
    huber = estimators.PursuitRegressor("huber", n_nonzero=12, delta=1.35 * other.scale_)
    np.testing.assert_allclose(huber.fit(X, y).predict(X), other.predict(UNITS), atol=1e-3)


def test_several_classes_are_each_against_the_rest():
    model = estimators.PursuitClassifier(n_nonzero=2, n_jobs=1).fit(X, THREE)
    for k, label in enumerate("abc"):
        one = estimators.PursuitClassifier(n_nonzero=2).fit(X, label == THREE)
        np.testing.assert_allclose(model.coef_[k], one.coef_[0])
    share = model.predict_proba(X)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), np.array(["a", "b", "c"])[share.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), share)
    assert model.score(X, THREE) > 0.8
    chosen = estimators.PursuitClassifierCV(cv=3).fit(X, THREE)
    assert chosen.coef_.shape == (3, 12)
    assert (np.count_nonzero(chosen.coef_, axis=1) <= chosen.n_nonzero_).all()


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_units_and_offsets_of_features_change_no_prediction(convert):
    model = estimators.PursuitClassifier(n_nonzero=3)
    expected = model.fit(UNITS, LABELS).predict_proba(UNITS)
    moved = convert(UNITS * np.logspace(-6, 6, 12) + 0.5 * np.logspace(-6, 6, 12))
    np.testing.assert_allclose(model.fit(moved, LABELS).predict_proba(moved), expected, rtol=1e-6)


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_a_constant_feature_is_dropped_and_not_magnified(convert):
    rows = np.column_stack([np.full(120, 0.1), UNITS, np.full(120, 1e9 / 3)])
    y = 2 * UNITS[:, 5] + 1
    for model in (
        estimators.PursuitRegressor(n_nonzero=14),
        estimators.PursuitClassifier(n_nonzero=14),
        estimators.OrthogonalMatchingPursuit(n_nonzero_coefs=14),
    ):
        if not model.takes_sparse and convert is csr_array:
            continue
        model.fit(convert(rows), LABELS if hasattr(model, "predict_proba") else y)
        coef = np.ravel(model.coef_)
        assert coef[0] == coef[-1] == 0
        assert np.isfinite(coef).all()
    alone = estimators.PursuitRegressor().fit(convert(rows[:, :1]), y)
    assert (alone.coef_[0], alone.intercept_) == (0, pytest.approx(y.mean()))


def test_samples_of_weight_zero_do_not_count_and_of_weight_two_count_twice():
    weights = np.random.default_rng(4).integers(0, 3, 120)
    again = np.repeat(np.arange(120), weights)
    for model, y in (
        (estimators.PursuitRegressorCV("poisson", criterion="bic"), COUNTS),
        (estimators.PursuitClassifierCV(criterion="bic"), LABELS),
    ):
        first = clone(model).fit(X, y, sample_weight=weights)
        second = clone(model).fit(X[again], y[again])
        np.testing.assert_allclose(first.scores_, second.scores_)
        np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("criterion", ["cv", "bic"])
@pytest.mark.parametrize("rule", ["best", "one-se"])
def test_the_number_of_features_is_chosen(criterion, rule):
    rng = np.random.default_rng(5)
    y = 3 * UNITS[:, 5] - 2 * UNITS[:, 8] + 0.5 * rng.standard_normal(120)
    model = estimators.PursuitRegressorCV(criterion=criterion, rule=rule, max_nonzero=8)
    model.fit(X, y)
    assert {5, 8} <= set(np.flatnonzero(model.coef_))
    assert 2 <= model.n_nonzero_ == np.count_nonzero(model.coef_) <= 4
    mean = model.scores_.mean(axis=0)
    if rule == "best":
        assert model.n_nonzero_ == model.sizes_[np.argmax(mean)]
    assert model.plot().get_xlabel() == "features"


def test_one_se_takes_the_fewest_features_within_a_standard_error_of_the_best():
    rng = np.random.default_rng(7)
    weights = 0.7 ** np.arange(8)
    fewer_than_a_smaller_error_allows = 0
    for _ in range(10):
        y = UNITS[:, :8] @ weights + rng.standard_normal(120)
        model = estimators.PursuitRegressorCV(rule="one-se", max_nonzero=8, cv=8).fit(X, y)
        mean = model.scores_.mean(axis=0)
        error = model.scores_.std(axis=0, ddof=1) / np.sqrt(8)
        best = np.argmax(mean)
        assert model.n_nonzero_ == np.flatnonzero(mean >= mean[best] - error[best])[0]
        narrow = np.flatnonzero(mean >= mean[best] - error[best] / np.sqrt(8))[0]
        fewer_than_a_smaller_error_allows += model.n_nonzero_ < narrow
    assert fewer_than_a_smaller_error_allows  # the rule is told from its neighbors


def test_of_noise_no_feature_is_taken():
    model = estimators.PursuitRegressorCV(criterion="bic")
    noises = np.random.default_rng(6).standard_normal((9, 120))
    assert np.median([model.fit(X, y).n_nonzero_ for y in noises]) == 0


def test_a_scorer_of_scikit_learn_may_judge():
    own = estimators.PursuitClassifierCV(cv=3).fit(X, LABELS)
    same = estimators.PursuitClassifierCV(cv=3, scoring="neg_log_loss").fit(X, LABELS)
    np.testing.assert_allclose(same.scores_, own.scores_)
    hits = estimators.PursuitClassifierCV(cv=3, scoring="accuracy").fit(X, LABELS)
    assert ((hits.scores_ >= 0) & (hits.scores_ <= 1)).all()
    own = estimators.PursuitRegressorCV(cv=3).fit(X, COUNTS)
    same = estimators.PursuitRegressorCV(cv=3, scoring="neg_mean_squared_error").fit(X, COUNTS)
    np.testing.assert_allclose(same.scores_, 2 * own.scores_)


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="loss: expected one of squared, huber, poisson"):
        estimators.PursuitRegressor("absolute").fit(X, COUNTS)
    with pytest.raises(InputError, match="y: expected labels of two classes, got one class"):
        estimators.PursuitClassifier().fit(X, np.zeros(120))
    with pytest.raises(InputError, match="y: expected counts of at least 0"):
        estimators.PursuitRegressor("poisson").fit(X, COUNTS - 5)
    with pytest.raises(ValueError, match=r"non-zero number|not all zero"):
        estimators.PursuitRegressor().fit(X, COUNTS, sample_weight=np.zeros(120))
    with pytest.raises(InputError, match="criterion: expected one of cv, bic"):
        estimators.PursuitRegressorCV(criterion="aic").fit(X, COUNTS)


# Without scikit-learn


def test_without_scikit_learn_one_line_names_the_extra():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import pursuit, pursuit.estimators\n"
        "print(len(dir(pursuit.estimators)))\n"
        "pursuit.estimators.PursuitCoder"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert int(run.stdout) == len(estimators.__all__)
    assert "PursuitCoder needs the 'sklearn' extra: python -m pip" in run.stderr.splitlines()[-1]
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        estimators.Nothing
