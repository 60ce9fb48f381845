"""The successive projection algorithm: the pixel farthest from the span of those picked so far."""

from __future__ import annotations

import numpy as np

from pursuit.base.errors import InputError
from pursuit.unmixing.extraction import (
    Array,
    Extraction,
    Integers,
    bring_near_one,
    checked_pixels,
    stopped_early,
)

TIED = 1e-6
"""Squared residuals this close, relatively, are tied: the pixel of larger norm is taken."""

EXHAUSTED = 1e-9
"""The points are spanned once every squared residual is below this share of the largest norm."""


def spa(pixels: object, r: int) -> Extraction:
    """Pick `r` pixels as endmembers by successive projection.

    Every pick is the pixel of largest residual after projection on the orthogonal complement of
    the pixels picked before. When every pixel is a mixture of r linearly independent pixels of
    the scene, with non-negative shares that sum to at most one, exactly those are found (Gillis
    & Vavasis 2014, Theorem 1, without noise).

    Parameters
    ----------
    pixels
        One spectrum per row, shape ``(n_pixels, bands)``; any real type.
    r
        The number of endmembers, at most the number of pixels and of bands. If the pixels span
        fewer dimensions, fewer are found and a warning says so.

    Returns
    -------
    Extraction
        In the order of the picks; ``labels`` is None.
    """
    rows, r = checked_pixels(pixels, r)
    if r > rows.shape[1]:
        raise InputError(f"r: expected at most the number of bands, {rows.shape[1]}, got {r}")
    picks = projection_picks(bring_near_one(rows.astype(np.float64)), r)
    if len(picks) < r:
        stopped_early(rows, r, len(picks), "they span all the others")
    return Extraction(indices=picks, endmembers=rows[picks], labels=None, method="SPA")


def projection_picks(points: Array, r: int) -> Integers:
    """The numbers of at most `r` rows of `points`, in the order of the picks."""
    squared = np.einsum("ij,ij->i", points, points)
    residual = squared.copy()
    basis = np.empty((0, points.shape[1]))
    picks: list[int] = []
    while len(picks) < r and residual.max() > EXHAUSTED * squared.max():
        tied = np.flatnonzero(residual >= (1 - TIED) * residual.max())
        picks.append(int(tied[np.argmax(squared[tied])]))
        u = _orthogonal_part(points[picks[-1]], basis)
        basis = np.vstack([basis, u])
        residual -= (points @ u) ** 2  # Pythagoras: the data itself is never projected
    return np.array(picks, dtype=np.intp)


def _orthogonal_part(vector: Array, basis: Array) -> Array:
    """The unit vector of `vector` minus its projection on the rows of `basis`."""
    u = vector - basis.T @ (basis @ vector)
    u -= basis.T @ (basis @ u)  # once more: rounding leaves a part of the basis the first time
    return np.asarray(u / np.linalg.norm(u))
