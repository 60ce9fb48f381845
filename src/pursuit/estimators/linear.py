"""What linear models share: columns at one scale, and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets

from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.estimators.door import Checked, checking


@dataclass(frozen=True)
class Features:
    """The columns of X, how they are centred, and how large they are then.

    Attributes
    ----------
    X
        Dense or sparse, as given; a sparse one is never centred.
    middle
        What is taken off each column: its mean if it is centred, else zero.
    scale
        The root mean square of each column about its mean; about zero without an intercept.
    live
        The columns that are not constant (without an intercept: not zero). The others would be
        nothing but rounding, which unit scaling would make large.
    """

    X: Any
    middle: Array
    scale: Array
    live: Array

    @staticmethod
    def of(X: Any, intercept: bool, weights: Array | None = None) -> Features:
        """Measure the columns, samples counting by their weights."""
        mean, size, spread = _moments(X, weights)
        sizes = spread if intercept else size
        live = np.flatnonzero(sizes > tolerances(X.dtype).equal * size)
        centred = intercept and not hasattr(X, "tocsc")
        middle = mean if centred else np.zeros_like(mean)
        return Features(X, middle.astype(X.dtype), sizes.astype(X.dtype), live)

    def centred(self) -> Array:
        """The live columns of a dense X, centred."""
        columns: Array = (self.X - self.middle)[:, self.live]
        return columns

    def scaled(self, unit: bool) -> Any:
        """The live columns, centred if dense, and divided by their scale if `unit`."""
        scale = self.scale[self.live]
        if not hasattr(self.X, "tocsc"):
            return self.centred() / scale if unit else self.centred()
        X = self.X.tocsc()[:, self.live]
        return (X.multiply(1 / scale[None, :]).tocsc() if unit else X).astype(self.X.dtype)


def _moments(X: Any, weights: Array | None) -> tuple[Array, Array, Array]:
    """Return the mean of each column, its root mean square and its standard deviation."""
    is_sparse = hasattr(X, "tocsc")
    double = (X.tocsc() if is_sparse else X).astype(np.float64, copy=False)
    share = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
    measure = _sparse_moments if is_sparse else _dense_moments
    mean, square, spread = measure(double, share.astype(np.float64))
    return mean, square**0.5, spread**0.5


def _dense_moments(X: Array, share: Array) -> tuple[Array, Array, Array]:
    """Mean, mean square and mean square about the mean."""
    mean = share @ X
    mean = mean + share @ (X - mean)  # as exact as a constant column is
    return mean, share @ np.square(X), share @ np.square(X - mean)


def _sparse_moments(X: Any, share: Array) -> tuple[Array, Array, Array]:
    """The same of a sparse X in columns."""
    mean, square = X.T @ share, X.multiply(X).T @ share
    about, stored = X.copy(), X.copy()
    stored.data = np.ones_like(stored.data)
    full = np.diff(about.indptr) == X.shape[0]
    absent = np.where(full, 0.0, np.maximum(1 - stored.T @ share, 0))
    about.data = X.data - np.repeat(mean, np.diff(about.indptr))
    mean = mean + about.T @ share - mean * absent  # as exact as a constant column is
    # Σ over stored entries of (x − m)², and m² for every entry that is not stored.
    about.data = (X.data - np.repeat(mean, np.diff(about.indptr))) ** 2
    return mean, square, about.T @ share + mean**2 * absent


class LinearPrediction(Checked):
    """Predictions from Xw + b."""

    takes_sparse = False
    coef_: Array
    intercept_: Any

    def _decide(self, X: Any) -> Array:
        X = self._rows(X, reset=False)
        decided: Array = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return decided

    def predict(self, X: Any) -> Array:
        """Xw + b for each row of X."""
        return self._decide(X)


class LabelPrediction(LinearPrediction):
    """Labels from Xw + b: one w for two classes, else one for each class against the rest."""

    classes_: Array

    def _labelled(self, X: Any, y: Any) -> tuple[Any, Array]:
        """X and the labels; sets `classes_`."""
        X, y = self._pairs(X, y, numeric=False)
        with checking("y"):
            check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InputError(f"y: expected labels of two classes, got one class: {y[0]}")
        return X, y

    def _sides(self, y: Array) -> list[Array]:
        """Labels of −1 and 1 for each row of `coef_`."""
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [np.where(y == label, 1.0, -1.0) for label in positives]

    def decision_function(self, X: Any) -> Array:
        """Xw + b: for two classes above zero where the second is the likelier."""
        decided = self._decide(X)
        return decided[:, 0] if decided.shape[1] == 1 else decided

    def predict(self, X: Any) -> Array:
        """The likeliest class of each row of X."""
        decided = self._decide(X)
        one = decided.shape[1] == 1
        places = (decided[:, 0] > 0).astype(int) if one else decided.argmax(axis=1)
        labels: Array = self.classes_[places]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class; of several classes, each against the rest, then scaled to
        a sum of one."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of `predict_proba`, which is finite where a probability rounds to zero."""
        return log_probabilities(self._decide(X))


def log_probabilities(decided: Array) -> Array:
    """Return the logarithm of the probability of each class, a column of `decided` or two."""
    if decided.shape[1] == 1:
        return np.column_stack([log_expit(-decided), log_expit(decided)])
    each = log_expit(decided)
    normalized: Array = each - logsumexp(each, axis=1, keepdims=True)
    return normalized
