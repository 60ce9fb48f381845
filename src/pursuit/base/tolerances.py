"""The sizes that are taken for rounding, each with one meaning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tolerances:
    """What counts as rounding in one precision. Kernels receive the two or three that they need."""

    eps: float
    """The distance from 1 to the next larger number."""

    dual_norm: float
    """A dual norm at most this, relative to that at the start, is zero."""

    line: float
    """A slope along a line at most this, relative to that at its start, is zero."""

    slope: float
    """A slope at most this, relative to the largest one of a run, is mostly rounding."""

    dependent: float
    """A squared pivot at most this, relative to the squared norm of its column, is zero."""

    cancelled: float
    """A difference of squares at most this, relative to the first of them, has lost digits."""

    equal: float
    """Two values that differ by at most this, relative to the larger one, are equal."""

    rank: float
    """A singular value at most this times the longer side of the matrix, relative to the largest
    one, is zero."""

    singular_pair: float
    """The residual ‖Aᵀu − σv‖ of a singular pair at most this, relative to σ, is zero."""

    input: float
    """What a caller computed may contradict itself by this, relative to its size: a matrix that is
    symmetric, the norm of an atom and the radius of its set."""

    certificate: float
    """What a certificate adds for the rounding of its terms, relative to their magnitudes."""

    gradient: float
    """The error of a gradient over correlated data, relative to the gradient at the start: a fit
    with a penalty does not get below."""


@cache
def tolerances(dtype: Any) -> Tolerances:
    """Return the tolerances of float32 or float64."""
    eps = float(np.finfo(dtype).eps)
    return Tolerances(
        eps=eps,
        dual_norm=8 * eps,
        line=eps**0.5 / 16,
        slope=256 * eps,
        dependent=64 * eps,
        cancelled=eps ** (1 / 3),
        equal=4 * eps,
        rank=4 * eps,
        singular_pair=256 * eps,
        input=eps**0.5,
        certificate=64 * 2.0**-52,
        gradient=100 * eps,
    )


DOUBLE = tolerances(np.float64)
"""The tolerances of float64."""
