"""Matrices kept as factors, and the points of pursuits over rank-one atoms that live on them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.atoms.base import Atom
from pursuit.atoms.rank_one import RankOne
from pursuit.points import Counts, Ledger, Point
from pursuit.singular import leading_pair
from pursuit.validation import Array

if TYPE_CHECKING:
    from pursuit.objectives.matrices import MatrixObjective


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

    def entries(self, rows: Array, columns: Array) -> Array:
        """X at some places."""
        entries: Array = np.einsum(
            "ij,j,ij->i", self.left[rows], self.weights, self.right[columns]
        )
        return entries

    def copy(self) -> Factors:
        return Factors(self.left.copy(), self.weights.copy(), self.right.copy())

    @staticmethod
    def zero(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Factors:
        rows, columns = shape
        return Factors(np.zeros((rows, 0), dtype), np.zeros(0, dtype), np.zeros((columns, 0), dtype))


class FactorLedger(Ledger):
    """A ledger of rank-one atoms that also keeps their vectors as columns."""

    def __init__(self, atoms: RankOne, dtype: np.dtype[Any]) -> None:
        super().__init__(atoms)
        self._left, self._right = (np.zeros((size, 4), dtype, order="F") for size in atoms.shape)
        self._stored = 0

    def factors(self) -> tuple[Array, Array]:
        """The u and the v of every atom met so far, as columns."""
        while self._stored < len(self.seen):
            if self._stored == self._left.shape[1]:
                self._left, self._right = _wider(self._left), _wider(self._right)
            self._left[:, self._stored], self._right[:, self._stored] = self.seen[self._stored]
            self._stored += 1
        return self._left[:, : self._stored], self._right[:, : self._stored]

    def restore(self, handles: list[Atom]) -> None:
        super().restore(handles)
        self._stored = 0


def _wider(columns: Array) -> Array:
    wide = np.zeros((len(columns), 2 * columns.shape[1]), columns.dtype, order="F")
    wide[:, : columns.shape[1]] = columns
    return wide
