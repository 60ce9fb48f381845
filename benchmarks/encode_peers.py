"""The libraries that `benchmarks/encode.py` runs beside ours, each as its users would run it.

A peer that is not installed is named and left out. SPAMS gets columns in Fortran order (its own
format, made outside the clock) and ``eps=0.0`` (else float32 codes are cut short); torch has no
pursuit, so it gets the usual vectorised ones; scikit-learn, PyLops and torch's OMP are timed on
some of the signals and scaled up.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TORCH_BLOCK = 4096


@dataclass
class Case:
    """Signals and unit atoms as rows, and the number of steps."""

    name: str
    signals: np.ndarray
    atoms: np.ndarray
    k: int


@dataclass
class Contestant:
    """A way to do a case. `run` codes the first `count` signals; codes are dense or sparse rows."""

    name: str
    run: Callable[[], object]
    count: int
    label: str = ""


def missing() -> list[str]:
    """Peers that are not installed."""
    names = ("spams", "dictlearn", "sklearn", "torch", "pylops")
    return [name for name in names if importlib.util.find_spec(name) is None]


def spams_omp(case: Case, threads: int) -> Contestant:
    import spams

    X, D = np.asfortranarray(case.signals.T), np.asfortranarray(case.atoms.T)

    def run() -> object:
        return spams.omp(X, D, L=case.k, eps=0.0, return_reg_path=False, numThreads=threads).T

    return Contestant("SPAMS", run, len(case.signals), f"{threads} thread(s)")


def dictlearn_omp(case: Case) -> Contestant:
    import dictlearn

    X, D = case.signals.astype(np.float64), case.atoms.astype(np.float64)

    def run() -> object:
        return dictlearn.sparse_encode(X, D, algorithm="omp", n_nonzero_coefs=case.k)

    return Contestant("dictlearn", run, len(case.signals), "float64")


def sklearn_omp(case: Case, count: int) -> Contestant:
    from sklearn.linear_model import orthogonal_mp_gram

    X, D = case.signals[:count], case.atoms

    def run() -> object:
        return orthogonal_mp_gram(D @ D.T, D @ X.T, n_nonzero_coefs=case.k).T

    return Contestant("scikit-learn", run, count, f"{count} signals, scaled up")


def pylops_pursuit(case: Case, count: int, orthogonal: bool) -> Contestant:
    import pylops

    operator = pylops.MatrixMult(case.atoms.T.astype(np.float64))
    inner = 40 if orthogonal else 0

    def run() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                pylops.optimization.sparsity.omp(
                    operator, x.astype(np.float64), case.k, niter_inner=inner, sigma=0.0
                )[0]
                for x in case.signals[:count]
            ]
        return np.array(found)

    return Contestant("PyLops", run, count, f"{count} signals, scaled up")


def torch_matching_pursuit(case: Case, threads: int) -> Contestant:
    import torch

    X, D = torch.from_numpy(case.signals), torch.from_numpy(case.atoms)

    def block(x: torch.Tensor, gram: torch.Tensor) -> torch.Tensor:
        c = x @ D.T
        codes = torch.zeros_like(c)
        for _ in range(case.k):
            j = c.abs().argmax(dim=1, keepdim=True)
            gamma = c.gather(1, j)
            codes.scatter_add_(1, j, gamma)
            c -= gamma * gram[j[:, 0]]
        return codes

    def run() -> object:
        torch.set_num_threads(threads)
        gram = D @ D.T
        return torch.cat([block(x, gram) for x in X.split(TORCH_BLOCK)]).numpy()

    return Contestant("torch", run, len(case.signals), f"{threads} thread(s)")


def torch_omp(case: Case, threads: int, count: int) -> Contestant:
    import torch

    X, D = torch.from_numpy(case.signals[:count]), torch.from_numpy(case.atoms)

    def block(x: torch.Tensor, gram: torch.Tensor) -> torch.Tensor:
        first = x @ D.T
        c, chosen = first.clone(), []
        for _ in range(case.k):
            chosen.append(c.abs().argmax(dim=1))
            places = torch.stack(chosen, dim=1)
            inner = gram[places[:, :, None], places[:, None, :]]
            rhs = first.gather(1, places)[:, :, None]
            values = torch.cholesky_solve(rhs, torch.linalg.cholesky(inner))
            c = first - torch.einsum("bkn,bk->bn", gram[places], values[:, :, 0])
        return torch.zeros_like(first).scatter_(1, places, values[:, :, 0])

    def run() -> object:
        torch.set_num_threads(threads)
        gram = D @ D.T
        return torch.cat([block(x, gram) for x in X.split(TORCH_BLOCK // 4)]).numpy()

    return Contestant("torch", run, len(X), f"{threads} thread(s), {len(X)} signals, scaled up")
