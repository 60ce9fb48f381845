"""Independent recomputations, in extended precision and range, of what the library says.

Nothing here calls the library. Extended precision has 64 bits on x86 and a range of 1e±4932, so
that what float64 overflows or loses is a number here. A bound on rounding, called slack, says how
far a right answer of a precision eps may be from ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

Array = np.ndarray
LD = np.longdouble
EPS = float(np.finfo(LD).eps)
FLOOR = np.finfo(LD).smallest_normal
"""Above zero, for a division."""
STEEP = 100.0
"""How many times larger than what rounding may make of it a slope is that counts as one."""
ROOM = 16.0
"""What every bound on rounding is multiplied by: bounds are made for the order of magnitude."""


def exact(array: Any) -> Array:
    """The numbers that the library takes for `array`, in extended precision."""
    given = np.asarray(array)
    if given.dtype not in (np.float32, np.float64):
        given = given.astype(np.float64)
    return given.astype(LD)


def norm(vector: Array) -> Any:
    """‖·‖₂ of a vector, or of each row of a matrix."""
    return np.sqrt((vector * vector).sum(axis=-1))


def eps_of(dtype: Any) -> float:
    return float(np.finfo(dtype).eps)


def tiny_of(dtype: Any) -> LD:
    """What products may lose where they underflow."""
    return LD(np.finfo(dtype).smallest_normal)


# Objectives --------------------------------------------------------------------------------


class Model(ABC):
    """A convex f on vectors, and what rounding may do to its values and gradients."""

    size: int

    @abstractmethod
    def value(self, x: Array) -> Any: ...

    @abstractmethod
    def gradient(self, x: Array) -> Array: ...

    @abstractmethod
    def slack(self, x: Array, eps: float, tiny: Any) -> tuple[Any, Array]:
        """Bounds on the error of f(x) and of each entry of ∇f(x) at relative precision eps."""

    @abstractmethod
    def bends(self, rows: Array) -> Array:
        """zᵀ∇²f z for each row z; for f that is no quadratic an upper bound over all x."""

    quadratic = True

    def told(self, gradient: Array, eps: float) -> Array:
        """A gradient without what may be rounding of the data that f was made of."""
        return gradient

    def hessian_rows(self, rows: Array) -> Array:
        """H z for each row z, where f is a quadratic."""
        raise NotImplementedError


class Squares(Model):
    """½‖Ax − b‖²; A is the identity where it is None."""

    def __init__(self, A: Any, b: Any) -> None:
        self.b = exact(b).reshape(-1)
        self.A = np.eye(len(self.b), dtype=LD) if A is None else exact(A)
        self.plain = A is None
        self.size = self.A.shape[1]

    def value(self, x: Array) -> Any:
        r = self.A @ x - self.b
        return r @ r / 2

    def gradient(self, x: Array) -> Array:
        return self.A.T @ (self.A @ x - self.b)

    def slack(self, x: Array, eps: float, tiny: Any) -> tuple[Any, Array]:
        m, d = self.A.shape
        r, size = np.abs(self.A @ x - self.b), np.abs(self.A) @ np.abs(x) + np.abs(self.b)
        dr = eps * (2 if self.plain else d + 2) * size + d * tiny
        value = (r + dr) @ dr + m * eps * (r @ r) + m * tiny
        return value, np.abs(self.A).T @ (dr + m * eps * r) + m * tiny

    def hessian_rows(self, rows: Array) -> Array:
        return (rows @ self.A.T) @ self.A

    def bends(self, rows: Array) -> Array:
        images = rows @ self.A.T
        return (images * images).sum(axis=1)


class Bowl(Model):
    """½xᵀHx − bᵀx."""

    def __init__(self, H: Any, b: Any) -> None:
        self.H, self.b = exact(H), exact(b)
        self.size = len(self.b)

    def value(self, x: Array) -> Any:
        return x @ self.H @ x / 2 - self.b @ x

    def gradient(self, x: Array) -> Array:
        return (self.H + self.H.T) @ x / 2 - self.b

    def slack(self, x: Array, eps: float, tiny: Any) -> tuple[Any, Array]:
        # H is symmetric up to the square root of its precision, and either half may be used.
        size, uneven = np.abs(self.H) @ np.abs(x), np.abs(self.H - self.H.T) @ np.abs(x)
        d = self.size
        value = 2 * d * eps * np.abs(x) @ (size + np.abs(self.b)) + d * tiny
        return value, d * eps * (size + np.abs(self.b)) + uneven + d * tiny

    def told(self, gradient: Array, eps: float) -> Array:
        # Where H = AᵀA and b = Aᵀy were computed, b need not vanish where H does: its part there
        # is in proportion to √eps, and a steep one alone shows that f has no minimum.
        top = np.abs(self.H).max()
        if not top > 0:
            return gradient
        spectrum, axes = np.linalg.eigh(((self.H + self.H.T) / (2 * top)).astype(np.float64))
        flat = exact(axes[:, spectrum <= self.size * eps])
        drowned = flat @ (flat.T @ gradient)
        steep = STEEP * np.sqrt(self.size * eps) * norm(self.b)
        return gradient - drowned if norm(drowned) <= steep else gradient

    def hessian_rows(self, rows: Array) -> Array:
        return rows @ (self.H + self.H.T) / 2

    def bends(self, rows: Array) -> Array:
        return ((rows @ self.H) * rows).sum(axis=1)


class Losses(Model):
    """Σ wᵢ ℓ(xᵢᵀβ, yᵢ) + l2/2‖β‖²; a subclass says what ℓ is."""

    quadratic = False
    bend: Any = LD(1)
    """The largest second derivative of ℓ."""

    def __init__(self, X: Any, y: Any, l2: float, weights: Any) -> None:
        self.X, self.y, self.l2 = exact(X), exact(y), LD(l2)
        self.w = np.ones(len(self.y), LD) if weights is None else exact(weights)
        self.size = self.X.shape[1]

    def value(self, x: Array) -> Any:
        return self.w @ self._losses(self.X @ x) + self.l2 * (x @ x) / 2

    def gradient(self, x: Array) -> Array:
        return self.X.T @ (self.w * self._slopes(self.X @ x)) + self.l2 * x

    def slack(self, x: Array, eps: float, tiny: Any) -> tuple[Any, Array]:
        N, d = self.X.shape
        u = self.X @ x
        du = (d + 2) * eps * (np.abs(self.X) @ np.abs(x) + np.abs(self.y)) + d * tiny
        slopes, bend = np.abs(self._slopes(u)), self._steepest(u + du)
        lost, dulled = self._rounded(u)
        reach = du * (slopes + bend * du) + 4 * eps * lost
        steep = bend * du + 4 * eps * (slopes + dulled)
        value = self.w @ reach + N * eps * (self.w @ lost) + d * eps * self.l2 * (x @ x)
        gradient = np.abs(self.X).T @ (self.w * (steep + N * eps * slopes))
        return value + N * tiny, gradient + d * eps * self.l2 * np.abs(x) + N * tiny

    def bends(self, rows: Array) -> Array:
        images = rows @ self.X.T
        return self.bend * (images * images) @ self.w + self.l2 * (rows * rows).sum(axis=1)

    def _steepest(self, u: Array) -> Any:
        """The second derivative of ℓ up to u."""
        return self.bend

    @abstractmethod
    def _losses(self, u: Array) -> Array: ...

    @abstractmethod
    def _slopes(self, u: Array) -> Array: ...

    def _rounded(self, u: Array) -> tuple[Array, Any]:
        """How large the numbers are that ℓ and ℓ′ are made of."""
        return np.abs(self._losses(u)), 0


class LogisticLoss(Losses):
    """log(1 + exp(−yu)), for labels ±1 or 0 and 1."""

    bend = LD(0.25)

    def __init__(self, X: Any, y: Any, l2: float, weights: Any) -> None:
        super().__init__(X, _signs(y), l2, weights)

    def _losses(self, u: Array) -> Array:
        return np.logaddexp(LD(0), -self.y * u)

    def _slopes(self, u: Array) -> Array:
        small = np.exp(-np.abs(u))  # of an exponential that cannot overflow
        share = np.where(self.y * u >= 0, small, 1) / (1 + small)
        return -self.y * share

    def _rounded(self, u: Array) -> tuple[Array, Any]:
        return np.abs(self._losses(u)) + 1, 1


class HingeLoss(Losses):
    """max(0, 1 − yu)²/2."""

    def __init__(self, X: Any, y: Any, l2: float, weights: Any) -> None:
        super().__init__(X, _signs(y), l2, weights)

    def _losses(self, u: Array) -> Array:
        return np.maximum(1 - self.y * u, 0) ** 2 / 2

    def _slopes(self, u: Array) -> Array:
        return -self.y * np.maximum(1 - self.y * u, 0)


class HuberLoss(Losses):
    """r²/2 up to |r| = delta, and linear beyond, of r = u − y."""

    def __init__(self, X: Any, y: Any, l2: float, weights: Any, delta: float) -> None:
        super().__init__(X, y, l2, weights)
        self.delta = LD(delta)

    def _losses(self, u: Array) -> Array:
        r = np.abs(u - self.y)
        return np.where(r <= self.delta, r * r / 2, self.delta * (r - self.delta / 2))

    def _slopes(self, u: Array) -> Array:
        return np.clip(u - self.y, -self.delta, self.delta)


class PoissonLoss(Losses):
    """exp(u) − yu, whose second derivative has no bound."""

    bend = LD(np.inf)

    def _losses(self, u: Array) -> Array:
        return np.exp(u) - self.y * u

    def _slopes(self, u: Array) -> Array:
        return np.exp(u) - self.y

    def _steepest(self, u: Array) -> Any:
        return np.exp(u)

    def _rounded(self, u: Array) -> tuple[Array, Any]:
        return np.exp(u) + np.abs(self.y * u), np.exp(u) + self.y

    def bends(self, rows: Array) -> Array:
        return np.full(len(rows), LD(np.inf))


def _signs(y: Any) -> Array:
    """Labels −1 and 1; 0 stands for −1."""
    labels = exact(y)
    return 2 * labels - 1 if labels.min() >= 0 else labels


# The least value ---------------------------------------------------------------------------

CUTS = (1e-15, 1e-11, 1e-6)
"""Shares of the largest eigenvalue below which a direction is left out, one try each."""


def least_value(model: Model, rows: Array) -> Any:
    """A value that f falls to, up to its rounding, over the span of the rows; f* or a bit more.

    For a quadratic. Whatever is found is the value at Σ w_j z_j for coefficients w that are kept,
    so that it is never below f* by more than what extended precision loses in that sum.
    """
    unit = rows / norm(rows)[:, None]
    best = model.value(np.zeros(model.size, LD))
    for w in _minimisers(model, unit):
        y = w @ unit
        lost = 4 * len(w) * EPS * np.abs(w).sum()
        slack = model.slack(y, 4 * EPS, LD(0))[0]
        bend = max(model.bends(unit).max(), LD(0))
        value = model.value(y) + slack + lost * (norm(model.gradient(y)) + bend * len(w) * lost)
        if np.isfinite(value):
            best = min(best, value)
    return best


def _minimisers(model: Model, unit: Array) -> list[Array]:
    """Coefficients of the unit rows with which a quadratic is about least."""
    G = model.hessian_rows(unit) @ unit.T
    c = unit @ model.gradient(np.zeros(model.size, LD))
    top, steep = np.abs(G).max(), np.abs(c).max()
    if not (top > 0 and steep > 0 and np.isfinite(top) and np.isfinite(steep)):
        return []
    G, c = (G + G.T) / (2 * top), c / steep
    spectrum, axes = np.linalg.eigh(G.astype(np.float64))
    found = []
    for cut in CUTS:
        kept = spectrum > cut * spectrum[-1]
        inverse = (axes[:, kept] / spectrum[kept]) @ axes[:, kept].T
        w = np.zeros(len(c), LD)
        for _ in range(4):  # the error of the inverse goes with each correction
            w = w - inverse @ (G @ w + c).astype(np.float64)
        found.append(w * (steep / top))
    return found


def least_value_in_cone(model: Squares, rows: Array) -> Any:
    """A value that ½‖Ax − b‖² falls to over non-negative combinations of the rows."""
    from scipy.optimize import nnls

    images = rows @ model.A.T
    seen, size = norm(images) > 0, np.abs(model.b).max()
    if not (seen.any() and size > 0):
        return model.value(np.zeros(model.size, LD))
    rows, images = rows[seen], images[seen]
    units = images / norm(images)[:, None]
    w, _ = nnls(units.T.astype(np.float64), (model.b / size).astype(np.float64))
    x = (exact(w) * size / norm(images)) @ rows
    return model.value(x) + model.slack(x, 4 * EPS, LD(0))[0]


# Pursuit as printed ------------------------------------------------------------------------


def pursuit(
    model: Model, rows: Array, bounds: Array, x: Array, steps: int, tie: float
) -> tuple[Array, Array] | None:
    """x after so many steps x ← x − c/h z along the steepest row, and the slopes on the way.

    None where two slopes differ by less than the share `tie`: rounding may choose either.
    """
    slopes = []
    for _ in range(steps):
        c = rows @ model.gradient(x)
        order = np.argsort(-np.abs(c))
        slopes.append(abs(c[order[0]]))
        if len(c) > 1 and abs(c[order[1]]) >= slopes[-1] * (1 - tie):
            return None
        x = x - c[order[0]] / bounds[order[0]] * rows[order[0]]
    return x, np.array(slopes, LD)
