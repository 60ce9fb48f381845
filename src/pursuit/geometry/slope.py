"""The slope at a point, with what rounding may hide of it.

A bound on f(x) − f* is about the stored x. In single precision, or where atoms are nearly alike,
x has left lin(A) by more than what a bound may ignore, and the gradient as computed differs from
the true one. Both are looked at in float64, and what float64 may be off by is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.lin import Lin
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, length
from pursuit.base.validation import Array
from pursuit.geometry.span import longest
from pursuit.objectives.base import Objective

CAREFUL = 1e-10
"""The relative accuracy of the dual norm of an infinite set, found by iteration."""


@dataclass(frozen=True)
class Slope:
    """f around x, seen from the nearest point x′ of lin(A).

    Attributes
    ----------
    point, gradient
        x′ and ∇f(x′), in float64.
    value
        At least ‖∇f(x′)‖_{A*}.
    rounding
        At least ‖computed − true ∇f(x′)‖.
    off
        At least f(x) − f(x′).
    dent
        What a turned basis of lin(A) may take from the convexity that was computed in it.
    """

    point: Any
    gradient: Any
    value: float
    rounding: float
    off: float = 0.0
    dent: float = 0.0

    def gap(self, mu_A: float) -> float:
        """At least f(x) − f*, for an f that is μ_A-strongly convex: ‖∇f‖²_{A*}/(2μ_A)."""
        mu_A = mu_A - self.dent
        if not (mu_A > 0 and isfinite(self.value)):
            return inf
        return self.value / mu_A * self.value / 2 + self.off


@np.errstate(over="ignore", invalid="ignore")
def slope_at(f: Objective, atoms: AtomSet, x: Any) -> Slope:
    """What f says at a point, rounding included."""
    x = x.astype(np.float64, copy=False)
    finite = atoms.finite
    if finite is None:
        return _of_infinite(f, atoms, x)
    lin, radius = finite.lin, longest(atoms)
    point = lin.project(x)
    gradient = _gradient(f, point)
    within = lin.project(gradient)
    operations = lin.dimension + lin.rank + 4
    rounding = f.gradient_rounding(point) + operations * EPS * length(gradient)
    value = float(np.max(np.abs(finite.correlate(within)))) + radius * rounding
    if lin.basis is None:
        return Slope(point, gradient, value, rounding)
    off = _off(f, x, point, operations)
    return _turned(f, lin, radius, Slope(point, gradient, value, rounding, off))


def _gradient(f: Objective, x: Array) -> Array:
    """∇f(x) in float64, where it is still a number."""
    return np.asarray(_finite(f.gradient(x)), np.float64)


def _finite(gradient: Any) -> Any:
    if isinstance(gradient, np.ndarray) and not np.isfinite(gradient).all():
        raise InputError("f: its gradient is out of the range of floating point")
    return gradient


def _off(f: Objective, x: Array, point: Array, operations: int) -> float:
    """At least f(x) − f(x′), which is at most ⟨∇f(x), x − x′⟩ for a convex f."""
    gradient = _gradient(f, x)
    apart, blur = x - point, operations * EPS * length(x)
    rounding = f.gradient_rounding(x) * (length(apart) + blur) + blur * length(gradient)
    return max(float(np.vdot(gradient, apart)), 0.0) + rounding


def _turned(f: Objective, lin: Lin, radius: float, seen: Slope) -> Slope:
    """Allow for the angle θ between lin(A) and its basis as computed.

    A point w of lin(A) is within θ‖w‖ of the span of the basis, and f falls by at most that times
    its slope out of the span, ‖g⊥‖ at x′ and at most L‖w − x′‖ more at w.
    """
    theta = lin.tilt * (1 + lin.tilt)
    if theta == 0:
        return seen
    L = inf if f.L is None else f.L
    outside, size = length(seen.gradient - lin.project(seen.gradient)), length(seen.point)
    return replace(
        seen,
        value=seen.value + theta * radius * (outside + (L * size if size else 0.0)),
        off=seen.off + theta * outside * size,
        dent=2 * theta * L * radius * radius,
    )


def _of_infinite(f: Objective, atoms: AtomSet, x: Any) -> Slope:
    """Sets that fill the coordinates that they touch: x is in lin(A) to the last bit."""
    gradient, rounding = _finite(f.gradient(x)), f.gradient_rounding(x)
    relative = 1 + CAREFUL + int(np.prod(atoms.shape)) * EPS
    value = atoms.dual_norm(gradient) * relative + atoms.radius * rounding
    return Slope(x, gradient, value, rounding)
