"""Arrays for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.validation import Array


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros that begin on a cache line, so that vector loads do not straddle two."""
    total = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(total + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + total].view(dtype).reshape(shape)
