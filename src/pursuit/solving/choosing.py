"""The method of a run that was given none."""

from __future__ import annotations

from pursuit.active.working_set import direct, has_sparse_data, suits
from pursuit.atoms.base import AtomSet
from pursuit.methods import Method, accelerated, as_method, matching_pursuit, working_set
from pursuit.objectives.problem import Problem


def chosen(
    method: str | Method | None, given: Problem, atoms: AtomSet, few: bool
) -> tuple[Method, str]:
    """A method, and what it was chosen for if nobody named one.

    Coefficients of a linear model are asked for to the last digit: working sets get there with a
    penalty, with a sparse X and where a model is solved directly, conjugate directions with any
    other X. Whoever brings atoms, a cone (`atoms` has a penalty of its own) or a number of atoms
    that is enough (`few`) wants these one by one.
    """
    if method is not None:
        return as_method(method), ""
    if few or not atoms.penalty.free or not suits(given):
        return matching_pursuit(), ""
    if not given.atoms.penalty.free:
        return working_set(), "a linear model with a penalty"
    if has_sparse_data(given):
        return working_set(), "a linear model with a sparse X"
    if direct(given):
        return working_set(), "a linear model with a small Hessian"
    return accelerated(), "a linear model with a dense X"
