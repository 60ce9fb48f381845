"""What a certificate says, and when it says what is missing."""

from dataclasses import dataclass

import numpy as np
import pytest

from pursuit import (
    Approximate,
    Coordinates,
    Dictionary,
    InputError,
    LeastSquares,
    Logistic,
    Method,
    Oracle,
    Plain,
    Quadratic,
    Smooth,
    SquaredDistance,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.certificates import _by_energy, certify
from pursuit.geometry.guarantee import Guarantee
from pursuit.rules.directions import Direction
from pursuit.rules.momentum import Momentum, Stepper
from pursuit.rules.run import Choice

rng = np.random.default_rng(0)


class Flat(LeastSquares):
    """Flat directions, and nobody knows that there is a minimum: no constant leads to one."""

    lowest = -np.inf


SINGULAR = Flat(rng.standard_normal((3, 6)), rng.standard_normal(3))


def test_a_result_states_its_inequality_and_constants():
    atoms = Dictionary(rng.standard_normal((9, 4)))
    run = solve(SquaredDistance(rng.standard_normal(4)), atoms, max_iter=10, tol=0)
    certificate = run.certificate
    unit = atoms.unit().atoms
    mu_A = geometry.strong_convexity(SquaredDistance(np.zeros(4)), unit)
    assert certificate.bound == pytest.approx(run.slope**2 / (2 * mu_A))
    assert certificate.constants["μ_A"] == pytest.approx(mu_A)
    assert certificate.inequality == "f(x) − f* ≤ ‖∇f(x)‖_{A*}² / (2 μ_A)"
    assert str(certificate).startswith(f"f(x) − f* ≤ {certificate.bound:.4g}, by f(x) − f* ≤")
    assert str(certificate) in str(run)


def test_printing_a_large_result_does_not_compute_a_certificate(monkeypatch):
    Z = rng.standard_normal((400, 100))
    run = solve(SquaredDistance(rng.standard_normal(100)), Dictionary(Z), max_iter=3)
    monkeypatch.setattr(geometry, "safe_strong_convexity", None)
    assert "certificate: on request" in str(run)


def test_a_solve_computes_no_certificate(monkeypatch):
    monkeypatch.setattr(geometry, "safe_strong_convexity", None)
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


def test_a_loss_without_ridge_says_so_and_takes_a_given_radius():
    X = rng.standard_normal((8, 3))
    run = solve(Logistic(X, np.sign(X[:, 0])), Coordinates(3), max_iter=5, tol=0)
    assert "μ_A" in run.certificate.missing
    slope = np.abs(run.origin.problem.f.gradient(run.x)).max()
    given = certify(run, given={"R_A": 7.0})
    assert given.bound == pytest.approx(7 * slope)
    assert not given.missing


def test_an_oracle_of_unknown_geometry_names_its_width():
    cube = Oracle(lambda d: np.where(d < 0, -1.0, 1.0), shape=3, radius=2.0)
    run = solve(SquaredDistance(np.ones(3)), cube, max_iter=5)
    assert "mDW" in run.certificate.missing


# The potential of the accelerated methods -------------------------------------------------------


@pytest.mark.parametrize("name", ["accelerated-random", "accelerated-matching-pursuit"])
def test_theorems_in_expectation_are_stated_with_a_confidence(name):
    run = solve(SINGULAR, Coordinates(6), name, max_iter=30, tol=0)
    certificate = run.certificate
    assert certificate.confidence == pytest.approx(0.95)
    distance = geometry.distance(SINGULAR, Coordinates(6))
    beta = run.origin.beta
    assert certificate.bound == pytest.approx(distance**2 / (2 * beta) / 0.05)
    assert "with confidence 0.95" in str(certificate)
    assert certify(run, confidence=0.5).bound == pytest.approx(certificate.bound / 10)


def test_the_certificate_is_at_most_the_rate_over_eta():
    """β_t is computed, where the rate has its lower bound t(t + 1)/(4Lν)."""
    run = solve(SINGULAR, Coordinates(6), "accelerated-random", max_iter=30, tol=0)
    assert run.certificate.bound <= rates.theorem_9(SINGULAR, Coordinates(6))(30) / 0.05


def test_accelerated_states_its_energy_and_the_convexity_in_the_P_norm():
    f = LeastSquares(rng.standard_normal((20, 6)), rng.standard_normal(20))
    atoms = Dictionary(rng.standard_normal((12, 6))).unit().atoms
    run = solve(f, atoms, "accelerated", max_iter=5, tol=0)
    p = geometry.preconditioner(f, atoms).p
    energy = float(p @ (atoms.matrix @ f.gradient(run.x)) ** 2)
    mu_P = geometry.sampled_convexity(f, atoms, p)
    assert run.certificate.inequality == "f(x) − f* ≤ S / (2 μ_P)"
    assert run.certificate.bound == pytest.approx(energy / (2 * mu_P), rel=1e-6)
    assert run.certificate.constants == pytest.approx({"S": energy, "μ_P": mu_P}, rel=1e-6)
    assert run.value - rates.optimal_value(f, atoms) <= run.certificate.bound


def flat_bowl():
    """Least squares with singular values 1 … 1e-4, all correlated, from a point of length one."""
    left, right = (np.linalg.qr(rng.standard_normal((9, 9)))[0] for _ in range(2))
    A = left * np.geomspace(1, 1e-4, 9) @ right
    x = rng.standard_normal(9)
    return LeastSquares(A, A @ x / np.linalg.norm(x))


def test_where_f_is_nearly_flat_accelerated_is_certified_by_the_distance_of_its_start():
    f, atoms = flat_bowl(), Coordinates(9)
    run = solve(f, atoms, "accelerated", max_iter=4, tol=0)
    certificate, p = run.certificate, geometry.preconditioner(f, atoms).p
    assert certificate.inequality == "f(x) − f* ≤ ½R² / β_t"
    assert certificate.constants["R"] == pytest.approx(geometry.distance(f, atoms, None, p))
    assert run.value <= certificate.bound < certificate.constants["S"] / (2e-8)


def test_where_that_is_not_known_it_is_bounded_by_where_the_run_is(monkeypatch):
    """‖x* − x0‖_P ≤ ‖x − x0‖_P + √S/μ_P, closer and closer as the run goes on."""
    f, atoms = flat_bowl(), Coordinates(9)
    p = geometry.preconditioner(f, atoms).p
    true, moments = geometry.distance(f, atoms, None, p), geometry.second_moment(atoms, p)
    monkeypatch.setitem(rates._COMPUTED, "‖x* − x0‖_P", rates._unrecorded)
    radii = []
    for steps in (1, 4, 8):
        run = solve(f, atoms, "accelerated", max_iter=steps, tol=0)
        found = list(_by_energy(run, run.origin, None))[-1].constants
        assert found["R"] == pytest.approx(
            moments.norm2(run.x) ** 0.5 + found["S"] ** 0.5 / found["μ_P"], rel=1e-3
        )
        radii.append(found["R"])
    assert radii[0] > radii[-1] >= true * (1 - 1e-9)


def test_where_f_is_flat_accelerated_is_certified_by_its_potential_or_says_what_is_missing():
    run = solve(SINGULAR, Coordinates(6), "accelerated", max_iter=2, tol=0)
    assert run.certificate.inequality == "f(x) − f* ≤ ½‖x* − x0‖_P² / β_t"
    assert run.value - rates.optimal_value(SINGULAR, Coordinates(6)) <= run.certificate.bound
    X = rng.standard_normal((8, 3))
    loss = Logistic(X, np.sign(X[:, 0]))
    missing = solve(loss, Coordinates(3), "accelerated", max_iter=2, tol=0).certificate.missing
    assert "‖x* − x0‖_P: the distance to an optimum has no known bound" in missing


def test_the_affine_invariant_acceleration_holds_surely():
    run = solve(SINGULAR, Coordinates(6), "accelerated-affine-invariant", max_iter=30, tol=0)
    assert run.certificate.confidence == 1
    gap = run.value - rates.optimal_value(SINGULAR, Coordinates(6))
    assert gap <= run.certificate.bound
    bound = rates.parameter_free(SINGULAR, Coordinates(6), exploration=None)
    assert run.certificate.bound <= bound(30)


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
    f = LeastSquares([[1.0, 0.0]], [1.0])
    tight = geometry.nu(atoms)
    assert tight < geometry.safe_nu(atoms)
    method = methods.accelerated_matching_pursuit(nu=tight)
    assert not solve(f, atoms, method, max_iter=5, tol=0).certificate.missing


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
    certificate = solve(SINGULAR, Coordinates(6), method, max_iter=5, tol=0).certificate
    assert certificate.constants["ν"] == pytest.approx(6 / 0.25)
    exact = solve(SINGULAR, Coordinates(6), "accelerated-matching-pursuit", max_iter=5, tol=0)
    assert certificate.constants["β_t"] == pytest.approx(exact.certificate.constants["β_t"] / 4)


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
        (rates.theorem_8, None),
        (rates.theorem_9, None),
        (rates.parameter_free, None),
    ],
)
def test_theorems_name_what_a_singular_problem_lacks(theorem, constant):
    if constant is None:
        assert np.isfinite(theorem(SINGULAR, Coordinates(6))(5))
        return
    with pytest.raises(rates.MissingConstant) as missing:
        theorem(SINGULAR, Coordinates(6))
    assert missing.value.constant == constant
    assert np.isfinite(theorem(SINGULAR, Coordinates(6), given={constant: 2.0})(5))


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


def test_atoms_that_depend_on_each_other_up_to_rounding_are_not_certified():
    """Their stored numbers span more, by what no run can use and no bound may ignore."""
    Z = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 4))
    f, atoms = SquaredDistance(rng.standard_normal(4)), Dictionary(Z)
    certificate = solve(f, atoms, max_iter=20).certificate
    assert certificate.bound == np.inf
    assert "lin(A): the atoms span 2 dimensions, and more by what rounding" in certificate.missing
    with pytest.raises(rates.MissingConstant, match=r"lin\(A\)"):
        rates.theorem_3(f, atoms)


def test_a_point_outside_the_span_pays_for_its_way_back():
    """Single precision leaves lin(A) by 1e-8, and f may fall on the way by more than certified."""
    atoms = Dictionary(np.array([[1, 2, 3], [3, 2, 1]], np.float32))
    f = SquaredDistance(np.array([1e3, -2e3, 1e3], np.float32))
    run = solve(f, atoms, "orthogonal", max_iter=10)
    seen = geometry.slope_at(f, atoms.unit().atoms, run.x)
    assert np.allclose(np.cross(*atoms.matrix.astype(float)) @ seen.point, 0, atol=1e-11)
    assert f.value(run.x.astype(float)) <= f.value(seen.point) + seen.off
    assert run.certificate.bound >= seen.off


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
    assert ("no theorem covers these directions" in run.certificate.missing) == (quality is None)
    if quality is not None:
        assert run.certificate.constants["ν"] == geometry.safe_nu(Coordinates(6)) / 0.1**2


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
    distance = geometry.distance(f, Coordinates(6))
    assert run.certificate.bound == pytest.approx(distance**2 / (2 * 8.0))
    assert run.certificate.confidence == 1


def test_a_theorem_refuses_what_it_does_not_depend_on():
    f, atoms = SquaredDistance(np.ones(2)), Coordinates(2)
    with pytest.raises(InputError, match="sampling: Theorem 3 does not depend on it"):
        rates.theorem_3(f, atoms, sampling=[0.5, 0.5])
    with pytest.raises(InputError, match="delta: Theorem 9 does not depend on it"):
        rates.theorem_9(f, atoms, delta=0.5)
    with pytest.raises(InputError, match="algorithm: Theorem 5 does not depend on it"):
        rates.theorem_5(f, atoms, algorithm=1)
