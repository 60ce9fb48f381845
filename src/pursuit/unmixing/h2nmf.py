"""Endmembers by hierarchical clustering with rank-two factorisations (H2NMF).

Gillis, Kuang & Park, "Hierarchical clustering of hyperspectral images using rank-two nonnegative
matrix factorization", IEEE Trans. Geosci. Remote Sens. 53 (2015). Deterministic, one pass per
split, O(pixels × bands) per level of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from pursuit.base.scaling import row_norms
from pursuit.base.tolerances import tolerances
from pursuit.unmixing.extraction import (
    Array,
    Extraction,
    Integers,
    checked_pixels,
    scaled_to_one,
    stopped_early,
)
from pursuit.unmixing.spa import projection_picks

UNSPLIT = "no cluster can be split any further"
THRESHOLDS = np.arange(101) / 100
WINDOW = 0.05
"""Half the width in which the density of pixels around a threshold is counted."""


def h2nmf(pixels: object, r: int) -> Extraction:
    """Split the pixels into `r` clusters and pick one pixel to represent each.

    A cluster X (one pixel per row) is split by its best rank-two approximation: two of its
    extreme rows W, the non-negative shares H = argmin ‖X − HW‖, and a threshold on h₁/(h₁ + h₂)
    that cuts where few pixels lie and leaves balanced parts. Of all leaves, the one is split for
    which σ₁(child 1)² + σ₁(child 2)² − σ₁(leaf)² is largest. A cluster is represented by the
    pixel at the smallest mean-removed spectral angle to its first singular vector.

    Parameters
    ----------
    pixels
        One spectrum per row, shape ``(n_pixels, bands)``; any real type, negative entries count
        as 0. A common factor of all pixels changes nothing.
    r
        The number of clusters, at most the number of pixels. If no cluster can be split any
        further, fewer are found and a warning says so.

    Returns
    -------
    Extraction
        ``indices``, ``endmembers`` (rows of `pixels`) and ``labels``, in the order of the leaves.
    """
    rows, r = checked_pixels(pixels, r)
    work = scaled_to_one(rows)
    labels, indices = clusters(np.maximum(work, 0, out=work), r)
    if len(indices) < r:
        stopped_early(rows, r, len(indices), UNSPLIT)
    return Extraction(indices=indices, endmembers=rows[indices], labels=labels, method="H2NMF")


def clusters(work: Array, r: int) -> tuple[Integers, Integers]:
    """Return the label of every pixel and the index of the pixel that represents each cluster.

    `work` holds non-negative pixels in float64. There are fewer than `r` clusters where none can be
    split any further.
    """
    # One thread: the products are small, and sums in a fixed order make the picks reproducible.
    with threadpool_limits(1, "blas"):
        leaves = _grow(work, r)
    labels = np.empty(len(work), dtype=np.intp)
    for k, leaf in enumerate(leaves):
        labels[leaf.members] = k
    return labels, np.array([_representative(work, leaf) for leaf in leaves], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A cluster: its pixels, and its two leading singular values and directions (columns)."""

    members: Integers
    sigmas: Array
    directions: Array


@dataclass(frozen=True, eq=False)
class _Split:
    children: tuple[_Leaf, _Leaf] | None
    gain: float


def _grow(work: Array, r: int) -> list[_Leaf]:
    leaves = [_leaf(work, np.arange(len(work)))]
    splits: list[_Split] = []
    while len(leaves) < r:
        splits += [_split(work, leaf) for leaf in leaves[len(splits) :]]
        best = int(np.argmax([split.gain for split in splits]))
        children = splits[best].children
        if children is None:
            break
        del leaves[best], splits[best]
        leaves += children
    return leaves


def _leaf(work: Array, members: Integers) -> _Leaf:
    sigmas, directions = _leading_pairs(_pixels_of(work, members))
    return _Leaf(members, sigmas, directions)


def _pixels_of(work: Array, members: Integers) -> Array:
    """Return the pixels of a cluster, without a copy where these are all."""
    pixels: Array = work if len(members) == len(work) else work[members]
    return pixels


def _leading_pairs(cluster: Array) -> tuple[Array, Array]:
    """The two leading singular values of `cluster` and its directions over the bands."""
    if len(cluster) < cluster.shape[1]:
        _, values, rows = np.linalg.svd(cluster, full_matrices=False)
        return values[:2], rows[:2].T
    squares, vectors = np.linalg.eigh(cluster.T @ cluster)
    return np.sqrt(np.maximum(squares[:-3:-1], 0)), vectors[:, :-3:-1]


def _split(work: Array, leaf: _Leaf) -> _Split:
    """The two children of `leaf` and what they gain; no children where it cannot be split."""
    first = _shares(_pixels_of(work, leaf.members), leaf.directions)
    above = first >= _threshold(first)
    if above.all():
        return _Split(None, -np.inf)
    one, two = _leaf(work, leaf.members[above]), _leaf(work, leaf.members[~above])
    gain = one.sigmas[0] ** 2 + two.sigmas[0] ** 2 - leaf.sigmas[0] ** 2
    return _Split((one, two), float(gain))


def _shares(cluster: Array, directions: Array) -> Array:
    """The share of the first of two extreme directions in every pixel, between 0 and 1."""
    flat = cluster @ directions
    corners = np.zeros((2, cluster.shape[1]))  # a rank-one cluster has no second corner
    picks = projection_picks(flat, 2)
    corners[: len(picks)] = np.maximum(flat[picks] @ directions.T, 0)
    weights = _two_weights(cluster @ corners.T, corners @ corners.T)
    total = weights.sum(axis=1)
    return np.asarray(weights[:, 0] / np.where(total > 0, total, 1.0))


def _two_weights(b: Array, gram: Array) -> Array:
    """Exact non-negative least squares on two atoms, from b = X Wᵀ and gram = W Wᵀ.

    Where the free solution has a negative entry the best answer lies on one atom alone.
    """
    norms = np.sqrt(np.diag(gram))
    safe = np.where(norms > 0, norms, 1.0)
    alone = np.maximum(b / safe**2, 0) * (norms > 0)
    second_better = alone[:, 1] * norms[1] > alone[:, 0] * norms[0]
    weights = np.where(np.column_stack([second_better, ~second_better]), 0.0, alone)
    sine2 = 1 - (gram[0, 1] / (safe[0] * safe[1])) ** 2
    if norms.min() > 0 and sine2 > tolerances(np.float64).dependent:
        free = np.linalg.solve(gram, b.T).T
        both = (free >= 0).all(axis=1)
        weights[both] = free[both]
    return weights


def _threshold(shares: Array) -> float:
    """The first minimiser of −log(F(1 − F)) + exp(G): balanced parts, cut where few pixels lie.

    F(δ) is the fraction of shares up to δ, G(δ) their density within `WINDOW` of δ.
    """
    ordered = np.sort(shares)
    high = np.minimum(THRESHOLDS + WINDOW, 1)
    low = np.maximum(THRESHOLDS - WINDOW, 0)
    below = np.searchsorted(ordered, THRESHOLDS, side="right") / len(ordered)
    near = np.searchsorted(ordered, high, side="right") - np.searchsorted(ordered, low)
    density = near / len(ordered) / (high - low)
    cost = np.full(len(THRESHOLDS), np.inf)
    cuts = (below > 0) & (below < 1)
    cost[cuts] = np.exp(density[cuts]) - np.log(below[cuts] * (1 - below[cuts]))
    return float(THRESHOLDS[np.argmin(cost)])


def _representative(work: Array, leaf: _Leaf) -> int:
    """The pixel at the smallest mean-removed angle to the cluster's first direction."""
    centred = work[leaf.members]  # a copy, and the only one: it may be as large as the scene
    u = np.abs(leaf.directions[:, 0])  # its mean need not be removed: it meets centred pixels
    lengths = row_norms(centred)
    centred -= centred.mean(axis=1, keepdims=True)
    norms = row_norms(centred)
    # A spectrum that the constant one explains up to rounding has no angle.
    curved = norms**2 > tolerances(np.float64).dependent * lengths**2
    cosine = np.full(len(centred), -np.inf)
    cosine[curved] = (centred if curved.all() else centred[curved]) @ u / norms[curved]
    return int(leaf.members[np.argmax(cosine)])
