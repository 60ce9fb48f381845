"""Minimise a smooth convex function of a few coefficients, by its slopes alone.

Values are never compared: near a minimum their differences drown in rounding long before the
slopes do.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan

import numpy as np

from pursuit.base.validation import Array
from pursuit.rules.run import Unbounded

Apply = Callable[[Array], Array]
Slopes = Callable[[Array], Array]
"""δ ↦ minus the gradient at δ of the function that falls along +δ."""
Direction = Callable[[Array, Array], Array]
"""(δ, slopes at δ) ↦ a step."""

ACCURACY = 1e-11
"""The slope over the atoms in use falls to this share of the first (for a quadratic: to zero)."""
ROUNDS = 200
"""The most steps of one descent."""
CLOSE, PATIENCE = 1e-5, 4
"""Where the slope has fallen to this share, so many steps in a row that fail to halve it are
blamed on rounding."""
PROBES = 50
"""The most looks along one step."""


def descend(
    slopes: Slopes,
    first: Array,
    direction: Direction,
    scale: Array,
    enough: float,
    room: Array | None = None,
) -> tuple[Array, Array]:
    """Step from δ = 0 until max \\|slope_i\\|/scale_i ≤ `enough`, or rounding ends all progress.

    Returns δ and the slopes there; `first` are those at 0. Where `room` is given, it also ends as
    soon as some δ_i is as large as room_i ≥ 0, which none exceeds.
    """
    delta, here = np.zeros(len(first)), first
    start = lowest = float((np.abs(here) / scale).max())
    failures = 0
    for _ in range(ROUNDS):
        steepness = float((np.abs(here) / scale).max())
        if steepness <= enough or failures == PATIENCE:
            break
        failures = failures + 1 if 0.5 * lowest < steepness < CLOSE * start else 0
        lowest = min(lowest, steepness)
        # Where f hardly bends a step may be far too long to be searched; slopes never are.
        for step in (direction(delta, here), here / scale**2):
            if not (fall := float(here @ step)) > 0:
                continue
            limit, nearest = (inf, -1) if room is None else _first_bound(room - delta, step)
            length, there = search(slopes, delta, here, step, fall, limit)
            if length > 0:
                break
        else:
            break
        here = there
        delta = delta + length * step
        if room is not None:
            np.minimum(delta, room, out=delta)
            if length == limit:
                delta[nearest] = room[nearest]
                break
    return delta, here


def _first_bound(room: Array, step: Array) -> tuple[float, int]:
    """How far a step may go before it uses up the room of an entry, and which entry that is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = np.where(step > 0, room / step, inf)
    nearest = int(np.argmin(ways))
    return float(ways[nearest]), nearest


def search(
    slopes: Slopes, delta: Array, here: Array, step: Array, fall: float, limit: float = inf
) -> tuple[float, Array]:
    """How far along a step from δ: t with −fall/2 ≤ φ′(t) ≤ fall/1000, and the slopes there.

    φ′(0) = −fall, and φ′ grows because φ is convex. Where no such t is found, the furthest one
    with φ′(t) ≤ 0 is returned, which is never worse than t = 0. No t is above `limit`, which is
    the answer where φ still falls there.
    """
    low, high, at_low, at_high = 0.0, inf, -fall, inf
    t = min(1.0, limit)
    for probe in range(PROBES):
        there = slopes(delta + t * step)
        rate = -float(there @ step)
        if -0.5 * fall <= rate <= 1e-3 * fall or (t == limit and rate < 0):
            return t, there
        if rate < 0:
            low, at_low, here = t, rate, there
        else:
            high, at_high = t, inf if isnan(rate) else rate
        # Every other look halves: a slope with kinks can fool the secant from one side.
        t = min(_between(low, high, at_low, inf if probe % 2 else at_high), limit)
    if high == inf:
        raise Unbounded("a direction of the atoms in use")
    return low, here


def _between(low: float, high: float, at_low: float, at_high: float) -> float:
    """The next place to look for a root: further out, along the secant, or half-way."""
    if high == inf:
        return 4 * low
    share = at_low / (at_low - at_high) if at_high < inf else 0.5
    return low + min(max(share, 0.1), 0.9) * (high - low)


def conjugate(
    hessian: Apply, slopes: Array, precondition: Apply, scale: Array, enough: float
) -> Array:
    """Conjugate gradient steps for ∇²δ = slopes, until max \\|residual_i\\|/scale_i ≤ `enough`."""
    delta, residual = np.zeros_like(slopes), slopes
    step, inner = np.zeros_like(slopes), inf
    for _ in range(2 * len(slopes) + 10):
        if (np.abs(residual) / scale).max() <= enough:
            break
        towards = precondition(residual)
        previous, inner = inner, float(residual @ towards)
        step = towards + (inner / previous) * step
        bent = hessian(step)
        curvature = float(step @ bent)
        if not curvature > 0:
            # A flat direction: go along it if nothing else is known.
            return delta if delta.any() else step
        delta = delta + (inner / curvature) * step
        residual = residual - (inner / curvature) * bent
    return delta
