"""Objectives and penalties by their definitions, in extended precision, with bounds on rounding.

Nothing here calls the library. What the library computes with relative precision eps may differ
from a value here by ``SLACK * eps`` times the size of the numbers that it is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
LD = np.longdouble
SLACK = 64.0
"""Bounds on rounding are made for the order of magnitude, and multiplied by this."""


def exact(array: Any) -> Array:
    """Return the numbers that the library computes with, in extended precision."""
    array = np.asarray(array)
    return (array if array.dtype.kind == "f" else array.astype(np.float64)).astype(LD)


def norm(array: Array) -> Any:
    """Return the Euclidean norm of a vector, or of each row of a matrix."""
    return np.sqrt((array * array).sum(axis=-1))


def eps_of(dtype: Any) -> float:
    """Return the relative precision of a type."""
    return float(np.finfo(dtype).eps)


class Loss:
    """Σ wᵢ ℓ(xᵢᵀx, yᵢ) + l2/2 ‖x‖², with the name of ℓ."""

    def __init__(
        self, kind: str, X: Any, y: Any, l2: float = 0.0, weights: Any = None, delta: float = 1.0
    ) -> None:
        self.kind, self.X, self.y, self.l2, self.delta = kind, exact(X), exact(y), LD(l2), LD(delta)
        self.weights = np.ones(len(self.y), LD) if weights is None else exact(weights)
        if kind in ("logistic", "hinge"):
            self.y = np.where(self.y > 0, LD(1), LD(-1))

    @property
    def is_quadratic(self) -> bool:
        """Whether the Hessian is constant."""
        return self.kind == "squares"

    def value(self, x: Array) -> Any:
        """Return f(x)."""
        return self.weights @ self._losses(self.X @ x) + self.l2 * (x @ x) / 2

    def gradient(self, x: Array) -> Array:
        """Return ∇f(x)."""
        return self.X.T @ (self.weights * self._slopes(self.X @ x)) + self.l2 * x

    def hessian(self, x: Array) -> Array:
        """Return ∇²f(x), where ℓ has a second derivative."""
        curvatures = self.weights * self._curvatures(self.X @ x)
        return (self.X.T * curvatures) @ self.X + self.l2 * np.eye(len(x), dtype=LD)

    def bound(self) -> Array:
        """Return an upper bound on the Hessian at every point; infinite for Poisson."""
        most = {"logistic": LD(0.25), "poisson": LD(np.inf)}.get(self.kind, LD(1))
        return (self.X.T * (most * self.weights)) @ self.X + self.l2 * np.eye(
            self.X.shape[1], dtype=LD
        )

    def sizes(self, x: Array) -> tuple[Any, Array]:
        """Return the sizes of the terms of f(x), and of each entry of ∇f(x).

        x is the vector of the absolute values of what the point is summed from.
        """
        y = np.abs(self.y)
        reach = np.abs(self.X) @ x + (y if self.kind in ("squares", "huber") else 1)
        losses, slopes = reach**2, reach
        if self.kind == "logistic":
            losses = reach
        if self.kind == "poisson":
            with np.errstate(over="ignore"):
                slopes = np.exp(reach) * reach + y
                losses = slopes * reach
        total = self.weights @ losses + self.l2 * (x @ x)
        return total, np.abs(self.X).T @ (self.weights * slopes) + self.l2 * x

    def _losses(self, u: Array) -> Array:
        if self.kind == "squares":
            return (u - self.y) ** 2 / 2
        if self.kind == "logistic":
            return np.logaddexp(LD(0), -self.y * u)
        if self.kind == "hinge":
            return np.maximum(1 - self.y * u, 0) ** 2 / 2
        if self.kind == "poisson":
            return np.exp(u) - self.y * u
        r = np.abs(u - self.y)
        return np.where(r <= self.delta, r * r / 2, self.delta * (r - self.delta / 2))

    def _slopes(self, u: Array) -> Array:
        if self.kind == "squares":
            return u - self.y
        if self.kind == "logistic":
            return -self.y / (1 + np.exp(np.clip(self.y * u, -11000, 11000)))
        if self.kind == "hinge":
            return -self.y * np.maximum(1 - self.y * u, 0)
        if self.kind == "poisson":
            return np.exp(u) - self.y
        return np.clip(u - self.y, -self.delta, self.delta)

    def _curvatures(self, u: Array) -> Array:
        if self.kind == "logistic":
            share = 1 / (1 + np.exp(np.clip(u, -11000, 11000)))
            return share * (1 - share)
        if self.kind == "poisson":
            return np.exp(u)
        return np.ones_like(u)


class Bowl:
    """½xᵀHx − bᵀx."""

    kind = "quadratic"
    is_quadratic = True

    def __init__(self, H: Any, b: Any) -> None:
        self.H, self.b = exact(H), exact(b)

    def value(self, x: Array) -> Any:
        """Return f(x)."""
        return x @ self.H @ x / 2 - self.b @ x

    def gradient(self, x: Array) -> Array:
        """Return ∇f(x)."""
        return (self.H + self.H.T) @ x / 2 - self.b

    def hessian(self, x: Array) -> Array:
        """Return H."""
        return (self.H + self.H.T) / 2

    def bound(self) -> Array:
        """Return H."""
        return (self.H + self.H.T) / 2

    def sizes(self, x: Array) -> tuple[Any, Array]:
        """Return the sizes of the terms of f(x), and of each entry of ∇f(x)."""
        terms = np.abs(self.H) @ x + np.abs(self.b)
        return x @ terms, terms


@dataclass(frozen=True)
class Charge:
    """The penalty Σ λ_j|w_j| on lower ≤ w ≤ upper."""

    weights: Array
    lower: Array
    upper: Array

    def value(self, w: Array) -> Any:
        """Return g(w)."""
        return (self.weights * np.abs(w)).sum()

    def violation(self, w: Array, c: Array) -> Array:
        """Return the distance of −c_j from ∂g_j(w_j) for each j."""
        left = np.where(w > 0, c + self.weights, c - self.weights)  # derivative to the left
        right = np.where(w < 0, c - self.weights, c + self.weights)
        down = np.where(w <= self.lower, 0, np.maximum(left, 0))
        up = np.where(w >= self.upper, 0, np.maximum(-right, 0))
        return np.maximum(down, up)

    def prox(self, j: int, v: Any, h: Any) -> Any:
        """Return the minimizer of h/2 (w − v)² + g_j(w)."""
        shrunk = np.sign(v) * max(abs(v) - self.weights[j] / h, LD(0))
        return min(max(shrunk, self.lower[j]), self.upper[j])


def no_charge(n: int, *, nonnegative: bool = False) -> Charge:
    """Return the penalty that is zero, or infinite for negative coefficients alone."""
    infinite = np.full(n, LD(np.inf))
    return Charge(np.zeros(n, LD), np.zeros(n, LD) if nonnegative else -infinite, infinite)


def descend(f: Any, atoms: Array, charge: Charge, w: Array, rounds: int = 60) -> Any:
    """Return the value of f(Σ w_j z_j) + g(w) after rounds of coordinate descent from w.

    Curvatures are upper bounds, so that no step raises the value: the result is the value of a
    feasible point, which refutes every bound on f + g − min that is below the decrease.
    """
    w = w.copy()
    with np.errstate(all="ignore"):
        curvatures = np.einsum("ij,jk,ik->i", atoms, f.bound(), atoms)
        x = w @ atoms
        start = best = f.value(x) + charge.value(w)
        for _ in range(rounds):
            for j in np.flatnonzero((curvatures > 0) & np.isfinite(curvatures)):
                v = w[j] - (atoms[j] @ f.gradient(x)) / curvatures[j]
                new = charge.prox(int(j), v, curvatures[j])
                x, w[j] = x + (new - w[j]) * atoms[j], new
            value = f.value(w @ atoms) + charge.value(w)
            if not value < best - 1e-6 * abs(start - best):
                return min(best, value)
            best = value
    return best


def least_value(f: Any, atoms: Array) -> Any:
    """Return a value that a quadratic f falls to over the span of the rows of `atoms`."""
    unit = atoms / norm(atoms)[:, None]
    zero = np.zeros(atoms.shape[1], LD)
    H, c = unit @ f.hessian(zero) @ unit.T, unit @ f.gradient(zero)
    best = f.value(zero)
    scale = np.abs(H).max()
    if not scale > 0:
        return best
    spectrum, axes = np.linalg.eigh(((H + H.T) / (2 * scale)).astype(np.float64))
    for cut in (1e-15, 1e-11, 1e-6):
        used = spectrum > cut * spectrum[-1]
        inverse = (axes[:, used] / spectrum[used]) @ axes[:, used].T
        w = np.zeros(len(c), LD)
        for _ in range(4):  # iterative refinement
            w = w - inverse @ ((H @ w + c) / scale).astype(np.float64)
        best = min(best, f.value(w @ unit))
    return best
