"""The problems of convergence.py: f, unit atoms, f(x0) − f* and f*, one for each seed or pixel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.io import loadmat
from scipy.optimize import minimize
from scipy.special import expit

from pursuit import Coordinates, Dictionary, Logistic, SquaredDistance
from pursuit.files.data import find

PIXELS = range(0, 5929, 59)


@dataclass(frozen=True)
class Case:
    """Minimise f over lin(atoms), from 0; the least value is known."""

    f: object
    atoms: object
    least: float

    @property
    def first(self) -> float:
        return self.f.value(np.zeros(self.f.shape))

    @property
    def gap(self) -> float:
        """f(x0) − f*."""
        return self.first - self.least


def signals(Z: np.ndarray, targets: Iterator[np.ndarray]) -> Iterator[Case]:
    """½‖x − b‖² over the span of the rows of Z, for each b."""
    atoms = Dictionary(Z).unit().atoms
    left, s, _ = np.linalg.svd(atoms.matrix.T, full_matrices=False)
    basis = left[:, s > 1e-12 * s[0]]
    for b in targets:
        rest = b - basis @ (basis.T @ b)
        yield Case(SquaredDistance(b), atoms, 0.5 * float(rest @ rest))


def toy(kind: str, runs: int = 20) -> Iterator[Case]:
    """200 atoms in 100 dimensions and a Gaussian signal, both new for each seed."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        Z = rng.random((200, 100)) if kind == "uniform" else rng.standard_normal((200, 100))
        if kind == "anisotropic":
            Z *= np.logspace(0, -2, 100)
        yield from signals(Z, iter([rng.standard_normal(100)]))


@cache
def scene() -> tuple[np.ndarray, np.ndarray]:
    """The pixels of Urban as rows, and its six H2NMF endmembers."""
    path = find("urban77/urban77.npz")
    if path is None:
        raise SystemExit("urban77/urban77.npz is not there: set PURSUIT_DATA")
    with np.load(path) as file:
        pixels = file["pixels"].T.astype(np.float64)
        return pixels, pixels[file["h2nmf_indices"]]


def urban(library: bool, runs: int = 100) -> Iterator[Case]:
    """Pixels of Urban over six endmembers, or over the library of 651 spectra."""
    pixels, endmembers = scene()
    path = find("spectral_libs/spectral_library_urban.mat")
    if library and path is None:
        raise SystemExit("spectral_libs/spectral_library_urban.mat is not there: set PURSUIT_DATA")
    Z = np.ascontiguousarray(loadmat(path)["A"].T, np.float64) if library else endmembers
    yield from signals(Z, (pixels[i] for i in PIXELS[:runs]))


def w8a() -> Iterator[Case]:
    """Logistic loss of 49,749 sparse samples over coordinates, l2 = 1e-4·N."""
    from sklearn.datasets import load_svmlight_file

    path = find("libsvm/w8a.bz2")
    if path is None:
        raise SystemExit("libsvm/w8a.bz2 is not there: set PURSUIT_DATA")
    X, y = load_svmlight_file(str(path))
    yield logistic(X.tocsr(), y, 1e-4 * X.shape[0])


def golub() -> Iterator[Case]:
    """Logistic loss of 72 samples with 7,129 standardised genes over coordinates, l2 = 1/N."""
    path = find("microarray/golub.npz")
    if path is None:
        raise SystemExit("microarray/golub.npz is not there: set PURSUIT_DATA")
    with np.load(path) as file:
        X, labels = file["X"].astype(np.float64), file["y"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    yield logistic(X, np.where(labels == labels[0], 1.0, -1.0), 1 / len(X))


def logistic(X: object, y: np.ndarray, l2: float) -> Case:
    f = Logistic(X, y, l2=l2)
    return Case(f, Coordinates(X.shape[1]), least_logistic(X, y, l2))


def least_logistic(X: object, y: np.ndarray, l2: float) -> float:
    """f* by Newton's method, in the row space of X where that is smaller."""
    dense = X.toarray() if hasattr(X, "toarray") else X
    if dense.shape[0] < dense.shape[1]:  # β = Qa with Q an orthonormal basis of the rows
        dense = dense @ np.linalg.qr(dense.T)[0]

    def value(a: np.ndarray) -> float:
        return float(np.logaddexp(0, -y * (dense @ a)).sum() + 0.5 * l2 * a @ a)

    def gradient(a: np.ndarray) -> np.ndarray:
        return dense.T @ (-y * expit(-y * (dense @ a))) + l2 * a

    def hessian(a: np.ndarray) -> np.ndarray:
        p = expit(dense @ a)
        return (dense.T * (p * (1 - p))) @ dense + l2 * np.eye(len(a))

    start = np.zeros(dense.shape[1])
    a = minimize(value, start, jac=gradient, hess=hessian, method="trust-exact").x
    for _ in range(3):
        a = a - np.linalg.solve(hessian(a), gradient(a))
    return value(a)
