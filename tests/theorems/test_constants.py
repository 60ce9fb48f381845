"""The constants of `pursuit.geometry` against their definitions, on random problems."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import eigh
from theorems.instances import MANY, instances

from pursuit import Coordinates, Quadratic, Sphere, geometry
from pursuit.geometry import polar

ROUNDING = 1e-8


def close(a, b):
    return a == pytest.approx(b, rel=ROUNDING)


@MANY
@given(instances())
def test_gauge_equals_the_support_function_of_the_polar(case):
    x = case.direction()
    assert close(geometry.gauge(case.atoms, x), case.gauge(x))


@MANY
@given(instances())
def test_gauge_and_dual_norm_are_dual_to_each_other(case):
    """⟨x, y⟩ ≤ ‖x‖_A ‖y‖_{A*}, with equality at a corner y of the polar."""
    x, y = case.direction(), case.direction()
    product = geometry.gauge(case.atoms, x) * geometry.dual_norm(case.atoms, y)
    assert abs(x @ y) <= product * (1 + ROUNDING)
    corner = case.corners[np.argmax(case.corners @ x)]
    assert close(geometry.dual_norm(case.atoms, corner), 1)
    assert close(geometry.gauge(case.atoms, x), corner @ x)


@MANY
@given(instances())
def test_radius_and_diameter_are_the_longest_atom_and_the_longest_difference(case):
    both = np.concatenate([case.Z, -case.Z])
    apart = np.linalg.norm(both[:, None] - both[None], axis=2).max()
    assert close(geometry.diameter(case.atoms), apart)
    assert close(geometry.radius(case.atoms), np.linalg.norm(case.Z, axis=1).max())


@MANY
@given(instances())
def test_moments_and_leverages_equal_those_of_the_pseudo_inverse(case):
    moments = geometry.second_moment(case.atoms, case.p)
    assert moments.rank == case.r == case.atoms.rank
    assert np.allclose(moments.matrix, case.P_tilde, rtol=0, atol=1e-12 * abs(case.P_tilde).max())
    assert np.allclose(moments.inverse, case.P, rtol=0, atol=ROUNDING * abs(case.P).max())
    assert np.allclose(geometry.leverage(case.atoms, case.p), case.w, rtol=ROUNDING)
    assert close(case.p @ geometry.leverage(case.atoms, case.p), case.r)


@MANY
@given(instances())
def test_sampling_quality_is_the_smallest_ratio_and_is_attained(case):
    quality = geometry.sampling_quality(case.atoms, case.p)
    ratio = lambda d: case.p @ (case.Z @ d) ** 2 / np.abs(case.Z @ d).max() ** 2  # noqa: E731
    worst = case.P @ case.Z[np.argmax(case.w)]
    assert close(quality, ratio(worst))
    assert all(ratio(case.direction()) >= quality * (1 - ROUNDING) for _ in range(10))


@MANY
@given(instances())
def test_smoothness_is_the_largest_curvature_over_the_unit_ball_of_the_gauge(case):
    L_A = geometry.smoothness(case.f, case.atoms)
    assert close(L_A, np.einsum("ij,jk,ik->i", case.Z, case.H, case.Z).max())
    assert L_A.kind is geometry.Kind.EXACT
    weights = case.rng.standard_normal((10, len(case.Z)))
    z = (weights / np.abs(weights).sum(axis=1)[:, None]) @ case.Z
    assert (np.einsum("ij,jk,ik->i", z, case.H, z) <= L_A * (1 + ROUNDING)).all()


@MANY
@given(instances())
def test_directional_width_equals_that_of_all_corners(case):
    exact = 1 / np.linalg.norm(case.corners, axis=1).max()
    width = geometry.directional_width(case.atoms)
    assert width.kind is geometry.Kind.EXACT
    assert close(width, exact)
    assert close(np.abs(case.Z @ width.witness).max() / np.linalg.norm(width.witness), exact)


@MANY
@given(instances())
def test_strong_convexity_equals_that_of_all_corners(case):
    mu_A = geometry.strong_convexity(case.f, case.atoms)
    assert mu_A.kind is geometry.Kind.EXACT
    assert close(mu_A, case.mu_A)
    d = case.H_inverse @ mu_A.witness
    assert close(d @ case.H @ d / case.gauge(d) ** 2, case.mu_A)


@MANY
@given(instances())
def test_level_radius_is_the_largest_gauge_of_the_level_set_and_is_attained(case):
    R_A = geometry.level_radius(case.f, case.atoms, case.x0)
    assert R_A.kind is geometry.Kind.EXACT
    gap = case.gap(case.x0)

    def on_boundary(d):
        return d * np.sqrt(2 * gap / (d @ case.H @ d))

    worst = case.H_inverse @ geometry.strong_convexity(case.f, case.atoms).witness
    assert close(case.gauge(on_boundary(worst)), R_A)
    for _ in range(10):
        assert case.gauge(on_boundary(case.direction())) <= R_A * (1 + ROUNDING)


@MANY
@given(instances())
def test_the_gap_and_the_distance_of_a_start_are_those_of_the_minimiser(case):
    assert close(geometry.gap(case.f, case.atoms, case.x0), case.gap(case.x0))
    away = case.x_star - case.x0
    exact = np.sqrt(away @ case.P @ away)
    assert close(geometry.distance(case.f, case.atoms, case.x0, case.p), exact)


@MANY
@given(instances())
def test_nu_random_is_the_largest_generalized_eigenvalue(case):
    B = case.Z @ case.span.T
    squares = (case.Z**2).sum(axis=1)
    top, bottom = (B.T * (case.p * case.w)) @ B, (B.T * (case.p / squares)) @ B
    exact = eigh(top, bottom, eigvals_only=True)[-1]
    assert close(geometry.nu_random(case.atoms, case.p), exact)


@MANY
@given(instances())
def test_nu_equals_that_of_all_corners_and_is_at_most_its_safe_bound(case):
    nu = geometry.nu(case.atoms, case.p)
    assert nu.kind is geometry.Kind.EXACT
    assert close(nu, case.nu)
    assert nu <= geometry.safe_nu(case.atoms) * (1 + ROUNDING)
    c = case.Z @ nu.witness
    attained = case.p @ (case.w * c**2) / np.abs(c).max() ** 2
    longest = (case.Z**2).sum(axis=1)[np.abs(c) > np.abs(c).max() * (1 - 1e-7)].max()
    assert close(attained * longest, case.nu)


@MANY
@given(instances())
def test_intervals_contain_what_enumeration_gives(case):
    with mock.patch.object(polar, "ENUMERATED", 0):
        width = geometry.directional_width(case.atoms)
        mu_A = geometry.strong_convexity(case.f, case.atoms)
        R_A = geometry.level_radius(case.f, case.atoms, case.x0)
        nu = geometry.nu(case.atoms, case.p)
        safe = geometry.safe_strong_convexity(case.f, case.atoms)
    exact_R_A = np.sqrt(2 * case.gap(case.x0) / case.mu_A)
    truth = [1 / np.linalg.norm(case.corners, axis=1).max(), case.mu_A, exact_R_A, case.nu]
    for constant, exact in zip([width, mu_A, R_A, nu], truth, strict=True):
        assert constant.lower <= exact * (1 + ROUNDING)
        assert constant.upper >= exact * (1 - ROUNDING)
    assert mu_A.lower == pytest.approx(safe.lower, rel=1e-12)
    assert mu_A == mu_A.lower
    assert nu == nu.upper


@MANY
@given(instances())
def test_the_gauge_lies_between_multiples_of_the_P_norm(case):
    quality = geometry.sampling_quality(case.atoms, case.p)
    moments = geometry.second_moment(case.atoms, case.p)
    for x in [case.direction(), case.Z[np.argmax(case.w)]]:
        gauge, norm = geometry.gauge(case.atoms, x), np.sqrt(moments.norm2(x))
        assert np.sqrt(quality) * norm <= gauge * (1 + ROUNDING)
        assert gauge <= norm * (1 + ROUNDING)


@MANY
@given(instances())
def test_relative_eigenvalues_bound_strong_convexity_on_both_sides(case):
    relative = geometry.sampled_convexity(case.f, case.atoms, case.p)
    B = case.span
    exact = eigh(B @ case.H @ B.T, B @ case.P @ B.T, eigvals_only=True)[0]
    assert close(relative, exact)
    quality = geometry.sampling_quality(case.atoms, case.p)
    assert relative * (1 - ROUNDING) <= case.mu_A <= relative / quality * (1 + ROUNDING)


@MANY
@given(instances(max_d=6, max_n=30))
def test_the_D_optimal_sampling_reaches_one_over_the_rank(case):
    best = geometry.optimal_sampling(case.atoms)
    quality = geometry.sampling_quality(case.atoms, best)
    assert (1 - 1e-4) / case.r <= quality <= (1 + ROUNDING) / case.r
    assert geometry.sampling_quality(case.atoms, case.p) <= quality * (1 + 1e-4)


@MANY
@given(instances())
def test_nu_random_of_unit_atoms_is_at_least_the_rank_with_equality_at_the_optimum(case):
    unit = case.atoms.unit().atoms
    assert geometry.nu_random(unit, case.p) >= case.r * (1 - ROUNDING)
    assert geometry.nu_random(unit, geometry.optimal_sampling(unit)) <= case.r * (1 + 1e-4)


@MANY
@given(instances())
def test_lemma_2_bounds_smoothness_by_the_radius(case):
    bound = case.f.L * geometry.radius(case.atoms) ** 2
    assert geometry.smoothness(case.f, case.atoms) <= bound * (1 + ROUNDING)


@MANY
@given(instances())
def test_lemma_6_bounds_strong_convexity_by_the_directional_width(case):
    mu = geometry.euclidean_convexity(case.f, case.atoms)
    width = geometry.directional_width(case.atoms)
    assert geometry.strong_convexity(case.f, case.atoms) >= width**2 * mu * (1 - ROUNDING)


@MANY
@given(instances())
def test_lemma_10_nu_over_coordinates_spans_one_to_n(case):
    n = len(case.Z)
    coordinates = Coordinates(n)
    assert geometry.nu_random(coordinates) == n == pytest.approx(geometry.nu(coordinates))
    assert np.allclose(geometry.second_moment(coordinates).inverse, n * np.eye(n))
    d = case.rng.standard_normal(n)
    ratio = (d**2).sum() / (d**2).max()
    assert 1 <= ratio <= n
    assert (np.ones(n) ** 2).sum() == n


@MANY
@given(instances())
def test_both_chains_of_coordinate_descent(case):
    """L₁R₁² ≤ L₂R₁² ≤ nL₂R₂² and μ₁/L₁ ≥ μ₁/L ≥ μ/(nL)."""
    n, f = len(case.H), case.f
    ones, ball = Coordinates(n), Sphere(n)
    L_1, L_2 = geometry.smoothness(f, ones), geometry.smoothness(f, ball)
    R_1 = geometry.level_radius(f, ones, case.x0)
    R_2 = geometry.level_radius(f, ball, case.x0)
    slack = 1 + ROUNDING
    assert L_1 * R_1**2 <= L_2 * R_1**2 * slack <= n * L_2 * R_2**2 * slack**2
    mu_1, mu = geometry.strong_convexity(f, ones), geometry.strong_convexity(f, ball)
    assert close(mu, f.mu)
    assert mu_1 / L_1 * slack >= mu_1 / L_2 >= mu / (n * L_2) / slack


@MANY
@given(instances())
def test_closed_forms_of_coordinates_equal_those_of_a_dictionary_of_them(case):
    from pursuit import Dictionary

    n = len(case.H)
    p = case.rng.dirichlet(np.full(n, 2.0))
    plain, listed = Coordinates(n), Dictionary(np.eye(n))
    for constant in (geometry.sampling_quality, geometry.nu_random, geometry.nu):
        assert close(constant(plain, p), constant(listed, p))
    assert close(geometry.directional_width(plain), geometry.directional_width(listed))
    x = case.rng.standard_normal(n)
    assert close(geometry.gauge(plain, x), geometry.gauge(listed, x))
    f = Quadratic(case.H, case.b)
    assert close(geometry.strong_convexity(f, plain), geometry.strong_convexity(f, listed))
    assert close(geometry.distance(f, plain, x, p), geometry.distance(f, listed, x, p))
