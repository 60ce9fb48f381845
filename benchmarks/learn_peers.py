"""The libraries that `benchmarks/learn.py` runs beside ours, each as its users would run it.

All start from the same atoms and learn as many, with codes of k atoms found by orthogonal pursuit
where they have it. SPAMS gets columns in Fortran order (its own format, made outside the clock).
scikit-learn's MiniBatch has an ℓ1 penalty in place of k; it is tried at several, and the one with
the best picture, or the best objective, counts.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pursuit import learn

PENALTIES = (0.2, 0.5, 1.0)
"""Of scikit-learn, in units of the mean norm of a signal."""


@dataclass(frozen=True)
class Lesson:
    """Signals as rows, the first atoms, and k."""

    name: str
    signals: np.ndarray
    start: np.ndarray
    k: int

    @property
    def atoms(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Learner:
    """A way to learn, from `count` of the signals; it gives atoms as rows."""

    name: str
    run: Callable[[], np.ndarray]
    count: int


def missing() -> list[str]:
    """Peers that are not installed."""
    names = ("spams", "dictlearn", "sklearn")
    return [name for name in names if importlib.util.find_spec(name) is None]


def cpu_seconds(run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    began = time.process_time()
    atoms = run()
    return time.process_time() - began, atoms


def ours(lesson: Lesson, method: str = "online", passes: int = 1) -> Learner:
    def run() -> np.ndarray:
        how = {"passes": passes, "start": lesson.start, "threads": 1}
        return learn(lesson.signals, lesson.atoms, lesson.k, method, **how).atoms

    return Learner(f"pursuit {method}", run, len(lesson.signals))


def spams_online(lesson: Lesson, batch: int, passes: int = 1) -> Learner:
    """Mode 3: ‖x − Dγ‖² over codes of k atoms; `iter` counts batches."""
    import spams

    X, D = (np.asfortranarray(rows.T) for rows in (lesson.signals, lesson.start))
    steps = -(-passes * len(lesson.signals) // batch)

    def run() -> np.ndarray:
        how = {"lambda1": lesson.k, "mode": 3, "numThreads": 1, "verbose": False}
        return spams.trainDL(X, D=D, K=lesson.atoms, batchsize=batch, iter=steps, **how).T

    return Learner(f"SPAMS, batches of {batch}", run, len(lesson.signals))


def sklearn_minibatch(lesson: Lesson, count: int, penalty: float) -> Learner:
    from sklearn.decomposition import MiniBatchDictionaryLearning

    X = lesson.signals[:count]
    alpha = penalty * float(np.linalg.norm(X, axis=1).mean())

    def run() -> np.ndarray:
        learner = MiniBatchDictionaryLearning(
            lesson.atoms, alpha=alpha, max_iter=1, fit_algorithm="cd", batch_size=256,
            dict_init=lesson.start, shuffle=True, random_state=0, max_no_improvement=None, tol=0.0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of single codes that have not converged
            return np.asarray(learner.fit(X).components_)

    return Learner(f"scikit-learn cd, penalty {penalty}", run, count)


def dictlearn_aksvd(lesson: Lesson, count: int, passes: int) -> Learner:
    from dictlearn import DictionaryLearning

    X, D = lesson.signals[:count].astype(np.float64), lesson.start.astype(np.float64)

    def run() -> np.ndarray:
        learner = DictionaryLearning(
            lesson.atoms, fit_algorithm="aksvd", n_nonzero_coefs=lesson.k, max_iter=passes,
            dict_init=D, random_state=0,
        )  # fmt: skip
        return np.asarray(learner.fit(X).components_)

    return Learner("dictlearn aksvd", run, count)


def dictlearn_mairal(lesson: Lesson, count: int) -> Learner:
    from dictlearn import MiniBatchDictionaryLearning

    X, D = lesson.signals[:count].astype(np.float64), lesson.start.astype(np.float64)

    def run() -> np.ndarray:
        learner = MiniBatchDictionaryLearning(
            lesson.atoms, fit_algorithm="mairal", n_nonzero_coefs=lesson.k, max_iter=1,
            batch_size=256, dict_init=D, random_state=0,
        )  # fmt: skip
        return np.asarray(learner.fit(X).components_)

    return Learner("dictlearn mairal", run, count)
