"""Steppers of the parameter-free acceleration, looked into while they run."""

import numpy as np
from scipy.optimize import minimize

from pursuit import Huber, Logistic, Quadratic, SquaredDistance, methods
from pursuit.objectives.problem import Problem
from pursuit.rules.run import Run


class Watched:
    """A run of a method on a problem, one step at a time, with its x, v, β and bank."""

    def __init__(self, f, atoms, seed=0, **options):
        self.f = f
        self.method = methods.accelerated(**options)
        problem = Problem(f, atoms)
        self.run = Run(problem, seed)
        point = self.method.advance.point(problem, np.zeros(f.shape))
        self.stepper = self.method.momentum.start(self.run, self.method.advance, point)

    def step(self):
        progress = self.stepper.step()
        self.run.t += 1
        return progress

    @property
    def x(self):
        return self.stepper.x.vector.copy()

    @property
    def v(self):
        memory = self.run.memory
        if "away.coef" not in memory:
            return self.stepper.v.vector.copy()
        return self.x + self.run.problem.atoms.combine(memory["away.coef"])

    @property
    def beta(self):
        return float(self.run.memory["beta"])

    @property
    def bank(self):
        return float(self.run.memory["bank"])


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
