"""Overlapping patches of a picture, and a picture of overlapping patches."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pursuit.base.validation import Array


def patches(picture: Array, side: int) -> Array:
    """Every patch of a grey picture as a row, from left to right and down: a copy."""
    return sliding_window_view(picture, (side, side)).reshape(-1, side * side)


def some_patches(picture: Array, side: int, count: int, rng: np.random.Generator) -> Array:
    """At most `count` of them, drawn at random."""
    windows = sliding_window_view(picture, (side, side))
    height, width = windows.shape[:2]
    drawn = rng.permutation(height * width)[:count]
    rows: Array = windows[drawn // width, drawn % width].reshape(len(drawn), -1)
    return rows


def overlay(rows: Array, side: int, total: Array) -> None:
    """Add patches to a picture at their places."""
    height, width = (length - side + 1 for length in total.shape)
    stack = rows.reshape(height, width, side, side)
    for y in range(side):
        for x in range(side):
            total[y : y + height, x : x + width] += stack[:, :, y, x]


def coverage(shape: tuple[int, int], side: int) -> Array:
    """How many patches each pixel is in."""
    down, across = (
        np.minimum.reduce([np.arange(1, n + 1), np.arange(n, 0, -1), np.full(n, side)])
        for n in shape
    )
    return np.outer(np.minimum(down, shape[0] - side + 1), np.minimum(across, shape[1] - side + 1))
