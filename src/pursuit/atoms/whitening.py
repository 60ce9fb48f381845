"""Coordinates in which weighted rows have the identity as their second moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.validation import Array


@dataclass(frozen=True)
class Whitened:
    """R and T = R⁻¹ with Σ q_j a_jᵀa_j = RᵀR for the rows a_j of a matrix of full column rank.

    Attributes
    ----------
    rows, weights
        a_j and q_j.
    frame, transform
        R and T, shape (r, r).
    """

    rows: Array
    weights: Array
    frame: Array
    transform: Array

    @cached_property
    def whitened(self) -> Array:
        """b_j = a_j T, for which Σ q_j b_jᵀb_j = I."""
        return self.rows @ self.transform

    @cached_property
    def lengths(self) -> Array:
        """‖b_j‖²."""
        squares: Array = np.einsum("ij,ij->i", self.whitened, self.whitened)
        return squares

    @property
    def shares(self) -> Array:
        """q_j‖b_j‖², at most one whatever rounding does, for q_j b_jᵀb_j ≤ I; Σ q_j‖b_j‖² = r."""
        b = np.sqrt(self.weights)[:, None] * self.whitened
        shares: Array = np.minimum(np.einsum("ij,ij->i", b, b), 1.0)
        return shares


def whiten(rows: Array, weights: Array) -> Whitened:
    """The coordinates that weights give, by a QR factorisation.

    With its rows in the order of their norms and its columns pivoted, it loses nothing of rows
    that are much shorter than others.
    """
    lapack = scipy_linalg().lapack
    weighted = np.sqrt(weights)[:, None] * rows
    order = np.argsort(-np.abs(weighted).max(axis=1), kind="stable")
    factored, pivots, *_ = lapack.dgeqp3(weighted[order])
    R = np.triu(factored[: rows.shape[1]])
    inverse, singular = lapack.dtrtri(R)
    if singular or not np.isfinite(inverse).all():
        raise InputError("atoms: their norms are too far apart for second moments in float64")
    frame, transform = np.empty_like(R), np.empty_like(R)
    frame[:, pivots - 1], transform[pivots - 1] = R, inverse
    return Whitened(rows, weights, frame, transform)
