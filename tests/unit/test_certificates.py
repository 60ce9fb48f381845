"""What a certificate says, and when it says what is missing."""

from dataclasses import dataclass

import numpy as np
import pytest

from pursuit import (
    Approximate,
    Coordinates,
    Dictionary,
    Function,
    InputError,
    LeastSquares,
    Logistic,
    Method,
    Oracle,
    Plain,
    Quadratic,
    Smooth,
    SquaredDistance,
    certificates,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.certificates import certify
from pursuit.geometry.guarantee import Guarantee
from pursuit.rules.directions import Direction
from pursuit.rules.momentum import Momentum, Stepper
from pursuit.rules.run import Choice

rng = np.random.default_rng(0)


LEAST_SQUARES = LeastSquares(rng.standard_normal((3, 6)), rng.standard_normal(3))
SINGULAR = Function(LEAST_SQUARES.value, LEAST_SQUARES.gradient, shape=6, L=LEAST_SQUARES.L)
"""The same, and nobody knows of a curvature, nor that there is a minimum."""
DISTANCE = geometry.distance(LEAST_SQUARES, Coordinates(6))
GIVEN = {"‖x* − x0‖_P": DISTANCE}
FLOOR = rates.optimal_value(LEAST_SQUARES, Coordinates(6))


def test_a_result_states_its_inequality_and_constants():
    f = LeastSquares(rng.standard_normal((9, 4)), rng.standard_normal(9))
    run = solve(f, Dictionary(rng.standard_normal((9, 4))), max_iter=10, tol=0)
    certificate = run.certificate
    gradient = f.gradient(run.x)
    gap = gradient @ np.linalg.solve(f.A.T @ f.A, gradient) / 2
    assert certificate.bound == pytest.approx(gap)
    assert certificate.inequality == "f(x) − f* ≤ ½ cᵀ(E H Eᵀ)⁻¹ c with c = E ∇f(x) over lin(A)"
    assert str(certificate).startswith(f"f(x) − f* ≤ {certificate.bound:.4g}, by f(x) − f* ≤")
    assert str(certificate) in str(run)
    floor = solve(Logistic(f.A, np.sign(f.b)), Coordinates(4), max_iter=1).certificate
    assert floor.constants == {"m": 0.0}
    assert str(floor).endswith("f(x) − m, and f is never below m; m = 0")


def test_a_given_convexity_is_stated_with_the_dual_norm_of_the_gradient():
    atoms = Dictionary(rng.standard_normal((9, 4)))
    f = SquaredDistance(rng.standard_normal(4))
    run = solve(Function(f.value, f.gradient, shape=4), atoms, "orthogonal", max_iter=2)
    mu_A = geometry.strong_convexity(f, atoms.unit().atoms)
    certificate = certify(run, given={"μ_A": mu_A})
    assert certificate.bound == pytest.approx(run.slope**2 / (2 * mu_A))
    assert certificate.constants["μ_A"] == mu_A
    assert certificate.inequality == "f(x) − f* ≤ ‖∇f(x)‖_{A*}² / (2 μ_A)"


def test_printing_a_large_result_does_not_compute_a_certificate(monkeypatch):
    Z = rng.standard_normal((400, 100))
    run = solve(SquaredDistance(rng.standard_normal(100)), Dictionary(Z), max_iter=3)
    monkeypatch.setattr(certificates, "bound_over_span", None)
    assert "certificate: on request" in str(run)


def test_a_solve_computes_no_certificate(monkeypatch):
    monkeypatch.setattr(certificates, "bound_over_span", None)
    run = solve(SquaredDistance(np.ones(3)), Coordinates(3))
    assert "certificate" not in vars(run)


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("matching-pursuit", "R_A"),
        ("random-pursuit", "R_A"),
        ("greedy-greedy", "ν"),
        (methods.accelerated(exploration=2), "‖x* − x_s‖_P"),
    ],
)
def test_the_missing_constant_is_named_where_f_is_not_strongly_convex(name, constant):
    certificate = solve(SINGULAR, Coordinates(6), name, max_iter=5, tol=0).certificate
    assert certificate.bound == np.inf
    assert "μ_A: f is not known to be strongly convex" in certificate.missing
    assert f"{constant}: " in certificate.missing
    assert "what is missing" in str(certificate)


def test_a_loss_without_ridge_is_certified_by_its_floor_and_takes_a_given_radius():
    X = rng.standard_normal((8, 3))
    run = solve(Logistic(X, np.sign(X[:, 0])), Coordinates(3), max_iter=50, tol=0)
    assert run.certificate.bound == pytest.approx(run.value)
    slope = np.abs(run.origin.problem.f.gradient(run.x)).max()
    given = certify(run, given={"R_A": 0.01 * run.value / slope})
    assert given.bound == pytest.approx(0.01 * run.value)
    assert not given.missing


def test_an_oracle_of_unknown_geometry_names_its_width():
    cube = Oracle(lambda d: np.where(d < 0, -1.0, 1.0), shape=3, radius=2.0)
    f = Function(lambda x: x @ x / 2, lambda x: x, shape=3, L=1.0, mu=1.0)
    run = solve(f, cube, max_iter=5)
    assert "mDW" in run.certificate.missing


# The potential of the accelerated methods -------------------------------------------------------


@pytest.mark.parametrize("name", ["accelerated-random", "accelerated-matching-pursuit"])
def test_theorems_in_expectation_are_stated_with_a_confidence(name):
    run = solve(SINGULAR, Coordinates(6), name, max_iter=30, tol=0)
    certificate = certify(run, given=GIVEN)
    assert certificate.confidence == pytest.approx(0.95)
    beta = run.origin.beta
    assert certificate.bound == pytest.approx(DISTANCE**2 / (2 * beta) / 0.05)
    assert "with confidence 0.95" in str(certificate)
    half = certify(run, confidence=0.5, given=GIVEN)
    assert half.bound == pytest.approx(certificate.bound / 10)


def test_the_certificate_is_at_most_the_rate_over_eta():
    """β_t is computed, where the rate has its lower bound t(t + 1)/(4Lν)."""
    run = solve(SINGULAR, Coordinates(6), "accelerated-random", max_iter=30, tol=0)
    rate = rates.theorem_9(LEAST_SQUARES, Coordinates(6))
    assert certify(run, given=GIVEN).bound <= rate(30) / 0.05 * (1 + 1e-9)


def test_the_affine_invariant_acceleration_holds_surely():
    run = solve(SINGULAR, Coordinates(6), "accelerated-affine-invariant", max_iter=30, tol=0)
    certificate = certify(run, given=GIVEN)
    assert certificate.confidence == 1
    assert certificate.inequality == "f(x) − f* ≤ ½‖x* − x0‖_P² / β_t"
    assert run.value - FLOOR <= certificate.bound
    bound = rates.parameter_free(SINGULAR, Coordinates(6), exploration=None, given=GIVEN)
    assert certificate.bound <= bound(30) * (1 + 1e-9)


def test_the_distance_that_a_potential_needs_is_named():
    run = solve(SINGULAR, Coordinates(6), "accelerated-random", max_iter=3, tol=0)
    assert "‖x* − x0‖_P: the distance to a minimizer" in run.certificate.missing


def test_a_phase_of_known_distance_is_certified():
    method = methods.accelerated(exploration=1)
    run = solve(SINGULAR, Coordinates(6), method, max_iter=10, tol=0)
    beta = run.origin.beta
    known = certify(run, given={"‖x* − x_s‖_P": 2.0})
    assert known.bound == pytest.approx(4 / (2 * beta) / 0.05)


def test_the_printed_nu_is_not_certified():
    """The paper's experiments use ν = 1, for which there is no theorem."""
    method = methods.accelerated_matching_pursuit(nu=1)
    certificate = solve(SINGULAR, Coordinates(6), method, max_iter=5, tol=0).certificate
    assert certificate.bound == np.inf
    assert "ν: 1 is below the proved 6" in certificate.missing


def test_a_smaller_nu_is_certified_where_it_is_proved():
    Z = rng.standard_normal((6, 2))
    atoms = Dictionary(Z / np.linalg.norm(Z, axis=1)[:, None])
    f = Function(lambda x: (x[0] - 1) ** 2 / 2, lambda x: x * [1, 0] - [1, 0], shape=2, L=1.0)
    tight = geometry.nu(atoms)
    assert tight < geometry.safe_nu(atoms)
    method = methods.accelerated_matching_pursuit(nu=tight)
    run = solve(f, atoms, method, max_iter=5, tol=0)
    assert not certify(run, given={"‖x* − x0‖_P": 1.0}).missing


@pytest.mark.parametrize("share", [0.95, 1 - 1e-6])
def test_a_nu_slightly_below_the_proved_one_is_not_certified(share):
    for method in (
        methods.accelerated_matching_pursuit(nu=6 * share),
        methods.accelerated_random(nu=6 * share),
    ):
        certificate = solve(SINGULAR, Coordinates(6), method, max_iter=5, tol=0).certificate
        assert certificate.bound == np.inf
        assert "is below the proved 6" in certificate.missing


def test_an_approximate_oracle_runs_with_a_larger_nu_and_is_certified():
    method = methods.accelerated_matching_pursuit(direction=Approximate(0.5))
    run = solve(SINGULAR, Coordinates(6), method, max_iter=5, tol=0)
    constants = certify(run, given=GIVEN).constants
    assert constants["ν"] == pytest.approx(6 / 0.25)
    exact = solve(SINGULAR, Coordinates(6), "accelerated-matching-pursuit", max_iter=5, tol=0)
    assert constants["β_t"] == pytest.approx(exact.origin.beta / 4)


def test_a_step_constant_that_is_too_small_is_not_certified():
    for method in (
        methods.accelerated_random(L=SINGULAR.L / 2),
        methods.accelerated_random(step=Smooth(SINGULAR.L / 2)),
    ):
        certificate = solve(SINGULAR, Coordinates(6), method, max_iter=3, tol=0).certificate
        assert "L: the one in use is below" in certificate.missing


def test_a_confidence_of_one_is_refused():
    run = solve(SINGULAR, Coordinates(6), max_iter=1)
    with pytest.raises(InputError, match="confidence: expected a number below 1"):
        certify(run, confidence=1.0)


# Rates and their picture ------------------------------------------------------------------------


def test_a_rate_carries_its_name_inequality_and_constants():
    f, atoms = SquaredDistance(np.ones(4)), Coordinates(4)
    rate = rates.theorem_8(f, atoms)
    assert rate.name == "Theorem 8"
    assert rate.inequality == "E f(x_t) − f* ≤ 2 L ν ‖x* − x0‖_P² / (t (t + 1))"
    assert rate.constants == pytest.approx({"L": 1, "ν": 4, "‖x* − x0‖_P": 4})
    assert rate(10) == pytest.approx(2 * 4 * 16 / 110)
    assert rate(np.array([0, 1])).tolist() == pytest.approx([np.inf, 64])
    assert "in expectation, with L = 1, ν = 4" in str(rate)


@pytest.mark.parametrize(
    ("theorem", "constant"),
    [
        (rates.theorem_3, "R_A"),
        (rates.theorem_4, "R_A"),
        (rates.theorem_5, "μ_A"),
        (rates.theorem_8, "‖x* − x0‖_P"),
        (rates.theorem_9, "‖x* − x0‖_P"),
        (rates.parameter_free, "‖x* − x0‖_P"),
    ],
)
def test_theorems_name_what_a_singular_problem_lacks(theorem, constant):
    with pytest.raises(rates.MissingConstant) as missing:
        theorem(SINGULAR, Coordinates(6))
    assert missing.value.constant == constant
    known = {constant: 2.0, "ε_0": 1.0} if constant == "μ_A" else {constant: 2.0}
    assert np.isfinite(theorem(SINGULAR, Coordinates(6), given=known)(5))


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(InputError, match="algorithm: expected 1 or 2"):
        rates.theorem_3(SquaredDistance(np.ones(2)), Coordinates(2), algorithm=3)


def test_bounds_are_drawn_over_the_curve_and_above_it():
    rows = rng.standard_normal((9, 4))
    f, atoms = SquaredDistance(rng.standard_normal(4)), Dictionary(rows)
    run = solve(f, atoms, "affine-invariant", max_iter=30, tol=0, unit_atoms=False)
    bounds = [rates.theorem_3(f, atoms), rates.theorem_5(f, atoms)]
    ax = run.trace.plot(bounds=bounds, floor=rates.optimal_value(f, atoms))
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    assert {"Theorem 3", "Theorem 5"} <= set(lines)
    assert lines["Theorem 3"][0, 0] == 1
    assert lines["Theorem 5"][:, 1] == pytest.approx(bounds[1](np.arange(31)))
    assert ax.get_legend() is not None


# Rounding ---------------------------------------------------------------------------------------


def test_atoms_that_depend_on_each_other_up_to_rounding_count_as_dependent():
    """The bound is about the span of the atoms that are kept."""
    Z = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 4))
    f, atoms = SquaredDistance(rng.standard_normal(4)), Dictionary(Z)
    run = solve(f, atoms, max_iter=20)
    assert atoms.rank == len(atoms.lin.frame) == 2
    rest = np.linalg.lstsq(atoms.lin.frame.T, f.b)[1][0]
    gap = run.value - rest / 2
    assert gap <= run.certificate.bound <= 1.02 * gap + 1e-12 * f.value(np.zeros(4))


def test_a_point_outside_the_span_pays_for_its_way_back():
    """Single precision leaves lin(A) by 1e-8, and f may fall on the way by more than certified."""
    atoms = Dictionary(np.array([[1, 2, 3], [3, 2, 1]], np.float32))
    f = SquaredDistance(np.array([1e3, -2e3, 1e3], np.float32))
    run = solve(f, atoms, "orthogonal", max_iter=10)
    lowest = f.b.astype(float) @ f.b.astype(float) / 2  # b is orthogonal to both atoms
    gap = f.double().value(run.x.astype(float)) - lowest
    assert gap <= run.certificate.bound


def test_a_run_that_diverged_to_infinity_is_not_certified():
    f = Quadratic(np.diag([1.0, 1e-3]), np.ones(2))
    method = methods.matching_pursuit(step=Smooth(1e-200))
    certificate = solve(f, Coordinates(2), method, max_iter=20).certificate
    assert certificate.bound == np.inf
    assert certificate.missing


@dataclass(frozen=True)
class Second(Direction):
    """The second steepest of two atoms; it says so, or does not."""

    quality: float | None = None

    def start(self, run, purpose="picks"):
        def choose(x):
            c = x.correlations()
            z = int(np.argsort(np.abs(c))[-2])
            return Choice(z, float(c[z]), float(np.abs(c).max()))

        return choose


@pytest.mark.parametrize("quality", [None, 0.1])
def test_a_direction_of_your_own_is_certified_where_it_knows_its_delta(quality):
    method = methods.accelerated_matching_pursuit(direction=Second(quality))
    run = solve(SINGULAR, Coordinates(6), method, max_iter=30, tol=0)
    certificate = certify(run, given=GIVEN)
    assert ("no theorem covers these directions" in certificate.missing) == (quality is None)
    if quality is not None:
        assert certificate.constants["ν"] == geometry.safe_nu(Coordinates(6)) / 0.1**2


class Weighed(Stepper):
    """Plain steps with a β of their own."""

    beta = 8.0

    def __init__(self, plain):
        self.plain, self.x = plain, plain.x

    def step(self):
        return self.plain.step()


@dataclass(frozen=True)
class Proved(Momentum):
    """Plain, with a proof that is a claim of ours."""

    proof: Guarantee | None = None

    def start(self, run, advance, x):
        return Weighed(Plain().start(run, advance, x))

    def guarantee(self, advance, problem):
        return self.proof or super().guarantee(advance, problem)


def test_a_momentum_of_your_own_is_asked_for_what_it_guarantees():
    f, advance = SINGULAR, methods.matching_pursuit().advance
    silent = solve(f, Coordinates(6), Method("ours", advance, Proved()), max_iter=5, tol=0)
    assert "R_A: the radius of the level set" in silent.certificate.missing
    proof = Guarantee(None, {}, surely=True)
    run = solve(f, Coordinates(6), Method("ours", advance, Proved(proof)), max_iter=5, tol=0)
    certificate = certify(run, given=GIVEN)
    assert certificate.bound == pytest.approx(DISTANCE**2 / (2 * 8.0))
    assert certificate.confidence == 1


def test_a_theorem_refuses_what_it_does_not_depend_on():
    f, atoms = SquaredDistance(np.ones(2)), Coordinates(2)
    with pytest.raises(InputError, match="sampling: Theorem 3 does not depend on it"):
        rates.theorem_3(f, atoms, sampling=[0.5, 0.5])
    with pytest.raises(InputError, match="delta: Theorem 9 does not depend on it"):
        rates.theorem_9(f, atoms, delta=0.5)
    with pytest.raises(InputError, match="algorithm: Theorem 5 does not depend on it"):
        rates.theorem_5(f, atoms, algorithm=1)
