"""The leading singular pair of an array, a sparse array or a linear operator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.products import times
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array

DENSE = 64
"""Up to this smaller side a dense array is given to LAPACK."""
STEPS = 200
"""Lanczos steps after which ARPACK is asked instead."""
MIXED = 0.1
"""How much of a random vector a guess is mixed with, so that it can miss no direction."""
CHANCE = 1e-9
"""The probability with which a random start may miss what is promised of it."""


class Pair(NamedTuple):
    """σ₁ with its u and v, and a guess of the v that comes next once σ₁uvᵀ is taken out."""

    sigma: float
    u: Array
    v: Array
    following: Array

    @property
    def atom(self) -> tuple[Array, Array]:
        return self.u, self.v


def leading_pair(A: Any, start: Array | None = None) -> Pair:
    """σ₁, u, v with Av = σ₁u and Aᵀu ≈ σ₁v up to `Tolerances.singular_pair`, relative to σ₁.

    Lanczos starts at random, so that no σ is larger by more than that: a looser residual would
    leave open which of a cluster of singular values was found.

    Parameters
    ----------
    A
        An array, or anything with `shape`, `@` and `T`.
    start
        A guess of v.
    """
    if isinstance(A, np.ndarray) and min(A.shape) <= DENSE:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        return Pair(float(s[0]), U[:, 0].copy(), Vt[0].copy(), Vt[min(1, len(s) - 1)].copy())
    v0 = _first(A, start)
    accuracy = tolerances(getattr(A, "dtype", np.float64)).singular_pair
    pair, accurate = _lanczos(A, v0, accuracy)
    return pair if accurate else _arpack(A, v0) or pair


class NearPair(NamedTuple):
    """u and v with uᵀAv = σ, and a bound on σ₁."""

    sigma: float
    u: Array
    v: Array
    bound: float


def near_pair(A: Any, delta: float, rng: np.random.Generator, chance: float = CHANCE) -> NearPair:
    """u, v with uᵀAv ≥ δσ₁, by the few Lanczos steps that this takes from a random start.

    After k steps from b the best of Aᵀ A over polynomials of degree k − 1 in it is found. If that
    is below δ²σ₁², the Chebyshev polynomial T_{2k−1} shows that
    \\|⟨b, v₁⟩\\| sinh((2k − 1) arcosh(1/δ)) is at most the norm of the rest of b; and for b with no
    preferred direction among n that has a probability of at most 0.8√n/sinh(…), whatever A is
    (Kuczyński and Woźniakowski 1992). The number of steps makes it at most `chance`.
    """
    S = float(np.arcsinh(0.8 * np.sqrt(A.shape[1]) / chance))
    wanted = (S / np.arccosh(1 / delta) + 1) / 2 if delta < 1 else np.inf
    if min(A.shape) <= DENSE or wanted >= min(STEPS, *A.shape):
        sigma, u, v, _ = leading_pair(A)
        return NearPair(sigma, u, v, sigma)
    steps, b = int(np.ceil(wanted)), rng.standard_normal(A.shape[1])
    grown = _Bidiagonal(A, b / np.linalg.norm(b), steps)
    for _ in range(steps):
        grown.step()
    sigma, u, v, _ = _within(grown.B, grown.U, grown.V)[0]
    return NearPair(sigma, u, v, sigma * float(np.cosh(S / (2 * steps - 1))))


def _first(A: Any, start: Array | None) -> Array:
    """A guess of v with something random in it, or a random vector where there is none."""
    drawn = _drawn(A)
    norm = 0.0 if start is None else float(np.linalg.norm(start))
    mixed: Array = drawn if start is None or norm == 0 else start / norm + MIXED * drawn
    mixed /= np.linalg.norm(mixed)
    return mixed


def _drawn(A: Any) -> Array:
    """A random unit vector that A itself seeds, by its product with a fixed one.

    Where singular values are equal, the v that is found is what the start has in their space: once
    σ₁uvᵀ is taken out, that start is orthogonal to what is left there, and would never find it.
    """
    fixed = _unit(np.random.default_rng(0), A.shape[1])
    image = np.ascontiguousarray(times(A, fixed), dtype=np.float64)
    return _unit(np.random.default_rng(image.view(np.uint32)), A.shape[1])


def _unit(generator: np.random.Generator, size: int) -> Array:
    b = generator.standard_normal(size)
    b /= np.linalg.norm(b)
    return b


def _lanczos(A: Any, v0: Array, accuracy: float) -> tuple[Pair, bool]:
    """Golub–Kahan–Lanczos with full reorthogonalisation, and whether its pair can be trusted.

    AV = UB and AᵀU = VBᵀ + residual, B upper bidiagonal: singular pairs of the small B approach
    those of A from its ends, the leading one first. Where A has no more rows or columns than steps
    were made, nothing is left outside, and the pair is right up to the rounding of products.
    """
    steps, look = min(STEPS, *A.shape), 4
    grown = _Bidiagonal(A, v0, steps)
    B, U, V = grown.B, grown.U, grown.V
    for k in range(steps):
        beta = grown.step()
        if k in (look, steps - 1) or beta <= accuracy * np.abs(B).max():
            look = k + max(2, k // 4)
            pair, last = _within(B[: k + 1, : k + 1], U, V)
            if last * beta <= accuracy * pair.sigma:
                return pair, True
    # All directions that A maps from or to: the last residual is one more column of B.
    whole = steps == min(A.shape)
    return _within(B, U, V)[0] if whole else pair, whole


class _Bidiagonal:
    """AV = UB and AᵀU = VBᵀ, column by column, up to so many steps."""

    def __init__(self, A: Any, v0: Array, steps: int) -> None:
        rows, columns = A.shape
        self._A, self._transposed, self._k = A, A.T, 0
        self.V, self.U = np.empty((steps + 1, columns)), np.empty((steps, rows))
        self.B = np.zeros((steps, steps + 1))
        self.V[0] = v0

    def step(self) -> float:
        """One more column of each; the entry of B that leads out of them."""
        k, B, U, V = self._k, self.B, self.U, self.V
        w = _orthogonal(np.asarray(times(self._A, V[k]), dtype=np.float64), U[:k])
        B[k, k] = np.linalg.norm(w)
        U[k] = w / B[k, k] if B[k, k] > 0 else 0
        w = _orthogonal(np.asarray(times(self._transposed, U[k]), dtype=np.float64), V[: k + 1])
        beta = B[k, k + 1] = np.linalg.norm(w)
        V[k + 1] = w / beta if beta > 0 else 0
        self._k += 1
        return float(beta)


def _within(B: Array, U: Array, V: Array) -> tuple[Pair, float]:
    """The leading pair of UᵀBV, and the size of the last entry of B's own u."""
    P, s, Qt = np.linalg.svd(B, full_matrices=False)
    k, n = B.shape
    second = Qt[min(1, len(s) - 1)] @ V[:n]
    return Pair(float(s[0]), P[:, 0] @ U[:k], Qt[0] @ V[:n], second), abs(P[-1, 0])


def _orthogonal(w: Array, basis: Array) -> Array:
    """w without its part in the span of orthonormal rows, removed twice against rounding."""
    for _ in range(2):
        w = w - (basis @ w) @ basis
    return w


def _arpack(A: Any, v0: Array) -> Pair | None:
    """The pair by ARPACK; None where it has no more success."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, svds

    scipy_linalg()  # its BLAS is held to as many threads as ours
    first = v0 if A.shape[1] <= A.shape[0] else times(A, v0)
    operator = LinearOperator(
        A.shape, dtype=np.float64, matvec=lambda v: A @ v, rmatvec=lambda u: A.T @ u
    )
    try:
        U, s, Vt = svds(operator, k=2, v0=first, tol=0)
    except ArpackError:
        return None
    one, two = np.argsort(s)[::-1]
    return Pair(float(s[one]), U[:, one].copy(), Vt[one].copy(), Vt[two].copy())
