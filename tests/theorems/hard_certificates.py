"""Random problems of any scale and condition, on which a certificate is held against the truth."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
from theorems.rational import truth

from pursuit import (
    Coordinates,
    Dictionary,
    Huber,
    LeastSquares,
    Logistic,
    Quadratic,
    SquaredDistance,
)

ATOMS = ("coordinates", "gaussian", "few", "coherent", "rows", "columns", "duplicates", "dependent")
OBJECTIVES = ("distance", "tall", "wide", "quadratic", "logistic", "huber")


@dataclass(frozen=True)
class Hard:
    """A problem, where to start, and how to run on it."""

    f: Any
    atoms: Any
    x0: Any
    kind: str
    options: dict

    @cached_property
    def truth(self):
        frame = self.atoms.lin.frame  # lin(A) is the span of the atoms that are kept
        return truth(self.f, np.eye(*2 * self.f.shape) if frame is None else frame)

    def exceeds(self, x, bound):
        """Whether the true f(x) − f* of the stored numbers is above a bound."""
        gap = self.truth(x) - self.truth.lowest
        if isinstance(gap, Fraction) and np.isfinite(bound):
            return gap > Fraction(float(bound))
        return gap > bound + self.truth.blur


def _tiny(rng, deepest):
    return 10.0 ** -rng.uniform(0, deepest)


def _atoms(rng, kind, d, dtype):
    if kind == "coordinates":
        return Coordinates(d)
    n = int(rng.integers(d, 3 * d + 1))
    Z = rng.standard_normal((n, d))
    if kind == "few":
        Z = Z[: max(1, d - 1)]
    if kind == "coherent":  # nearly one direction
        Z = rng.standard_normal(d) + _tiny(rng, 16) * Z
    if kind == "rows":
        Z *= 10.0 ** rng.uniform(-8, 8, (n, 1))
    if kind == "columns":
        Z *= 10.0 ** rng.uniform(-6, 6, d)
    if kind == "duplicates":
        Z[n // 2 :] = -2 * Z[: n - n // 2]
    if kind == "dependent" and d > 1:  # exactly, also in single precision
        Z = rng.integers(-9, 10, (n, d - 1)) @ rng.integers(-9, 10, (d - 1, d)) * 1.0
        Z = Z[np.abs(Z).max(axis=1) > 0] if Z.any() else np.ones((1, d))
    return Dictionary(Z.astype(dtype))


def _spectrum(rng, d):
    """Singular values that fall by up to sixteen digits."""
    return 10.0 ** -(rng.uniform(0, 16) * np.sort(rng.uniform(0, 1, d)))


def _rotated(rng, rows, columns):
    """A matrix with such singular values; now and then a diagonal one."""
    k = min(rows, columns)
    s = _spectrum(rng, k) * 10.0 ** rng.uniform(-4, 4)
    if rng.random() < 0.3:
        diagonal = np.zeros((rows, columns))
        diagonal[np.arange(k), np.arange(k)] = s
        return diagonal
    left, right = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (rows, columns))
    return (left * s) @ right.T


def _objective(rng, kind, d, dtype):
    if kind == "distance":
        return SquaredDistance((rng.standard_normal(d) * 10.0 ** rng.uniform(-6, 6)).astype(dtype))
    if kind in ("tall", "wide"):
        m = d + int(rng.integers(0, 4)) if kind == "tall" else max(1, d - int(rng.integers(1, 3)))
        A = _rotated(rng, m, d)
        return LeastSquares(A.astype(dtype), rng.standard_normal(m).astype(dtype))
    if kind == "quadratic":
        root = _rotated(rng, d, d)
        H = root @ np.diag(_spectrum(rng, d)) @ root.T
        H = ((H + H.T) / 2).astype(dtype)
        return Quadratic(H, (H @ rng.standard_normal(d)).astype(dtype))
    X = rng.standard_normal((int(rng.integers(d, 3 * d + 2)), d)) * 10.0 ** rng.uniform(-2, 2, d)
    l2 = float(_tiny(rng, 8))
    if kind == "logistic":
        return Logistic(X.astype(dtype), rng.choice([-1, 1], len(X)), l2=l2)
    return Huber(X.astype(dtype), rng.standard_normal(len(X)).astype(dtype), 0.5, l2=l2)


@cache
def hard_problem(seed, largest=5):
    """The problem of a seed; even ones are in double precision, odd ones in single."""
    rng = np.random.default_rng(seed)
    dtype = (np.float64, np.float32)[seed % 2]
    d = int(rng.integers(1, largest + 1))
    while True:
        kinds = rng.choice(ATOMS), rng.choice(OBJECTIVES)
        try:
            atoms, f = _atoms(rng, kinds[0], d, dtype), _objective(rng, kinds[1], d, dtype)
            break
        except ValueError:  # a Hessian that single precision made indefinite is refused
            continue
    x0 = None
    if rng.random() < 0.4:
        weights = rng.standard_normal(len(atoms)).astype(dtype)
        x0 = (weights @ atoms.matrix).astype(dtype)
    options = {
        "max_iter": int(rng.choice([0, 1, 3, 10, 40, 150])),
        "unit_atoms": bool(rng.random() < 0.8),
        "rng": seed,
    }
    return Hard(f, atoms, x0, f"{kinds[0]}, {kinds[1]}, {np.dtype(dtype).name}", options)
