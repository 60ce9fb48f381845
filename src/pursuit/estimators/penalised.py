"""Linear models with a penalty: ℓ1, elastic net, non-negative; with a proof of their accuracy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.exceptions import ConvergenceWarning

from pursuit.atoms.coordinates import Coordinates
from pursuit.base.errors import InputError
from pursuit.base.scaling import power_of_two
from pursuit.base.status import Status
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import (
    Array,
    count,
    flag,
    non_negative,
    positive,
    real_array,
    share,
    shown,
)
from pursuit.estimators.door import sample_weights
from pursuit.estimators.linear import Features
from pursuit.estimators.losses import Loss
from pursuit.estimators.models import PathLabels, PathModel, PathResponse
from pursuit.estimators.paths import CoefficientPath, constant_path
from pursuit.objectives.base import Objective
from pursuit.penalties import L1, NonNegative, Penalty
from pursuit.solving.penalty_path import lambda_margin
from pursuit.solving.result import Result
from pursuit.solving.solve import solve


class Strength(NamedTuple):
    """λ of Σ|β_j| and l2 of ½Σβ_j², beside a plain sum of losses."""

    l1: float
    l2: float


def minimise(
    f: Objective, l1: float, nonnegative: bool, start: Array, tol: float, max_iter: int
) -> Result:
    """The minimiser of f + l1 Σ|β_j|, the intercept left free, by the method that suits.

    It ends when the slope is `tol` times that at zero, wherever it starts.
    """
    penalty = L1(l1).joined(NonNegative()) if nonnegative else L1(l1)
    n = f.shape[0]
    free = penalty.freed(np.arange(n - f.intercept, n), n)
    first, here = _steepness(f, free, np.zeros_like(start)), _steepness(f, free, start)
    return solve(
        f,
        Coordinates(n),
        penalty=penalty,
        coef0=start,
        tol=min(1.0, tol * first / here) if here > 0 else 1.0,
        max_iter=max_iter,
        progress=False,
        threads=1,
    )


def _steepness(f: Objective, penalty: Penalty, w: Array) -> float:
    """The largest distance of −∇f from the subdifferential of the penalty."""
    return float(np.abs(penalty.subgradient(f.gradient(w), w)).max())


@dataclass(frozen=True)
class PenaltySearch:
    """The models of one response, or of one class against the rest, along a path of strengths."""

    loss: Loss
    intercept: bool
    positive: bool
    tol: float
    max_iter: int

    def __call__(
        self,
        features: Features,
        y: Array,
        weights: Array | None,
        strengths: list[Strength],
        start: Array | None = None,
    ) -> tuple[CoefficientPath, list[int]]:
        """A model for each strength, begun at the one before; and the iterations of each."""
        if not features.live.size:
            b = self.loss.constant(y, weights) if self.intercept else 0.0
            return constant_path(b, features, len(strengths)), [1] * len(strengths)
        X = features.scaled(unit=False)
        constant = self._constant(features, y, weights)
        zero_from = self.top(features, y, weights) * (1 - lambda_margin(X.dtype))
        x = constant if start is None else start
        tol = max(self.tol, tolerances(X.dtype).gradient)
        found, gaps, iterations = [], [], []
        for strength in strengths:
            f = self.loss.make(X, y, strength.l2, weights, self.intercept)
            if strength.l1 >= zero_from:
                x = constant  # the solution, from which rounding leads no coefficient away
            run = minimise(f, strength.l1, self.positive, x, tol, self.max_iter)
            _tell(run)
            x = run.x
            found.append(csr_array(x[None]))  # of many features few are in use
            gaps.append(run.gap)
            iterations.append(max(1, run.iterations))
        return self._as_given(vstack(found, "csr"), np.array(gaps), features), iterations

    def top(self, features: Features, y: Array, weights: Array | None) -> float:
        """The least λ at which every coefficient is zero."""
        if not features.live.size:
            return 0.0
        f = self.loss.make(features.scaled(unit=False), y, 0.0, weights, self.intercept)
        pull = -f.gradient(self._constant(features, y, weights))[: len(features.live)]
        return float(pull.max() if self.positive else np.abs(pull).max())

    def _constant(self, features: Features, y: Array, weights: Array | None) -> Array:
        """Return the model with no coefficient but the best intercept, as a run begins with it."""
        x = np.zeros(len(features.live) + self.intercept, features.X.dtype)
        if self.intercept:
            x[-1] = self.loss.constant(y, weights)
        return x

    def start(self, features: Features, coef: Array, b: float) -> Array:
        """Coefficients of a model that was fitted before, as a run begins with them."""
        b = b + float(coef @ features.middle)
        return np.array([*coef[features.live], *[b] * self.intercept], features.X.dtype)

    def _as_given(self, found: Any, gaps: Array, features: Features) -> CoefficientPath:
        """Models as they were found, a row each, for the features as they came."""
        n, X, models = len(features.live), features.X, found.shape[0]
        live = found[:, :n].tocoo()
        places = live.row, features.live[live.col]
        coefs = csr_array((live.data, places), shape=(models, X.shape[1]), dtype=X.dtype)
        b = found[:, [n]].toarray()[:, 0] if self.intercept else np.zeros(models, X.dtype)
        b = (b - coefs @ features.middle).astype(X.dtype)
        return CoefficientPath("", np.arange(models), coefs, b, features.scale, gaps)


def _tell(run: Result) -> None:
    if run.status not in (Status.CONVERGED, Status.STALLED):
        warnings.warn(
            f"{run.status.name}: {run.message}; the objective is within {run.gap:.3g} of its "
            "minimum: a larger max_iter or tol may help",
            ConvergenceWarning,
            stacklevel=3,
        )


class PenalisedModel(PathModel):
    """What penalised models have in common.

    A subclass says what its loss is, what y is for each row of `coef_`, and what its parameter
    means beside a plain sum of losses.
    """

    dual_gap_: Any
    n_iter_: Any
    strength: str
    """The name of the parameter."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the losses and the penalty.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Each multiplies the loss of its sample.
        """
        value = positive(self.strength, getattr(self, self.strength))
        return self._fit(X, y, sample_weight, np.array([value]))

    def _fit(self, X: Any, y: Any, sample_weight: Any, values: Array | None, **grid: Any) -> Self:
        """Fit at each value of the parameter, and be the last model."""
        ratio = _share("l1_ratio", self.l1_ratio)
        search = PenaltySearch(
            self._loss(),
            flag("fit_intercept", self.fit_intercept),
            flag("positive", self.positive),
            positive("tol", self.tol),
            count("max_iter", self.max_iter, minimum=1),
        )
        X, y = self._checked(X, y)
        weights = sample_weights(sample_weight, X)
        # The intercept is a column of ones: the others are brought next to it, so that one slope
        # stands for all in whatever unit the features are.
        power = power_of_two(X)
        features = Features.of(X * X.dtype.type(1 / power), search.intercept, weights)
        sides = [side.astype(X.dtype) for side in self._sides(y)]
        total = float(X.shape[0] if weights is None else weights.sum())
        if values is None:
            tops = [search.top(features, side, weights) for side in sides]
            top = max(tops) * power * (1 + lambda_margin(X.dtype))
            values = self._grid(top, ratio, total, **grid)
        lambdas = [self._lambda(value, total) for value in values.tolist()]
        strengths = [
            Strength(ratio * each / power, (1 - ratio) * each / power**2) for each in lambdas
        ]
        starts = self._starts(search, features, len(sides), power)
        found = [
            search(features, side, weights, strengths, start)
            for side, start in zip(sides, starts, strict=True)
        ]
        self.paths_ = [
            replace(
                path,
                along=self.strength,
                at=values,
                coefs=path.coefs * X.dtype.type(1 / power),
                scale=path.scale * X.dtype.type(power),
            )
            for path, _ in found
        ]
        self._take([(path, len(path) - 1) for path in self.paths_])
        self._report(np.array([steps[-1] for _, steps in found]), total)
        return self

    def _grid(self, top: float, ratio: float, total: float, points: int, eps: float) -> Array:
        """Values of the parameter from the one that leaves no coefficient to `eps` of it in λ."""
        name = f"{self.strength}s"
        if not ratio:
            raise InputError(f"{name}: expected values, for without an ℓ1 norm no λ is the largest")
        if not top > 0:
            raise InputError(f"{name}: expected values, for no coefficient is in use at any λ")
        points, eps = count(f"n_{name}", points, minimum=1), share("eps", eps)
        lambdas = np.geomspace(top / ratio, eps * top / ratio, points)
        return np.array([self._value(each, total) for each in lambdas.tolist()])

    def _starts(
        self, search: PenaltySearch, features: Features, rows: int, power: float
    ) -> list[Array | None]:
        """Where to begin: at what was fitted before, if `warm_start` says so and it fits."""
        known = np.atleast_2d(getattr(self, "coef_", np.zeros((0, 0))))
        if not flag("warm_start", self.warm_start) or known.shape != (rows, features.X.shape[1]):
            return [None] * rows
        b = np.atleast_1d(self.intercept_).tolist()
        return [search.start(features, coef * power, b[k]) for k, coef in enumerate(known)]

    def _lambda(self, value: float, total: float) -> float:
        """λ beside a plain sum of losses, `total` being Σwᵢ."""
        raise NotImplementedError

    def _value(self, strength: float, total: float) -> float:
        """The parameter that stands for a λ."""
        raise NotImplementedError

    def _report(self, iterations: Array, total: float) -> None:
        """Set `n_iter_` and `dual_gap_`, those of the last model."""
        raise NotImplementedError

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse array."""
        return csr_array(np.atleast_2d(self.coef_))


def _share(name: str, value: object) -> float:
    share = non_negative(name, value)
    if share > 1:
        raise InputError(f"{name}: expected a number from 0 to 1, got {shown(value)}")
    return share


def _values(name: str, values: object) -> Array | None:
    if values is None:
        return None
    array = np.atleast_1d(real_array(name, values, minimum=0)).astype(np.float64)
    if array.ndim > 1 or array.min() <= 0:
        raise InputError(f"{name}: expected numbers above 0, got {shown(values)}")
    return np.sort(array)


class PenalisedRegressor(PenalisedModel, PathResponse):
    """A linear model with an ℓ1 or elastic-net penalty, by coordinate descent on working sets.

    It minimises, with W = Σwᵢ (the number of samples where there are no weights),

        (1/W) Σ wᵢ ℓ(yᵢ, xᵢᵀβ + b) + alpha (l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖²):

    scikit-learn's `Lasso` and `ElasticNet` for the squared loss, and its `PoissonRegressor` with
    `l1_ratio=0`. In `pursuit.solve`, whose sums are plain, λ = W · alpha · l1_ratio and
    l2 = W · alpha · (1 − l1_ratio).

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the penalty.
    l1_ratio : float, default=1.0
        1: ℓ1 alone, the lasso; 0: ℓ2 alone.
    loss : {"squared", "huber", "poisson"}, default="squared"
        ℓ; see `PursuitRegressor`.
    delta : float, default=1.35
        Where Huber's loss turns linear, in the units of y.
    fit_intercept : bool, default=True
        Whether there is a b, which no penalty touches.
    positive : bool, default=False
        Coefficients of at least zero.
    tol : float, default=1e-10
        Stop when the largest distance of a slope from the subdifferential of the penalty is this
        share of what it is at zero; in float32 at least 1e-5.
    max_iter : int, default=1000
        The most outer iterations.
    warm_start : bool, default=False
        Begin at what was fitted before.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    sparse_coef_ : sparse array of shape (1, n_features)
    dual_gap_ : float
        A proved bound on how far the objective is above its minimum, in its units as above.
    n_iter_ : int
    paths_ : list of one CoefficientPath
        Of the last `fit` (one model) or `fit_path`.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import PenalisedRegressor
    >>> X = np.random.default_rng(0).standard_normal((60, 30))
    >>> model = PenalisedRegressor(alpha=0.1).fit(X, 2 * X[:, 3] - X[:, 7])
    >>> np.flatnonzero(model.coef_).tolist(), bool(model.dual_gap_ < 1e-9)
    ([3, 7], True)
    """

    strength = "alpha"

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 1.0,
        loss: str = "squared",
        delta: float = 1.35,
        fit_intercept: bool = True,
        positive: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.loss = loss
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit_path(
        self,
        X: Any,
        y: Any,
        alphas: Any = None,
        *,
        n_alphas: int = 100,
        eps: float = 1e-3,
        sample_weight: Any = None,
    ) -> Self:
        """Fit at each alpha, from the largest to the smallest, begun at the one before.

        `alphas`: `n_alphas` of them, evenly spaced in their logarithm, from the least at which no
        coefficient is in use to `eps` times it, where none are given. The models are
        ``paths_[0]``, `plot()` draws them, and the estimator is the last of them.
        """
        values = _values("alphas", alphas)
        falling = None if values is None else values[::-1]
        return self._fit(X, y, sample_weight, falling, points=n_alphas, eps=eps)

    def _lambda(self, value: float, total: float) -> float:
        return value * total

    def _value(self, strength: float, total: float) -> float:
        return strength / total

    def _report(self, iterations: Array, total: float) -> None:
        self.n_iter_ = int(iterations[0])
        self.dual_gap_ = float(self.paths_[0].gaps[-1] / total)


class PenalisedClassifier(PenalisedModel, PathLabels):
    """Logistic regression with an ℓ1 or elastic-net penalty, by coordinate descent on working sets.

    For two classes, y = ±1, it minimises

        C Σ wᵢ log(1 + exp(−yᵢ(xᵢᵀβ + b))) + l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖²,

    as scikit-learn's `LogisticRegression`; of more classes, each against the rest. In
    `pursuit.solve` λ = l1_ratio/C and l2 = (1 − l1_ratio)/C.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the losses: a large one is a weak penalty.
    l1_ratio : float, default=1.0
        1: ℓ1 alone; 0: ℓ2 alone.
    fit_intercept, positive, warm_start
        Those of `PenalisedRegressor`.
    tol : float, default=1e-10
        Stop when the largest distance of a slope from the subdifferential of the penalty is this
        share of what it is at zero; in float32 at least 1e-5.
    max_iter : int, default=1000
        The most outer iterations.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    sparse_coef_ : sparse array of the shape of `coef_`
    dual_gap_ : array of shape (1,) or (n_classes,)
        Proved bounds on how far the objectives, divided by C, are above their minima.
    n_iter_ : array of shape (1,) or (n_classes,)
    paths_ : list of CoefficientPath
        For each row of `coef_`, of the last `fit` (one model) or `fit_path`.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import PenalisedClassifier
    >>> X = np.random.default_rng(0).standard_normal((60, 30))
    >>> model = PenalisedClassifier(C=0.1).fit(X, X[:, 4] > 0)
    >>> np.flatnonzero(model.coef_[0]).tolist()
    [4]
    """

    strength = "C"

    def __init__(
        self,
        C: float = 1.0,
        *,
        l1_ratio: float = 1.0,
        fit_intercept: bool = True,
        positive: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit_path(
        self,
        X: Any,
        y: Any,
        Cs: Any = None,
        *,
        n_Cs: int = 100,
        eps: float = 1e-3,
        sample_weight: Any = None,
    ) -> Self:
        """Fit at each C, from the smallest to the largest, begun at the one before.

        `Cs`: `n_Cs` of them, evenly spaced in their logarithm, from the largest at which no
        coefficient is in use to 1/`eps` times it, where none are given. The models are `paths_`,
        `plot(row=k)` draws those of a class, and the estimator is the last of them.
        """
        return self._fit(X, y, sample_weight, _values("Cs", Cs), points=n_Cs, eps=eps)

    def _lambda(self, value: float, total: float) -> float:
        return 1 / value

    def _value(self, strength: float, total: float) -> float:
        return 1 / strength

    def _report(self, iterations: Array, total: float) -> None:
        self.n_iter_ = iterations
        self.dual_gap_ = np.array([path.gaps[-1] for path in self.paths_])
