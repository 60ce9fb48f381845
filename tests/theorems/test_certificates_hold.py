"""What a result claims about itself is true, on random problems."""

import sys
from dataclasses import replace
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from theorems.hard_certificates import hard_problem
from theorems.instances import MANY, instances, sharp_descent
from theorems.rational import truth

from pursuit import (
    Coordinates,
    Dictionary,
    Function,
    LeastSquares,
    NonNegative,
    Quadratic,
    SquaredDistance,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.certificates import _by_potential, certify
from pursuit.geometry import Kind
from pursuit.geometry.suboptimality import allowance

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
    slope = geometry.dual_norm(case.atoms, case.f.gradient(run.x))
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
    mu_A = geometry.strong_convexity(f, Coordinates(5))
    assert certify(start, given={"μ_A": mu_A}).bound == pytest.approx(gap)
    assert certify(start, given={"μ_A": 1.1 * mu_A}).bound < gap


@pytest.mark.parametrize("name", ["accelerated-random", "accelerated-matching-pursuit"])
def test_confidence_is_kept_over_many_seeds_where_H_is_singular(name):
    """Nothing is known of the curvature: only the potential speaks, in expectation."""
    rng = np.random.default_rng(1)
    f = LeastSquares(rng.standard_normal((3, 6)), rng.standard_normal(3))
    known = Function(f.value, f.gradient, shape=6, L=f.L)
    atoms = Coordinates(6)
    floor, distance = rates.optimal_value(f, atoms), geometry.distance(f, atoms)
    broken, weighted = 0, []
    for seed in range(200):
        run = solve(known, atoms, name, max_iter=20, tol=0, rng=seed)
        certificate = certify(run, confidence=0.5, given={"‖x* − x0‖_P": distance})
        assert certificate.confidence == 0.5
        assert "Markov" in certificate.inequality
        broken += run.value - floor > certificate.bound
        weighted.append(certificate.constants["β_t"] * (run.value - floor))
    assert broken <= 100
    assert np.mean(weighted) <= distance**2 / 2


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
DROWNED = Quadratic(np.diag([1, 9e-18]), [1.0, 3e-9])
"""The same as a quadratic: its curvatures differ by more than float64 can add up."""


@pytest.mark.parametrize("f", [DEEP, DROWNED], ids=["root", "Hessian"])
@pytest.mark.parametrize(
    "name",
    ["accelerated-affine-invariant", "accelerated-random", "accelerated-matching-pursuit"],
)
def test_a_direction_of_another_unit_is_seen_by_a_certificate(name, f):
    run, true = solve(f, Coordinates(2), name, max_iter=2000, tol=0), truth(f, np.eye(2))
    assert 0.4 < true(run.x) - true.lowest <= run.certificate.bound <= 0.6


@pytest.mark.parametrize("theorem", [rates.theorem_8, rates.theorem_9, rates.parameter_free])
def test_no_rate_is_measured_without_a_direction(theorem):
    exact = geometry.distance(DEEP, Coordinates(2))
    assert exact == pytest.approx(np.sqrt(2) / 3e-9)
    assert exact.kind is Kind.EXACT
    assert geometry.distance(DROWNED, Coordinates(2)).kind is Kind.ESTIMATE
    with pytest.raises(rates.MissingConstant, match="cannot be told from rounding"):
        theorem(DROWNED, Coordinates(2))


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
    f, atoms = LeastSquares(A, rng.standard_normal(4).astype("f4")), Coordinates(8)
    run = solve(f, atoms, name, max_iter=3000, tol=0, every=3000)
    # as after some 1e18 steps more
    run = replace(run, origin=replace(run.origin, beta=1e30 * run.origin.beta))
    given = {"‖x* − x0‖_P": geometry.distance(f, atoms)}
    promise, true = _by_potential(run, run.origin, given, 0.05), truth(f, np.eye(8))
    used = promise.constants
    potential = used["‖x* − x0‖_P"] ** 2 / (2 * used["β_t"])
    assert 20 * potential < true(run.x) - true.lowest <= promise.bound


# Nearly dependent atoms, and both precisions ----------------------------------------------------


def test_atoms_that_nearly_depend_on_each_other_are_certified_over_the_kept_ones():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((4, 5)) + 0.0
        Z[3] = Z[:3].sum(axis=0) + 10.0 ** -rng.uniform(8, 18) * rng.standard_normal(5)
        f, atoms = SquaredDistance(rng.standard_normal(5)), Dictionary(Z)
        run = solve(f, atoms, max_iter=int(rng.integers(30)), tol=0)
        true = truth(f, atoms.lin.frame)
        gap = true(run.x) - true.lowest
        assert gap <= Fraction(run.certificate.bound), seed


def test_a_curvature_that_rounding_may_have_made_gives_no_bound():
    f = LeastSquares(np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]]), [1.0, 2.0])
    certificate = solve(f, Coordinates(2), max_iter=3, tol=0).certificate
    assert certificate.bound >= f.value(np.zeros(2)) / 20  # f(x) itself, no more
    shifted = Function(f.value, f.gradient, shape=2)
    assert solve(shifted, Coordinates(2), "orthogonal", max_iter=1).certificate.missing


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certificates_of_well_conditioned_quadratics_are_tight(dtype):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        A, b = rng.standard_normal((12, 4)), rng.standard_normal(12)
        f = LeastSquares(A.astype(dtype), b.astype(dtype))
        run = solve(f, Coordinates(4), max_iter=seed, tol=0)
        true = truth(f, np.eye(4))
        gap = float(true(run.x) - true.lowest)
        spent = allowance(f.double(), run.x.astype(float))
        assert gap <= run.certificate.bound <= 1.02 * gap + 2 * spent
        assert run.certificate.bound - spent >= gap - spent / 8  # what rounding took


def test_single_precision_over_a_dictionary_is_certified_at_the_stored_x():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((2, 3)).astype("f4")
        b = 3 * rng.standard_normal(3).astype("f4")
        run = solve(SquaredDistance(b), Z, "matching-pursuit", penalty=NonNegative())
        residual = nnls(Z.T.astype(float), b.astype(float))[1]
        gap = float(np.sum((run.x.astype(float) - b) ** 2) - residual**2) / 2
        assert gap <= run.certificate.bound + 1e-15 * float(b @ b), seed
        assert run.certificate.bound < 1e-6 * float(b @ b)


def test_no_certificate_is_below_the_gap_of_an_independent_solver(counted):
    for near in (False, True):
        counts = counted(range(200), near)
        assert not counts.false
        assert counts.finite > 150


@pytest.fixture
def counted():
    """Return `check` of tools/certificates.py, which is no part of a package."""
    path = Path(__file__).resolve().parents[2] / "tools" / "certificates.py"
    spec = spec_from_file_location("certificates_tool", path)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their annotations up there
    spec.loader.exec_module(module)
    yield module.check
    del sys.modules[spec.name]
