"""Linear models that a path of models ends in: of a response, and of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit.base.errors import InputError
from pursuit.base.validation import Array, positive
from pursuit.estimators.linear import LabelPrediction, LinearPrediction, log_probabilities
from pursuit.estimators.losses import LABELS, Loss, response
from pursuit.estimators.paths import CoefficientPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PathModel(LinearPrediction, BaseEstimator):
    """What these models have in common.

    A subclass says what its loss is, and what y is for each row of `coef_`.
    """

    takes_sparse = True
    paths_: list[CoefficientPath]

    def _checked(self, X: Any, y: Any) -> tuple[Any, Array]:
        return self._pairs(X, y)

    def _sides(self, y: Array) -> list[Array]:
        return [y]

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _take(self, places: list[tuple[CoefficientPath, int]]) -> None:
        """Be a model of each path."""
        self.coef_ = np.concatenate([path.coefs[[k]].toarray() for path, k in places])
        self.intercept_ = np.array([path.intercepts[k] for path, k in places], self.coef_.dtype)

    def plot(self, ax: Axes | None = None, *, row: int = 0) -> Axes:
        """Coefficients along the path of a row of `coef_`."""
        check_is_fitted(self)
        if not -len(self.paths_) <= row < len(self.paths_):
            raise InputError(f"row: expected a row of coef_, below {len(self.paths_)}, got {row}")
        return self.paths_[row].plot(ax, names=getattr(self, "feature_names_in_", None))


class PathResponse(RegressorMixin, PathModel):
    """A model of a response, by a loss with a name."""

    loss: str
    delta: float

    def _loss(self) -> Loss:
        return response(self.loss, positive("delta", self.delta))

    def _take(self, places: list[tuple[CoefficientPath, int]]) -> None:
        super()._take(places)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]

    def predict(self, X: Any) -> Array:
        """The response that is expected: Xw + b, and exp(Xw + b) for Poisson's loss."""
        return self._loss().mean(self._decide(X))

    def _mean_loss(self, y: Array, decided: Array, weights: Array | None) -> float:
        return float(np.average(self._loss().losses(y, decided[:, 0]), weights=weights))


class PathLabels(LabelPrediction, ClassifierMixin, PathModel):
    """A model of labels, by the logistic loss."""

    takes_sparse = True

    def _checked(self, X: Any, y: Any) -> tuple[Any, Array]:
        return self._labelled(X, y)

    def _loss(self) -> Loss:
        return LABELS

    def _mean_loss(self, y: Array, decided: Array, weights: Array | None) -> float:
        """The mean of −log of the probability of the true class."""
        true = np.searchsorted(self.classes_, y)
        losses = -log_probabilities(decided)[np.arange(len(y)), true]
        return float(np.average(losses, weights=weights))
