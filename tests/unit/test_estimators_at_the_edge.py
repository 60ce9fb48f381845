"""Estimators where scales, folds and arguments are odd."""

import gc
import weakref

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pursuit import InputError
from pursuit.estimators import (
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PenalisedRegressor,
    PursuitClassifierCV,
    PursuitCoder,
    PursuitDictionary,
    PursuitRegressor,
    PursuitRegressorCV,
    orthogonal_mp,
    orthogonal_mp_gram,
    penalised,
)
from pursuit.estimators.linear import Features

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 6))
y = X[:, 2] - 2 * X[:, 5] + 3


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_features_of_any_scale_are_measured(form, scale):
    plain, scaled = Features.of(form(X), True), Features.of(form(X * scale), True)
    assert np.allclose(scaled.scale / scale, plain.scale, rtol=1e-12)
    assert scaled.live.tolist() == list(range(6))


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_units_far_from_one_change_no_model(scale):
    for model in (PursuitRegressor(n_nonzero=2), OrthogonalMatchingPursuit(n_nonzero_coefs=2)):
        model.fit(X * scale, y)
        assert np.allclose(model.coef_ * scale, [0, 0, 1, 0, 0, -2], atol=1e-9)
        assert np.isclose(model.intercept_, 3)


def test_folds_without_weight_or_without_a_class_are_told_in_a_sentence():
    half = np.repeat([0.0, 1.0], 20)
    with pytest.raises(InputError, match="sample_weight: expected folds"):
        PursuitRegressorCV(cv=2).fit(X, y, sample_weight=half)
    labels = np.array(["a", "b"] * 10 + ["c"] * 20)
    with pytest.raises(InputError, match="one without c"):
        PursuitClassifierCV(cv=[(np.arange(20), np.arange(20, 40))]).fit(X, labels)


def test_weights_need_a_scorer_that_takes_them():
    def plain(model, X, y):
        return model.score(X, y)

    assert PursuitRegressorCV(cv=2, scoring=plain).fit(X, y).n_nonzero_ == 2
    with pytest.raises(InputError, match="scoring: expected a scorer that takes sample_weight"):
        PursuitRegressorCV(cv=2, scoring=plain).fit(X, y, sample_weight=np.ones(40))
    chosen = PursuitRegressorCV(cv=2, scoring="r2").fit(X, y, sample_weight=np.ones(40))
    assert chosen.n_nonzero_ == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_alphas": 0}, "n_alphas: expected an integer"),
        ({"n_alphas": 2.5}, "n_alphas: expected an integer"),
        ({"eps": 0}, "eps: expected"),
        ({"eps": 2}, "eps: expected"),
        ({"eps": "a"}, "eps: expected"),
    ],
)
def test_a_path_says_what_it_expects(options, said):
    with pytest.raises(InputError, match=said):
        PenalisedRegressor().fit_path(X, y, **options)


def test_a_path_without_any_coefficient_asks_for_its_values():
    for columns, model in ((np.ones((40, 2)), {}), (-X[:, 2:3], {"positive": True})):
        with pytest.raises(InputError, match="no coefficient is in use at any λ"):
            PenalisedRegressor(**model).fit_path(columns, X[:, 2])


def test_plots_of_what_is_not_fitted_or_not_there_are_refused():
    for model in (PursuitRegressor(), PursuitRegressorCV(), OrthogonalMatchingPursuitCV()):
        with pytest.raises(NotFittedError):
            model.plot()
    with pytest.raises(InputError, match="row: expected"):
        PursuitRegressor().fit(X, y).plot(row=3)


def test_an_argument_is_called_by_its_own_name():
    with pytest.raises(InputError, match="max_steps"):
        PursuitCoder(np.eye(6), max_steps=0).fit(X)
    for model in (PursuitCoder(np.eye(6)), PursuitDictionary(4)):
        for name, value in (
            ("n_jobs", 0),
            ("n_jobs", "two"),
            ("positive", 1),
            ("sparse_output", 0),
        ):
            with pytest.raises(InputError, match=f"{name}: expected"):
                clone(model).set_params(**{name: value}).fit(X)
    for model in (OrthogonalMatchingPursuit(), OrthogonalMatchingPursuitCV()):
        with pytest.raises(InputError, match="fit_intercept: expected True or False"):
            model.set_params(fit_intercept="no").fit(X, y)
    with pytest.raises(InputError, match="warm_start: expected True or False"):
        PenalisedRegressor(warm_start="no").fit(X, y)


def test_first_atoms_are_called_by_their_own_name_and_counted():
    start = np.eye(6)[:4]
    assert PursuitDictionary(dict_init=start).fit(X).components_.shape == (4, 6)
    assert PursuitDictionary(dict_init=start).partial_fit(X).components_.shape == (4, 6)
    with pytest.raises(InputError, match=r"dict_init: expected shape \(3, 6\), got \(4, 6\)"):
        PursuitDictionary(3, dict_init=start).fit(X)
    with pytest.raises(InputError, match=r"dict_init: expected an entry other than zero .* in 2"):
        PursuitDictionary(dict_init=start * [[1], [1], [0], [1]]).fit(X)
    with pytest.raises(InputError, match=r"dict_init: expected a positive entry .* in 0"):
        PursuitDictionary(dict_init=-start, positive=True).fit(X)


def test_a_scorer_without_a_name_is_plotted_as_a_score():
    model = PursuitRegressorCV(scoring=lambda model, X, y: model.score(X, y)).fit(X, y)
    assert model.plot().get_ylabel() == "score"


def test_one_model_is_seen_in_its_plot():
    ax = PenalisedRegressor(0.1).fit(X, y).plot()
    named = [line for line in ax.get_lines() if str(line.get_label()).startswith("feature")]
    assert {line.get_label() for line in named} == {"feature 2", "feature 5"}
    assert all(line.get_marker() != "None" for line in named)


def test_a_path_keeps_no_run_but_the_last(monkeypatch):
    """Of many features few are in use: what is dense is held for one model at a time."""
    minimise, runs, held = penalised.minimise, [], []

    def watched(*arguments):
        gc.collect()
        held.append(sum(run() is not None for run in runs))
        result = minimise(*arguments)
        runs.append(weakref.ref(result))
        return result

    monkeypatch.setattr(penalised, "minimise", watched)
    PenalisedRegressor().fit_path(X, y, n_alphas=6)
    assert len(held) == 6
    assert max(held) <= 1


def masked(array):
    hidden = np.ma.array(array)
    hidden[..., 0] = np.ma.masked
    return hidden


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("X", lambda: PursuitRegressor().fit(masked(X), y)),
        ("y", lambda: PursuitRegressor().fit(X, masked(y))),
        ("sample_weight", lambda: PursuitRegressor().fit(X, y, masked(np.ones(40)))),
        ("X", lambda: PursuitRegressor().fit(X, y).predict(masked(X))),
        ("X", lambda: PursuitDictionary(3).fit(masked(X))),
        ("dictionary", lambda: PursuitCoder(masked(X)).fit(X)),
        ("X", lambda: PursuitCoder(X).fit(X).inverse_transform(masked(np.eye(40)))),
        ("X", lambda: orthogonal_mp(masked(X), y)),
        ("y", lambda: orthogonal_mp(X, masked(y))),
        ("Gram", lambda: orthogonal_mp_gram(masked(X.T @ X), X.T @ y)),
        ("norms_squared", lambda: orthogonal_mp_gram(X.T @ X, X.T @ y, tol=1.0,
                                                     norms_squared=masked(np.ones(1)))),
    ],
)  # fmt: skip
def test_what_is_masked_is_never_read(name, call):
    with pytest.raises(InputError, match=f"^{name}: expected a value everywhere"):
        call()
