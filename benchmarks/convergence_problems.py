"""The problems of convergence.py: f, unit atoms, f(x0) − f* and f*, one for each seed or pixel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from data_files import find
from scipy.io import loadmat
from scipy.sparse import csr_array

from pursuit import Coordinates, Dictionary, Huber, LeastSquares, Logistic, SquaredDistance

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


# Quadratics that are badly scaled -----------------------------------------------------------


def least_squares(A: np.ndarray, b: np.ndarray, atoms: object) -> Case:
    """½‖Ax − b‖² over the span of the atoms."""
    images = A @ atoms.matrix.T
    left, _, _ = np.linalg.svd(images / np.linalg.norm(images, axis=0), full_matrices=False)
    rest = b - left @ (left.T @ b)  # the atoms are independent here
    return Case(LeastSquares(A, b), atoms, 0.5 * float(rest @ rest))


def diagonal(runs: int = 5) -> Iterator[Case]:
    """50 coordinates with curvatures 1 … 1e-8."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        yield least_squares(
            np.diag(np.logspace(0, -4, 50)), rng.standard_normal(50), Coordinates(50)
        )


def wild(runs: int = 5) -> Iterator[Case]:
    """Least squares with 200 samples and 60 columns of lengths × 10^U(−2, 2)."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((200, 60)) * 10 ** rng.uniform(-2, 2, 60)
        yield least_squares(A, rng.standard_normal(200), Coordinates(60))


def clusters(runs: int = 5) -> Iterator[Case]:
    """15 clusters of 60 nearly equal atoms in 100 dimensions."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        centres = np.repeat(rng.standard_normal((15, 100)), 60, axis=0)
        Z = centres + 0.1 * rng.standard_normal((900, 100))
        yield from signals(Z, iter([rng.standard_normal(100)]))


# Losses of linear models --------------------------------------------------------------------


def w8a(weaker: float = 1.0) -> Iterator[Case]:
    """Logistic loss of 49,749 sparse samples over coordinates, l2 = 1e-4·N or weaker."""
    from sklearn.datasets import load_svmlight_file

    path = find("libsvm/w8a.bz2")
    if path is None:
        raise SystemExit("libsvm/w8a.bz2 is not there: set PURSUIT_DATA")
    X, y = load_svmlight_file(str(path))
    yield linear(Logistic(X.tocsr(), y, l2=1e-4 * X.shape[0] / weaker))


def microarray(name: str) -> Iterator[Case]:
    """Logistic loss of few samples with thousands of standardised genes, l2 = 1/N."""
    path = find(f"microarray/{name}.npz")
    if path is None:
        raise SystemExit(f"microarray/{name}.npz is not there: set PURSUIT_DATA")
    with np.load(path) as file:
        X, labels = file["X"].astype(np.float64), file["y"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    yield linear(Logistic(X, np.where(labels == labels[0], 1.0, -1.0), l2=1 / len(X)))


def words(runs: int = 5) -> Iterator[Case]:
    """5,000 samples of 400 words, the k-th of which is in a share 1/(k + 2) of them, l2 = 0.1."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = csr_array((rng.random((5000, 400)) < 1 / np.arange(2, 402)).astype(float))
        seen = X @ rng.standard_normal(400)
        y = np.where(seen - np.median(seen) + rng.logistic(size=5000) > 0, 1.0, -1.0)
        yield linear(Logistic(X, y, l2=0.1))


def wild_logistic(runs: int = 5) -> Iterator[Case]:
    """200 samples with 30 columns of lengths × 10^U(−2, 2), l2 = 1e-3."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 30))
        noisy = X @ rng.standard_normal(30) + 3 * rng.standard_normal(200)
        X *= 10 ** rng.uniform(-2, 2, 30)
        yield linear(Logistic(X, np.where(noisy > 0, 1.0, -1.0), l2=1e-3))


def huber(delta: float, scales: float = 0.0, runs: int = 5) -> Iterator[Case]:
    """500 samples with heavy tails and 40 columns of lengths × 10^U(−scales, scales)."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 40))
        y = X @ rng.standard_normal(40) + rng.standard_t(1.5, 500)
        X *= 10 ** rng.uniform(-scales, scales, 40)
        yield linear(Huber(X, y, delta))


def dense_logistic(samples: int = 2000, columns: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian samples, and labels that a tenth of the columns decides."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, columns))
    seen = X @ (rng.standard_normal(columns) * (rng.random(columns) < 0.1))
    return X, np.where(2 * seen / seen.std() + rng.logistic(size=samples) > 0, 1.0, -1.0)


def linear(f: object) -> Case:
    return Case(f, Coordinates(f.shape[0]), least(f))


def least(f: object) -> float:
    """f* by damped Newton steps, in the row space of X where that is smaller."""
    X = f.X.toarray() if hasattr(f.X, "toarray") else f.X
    X = X @ np.linalg.qr(X.T)[0] if X.shape[0] < X.shape[1] else X
    sizes = np.linalg.norm(X, axis=0)

    def value(a: np.ndarray) -> float:
        return float(f.losses(X @ a).sum() + 0.5 * f.l2 * a @ a)

    a, best = np.zeros(X.shape[1]), value(np.zeros(X.shape[1]))
    for _ in range(500):
        g = X.T @ f.slopes(X @ a) + f.l2 * a
        bends = f.bends(X @ a)
        bends = bends + 1e-9 * f.majorants(X @ a)  # where Huber's loss has none at all
        H = (X.T * bends) @ X + f.l2 * np.eye(len(a))
        step = np.linalg.solve(H / np.outer(sizes, sizes), g / sizes) / sizes
        length, fall = 1.0, float(g @ step)
        while value(a - length * step) > best - 1e-4 * length * fall and length > 1e-12:
            length /= 2
        if fall <= 1e-15 * abs(best) or length <= 1e-12:
            break
        a = a - length * step
        best = value(a)
    return best
