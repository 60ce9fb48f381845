"""The successive projection algorithm: the pixel farthest from the span of those picked so far."""

from __future__ import annotations

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import power_of_two, row_norms
from pursuit.unmixing.extraction import (
    Array,
    Extraction,
    Integers,
    checked_pixels,
    scaled_to_one,
    stopped_early,
)
from pursuit.unmixing.rows import unit_rows

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
    picks = spanning_picks(scaled_to_one(rows), r)
    return Extraction(indices=picks, endmembers=rows[picks], labels=None, method="SPA")


def spa_normalised(pixels: object, r: int) -> Extraction:
    """Successive projection on pixels divided by their norms: dark materials count like others.

    All lengths are then equal, and which pixel comes first would be a matter of rounding: it is
    the brightest, and so wherever residuals are tied.
    """
    rows, r = checked_pixels(pixels, r)
    unit, norms = unit_rows(rows)
    picks = spanning_picks(unit, r, norms)
    method = "SPA on normalised pixels"
    return Extraction(indices=picks, endmembers=rows[picks], labels=None, method=method)


def spa_constant(pixels: object, r: int) -> Extraction:
    """Successive projection on pixels with one more band, constant at the largest norm of a pixel.

    For shares that sum to one: then spectra need only be affinely independent, and a dark
    material, near the origin, is a corner like all others.
    """
    rows, r = checked_pixels(pixels, r)
    work = np.zeros((len(rows), rows.shape[1] + 1))
    np.divide(rows, power_of_two(rows), out=work[:, :-1])
    work[:, -1] = row_norms(work).max()
    picks = spanning_picks(work, r)
    method = "SPA with a constant band"
    return Extraction(indices=picks, endmembers=rows[picks], labels=None, method=method)


def spanning_picks(points: Array, r: int, brightness: Array | None = None) -> Integers:
    """The picks of `projection_picks`; a warning or a refusal where there are fewer than `r`."""
    if r > points.shape[1]:
        raise InputError(f"r: expected at most the number of bands, {points.shape[1]}, got {r}")
    picks = projection_picks(points, r, brightness)
    if not len(picks) and r == 1:  # of more than one, all pixels being alike is said
        raise InputError("pixels: expected some that are not zero, got none")
    if len(picks) < r:
        stopped_early(points, r, len(picks), "they span all the others", stacklevel=4)
    return picks


def projection_picks(points: Array, r: int, brightness: Array | None = None) -> Integers:
    """The numbers of at most `r` rows of `points`, in the order of the picks.

    Of tied rows the one of largest `brightness` is taken, by default of largest norm.
    """
    squared = np.einsum("ij,ij->i", points, points)
    brightness = squared if brightness is None else brightness
    residual = squared.copy()
    basis = np.empty((0, points.shape[1]))
    picks: list[int] = []
    while len(picks) < r and residual.max() > EXHAUSTED * squared.max():
        tied = np.flatnonzero(residual >= (1 - TIED) * residual.max())
        picks.append(int(tied[np.argmax(brightness[tied])]))
        u = _orthogonal_part(points[picks[-1]], basis)
        basis = np.vstack([basis, u])
        residual -= (points @ u) ** 2  # Pythagoras: the data itself is never projected
    return np.array(picks, dtype=np.intp)


def _orthogonal_part(vector: Array, basis: Array) -> Array:
    """The unit vector of `vector` minus its projection on the rows of `basis`."""
    u = vector - basis.T @ (basis @ vector)
    u -= basis.T @ (basis @ u)  # once more: rounding leaves a part of the basis the first time
    return np.asarray(u / np.linalg.norm(u))
