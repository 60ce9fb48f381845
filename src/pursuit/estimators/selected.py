"""The number of features chosen by cross-validation, or by the Bayesian information criterion."""

from __future__ import annotations

import copy
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from pursuit import plots
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, one_of, shown
from pursuit.estimators.door import clipped, folds, jobs
from pursuit.estimators.greedy import GreedyModel
from pursuit.estimators.models import PathLabels, PathResponse
from pursuit.estimators.paths import CoefficientPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRIED = 30
"""The most features that are tried where no number is given."""


class Selecting(GreedyModel):
    """The part of a model with a support path that chooses a place on it."""

    scores_: Array
    sizes_: Array

    def _limit(self, features: int) -> int:
        if self.max_nonzero is None:
            return min(features, max(5, features // 10), TRIED)
        return clipped("max_nonzero", self.max_nonzero, features, "features there are")

    def _choose(self, X: Any, y: Array, weights: Array | None, most: int) -> int:
        criterion = one_of("criterion", self.criterion, ("cv", "bic"))
        rule = one_of("rule", self.rule, ("best", "one-se"))
        self.sizes_ = np.arange(most + 1)
        if criterion == "bic":
            self.scores_ = -self._bics(X, y, weights)[None]
        else:
            self.scores_ = self._held_out(X, y, weights)
        mean, error = self.scores_.mean(axis=0), _standard_error(self.scores_)
        best = int(np.argmax(mean))
        if rule == "one-se":
            best = int(np.argmax(mean >= mean[best] - error[best]))
        return int(self.sizes_[best])

    def _bics(self, X: Any, y: Array, weights: Array | None) -> Array:
        """By size, of all classes together; weights count as so many samples."""
        loss, sides = self._loss(), [side.astype(X.dtype) for side in self._sides(y)]
        samples = float(len(y) if weights is None else weights.sum())

        def bic(size: int, decided: Array) -> float:
            """Of the models with at most so many features."""
            terms = 0.0
            for path, side, u in zip(self.paths_, sides, decided.T, strict=True):
                total = samples * float(np.average(loss.losses(side, u), weights=weights))
                terms += loss.bic(total, int(path.at[path.up_to(size)]), samples)
            return terms

        decisions = decisions_by_size(self.paths_, X, self.sizes_)
        return np.array([bic(k, u) for k, u in zip(self.sizes_.tolist(), decisions, strict=True)])

    def _held_out(self, X: Any, y: Array, weights: Array | None) -> Array:
        """Scores of each fold (rows) by size."""
        parts = folds(self.cv, X, y, classifier=is_classifier(self))
        _check_scoring(self.scoring)
        model = copy.copy(self)
        model.__dict__.pop("feature_names_in_", None)  # X is an array by now
        scores = Parallel(n_jobs=jobs(self.n_jobs))(
            delayed(_fold_scores)(model, X, y, weights, part) for part in parts
        )
        return np.array(scores)

    def plot(self, ax: Axes | None = None, *, row: int | None = None) -> Axes:
        """Scores against the number of features, with their spread over the folds; for a `row` of
        `coef_` its coefficients."""
        if row is not None:
            return super().plot(ax, row=row)
        check_is_fitted(self)
        ax = plots.scores(self.sizes_, self.scores_, self.n_nonzero_, ax=ax)
        ax.set_xlabel("features")
        ax.set_ylabel(self._score_name())
        return ax

    def _score_name(self) -> str:
        if self.criterion == "bic":
            return "−BIC"
        if self.scoring is None:
            return "−(mean loss)"
        return self.scoring.replace("_", " ") if isinstance(self.scoring, str) else "score"


def _fold_scores(
    model: Any, X: Any, y: Array, weights: Array | None, fold: tuple[Array, Array]
) -> list[float]:
    """The scores of the models with 0, 1, … features on the samples left out."""
    train, test = fold
    w, w_test = (None, None) if weights is None else (weights[train], weights[test])
    _check_fold(model, y[train], w, w_test)
    paths = model._paths(X[train], y[train], w, int(model.sizes_[-1]))
    if model.scoring is None:
        decisions = decisions_by_size(paths, X[test], model.sizes_)
        return [-model._mean_loss(y[test], decided, w_test) for decided in decisions]
    model, scorer, scores = copy.copy(model), get_scorer(model.scoring), []
    named = {} if w_test is None else {"sample_weight": w_test}
    if named and not _takes_weights(scorer):
        raise InputError("scoring: expected a scorer that takes sample_weight, as fit was given it")
    for size in model.sizes_.tolist():
        model._take_size(paths, size)
        scores.append(float(scorer(model, X[test], y[test], **named)))
    return scores


def _check_scoring(scoring: Any) -> None:
    if isinstance(scoring, str) or not (scoring is None or callable(scoring)):
        try:
            get_scorer(scoring)
        except Exception:  # also of an object that fails to say what it is
            raise InputError(
                f"scoring: expected the name of a scorer, or one, got {shown(scoring)}"
            ) from None


def _check_fold(model: Any, y: Array, w: Array | None, w_test: Array | None) -> None:
    """Whether there is something to fit to and something to score."""
    if w is not None and w_test is not None and not (w.any() and w_test.any()):
        raise InputError("sample_weight: expected folds (cv) with a weight above 0 on either side")
    if is_classifier(model):
        seen = np.unique(y if w is None else y[w > 0])
        missing = np.setdiff1d(model.classes_, seen)
        if len(missing):
            raise InputError(
                f"y: expected every class in the training part of every fold (cv), got one without "
                f"{missing[0]}"
            )


def _takes_weights(scorer: Any) -> bool:
    kinds = signature(scorer).parameters.values()
    return any(kind.name == "sample_weight" or kind.kind is kind.VAR_KEYWORD for kind in kinds)


def decisions_by_size(paths: list[CoefficientPath], X: Any, sizes: Array) -> Array:
    """xᵢᵀβ + b of the models with at most so many features: shape (sizes, samples, paths)."""
    columns = []
    for path in paths:
        decided = safe_sparse_dot(X, path.coefs.T.toarray(), dense_output=True) + path.intercepts
        columns.append(decided.T[[path.up_to(size) for size in sizes.tolist()]])
    return np.stack(columns, axis=-1)


def _standard_error(scores: Array) -> Array:
    folds = len(scores)
    if folds == 1:
        return np.zeros_like(scores[0])
    error: Array = scores.std(axis=0, ddof=1) / folds**0.5
    return error


class PursuitRegressorCV(Selecting, PathResponse):
    """`PursuitRegressor` whose number of features is chosen by cross-validation or BIC.

    Parameters
    ----------
    loss, delta, l2, fit_intercept, unit_atoms
        Those of `PursuitRegressor`.
    max_nonzero : int, default=None
        The most features that are tried; a tenth of those there are, at least 5 and at most 30,
        where not given. The model without features is tried too.
    criterion : {"cv", "bic"}, default="cv"
        Scores on samples left out; or BIC = −2 log likelihood + features · log(samples), the scale
        of the noise estimated for the squared and Huber's loss.
    cv : int, splitter or iterable, default=None
        scikit-learn's: None for five folds.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None: minus the mean loss.
    rule : {"best", "one-se"}, default="best"
        The best mean score, or the fewest features whose mean score is within a standard error of
        the best.
    n_jobs : int, default=None
        Folds that are worked on at a time.

    Attributes
    ----------
    coef_, intercept_, n_nonzero_, paths_
        Those of `PursuitRegressor`, fitted to all samples.
    sizes_ : array of shape (n_sizes,)
        0, 1, …: the numbers of features that were tried.
    scores_ : array of shape (n_folds, n_sizes)
        Of each fold; one row of −BIC.
    n_features_in_, feature_names_in_
        What was seen in `fit`.
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        max_nonzero: int | None = None,
        criterion: str = "cv",
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        delta: float = 1.35,
        l2: float = 0.0,
        fit_intercept: bool = True,
        unit_atoms: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.max_nonzero = max_nonzero
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.delta = delta
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.unit_atoms = unit_atoms
        self.n_jobs = n_jobs


class PursuitClassifierCV(Selecting, PathLabels):
    """`PursuitClassifier` whose number of features is chosen by cross-validation or BIC.

    Of several classes all have the same number of features.

    Parameters
    ----------
    l2, fit_intercept, unit_atoms
        Those of `PursuitClassifier`.
    max_nonzero, criterion, cv, rule, n_jobs
        Those of `PursuitRegressorCV`; folds are stratified.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None: minus the mean logarithmic loss.

    Attributes
    ----------
    classes_, coef_, intercept_, n_nonzero_, paths_
        Those of `PursuitClassifier`, fitted to all samples.
    sizes_, scores_
        Those of `PursuitRegressorCV`.
    n_features_in_, feature_names_in_
        What was seen in `fit`.
    """

    def __init__(
        self,
        *,
        max_nonzero: int | None = None,
        criterion: str = "cv",
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        l2: float = 1.0,
        fit_intercept: bool = True,
        unit_atoms: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.max_nonzero = max_nonzero
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.unit_atoms = unit_atoms
        self.n_jobs = n_jobs
