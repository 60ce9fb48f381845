"""Weights of the rows of a matrix that make Σ q_j a_j a_jᵀ as good as it can be."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.whitening import whiten
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array

WARM_UP = 30
"""Multiplicative steps before single weights are exchanged."""
ANEW = 100
"""Exchanges between two recomputations of the inverse."""


def d_optimal(rows: Array, tolerance: float, max_steps: int = 100_000) -> Array:
    """Weights with max_j w_j ≤ (1 + tolerance) r: the minimum-volume ellipsoid of ±rows.

    Multiplicative steps p_j ← p_j w_j / r, then exchanges of single weights toward the largest
    w_j or away from the smallest one in use (Khachiyan; Todd and Yıldırım), which converge
    linearly.
    """
    n, r = rows.shape
    if r == 1:
        longest: Array = np.eye(n)[int(np.argmax(np.abs(rows[:, 0])))]
        return longest
    p = multiplicative(rows, WARM_UP)
    for step in range(max_steps):
        if step % ANEW == 0:
            found = whiten(rows, p)
            b, w, inverse = found.whitened, found.lengths, np.eye(r)
        j, away = _exchange(p, w, r)
        if w.max() <= (1 + tolerance) * r:
            break
        share = (w[j] / r - 1) / (w[j] - 1) if w[j] > 1 else -1.0
        if away:
            share = max(share, -p[j] / (1 - p[j]))
        p = (1 - share) * p
        p[j] = max(p[j] + share, 0.0)
        ratio = share / (1 - share)
        image = inverse @ b[j]
        shrink = ratio / (1 + ratio * w[j])
        inverse = (inverse - shrink * np.outer(image, image)) / (1 - share)
        w = (w - shrink * (b @ image) ** 2) / (1 - share)
    p /= p.sum()
    return p


def _exchange(p: Array, w: Array, r: int) -> tuple[int, bool]:
    """The row whose weight should change most, and whether it should fall."""
    most = int(np.argmax(w))
    least = int(np.argmin(np.where(p > 0, w, np.inf)))
    away = 1 - w[least] / r > w[most] / r - 1 and p[least] < 1
    return (least, True) if away else (most, False)


def multiplicative(rows: Array, steps: int) -> Array:
    """`steps` times p_j ← p_j w_j / r, from equal weights."""
    n = len(rows)
    p = np.full(n, 1 / n)
    for _ in range(steps):
        p = whiten(rows, p).shares
        p /= p.sum()
    return p


def e_optimal(rows: Array, steps: int) -> tuple[Array, float]:
    """Weights that make the smallest eigenvalue of Σ q_j a_j a_jᵀ large, and a bound on its root.

    Multiplicative steps for tr(S^−k), with k growing: for k → ∞ that is the smallest eigenvalue.
    Any weights give a proved bound; these are good ones.
    """
    n, r = rows.shape
    q = np.full(n, 1 / n)
    best, best_q = -np.inf, q
    for k in range(2, steps + 2):
        spectrum, axes = np.linalg.eigh((q[:, None] * rows).T @ rows)
        if spectrum[0] > best:
            best, best_q = float(spectrum[0]), q
        spectrum = np.maximum(spectrum, r * tolerances(np.float64).rank * spectrum[-1])
        scaled = (rows @ axes) * (spectrum / spectrum[0]) ** (-k / 2)
        gain = np.einsum("ij,ij->i", scaled, scaled)
        share = gain / float(q @ gain)
        if not np.isfinite(share).all():  # rows that are too far apart for such a power
            break
        q = q * share ** (2 / k)
        q /= q.sum()
    # Singular values see the smallest eigenvalue to full relative precision.
    singular = np.linalg.svd(np.sqrt(best_q)[:, None] * rows, compute_uv=False)
    return best_q, float(singular[r - 1]) if n >= r else 0.0
