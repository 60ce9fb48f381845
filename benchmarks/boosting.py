"""Boosting as pursuit over regression trees, beside gradient boosting of scikit-learn.

    python benchmarks/boosting.py

The diabetes data that comes with scikit-learn (442 patients, 10 measurements), ten times five
folds. All but the last grow trees of the same depth; printed for each:

error      root of the mean squared error on the fold that was left out, mean over the 50 fits;
difference  its difference from gradient boosting at rate 0.1, and the standard error of that;
training   the same error on the samples that were used;
seconds    CPU time of all 50 fits, one thread.

Matching pursuit with `Smooth(10)` is gradient boosting with a learning rate of 0.1. Orthogonal
pursuit corrects the weights of all trees after each; it fits what it is given with fewer trees.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

from pursuit import RegressionTrees, Smooth, SquaredDistance, methods, solve
from pursuit.methods import Method

REPEATS, FOLDS = 10, 5
Matrix = NDArray[np.float64]
Fit = Callable[[Matrix, Matrix], Callable[[Matrix], Matrix]]


def pursued(method: Method, trees: int, depth: int) -> Fit:
    """Pursuit over trees from the mean."""

    def fit(X: Matrix, y: Matrix) -> Callable[[Matrix], Matrix]:
        atoms, mean = RegressionTrees(X, max_depth=depth), float(y.mean())
        f = SquaredDistance(y - mean)
        result = solve(f, atoms, method, max_iter=trees, tol=0, progress=False)
        return lambda new: mean + atoms.predict(result, new)

    return fit


def boosted(trees: int, depth: int, rate: float = 0.1) -> Fit:
    """Gradient boosting of scikit-learn."""

    def fit(X: Matrix, y: Matrix) -> Callable[[Matrix], Matrix]:
        model = GradientBoostingRegressor(
            n_estimators=trees, max_depth=depth, learning_rate=rate, random_state=0
        )
        return model.fit(X, y).predict

    return fit


def histograms(trees: int) -> Fit:
    """The faster gradient boosting of scikit-learn, as it comes."""

    def fit(X: Matrix, y: Matrix) -> Callable[[Matrix], Matrix]:
        return HistGradientBoostingRegressor(max_iter=trees, random_state=0).fit(X, y).predict

    return fit


def folds(n: int) -> Iterator[NDArray[np.bool_]]:
    for seed in range(REPEATS):
        place = np.random.default_rng(seed).permutation(n) % FOLDS
        yield from (place == k for k in range(FOLDS))


def measured(fit: Fit, X: Matrix, y: Matrix) -> tuple[Matrix, float, float]:
    """Errors of all fits, the mean one in training, and seconds."""
    errors, training, seconds = [], [], 0.0
    for left_out in folds(len(y)):
        began = time.process_time()
        predict = fit(X[~left_out], y[~left_out])
        seconds += time.process_time() - began
        errors.append(np.sqrt(np.mean((predict(X[left_out]) - y[left_out]) ** 2)))
        training.append(np.sqrt(np.mean((predict(X[~left_out]) - y[~left_out]) ** 2)))
    return np.array(errors), float(np.mean(training)), seconds


def main() -> None:
    X, y = load_diabetes(return_X_y=True)
    shrunk, whole = methods.matching_pursuit(step=Smooth(10.0)), methods.matching_pursuit()
    print(f"diabetes: {len(y)} samples, {REPEATS} × {FOLDS} folds; y varies by {y.std():.1f}")
    for depth, trees in ((1, 100), (2, 50), (3, 40)):
        reference, *_ = measured(boosted(trees, depth), X, y)
        print(f"\ntrees of depth {depth}")
        print(
            f"{'':34} {'trees':>5} {'error':>7} {'difference':>15} {'training':>9} {'seconds':>8}"
        )
        for name, fit, grown in (
            ("gradient boosting, rate 0.1", boosted(trees, depth), trees),
            ("matching pursuit, Smooth(10)", pursued(shrunk, trees, depth), trees),
            ("matching pursuit", pursued(whole, trees // 4, depth), trees // 4),
            ("gradient boosting, rate 1", boosted(trees // 4, depth, 1.0), trees // 4),
            ("orthogonal pursuit", pursued(methods.orthogonal(), trees // 8, depth), trees // 8),
            ("histogram boosting, as it comes", histograms(trees), trees),
        ):
            errors, training, seconds = measured(fit, X, y)
            away = errors - reference
            spread = away.std(ddof=1) / np.sqrt(len(away))
            print(
                f"{name:34} {grown:5d} {errors.mean():7.2f} {away.mean():+8.2f} ± {spread:4.2f} "
                f"{training:9.2f} {seconds:8.2f}"
            )


if __name__ == "__main__":
    main()
