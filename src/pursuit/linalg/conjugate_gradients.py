"""Conjugate gradients for H x = b, H given by its products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit.base.validation import Array

Apply = Callable[[Array], Array]
"""x ↦ a matrix times x."""

FLAT = 1e-13
"""The curvature of a direction, relative to what the diagonal of H says of it, that may be rounding
alone."""


def conjugate_gradients(
    apply: Apply,
    b: Array,
    norms: Array,
    tolerance: float,
    max_steps: int,
    precondition: Apply | None = None,
    flat: float = FLAT,
) -> Array:
    """Return an x with \\|b − Hx\\|_i ≤ tolerance·norms_i for all i, if so many steps find it.

    Parameters
    ----------
    norms
        √H_ii, or bounds on it.
    precondition
        What applies an approximate inverse of H: that of its diagonal where not given.
    flat
        The steps end at a direction with at most this share of the curvature that norms allow.
    """
    inverse = 1 / norms if norms.all() else np.where(norms > 0, 1 / (norms + (norms == 0)), 0)
    precondition = precondition or (inverse**2).__mul__
    x, residual = np.zeros_like(b), b
    direction, previous = np.zeros_like(b), np.inf
    for _ in range(max_steps):
        if (np.abs(residual) * inverse).max() <= tolerance:
            break
        scaled = precondition(residual)
        inner = float(residual @ scaled)
        direction, previous = scaled + (inner / previous) * direction, inner
        image = apply(direction)
        curvature = float(direction @ image)
        if not curvature > (flat * float(np.sum((norms * direction) ** 2)) if flat else 0.0):
            break
        x = x + (inner / curvature) * direction
        residual = residual - (inner / curvature) * image
    return x
