"""Steppers of the acceleration without parameters, looked into while they run, and problems."""

import numpy as np
from scipy.optimize import minimize

from pursuit import (
    Dictionary,
    Huber,
    LeastSquares,
    Logistic,
    Quadratic,
    SquaredDistance,
    methods,
)
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.rules.run import Run


class Watched:
    """A run of a method on a problem, one step at a time, with its x, v and β."""

    def __init__(self, f, atoms, seed=0, momentum=None, **options):
        self.f = f
        self.method = methods.accelerated(**options)
        if momentum is not None:
            self.method = Method("ours", self.method.advance, momentum)
        self.run = Run(Problem(f, atoms), seed)
        point = self.method.advance.point(self.run.problem, f.origin(atoms))
        self.stepper = self.method.momentum.start(self.run, self.method.advance, point)

    @np.errstate(over="ignore", invalid="ignore")  # as `solve` does
    def step(self):
        progress = self.stepper.step()
        self.run.t += 1
        return progress

    @property
    def x(self):
        return self.stepper.x.vector.copy()

    @property
    def coef(self):
        return self.stepper.x.coef.astype(np.float64)

    @property
    def v(self):
        if "v" in self.stepper.points():
            return self.stepper.v.vector.copy()
        return self.run.problem.atoms.combine(self.stepper.memory.v)

    @property
    def beta(self):
        return self.stepper.beta

    @property
    def phases(self):
        return self.stepper.memory.phases

    @property
    def bank(self):
        return self.stepper.memory.bank


def minimiser(f, Z):
    """argmin of f over the span of the rows of Z, by another method."""
    _, s, vt = np.linalg.svd(Z / np.linalg.norm(Z, axis=1)[:, None])
    basis = vt[: np.count_nonzero(s > 1e-10 * s[0])]
    if isinstance(f, (SquaredDistance, Quadratic)):
        H = basis @ f.hessian(basis.T) if isinstance(f, Quadratic) else np.eye(len(basis))
        return basis.T @ np.linalg.solve(H, -basis @ f.gradient(np.zeros(f.shape)))
    found = minimize(
        lambda a: f.value(a @ basis),
        np.zeros(len(basis)),
        jac=lambda a: basis @ f.gradient(a @ basis),
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 10_000},
    )
    a = found.x
    for _ in range(5):  # Newton steps from there, to the last digit
        X = f.X @ basis.T
        H = (X.T * f.bends(f.X @ (a @ basis))) @ X + f.l2 * np.eye(len(basis))
        a = a - np.linalg.solve(H, basis @ f.gradient(a @ basis))
    return a @ basis


def metric(Z, p=None):
    """P, the pseudo-inverse of P̃ = Σ p_j z_j z_jᵀ."""
    p = np.full(len(Z), 1 / len(Z)) if p is None else p
    return np.linalg.pinv((Z.T * p) @ Z, rcond=1e-12)


def problems(count, seed=0, kinds=("quadratic", "logistic", "huber")):
    """Small random problems: plain, coherent, duplicate and rank-deficient atoms."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        d, n = int(rng.integers(2, 9)), int(rng.integers(2, 16))
        Z = rng.standard_normal((n, d))
        if k % 4 == 1:
            Z += 3 * rng.standard_normal(d)
        if k % 4 == 2:
            Z[n // 2 :] = Z[: n - n // 2]
        if k % 4 == 3:
            Z[:, -1] = Z[:, 0]
        Z *= 10 ** rng.uniform(-1, 1, (n, 1))
        yield _objective(kinds[k % len(kinds)], d, rng), Z


def _objective(kind, d, rng):
    if kind == "quadratic":
        root = rng.standard_normal((d + 1, d))
        return Quadratic(root.T @ root, rng.standard_normal(d))
    X = rng.standard_normal((4 * d, d))
    if kind == "logistic":
        return Logistic(X, np.where(rng.random(4 * d) < 0.5, -1, 1), l2=0.1)
    return Huber(X, rng.standard_t(1.5, 4 * d), delta=0.5, l2=0.1)


# A thousand problems of every kind --------------------------------------------------------------

LOSSES = ("distance", "least squares", "quadratic", "logistic", "huber")


def any_problem(number):
    """(f, atoms) in 1 … 8 dimensions with 1 … 16 atoms.

    A third of them is in float32, half has wild scales (columns × 10^U(−2, 2), atoms and signals
    × 10^U(−3, 3)), atoms are plain, coherent, duplicate or rank-deficient, and linear models have
    a ridge or none.
    """
    rng = np.random.default_rng(number)
    d, n = int(rng.integers(1, 9)), int(rng.integers(1, 17))
    dtype = np.float32 if number // 5 % 3 == 2 else np.float64
    wild = bool(number // 15 % 2)
    Z = _atoms(rng, number // 30 % 4, n, d)
    columns, size = np.ones(d), 1.0
    if wild:
        Z *= 10.0 ** rng.uniform(-3, 3, (n, 1))
        columns, size = 10.0 ** rng.uniform(-2, 2, d), 10.0 ** rng.uniform(-3, 3)
    X = (rng.standard_normal((3 * d, d)) * columns).astype(dtype)
    ridge = 0.1 * float((X**2).mean()) * (number // 7 % 2)
    return _loss(rng, LOSSES[number % 5], X, size, ridge), Dictionary(Z.astype(dtype))


def _atoms(rng, kind, n, d):
    Z = rng.standard_normal((n, d))
    if kind == 1:
        return 0.3 * Z + rng.standard_normal(d)
    if kind == 2:
        Z[n // 2 :] = Z[: n - n // 2] * rng.choice([-1, 1], (n - n // 2, 1))
    if kind == 3:
        rank = max(1, d // 2)
        return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return Z


def _loss(rng, kind, X, size, ridge):
    (samples, d), dtype = X.shape, X.dtype
    if kind == "distance":
        return SquaredDistance((size * rng.standard_normal(d)).astype(dtype))
    if kind == "least squares":
        return LeastSquares(X, (size * rng.standard_normal(samples)).astype(dtype))
    if kind == "quadratic":
        b = X.T @ (size * rng.standard_normal(samples))
        return Quadratic((X.T @ X).astype(dtype), b.astype(dtype))
    if kind == "logistic":
        return Logistic(X, rng.choice([-1, 1], samples), l2=ridge)
    y = (size * rng.standard_t(1.5, samples)).astype(dtype)
    return Huber(X, y, delta=size * 10.0 ** rng.uniform(-2, 0), l2=ridge)
