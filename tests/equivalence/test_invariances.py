"""What must not change a result: the scale, sign and order of atoms, the unit of the signal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pursuit
from pursuit import Dictionary, Replay, SquaredDistance, methods, solve

N, D, T = 12, 8, 40
seeds = st.integers(0, 2**32 - 1)

# A search on values of f knows its minimiser to half the digits only.
BY_SLOPES = [name for name in methods.NAMED if not methods.NAMED[name]().gradient_free]
REPLAYED = {
    "matching-pursuit": lambda draws: methods.matching_pursuit(),
    "affine-invariant": lambda draws: methods.affine_invariant(),
    "random-pursuit": lambda draws: methods.matching_pursuit(direction=Replay(draws)),
    "accelerated-random": lambda draws: methods.accelerated_random(nu=9, direction=Replay(draws)),
    "accelerated-matching-pursuit": lambda draws: methods.accelerated_matching_pursuit(
        probe=Replay(draws)
    ),
    "greedy-greedy": lambda draws: methods.greedy_greedy(),
}
"""Methods with the draws in our hands, so that they can follow a permutation."""


def make(seed):
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((N, D)), rng.standard_normal(D)


def run(signal, rows, method, **options):
    return solve(SquaredDistance(signal), Dictionary(rows), method, max_iter=T, **options)


def assert_same_fit(one, other):
    assert one.status is other.status
    assert one.iterations == other.iterations
    assert np.linalg.norm(one.x - other.x) <= 1e-10 * np.linalg.norm(one.x)


@pytest.mark.parametrize("name", BY_SLOPES)
class TestEveryMethod:
    @given(seed=seeds, exponents=st.lists(st.floats(-8, 8), min_size=N, max_size=N))
    def test_does_not_depend_on_the_scale_of_the_atoms(self, name, seed, exponents):
        _, rows, b = make(seed)
        scale = 10 ** np.array(exponents)
        one, other = run(b, rows, name), run(b, rows * scale[:, None], name)
        assert_same_fit(one, other)
        assert one.support.tolist() == other.support.tolist()
        mapped = other.coef.toarray() * scale
        assert np.abs(mapped - one.coef.toarray()).max() <= 1e-9 * np.abs(one.weights).max()
        # In the user's scale: the coefficients rebuild the fit from the atoms as they came.
        rebuilt = other.coef.toarray() @ (rows * scale[:, None])
        assert np.linalg.norm(rebuilt - other.x) <= 1e-10 * np.linalg.norm(other.x)

    @given(seed=seeds, signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=N, max_size=N))
    def test_does_not_depend_on_the_signs_of_the_atoms(self, name, seed, signs):
        _, rows, b = make(seed)
        one, other = run(b, rows, name), run(b, rows * np.array(signs)[:, None], name)
        assert_same_fit(one, other)
        assert one.support.tolist() == other.support.tolist()
        signed = one.coef.toarray() * signs
        np.testing.assert_allclose(other.coef.toarray(), signed, rtol=1e-9, atol=1e-12)

    @given(seed=seeds, power=st.integers(-220, 220))
    def test_has_no_unit_a_signal_twice_as_long_doubles_every_bit(self, name, seed, power):
        _, rows, b = make(seed)
        one, other = run(b, rows, name), run(np.ldexp(b, power), rows, name)
        assert one.status is other.status
        np.testing.assert_array_equal(other.x, np.ldexp(one.x, power))
        np.testing.assert_array_equal(other.trace.slope, np.ldexp(one.trace.slope, power))

    @given(seed=seeds)
    def test_moves_with_the_signal_and_the_start(self, name, seed):
        rng, rows, b = make(seed)
        shift = rng.standard_normal(D)
        one = run(b, rows, name, tol=0)
        other = run(b + shift, rows, name, x0=shift, tol=0)
        assert np.linalg.norm(other.x - shift - one.x) <= 1e-10 * np.linalg.norm(other.x)
        # The value may reach zero in one run, which ends it, and 1e-34 in the other.
        t = min(len(one.trace), len(other.trace))
        values, moved = one.trace.value[:t], other.trace.value[:t]
        np.testing.assert_allclose(moved, values, rtol=1e-9, atol=1e-13)

    @given(seed=seeds)
    def test_starts_from_coefficients_as_from_the_point_that_they_stand_for(self, name, seed):
        rng, rows, b = make(seed)
        coef0 = rng.standard_normal(N)
        one = run(b, rows, name, x0=coef0 @ rows, tol=0)
        other = run(b, rows, name, coef0=coef0, tol=0)
        np.testing.assert_allclose(other.x, one.x, atol=1e-11)
        rebuilt = other.coef.toarray() @ rows
        np.testing.assert_allclose(rebuilt, other.x, atol=1e-11)


@pytest.mark.parametrize("name", REPLAYED)
@given(seed=seeds)
def test_the_order_of_the_atoms_does_not_matter(name, seed):
    rng, rows, b = make(seed)
    order, draws = rng.permutation(N), rng.integers(0, N, T)
    place = np.argsort(order)  # where each atom went
    one = run(b, rows, REPLAYED[name](draws))
    other = run(b, rows[order], REPLAYED[name](place[draws]))
    assert_same_fit(one, other)
    assert sorted(order[other.support].tolist()) == one.support.tolist()
    np.testing.assert_allclose(other.coef.toarray()[place], one.coef.toarray(), atol=1e-10)


def test_printed_algorithms_do_depend_on_the_scale():
    """What `unit_atoms=True` protects from, so that the tests above are not vacuous."""
    _, rows, b = make(0)
    scaled = rows * np.geomspace(1e-2, 1e2, N)[:, None]
    for name in ("matching-pursuit", "affine-invariant", "accelerated-random"):
        one, other = (run(b, z, name, unit_atoms=False) for z in (rows, scaled))
        assert np.linalg.norm(one.x - other.x) > 1e-2 * np.linalg.norm(one.x)


def test_extreme_scales_lose_no_digits():
    _, rows, b = make(1)
    scale = np.geomspace(1e-68, 1e68, N)
    one, other = run(b, rows, "matching-pursuit"), run(b, rows * scale[:, None], "matching-pursuit")
    assert_same_fit(one, other)
    np.testing.assert_allclose(other.weights * scale[other.support], one.weights, rtol=1e-10)
    assert pursuit.Dictionary(rows * scale[:, None]).rank == D
