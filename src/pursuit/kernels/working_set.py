"""Coordinate descent on a quadratic model of a linear model, and what the model is made of.

All kernels minimise Σ_j c_j δ_j + ½ δᵀHδ + Σ_j weights_j |w_j| over lower ≤ w ≤ upper, where
H = Xᵀ diag(h) X + diag(l2): in Gram form H itself is stored, in residual form the samples
v = g + h·(Xδ), of which slopes c_j = X_jᵀv + l2_j w_j are made. A matrix of columns is an array of
two axes (dense), or its entries with their rows and the first entry of each column (sparse).
"""

from __future__ import annotations

from math import exp, inf, log

from pursuit.base.validation import Array
from pursuit.kernels.coordinates import loose, shrunk

TILE = 32
"""Rows and columns of a block that is mirrored while it is in cache."""


@loose
def distances(c: Array, w: Array, weights: Array, lower: Array, upper: Array, out: Array) -> float:
    """|the number of c_j + ∂g_j(w_j) that is next to zero|, and the largest of them."""
    largest = 0.0
    for j in range(c.size):
        low = high = c[j]  # c_j + ∂g_j(w_j) = [low, high]
        if w[j] > 0.0 or w[j] == 0.0:
            high += weights[j]
        else:
            high -= weights[j]
        if w[j] > 0.0:
            low += weights[j]
        else:
            low -= weights[j]
        if w[j] <= lower[j]:
            low = -inf
        if w[j] >= upper[j]:
            high = inf
        distance = max(low, -high, 0.0)
        out[j] = distance
        largest = max(largest, distance)
    return largest


@loose
def gram_epochs(
    H: Array,
    c: Array,
    w: Array,
    weights: Array,
    lower: Array,
    upper: Array,
    epochs: int,
    enough: float,
) -> float:
    """Epochs of exact coordinate steps, there and back; c and w follow.

    Returns the largest change of a slope by a step of the last epoch; ends where that is enough.
    """
    q = w.size
    largest = 0.0
    for epoch in range(epochs):
        largest = 0.0
        for k in range(q):
            j = k if epoch % 2 == 0 else q - 1 - k
            h = H[j, j]
            if h <= 0.0:
                continue
            step = shrunk(w[j] - c[j] / h, weights[j] / h, lower[j], upper[j]) - w[j]
            if step != 0.0:
                w[j] += step
                largest = max(largest, abs(step) * h)
                row = H[j]
                for i in range(q):
                    c[i] += step * row[i]
        if largest <= enough:
            break
    return largest


@loose
def residual_epochs(
    entries: Array,
    rows: Array,
    starts: Array,
    h: Array,
    v: Array,
    curvatures: Array,
    l2: Array,
    w: Array,
    weights: Array,
    lower: Array,
    upper: Array,
    epochs: int,
    enough: float,
) -> float:
    """The same in residual form; v and w follow. `curvatures` are the diagonal of H.

    The deliberate twin of `gram_epochs`: what a step changes is most of what it costs.
    """
    q = w.size
    largest = 0.0
    for epoch in range(epochs):
        largest = 0.0
        for k in range(q):
            j = k if epoch % 2 == 0 else q - 1 - k
            bend = curvatures[j]
            if bend <= 0.0:
                continue
            c = l2[j] * w[j]
            if entries.ndim == 2:
                column = entries[:, j]
                for i in range(v.size):
                    c += column[i] * v[i]
            else:
                for e in range(starts[j], starts[j + 1]):
                    c += entries[e] * v[rows[e]]
            step = shrunk(w[j] - c / bend, weights[j] / bend, lower[j], upper[j]) - w[j]
            if step != 0.0:
                w[j] += step
                largest = max(largest, abs(step) * bend)
                if entries.ndim == 2:
                    column = entries[:, j]
                    for i in range(v.size):
                        v[i] += step * (h[i] * column[i])
                else:
                    for e in range(starts[j], starts[j + 1]):
                        i = rows[e]
                        v[i] += step * (h[i] * entries[e])
        if largest <= enough:
            break
    return largest


@loose
def rows_gram(entries: Array, columns: Array, starts: Array, h: Array, gram: Array) -> None:
    """Xᵀ diag(h) X of a matrix by rows, its columns in increasing order within each."""
    gram[:, :] = 0.0
    for i in range(h.size):
        if h[i] == 0.0:
            continue
        for k in range(starts[i], starts[i + 1]):
            scaled = h[i] * entries[k]
            row = gram[columns[k]]
            for e in range(starts[i], k + 1):
                row[columns[e]] += scaled * entries[e]
    mirror(gram)


@loose
def mirror(gram: Array) -> None:
    """Copy what is below the diagonal above it."""
    q = gram.shape[0]
    for begin in range(0, q, TILE):
        for left in range(0, begin + 1, TILE):
            for i in range(begin, min(begin + TILE, q)):
                for j in range(left, min(left + TILE, i)):
                    gram[j, i] = gram[i, j]


@loose
def logistic_dual_epoch(
    entries: Array,
    columns: Array,
    starts: Array,
    squares: Array,
    labels: Array,
    caps: Array,
    order: Array,
    alpha: Array,
    w: Array,
) -> float:
    """Exact steps on the dual of the ridge-penalised logistic loss, w = Σ α_i caps_i y_i x_i.

    Along α_i ∈ (0, 1) it is ½ q (α − α_i)² + m (α − α_i) + α log α + (1 − α) log(1 − α) with
    margin m = y_i x_iᵀw and q = caps_i ‖x_i‖², where caps_i = weight_i/l2: the root in t = logit α
    of q (σ(t) − α_i) + m + t, which rises. Returns the largest step.
    """
    largest = 0.0
    for k in range(order.size):
        i = order[k]
        m = 0.0
        for e in range(starts[i], starts[i + 1]):
            m += entries[e] * w[columns[e]]
        m *= labels[i]
        q, old = caps[i] * squares[i], alpha[i]
        low, high = -m - q * (1.0 - old), -m + q * old
        t = -m if old <= 0.0 or old >= 1.0 else log(old / (1.0 - old))
        t = min(max(t, low), high)
        for _ in range(30):
            s = 1.0 / (1.0 + exp(-t))
            rise = q * (s - old) + m + t
            if rise > 0.0:
                high = t
            else:
                low = t
            following = t - rise / (1.0 + q * s * (1.0 - s))
            if following < low or following > high:
                following = 0.5 * (low + high)
            moved = abs(following - t)
            t = following
            if moved <= 1e-6 * (1.0 + abs(t)):
                break
        alpha[i] = 1.0 / (1.0 + exp(-t))
        step = alpha[i] - old
        if step != 0.0:
            largest = max(largest, abs(step))
            step *= caps[i] * labels[i]
            for e in range(starts[i], starts[i + 1]):
                w[columns[e]] += step * entries[e]
    return largest
