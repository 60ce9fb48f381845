"""What `solve` asks of a run with a penalty, or over a cone, before it begins."""

from __future__ import annotations

from copy import copy

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, shown
from pursuit.methods import NAMED, Method
from pursuit.objectives.base import Objective
from pursuit.penalties import Penalty
from pursuit.points.base import Point

ALONG = 1e-6
"""How much shorter than an atom its last entry may be, if the atom is an intercept."""


def penalised(f: Objective, atoms: AtomSet, penalty: object | None) -> AtomSet:
    """The set with a penalty of `solve`, beside what it asks of coefficients itself.

    The coefficient of an intercept, an atom along the last axis, is left free.
    """
    if penalty is None:
        return atoms
    if not isinstance(penalty, Penalty):
        raise InputError(
            f"penalty: expected an L1, a Box, NonNegative() or None, got {shown(penalty)}"
        )
    finite = atoms.finite
    if finite is None:
        raise InputError(
            f"penalty: expected a finite set of atoms, which have coefficients, got {atoms!r}"
        )
    penalty.parts(len(finite))  # or an InputError
    if f.intercept and not penalty.free:
        last = np.zeros(atoms.shape)
        last.flat[-1] = 1
        alone = np.abs(finite.correlate(last)) >= (1 - ALONG) * finite.norms
        penalty = penalty.freed(np.flatnonzero(alone), len(finite))
    return with_penalty(atoms, penalty.joined(atoms.penalty))


def with_penalty(atoms: AtomSet, penalty: Penalty) -> AtomSet:
    """The same atoms with another penalty on their coefficients."""
    if atoms.penalty is penalty or (penalty.free and atoms.penalty.free):
        return atoms
    atoms = copy(atoms)
    atoms.penalty = penalty
    return atoms


def check_penalty(atoms: AtomSet, rules: Method, x0: object | None) -> None:
    """Refuse what cannot run with the penalty of a set; sets without one pass."""
    penalty = atoms.penalty
    if penalty.free:
        return
    reason = _against(rules, penalty)
    if reason:
        working = ", ".join(name for name, make in NAMED.items() if not _against(make(), penalty))
        over = "over a Cone" if penalty.one_sided else "with this penalty"
        raise InputError(f"method: {rules.name} {reason}; {over} expected one of {working}")
    if x0 is not None:
        keeps = "a Cone keeps at or above zero" if penalty.one_sided else "a penalty is about"
        raise InputError(
            f"x0: a point does not tell its coefficients, which {keeps}; expected coef0"
        )


def _against(rules: Method, penalty: Penalty) -> str:
    return rules.momentum.against(penalty) or rules.advance.against(penalty)


def check_weights(atoms: AtomSet, weights: Array | None) -> None:
    """Refuse a start where the penalty is infinite; sets without one pass."""
    penalty = atoms.penalty
    if weights is None or penalty.allows(weights):
        return
    if penalty.one_sided:
        raise InputError(
            f"coef0: expected coefficients of at least 0 over a Cone, got {weights.min():g}"
        )
    _, lower, upper = penalty.parts(len(weights))
    j = int(((weights < lower) | (weights > upper)).argmax())
    raise InputError(
        f"coef0: expected coefficients that the penalty allows, from {lower[j]:g} to {upper[j]:g} "
        f"for atom {j}, got {weights[j]:g}"
    )


def begin(x: Point, weights: Array | None) -> Array | None:
    """Give a point with a penalty its first coefficients; those that it still has to count from."""
    if weights is None or x.atoms.penalty.free:
        return weights
    x.coef[...] = weights
    x.refresh()
    return None


def why_zero(x: Point) -> str:
    """What the weights of a penalty have to do with a solution in which nothing that they are
    about is in use, if they have."""
    weights = x.atoms.penalty.parts(len(x.coef)).weights
    charged = weights > 0
    if not charged.any() or x.coef[charged].any():
        return ""
    ratio = float((np.abs(x.correlations()[charged]) / weights[charged]).max())
    if ratio == 0:
        return ": zero is the solution, whatever λ is"
    return (
        f": zero is the solution, for λ ≥ λmax; with less than {ratio:.4g} times these weights it "
        "would not be"
    )
