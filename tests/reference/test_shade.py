"""Shares that sum to at most one: against SLSQP, an exhaustive search, and what they must equal."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pursuit.unmixing import unmix

pytestmark = pytest.mark.filterwarnings("ignore:the fit is bad")


def scene(seed, r, bands=12, n_pixels=40):
    """Pixels of which some want a sum below one and some above."""
    rng = np.random.default_rng(seed)
    pure = rng.uniform(0, 1, (r, bands))
    light = rng.uniform(0.1, 2, (n_pixels, 1))
    pixels = light * rng.dirichlet(np.ones(r), n_pixels) @ pure
    return pixels + 0.1 * rng.standard_normal(pixels.shape), pure


def best_in_corner(y, pure):
    """The best of the free fits on every support, with the sum free and with the sum one."""
    best, answer = y @ y, np.zeros(len(pure))
    for size in range(1, len(pure) + 1):
        for support in map(list, combinations(range(len(pure)), size)):
            atoms = pure[support]
            free = np.linalg.lstsq(atoms.T, y, rcond=None)[0]
            along = np.linalg.lstsq((atoms[1:] - atoms[0]).T, y - atoms[0], rcond=None)[0]
            for shares in (free, np.concatenate([[1 - along.sum()], along])):
                value = np.sum((y - shares @ atoms) ** 2)
                inside = (shares >= -1e-13).all() and shares.sum() <= 1 + 1e-13
                if inside and value < best:
                    best, answer = value, np.zeros(len(pure))
                    answer[support] = shares
    return answer


@given(seed=st.integers(0, 10**6), r=st.integers(1, 5))
def test_shares_are_those_of_an_exhaustive_search(seed, r):
    pixels, pure = scene(seed, r)
    found = unmix(pixels, pure, "sum-at-most-one").abundances
    np.testing.assert_allclose(found, [best_in_corner(y, pure) for y in pixels], atol=1e-9)


def test_shares_are_those_of_slsqp():
    pixels, pure = scene(0, 4)
    expected = [
        minimize(
            lambda a, y=y: 0.5 * np.sum((y - a @ pure) ** 2),
            np.full(4, 0.2),
            jac=lambda a, y=y: (a @ pure - y) @ pure.T,
            method="SLSQP",
            bounds=[(0, None)] * 4,
            constraints={
                "type": "ineq",
                "fun": lambda a: 1 - a.sum(),
                "jac": lambda a: -np.ones(4),
            },
            options={"ftol": 1e-15, "maxiter": 500},
        ).x
        for y in pixels
    ]
    np.testing.assert_allclose(
        unmix(pixels, pure, "sum-at-most-one").abundances, expected, atol=1e-6
    )


@given(seed=st.integers(0, 10**6), r=st.integers(1, 8))
def test_they_are_the_non_negative_ones_if_these_sum_to_at_most_one_else_of_sum_one(seed, r):
    """f is convex: where the free optimum is outside, the best point lies on the boundary."""
    pixels, pure = scene(seed, r)
    found = unmix(pixels, pure, "sum-at-most-one").abundances
    free = unmix(pixels, pure, "non-negative").abundances
    one = unmix(pixels, pure, "sum-to-one").abundances
    inside = free.sum(axis=1, keepdims=True) <= 1
    np.testing.assert_allclose(found, np.where(inside, free, one), atol=1e-9)
    assert (found.sum(axis=1) <= 1 + 1e-12).all()
    assert (found >= 0).all()


@given(seed=st.integers(0, 10**6))
def test_the_fit_is_no_worse_where_endmembers_depend_on_each_other(seed):
    pixels, pure = scene(seed, 4)
    again = np.vstack([pure, pure[0], 0.5 * pure[1] + 0.5 * pure[2]])
    found = unmix(pixels, again, "sum-at-most-one")
    alone = unmix(pixels, pure, "sum-at-most-one")
    np.testing.assert_allclose(found.residual_norms, alone.residual_norms, atol=1e-9)
    assert (found.abundances.sum(axis=1) <= 1 + 1e-12).all()
