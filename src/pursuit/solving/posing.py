"""The problem that a run solves, made from the one that was given: its scale and its start."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, count, flag, shaped_array
from pursuit.methods import Method
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem
from pursuit.solving.penalised import check_weights, with_penalty
from pursuit.solving.scale import in_common_type, in_range
from pursuit.solving.state import Fingerprint
from pursuit.solving.verification import Verification


@dataclass(frozen=True)
class Posed:
    """A problem and where to start.

    Attributes
    ----------
    problem
        f, with its data in float64 where a run needs that, and the atoms that the method runs on.
    start
        The first point.
    weights
        The coefficients, for these atoms, of a start by coefficients.
    scale
        The norms that were divided out of the atoms; None where they were not.
    verify
        What is true at a point, for f and the atoms as given.
    gradient
        The size of the terms whose difference a gradient is: their rounding hides small slopes.
    seed, mark
        Of the draws, and what tells this run from others.
    """

    problem: Problem
    start: Array
    weights: Array | None
    scale: Array | None
    verify: Verification
    gradient: float
    seed: int
    mark: Fingerprint

    @staticmethod
    def of(
        given: Problem, rules: Method, x0: object, coef0: object, unit_atoms: bool, seed: int
    ) -> Posed:
        atoms = given.atoms
        start, weights = _start(given, x0, coef0)
        check_weights(atoms, weights)
        gradient, unit_atoms = nan, flag("unit_atoms", unit_atoms)
        unit = atoms if unit_atoms else _as_given(atoms)
        given = Problem(in_common_type(given, start), atoms)
        if not rules.gradient_free:
            f, gradient = in_range(given, start, unit_atoms)
            if weights is not None and f.dtype == np.float32 and f.L is None:
                f = _roomy(f, atoms, weights, unit_atoms)
            given = Problem(f, atoms)
        dtype = np.result_type(given.f.dtype, atoms.dtype, start.dtype)
        unit, scale = atoms.astype(dtype).unit() if unit_atoms else (unit.astype(dtype), None)
        # A set of a user may forget its penalty.
        unit = with_penalty(unit, atoms.penalty.rescaled(scale).within(dtype))
        seed = count("seed", seed)
        place = (start, weights, unit_atoms, seed)
        kept = with_penalty(atoms, atoms.penalty.within(dtype))
        penalty = () if kept.penalty.free else (kept.penalty,)
        mark = Fingerprint(given.f, kept, rules.advance, rules.momentum, *place, *penalty)
        origin = start if coef0 is None else given.f.origin(atoms)
        verify = Verification(given, scale, origin)
        if weights is not None and scale is not None:
            weights = weights * scale
        _check_range(weights, dtype)
        problem = Problem(given.f, unit)
        return Posed(problem, start, weights, scale, verify, gradient, seed, mark)


def _roomy(f: Objective, atoms: AtomSet, weights: Array, unit_atoms: bool) -> Objective:
    """f, in float64 where float32 has no room for its slopes at coefficients: without an L they may
    be steeper there than any number."""
    assert atoms.finite is not None
    place = atoms.finite.combine(weights).astype(np.float32)
    try:
        return in_range(Problem(f, atoms), place, unit_atoms)[0]
    except InputError:  # not in float64 either: a start is refused, if at all, for its value
        return f.double()


def _check_range(weights: Array | None, dtype: np.dtype[Any]) -> None:
    """Refuse coefficients, of the atoms that a method runs on, that are no numbers of a type."""
    if weights is not None and not np.isfinite(weights.astype(dtype)).all():
        raise InputError(
            f"coef0: times the norms of their atoms coefficients leave the range of {dtype}; "
            "expected smaller ones"
        )


def _as_given(atoms: AtomSet) -> AtomSet:
    """The atoms in their own scale, where the squares of their norms are still numbers."""
    if atoms.finite is not None:
        low, high = atoms.finite.norm_range
        if low * low == 0 or not isfinite(high * high):
            raise InputError(
                f"atoms: norms from {low:.3g} to {high:.3g} have squares out of the range of "
                "floating point; expected unit_atoms=True for them"
            )
    return atoms


def _start(problem: Problem, x0: object, coef0: object) -> tuple[Array, Array | None]:
    """The first point, and the coefficients that it stands for."""
    atoms = problem.atoms
    if x0 is not None and coef0 is not None:
        raise InputError("x0, coef0: expected one of them, got both")
    if coef0 is not None:
        finite = atoms.finite
        if finite is None:
            raise InputError("coef0: expected a finite set of atoms; give x0 instead")
        weights = shaped_array("coef0", coef0, (len(finite),))
        # With a penalty a point has to know its coefficients: it starts at zero and is given them.
        start = finite.combine(weights) if atoms.penalty.free else problem.f.origin(atoms)
        return start, weights
    if x0 is None:
        return problem.f.origin(atoms), None
    start = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(start):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return start, None
