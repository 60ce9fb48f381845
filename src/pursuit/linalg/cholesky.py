"""The Cholesky factor of a Gram matrix that grows and shrinks by one row and column at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.validation import Array


class NewRow(NamedTuple):
    """What an atom z with products g to the others, and n with itself, would add to a factor."""

    y: Array
    """L⁻¹g."""
    weights: Array
    """G⁻¹g, the coefficients of the point of the span that is nearest to z."""
    pivot: float
    """n − ‖y‖², the squared distance of z from the span."""
    norm2: float
    """n."""


class GrowingCholesky:
    """L with LLᵀ = G, row after row in one array, and the diagonals of G and of G⁻¹.

    Rows of L one after another are the columns of the upper triangle Lᵀ, as BLAS packs them.
    """

    def __init__(self) -> None:
        self.size = 0
        self._packed = np.empty(64)
        self._norms2, self._inverse = np.empty(0), np.empty(0)

    def row(self, column: Array, norm2: float) -> NewRow:
        """Return what an atom would add, from its products with the others and with itself."""
        y = self._triangular(column, 1)
        return NewRow(y, self._triangular(y, 0), norm2 - float(y @ y), norm2)

    def inflation(self, row: NewRow) -> float:
        """Return the largest G_aa (G⁻¹)_aa with a new row; infinite without a positive pivot.

        This is the variance inflation factor of statistics: by how much an atom is longer than
        its part outside of the span of the others, squared.
        """
        if not row.pivot > 0:
            return np.inf
        inverse = self._inverse + row.weights**2 / row.pivot
        return max(float((self._norms2 * inverse).max(initial=0.0)), row.norm2 / row.pivot)

    @property
    def condition(self) -> float:
        """The largest G_aa (G⁻¹)_aa: 1 for orthogonal atoms."""
        return float((self._norms2 * self._inverse).max(initial=1.0))

    def append(self, row: NewRow) -> None:
        """Add a row with a positive pivot."""
        begin, end = _extent(self.size), _extent(self.size + 1)
        if end > len(self._packed):
            self._packed = np.concatenate([self._packed, np.empty(end)])
        self._packed[begin : end - 1] = row.y
        self._packed[end - 1] = row.pivot**0.5
        inverse = self._inverse + row.weights**2 / row.pivot
        self._inverse = np.concatenate([inverse, [1 / row.pivot]])
        self._norms2 = np.concatenate([self._norms2, [row.norm2]])
        self.size += 1

    def extend(self, other: GrowingCholesky) -> None:
        """Add the rows of another factor, whose atoms are orthogonal to those of this one."""
        before, size = np.zeros(self.size), self.size
        for k in range(other.size):
            y, root = other.forward(k)
            zeros = np.zeros(self.size)
            self.append(NewRow(np.append(before, y), zeros, root**2, other._norms2[k]))
        self._inverse[size:] = other._inverse

    def delete(self, k: int, gram: Array) -> None:
        """Remove the k-th row and column of G, given those that stay.

        The factor is computed anew, which carries no error on and for some hundred rows is as fast
        as an update. Where G is too nearly singular for that it is rotated into shape, which is
        possible always.
        """
        try:
            L = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            L = np.delete(self._lower(), k, axis=0)
            R: Array = np.linalg.qr(L[k:, k:].T)[1]
            L[k:, k:-1] = (R * np.where(np.diag(R) < 0, -1, 1)[:, None]).T
        self.load(L[np.tril_indices(len(L))], gram.diagonal())

    def load(self, packed: Array, norms2: Array) -> None:
        """Take the rows of L from one array, and the diagonal of G."""
        self.size, self._packed = len(norms2), packed.copy()
        self._norms2, self._inverse = norms2.copy(), np.empty(0)
        if self.size:
            inverse = scipy_linalg().lapack.dtrtri(self._lower(), lower=1)[0]
            self._inverse = (inverse**2).sum(axis=0)

    @property
    def packed(self) -> Array:
        """The rows of L in one array, which what is done to the factor later does not change."""
        return self._packed[: _extent(self.size)]

    def forward(self, k: int) -> tuple[Array, float]:
        """Return the k-th row of L without its diagonal entry, and that entry."""
        row = self.packed[_extent(k) : _extent(k + 1)]
        return row[:-1], float(row[-1])

    def solve(self, b: Array) -> Array:
        """Return G⁻¹b."""
        return self._triangular(self._triangular(b, 1), 0)

    def _lower(self) -> Array:
        """Return L as a matrix."""
        L = np.zeros((self.size, self.size))
        L[np.tril_indices(self.size)] = self.packed
        return L

    def _triangular(self, b: Array, transposed: int) -> Array:
        if not self.size:
            return b
        solved: Array = scipy_linalg().blas.dtpsv(self.size, self.packed, b, trans=transposed)
        return solved


def _extent(size: int) -> int:
    return size * (size + 1) // 2
