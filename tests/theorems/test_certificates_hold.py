"""What a result claims about itself is true, on random problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theorems.instances import MANY, instances, sharp_descent

from pursuit import Coordinates, LeastSquares, geometry, methods, rates, solve
from pursuit.certificates import certify

METHODS = [name for name in methods.NAMED if not methods.NAMED[name]().gradient_free]


@MANY
@given(instances(), st.sampled_from(METHODS), st.integers(0, 12), st.booleans())
def test_the_gap_is_below_its_certificate(case, name, steps, unit_atoms):
    run = solve(*(case.f, case.atoms, name, case.x0), max_iter=steps, tol=0, unit_atoms=unit_atoms)
    certificate = run.certificate
    assert not certificate.missing
    assert certificate.confidence == 1
    assert case.gap(run.x) <= certificate.bound * (1 + 1e-8) + 1e-12 * case.gap(case.x0)


@MANY
@given(instances())
def test_a_given_level_radius_bounds_the_gap(case):
    R_A = geometry.level_radius(case.f, case.atoms, case.x0)
    run = solve(case.f, case.atoms, x0=case.x0, max_iter=3, tol=0, unit_atoms=False)
    slope = geometry.slope_at(case.f, case.atoms, run.x).value
    rounding = 1e-13 * (abs(run.value) + abs(case.f.value(case.x0)))
    both = certify(run, given={"R_A": R_A})
    assert both.bound <= R_A * slope * (1 + 1e-8) + rounding
    assert case.gap(run.x) <= both.bound * (1 + 1e-8) + 1e-12 * case.gap(case.x0)


@pytest.mark.parametrize("seed", range(5))
def test_the_slope_certificate_is_attained_and_fails_ten_percent_off(seed):
    f, x0 = sharp_descent(np.random.default_rng(seed), 5)
    start = solve(f, Coordinates(5), x0=x0, max_iter=0)
    gap = geometry.gap(f, Coordinates(5), x0)
    assert start.certificate.bound == pytest.approx(gap)
    mu_A = start.certificate.constants["μ_A"]
    assert certify(start, given={"μ_A": 1.1 * mu_A}).bound < gap


@pytest.mark.parametrize("name", ["accelerated-random", "accelerated-matching-pursuit"])
def test_confidence_is_kept_over_many_seeds_where_H_is_singular(name):
    """No strong convexity: only the potential speaks, in expectation."""
    rng = np.random.default_rng(1)
    f = LeastSquares(rng.standard_normal((3, 6)), rng.standard_normal(3))
    atoms = Coordinates(6)
    floor = rates.optimal_value(f, atoms)
    broken, weighted = 0, []
    for seed in range(200):
        run = solve(f, atoms, name, max_iter=20, tol=0, seed=seed)
        certificate = certify(run, confidence=0.5)
        assert certificate.confidence == 0.5
        assert "Markov" in certificate.inequality
        broken += run.value - floor > certificate.bound
        weighted.append(certificate.constants["β_t"] * (run.value - floor))
    assert broken <= 100
    assert np.mean(weighted) <= geometry.distance(f, atoms) ** 2 / 2
