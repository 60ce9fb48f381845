"""Whether the numbers of a run stay in the range of floating point: seen to before it begins.

With g = ‖∇f(x0)‖ and h the curvature of f along its gradient, a run forms slopes of the size g,
curvatures h, coefficients g/h and decreases g²/h, all times norms of atoms. Where float32 has no
room for them the run is one in float64; where that has none either, the data want other units.
Sizes are logarithms to the base of two.
"""

from __future__ import annotations

from math import inf, log2, log10
from typing import Any

import numpy as np

from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.scaling import norm as size_of
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem

ROOM = {np.dtype(np.float32): (50, 100), np.dtype(np.float64): (500, 1000)}
"""The largest sizes, up and down, of numbers that are squared and of numbers that are not."""


def in_common_type(problem: Problem, start: Array) -> Objective:
    """f, with its data in float64 if those of atoms or start are: a product then is in float64."""
    f = problem.f
    return f if f.dtype == np.result_type(f.dtype, problem.atoms.dtype, start.dtype) else f.double()


def in_range(problem: Problem, start: Array, unit_atoms: bool) -> tuple[Objective, float]:
    """f, with its data in float64 where float32 has too narrow a range for a run, and ‖∇f‖.

    That is the larger one of x0 and of zero: the size of the terms whose difference a gradient is.
    """
    f, atoms = problem.f, problem.atoms
    dtype = np.dtype(np.result_type(f.dtype, atoms.dtype, start.dtype))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        try:
            return f, _checked(problem, start, unit_atoms, dtype)
        except InputError:
            wide = f.double()
            if dtype == wide.dtype:
                raise
        double = np.dtype(np.float64)
        return wide, _checked(Problem(wide, atoms), start.astype(double), unit_atoms, double)


def _checked(problem: Problem, start: Array, unit_atoms: bool, dtype: np.dtype[Any]) -> float:
    """‖∇f‖, if the numbers of a run stay in the range of a type."""
    f = problem.f
    on_axes = problem.atoms.form is AtomForm.AXES
    model = f.linear_model if on_axes else None  # its gradient at zero is asked for again
    g, h = _sizes(model or f, start)
    if g == -inf:  # f is flat at the start, and at zero
        return 0.0
    outside = _outside(problem, g, h, unit_atoms, dtype)
    if outside:
        raise InputError(
            f"f: at the start its gradient is of the size {_written(g)} and its curvature "
            f"{_written(h)}, so that {outside} would leave the range of {dtype}; expected data "
            "in units that bring them nearer to one"
        )
    return float(2.0**g)


def _sizes(f: Objective, x: Array) -> tuple[float, float]:
    """g, and h where f knows it, else zero; ±inf where they are no numbers, or none but zero."""
    if not isinstance(x, np.ndarray):  # X is kept as factors, and f bends by at most one
        norm = f.gradient_norm(x)
        return (log2(norm) if norm > 0 else -inf), 0.0
    gradients = [f.gradient(x)] + ([f.gradient(np.zeros_like(x))] if x.any() else [])
    norms = [size_of(gradient) for gradient in gradients]
    norm = norms[0] if np.isnan(norms[-1]) else max(norms)  # zero may be outside of f's domain
    if not 0 < norm < inf:
        return (-inf if norm == 0 else inf), 0.0
    d = gradients[norms.index(norm)] / norm
    d, image = d.astype(np.float64), f.image(d).astype(np.float64)
    peak = float(np.abs(image).max(initial=0.0))
    if not 0 < peak < inf:
        return log2(norm), (0.0 if peak == 0 else inf)
    # A curvature goes with the square of its direction: that scale is taken out of it first.
    h = f.curvature(d / peak, image / peak)
    return log2(norm), (log2(h) + 2 * log2(peak) if 0 < h < inf else 0.0)


def _outside(problem: Problem, g: float, h: float, unit_atoms: bool, dtype: np.dtype[Any]) -> str:
    """Which of the numbers of a run leave the range of a type; empty if none does."""
    squared, single = ROOM[dtype]
    unit = unit_atoms and problem.atoms.finite is not None  # others run as they are
    for norm in _norms(problem):
        inside = 0.0 if unit else norm
        along = "" if unit else f"along atoms of the size {_written(norm)} "
        if not abs(g + inside) <= squared:
            return f"{along}slopes and their squares"
        if not abs(h + 2 * inside) <= squared:
            return f"{along}curvatures and their squares"
        if not (abs(g - h - inside) <= squared and abs(g - h - norm) <= single):
            return f"{along}coefficients"
        if not abs(2 * g - h) <= single:
            return "decreases"
    return ""


def _norms(problem: Problem) -> tuple[float, ...]:
    """The sizes of the shortest and of the longest atom; of an infinite set, of the longest."""
    atoms = problem.atoms.finite
    if atoms is None:
        return (log2(problem.atoms.radius),)
    low, high = atoms.norm_range
    return log2(low), log2(high)


def _written(size: float) -> str:
    return f"1e{round(size * log10(2)):+d}" if abs(size) < inf else "inf"
