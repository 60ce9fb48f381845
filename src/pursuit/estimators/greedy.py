"""Linear models with few features, chosen one at a time."""

from __future__ import annotations

from typing import Any, Self

from joblib import Parallel, delayed

from pursuit.base.validation import Array, flag, non_negative
from pursuit.estimators.door import clipped, jobs, sample_weights
from pursuit.estimators.models import PathLabels, PathModel, PathResponse
from pursuit.estimators.paths import CoefficientPath, SupportSearch

MOST = 100
"""The most features where no number is given."""


class GreedyModel(PathModel):
    """A model with a support path."""

    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose features one at a time, and fit all their coefficients after each.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Each multiplies the loss of its sample.
        """
        X, y = self._checked(X, y)
        weights = sample_weights(sample_weight, X)
        most = self._limit(X.shape[1])
        self.paths_ = self._paths(X, y, weights, most)
        self._take_size(self.paths_, self._choose(X, y, weights, most))
        return self

    def _limit(self, features: int) -> int:
        """The most features that are tried."""
        if self.n_nonzero is None:
            return min(max(1, features // 10), MOST)
        return clipped("n_nonzero", self.n_nonzero, features, "features there are")

    def _choose(self, X: Any, y: Array, weights: Array | None, most: int) -> int:
        """How many features are taken."""
        return most

    def _paths(self, X: Any, y: Array, weights: Array | None, most: int) -> list[CoefficientPath]:
        """A path for each row of `coef_`."""
        search = SupportSearch(
            self._loss(),
            non_negative("l2", self.l2),
            flag("fit_intercept", self.fit_intercept),
            flag("unit_atoms", self.unit_atoms),
        )
        sides = [side.astype(X.dtype) for side in self._sides(y)]
        crew = jobs(self.n_jobs) if len(sides) > 1 else 1
        return list(Parallel(n_jobs=crew)(delayed(search)(X, s, weights, most) for s in sides))

    def _take_size(self, paths: list[CoefficientPath], size: int) -> None:
        """Be the models with at most so many features."""
        places = [(path, path.up_to(size)) for path in paths]
        self._take(places)
        self.n_nonzero_ = int(max(path.at[k] for path, k in places))


class PursuitRegressor(GreedyModel, PathResponse):
    """A linear model of few features, chosen one at a time: orthogonal pursuit for three losses.

    It looks for a small Σ wᵢ ℓ(yᵢ, xᵢᵀβ + b) + l2/2 ‖β‖² with few β_j ≠ 0: the feature along
    which it falls fastest joins, and all coefficients are fitted anew.

    Parameters
    ----------
    loss : {"squared", "huber", "poisson"}, default="squared"
        ℓ: ½(y − u)²; the same up to \\|y − u\\| = `delta` and linear beyond; exp(u) − yu for counts
        y of mean exp(u).
    n_nonzero : int, default=None
        Features; a tenth of those there are, at least 1 and at most 100, where not given. More than
        there are is clipped with a warning.
    delta : float, default=1.35
        Where Huber's loss turns linear, in the units of y; 1.35 standard deviations of the noise
        lose 5 % where there are no outliers.
    l2 : float, default=0.0
        Shrinkage, for features at the scale where they are compared.
    fit_intercept : bool, default=True
        Whether there is a b, which is not shrunk and not counted.
    unit_atoms : bool, default=True
        Compare features at a standard deviation of one, so that their units decide nothing. False:
        as they are.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    n_nonzero_ : int
        Features in use.
    paths_ : list of one CoefficientPath
        The models with 0, 1, … features: `at`, `coefs`, `intercepts`, `plot()`.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import PursuitRegressor
    >>> X = np.random.default_rng(0).standard_normal((60, 30))
    >>> y = np.random.default_rng(1).poisson(np.exp(1 + X[:, 3] - X[:, 7]))
    >>> model = PursuitRegressor("poisson", n_nonzero=2).fit(X, y)
    >>> np.flatnonzero(model.coef_).tolist()
    [3, 7]
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        n_nonzero: int | None = None,
        delta: float = 1.35,
        l2: float = 0.0,
        fit_intercept: bool = True,
        unit_atoms: bool = True,
    ) -> None:
        self.loss = loss
        self.n_nonzero = n_nonzero
        self.delta = delta
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.unit_atoms = unit_atoms


class PursuitClassifier(GreedyModel, PathLabels):
    """Logistic regression on few features, chosen one at a time.

    For two classes it looks for a small Σ wᵢ log(1 + exp(−yᵢ(xᵢᵀβ + b))) + l2/2 ‖β‖² with few
    β_j ≠ 0; for more, for one such model of each class against the rest.

    Parameters
    ----------
    n_nonzero : int, default=None
        Features of a model; a tenth of those there are, at least 1 and at most 100, where not
        given. More than there are is clipped with a warning.
    l2 : float, default=1.0
        Shrinkage, for features at the scale where they are compared: on standardised features it is
        1/C of scikit-learn. Without any, coefficients grow without bound as soon as the chosen
        features tell the classes apart.
    fit_intercept : bool, default=True
        Whether there is a b, which is not shrunk and not counted.
    unit_atoms : bool, default=True
        Compare features at a standard deviation of one, so that their units decide nothing. False:
        as they are.
    n_jobs : int, default=None
        Classes that are worked on at a time, where there are more than two.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    n_nonzero_ : int
        Features in use, the most of any class.
    paths_ : list of CoefficientPath
        For each row of `coef_` the models with 0, 1, … features.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import PursuitClassifier
    >>> X = np.random.default_rng(0).standard_normal((60, 30))
    >>> y = np.where(X[:, 4] - X[:, 9] > 0, "up", "down")
    >>> model = PursuitClassifier(n_nonzero=2).fit(X, y)
    >>> np.flatnonzero(model.coef_[0]).tolist(), model.predict(X[:2]).tolist() == y[:2].tolist()
    ([4, 9], True)
    """

    def __init__(
        self,
        *,
        n_nonzero: int | None = None,
        l2: float = 1.0,
        fit_intercept: bool = True,
        unit_atoms: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_nonzero = n_nonzero
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.unit_atoms = unit_atoms
        self.n_jobs = n_jobs
