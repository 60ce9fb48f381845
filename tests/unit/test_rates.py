"""Rates as objects: what is done with them beside calling them."""

import pickle

import numpy as np
import pytest

from pursuit import Dictionary, Quadratic, rates

F = Quadratic(np.diag([1.0, 2.0, 3.0]), np.ones(3))
ATOMS = Dictionary(np.random.default_rng(0).standard_normal((5, 3)))
THEOREMS = {name: t for name, t in vars(rates).items() if isinstance(t, rates.Theorem)}
STATED = THEOREMS | {
    "theorem_3 of Algorithm 1": lambda f, atoms: rates.theorem_3(f, atoms, algorithm=1),
    "conjugate": rates.conjugate,
    "parameter_free": rates.parameter_free,
}


@pytest.mark.parametrize("name", STATED)
def test_a_rate_survives_pickling(name):
    before = STATED[name](F, ATOMS)
    after = pickle.loads(pickle.dumps(before))
    t = np.arange(20)
    assert np.array_equal(after(t), before(t))
    assert str(after) == str(before)
    assert after == before


@pytest.mark.parametrize("name", THEOREMS)
def test_a_theorem_survives_pickling(name):
    assert pickle.loads(pickle.dumps(THEOREMS[name])) == THEOREMS[name]
