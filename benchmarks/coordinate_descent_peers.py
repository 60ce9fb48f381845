"""What people use otherwise: solvers of scikit-learn, skglm, celer and SciPy on one problem.

Each takes a problem and a tolerance of its own and returns coefficients, cold started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass
class Task:
    """Σ ℓᵢ(xᵢᵀw) + l1 Σ|w_j| + l2/2 Σ w_j², ℓ logistic or half a square, w ≥ 0 if `positive`."""

    X: Any
    y: np.ndarray
    logistic: bool
    l1: float = 0.0
    l2: float = 0.0
    positive: bool = False

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.X)

    @cached_property
    def by_rows(self) -> Any:
        """What scikit-learn's logistic solvers like best; made before the clock starts."""
        return self.X.tocsr() if self.sparse else np.ascontiguousarray(self.X)

    def value(self, w: np.ndarray) -> float:
        u = self.X @ w
        losses = np.logaddexp(0, -self.y * u) if self.logistic else 0.5 * (u - self.y) ** 2
        return float(losses.sum() + self.l1 * np.abs(w).sum() + 0.5 * self.l2 * (w @ w))


Solver = Callable[[Task, float], np.ndarray]


def logistic_penalty(name: str) -> dict[str, Any]:
    """The argument of LogisticRegression for ℓ1 or ℓ2: until 1.7 it passes over a ratio alone."""
    import sklearn

    recent = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    return {"l1_ratio": float(name == "l1")} if recent else {"penalty": name}


def logistic(solver: str, dual: bool = False) -> Solver:
    """scikit-learn's LogisticRegression."""

    def solve(task: Task, tol: float) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression

        C = 1 / (task.l1 or task.l2)
        most = 100_000 if solver == "liblinear" else 20_000
        model = LogisticRegression(
            C=C,
            **logistic_penalty("l1" if task.l1 else "l2"),
            solver=solver,
            dual=dual,
            tol=tol,
            max_iter=most,
            fit_intercept=False,
        )
        return model.fit(task.by_rows, task.y).coef_.ravel()

    return solve


def lasso(task: Task, tol: float) -> np.ndarray:
    """scikit-learn's Lasso, or ElasticNet."""
    from sklearn.linear_model import ElasticNet

    n, total = len(task.y), task.l1 + task.l2
    model = ElasticNet(
        alpha=total / n,
        l1_ratio=task.l1 / total,
        tol=tol,
        max_iter=100_000,
        fit_intercept=False,
    )
    return model.fit(task.X, task.y).coef_.ravel()


def ridge(solver: str) -> Solver:
    """scikit-learn's Ridge."""

    def solve(task: Task, tol: float) -> np.ndarray:
        from sklearn.linear_model import Ridge

        model = Ridge(alpha=task.l2, solver=solver, tol=tol, max_iter=10_000, fit_intercept=False)
        return model.fit(task.by_rows, task.y).coef_.ravel()

    return solve


def skglm(task: Task, tol: float) -> np.ndarray:
    """skglm's estimators with the settings of their authors."""
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic, Quadratic
    from skglm.penalties import L1, L1_plus_L2, PositiveConstraint
    from skglm.solvers import AndersonCD, ProxNewton

    n, total = len(task.y), task.l1 + task.l2
    penalty: Any = L1(task.l1 / n)
    if task.positive:
        penalty = PositiveConstraint()
    elif task.l2:
        penalty = L1_plus_L2(total / n, task.l1 / total)
    solver: Any = AndersonCD(max_iter=500, tol=tol, fit_intercept=False, warm_start=False)
    if task.logistic:
        solver = ProxNewton(max_iter=500, tol=tol, fit_intercept=False, warm_start=False)
    datafit = Logistic() if task.logistic else Quadratic()
    model = GeneralizedLinearEstimator(datafit, penalty, solver)
    return np.asarray(model.fit(task.X, task.y).coef_).ravel()


def celer(task: Task, tol: float) -> np.ndarray:
    """celer's Lasso, ElasticNet and LogisticRegression."""
    from celer import ElasticNet, LogisticRegression

    if task.logistic:
        model: Any = LogisticRegression(C=1 / task.l1, tol=tol, max_iter=500)
    else:
        n, total = len(task.y), task.l1 + task.l2
        model = ElasticNet(
            total / n, l1_ratio=task.l1 / total, tol=tol, max_iter=500, fit_intercept=False
        )
    return np.asarray(model.fit(task.X, task.y).coef_).ravel()


def nnls(task: Task, tol: float) -> np.ndarray:
    """SciPy's nnls, which is exact and dense."""
    from scipy.optimize import nnls

    X = task.X.toarray() if task.sparse else task.X
    return nnls(X, task.y, maxiter=100 * X.shape[1])[0]


LADDER = [10.0**-k for k in range(1, 13)]
COARSE = [10.0**-k for k in range(1, 13, 2)]
ONCE = [0.0]


MISSING = [name for name in ("skglm", "celer") if find_spec(name) is None]
"""Peers that are not installed."""


def peers(task: Task) -> dict[str, tuple[Solver, list[float]]]:
    """The solvers of a problem, each with its tolerances from loose to tight."""
    return {name: peer for name, peer in _all(task).items() if name not in MISSING}


def _all(task: Task) -> dict[str, tuple[Solver, list[float]]]:
    n, d = task.X.shape
    if task.logistic and task.l1:
        return {
            "liblinear": (logistic("liblinear"), LADDER),
            "skglm": (skglm, LADDER),
            "celer": (celer, LADDER),
        }
    if task.logistic:
        solvers = {
            "lbfgs": (logistic("lbfgs"), LADDER),
            "liblinear": (logistic("liblinear"), LADDER),
            "liblinear-dual": (logistic("liblinear", dual=True), LADDER),
        }
        if d <= 1_000:
            solvers["newton-cholesky"] = (logistic("newton-cholesky"), COARSE)
        return solvers
    if task.positive:
        solvers = {"skglm": (skglm, LADDER)}
        if n * d <= 3_000_000 or MISSING:
            solvers["scipy"] = (nnls, ONCE)
        return solvers
    if task.l1:
        return {"scikit-learn": (lasso, LADDER), "skglm": (skglm, LADDER), "celer": (celer, LADDER)}
    solvers = {
        "sparse_cg": (ridge("sparse_cg"), LADDER),
        "lsqr": (ridge("lsqr"), LADDER),
    }
    if min(n, d) <= 3_000 and not task.sparse:
        solvers["cholesky"] = (ridge("cholesky"), ONCE)
    return solvers
