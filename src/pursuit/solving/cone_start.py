"""What `solve` asks of a run over a cone before it begins."""

from __future__ import annotations

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.points.base import Point

WORKING = "matching-pursuit, affine-invariant, random-pursuit, orthogonal"
"""The methods that keep coefficients from falling below zero."""


def check_cone(atoms: AtomSet, rules: Method, x0: object | None) -> None:
    """Refuse what cannot run over a cone; other sets pass."""
    if not atoms.one_sided:
        return
    reason = rules.momentum.leaves_cone or rules.advance.leaves_cone
    if reason:
        raise InputError(f"method: {rules.name} {reason}; over a Cone expected one of {WORKING}")
    if x0 is not None:
        raise InputError(
            "x0: a point does not tell its coefficients, which a Cone keeps at or above zero; "
            "expected coef0"
        )


def check_weights(atoms: AtomSet, weights: Array | None) -> None:
    """Refuse a start outside of a cone; other sets pass."""
    if atoms.one_sided and weights is not None and weights.min() < 0:
        raise InputError(
            f"coef0: expected coefficients of at least 0 over a Cone, got {weights.min():g}"
        )


def begin(x: Point, weights: Array | None) -> Array | None:
    """Give a point of a cone its first coefficients; those that it still has to count from."""
    if weights is None or not x.atoms.one_sided:
        return weights
    x.coef[...] = weights
    x.refresh()
    return None
