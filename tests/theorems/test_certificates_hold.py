"""What a result claims about itself is true, on random problems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theorems.hard_certificates import hard_problem
from theorems.instances import MANY, instances, sharp_descent
from theorems.rational import truth

from pursuit import (
    Coordinates,
    Dictionary,
    LeastSquares,
    Quadratic,
    SquaredDistance,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.certificates import certify
from pursuit.geometry import Kind

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


class Endless(LeastSquares):
    """Flat directions, and nobody knows that there is a minimum: the potential alone speaks."""

    lowest = -np.inf


@pytest.mark.parametrize("name", ["accelerated-random", "accelerated-matching-pursuit"])
def test_confidence_is_kept_over_many_seeds_where_H_is_singular(name):
    """No strong convexity: only the potential speaks, in expectation."""
    rng = np.random.default_rng(1)
    f = Endless(rng.standard_normal((3, 6)), rng.standard_normal(3))
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


# Any scale, any condition, either precision -----------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_no_certificate_is_below_the_true_gap_of_300_hard_problems(name):
    """The gap is that of the stored numbers in exact arithmetic."""
    certified = likely = broken = 0
    for seed in range(300):
        case = hard_problem(seed)
        run = solve(case.f, case.atoms, name, case.x0, tol=0, **case.options)
        certificate = run.certificate
        assert certificate.bound >= 0
        if certificate.missing:
            assert certificate.bound == np.inf
            continue
        certified += 1
        false = case.exceeds(run.x, certificate.bound)
        if certificate.confidence == 1:
            assert not false, (seed, case.kind, certificate)
        else:
            likely, broken = likely + 1, broken + false
    assert certified > 200
    assert broken <= 0.05 * likely


def test_a_gradient_free_run_is_not_certified():
    certificate = solve(SquaredDistance(np.ones(2)), Coordinates(2), "gradient-free").certificate
    assert certificate.bound == np.inf
    assert "the slope" in certificate.missing


def test_single_precision_takes_no_direction_from_a_certificate():
    rng = np.random.default_rng(0)
    Z = (rng.standard_normal(20) + 1e-4 * rng.standard_normal((1000, 20))).astype("f4")
    b = rng.standard_normal(20).astype("f4")
    atoms = Dictionary(Z)
    assert atoms.rank == atoms.unit().atoms.rank == 20
    assert geometry.nu_random(atoms.unit().atoms) >= 20
    run = solve(SquaredDistance(b), atoms, "accelerated-random", max_iter=4000, tol=0)
    # The atoms span everything, so that f* = 0.
    assert run.value > 5
    assert run.value <= run.certificate.bound


DEEP = LeastSquares(np.diag([1, 3e-9]), [1.0, 1.0])
"""f* = 0, and a direction that H = AᵀA shows no more, while A does."""


@pytest.mark.parametrize(
    "name",
    ["accelerated-affine-invariant", "accelerated-random", "accelerated-matching-pursuit"],
)
def test_no_potential_is_measured_without_a_direction(name):
    run = solve(DEEP, Coordinates(2), name, max_iter=2000, tol=0)
    assert run.value > 0.4
    assert run.value <= run.certificate.bound <= 0.6
    drowned = Quadratic(np.diag([1, 9e-18]), [1.0, 3e-9])
    run = solve(drowned, Coordinates(2), name, max_iter=2000, tol=0)
    assert run.certificate.bound == np.inf
    assert "cannot be told from rounding" in run.certificate.missing


@pytest.mark.parametrize("theorem", [rates.theorem_8, rates.theorem_9, rates.parameter_free])
def test_no_rate_is_measured_without_a_direction(theorem):
    drowned = Quadratic(np.diag([1, 9e-18]), [1.0, 3e-9])
    for f in (DEEP, drowned):
        assert geometry.distance(f, Coordinates(2)).kind is Kind.ESTIMATE
        with pytest.raises(rates.MissingConstant, match="cannot be told from rounding"):
            theorem(f, Coordinates(2))


@pytest.mark.parametrize("n", [2, 4, 6])
def test_near_singularity_a_slope_certificate_takes_off_what_rounding_adds(n):
    """H = δI + (1 − δ)11ᵀ, whose floats are exact: at signs that sum to zero it is attained."""
    signs, certified = np.resize([1.0, -1.0], n), 0
    for delta in (k * 2.0**-e for e in range(30, 52) for k in range(1, 15, 2)):
        f = Quadratic(delta * np.eye(n) + (1 - delta), np.zeros(n))
        assert (f.H @ signs == delta * signs).all()
        certificate = solve(f, Coordinates(n), x0=signs, max_iter=0).certificate
        if not certificate.missing:
            certified += 1
            assert n * delta / 2 <= certificate.bound, delta
    assert certified > 110


@pytest.mark.parametrize("name", ["accelerated-affine-invariant", "accelerated-random"])
def test_no_potential_promises_less_than_rounding_has_left(name):
    """β_t grows as long as a run does, and f stops falling where its precision ends."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((4, 8)).astype("f4")
    f, atoms = Endless(A, rng.standard_normal(4).astype("f4")), Coordinates(8)
    run = solve(f, atoms, name, max_iter=3000, tol=0, every=3000)
    # as after some 1e18 steps more
    run = replace(run, origin=replace(run.origin, beta=1e30 * run.origin.beta))
    promise, true = run.certificate.constants, truth(f, np.eye(8))
    potential = promise["‖x* − x0‖_P"] ** 2 / (2 * promise["β_t"])
    assert 20 * potential < true(run.x) - true.lowest <= run.certificate.bound
