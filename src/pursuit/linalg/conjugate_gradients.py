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
    diagonal: Array,
    is_converged: Callable[[Array, float], bool],
    max_steps: int,
    precondition: Apply | None = None,
) -> Array:
    """Return an approximate solution of H x = b, from x = 0.

    Parameters
    ----------
    apply
        p ↦ H p.
    diagonal
        That of H, or bounds on it; a direction that is flat beside it ends the steps. It
        preconditions them where nothing else does.
    is_converged
        Given b − H x and its squared norm in the metric of the preconditioner, whether to stop.
    precondition
        What applies an approximate inverse of H.
    """
    if precondition is None:
        precondition = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300), 0.0).__mul__
    x, residual = np.zeros_like(b), b
    direction = scaled = precondition(residual)
    inner = float(residual @ scaled)
    for _ in range(max_steps):
        if is_converged(residual, inner):
            break
        image = apply(direction)
        curvature = float(direction @ image)
        if not curvature > FLAT * float((diagonal * direction) @ direction):
            break
        x = x + (inner / curvature) * direction
        residual = residual - (inner / curvature) * image
        scaled = precondition(residual)
        previous, inner = inner, float(residual @ scaled)
        direction = scaled + (inner / previous) * direction
    return x
