"""The estimators beside scikit-learn's: ``python benchmarks/estimators.py``.

One thread and CPU time, in turn, so that a busy machine slows both. `coder`: codes beside those of
`SparseCoder`, verified to be the same. `recovery`: the share of a true support that is found on
columns of scale 0.1 … 10. `microarray`: accuracy on samples that neither the fit nor the choice of
the number of features has seen (10 folds in 10 folds), beside ℓ1-penalised logistic regression.

    python benchmarks/estimators.py --only coder recovery
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from data_files import find
from sklearn.decomposition import SparseCoder
from sklearn.linear_model import LogisticRegressionCV
from sklearn.linear_model import OrthogonalMatchingPursuit as SklearnOMP
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from pursuit.estimators import OrthogonalMatchingPursuit, PursuitClassifierCV, PursuitCoder


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


# Codes -----------------------------------------------------------------------------------------


def coder(rounds: int) -> None:
    """Unit atoms, so that both solve the same problem."""
    print(
        "PursuitCoder beside SparseCoder (omp): CPU time of fit and transform together, median of"
    )
    print("the ratios (range)")
    rng = np.random.default_rng(0)
    for n, d, k, m in ((256, 64, 5, 10_000), (256, 64, 8, 10_000), (1024, 128, 16, 2000)):
        atoms = rng.standard_normal((n, d))
        atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
        codes = rng.standard_normal((m, n)) * (rng.random((m, n)) < k / n)
        X = codes @ atoms + 0.05 * rng.standard_normal((m, d))
        ours = PursuitCoder(atoms, n_nonzero=k).fit(X)
        theirs = SparseCoder(atoms, transform_algorithm="omp", transform_n_nonzero_coefs=k)
        ours.transform(X)  # compiles
        ratios = []
        for _ in range(rounds):
            mine, found = cpu_seconds(lambda: ours.fit(X).transform(X))  # noqa: B023
            other, expected = cpu_seconds(lambda: theirs.fit(X).transform(X))  # noqa: B023
            ratios.append(other / mine)
        same = np.isclose(found, expected, rtol=1e-6, atol=1e-9).all(axis=1).mean()
        print(
            f"  {n} atoms × {d}, k = {k}, {m:,} rows: {np.median(ratios):.0f} × "
            f"({min(ratios):.0f} … {max(ratios):.0f}), {same:.2%} of the codes equal"
        )


# Supports --------------------------------------------------------------------------------------


def recovery(rounds: int) -> None:
    print("Share of the true support found, columns of scale 0.1 … 10, 100 problems each")
    print("  samples × features, k, noise    unit_atoms=True    unit_atoms=False    scikit-learn")
    for n, d, k, noise in ((100, 60, 6, 0.1), (100, 200, 8, 0.1), (200, 400, 15, 0.3)):
        models = (
            OrthogonalMatchingPursuit(n_nonzero_coefs=k),
            OrthogonalMatchingPursuit(n_nonzero_coefs=k, unit_atoms=False),
            SklearnOMP(n_nonzero_coefs=k),
        )
        shares = np.zeros(len(models))
        for seed in range(100):
            rng = np.random.default_rng(seed)
            X, true = rng.standard_normal((n, d)), rng.choice(d, k, replace=False)
            y = X[:, true] @ rng.choice([-1.0, 1.0], k) + noise * rng.standard_normal(n)
            X *= 10 ** rng.uniform(-1, 1, d)
            for j, model in enumerate(models):
                shares[j] += np.isin(true, np.flatnonzero(model.fit(X, y).coef_)).mean() / 100
        row = "".join(f"{share:19.1%}" for share in shares)
        print(f"  {n} × {d}, {k}, {noise}".ljust(28) + row)


# Genes -----------------------------------------------------------------------------------------


def lasso_logistic() -> Any:
    """Ten strengths, ten folds, standardised; liblinear is the fastest of scikit-learn's."""
    recent = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    kind = {"l1_ratios": (1.0,), "use_legacy_attributes": False} if recent else {"penalty": "l1"}
    shared = {"solver": "liblinear", "scoring": "accuracy", "random_state": 0}
    model = LogisticRegressionCV(Cs=10, cv=10, **shared, **kind)
    return make_pipeline(StandardScaler(), model)


def microarray(rounds: int) -> None:
    print("Nested 10-fold accuracy ± standard error, features of the models, CPU seconds of a fit")
    makers = {
        "PursuitClassifierCV": lambda: PursuitClassifierCV(cv=10),
        "PursuitClassifierCV, accuracy": lambda: PursuitClassifierCV(cv=10, scoring="accuracy"),
        "PursuitClassifierCV, one-se": lambda: PursuitClassifierCV(cv=10, rule="one-se"),
        "LogisticRegressionCV, l1": lasso_logistic,
    }
    for name in ("golub", "alon"):
        path = find(f"microarray/{name}.npz")
        if path is None:
            print(f"  microarray/{name}.npz is not in $PURSUIT_DATA: left out")
            continue
        with np.load(path) as file:
            X, y = file["X"].astype(np.float64), file["y"]
        print(f"  {name}: {X.shape[0]} samples × {X.shape[1]} genes")
        nested(X, y, makers)


def nested(X: np.ndarray, y: np.ndarray, makers: dict[str, Callable[[], Any]]) -> None:
    """Each model on each fold in turn."""
    hits, sizes, seconds = ({name: [] for name in makers} for _ in range(3))
    PursuitClassifierCV(cv=2).fit(X[:, :50], y)  # compiles
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        for name, make in makers.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                spent, model = cpu_seconds(lambda: make().fit(X[train], y[train]))  # noqa: B023
            hits[name].append(model.score(X[test], y[test]))
            last = model[-1] if hasattr(model, "steps") else model
            sizes[name].append(np.count_nonzero(last.coef_))
            seconds[name].append(spent)
    for name in makers:
        mean, error = np.mean(hits[name]), np.std(hits[name], ddof=1) / 10**0.5
        print(
            f"    {name:30} {mean:.3f} ± {error:.3f}   {np.mean(sizes[name]):6.1f} features   "
            f"{np.mean(seconds[name]):.2f} s"
        )


SECTIONS = {"coder": coder, "recovery": recovery, "microarray": microarray}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with threadpool_limits(1):
        for name in chosen.only:
            SECTIONS[name](chosen.rounds)
            print()


if __name__ == "__main__":
    main()
