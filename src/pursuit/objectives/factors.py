"""Matrices kept as factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.base.validation import Array


@dataclass(frozen=True)
class Factors:
    """X = left · diag(weights) · rightᵀ, never made dense unless asked.

    Attributes
    ----------
    left, weights, right
        Shapes (m, k), (k,) and (n, k).
    """

    left: Array
    weights: Array
    right: Array

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.weights.dtype

    @property
    def T(self) -> Factors:
        return Factors(self.right, self.weights, self.left)

    def __matmul__(self, other: Array) -> Array:
        inside: Array = self.right.T @ other
        scaled = self.weights * inside if inside.ndim == 1 else self.weights[:, None] * inside
        product: Array = self.left @ scaled
        return product

    def toarray(self) -> Array:
        """The matrix as an array."""
        dense: Array = (self.left * self.weights) @ self.right.T
        return dense

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("copy must be True or None to make factors a dense array, got False")
        dense = self.toarray()
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def entries(self, rows: Array, columns: Array) -> Array:
        """X at some places, one factor at a time: a place costs one number of memory."""
        entries = np.zeros(len(rows), self.dtype)
        for u, weight, v in zip(self.left.T, self.weights, self.right.T, strict=True):
            entries += weight * u[rows] * v[columns]
        return entries

    def norm2(self) -> float:
        """‖X‖²."""
        x = self.astype(np.float64, copy=False)
        inner = (x.left.T @ x.left) * (x.right.T @ x.right)
        return float(x.weights @ inner @ x.weights)

    def astype(self, dtype: Any, copy: bool = True) -> Factors:
        """The same factors in another precision."""
        parts = (self.left, self.weights, self.right)
        left, weights, right = (part.astype(dtype, copy=copy) for part in parts)
        return Factors(left, weights, right)

    def copy(self) -> Factors:
        return Factors(self.left.copy(), self.weights.copy(), self.right.copy())

    @staticmethod
    def of(array: Array) -> Factors:
        """An array as factors: its singular value decomposition."""
        left, weights, right = np.linalg.svd(array, full_matrices=False)
        used = weights > 0
        return Factors(left[:, used], weights[used], right[used].T)

    @staticmethod
    def zero(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Factors:
        rows, columns = shape
        left, right = np.zeros((rows, 0), dtype), np.zeros((columns, 0), dtype)
        return Factors(left, np.zeros(0, dtype), right)
