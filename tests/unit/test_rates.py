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


@pytest.mark.parametrize("delta", [1.0, 0.5])
def test_rates_are_the_inequalities_that_they_print(delta):
    """Each right-hand side is written out once more, with the constants that the rate names."""
    t = np.arange(1, 30)
    right_sides = {
        "theorem_3": lambda L_A, R_A, d: 2 * L_A * R_A**2 / (d**2 * (t + 1)),
        "theorem_3_sharper": lambda L_A, R_A, d: 2 * L_A * R_A**2 / (d**2 * t + 4),
        "theorem_5": lambda mu_A, L_A, gap, d: (1 - d**2 * mu_A / L_A) ** t * gap,
        "older_rate": lambda mDW, mu, L, radius, gap, d: (
            (1 - d**2 * mDW**2 * mu / (L * radius**2)) ** t * gap
        ),
        "theorem_5_nearest": lambda grows, L_A, gap, d: (1 - d**2 * grows / L_A) ** t * gap,
        "rate_of_2017": lambda L, rho, radius, gap, d: (
            4 * (2 / d * L * rho**2 * radius**2 + gap) / (d * t + 4)
        ),
        "theorem_8": lambda L, nu, distance: 2 * L * nu * distance**2 / (t * (t + 1)),
    }
    for name, right_side in right_sides.items():
        rate = THEOREMS[name](F, ATOMS, delta=delta)
        constants = [float(value) for value in rate.constants.values()]
        np.testing.assert_allclose(rate(t), right_side(*constants), rtol=1e-12, err_msg=name)


def test_rates_in_expectation_are_the_inequalities_that_they_print():
    t = np.arange(1, 30)
    right_sides = {
        "theorem_4": lambda L_A, R_A, quality: 2 * L_A * R_A**2 / (quality * (t + 1)),
        "theorem_5_random": lambda mu_A, L_A, gap, q: (1 - q * mu_A / L_A) ** t * gap,
        "theorem_9": lambda L, nu, distance: 2 * L * nu * distance**2 / (t * (t + 1)),
        "conjugate": lambda L_P, distance: 2 * L_P * distance**2 / (t + 1) ** 2,
    }
    for name, right_side in right_sides.items():
        rate = STATED[name](F, ATOMS)
        constants = [float(value) for value in rate.constants.values()]
        np.testing.assert_allclose(rate(t), right_side(*constants), rtol=1e-12, err_msg=name)
