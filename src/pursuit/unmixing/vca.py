"""Vertex component analysis: the extreme pixel along random directions, one after the other.

Nascimento & Bioucas-Dias, "Vertex component analysis: a fast algorithm to unmix hyperspectral
data", IEEE Trans. Geosci. Remote Sens. 43 (2005).
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import count
from pursuit.unmixing.extraction import (
    Array,
    Extraction,
    Integers,
    checked_pixels,
    scaled_to_one,
    stopped_early,
)

EXHAUSTED = 1e-9
"""Nothing is left to pick once the largest projection is below this share of the largest norm."""
OUTSIDE = 1e-6
"""Pixels whose component along the mean is below this share of the largest are not projected."""


def vca(pixels: object, r: int, *, seed: int = 0) -> Extraction:
    """Pick `r` pixels as endmembers by vertex component analysis.

    The pixels are projected to r dimensions: where the signal is strong, on their leading
    singular directions and then along the mean on a plane (which undoes the light of every
    pixel); where SNR < 15 + 10·log₁₀ r dB, on their r − 1 principal components. Then r times the
    pixel that is farthest along a random direction orthogonal to those picked so far.

    Parameters
    ----------
    pixels
        One spectrum per row, shape ``(n_pixels, bands)``; any real type.
    r
        At least 2, at most the number of pixels and of bands. If the pixels span fewer
        dimensions, fewer are found and a warning says so.
    seed
        Of the random directions: the same seed gives the same picks.

    Returns
    -------
    Extraction
        In the order of the picks; ``labels`` is None.
    """
    rows, r = checked_pixels(pixels, count("r", r, 2))
    if r > rows.shape[1]:
        raise InputError(f"r: expected at most the number of bands, {rows.shape[1]}, got {r}")
    rng = np.random.default_rng(count("seed", seed))
    with threadpool_limits(1, "blas"):
        points = _projected(scaled_to_one(rows), r)
        picks = _extremes(points, rng)
    if not len(picks):
        raise InputError("pixels: expected some that are not zero, got none")
    if len(picks) < r:
        stopped_early(rows, r, len(picks), "they span all the others")
    return Extraction(indices=picks, endmembers=rows[picks], labels=None, method="VCA")


def _projected(work: Array, r: int) -> Array:
    """The pixels in r dimensions, shape ``(n_pixels, r)``."""
    mean = work.mean(axis=0)
    directions = _leading(np.cov(work, rowvar=False, bias=True), r)  # first: it copies the pixels
    components = (work - mean) @ directions
    if _signal_to_noise(work, components, mean) < 15 + 10 * np.log10(r):
        kept = components[:, : r - 1]
        farthest = np.sqrt(np.square(kept).sum(axis=1).max())
        return np.column_stack([kept, np.full(len(kept), farthest)])
    points = work @ _leading(work.T @ work / len(work), r)
    along = points @ points.mean(axis=0)
    inside = along > OUTSIDE * along.max()
    flat: Array = np.where(inside[:, None], points / np.where(inside, along, 1.0)[:, None], 0.0)
    return flat


def _leading(moments: Array, r: int) -> Array:
    vectors: Array = np.linalg.eigh(np.atleast_2d(moments))[1][:, : -r - 1 : -1]
    return vectors


def _signal_to_noise(work: Array, components: Array, mean: Array) -> float:
    """10·log₁₀ of signal over noise, if the signal lies in r dimensions and noise in all."""
    bands, r = work.shape[1], components.shape[1]
    power = np.square(work).sum() / len(work)
    kept = np.square(components).sum() / len(work) + mean @ mean
    signal, noise = kept - r / bands * power, power - kept
    if noise <= tolerances(np.float64).equal * power:
        return np.inf
    return float(10 * np.log10(signal / noise)) if signal > 0 else -np.inf


def _extremes(points: Array, rng: np.random.Generator) -> Integers:
    """The numbers of at most r rows of `points`, each extreme along a random direction."""
    r = points.shape[1]
    largest = np.sqrt(np.square(points).sum(axis=1).max())
    corners = np.zeros((r, r))
    corners[0, -1] = 1.0
    picks: list[int] = []
    for k in range(r):
        w = rng.random(r)
        f = w - np.linalg.pinv(corners) @ (corners @ w)
        along = np.abs(points @ (f / np.linalg.norm(f)))
        picks.append(int(np.argmax(along)))
        if along[picks[-1]] <= EXHAUSTED * largest:
            return np.array(picks[:-1], dtype=np.intp)
        corners[k] = points[picks[-1]]
    return np.array(picks, dtype=np.intp)
