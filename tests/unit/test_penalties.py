"""Penalties: prox, subgradient, gain and room say the same thing, and a set may bring its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit import Cone, Dictionary, FiniteAtoms, SquaredDistance, solve
from pursuit.penalties import FREE, Free, NonNegative
from pursuit.testing import check_atoms

EVERY = pytest.mark.parametrize("penalty", [Free(), NonNegative()], ids=lambda p: type(p).__name__)
numbers = st.floats(-10, 10).map(lambda number: round(number, 3))


@EVERY
@given(w=numbers, h=st.floats(0.1, 10), other=numbers)
def test_no_other_point_is_better_than_the_prox(penalty, w, h, other):
    def cost(v):
        return penalty.value(np.array([v])) + h * (v - w) ** 2 / 2

    (best,) = penalty.prox(np.array([w]), h)
    assert cost(best) <= cost(other)


@EVERY
@given(c=numbers, w=numbers, h=st.floats(0.1, 10))
def test_a_subgradient_is_zero_exactly_where_the_prox_step_stays(penalty, c, w, h):
    if penalty.value(np.array([w])) == np.inf:
        return
    (step,) = penalty.prox(np.array([w - c / h]), h) - w
    (slope,) = penalty.subgradient(np.array([c]), np.array([w]))
    assert (slope == 0) == (step == 0)
    assert slope * step <= 0  # the step goes down


@EVERY
@given(c=numbers)
def test_the_gain_is_the_size_of_the_subgradient_at_zero(penalty, c):
    (slope,) = penalty.subgradient(np.array([c]), np.zeros(1))
    assert max(0.0, *penalty.gain(np.array([c]))) == abs(slope)


@given(w=st.floats(0, 10), c=numbers)
def test_the_room_ends_where_the_value_does(w, c):
    penalty, room = NonNegative(), NonNegative().room(w, c)
    way = -np.sign(c)
    assert penalty.value(np.array([w + way * min(room, 1e3)])) == 0
    if room < np.inf:
        assert penalty.value(np.array([w + way * (room + 1e-3)])) == np.inf
    assert FREE.room(w, c) == np.inf


class Forward(FiniteAtoms):
    """Steps of a signal that may only rise: a one-sided set in one file."""

    penalty = NonNegative()

    def __init__(self, n):
        self.shape = (n,)

    def __len__(self):
        return self.shape[0]

    @property
    def matrix(self):
        return np.triu(np.ones(self.shape * 2))

    @property
    def norms(self):
        return np.sqrt(np.arange(len(self), 0, -1.0))

    def vector(self, z):
        return self.matrix[z]

    def correlate(self, d):
        return self.matrix @ d

    def combine(self, weights):
        return weights @ self.matrix


class ForwardAtUnitNorm(Forward):
    """It gives its directions at norm one as those of any other set."""

    def unit(self):
        return Dictionary(self.matrix).unit()


def test_the_penalty_of_a_set_is_that_of_its_unit_version():
    check_atoms(ForwardAtUnitNorm(6))
    f = SquaredDistance(np.array([1.0, -2.0, 3.0, 2.0, 5.0, 4.0]))
    for method in ("matching-pursuit", "orthogonal"):
        own = solve(f, ForwardAtUnitNorm(6), method, max_iter=4000)
        cone = solve(f, Cone(Dictionary(Forward(6).matrix)), method, max_iter=4000)
        assert own.coef.toarray().min() >= 0
        assert np.array_equal(own.x, cone.x)


def test_a_one_sided_set_of_a_user_is_a_set_like_any_other():
    check_atoms(Forward(6))
    f = SquaredDistance(np.array([1.0, -2.0, 3.0, 2.0, 5.0, 4.0]))
    for method in ("matching-pursuit", "orthogonal"):
        own = solve(f, Forward(6), method, max_iter=4000)
        cone = solve(f, Cone(Dictionary(Forward(6).matrix)), method, max_iter=4000)
        assert (np.diff(own.x) >= -1e-9).all()
        np.testing.assert_allclose(own.x, cone.x, atol=1e-7)
