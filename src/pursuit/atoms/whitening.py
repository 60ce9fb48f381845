"""Coordinates in which weighted rows have the identity as their second moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS
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
        with np.errstate(over="ignore"):
            squares: Array = np.einsum("ij,ij->i", self.whitened, self.whitened)
        return squares

    @property
    def shares(self) -> Array:
        """q_j‖b_j‖², at most one whatever rounding does, for q_j b_jᵀb_j ≤ I; Σ q_j‖b_j‖² = r."""
        b = np.sqrt(self.weights)[:, None] * self.whitened
        with np.errstate(over="ignore"):
            shares: Array = np.minimum(np.einsum("ij,ij->i", b, b), 1.0)
        return shares

    @cached_property
    def blurs(self) -> Array:
        """How far b_j may be from a_j T: r ulps of |a_j||T|, T being taken as it is."""
        r = len(self.transform)
        sizes = np.abs(self.rows) @ np.abs(self.transform)
        with np.errstate(over="ignore"):
            blurs: Array = (r + 2) * EPS * np.linalg.norm(sizes, axis=1)
        return blurs

    @cached_property
    def noise(self) -> float:
        """The same for all of them together: (Σ q_j ‖b_j − a_j T‖²)^½ is at most this."""
        return float(np.sqrt(self.weights @ (self.blurs * self.blurs)))

    @cached_property
    def rounding(self) -> float:
        """θ with (1 − θ)RᵀR ≤ Σ q_j a_jᵀa_j ≤ (1 + θ)RᵀR, measured; infinite where hopeless."""
        with np.errstate(over="ignore", invalid="ignore"):
            b = np.sqrt(self.weights)[:, None] * self.whitened
            off = float(np.linalg.norm(b.T @ b - np.eye(b.shape[1])))
            theta = off + self.noise * (2 * float(np.linalg.norm(b)) + self.noise)
        return theta if theta < 1 else np.inf


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
