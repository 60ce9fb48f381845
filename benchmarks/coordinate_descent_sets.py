"""Samples X and labels y in {−1, 1} for the benchmark of coordinate descent.

The settings of the method were chosen on the first family; the second was fixed before that.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable
from typing import Any

import data_files as data
import numpy as np
import scipy.sparse as sp

Set = tuple[Any, np.ndarray]


def w8a() -> Set | None:
    """Web pages by words, 49,749 × 300, sparse."""
    from sklearn.datasets import load_svmlight_file

    path = data.find("libsvm/w8a.bz2")
    if path is None:
        return None
    with bz2.open(path) as file:
        X, y = load_svmlight_file(file, n_features=300)
    return sp.csc_array(X), y


def microarray(name: str) -> Set | None:
    """Gene expressions, few samples and thousands of standardised genes."""
    path = data.find(f"microarray/{name}.npz")
    if path is None:
        return None
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    return standardised(X), np.where(y == np.unique(y)[0], -1.0, 1.0)


def text(n: int, d: int, length: int, flat: float, share: float, seed: int) -> Set:
    """Documents of words with Zipf's frequencies, weighted as tf-idf, rows of unit norm."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(length, n) + 1
    p = 1 / np.arange(1, d + 1) ** flat
    words = rng.choice(d, counts.sum(), p=p / p.sum())
    documents = np.repeat(np.arange(n), counts)
    X = sp.csr_array((np.ones(len(words)), (documents, words)), shape=(n, d))
    X.sum_duplicates()
    rarity = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d)))
    X.data = (1 + np.log(X.data)) * (0.01 + rarity[X.indices])
    X = sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X
    return by_columns(X), labels(X, share, 0.3, rng)


def factors(n: int, d: int, rank: int, loading: float, seed: int) -> Set:
    """Dense columns that share factors."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    X = standardised(rng.standard_normal((n, d)) + loading * shared)
    return X, labels(X, 50 / d, 0.5, rng)


def neighbours(n: int, d: int, correlation: float, seed: int) -> Set:
    """Dense columns in a row, each correlated with the one before it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return standardised(X), labels(X, 30 / d, 0.5, rng)


def categories(n: int, fields: int, levels: int, seed: int) -> Set:
    """Fields with levels of unequal frequency, one column for each level: ones in a sparse X."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, levels + 1)
    chosen = rng.choice(levels, (n, fields), p=p / p.sum()) + levels * np.arange(fields)
    rows = np.repeat(np.arange(n), fields)
    X = sp.csr_array((np.ones(n * fields), (rows, chosen.ravel())), shape=(n, fields * levels))
    return by_columns(X), labels(X, 0.2, 0.5, rng)


def digits() -> Set:
    """Images of handwritten digits: the odd against the even."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return standardised(X[:, X.std(axis=0) > 0]), np.where(y % 2, 1.0, -1.0)


def breast_products() -> Set:
    """Breast cancer, 30 measurements and all their products."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = standardised(X)
    i, j = np.triu_indices(X.shape[1])
    return standardised(np.hstack([X, X[:, i] * X[:, j]])), np.where(y, 1.0, -1.0)


def by_columns(X: Any) -> Any:
    """With places of 32 bits, which peers insist on."""
    X = sp.csc_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def standardised(X: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=0)
    return np.asfortranarray(X / X.std(axis=0))


def labels(X: Any, share: float, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Signs of a sparse linear function with noise."""
    truth = rng.standard_normal(X.shape[1]) * (rng.random(X.shape[1]) < share)
    u = X @ truth
    u = u + noise * u.std() * rng.standard_normal(len(u))
    return np.where(u > np.median(u), 1.0, -1.0)


FIRST: dict[str, Callable[[], Set | None]] = {
    "w8a": w8a,
    "golub": lambda: microarray("golub"),
    "rcv1-like": lambda: text(10_000, 30_000, 60, 0.9, 0.05, 0),
    "dense": lambda: factors(2_000, 5_000, 50, 0.15, 0),
}
SECOND: dict[str, Callable[[], Set | None]] = {
    "alon": lambda: microarray("alon"),
    "digits": digits,
    "breast-products": breast_products,
    "categories": lambda: categories(30_000, 12, 150, 1),
    "long-texts": lambda: text(4_000, 15_000, 200, 1.1, 0.02, 2),
    "tall": lambda: neighbours(20_000, 200, 0.7, 3),
    "wide": lambda: factors(400, 8_000, 10, 0.4, 4),
}
