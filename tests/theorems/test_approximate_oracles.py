"""Equation (3) on infinite sets: the theorems for oracles that are no better than their δ."""

from itertools import pairwise

import numpy as np
import pytest
from theorems.adversaries import lazy_ellipsoid, lazy_rank_one, lazy_sphere
from theorems.instances import iterates

from pursuit import (
    Approximate,
    InputError,
    MatrixDistance,
    Oracle,
    Quadratic,
    RankOne,
    Sphere,
    SquaredDistance,
    geometry,
    methods,
    rates,
    solve,
)

SLACK = 1e-9
DELTAS = (0.9, 0.5, 0.2)


def bowl(seed, d=5):
    """(H, b, x0) of a quadratic with eigenvalues from 0.1 to 2."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H = (Q * np.geomspace(0.1, 2, d)) @ Q.T
    return (H + H.T) / 2, rng.standard_normal(d), rng.standard_normal(d)


def gaps(f, H, b, points):
    best = np.linalg.solve(H, b)
    return np.array([0.5 * (x - best) @ H @ (x - best) for x in points])


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("seed", range(10))
def test_theorems_3_and_5_hold_on_the_sphere_and_on_ellipsoids(delta, seed):
    """‖·‖_A is ‖M⁻¹·‖: L_A and μ_A are the extreme eigenvalues of MᵀHM, and R_A = √(2ε₀/μ_A)."""
    H, b, x0 = bowl(seed)
    f, rng = Quadratic(H, b), np.random.default_rng(seed)
    worst = np.linalg.eigh(H)[1][:, -1]
    M = np.eye(5) if seed % 2 else rng.standard_normal((5, 5))
    atoms = lazy_sphere(5, delta, worst) if seed % 2 else lazy_ellipsoid(M, delta, worst)
    curvatures = np.linalg.eigvalsh(M.T @ H @ M)
    L_A, mu_A = curvatures[-1], curvatures[0]
    method = methods.affine_invariant(L_A=L_A)
    epsilon = gaps(f, H, b, iterates(f, atoms, method, x0, 40))
    assert (epsilon[1:] <= (1 - delta**2 * mu_A / L_A) * epsilon[:-1] + 1e-14).all()
    given = {"L_A": L_A, "R_A": np.sqrt(2 * epsilon[0] / mu_A)}
    bound = rates.theorem_3_sharper(f, atoms, x0, given=given)
    assert bound.constants["δ"] == delta
    assert (epsilon <= bound(np.arange(len(epsilon))) * (1 + SLACK)).all()


@pytest.mark.parametrize("delta", DELTAS)
def test_the_progress_of_the_proof_is_attained_and_fails_with_a_larger_delta(delta):
    """With H = I on the sphere a step gains δ²‖g‖²_{A*}/(2L_A) exactly."""
    b = np.random.default_rng(0).standard_normal(6)
    f, atoms = SquaredDistance(b), lazy_sphere(6, delta, np.ones(6))
    points = iterates(f, atoms, "affine-invariant", np.zeros(6), 5)
    for x, after in pairwise(points):
        gain = f.value(x) - f.value(after)
        share = np.linalg.norm(f.gradient(x)) ** 2 / 2
        assert gain == pytest.approx(delta**2 * share)
        assert gain < (1.1 * delta) ** 2 * share


@pytest.mark.parametrize("delta", DELTAS)
def test_theorem_5_holds_over_matrices_of_rank_one(delta):
    """½‖X − B‖² over 4 × 3 matrices: L_A = 1 and μ_A = mDW² = 1/3."""
    B = np.random.default_rng(1).standard_normal((4, 3))
    points = iterates(
        SquaredDistance(B),
        lazy_rank_one((4, 3), delta),
        methods.affine_invariant(L_A=1.0),
        np.zeros((4, 3)),
        40,
    )
    epsilon = np.array([0.5 * np.linalg.norm(X - B) ** 2 for X in points])
    assert (epsilon[1:] <= (1 - delta**2 / 3) * epsilon[:-1] + 1e-14).all()


@pytest.mark.parametrize("delta", [0.8, 0.5])
def test_algorithm_4_takes_the_quality_of_the_oracle_into_its_nu(delta):
    """E ε_t ≤ 2Lν‖x* − x0‖_P²/(t(t + 1)) with ν = r/δ², the mean over forty runs."""
    b = np.random.default_rng(2).standard_normal(4)
    f, atoms = SquaredDistance(b), lazy_sphere(4, delta, np.ones(4))
    assert geometry.nu(atoms) == pytest.approx(4 / delta**2)
    runs = []
    for seed in range(40):
        points = iterates(f, atoms, "accelerated-matching-pursuit", np.zeros(4), 30, rng=seed)
        runs.append([f.value(x) for x in points])
    t = np.arange(1, len(runs[0]))
    distance2 = 4 * b @ b  # P = 4I
    assert (np.mean(runs, axis=0)[1:] <= 2 * 4 / delta**2 * distance2 / (t * (t + 1))).all()


@pytest.mark.parametrize("seed", range(30))
def test_a_run_that_converged_has_a_true_slope_below_tol_of_its_true_first_slope(seed):
    """The oracle is exact or lazy as it pleases: what it found says little about what it missed."""
    delta, tol, moods = 0.3, 1e-3, np.random.default_rng(seed)

    def answer(g):
        unit = g / max(np.linalg.norm(g), 1e-300)
        if moods.random() < 0.5 or not g.any():
            return unit if g.any() else np.eye(5)[0]
        side = np.roll(unit, 1) - (np.roll(unit, 1) @ unit) * unit
        return delta * unit + np.sqrt(1 - delta**2) * side / np.linalg.norm(side)

    atoms = Oracle(answer, 5, radius=1.0, delta=delta)
    f = Quadratic(*bowl(seed)[:2])
    result = solve(f, atoms, tol=tol, max_iter=5000)
    assert result.status.name == "CONVERGED"
    true = np.linalg.norm(f.gradient(result.x))
    assert true <= tol * np.linalg.norm(f.gradient(np.zeros(5)))
    assert true <= result.slope * (1 + 1e-12)  # the reported slope is an upper bound


@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "blended"])
def test_the_slopes_of_a_trace_are_upper_bounds(method):
    b = np.random.default_rng(3).standard_normal(6)
    f, atoms, seen = SquaredDistance(b), lazy_sphere(6, 0.5, np.ones(6)), []
    solve(f, atoms, method, every=1, max_iter=8, callback=lambda s: seen.append((s.slope, s.x)))
    assert all(slope >= np.linalg.norm(f.gradient(x)) * (1 - 1e-12) for slope, x in seen)


@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "accelerated"])
def test_an_oracle_may_divide_by_the_norm_and_write_into_what_it_is_given(method):
    """At the optimum, where the gradient is exactly zero, nobody asks it."""

    def in_place(d):
        d /= np.linalg.norm(d)
        return d

    f = SquaredDistance(np.array([3.0, 0.0, 4.0]))
    atoms = Oracle(in_place, 3, radius=1.0, moments=np.full(3, 1 / 3), sample=unit_of_three)
    result = solve(f, atoms, method, max_iter=20)
    assert result.status.name == "CONVERGED"
    assert np.allclose(result.x, f.b, rtol=0, atol=1e-9)
    assert atoms.dual_norm(np.zeros(3)) == 0


def unit_of_three(rng):
    z = rng.standard_normal(3)
    return z / np.linalg.norm(z)


@pytest.mark.parametrize("method", ["matching-pursuit", "affine-invariant", "orthogonal"])
def test_an_oracle_that_finds_nothing_more_says_so_by_zeros(method):
    """The unit circle in space: at the optimum what is left of the gradient is across to it."""

    def circle(d):
        flat = d * [1, 1, 0]
        return flat / max(np.linalg.norm(flat), 1e-300)

    atoms = Oracle(circle, 3, radius=1.0, rank=2)
    result = solve(SquaredDistance(np.array([3.0, 4.0, 7.0])), atoms, method, max_iter=500)
    assert result.status.name == "CONVERGED"
    assert np.allclose(result.x, [3, 4, 0], rtol=0, atol=1e-6)


# Approximate(δ) over infinite sets --------------------------------------------------------


@pytest.mark.parametrize("delta", [0.3, 0.5, 0.7, 0.9])
def test_lanczos_keeps_equation_3_in_every_call_and_its_bound_is_one(delta):
    """Spectra on which Lanczos is slow: nothing stands out, or two nearly equal ones do."""
    atoms, rng = RankOne(90, 80), np.random.default_rng(4)
    flat = np.linspace(0.9, 1, 80)
    twins = np.where(np.arange(80) < 2, [1 - 1e-9] + 79 * [1.0], 0.5)
    for spectrum in (flat, twins, np.geomspace(1, 1e-6, 80), np.eye(80)[3]):
        for _ in range(25):
            U = np.linalg.qr(rng.standard_normal((90, 80)))[0]
            D = (U * spectrum) @ np.linalg.qr(rng.standard_normal((80, 80)))[0]
            z, bound = atoms.near_lmo(D, delta, rng)
            assert atoms.inner(D, z) >= delta * bound * (1 - 1e-9)
            assert bound >= (1 - 1e-9) * spectrum.max()


def test_the_number_of_lanczos_steps_is_what_delta_takes():
    """Half as many products at δ = 0.5 as at 0.9; with a chance of failure a thousand times smaller
    there are a few more."""
    atoms, rng = RankOne(300, 200), np.random.default_rng(5)
    calls = []

    class Counted:
        shape = (300, 200)

        def __init__(self, D):
            self.D = D

        def __matmul__(self, other):
            calls.append(1)
            return self.D @ other

        @property
        def T(self):
            return self.D.T

    D, steps = rng.standard_normal((300, 200)), {}
    for delta in (0.9, 0.5):
        calls.clear()
        atoms.near_lmo(Counted(D), delta, rng)
        steps[delta] = len(calls)
    assert steps[0.5] <= 0.5 * steps[0.9] < 20


def test_approximate_pursuit_over_rank_one_atoms_keeps_its_rate_and_resumes_to_the_same_bits():
    B = np.random.default_rng(6).standard_normal((80, 70))
    f, atoms = MatrixDistance(B), RankOne(80, 70)
    method = methods.matching_pursuit(direction=Approximate(0.5))
    whole = solve(f, atoms, method, max_iter=60, tol=0)
    epsilon = whole.trace.value
    assert (epsilon[1:] <= (1 - 0.5**2 / 70) * epsilon[:-1]).all()
    half = solve(f, atoms, method, max_iter=30, tol=0)
    resumed = solve(f, atoms, method, max_iter=60, tol=0, resume=half)
    assert np.array_equal(resumed.x.toarray(), whole.x.toarray())
    exact = np.linalg.norm(whole.x.toarray() - B, 2)
    assert whole.slope >= exact * (1 - 1e-9)


def test_approximate_asks_any_infinite_set_and_refuses_a_delta_above_its_quality():
    f = SquaredDistance(np.arange(4.0))
    method = methods.matching_pursuit(direction=Approximate(0.5))
    assert solve(f, Sphere(4), method).status.name == "CONVERGED"
    assert solve(f, lazy_sphere(4, 0.6, np.ones(4)), method).status.name == "CONVERGED"
    with pytest.raises(InputError, match=r"delta: .* 0\.4-approximate"):
        solve(f, lazy_sphere(4, 0.4, np.ones(4)), method)


@pytest.mark.parametrize("delta", [0.0, 1.5, -1, "half"])
def test_a_delta_that_is_no_share_is_refused(delta):
    with pytest.raises(InputError, match="delta"):
        Oracle(np.sign, 3, radius=1.0, delta=delta)
