"""How large numbers are, without losing any to the range of floating point."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.validation import Array

BLOCK = 2**15
"""Numbers that are looked at together."""
SAFE = (1e-140, 1e140)
"""Numbers whose squares, and sums of many of them, are numbers."""


def norm(x: Array) -> float:
    """‖x‖ in float64, without overflow or underflow of the squares."""
    flat = x.reshape(-1).astype(np.float64, copy=False)
    peak = float(np.abs(flat).max(initial=0.0))
    if SAFE[0] < peak < SAFE[1]:
        return float(np.sqrt(flat @ flat))
    if peak == 0 or not np.isfinite(peak):
        return peak
    near = flat / peak
    return peak * float(np.sqrt(near @ near))


def peak(A: Any) -> float:
    """The largest |entry| of an array or a sparse array; zero where there are none to see."""
    entries = getattr(A, "data", A) if hasattr(A, "tocsr") else A
    if not isinstance(entries, np.ndarray) or not entries.size:
        return 0.0
    flat, most = entries.ravel(order="K"), 0.0
    for begin in range(0, flat.size, BLOCK):  # looked at twice while it is in the cache
        block = flat[begin : begin + BLOCK]
        most = max(most, float(block.max()), -float(block.min()))
    return most
