"""Coefficients along a path: by the number of features, or by λ."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from pursuit import plots
from pursuit.atoms.coordinates import Coordinates
from pursuit.base.status import Status
from pursuit.base.validation import Array
from pursuit.estimators.linear import Features
from pursuit.estimators.losses import Loss
from pursuit.solving.result import Result
from pursuit.solving.solve import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FINE = (Status.CONVERGED, Status.MAX_NONZERO, Status.STALLED)
"""Ends of a pursuit that are no surprise: STALLED where only dependent columns are left."""


@dataclass(frozen=True)
class CoefficientPath:
    """Linear models one after the other.

    Attributes
    ----------
    along
        What the models differ in: ``"features"``, their number, or the name of a parameter.
    at
        That number for each model, from the one with the fewest features on.
    coefs
        Coefficients, one sparse row for each model, for the features as given.
    intercepts
        One for each model.
    scale
        The root mean square of each feature about its mean: a coefficient times it is what the
        feature moves a prediction by.
    gaps
        Proved bounds on how far each is above the least of its objective; nan where there is none.
    """

    along: str
    at: Array
    coefs: Any
    intercepts: Array
    scale: Array
    gaps: Array

    def __len__(self) -> int:
        return len(self.at)

    def up_to(self, size: int) -> int:
        """The number of the largest model with at most so many features."""
        return int(np.searchsorted(self.at, size, side="right")) - 1

    def plot(self, ax: Axes | None = None, *, names: Any = None) -> Axes:
        """Coefficients times the scales of their features; see `pursuit.plots.coefficients`."""
        used = np.unique(self.coefs.indices)
        curves = self.coefs[:, used].toarray() * self.scale[used]
        named = [f"feature {j}" if names is None else str(names[j]) for j in used.tolist()]
        ax = plots.coefficients(self.at, curves, ax, names=named, decades=self.along != "features")
        ax.set_xlabel(self.along)
        ax.set_ylabel("coefficient × scale of the feature")
        return ax


def constant_path(b: float, features: Features, models: int = 1) -> CoefficientPath:
    """So many models without any feature."""
    nothing = csr_array((models, features.X.shape[1]), dtype=features.X.dtype)
    same = np.full(models, b, features.X.dtype)
    sizes, gaps = np.zeros(models, int), np.zeros(models)
    return CoefficientPath("features", sizes, nothing, same, features.scale, gaps)


@dataclass(frozen=True)
class SupportSearch:
    """Orthogonal pursuit over the columns of X, for any loss.

    The intercept is in use before any column, so that slopes are those of centred columns, dense or
    sparse. Features are compared, and shrunk by `l2`, at a root mean square of one if `unit_atoms`.
    """

    loss: Loss
    l2: float
    intercept: bool
    unit_atoms: bool

    def __call__(self, X: Any, y: Array, weights: Array | None, most: int) -> CoefficientPath:
        """The models with 0, 1, …, `most` features."""
        columns = Features.of(X, self.intercept, weights)
        if not columns.live.size:
            return constant_path(self.loss.constant(y, weights) if self.intercept else 0.0, columns)
        f = self.loss.make(columns.scaled(self.unit_atoms), y, self.l2, weights, self.intercept)
        result = solve(
            f,
            Coordinates(f.shape[0]),
            "orthogonal",
            n_nonzero=min(most, columns.live.size) + self.intercept,
            max_iter=max(1000, 4 * most),
            tol=0.0,
            progress=False,
            threads=1,
        )
        if result.status not in FINE:
            told = f"{result.status.name}: {result.message}"
            warnings.warn(f"the support path ended early, {told}", ConvergenceWarning, stacklevel=2)
        return self._as_given(result, columns, most)

    def _as_given(self, result: Result, columns: Features, most: int) -> CoefficientPath:
        """The path of a run, for the columns as they came."""
        path, n = result.path, len(columns.live)
        assert path is not None
        # The last model of each number of features, whether or not the intercept counts as one.
        sizes = np.diff(path.coefs[:, :n].tocsr().indptr)
        last = np.flatnonzero(np.append(np.diff(sizes) != 0, True) & (sizes <= most))
        found = path.coefs.tocsr()[last]
        live = found[:, :n].tocoo()
        scale = columns.scale[columns.live] if self.unit_atoms else np.ones(n, columns.X.dtype)
        shape = (len(last), columns.X.shape[1])
        values = live.data / scale[live.col]
        coefs = csr_array((values, (live.row, columns.live[live.col])), shape=shape)
        b = found[:, [n]].toarray()[:, 0] if self.intercept else np.zeros(len(last))
        b = (b - coefs @ columns.middle).astype(columns.X.dtype)
        unproved = np.full(len(last), np.nan)
        return CoefficientPath("features", sizes[last], coefs, b, columns.scale, unproved)
