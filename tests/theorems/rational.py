"""f and its minimum over lin(A) for stored numbers: in rational arithmetic where f is a quadratic.

Every float is a fraction, so that H, b, the atoms and x are known exactly and so is the minimum,
whatever the condition of the problem. Losses that are no quadratics are minimised in extended
precision: their value at any point of lin(A) is at least the minimum.
"""

from fractions import Fraction

import numpy as np

from pursuit import Huber, LeastSquares, Logistic, Quadratic, SquaredDistance


def exact(array):
    """Nested lists of fractions."""
    array = np.asarray(array, dtype=np.float64)
    return [exact(row) for row in array] if array.ndim else Fraction(float(array))


def dot(a, b):
    return sum((s * t for s, t in zip(a, b, strict=True)), Fraction(0))


def times(rows, x):
    return [dot(row, x) for row in rows]


def independent(rows):
    """Rows in echelon form that span what the given ones do."""
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
    return [row for _, row in kept]


class Parabola:
    """½xᵀHx − bᵀx over lin(Z), exactly; equal to f up to a constant."""

    blur = 0

    def __init__(self, f, Z):
        self.H, self.b = _terms(f)
        self.lowest = self._lowest(independent(exact(Z)))

    def __call__(self, x):
        x = exact(x)
        return dot(x, times(self.H, x)) / 2 - dot(self.b, x)

    def _lowest(self, span):
        """−½hᵀG⁻¹h for G = SHSᵀ and h = Sb, one pivot of the elimination at a time."""
        G = [times(span, times(self.H, row)) for row in span]
        h, lowest = times(span, self.b), Fraction(0)
        for k in range(len(G)):
            pivot = max(range(k, len(G)), key=lambda j: G[j][j])
            G[k], G[pivot], h[k], h[pivot] = G[pivot], G[k], h[pivot], h[k]
            for row in G:
                row[k], row[pivot] = row[pivot], row[k]
            if G[k][k] <= 0:
                flat = not any(map(any, (row[k:] for row in G[k:]))) and not any(h[k:])
                return lowest if flat else -float("inf")
            lowest -= h[k] * h[k] / G[k][k] / 2
            for j in range(k + 1, len(G)):
                share = G[j][k] / G[k][k]
                G[j] = [s - share * t for s, t in zip(G[j], G[k], strict=True)]
                h[j] -= share * h[k]
        return lowest


def _terms(f):
    if isinstance(f, SquaredDistance):
        return exact(np.eye(len(f.b))), exact(f.b)
    if isinstance(f, Quadratic):
        return exact(f.H), exact(f.b)
    assert isinstance(f, LeastSquares)
    columns = exact(np.asarray(f.A).T)
    return [times(columns, column) for column in columns], times(columns, exact(f.b))


WIDE = np.longdouble


class Model:
    """A loss of a linear model with a ridge term over lin(Z), minimised by damped Newton steps."""

    def __init__(self, f, Z):
        self.f, self.X = f, f.X.astype(WIDE)
        span = np.array(independent(exact(Z)), dtype=np.float64)
        whole = len(span) == span.shape[1]
        self.basis = np.eye(len(span)) if whole else np.linalg.qr(span.T)[0].T
        self.lowest, self.blur = self._lowest(), 64 * np.finfo(WIDE).eps * self(np.zeros(f.shape))

    def __call__(self, x):
        return self._look(np.asarray(x).astype(WIDE))[0]

    def _look(self, x):
        """f, its gradient, and the second derivatives of the losses."""
        f, l2 = self.f, WIDE(self.f.l2)
        u, y, w = self.X @ x, f.y.astype(WIDE), f.weights.astype(WIDE)
        if isinstance(f, Logistic):
            falling = np.exp(-np.logaddexp(WIDE(0), y * u))
            losses, slopes, bends = np.logaddexp(WIDE(0), -y * u), -y * falling, falling
            bends = falling * (1 - falling)
        else:
            assert isinstance(f, Huber)
            r, delta = u - y, WIDE(f.delta)
            bends, slopes = np.abs(r) <= delta, np.clip(r, -delta, delta)
            losses = np.where(bends, r * r / 2, delta * (np.abs(r) - delta / 2))
        value = (w * losses).sum() + l2 / 2 * (x @ x)
        return value, self.X.T @ (w * slopes) + l2 * x, w * bends

    def _lowest(self):
        y, X = np.zeros(self.basis.shape[1], WIDE), self.X.astype(np.float64)
        value, gradient, bends = self._look(y)
        for _ in range(100):
            H = (X.T * bends.astype(np.float64)) @ X + self.f.l2 * np.eye(len(y))
            slope = (self.basis @ gradient).astype(np.float64)
            step = -np.linalg.solve(self.basis @ H @ self.basis.T, slope) @ self.basis
            lower = None
            for halved in range(40):
                lower = self._look(y + step / WIDE(2) ** halved)
                if lower[0] < value:
                    break
            else:
                return value
            y = y + step / WIDE(2) ** halved
            value, gradient, bends = lower
        return value


def truth(f, Z):
    """f over lin(Z) as a function with its `lowest` value, and what that may be off by: `blur`."""
    return (Model if isinstance(f, (Logistic, Huber)) else Parabola)(f, Z)


def solved(matrix, right):
    """x with matrix·x = right, for a matrix that is not singular."""
    rows = [[*row, entry] for row, entry in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(j for j in range(k, len(rows)) if rows[j][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for j in range(len(rows)):
            if j != k and rows[j][k]:
                share = rows[j][k]
                rows[j] = [s - share * t for s, t in zip(rows[j], rows[k], strict=True)]
    return [row[-1] for row in rows]
