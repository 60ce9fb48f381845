"""scikit-learn's orthogonal matching pursuit, by name and by number, on the engine of `encode`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import qr, solve_triangular
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit import plots
from pursuit.atoms.cone import Cone
from pursuit.base.validation import Array, flag, non_negative
from pursuit.encoding import Codes, encode
from pursuit.estimators.door import clipped, folds, jobs
from pursuit.estimators.linear import Features, LinearPrediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PursuitLimits(NamedTuple):
    """When a pursuit ends, and over what it runs.

    `tol` is a squared residual norm, and goes before `n_nonzero`, as in scikit-learn.
    """

    n_nonzero: int | None
    tol: float | None
    unit_atoms: bool = True
    positive: bool = False

    @staticmethod
    def checked(
        n_nonzero: int | None, tol: float | None, features: int, unit_atoms: bool, positive: bool
    ) -> PursuitLimits:
        """A tenth of the features where nothing is said, and no more than there are."""
        flags = flag("unit_atoms", unit_atoms), flag("positive", positive)
        if tol is not None:
            return PursuitLimits(None, non_negative("tol", tol), *flags)
        if n_nonzero is None:
            return PursuitLimits(max(1, features // 10), None, *flags)
        k = clipped("n_nonzero_coefs", n_nonzero, features, "features there are")
        return PursuitLimits(k, None, *flags)

    def fit(self, columns: Array, targets: Array) -> tuple[Array, list[int]]:
        """The coefficients of targets (rows) over the columns of a matrix, and the steps taken.

        A target whose norm is within `tol` before any step gets one coefficient, as it does in
        scikit-learn: it is made longer than `tol` for the time of the pursuit, which the lengths of
        targets do not matter to.
        """
        longer = np.ones(len(targets), targets.dtype)
        if self.tol is not None:
            norms = np.linalg.norm(targets, axis=1)
            short = (norms <= self.tol**0.5) & (norms > 0)
            longer[short] = (1 + 1e-6) * self.tol**0.5 / norms[short]
        codes = self.pursue(columns, targets * longer[:, None])
        return codes.toarray() / longer[:, None], codes.iterations.tolist()

    def pursue(self, columns: Array, targets: Array) -> Codes:
        """The codes of targets (rows) over the columns of a matrix."""
        rows = np.ascontiguousarray(columns.T)
        stop = {"n_nonzero": self.n_nonzero} if self.tol is None else {"atol": self.tol**0.5}
        return encode(
            np.ascontiguousarray(targets),
            Cone(rows) if self.positive else rows,
            unit_atoms=self.unit_atoms,
            threads=1,
            progress=False,
            **stop,
        )


def coefficient_path(columns: Array, target: Array, limits: PursuitLimits) -> Array:
    """The coefficients after each atom, shape (steps, columns).

    Without a sign to keep, those after t atoms are the least-squares fit over the first t, which
    one QR factorisation gives for every t. Over a cone atoms may leave, and each number of atoms is
    a pursuit of its own.
    """
    code = limits.pursue(columns, target[None])[0]
    path = np.zeros((len(code.indices), columns.shape[1]), columns.dtype)
    if limits.positive:
        for t in range(len(path)):
            few = limits._replace(n_nonzero=t + 1, tol=None)
            path[t] = few.fit(columns, target[None])[0]
        return path
    Q, R = qr(columns[:, code.indices], mode="economic", check_finite=False)
    seen = Q.T @ target
    for t in range(1, len(path) + 1):
        path[t - 1, code.indices[:t]] = solve_triangular(R[:t, :t], seen[:t], check_finite=False)
    return path


class OrthogonalMatchingPursuit(LinearPrediction, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Orthogonal matching pursuit with scikit-learn's parameters and attributes.

    It looks for a small ‖y − Xw‖² with few w_j ≠ 0, one feature at a time. What differs from
    `sklearn.linear_model.OrthogonalMatchingPursuit`: by default columns are compared at unit norm,
    so that the units of a feature decide nothing; dependent columns do not end a run; more
    coefficients than features are clipped with a warning; columns that are constant get no
    coefficient.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        The most non-zero coefficients of a target, ignored if `tol` is given. Where neither is, a
        tenth of the features, at least 1.
    tol : float, default=None
        The largest **squared** norm of the residual.
    fit_intercept : bool, default=True
        Whether X and y are centred.
    precompute : bool or "auto", default="auto"
        Taken for the sake of scikit-learn's code: whether a Gram matrix pays is decided by its
        cost.
    unit_atoms : bool, default=True
        Compare columns at unit norm. False: as they are, and the choices are scikit-learn's.
    positive : bool, default=False
        Coefficients of at least zero.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    n_iter_ : int or list of int
        Steps for each target.
    n_nonzero_coefs_ : int or None
        The limit in use, None where `tol` is.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.estimators import OrthogonalMatchingPursuit
    >>> X = np.random.default_rng(0).standard_normal((50, 20)) * np.logspace(-3, 3, 20)
    >>> model = OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, X[:, 1] - 2 * X[:, 18] + 5)
    >>> np.flatnonzero(model.coef_).tolist(), round(float(model.intercept_), 6)
    ([1, 18], 5.0)
    """

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        tol: float | None = None,
        fit_intercept: bool = True,
        precompute: bool | str = "auto",
        unit_atoms: bool = True,
        positive: bool = False,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.unit_atoms = unit_atoms
        self.positive = positive

    def fit(self, X: Any, y: Any) -> Self:
        """Pursue each target, a column of y."""
        X, y = self._pairs(X, y, multi_output=True)
        limits = PursuitLimits.checked(
            self.n_nonzero_coefs, self.tol, X.shape[1], self.unit_atoms, self.positive
        )
        intercept = flag("fit_intercept", self.fit_intercept)
        columns = Features.of(X, intercept)
        targets = y.reshape(len(y), -1).T
        middle = targets.mean(axis=1) if intercept else np.zeros(len(targets), X.dtype)
        coef = np.zeros((len(targets), X.shape[1]), X.dtype)
        steps = [0] * len(targets)
        if columns.live.size:
            found = limits.fit(columns.centred(), targets - middle[:, None])
            coef[:, columns.live], steps = found
        self.n_nonzero_coefs_ = limits.n_nonzero
        b, one = middle - coef @ columns.middle, len(targets) == 1
        self.coef_ = coef[0] if one else coef
        self.n_iter_ = steps[0] if one else steps
        self.intercept_ = b if y.ndim == 2 else b[0]
        return self


class OrthogonalMatchingPursuitCV(LinearPrediction, RegressorMixin, BaseEstimator):
    """Orthogonal matching pursuit whose number of coefficients is chosen by cross-validation.

    Parameters and attributes are those of `sklearn.linear_model.OrthogonalMatchingPursuitCV`, and
    `unit_atoms` and `positive` of `OrthogonalMatchingPursuit`.

    Parameters
    ----------
    copy : bool, default=True
        Taken for the sake of scikit-learn's code: X is never changed.
    fit_intercept : bool, default=True
        Whether X and y are centred.
    max_iter : int, default=None
        The most coefficients that are tried: a tenth of the features, at least 5 (or all, if there
        are fewer), where it is not given.
    cv : int, splitter or iterable, default=None
        scikit-learn's: None for five folds.
    n_jobs : int, default=None
        Folds that are worked on at a time.
    verbose : bool or int, default=False
        Of joblib.
    unit_atoms : bool, default=True
        Compare columns at unit norm. False: as they are, and the choices are scikit-learn's.
    positive : bool, default=False
        Coefficients of at least zero.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    n_nonzero_coefs_ : int
        The number of coefficients with the least mean squared error over the folds.
    n_iter_ : int
        Steps of the fit to all samples.
    mse_path_ : array of shape (n_folds, n_sizes)
        Mean squared error of each fold after 1, 2, … atoms.
    n_features_in_, feature_names_in_
        What was seen in `fit`.
    """

    def __init__(
        self,
        *,
        copy: bool = True,
        fit_intercept: bool = True,
        max_iter: int | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        unit_atoms: bool = True,
        positive: bool = False,
    ) -> None:
        self.copy = copy
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.unit_atoms = unit_atoms
        self.positive = positive

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the number of coefficients by folds, then fit to all samples."""
        X, y = self._pairs(X, y, ensure_min_features=2)
        features = X.shape[1]
        most = min(max(features // 10, 5), features)
        if self.max_iter is not None:
            most = clipped("max_iter", self.max_iter, features, "features there are")
        limits = PursuitLimits.checked(most, None, features, self.unit_atoms, self.positive)
        intercept = flag("fit_intercept", self.fit_intercept)
        found = Parallel(n_jobs=jobs(self.n_jobs), verbose=self.verbose)(
            delayed(_fold_errors)(X, y, part, limits, intercept) for part in folds(self.cv, X, y)
        )
        # A fold may end early, where nothing is left to explain: the others are cut there.
        shared = min(map(len, found))
        self.mse_path_ = np.array([errors[:shared] for errors in found])
        self.n_nonzero_coefs_ = int(np.argmin(self.mse_path_.mean(axis=0))) + 1
        final = OrthogonalMatchingPursuit(
            n_nonzero_coefs=self.n_nonzero_coefs_,
            fit_intercept=self.fit_intercept,
            unit_atoms=self.unit_atoms,
            positive=self.positive,
        ).fit(X, y)
        self.coef_, self.intercept_, self.n_iter_ = final.coef_, final.intercept_, final.n_iter_
        return self

    def plot(self, ax: Axes | None = None) -> Axes:
        """Mean squared error against the number of coefficients, with its spread over the folds."""
        check_is_fitted(self)
        sizes = np.arange(1, self.mse_path_.shape[1] + 1)
        ax = plots.scores(sizes, self.mse_path_, self.n_nonzero_coefs_, ax=ax)
        ax.set_xlabel("features")
        ax.set_ylabel("mean squared error")
        return ax


def _fold_errors(
    X: Array, y: Array, part: tuple[Array, Array], limits: PursuitLimits, intercept: bool
) -> Array:
    """The mean squared error on the samples left out, after each atom."""
    train, test = part
    columns = Features.of(X[train], intercept)
    if not columns.live.size:
        return np.array([np.mean((y[test] - y[train].mean()) ** 2)])
    middle = y[train].mean() if intercept else y.dtype.type(0)
    path = coefficient_path(columns.centred(), y[train] - middle, limits)
    if not len(path):  # y is constant here
        path = np.zeros((1, columns.live.size), X.dtype)
    seen = (X[test] - columns.middle)[:, columns.live]
    errors: Array = np.mean((path @ seen.T - (y[test] - middle)) ** 2, axis=1)
    return errors
