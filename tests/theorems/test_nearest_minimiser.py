"""Quadratics with flat directions: the theorems and constants to the nearest minimiser."""

from itertools import combinations, product

import numpy as np
import pytest
from theorems.instances import Laziest, iterates

from pursuit import (
    Coordinates,
    Dictionary,
    LeastSquares,
    MatrixEntries,
    Quadratic,
    RankOne,
    geometry,
    methods,
    rates,
    solve,
)
from pursuit.geometry.suboptimality import allowance
from pursuit.rates import MissingConstant

SLACK = 1e-9


def flat(seed, m=2, n=6, d=4):
    """½‖Ax − b‖² with fewer rows than columns, over n atoms that span the space."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((m, d)), rng.standard_normal(m)
    return LeastSquares(A, b), Dictionary(rng.standard_normal((n, d))), A, b


def growth_by_corners(A, Z):
    """1 / max ‖u‖² over |⟨u, Az_j⟩| ≤ 1, corner by corner."""
    images, best = Z @ A.T, 0.0
    for subset in combinations(range(len(images)), A.shape[0]):
        for signs in product((1.0, -1.0), repeat=A.shape[0]):
            u = np.linalg.solve(images[list(subset)], signs)
            if np.abs(images @ u).max() <= 1 + 1e-9:
                best = max(best, float(u @ u))
    return 1 / best


@pytest.mark.parametrize("seed", range(20))
def test_growth_equals_that_of_all_corners_and_bounds_the_gap_by_the_slope(seed):
    f, atoms, A, _ = flat(seed)
    growth = geometry.growth(f, atoms)
    assert geometry.strong_convexity(f, atoms) == 0
    assert growth == pytest.approx(growth_by_corners(A, atoms.matrix), rel=1e-7)
    assert "nearest minimiser" in growth.serves
    for x in np.random.default_rng(seed).standard_normal((50, 4)):
        slope = geometry.dual_norm(atoms, f.gradient(x))
        assert f.value(x) <= slope**2 / (2 * growth) * (1 + SLACK)


@pytest.mark.parametrize("seed", range(20))
def test_growth_is_attained_and_fails_ten_percent_too_large(seed):
    """At g = Aᵀu for the longest corner u the slope is one and the gap ½‖u‖²."""
    f, atoms, A, b = flat(seed)
    growth = geometry.growth(f, atoms)
    u = growth.witness @ np.linalg.pinv(A) if growth.witness is not None else None
    assert u is not None
    x = np.linalg.lstsq(A, b + u / np.abs(atoms.matrix @ A.T @ u).max(), rcond=None)[0]
    slope = geometry.dual_norm(atoms, f.gradient(x))
    assert f.value(x) == pytest.approx(slope**2 / (2 * growth), rel=1e-6)
    assert f.value(x) > slope**2 / (2 * 1.1 * growth)


@pytest.mark.parametrize("delta", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(10))
def test_theorems_3_and_5_bound_runs_to_the_nearest_minimiser(seed, delta):
    f, atoms, *_ = flat(seed)
    x0 = np.random.default_rng(seed).standard_normal(4)
    method = methods.affine_invariant(direction=Laziest(delta))
    gaps = np.array([f.value(x) for x in iterates(f, atoms, method, x0, 30)])
    t = np.arange(len(gaps))
    third = rates.theorem_3_sharper(f, atoms, x0, delta=delta)
    assert "nearest minimiser" in third.constants["R_A"].serves
    assert (gaps <= third(t) * (1 + SLACK)).all()
    fifth = rates.theorem_5_nearest(f, atoms, x0, delta=delta)
    assert (gaps <= fifth(t) * (1 + SLACK) + 1e-14).all()
    assert rates.theorem_4(f, atoms, x0)(10) >= third(10) * delta**2
    with pytest.raises(MissingConstant, match="μ_A"):
        rates.theorem_5(f, atoms, x0)


@pytest.mark.parametrize("seed", range(10))
def test_the_level_radius_to_the_nearest_minimiser_bounds_every_point_of_the_level_set(seed):
    """min over the minimisers of ‖x − x*‖_A is a linear programme: its dual is the polar."""
    from scipy.optimize import linprog

    f, atoms, A, b = flat(seed)
    rng = np.random.default_rng(seed)
    R_A, level = geometry.level_radius(f, atoms), f.value(np.zeros(4))
    Z = atoms.matrix
    for _ in range(20):
        x = np.linalg.lstsq(A, b, rcond=None)[0] + rng.standard_normal(4)
        x = x * 1.0
        step = A @ x - b
        x = x - np.linalg.pinv(A) @ step * (1 - np.sqrt(2 * level) / np.linalg.norm(step))
        assert f.value(x) == pytest.approx(level)
        nearest = linprog(np.ones(2 * len(Z)), A_eq=np.hstack([A @ Z.T, -A @ Z.T]), b_eq=A @ x - b)
        assert nearest.fun <= R_A * (1 + 1e-7)


def test_matrix_completion_has_a_rate_of_any_size():
    """½Σ(X_ij − B_ij)² over known entries: μ̄_A ≥ 1/min(m, n), and ε_0 is at most f(0)."""
    from scipy.sparse import random_array

    B = random_array((300, 200), density=0.1, rng=np.random.default_rng(0), format="csr")
    f, atoms = MatrixEntries(B), RankOne(300, 200)
    bound = rates.theorem_3(f, atoms)
    assert bound.constants["R_A"] == pytest.approx(np.sqrt(2 * f.value(f.origin(atoms)) * 200))
    trace = solve(f, atoms, "affine-invariant", max_iter=20, tol=0).trace
    assert (trace.value[1:] <= bound(trace.iteration[1:])).all()


def test_certificates_of_flat_quadratics_are_no_longer_missing_and_never_below_the_gap():
    for seed in range(40):
        f, atoms, *_ = flat(seed)
        result = solve(f, atoms, max_iter=seed % 9, tol=0)
        spent = allowance(f, result.x)
        assert result.value <= result.certificate.bound <= 1.02 * result.value + 2 * spent


def test_directions_that_rounding_cannot_tell_from_flat_ones_give_an_estimate_or_nothing():
    H = np.diag([1.0, 1e-17])
    f = Quadratic(H, np.array([1.0, 0.0]))
    assert geometry.growth(f, Coordinates(2)) == 0
    with pytest.raises(MissingConstant, match="R_A"):
        rates.theorem_3(f, Coordinates(2))


@pytest.mark.parametrize("delta", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(10))
def test_the_rate_of_2017_holds_with_its_rho_and_is_above_that_of_theorem_3(seed, delta):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((4, 4))
    f = Quadratic(root @ root.T + 0.1 * np.eye(4), rng.standard_normal(4))
    atoms = Dictionary(rng.standard_normal((7, 4)))
    method = methods.matching_pursuit(direction=Laziest(delta))
    points = iterates(f, atoms, method, np.zeros(4), 30)
    best = np.linalg.solve(f.H, f.b)
    gaps = np.array([0.5 * (x - best) @ f.H @ (x - best) for x in points])
    rho = max(float(geometry.gauge(atoms, x)) for x in [best, *points])
    bound = rates.rate_of_2017(f, atoms, delta=delta, given={"ρ": rho})
    t = np.arange(len(gaps))
    assert (gaps <= bound(t) * (1 + SLACK)).all()
    before = rates.rate_of_2017(f, atoms, delta=delta)
    assert before.constants["ρ"] >= rho
    ours = rates.theorem_3_sharper(f, atoms, delta=delta)
    assert (ours(t) <= before(t) * (1 + SLACK)).all()
