"""The Cholesky factor of a growing set of atoms."""

from __future__ import annotations

import numpy as np

from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.validation import Array

DEPENDENT = 32
"""Units in the last place that a squared distance from a span may owe to rounding."""


class Factor:
    """The Cholesky factor of the metric between the atoms in use, row after row in one array.

    A new atom z with metric ⟨z, z⟩ = n and g to the others adds the row (y, √p) with y = L⁻¹g and
    p = n − ‖y‖², the squared distance of z from the span.
    """

    def __init__(self) -> None:
        self.size = 0
        self._packed = np.empty(64)

    def append(self, column: Array, norm2: float, norms: Array, eps: float) -> bool:
        """Take a new atom in, unless its distance from the span is nothing but rounding; `norms`
        are the lengths of the atoms that have entered."""
        y, reach = self.against(column, norms)
        pivot = norm2 - float(y @ y)
        if depends(pivot, norm2, reach, self.size, eps):
            return False
        self.push(y, pivot)
        return True

    def against(self, column: Array, norms: Array) -> tuple[Array, float]:
        """y of an atom, and the length of the terms of Σ weights·z_i, its point of the span."""
        y = self._forward(column)
        return y, float(np.abs(self._backward(y)) @ norms)

    def row(self, column: Array, norm2: float) -> tuple[Array, float]:
        """y and p of an atom."""
        y = self._forward(column)
        return y, norm2 - float(y @ y)

    def push(self, y: Array, pivot: float) -> None:
        """Add a row."""
        begin, end = self._extent(self.size), self._extent(self.size + 1)
        if end > len(self._packed):
            self._packed = np.concatenate([self._packed, np.empty(end)])
        self._packed[begin : end - 1] = y
        self._packed[end - 1] = pivot**0.5
        self.size += 1

    def extend(self, other: Factor) -> None:
        """Take in the atoms of another factor, none of which meets one of these."""
        apart = np.zeros(self.size)
        for k in range(other.size):
            row = other._packed[self._extent(k) : self._extent(k + 1)]
            self.push(np.concatenate([apart, row[:-1]]), float(row[-1]) ** 2)

    def renew(self, metric: Array, block: int) -> None:
        """Begin anew with a metric between atoms that all had entered: the first ones at once,
        those after the block one by one."""
        self.size = block
        self._packed = _lower(metric[:block, :block])[np.tril_indices(block)]
        for k in range(block, len(metric)):
            self.push(*self.row(metric[k, :k], float(metric[k, k])))

    def solve(self, slopes: Array) -> Array:
        """δ with metric · δ = slopes."""
        return self._backward(self._forward(slopes))

    @staticmethod
    def _extent(size: int) -> int:
        return size * (size + 1) // 2

    # Rows of L one after another are the columns of the upper triangle Lᵀ, as BLAS packs them.

    def _forward(self, b: Array) -> Array:
        return self._triangular(b, 1)

    def _backward(self, b: Array) -> Array:
        return self._triangular(b, 0)

    def _triangular(self, b: Array, transposed: int) -> Array:
        if not self.size:
            return b
        packed = self._packed[: self._extent(self.size)]
        solved: Array = scipy_linalg().blas.dtpsv(self.size, packed, b, trans=transposed)
        return solved


def depends(pivot: float, norm2: float, reach: float, size: int, eps: float) -> bool:
    """Whether a squared distance from a span is nothing but rounding."""
    # z − Σ weights·z_i is a sum of vectors as long as these, squared.
    length = norm2**0.5 + reach
    return bool(pivot <= (DEPENDENT + size) * eps * length**2)


def _lower(metric: Array) -> Array:
    """A Cholesky factor; where atoms nearly depend on each other, of a slightly larger matrix."""
    diagonal = np.diag(np.diag(metric))
    for more in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            return np.linalg.cholesky(metric + more * diagonal)
        except np.linalg.LinAlgError:
            continue
    return np.linalg.cholesky(metric + 1e-8 * diagonal)
