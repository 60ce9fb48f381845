"""Theorem 5: ε_{t+1} ≤ (1 − δ² μ_A/L_A) ε_t, step by step, and in conditional expectation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theorems.instances import MANY, Laziest, instances, iterates, sharp_descent

from pursuit import Coordinates, geometry, methods, rates

SLACK = 1e-9
deltas = st.sampled_from([1.0, 0.9, 0.5])


def step_ratios(gaps, quotient):
    """(ε_t − ε_{t+1}) / (q ε_t) while ε_t is above rounding: at least one by Theorem 5."""
    gaps = np.array(gaps)
    seen = gaps[:-1] > 1e-10 * gaps[0]
    return (gaps[:-1] - gaps[1:])[seen] / (quotient * gaps[:-1][seen])


@MANY
@given(instances(), deltas)
def test_every_step_of_algorithm_2_gains_its_share(case, delta):
    f, atoms = case.f, case.atoms
    method = methods.affine_invariant(direction=Laziest(delta))
    gaps = [case.gap(x) for x in iterates(f, atoms, method, case.x0, 15)]
    quotient = geometry.strong_convexity(f, atoms) / geometry.smoothness(f, atoms)
    assert (step_ratios(gaps, delta**2 * quotient) >= 1 - SLACK).all()


@MANY
@given(instances(), deltas)
def test_every_step_of_algorithm_1_gains_the_share_of_the_older_rate(case, delta):
    f, atoms = case.f, case.atoms
    method = methods.matching_pursuit(direction=Laziest(delta))
    gaps = [case.gap(x) for x in iterates(f, atoms, method, case.x0, 15)]
    mu, width = geometry.euclidean_convexity(f, atoms), geometry.directional_width(atoms)
    quotient = width**2 * mu / (f.L * geometry.radius(atoms) ** 2)
    assert (step_ratios(gaps, delta**2 * quotient) >= 1 - SLACK).all()


@MANY
@given(instances())
def test_a_random_step_gains_its_share_in_conditional_expectation(case):
    """The expectation is a sum over the atoms: no noise. With it the rate holds for every t."""
    f, atoms, L_A = case.f, case.atoms, geometry.smoothness(case.f, case.atoms)
    rate = rates.theorem_5_random(f, atoms, case.x0, sampling=case.p)
    assert rate.holds == "in expectation"
    c = case.Z @ f.gradient(case.x0)
    after = [case.gap(case.x0 - c_j / L_A * z) for c_j, z in zip(c, case.Z, strict=True)]
    assert case.p @ after <= rate(1) * (1 + SLACK) + 1e-12 * case.gap(case.x0)
    quality, mu_A = geometry.sampling_quality(atoms, case.p), geometry.strong_convexity(f, atoms)
    shrunk = (1 - quality * mu_A / L_A) ** np.arange(4)
    assert np.allclose(rate(np.arange(4)) / case.gap(case.x0), shrunk, rtol=0, atol=1e-8)


@MANY
@given(instances())
def test_the_rates_bound_whole_runs(case):
    f, atoms, x0 = case.f, case.atoms, case.x0
    t = np.arange(16)
    second = [case.gap(x) for x in iterates(f, atoms, "affine-invariant", x0, 15)]
    first = [case.gap(x) for x in iterates(f, atoms, "matching-pursuit", x0, 15)]
    floor = 1e-12 * second[0]
    newer, older = rates.theorem_5(f, atoms, x0), rates.older_rate(f, atoms, x0)
    assert (second <= newer(t)[: len(second)] * (1 + SLACK) + floor).all()
    assert (first <= older(t)[: len(first)] * (1 + SLACK) + floor).all()
    assert newer.holds == "surely"


# Sharpness ------------------------------------------------------------------------------


def first_step_ratio(seed, factor=1.0, n=5):
    """The step ratio at an instance that attains Theorem 5, with μ_A times `factor`."""
    f, x0 = sharp_descent(np.random.default_rng(seed), n)
    atoms = Coordinates(n)
    run = iterates(f, atoms, "affine-invariant", x0, 12)
    gaps = [geometry.gap(f, atoms, x) for x in run]
    quotient = factor * geometry.strong_convexity(f, atoms) / geometry.smoothness(f, atoms)
    return step_ratios(gaps, quotient).min()


@pytest.mark.parametrize("seed", range(10))
def test_theorem_5_is_attained(seed):
    assert 1 - SLACK <= first_step_ratio(seed) <= 1.05


@pytest.mark.parametrize("seed", range(10))
def test_theorem_5_fails_with_a_strong_convexity_ten_percent_too_large(seed):
    assert first_step_ratio(seed, factor=1.1) < 1
