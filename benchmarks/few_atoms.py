"""Accuracy and time against the number of atoms: ``python benchmarks/few_atoms.py``.

Three problems: sparse recovery (500 measurements, 2,000 Gaussian atoms, 100 of them in use, 1 % of
noise), 30 pixels of Urban over its spectral library (651 atoms), logistic loss on golub (7,129
genes, ridge 1). For each number of atoms k, two tables: the value of f, and the seconds until
then, for matching pursuit, orthogonal and blended pursuit, the accelerated method, and
scikit-learn's OMP and Lasso path (for golub its ℓ1-penalised logistic regression). A dash: the
method has no point with 1 to k atoms.

Seconds are the best of some rounds in which all take turns, on one BLAS thread. In the tables our
clock stops while a run is observed. The last lines compare blended pursuit with scikit-learn's OMP
and with our orthogonal pursuit at the same value of f, by whole calls, on a `Dictionary` made
before, whose hash (for checkpoints) the first round pays for.

    python benchmarks/few_atoms.py --only recovery golub --rounds 9
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from data_files import find
from numpy.typing import NDArray
from scipy.io import loadmat
from sklearn.linear_model import LogisticRegression, lasso_path, orthogonal_mp

from pursuit import (
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Logistic,
    Method,
    Result,
    SquaredDistance,
    solve,
)
from pursuit.atoms.base import FiniteAtoms
from pursuit.methods import NAMED, matching_pursuit
from pursuit.objectives.base import Objective

Vector = NDArray[np.float64]
Curve = dict[int, tuple[float, float]]
"""Number of atoms ↦ (value of f, seconds until then)."""
QUIET = {"tol": 0.0, "progress": False}


@dataclass(frozen=True)
class Case:
    """A problem, the numbers of atoms to report, and who else can solve it."""

    f: Objective
    atoms: FiniteAtoms
    sizes: tuple[int, ...]
    peers: dict[str, Callable[[], Curve]]
    steps: int


# The problems -------------------------------------------------------------------------------


def recovery(seed: int = 1) -> tuple[Case, Vector, Vector]:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2000, 500))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    used = np.sort(rng.choice(2000, 100, replace=False))
    weights = rng.standard_normal(100)
    clean = (weights + 0.1 * np.sign(weights)) @ rows[used]
    noise = rng.standard_normal(500)
    signal = clean + 0.01 * np.linalg.norm(clean) * noise / np.linalg.norm(noise)
    sizes = (10, 25, 50, 75, 100, 110)
    return quadratic_case(rows, signal, sizes, 600), rows, used


def urban(pixels: int = 30) -> list[Case]:
    library = find("spectral_libs/spectral_library_urban.mat")
    scene = find("urban77/urban77.npz")
    if library is None or scene is None:
        return []
    rows = np.ascontiguousarray(loadmat(library)["A"].T, dtype=np.float64)
    with np.load(scene) as stored:
        reflectance = stored["pixels"].T.astype(np.float64) / 1000
    chosen = np.linspace(0, len(reflectance) - 1, pixels).astype(int)
    return [quadratic_case(rows, reflectance[j], (1, 2, 3, 5, 8, 12), 150) for j in chosen]


def golub() -> Case | None:
    file = find("microarray/golub.npz")
    if file is None:
        return None
    with np.load(file) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"] == "AML"
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    f, sizes = Logistic(X, y, l2=1.0), (1, 2, 5, 10, 20, 30)
    return Case(f, Coordinates(X.shape[1]), sizes, {"ℓ1 path": partial(l1_path, f, X, y)}, 200)


def quadratic_case(rows: Vector, signal: Vector, sizes: tuple[int, ...], steps: int) -> Case:
    atoms, f = Dictionary(rows), SquaredDistance(signal)
    # scikit-learn's pursuit is right for unit columns only.
    columns = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
    peers = {
        "sklearn OMP": partial(sklearn_omp, f, columns, signal, sizes),
        "Lasso path": partial(sklearn_lasso, f, columns, signal),
    }
    return Case(f, atoms, sizes, peers, steps)


# The contestants ----------------------------------------------------------------------------


def ours(case: Case, method: str | Method) -> Curve:
    """The last point of a run with each number of atoms."""
    options: dict[str, Any] = {"max_iter": case.steps, "every": 1, **QUIET}
    result = solve(case.f, case.atoms, method, n_nonzero=case.sizes[-1], **options)
    trace = result.trace
    rows = zip(trace.support.tolist(), trace.value.tolist(), trace.seconds.tolist(), strict=True)
    return {size: (value, seconds) for size, value, seconds in rows}


def sklearn_omp(f: Objective, columns: Vector, signal: Vector, sizes: tuple[int, ...]) -> Curve:
    curve = {}
    for size in sizes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says when it gives up on dependent atoms
            seconds, coef = timed(partial(orthogonal_mp, columns, signal, n_nonzero_coefs=size))
        curve[size] = (f.value(columns @ coef), seconds)
    return curve


def sklearn_lasso(f: Objective, columns: Vector, signal: Vector) -> Curve:
    """Every point has the time of the whole path, of which it cannot be had alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says when it has not converged
        seconds, (_, coefs, _) = timed(partial(lasso_path, columns, signal, n_alphas=50, eps=1e-3))
    return {int(np.count_nonzero(c)): (f.value(columns @ c), seconds) for c in coefs.T}


def l1_path(f: Objective, X: Vector, y: Vector) -> Curve:
    curve, total = {}, 0.0
    for C in np.geomspace(0.01, 10, 12):
        model = LogisticRegression(
            penalty="l1", solver="liblinear", C=C, fit_intercept=False, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions prefer another name for "l1"
            seconds, fitted = timed(partial(model.fit, X, y))
        total += seconds
        coef = fitted.coef_[0].astype(np.float64)
        curve[int(np.count_nonzero(coef))] = (f.value(coef), total)
    return curve


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


# The tables ---------------------------------------------------------------------------------


def at_most(curve: Curve, size: int) -> tuple[float, float]:
    """The best of the points with at most so many atoms, and at least one."""
    within = [point for atoms, point in curve.items() if 0 < atoms <= size]
    return min(within, default=(np.nan, np.nan))


def best_of(rounds: int, runs: dict[str, Callable[[], Curve]]) -> dict[str, Curve]:
    """All take turns; of each, the shortest time to every number of atoms."""
    best: dict[str, Curve] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            known = best.setdefault(name, {})
            for size, (value, seconds) in run().items():
                known[size] = (value, min(seconds, known.get(size, (0.0, np.inf))[1]))
    return best


def contestants(case: Case) -> dict[str, Callable[[], Curve]]:
    mine: dict[str, Method] = {"matching-pursuit": matching_pursuit(step=ExactLineSearch())}
    mine |= {name: NAMED[name]() for name in ("orthogonal", "blended", "accelerated")}
    return {**{name: partial(ours, case, method) for name, method in mine.items()}, **case.peers}


def table(title: str, cases: list[Case], rounds: int) -> None:
    """Values and seconds, summed over the cases."""
    sizes = cases[0].sizes
    sums: dict[str, Vector] = {}
    for case in cases:
        for name, curve in best_of(rounds, contestants(case)).items():
            points = np.array([at_most(curve, size) for size in sizes])
            sums[name] = sums.get(name, 0.0) + points
    for column, what in enumerate(("value of f", "seconds")):
        print(f"\n{title}: {what}")
        print(f"{'atoms':>17}" + "".join(f"{size:>11}" for size in sizes))
        for name, points in sums.items():
            print(f"{name:>17}" + "".join(f"{shown(v):>11}" for v in points[:, column]))


def shown(number: float) -> str:
    return "–" if np.isnan(number) else f"{number:.4g}"


# The verdicts -------------------------------------------------------------------------------


def whole_run(case: Case, method: str, **stop: Any) -> Result:
    return solve(case.f, case.atoms, method, every=10**9, **QUIET, **stop)


def race(rounds: int, runs: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, Any]]:
    """The shortest wall-clock time of each, in turns, and what it returned."""
    best: dict[str, tuple[float, Any]] = {}
    for _ in range(5 * rounds):  # they are short, and a busy machine is noisy
        for name, run in runs.items():
            seconds, result = timed(run)
            best[name] = (min(seconds, best.get(name, (np.inf,))[0]), result)
    return best


def compare_recovery(rounds: int) -> None:
    case, rows, used = recovery()
    target = whole_run(case, "orthogonal", n_nonzero=100).value
    signal = case.f.b  # type: ignore[attr-defined]
    found = race(
        rounds,
        {
            "sklearn OMP": lambda: orthogonal_mp(rows.T, signal, n_nonzero_coefs=100),
            "orthogonal": lambda: whole_run(case, "orthogonal", n_nonzero=100),
            "blended": lambda: whole_run(case, "blended", target=target),
        },
    )
    theirs, coef = found["sklearn OMP"]
    print("\nrecovery: to the value of OMP with 100 atoms, whole calls")
    print(f"  sklearn OMP: {theirs:.4f} s, true support: {match(np.flatnonzero(coef), used)}")
    for name in ("orthogonal", "blended"):
        seconds, result = found[name]
        print(
            f"  {name}: {seconds:.4f} s ({theirs / seconds:.2f} × as fast as sklearn), "
            f"{len(result.support)} atoms, value {result.value:.6g} (target {target:.6g}), "
            f"true support: {match(result.support, used)}, {result.counts.products:.1f} products"
        )


def match(support: Vector, used: Vector) -> str:
    return f"{len(np.intersect1d(support, used))} of {len(used)} among {len(support)}"


def compare_golub(rounds: int) -> None:
    case = golub()
    if case is None:
        return
    print("\ngolub: to the value of orthogonal pursuit, whole calls")
    for size in (10, 20, 30):
        first = whole_run(case, "orthogonal", n_nonzero=size)
        found = race(
            rounds,
            {
                "orthogonal": partial(whole_run, case, "orthogonal", n_nonzero=size),
                "blended": partial(whole_run, case, "blended", target=first.value),
            },
        )
        (slow, _), (fast, blended) = found["orthogonal"], found["blended"]
        print(
            f"  {size} genes, f = {first.value:.6g}: orthogonal {slow:.4f} s, blended {fast:.4f} s "
            f"({slow / fast:.2f} × as fast) with {len(blended.support)} genes "
            f"({len(blended.support) / size:.2f} ×), f = {blended.value:.6g}"
        )


def problems(names: list[str]) -> Iterator[tuple[str, list[Case]]]:
    if "recovery" in names:
        yield "recovery", [recovery()[0]]
    if "urban" in names:
        yield "Urban library, 30 pixels", urban()
    if "golub" in names:
        case = golub()
        yield "golub, logistic", [] if case is None else [case]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ["recovery", "urban", "golub"]
    parser.add_argument("--only", nargs="+", choices=known, default=known)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for title, cases in problems(options.only):
        if cases:
            table(title, cases, 1 if len(cases) > 1 else options.rounds)
        else:
            print(f"\n{title}: the data files are not there")
    if "recovery" in options.only:
        compare_recovery(options.rounds)
    if "golub" in options.only:
        compare_golub(options.rounds)


if __name__ == "__main__":
    main()
