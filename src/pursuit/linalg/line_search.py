"""The minimizer of a convex function along a line, by its derivative alone.

Values are never compared: near a minimum their differences are lost in rounding long before the
derivative is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, nan

FARTHER = 10.0
"""How many times longer a step may become at once while the function still falls."""
ROUNDING = 1e-6
"""Beyond the minimizer φ′(t) up to this share of |φ′(0)| is zero."""


def line_search(
    derivative: Callable[[float], float],
    fall: float,
    start: float = 1.0,
    *,
    limit: float = inf,
    accuracy: tuple[float, float] = (0.5, 1e-3),
    max_evaluations: int = 50,
) -> float:
    """Return t > 0 where a nondecreasing φ′ with φ′(0) = −fall < 0 is nearly zero.

    Parameters
    ----------
    derivative
        t ↦ φ′(t); a value that is not finite counts as one beyond the minimizer.
    start
        The first t.
    limit
        The largest t; it is returned where φ still falls there.
    accuracy
        φ′(t) is at least −accuracy[0]·fall and at most accuracy[1]·fall.

    Returns
    -------
    float
        φ(t) is at most φ(0). Where no such t is found, the largest with φ′(t) ≤ 0, which may be 0;
        infinity where φ fell at every t.
    """
    before, at_before, low, high, width, n_slow = 0.0, -fall, 0.0, inf, inf, 0
    proved = 0.0  # a lower bound on φ(0) − φ(low)
    t = min(start, limit)
    for _ in range(max_evaluations):
        here = float(derivative(t))  # which overflows without a warning
        if -accuracy[0] * fall <= here <= 0 or (t == limit and here < 0):
            return t
        if 0 < here <= accuracy[1] * fall:
            # φ may curve near 0 only, and rise for long at a small rate.
            if here <= ROUNDING * fall or (t - low) * here <= proved:
                return t
            half = 0.5 * (low + t)
            at_half = float(derivative(half))
            if at_half <= -here:
                return t
            if at_half > 0:
                t, here = half, at_half
        low, high = (t, high) if here < 0 else (low, t)
        proved = -low * here if here < 0 else proved
        rate = (here - at_before) / (t - before) if t != before else nan
        root = t - here / rate if isfinite(rate) and rate > 0 else nan
        before, at_before = t, here
        if high == inf:
            t = min(max(root, 2 * t) if root > t else FARTHER * t, FARTHER * t, limit)
            continue
        n_slow = 0 if high - low <= 0.5 * width else n_slow + 1
        width = min(width, high - low) if n_slow == 0 else width
        # A derivative with kinks can fool the secant from one side.
        t = root if n_slow < 3 and low < root < high else 0.5 * (low + high)
    return inf if high == inf else low
