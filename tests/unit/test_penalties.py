"""Penalties: what each says of prox, subgradient, gain, room and conjugate is one and the same."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit import Cone, Dictionary, FiniteAtoms, InputError, SquaredDistance, solve
from pursuit.penalties import FREE, L1, Box, Free, NonNegative
from pursuit.testing import check_atoms

PENALTIES = {
    "Free": Free(),
    "NonNegative": NonNegative(),
    "L1": L1(0.75),
    "L1(0)": L1(0.0),
    "Box": Box(-1.5, 2.0),
    "half a Box": Box(-inf, 2.0),
    "a Box that is a point": Box(0, 0),
    "non-negative L1": L1(0.75).joined(NonNegative()),
    "L1 in a Box": L1(np.array([0.75])).joined(Box(-1.5, 2.0)),
}
EVERY = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())
numbers = st.floats(-10, 10).map(lambda number: round(number, 3))
heights = st.floats(0.1, 10)


@EVERY
@given(w=numbers, h=heights, other=numbers)
def test_no_other_point_is_better_than_the_prox(penalty, w, h, other):
    def cost(v):
        return penalty.value(np.array([v])) + h * (v - w) ** 2 / 2

    (best,) = penalty.prox(np.array([w]), h)
    assert cost(best) <= cost(other) + 1e-12


@EVERY
@given(c=numbers, w=numbers, h=heights)
def test_a_subgradient_is_zero_exactly_where_the_prox_step_stays(penalty, c, w, h):
    if penalty.value(np.array([w])) == inf:
        return
    (step,) = penalty.prox(np.array([w - c / h]), h) - w
    (slope,) = penalty.subgradient(np.array([c]), np.array([w]))
    assert (abs(slope) < 1e-12) == (abs(step) < 1e-12)
    assert slope * step <= 1e-12  # the step goes down


@EVERY
@given(c=numbers, w=numbers)
def test_a_subgradient_is_one_of_those_next_to_zero(penalty, c, w):
    if penalty.value(np.array([w])) == inf:
        return
    (slope,) = penalty.subgradient(np.array([c]), np.array([w]))
    tiny = 1e-6
    falls = [c * t + penalty.value(np.array([w + t])) for t in (-tiny, tiny)]
    falls = [(penalty.value(np.array([w])) - value) / tiny for value in falls]
    assert abs(slope) == pytest.approx(max(0.0, *falls), abs=1e-5)


@EVERY
@given(c=numbers)
def test_the_gain_is_the_size_of_the_subgradient_at_zero(penalty, c):
    (slope,) = penalty.subgradient(np.array([c]), np.zeros(1))
    assert max(0.0, *penalty.gain(np.array([c]))) == abs(slope)


@EVERY
@given(w=st.floats(0, 2), c=numbers.filter(bool))
def test_the_room_ends_where_the_value_does(penalty, w, c):
    if penalty.value(np.array([w])) == inf:
        return
    room = penalty.room(w, c)
    assert penalty.value(np.array([w - np.sign(c) * min(0.999 * room, 1e3)])) < inf
    if room < inf:
        assert penalty.value(np.array([w - np.sign(c) * (room + 1e-3)])) == inf


@EVERY
@given(v=numbers, w=numbers, l2=st.sampled_from([0.0, 0.5, 3.0]))
def test_the_conjugate_is_the_least_number_above_all_that_it_is_the_supremum_of(penalty, v, w, l2):
    (charge,) = penalty.conjugate(np.array([v]), l2)
    assert v * w - penalty.value(np.array([w])) - l2 * w * w / 2 <= charge + 1e-9
    # It is attained where the prox is, or in the limit of large coefficients.
    (best,) = penalty.prox(np.array([v / (l2 or 1e-9)]), l2 or 1e-9)
    attained = v * best - penalty.value(np.array([best])) - l2 * best * best / 2
    if charge == inf:
        assert abs(best) > 1e5
    else:
        assert attained == pytest.approx(charge, rel=1e-6, abs=1e-6)


@EVERY
@given(w=numbers, scale=heights)
def test_rescaled_coefficients_cost_the_same(penalty, w, scale):
    other = penalty.rescaled(np.array([scale]))
    for near in (w * 0.999, w * 1.001):  # not at the very end of an interval
        cost = penalty.value(np.array([near]))
        assert other.value(np.array([near * scale])) == pytest.approx(cost, rel=1e-12)


@EVERY
def test_parts_are_the_penalty_of_each_atom(penalty):
    weights, lower, upper = penalty.parts(1)
    for w in np.linspace(-3, 3, 25):
        cost = weights[0] * abs(w) if lower[0] <= w <= upper[0] else inf
        assert penalty.value(np.array([w])) == cost


def test_parts_of_some_atoms_are_those_of_all_at_their_places():
    penalty = L1([0.0, 1.0, 2.0, 3.0]).joined(Box(-1, [1.0, 2.0, 3.0, 4.0]))
    places = np.array([3, 1])
    for some, every in zip(penalty.at(places).parts(2), penalty.parts(4), strict=True):
        assert np.array_equal(some, every[places])
    assert L1(2.0).at(places).parts(2).weights.tolist() == [2.0, 2.0]
    freed = penalty.freed(np.array([3]), 4)
    assert (freed.parts(4).weights[3], freed.parts(4).upper[3]) == (0.0, inf)
    assert np.array_equal(freed.at(places[1:]).parts(1), penalty.at(places[1:]).parts(1))


def test_two_penalties_together_are_their_sum():
    both = L1(1.0).joined(Box(-1, 2)).joined(NonNegative())
    assert [part.tolist() for part in both.parts(1)] == [[1.0], [0.0], [2.0]]
    assert L1(1.0).joined(L1(0.5)).parts(1).weights.tolist() == [1.5]
    assert FREE.joined(both) is both
    assert both.joined(FREE) is both


def test_a_penalty_that_asks_for_nothing_is_none():
    free = [Free(), L1(0.0), L1([0.0, 0.0]), Box(-inf, inf)]
    assert all(penalty.free for penalty in free)
    assert not any(p.free for p in (NonNegative(), L1([0.0, 1.0]), Box(-inf, 0), Box(0, inf)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L1(-1.0), "weights: expected numbers of at least 0, got -1"),
        (lambda: L1([1.0, -2.0]), "weights: expected numbers of at least 0, got -2"),
        (lambda: L1(np.nan), "weights: expected finite numbers, got nan"),
        (lambda: L1([1.0, inf]), "weights: expected finite numbers, got inf"),
        (lambda: L1([[1.0]]), "weights: expected a number or a row of them"),
        (lambda: L1([]), "weights: expected at least one entry"),
        (lambda: L1("much"), "weights: expected real numbers"),
        (lambda: Box(1, 0), "lower, upper: expected lower ≤ upper"),
        (lambda: Box(1, 2), "lower, upper: expected zero to lie between them"),
        (lambda: Box([-1, -1], [-0.5, 1]), "lower, upper: expected zero to lie between them"),
        (lambda: Box(np.nan, 1), "lower: expected numbers, got nan"),
        (lambda: Box([-1, -1], [1, 1, 1]), "expected as many bounds below as above, got 2 and 3"),
        (lambda: Box([[0]], 1), "lower: expected a number or a row of them"),
        (lambda: L1([1.0, 2.0]).parts(3), "penalty: L1 has 2 numbers, .* expected 3"),
    ],
)
def test_penalties_that_are_none_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


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
