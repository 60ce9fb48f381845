"""Hold certificates against true gaps on random problems, and print the counts.

``python tools/certificates.py`` solves 3,000 problems in which singular values are well above the
tolerance for ranks or exactly zero, and 1,000 in which some are near it: no certificate may be
below the true gap f(x) − f*. ``--problems 200 --near 50`` takes fewer.

The reference is independent of the library. Over lin(A) quadratics are minimized in rational
arithmetic, every float being a fraction; otherwise SciPy's L-BFGS-B and Newton steps in extended
precision lower the value as far as they can, which never makes a gap look larger than it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize

from pursuit import (
    L1,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    Huber,
    InputError,
    LeastSquares,
    Logistic,
    NonNegative,
    Poisson,
    Quadratic,
    SquaredDistance,
    SquaredHinge,
    methods,
    solve,
)

Array = np.ndarray
LONG = np.longdouble
LOSSES = ("distance", "squares", "quadratic", "logistic", "huber", "hinge", "poisson")
ATOMS = ("coordinates", "dictionary", "few", "dependent", "cone")
PENALTIES = ("none", "none", "l1", "weighted l1", "box", "nonnegative", "nonnegative l1")
STEPS = (0, 1, 3, 10, 40, 150)
TINY = 1e-12


@dataclass
class Problem:
    """A problem with all it takes to evaluate it without the library."""

    kind: str
    f: Any
    atoms: Any
    method: str
    options: dict[str, Any]
    loss: Loss
    Z: Array
    weights: Array
    lower: Array
    upper: Array

    @property
    def free(self) -> bool:
        """Return whether coefficients have neither weights nor bounds."""
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        return not (bounded | (self.weights > 0)).any()


@dataclass
class Loss:
    """Σφ(uᵢ) + l2/2 ‖x‖² for u = Xx, or ½xᵀHx − bᵀx, in extended precision."""

    name: str
    X: Array
    y: Array
    l2: float = 0.0
    delta: float = 1.0

    def __call__(self, x: Array) -> tuple[Any, Array, Array]:
        """Return value, gradient and Hessian."""
        X, y, l2 = self.X.astype(LONG), self.y.astype(LONG), LONG(self.l2)
        if self.name == "quadratic":
            return x @ (X @ x) / 2 - y @ x, X @ x - y, X
        losses, slopes, curvatures = self._derivatives(X @ x, y)
        H = (X.T * curvatures) @ X + l2 * np.eye(len(x), dtype=LONG)
        return losses.sum() + l2 / 2 * (x @ x), X.T @ slopes + l2 * x, H

    def _derivatives(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        if self.name == "logistic":
            falling = np.exp(-np.logaddexp(LONG(0), y * u))
            return np.logaddexp(LONG(0), -y * u), -y * falling, falling * (1 - falling)
        if self.name == "poisson":
            means = np.exp(u)
            return means - y * u, means - y, means
        if self.name == "hinge":
            short = np.maximum(1 - y * u, 0)
            return short * short / 2, -y * short, (short > 0).astype(LONG)
        r = u - y
        if self.name == "huber":
            inner = np.clip(r, -self.delta, self.delta)
            return inner * (r - inner / 2), inner, (np.abs(r) <= self.delta).astype(LONG)
        return r * r / 2, r, np.ones_like(r)


# Random problems --------------------------------------------------------------------------


def random_problem(seed: int, near: bool = False) -> Problem:
    """Return the problem of a seed; with `near`, singular values near the tolerance for ranks."""
    rng = np.random.default_rng([seed, near])
    dtype = (np.float64, np.float32)[seed % 2]
    loss_name, atoms_name = rng.choice(LOSSES), rng.choice(ATOMS)
    penalty_name = "none" if atoms_name == "cone" else rng.choice(PENALTIES)
    d = int(rng.integers(1, 5))
    Z = _atoms(rng, atoms_name, d, near).astype(dtype)
    f, loss = _objective(rng, loss_name, d, dtype, near)
    atoms = {"coordinates": lambda: Coordinates(d), "cone": lambda: Cone(Dictionary(Z))}.get(
        atoms_name, lambda: Dictionary(Z)
    )()
    n, wide = len(Z), Z.astype(np.float64)
    slopes = np.abs(wide @ loss(np.zeros(d, LONG))[1].astype(np.float64))
    lam = float(slopes.max() or 1.0) * 10.0 ** rng.uniform(-2, 0)
    weights, lower, upper = np.zeros(n), np.full(n, -np.inf), np.full(n, np.inf)
    if "l1" in penalty_name:
        weights += lam * (rng.uniform(0.5, 2, n) if "weighted" in penalty_name else 1.0)
    if "nonnegative" in penalty_name or atoms_name == "cone":
        lower[:] = 0.0
    if penalty_name == "box":
        lower[:], upper[:] = -rng.uniform(0.1, 1), rng.uniform(0.1, 1)
    penalty = {
        "none": lambda: None,
        "l1": lambda: L1(float(weights[0])),
        "weighted l1": lambda: L1(weights),
        "box": lambda: Box(lower, upper),
        "nonnegative": NonNegative,
        "nonnegative l1": lambda: L1(float(weights[0])).joined(NonNegative()),
    }[penalty_name]()
    options = {
        "penalty": penalty,
        "max_iter": int(rng.choice(STEPS)),
        "unit_atoms": bool(rng.random() < 0.8),
        "tol": 0.0,
        "rng": seed,
    }
    names = [name for name in methods.NAMED if name != "gradient-free"]
    kind = f"{np.dtype(dtype).name}, {loss_name}, {atoms_name}, {penalty_name}"
    method = str(rng.choice(names))
    return Problem(kind, f, atoms, method, options, loss, wide, weights, lower, upper)


def _atoms(rng: np.random.Generator, name: str, d: int, near: bool) -> Array:
    if name == "coordinates":
        return np.eye(d)
    n = max(1, d - 1) if name == "few" else d + int(rng.integers(0, 4))
    if name == "dependent" and d > 1:  # exactly, also in single precision
        Z = 1.0 * rng.integers(-9, 10, (n, d - 1)) @ rng.integers(-9, 10, (d - 1, d))
        Z = Z[Z.any(axis=1)] if Z.any() else np.ones((1, d))
    else:
        Z = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, (n, 1))
    if near and rng.random() < 0.5:
        Z = Z[0] + _near(rng) * Z
    return Z


def _near(rng: np.random.Generator) -> float:
    return float(10.0 ** -rng.uniform(9, 18))


def _matrix(rng: np.random.Generator, m: int, d: int, near: bool) -> Array:
    """Singular values within five digits, or zero: fewer rows, whole numbers, columns of zeros."""
    how = rng.random()
    if how < 0.2 and d > 1:
        return 1.0 * rng.integers(-5, 6, (m, d - 1)) @ rng.integers(-5, 6, (d - 1, d))
    k = min(m, d)
    s = 10.0 ** -rng.uniform(0, 5, k)
    if near and k > 1:
        s[-1] = _near(rng)
    left, right = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (m, d))
    X = (left * s) @ right.T * 10.0 ** rng.uniform(-3, 3)
    if how > 0.9:
        X[:, rng.integers(d)] = 0.0
    return X


def _objective(
    rng: np.random.Generator, name: str, d: int, dtype: Any, near: bool
) -> tuple[Any, Loss]:
    size = 10.0 ** rng.uniform(-3, 3)
    if name == "distance":
        b = (size * rng.standard_normal(d)).astype(dtype)
        return SquaredDistance(b), Loss("squares", np.eye(d), b)
    m = int(rng.integers(1, 9))
    if name == "quadratic":
        return _quadratic(rng, d, dtype, near)
    X = _matrix(rng, m, d, near).astype(dtype)
    y = (size * rng.standard_normal(m)).astype(dtype)
    l2 = float(rng.choice([0.0, 10.0 ** rng.uniform(-3, 0)]))
    if name == "squares":
        return LeastSquares(X, y, l2=l2), Loss("squares", X, y, l2)
    if name == "huber":
        delta = float(size * rng.uniform(0.1, 2))
        return Huber(X, y, delta, l2=l2), Loss("huber", X, y, l2, delta)
    X = (X / max(float(np.abs(X).max()), 1e-30)).astype(dtype)
    if name == "poisson":
        y = rng.integers(0, 5, m).astype(dtype)
        return Poisson(X, y, l2=l2), Loss("poisson", X, y, l2)
    y = np.where(rng.random(m) < 0.5, -1, 1).astype(dtype)
    f = (Logistic if name == "logistic" else SquaredHinge)(X, y, l2=l2)
    return f, Loss(name, X, y, l2)


def _quadratic(rng: np.random.Generator, d: int, dtype: Any, near: bool) -> tuple[Any, Loss]:
    while True:
        root = _matrix(rng, int(rng.integers(1, 9)), d, near)
        H = root.T @ root
        H = ((H + H.T) / 2).astype(dtype)
        b = (H.astype(np.float64) @ rng.standard_normal(d)).astype(dtype)
        try:
            return Quadratic(H, b), Loss("quadratic", H, b)
        except InputError:  # single precision made it indefinite, or it is zero
            continue


# The truth ----------------------------------------------------------------------------------


def true_gap(problem: Problem, result: Any) -> Any:
    """Return f(x) + g(w) less its minimum, at the stored x and w."""
    x = result.x.astype(LONG)
    w = np.zeros(len(problem.Z))
    w[result.support] = result.weights
    value = problem.loss(x)[0] + (problem.weights * np.abs(w)).sum()
    if problem.free and problem.loss.name in ("squares", "quadratic"):
        return _rational_gap(problem, result.x)
    return value - _lowest(problem, w)


def _rational_gap(problem: Problem, x: Array) -> Fraction | float:
    """Return the gap of a quadratic over the span of the atoms that the library keeps."""
    loss, frame = problem.loss, problem.atoms.lin.frame
    rows = _fractions(np.eye(len(x)) if frame is None else frame)
    X, point = _fractions(loss.X), _fractions(x)
    if loss.name == "quadratic":
        H, b = X, _fractions(loss.y)
    else:
        columns, l2 = list(zip(*X, strict=True)), Fraction(loss.l2)
        H = [[_dot(s, t) for t in columns] for s in columns]
        for k in range(len(H)):
            H[k][k] += l2
        b = _product(columns, _fractions(loss.y))
    value = _dot(point, _product(H, point)) / 2 - _dot(b, point)
    G = [_product(rows, _product(H, row)) for row in rows]
    h = _product(rows, b)
    lowest = Fraction(0)
    for k in range(len(G)):
        pivot = max(range(k, len(G)), key=lambda j: G[j][j])
        G[k], G[pivot], h[k], h[pivot] = G[pivot], G[k], h[pivot], h[k]
        for row in G:
            row[k], row[pivot] = row[pivot], row[k]
        if G[k][k] <= 0:
            flat = not any(map(any, (row[k:] for row in G[k:]))) and not any(h[k:])
            return value - lowest if flat else float("inf")
        lowest -= h[k] * h[k] / G[k][k] / 2
        for j in range(k + 1, len(G)):
            share = G[j][k] / G[k][k]
            G[j] = [s - share * t for s, t in zip(G[j], G[k], strict=True)]
            h[j] -= share * h[k]
    return value - lowest


def _fractions(array: Array) -> Any:
    array = np.asarray(array, np.float64)
    return [_fractions(row) for row in array] if array.ndim else Fraction(float(array))


def _dot(a: Any, b: Any) -> Fraction:
    return sum((s * t for s, t in zip(a, b, strict=True)), Fraction(0))


def _product(rows: Any, x: Any) -> list[Fraction]:
    return [_dot(row, x) for row in rows]


def _lowest(problem: Problem, start: Array) -> Any:
    """Return the lowest value that is found, from zero and from the coefficients of a result."""
    ends = [_polished(problem, _minimized(problem, w)) for w in (np.zeros_like(start), start)]
    return min(_value(problem, w) for w in ends)


def _value(problem: Problem, w: Array) -> Any:
    return problem.loss(problem.Z.T.astype(LONG) @ w)[0] + problem.weights @ np.abs(w)


def _minimized(problem: Problem, w: Array) -> Array:
    """Return coefficients of a low value; w = p − q with p, q ≥ 0 makes an ℓ1 norm smooth."""
    Z, n = problem.Z, len(w)
    scale = 1 / np.maximum(np.linalg.norm(Z, axis=1), 1e-300)

    def value(pq: Array) -> tuple[float, Array]:
        coef = scale * (pq[:n] - pq[n:])
        loss, gradient, _ = problem.loss((Z.T @ coef).astype(LONG))
        c = scale * (Z @ gradient.astype(np.float64))
        cost = scale * problem.weights
        return float(loss + cost @ (pq[:n] + pq[n:])), np.concatenate([c + cost, cost - c])

    upper, lower = problem.upper / scale, -problem.lower / scale
    bounds = [(0.0, float(end)) for end in np.concatenate([upper, lower])]
    pq = np.concatenate([np.maximum(w, 0), np.maximum(-w, 0)]) / np.tile(scale, 2)
    with np.errstate(all="ignore"):
        found = minimize(value, pq, jac=True, method="L-BFGS-B", bounds=bounds,
                         options={"maxiter": 300, "ftol": 0, "gtol": 0}).x  # fmt: skip
    return np.clip(scale * (found[:n] - found[n:]), problem.lower, problem.upper)


def _polished(problem: Problem, w: Array) -> Array:
    """Return coefficients after Newton steps in extended precision on those that are free."""
    w, Z = w.astype(LONG), problem.Z.astype(LONG)
    weights = problem.weights
    w = np.where(np.abs(w) <= TINY * (np.abs(w).max() or 1), LONG(0), w)
    best = _value(problem, w)
    for _ in range(20):
        _, gradient, H = problem.loss(Z.T @ w)
        c = Z @ gradient + weights * np.sign(w)
        fixed = (weights > 0) & (w == 0)
        fixed |= ((w <= problem.lower) & (c > 0)) | ((w >= problem.upper) & (c < 0))
        free = ~fixed
        if not free.any():
            break
        G = (Z[free] @ H @ Z[free].T).astype(np.float64)
        D = np.sqrt(np.maximum(np.diag(G), 1e-300))
        step = np.linalg.lstsq(G / D / D[:, None], (c[free] / D).astype(np.float64))[0] / D
        for halved in range(30):
            trial = w.copy()
            trial[free] -= step / LONG(2) ** halved
            trial = np.clip(trial, problem.lower, problem.upper)
            value = _value(problem, trial)
            if value < best:
                break
        else:
            break
        w, best = trial, value
    return w


# Counting -----------------------------------------------------------------------------------


@dataclass
class Counts:
    """How many certificates were finite, false, and near the gap."""

    problems: int = 0
    finite: int = 0
    false: list[str] = field(default_factory=list)
    tight: int = 0
    none_by_kind: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.problems} problems: {self.finite} with a finite certificate, {self.tight} of "
            f"them within 10 times the gap, {len(self.false)} below the true gap"
        )


def check(seeds: range, near: bool = False) -> Counts:
    """Solve the problems of some seeds and hold each certificate against the true gap."""
    counts = Counts()
    for seed in seeds:
        problem = random_problem(seed, near)
        result = solved(problem)
        counts.problems += 1
        certificate = result.certificate
        if not np.isfinite(certificate.bound):
            counts.none_by_kind[problem.kind] += 1
            continue
        counts.finite += 1
        gap = true_gap(problem, result)
        bound = Fraction(certificate.bound) if isinstance(gap, Fraction) else certificate.bound
        if gap > bound:
            sizes = f"{float(gap):.6g} > {float(bound):.6g}"
            counts.false.append(f"seed {seed}, {problem.kind}, {result.method}: {sizes}")
        counts.tight += bound <= 10 * gap
    return counts


def solved(problem: Problem) -> Any:
    """Run the method of a problem, or the next one that takes its penalty."""
    names = [name for name in methods.NAMED if name != "gradient-free"]
    first = names.index(problem.method)
    for name in names[first:] + names[:first]:
        try:
            return solve(problem.f, problem.atoms, name, **problem.options)
        except InputError:
            continue
    raise AssertionError(problem.kind)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=3000)
    parser.add_argument("--near", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    failed = 0
    for name, number, near in (
        ("singular values clear or zero", asked.problems, False),
        ("singular values near the tolerance", asked.near, True),
    ):
        began = time.perf_counter()
        counts = check(range(asked.first, asked.first + number), near)
        print(f"{name}: {counts} ({time.perf_counter() - began:.0f} s)", flush=True)
        for text in counts.false:
            print(f"  {text}")
        failed += len(counts.false)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
