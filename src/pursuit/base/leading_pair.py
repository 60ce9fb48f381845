"""The leading singular pair of an array, a sparse array or a linear operator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.products import times
from pursuit.base.validation import Array

DENSE = 64
"""Up to this smaller side a dense array is given to LAPACK."""
FEW = 2
"""Up to this smaller side ARPACK does not serve, and any matrix is made dense."""
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
    if not isinstance(A, np.ndarray) and min(A.shape) <= FEW:
        A = A @ np.eye(A.shape[1])
    if isinstance(A, np.ndarray) and min(A.shape) <= DENSE:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        return Pair(float(s[0]), U[:, 0].copy(), Vt[0].copy(), Vt[min(1, len(s) - 1)].copy())
    v0 = _first(A.shape[1], start)
    eps = float(np.finfo(getattr(A, "dtype", np.float64)).eps)
    pair = _lanczos(A, v0, max(accuracy, ULPS * eps))
    return pair if pair is not None else _arpack(A, v0)


def _first(size: int, start: Array | None) -> Array:
    fixed = np.random.default_rng(0).standard_normal(size)
    fixed /= np.linalg.norm(fixed)
    norm = 0.0 if start is None else float(np.linalg.norm(start))
    mixed: Array = fixed if start is None or norm == 0 else start / norm + MIXED * fixed
    mixed /= np.linalg.norm(mixed)
    return mixed


def _lanczos(A: Any, v0: Array, accuracy: float) -> Pair | None:
    """Golub–Kahan–Lanczos with full reorthogonalisation; None where it has not converged.

    AV = UB and AᵀU = VBᵀ + residual, B upper bidiagonal: singular pairs of the small B approach
    those of A from its ends, the leading one first.
    """
    steps = min(STEPS, *A.shape)
    V, U = np.empty((steps + 1, A.shape[1])), np.empty((steps, A.shape[0]))
    B = np.zeros((steps, steps))
    V[0] = v0
    transposed, look = A.T, 4
    for k in range(steps):
        w = _orthogonal(np.asarray(times(A, V[k]), dtype=np.float64), U[:k])
        B[k, k] = np.linalg.norm(w)
        U[k] = w / B[k, k] if B[k, k] > 0 else 0
        w = _orthogonal(np.asarray(times(transposed, U[k]), dtype=np.float64), V[: k + 1])
        beta = float(np.linalg.norm(w))
        if k in (look, steps - 1) or beta <= accuracy * np.abs(B).max():
            look = k + max(2, k // 4)
            P, s, Qt = np.linalg.svd(B[: k + 1, : k + 1])
            if beta * abs(P[-1, 0]) <= accuracy * s[0]:
                following = Qt[min(1, k)] @ V[: k + 1]
                return Pair(float(s[0]), P[:, 0] @ U[: k + 1], Qt[0] @ V[: k + 1], following)
        if k + 1 < steps:
            B[k, k + 1] = beta
        V[k + 1] = w / beta
    return None


def _orthogonal(w: Array, basis: Array) -> Array:
    """w without its part in the span of orthonormal rows, removed twice against rounding."""
    for _ in range(2):
        w = w - (basis @ w) @ basis
    return w


def _arpack(A: Any, v0: Array) -> Pair:
    from scipy.sparse.linalg import aslinearoperator, svds

    first = v0 if A.shape[1] <= A.shape[0] else A @ v0
    U, s, Vt = svds(aslinearoperator(A), k=2, v0=first, tol=0)
    one, two = np.argsort(s)[::-1]
    return Pair(float(s[one]), U[:, one].copy(), Vt[one].copy(), Vt[two].copy())
