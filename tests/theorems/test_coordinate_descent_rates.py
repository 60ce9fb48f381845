"""Rates of coordinate descent side by side, L_A of groups, and ν along runs."""

import numpy as np
import pytest

from pursuit import (
    Coordinates,
    Dictionary,
    Groups,
    InnerProduct,
    InputError,
    LeastSquares,
    ObservedNu,
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


def random_quadratic(rng, n):
    root = rng.standard_normal((n, n + 2)) * rng.uniform(0.3, 2, (n, 1))
    return Quadratic(root @ root.T, rng.standard_normal(n))


def brute_force_constants(f, n):
    """L₁, L₂, μ₁, μ by the entries of H; 1/μ₁ is the largest xᵀH⁻¹x over the ±1 vectors."""
    H = np.array([f.hessian(e) for e in np.eye(n)])
    corners = np.array(np.meshgrid(*[[-1, 1]] * n)).reshape(n, -1).T
    inverse = np.linalg.inv(H)
    largest = max(c @ inverse @ c for c in corners)
    eigenvalues = np.linalg.eigvalsh(H)
    return np.diag(H).max(), eigenvalues[-1], 1 / largest, eigenvalues[0]


@pytest.mark.parametrize("seed", range(8))
def test_rates_of_coordinate_descent_equal_those_of_enumerated_constants(seed):
    rng, n = np.random.default_rng(seed), 4
    f = random_quadratic(rng, n)
    table = rates.coordinate_descent(f)
    L1, L2, mu1, mu = brute_force_constants(f, n)
    start = solve(f, Coordinates(n), "accelerated", tol=1e-12)
    gap = f.value(np.zeros(n)) - start.value
    R1, R2 = 2 * gap / mu1, 2 * gap / mu  # squared radii of the level set of zero
    t = np.array([1, 3, 30])
    expected = {
        "Theorem 3": 2 * L1 * R1 / (t + 1),
        "Stich et al. 2017": 2 * L2 * R1 / (t + 1),
        "Nesterov 2012": 2 * n * L2 * R2 / (t + 1),
        "Theorem 5": gap * (1 - mu1 / L1) ** t,
        "Nutini et al. 2015": gap * (1 - mu1 / L2) ** t,
        "Nesterov 2012, linear": gap * (1 - mu / (n * L2)) ** t,
    }
    found = {**table.sublinear, **table.linear}
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name](t), values, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("seed", range(5))
def test_rates_of_the_paper_are_the_tightest_and_bound_steepest_coordinate_descent(seed):
    f = random_quadratic(np.random.default_rng([1, seed]), 6)
    table = rates.coordinate_descent(f)
    t = np.arange(1, 200)
    for kind in (table.sublinear, table.linear):
        tight, middle, loose = (rate(t) for rate in kind.values())
        assert (tight <= middle * (1 + 1e-9)).all()
        assert (middle <= loose * (1 + 1e-9)).all()
    run = solve(
        f,
        Coordinates(6),
        methods.affine_invariant(),
        max_iter=199,
        tol=0,
        every=1,
        unit_atoms=False,
    )
    best = solve(f, Coordinates(6), "accelerated", tol=1e-12).value
    gaps = run.trace.value[1:] - best
    slack = 1e-12 * abs(best)
    for rate in (*table.sublinear.values(), *table.linear.values()):
        assert (gaps[: len(t)] <= rate(t)[: len(gaps)] + slack).all(), rate.name


def test_the_table_of_rates_prints_one_line_for_each_rate():
    text = str(rates.coordinate_descent(random_quadratic(np.random.default_rng(3), 3)))
    assert len(text.splitlines()) == 7
    assert "Nutini et al. 2015" in text


def test_rates_of_coordinate_descent_refuse_functions_of_matrices_and_flat_functions():
    with pytest.raises(InputError, match="f must be a function of a vector"):
        rates.coordinate_descent(SquaredDistance(np.ones((2, 3))))
    with pytest.raises(rates.MissingConstant):
        rates.coordinate_descent(Quadratic(np.diag([1.0, 0.0]), np.array([1.0, 0.0])))


# Groups -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_smoothness_over_groups_is_the_largest_curvature_of_a_block(seed):
    rng = np.random.default_rng([2, seed])
    f = LeastSquares(rng.standard_normal((12, 7)), rng.standard_normal(12), l2=0.3)
    groups = Groups([[0, 3], [1, 2, 6], [4], [5]])
    L_A = geometry.smoothness(f, groups)
    assert L_A.kind is geometry.Kind.EXACT
    curvatures = []
    for members in groups.groups:
        d = rng.standard_normal((20000, len(members)))
        atoms = np.zeros((len(d), 7))
        atoms[:, members] = d / np.linalg.norm(d, axis=1, keepdims=True)
        images = np.array([f.hessian(e) for e in np.eye(7)])
        curvatures.append(np.einsum("ij,jk,ik->i", atoms, images, atoms).max())
    assert max(curvatures) <= L_A * (1 + 1e-12)
    assert max(curvatures) >= 0.98 * L_A  # sampled atoms come close to the best one
    assert L_A <= f.L * (1 + 1e-9)  # the footnote: L_A ≤ L₂


def test_smoothness_over_one_group_is_the_global_one_and_over_singletons_that_of_coordinates():
    f = random_quadratic(np.random.default_rng(4), 5)
    assert geometry.smoothness(f, Groups([range(5)])) == pytest.approx(f.L, rel=1e-9)
    alone = geometry.smoothness(f, Groups([[i] for i in range(5)]))
    assert alone == pytest.approx(geometry.smoothness(f, Coordinates(5)), rel=1e-12)


def test_affine_invariant_pursuit_over_groups_obeys_theorem_3_with_the_exact_constant():
    rng = np.random.default_rng(5)
    f = random_quadratic(rng, 6)
    groups = Groups([[0, 1], [2, 3], [4, 5]])
    run = solve(f, groups, "affine-invariant", max_iter=100, tol=0, every=1)
    assert (np.diff(run.trace.value) <= 1e-12).all()
    best = solve(f, Coordinates(6), "accelerated", tol=1e-12).value
    bound = rates.theorem_3(f, groups)
    t = np.arange(1, len(run.trace.value))
    assert (run.trace.value[1:] - best <= bound(t) + 1e-12).all()


# ν along a run ----------------------------------------------------------------------------


def test_observed_nu_is_never_above_the_proved_one_in_a_hundred_runs():
    for seed in range(100):
        rng = np.random.default_rng([6, seed])
        n, d = int(rng.integers(4, 10)), int(rng.integers(2, 5))
        atoms = Dictionary(rng.standard_normal((n, d)) * rng.uniform(0.5, 2, (n, 1)))
        record = ObservedNu()
        nu = 1.0 if seed % 2 else None
        method = methods.accelerated_matching_pursuit(nu=nu, direction=record)
        result = solve(
            SquaredDistance(rng.standard_normal(d)), atoms, method, max_iter=40, rng=seed,
            unit_atoms=False,
        )  # fmt: skip
        assert len(record.values) == result.iterations
        assert (np.diff(record.values) >= 0).all()
        proved = geometry.nu(atoms)
        assert record.values[-1] <= proved.upper * (1 + 1e-9)
        assert record.values[-1] <= geometry.safe_nu(atoms) * (1 + 1e-9)


def test_observed_nu_is_the_ratio_of_the_proof_at_the_first_step():
    rng = np.random.default_rng(7)
    Z, b = rng.standard_normal((8, 3)), rng.standard_normal(3)
    record = ObservedNu()
    solve(
        SquaredDistance(b), Dictionary(Z),
        methods.accelerated_matching_pursuit(direction=record), max_iter=1, unit_atoms=False,
    )  # fmt: skip
    c = Z @ b
    leverage = np.einsum("ij,jk,ik->i", Z, np.linalg.inv(Z.T @ Z / 8), Z)
    best = np.argmax(np.abs(c))
    expected = np.mean(c**2 * leverage) * (Z[best] @ Z[best]) / c[best] ** 2
    assert record.values[0] == pytest.approx(expected, rel=1e-10)


def test_recording_nu_changes_no_iterate_beyond_rounding():
    rng = np.random.default_rng(8)
    atoms, f = Dictionary(rng.standard_normal((30, 10))), SquaredDistance(rng.standard_normal(10))
    plain, recorded = (
        solve(
            f, atoms, methods.accelerated_matching_pursuit(direction=direction), max_iter=50, tol=0
        )
        for direction in (None, ObservedNu())
    )
    np.testing.assert_allclose(plain.x, recorded.x, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("atoms", [Sphere(4), RankOne(3, 2)])
def test_observed_nu_refuses_infinite_sets(atoms):
    f = SquaredDistance(np.ones(atoms.shape))
    method = methods.accelerated_matching_pursuit(direction=ObservedNu())
    with pytest.raises(InputError, match="ObservedNu needs a finite set"):
        solve(f, atoms, method)


# A Hilbert space of functions ---------------------------------------------------------------


@pytest.mark.parametrize("width", [0.05, 0.3])
def test_pursuit_over_kernel_functions_is_kernel_ridge_regression(width):
    rng = np.random.default_rng(9)
    x, ridge = np.sort(rng.uniform(0, 1, 30)), 0.5
    y = np.sin(6 * x) + 0.1 * rng.standard_normal(30)
    K = np.exp(-np.abs(x[:, None] - x) / width)
    f = Quadratic(K @ K + ridge * K, K @ y)
    space = InnerProduct(gram=K)
    kernels = Oracle(lambda d: np.eye(1, 30, np.argmax(np.abs(d)))[0], shape=30, radius=1.0)
    closed_form = np.linalg.solve(K + ridge * np.eye(30), y)
    corrected = space.solve(f, kernels, "orthogonal", max_iter=100, tol=1e-10)
    assert space.norm(corrected.x - closed_form) <= 1e-8 * space.norm(closed_form)
    plain = space.solve(f, kernels, "matching-pursuit", max_iter=20000, tol=1e-9)
    assert f.value(plain.x) - f.value(closed_form) <= 1e-4 * abs(f.value(closed_form))
    np.testing.assert_allclose(K @ plain.x, K @ closed_form, atol=2e-3)
