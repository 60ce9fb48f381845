"""The true gap f(x) − f* of stored numbers: in rational arithmetic where f is a quadratic.

Every float is a fraction, so that H, b, the atoms and x are known exactly and so is the minimum
over lin(A), whatever the condition of the problem. Losses that are no quadratics are minimised in
extended precision: f(x) − f(y) at any y of lin(A) is at most the gap.
"""

from fractions import Fraction

import numpy as np

from pursuit import Huber, LeastSquares, Logistic, Quadratic, SquaredDistance


def exact(array):
    """Nested lists of fractions."""
    array = np.asarray(array, dtype=np.float64)
    return [exact(row) for row in array] if array.ndim else Fraction(float(array))


def _dot(a, b):
    return sum((s * t for s, t in zip(a, b, strict=True)), Fraction(0))


def _times(rows, x):
    return [_dot(row, x) for row in rows]


def _reduced(rows):
    """Independent rows in echelon form, as (pivot, row)."""
    kept = []
    for given in rows:
        row = list(given)
        for pivot, other in kept:
            if row[pivot]:
                share = row[pivot] / other[pivot]
                row = [s - share * t for s, t in zip(row, other, strict=True)]
        pivot = next((k for k, entry in enumerate(row) if entry), None)
        if pivot is not None:
            kept.append((pivot, row))
    return kept


def rank(Z):
    """The rank of the stored numbers."""
    return len(_reduced(exact(Z)))


def hessian(f):
    """H and b of ½xᵀHx − bᵀx, up to a constant."""
    if isinstance(f, SquaredDistance):
        return exact(np.eye(len(f.b))), exact(f.b)
    if isinstance(f, Quadratic):
        return exact(f.H), exact(f.b)
    assert isinstance(f, LeastSquares)
    columns, b = exact(np.asarray(f.A).T), exact(f.b)
    return [_times(columns, column) for column in columns], _times(columns, b)


def quadratic_gap(f, Z, x):
    """f(x) − inf over lin(Z), exactly; +inf where f has no minimum there."""
    H, b = hessian(f)
    x = exact(x)
    span = [row for _, row in _reduced(exact(Z))]
    G = [_times(span, _times(H, row)) for row in span]
    slope = _times(span, b)
    saved = Fraction(0)  # ½ hᵀG⁻¹h, one pivot of the elimination at a time
    for k in range(len(G)):
        pivot = max(range(k, len(G)), key=lambda j: G[j][j])
        G[k], G[pivot] = G[pivot], G[k]
        for row in G:
            row[k], row[pivot] = row[pivot], row[k]
        slope[k], slope[pivot] = slope[pivot], slope[k]
        if G[k][k] <= 0:
            flat = not any(any(row[k:]) for row in G[k:]) and not any(slope[k:])
            return _value(H, b, x) + saved if flat else float("inf")
        saved += slope[k] * slope[k] / G[k][k] / 2
        for j in range(k + 1, len(G)):
            share = G[j][k] / G[k][k]
            G[j] = [s - share * t for s, t in zip(G[j], G[k], strict=True)]
            slope[j] -= share * slope[k]
    return _value(H, b, x) + saved


def _value(H, b, x):
    return _dot(x, _times(H, x)) / 2 - _dot(b, x)


# Losses of linear models ----------------------------------------------------------------------

WIDE = np.longdouble


def _loss(f, u):
    """Σ wᵢℓᵢ(uᵢ), its derivatives and second derivatives."""
    y, w = f.y.astype(WIDE), f.weights.astype(WIDE)
    if isinstance(f, Logistic):
        falling = np.exp(-np.logaddexp(WIDE(0), y * u))
        return w * np.logaddexp(WIDE(0), -y * u), -w * y * falling, w * falling * (1 - falling)
    assert isinstance(f, Huber)
    r, delta = u - y, WIDE(f.delta)
    inside = np.abs(r) <= delta
    losses = np.where(inside, r * r / 2, delta * (np.abs(r) - delta / 2))
    return w * losses, w * np.clip(r, -delta, delta), w * inside


def _model(f, x):
    losses, slopes, bends = _loss(f, f.X.astype(WIDE) @ x)
    l2 = WIDE(f.l2)
    return losses.sum() + l2 / 2 * (x @ x), f.X.T.astype(WIDE) @ slopes + l2 * x, bends


def model_gap(f, Z, x, steps=60):
    """At most f(x) − f* for a linear model with a ridge term, by damped Newton steps on lin(Z)."""
    span = np.array([[float(s) for s in row] for _, row in _reduced(exact(Z))])
    basis = np.linalg.qr(span.T)[0].T if len(span) < span.shape[1] else np.eye(span.shape[1])
    B, y = basis.astype(WIDE), np.zeros(basis.shape[1], WIDE)
    best = _model(f, y)[0]
    for _ in range(steps):
        value, gradient, bends = _model(f, y)
        X = f.X.astype(np.float64)
        H = basis @ ((X.T * bends.astype(np.float64)) @ X + f.l2 * np.eye(len(y))) @ basis.T
        step = -(np.linalg.solve(H, (B @ gradient).astype(np.float64)) @ basis).astype(WIDE)
        size = WIDE(1)
        while _model(f, y + size * step)[0] > value and size > 1e-12:
            size /= 2
        y = y + size * step
        best = min(best, _model(f, y)[0])
    return float(_model(f, np.asarray(x).astype(WIDE))[0] - best)
