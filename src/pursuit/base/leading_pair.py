"""The leading singular pair of an array, a sparse array or a linear operator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.lengths import length
from pursuit.base.products import times
from pursuit.base.validation import Array

DENSE = 64
"""Up to this smaller side a dense array is given to LAPACK."""
STEPS = 200
"""Lanczos steps after which ARPACK is asked instead."""
ULPS = 32
"""Units in the last place of A's precision below which no accuracy is asked for."""
ACCURACY = 1e-13
"""The residual ‖Aᵀu − σv‖, relative to σ, at which a pair is accepted."""
MIXED = 0.1
"""How much of a fixed random vector a guess is mixed with, so that it can miss no direction."""


class Pair(NamedTuple):
    """σ₁ with its u and v, and a guess of the v that comes next once σ₁uvᵀ is taken out."""

    sigma: float
    u: Array
    v: Array
    following: Array

    @property
    def atom(self) -> tuple[Array, Array]:
        return self.u, self.v


def leading_pair(A: Any, start: Array | None = None, accuracy: float = ACCURACY) -> Pair:
    """σ₁, u, v with Av = σ₁u and Aᵀu ≈ σ₁v.

    Parameters
    ----------
    A
        An array, or anything with `shape`, `@` and `T`.
    start
        A guess of v.
    accuracy
        ‖Aᵀu − σ₁v‖ is at most this share of σ₁; the error of σ₁ goes with its square.
    """
    if isinstance(A, np.ndarray) and min(A.shape) <= DENSE:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        return Pair(float(s[0]), U[:, 0].copy(), Vt[0].copy(), Vt[min(1, len(s) - 1)].copy())
    v0 = _first(A.shape[1], start)
    eps = float(np.finfo(getattr(A, "dtype", np.float64)).eps)
    pair, accurate = _lanczos(A, v0, max(accuracy, ULPS * eps))
    return pair if accurate else _arpack(A, v0) or pair


def _first(size: int, start: Array | None) -> Array:
    fixed = np.random.default_rng(0).standard_normal(size)
    fixed /= np.linalg.norm(fixed)
    norm = 0.0 if start is None else float(np.linalg.norm(start))
    mixed: Array = fixed if start is None or norm == 0 else start / norm + MIXED * fixed
    mixed /= np.linalg.norm(mixed)
    return mixed


def _lanczos(A: Any, v0: Array, accuracy: float) -> tuple[Pair, bool]:
    """Golub–Kahan–Lanczos with full reorthogonalisation, and whether its pair can be trusted.

    AV = UB and AᵀU = VBᵀ + residual, B upper bidiagonal: singular pairs of the small B approach
    those of A from its ends, the leading one first. Where A has no more rows or columns than steps
    were made, nothing is left outside, and the pair is right up to the rounding of products.
    """
    rows, columns = A.shape
    steps = min(STEPS, rows, columns)
    V, U = np.empty((steps + 1, columns)), np.empty((steps, rows))
    B = np.zeros((steps, steps + 1))
    V[0] = v0
    transposed, look = A.T, 4
    for k in range(steps):
        w = _orthogonal(np.asarray(times(A, V[k]), dtype=np.float64), U[:k])
        B[k, k] = length(w)
        U[k] = w / B[k, k] if B[k, k] > 0 else 0
        w = _orthogonal(np.asarray(times(transposed, U[k]), dtype=np.float64), V[: k + 1])
        beta = B[k, k + 1] = length(w)
        V[k + 1] = w / beta if beta > 0 else 0
        if k in (look, steps - 1) or beta <= accuracy * np.abs(B).max():
            look = k + max(2, k // 4)
            pair, last = _within(B[: k + 1, : k + 1], U, V)
            if last * beta <= accuracy * pair.sigma:
                return pair, True
    # All directions that A maps from or to: the last residual is one more column of B.
    whole = steps == min(rows, columns)
    return _within(B, U, V)[0] if whole else pair, whole


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
