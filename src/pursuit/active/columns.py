"""The columns of X, dense or sparse, as a working set takes them: some of them at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.products import times
from pursuit.base.validation import Array

NO_PLACES = np.empty(0, np.int32)


class Columns(ABC):
    """An N × d matrix in float64, or some columns of one."""

    sparse: ClassVar[bool]
    shape: tuple[int, int]
    entries: int
    """Numbers that a product with it touches."""

    @staticmethod
    def of(X: Any) -> Columns:
        """All columns of an array, or of a sparse array by columns."""
        return SparseColumns(X) if hasattr(X, "indptr") else DenseColumns(X)

    @abstractmethod
    def part(self, places: Array) -> Columns:
        """Some columns, copied together."""

    @abstractmethod
    def dense(self, places: Array) -> Array:
        """Some columns as an array, in float64, one after another in memory."""

    @abstractmethod
    def correlate(self, v: Array) -> Array:
        """Xᵀv."""

    @abstractmethod
    def combine(self, w: Array) -> Array:
        """Xw."""

    @abstractmethod
    def curvatures(self, h: Array) -> Array:
        """The diagonal of Xᵀ diag(h) X."""

    @abstractmethod
    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X."""

    @abstractmethod
    def outer(self) -> Array:
        """XXᵀ."""

    @property
    @abstractmethod
    def gram_work(self) -> float:
        """Multiplications that the Gram matrix takes, as many as a product is slower at them."""

    @property
    @abstractmethod
    def outer_work(self) -> float:
        """The same for XXᵀ."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Array, Array, Array]:
        """The matrix as kernels take it: see `pursuit.kernels.working_set`."""


class DenseColumns(Columns):
    """Columns that lie together in memory."""

    sparse = False

    def __init__(self, X: Array, places: Array | None = None) -> None:
        self._source, self._places = X, places
        self.shape = (int(X.shape[0]), int(X.shape[1] if places is None else len(places)))
        self.entries = self.shape[0] * self.shape[1]

    @cached_property
    def X(self) -> Array:
        """The matrix: a copy where it is part of another one, made when it is needed."""
        if self._places is None:
            return self._source
        return DenseColumns(self._source).dense(self._places)

    def part(self, places: Array) -> DenseColumns:
        return DenseColumns(self.X, places)

    def dense(self, places: Array) -> Array:
        dense = np.empty((self.shape[0], len(places)), order="F")
        self.fill(places, dense)
        return dense

    def fill(self, places: Array, out: Array) -> None:
        """Copy some columns to an array in which they lie one after another."""
        if self.X.flags.f_contiguous and self.X.dtype == out.dtype:
            np.take(self.X.T, places, axis=0, out=out.T, mode="clip")  # the other modes copy twice
        else:
            out[...] = self.X[:, places]

    def correlate(self, v: Array) -> Array:
        return times(self.X.T, v)

    def combine(self, w: Array) -> Array:
        return times(self.X, w)

    def curvatures(self, h: Array) -> Array:
        curvatures: Array = np.einsum("ij,ij,i->j", self.X, self.X, h)
        return curvatures

    def gram(self, h: Array) -> Array:
        from pursuit.kernels.working_set import mirror

        scaled = self.X if (h == 1).all() else self.X * np.sqrt(h)[:, None]
        # What BLAS leaves above the diagonal is below it in the transpose.
        gram: Array = scipy_linalg().blas.dsyrk(1.0, np.asfortranarray(scaled), trans=1, lower=0).T
        mirror(gram)
        return gram

    def outer(self) -> Array:
        from pursuit.kernels.working_set import mirror

        by_columns = self.X.flags.f_contiguous
        X = self.X if by_columns else self.X.T
        outer: Array = scipy_linalg().blas.dsyrk(1.0, X, trans=0 if by_columns else 1, lower=0).T
        mirror(outer)
        return outer

    @property
    def gram_work(self) -> float:
        return self.entries * self.shape[1] / 32

    @property
    def outer_work(self) -> float:
        return self.entries * self.shape[0] / 32

    @property
    def operands(self) -> tuple[Array, Array, Array]:
        return np.asfortranarray(self.X), NO_PLACES, NO_PLACES


class SparseColumns(Columns):
    """A sparse array by columns."""

    sparse = True

    def __init__(self, X: Any) -> None:
        self.X = X
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.entries = int(X.nnz)

    def part(self, places: Array) -> SparseColumns:
        return SparseColumns(self.X[:, places].astype(np.float64, copy=False))

    def dense(self, places: Array) -> Array:
        dense: Array = self.X[:, places].astype(np.float64, copy=False).toarray(order="F")
        return dense

    def correlate(self, v: Array) -> Array:
        correlations: Array = self.X.T @ v
        return correlations

    def combine(self, w: Array) -> Array:
        combined: Array = self.X @ w
        return combined

    @cached_property
    def _squares(self) -> Any:
        squares = self.X.copy()
        squares.data = squares.data**2
        return squares.T

    def curvatures(self, h: Array) -> Array:
        curvatures: Array = self._squares @ h
        return curvatures

    @cached_property
    def by_rows(self) -> Any:
        """The same by rows."""
        return self.X.tocsr()

    def gram(self, h: Array) -> Array:
        from pursuit.kernels.working_set import rows_gram

        gram = np.empty((self.shape[1], self.shape[1]))
        rows = self.by_rows
        rows_gram(rows.data, rows.indices, rows.indptr, h, gram)
        return gram

    def outer(self) -> Array:
        outer: Array = (self.by_rows @ self.X.T).toarray()
        return outer

    @property
    def gram_work(self) -> float:
        return self.entries * (1 + self.entries / self.shape[0])  # rows of like numbers of entries

    @cached_property
    def outer_work(self) -> float:
        counts = np.diff(self.X.indptr).astype(np.float64)
        return float(counts @ counts)

    @property
    def operands(self) -> tuple[Array, Array, Array]:
        return self.X.data, self.X.indices, self.X.indptr
