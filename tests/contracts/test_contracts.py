"""Every class of the library keeps the contracts that `pursuit.testing` offers to others."""

import inspect

import numpy as np
import pytest
from library_classes import ATOMS, OBJECTIVES

import pursuit
from pursuit import (
    L1,
    Approximate,
    AtomSet,
    Backtracking,
    Box,
    ExactLineSearch,
    NonNegative,
    Objective,
    Subset,
    ValueSearch,
    methods,
)
from pursuit.penalties import Free
from pursuit.testing import check_atoms, check_method, check_objective, check_penalty

COMPOSED = {
    "approximate oracle": methods.matching_pursuit(direction=Approximate(0.5)),
    "approximate oracle, affine-invariant": methods.affine_invariant(direction=Approximate(0.9)),
    "best of a subset": methods.matching_pursuit(direction=Subset(3)),
    "backtracking": methods.matching_pursuit(step=Backtracking()),
    "exact line search": methods.matching_pursuit(step=ExactLineSearch()),
    "random with exact line search": methods.random_pursuit(step=ExactLineSearch()),
    "value search": methods.matching_pursuit(step=ValueSearch()),
}


@pytest.mark.parametrize("name", ATOMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_set_keeps_the_contract_of_atom_sets(name, seed):
    check_atoms(ATOMS[name], seed=seed)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_keeps_the_contract_of_objectives(name, seed):
    check_objective(OBJECTIVES[name], seed=seed)


@pytest.mark.parametrize("name", [*methods.NAMED, *COMPOSED])
def test_the_method_keeps_its_promises(name):
    check_method(COMPOSED.get(name, name))


PENALTIES = [Free(), NonNegative(), L1(0.4), L1([0.0, 0.4]), Box(-1, 2), Box([0, -1], np.inf)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_the_penalty_keeps_the_contract_of_penalties(penalty):
    check_penalty(penalty, atoms=2)
    check_penalty(penalty.joined(L1(0.3)).rescaled(np.array([0.5, 4.0])), atoms=2)


@pytest.mark.parametrize(("base", "examples"), [(AtomSet, ATOMS), (Objective, OBJECTIVES)])
def test_no_public_class_is_left_out(base, examples):
    public = [getattr(pursuit, name) for name in pursuit.__all__]
    concrete = [
        c
        for c in public
        if inspect.isclass(c) and issubclass(c, base) and not inspect.isabstract(c)
    ]
    assert concrete
    checked = [type(example) for example in examples.values()]
    missing = [c.__name__ for c in concrete if not any(issubclass(t, c) for t in checked)]
    # A class made of others, such as a set with unit atoms, needs no example of its own.
    assert missing == []
