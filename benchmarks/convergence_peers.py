"""What a user would use otherwise, in coefficient space, counted in products with the atoms.

x = Zᵀa, so that a value and a gradient in a cost two products: one to combine all atoms, one to
look at all of them. Each function returns, for every level, the products and the seconds after
which f(x) − f* first was at most level·(f(x0) − f*).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from convergence_problems import Case
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg, lsqr

from pursuit.geometry import preconditioner

Marks = dict[float, tuple[float, float]]
"""level ↦ (products, seconds)."""


class Watch:
    """Notes when the levels are reached; the clock stops while it looks."""

    def __init__(self, case: Case, levels: list[float]) -> None:
        self.case, self.left, self.marks = case, sorted(levels, reverse=True), {}
        self.gap = case.gap
        self.paused, self.begun = 0.0, time.perf_counter()

    def look(self, value: Callable[[], float], products: float) -> bool:
        """True when all levels are reached."""
        now = time.perf_counter()
        rest = (value() - self.case.least) / self.gap
        while self.left and rest <= self.left[0]:
            self.marks[self.left.pop(0)] = (products, now - self.begun - self.paused)
        self.paused += time.perf_counter() - now
        return not self.left


class Reached(Exception):
    """Ends a solver that has no other way to be stopped."""


def images(case: Case) -> np.ndarray:
    """What the atoms look like to a quadratic, as columns."""
    Z = case.atoms.matrix.T
    return case.f.A @ Z if hasattr(case.f, "A") else Z


def half_square(r: np.ndarray) -> float:
    return 0.5 * float(r @ r)


def conjugate_gradients(case: Case, levels: list[float], cap: int) -> Marks:
    """CG on MᵀMa = Mᵀb, M the images of the atoms: two products an iteration."""
    M, b = images(case), case.f.b
    watch, steps = Watch(case, levels), 0

    def note(a: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        if watch.look(lambda: half_square(M @ a - b), 2 * steps):
            raise Reached

    size = M.shape[1]
    normal = LinearOperator((size, size), matvec=lambda a: M.T @ (M @ a), dtype=float)
    with suppress(Reached):
        cg(normal, M.T @ b, rtol=0, atol=0, maxiter=cap, callback=note)
    return watch.marks


def lsqr_steps(case: Case, levels: list[float], cap: int) -> Marks:
    """LSQR on Ma = b: two products an iteration, and one to begin with.

    SciPy's has no callback; its residual never grows, so the number of iterations that a level
    needs is found by bisection.
    """
    M, b = images(case), case.f.b
    reached: dict[int, tuple[float, float]] = {}

    def run(steps: int) -> tuple[float, float]:
        if steps not in reached:
            begun = time.perf_counter()
            a = lsqr(M, b, atol=0, btol=0, conlim=0, iter_lim=steps)[0]
            spent = time.perf_counter() - begun
            reached[steps] = (half_square(M @ a - b) - case.least) / case.gap, spent
        return reached[steps]

    marks = {}
    for level in sorted(levels, reverse=True):
        low, high = 0, 1
        while run(high)[0] > level and high < cap:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if run(middle)[0] > level else (low, middle)
        if run(high)[0] <= level:
            marks[level] = (1 + 2 * high, run(high)[1])
    return marks


def quasi_newton(case: Case, levels: list[float], cap: int, scaled: bool = False) -> Marks:
    """L-BFGS in a: two products for each value with its gradient; or in a/√p, p our sampling."""
    f, atoms = case.f, case.atoms
    scale = np.sqrt(preconditioner(f, atoms).p) if scaled else np.ones(len(atoms))
    scale /= scale.mean()  # a first step of length one is not to suffer from it
    watch, calls = Watch(case, levels), 0

    def both(a: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        x = atoms.combine(scale * a)
        image = f.image(x)
        return f.value_at(x, image), scale * atoms.correlate(f.gradient_at(x, image))

    def note(a: np.ndarray) -> None:
        if watch.look(lambda: f.value(atoms.combine(scale * a)), 2 * calls):
            raise Reached

    options = {"maxiter": cap, "maxfun": 2 * cap, "ftol": 0, "gtol": 0, "maxcor": 10}
    with suppress(Reached):
        zero = np.zeros(len(atoms))
        minimize(both, zero, jac=True, method="L-BFGS-B", callback=note, options=options)
    return watch.marks
