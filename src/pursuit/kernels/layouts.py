"""What kernels are given and what they fill: plain arrays, made without a compiler."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.validation import Array

# Squared norms in this range leave room for products and rounding errors in either precision.
COMFORT = {np.dtype(np.float32): (2.0**-60, 2.0**60), np.dtype(np.float64): (2.0**-300, 2.0**300)}


class Signals(NamedTuple):
    """Some signals: rows, squared norms, and the power of two that was divided out of each."""

    x: Array
    norm2: Array
    unscale: Array


class Piece(NamedTuple):
    """The codes of some signals, one after another."""

    sizes: Array
    indices: Array
    values: Array
    residual_norms: Array
    iterations: Array
    statuses: Array


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros that begin on a cache line, so that vector loads do not straddle two."""
    total = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(total + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + total].view(dtype).reshape(shape)
