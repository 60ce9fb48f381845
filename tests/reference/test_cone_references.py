"""Minimising over a cone: SciPy's non-negative least squares and its bounded L-BFGS."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from unit.smooth_problems import SMOOTH, objective

from pursuit import (
    Approximate,
    Backtracking,
    Cone,
    Coordinates,
    ExactLineSearch,
    LeastSquares,
    Quadratic,
    SquaredDistance,
    Status,
    Subset,
    methods,
    solve,
)

# Atoms fewer than, as many as and more than dimensions; leaning to one side, so that a random
# signal is outside of their cone.
SIZES = [(8, 30), (30, 30), (60, 20), (150, 40)]


def signal_and_atoms(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d) + 0.5, rng.standard_normal((n, d)) + rng.uniform(0, 1)


def bumps(n=120, d=80, width=0.05):
    """Neighbours that are nearly the same: most atoms that enter have to leave again."""
    t = np.linspace(0, 1, d)
    return np.exp(-((t - np.linspace(0, 1, n)[:, None]) ** 2) / (2 * width**2))


def noisy_bumps(seed, **shape):
    rng = np.random.default_rng(seed)
    atoms = bumps(**shape)
    weights = np.maximum(rng.standard_normal(len(atoms)), 0)
    return weights @ atoms + 0.1 * rng.standard_normal(atoms.shape[1]), atoms


def greedy_nnls(b, atoms, steps):
    """The plainest non-negative orthogonal pursuit: an atom, then SciPy's fit of all in use."""
    unit = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    used, x = [], np.zeros_like(b)
    for _ in range(steps):
        used = [*used, int(np.argmin(unit @ (x - b)))]
        weights, _ = nnls(unit[used].T, b)
        x = weights @ unit[used]
        used = [j for j, weight in zip(used, weights, strict=True) if weight > 0]
        yield sorted(used), x


# Least squares ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_orthogonal_pursuit_ends_where_scipy_nnls_does(n, d, seed):
    b, atoms = signal_and_atoms(seed, n, d)
    scale = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, n)
    result = solve(SquaredDistance(b), Cone(scale[:, None] * atoms), "orthogonal", tol=0)
    weights, residual = nnls(atoms.T, b)
    assert (
        abs(result.value - residual**2 / 2) <= 1e-10 * max(residual, 1e-3 * np.linalg.norm(b)) ** 2
    )
    assert np.linalg.norm(result.x - weights @ atoms) <= 1e-8 * np.linalg.norm(b)
    assert result.weights.min() > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_in_float32_it_ends_there_to_the_precision_of_float32(n, d, seed):
    b, atoms = (a.astype(np.float32) for a in signal_and_atoms(seed, n, d))
    scale = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, n)
    given = (scale[:, None] * atoms).astype(np.float32)
    result = solve(SquaredDistance(b), Cone(given), "orthogonal", tol=0)
    weights, residual = nnls(atoms.T.astype(float), b.astype(float))
    assert result.x.dtype == result.weights.dtype == np.float32
    assert result.weights.min() > 0
    assert abs(result.value - residual**2 / 2) <= 1e-5 * np.linalg.norm(b) ** 2
    assert np.linalg.norm(result.x - weights @ atoms) <= 1e-4 * np.linalg.norm(b)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", [*SIZES, "bumps", "narrow bumps"], ids=str)
def test_after_each_step_it_is_the_nnls_fit_of_the_atoms_in_use_and_the_new_one(case, seed):
    if isinstance(case, tuple):
        b, atoms = signal_and_atoms(seed, *case)
    else:  # of the narrow ones some have to come back within the step in which they left
        b, atoms = noisy_bumps(seed, width=0.02 if "narrow" in case else 0.05, n=150)
    steps = []
    whole = solve(SquaredDistance(b), Cone(atoms), "orthogonal", tol=1e-6)
    assert whole.status is Status.CONVERGED
    for used, x in greedy_nnls(b, atoms, whole.iterations):
        steps.append(
            solve(SquaredDistance(b), Cone(atoms), "orthogonal", tol=0, max_iter=len(steps) + 1)
        )
        assert steps[-1].support.tolist() == used
        assert np.linalg.norm(steps[-1].x - x) <= 1e-8 * np.linalg.norm(b)
    if not isinstance(case, tuple):  # an atom that left is the rule here, not the exception
        assert len(whole.support) < 0.8 * whole.iterations


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", [*SIZES, "bumps"], ids=str)
def test_each_point_of_the_path_is_the_nnls_fit_on_its_support(case, seed):
    b, atoms = noisy_bumps(seed) if case == "bumps" else signal_and_atoms(seed, *case)
    path = solve(SquaredDistance(b), Cone(atoms), "orthogonal", tol=1e-6).path
    for size, row in zip(path.sizes[1:], path.coefs[1:].toarray(), strict=True):
        support = np.flatnonzero(row)
        weights, _ = nnls(atoms[support].T, b)
        assert len(support) == size
        assert np.abs(row[support] - weights).max() <= 1e-8 * weights.max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-10), (np.float32, 1e-5)])
def test_nearly_dependent_atoms_end_where_scipy_nnls_does(width, seed, dtype, accuracy):
    b, atoms = (a.astype(dtype) for a in noisy_bumps(seed, n=150, width=width))
    result = solve(SquaredDistance(b), Cone(atoms), "orthogonal", tol=0)
    atoms, b = atoms.astype(float), b.astype(float)
    _, residual = nnls(atoms.T, b)
    scale = residual if dtype is np.float64 else np.linalg.norm(b)
    assert abs(result.value - residual**2 / 2) <= accuracy * scale**2
    unit = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    assert (unit @ (result.x - b)).min() >= -accuracy * (unit @ b).max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["least squares", "quadratic", "coordinates"])
def test_every_quadratic_ends_where_scipy_nnls_does(form, seed):
    rng = np.random.default_rng(seed)
    A, b, rows = (
        rng.standard_normal((25, 12)),
        rng.standard_normal(25),
        rng.standard_normal((9, 12)),
    )
    atoms = np.eye(12) if form == "coordinates" else rows
    f = Quadratic(A.T @ A, A.T @ b) if form == "quadratic" else LeastSquares(A, b)
    cone = Cone(Coordinates(12)) if form == "coordinates" else Cone(rows)
    weights, _ = nnls((atoms @ A.T).T, b)
    for method, rounding in (("orthogonal", 1e-8), ("matching-pursuit", 1e-6)):
        result = solve(f, cone, method, tol=1e-9, max_iter=50_000)
        assert result.success
        assert result.value == pytest.approx(f.value(weights @ atoms), rel=1e-10)
        assert np.linalg.norm(result.x - weights @ atoms) <= rounding * np.linalg.norm(result.x)


@pytest.mark.parametrize(
    "method",
    [
        "matching-pursuit",
        "affine-invariant",
        "random-pursuit",
        methods.matching_pursuit(step=ExactLineSearch()),
        methods.matching_pursuit(step=Backtracking()),
        methods.random_pursuit(step=ExactLineSearch()),
        methods.matching_pursuit(direction=Approximate(0.6)),
        methods.matching_pursuit(direction=Subset(7)),
    ],
    ids=lambda m: (
        m if isinstance(m, str) else f"{m.name} with {m.advance.direction}, {m.advance.step}"
    ),
)
@pytest.mark.parametrize(("n", "d"), SIZES[:3])
def test_the_pursuits_of_one_atom_converge_to_the_nnls_value(method, n, d):
    b, atoms = signal_and_atoms(1, n, d)
    _, residual = nnls(atoms.T, b)
    result = solve(SquaredDistance(b), Cone(atoms), method, tol=1e-7, max_iter=50_000, every=100)
    assert result.status is Status.CONVERGED
    assert result.weights.min() > 0
    assert result.value - residual**2 / 2 <= 1e-9 * np.linalg.norm(b) ** 2


# Any smooth f -------------------------------------------------------------------------------


def bounded_lbfgs(f, atoms):
    solved = minimize(
        lambda a: f.value(a @ atoms),
        np.zeros(len(atoms)),
        jac=lambda a: atoms @ f.gradient(a @ atoms),
        bounds=[(0, None)] * len(atoms),
        method="L-BFGS-B",
        options={"maxiter": 10_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return float(solved.fun)


def assert_optimal(f, atoms, result, accuracy):
    """c_j ≥ −ε for every atom and |c_j| ≤ ε for those in use, ε a share of the first slope."""
    first = -(atoms @ f.gradient(np.zeros(atoms.shape[1]))).min()
    c = atoms @ f.gradient(result.x)
    assert c.min() >= -accuracy * first
    assert np.abs(c[result.support]).max(initial=0) <= accuracy * first
    assert result.weights.min() > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [8, 40])
@pytest.mark.parametrize("name", SMOOTH)
def test_orthogonal_pursuit_over_a_cone_is_optimal_for_any_smooth_f(name, n, seed):
    rng = np.random.default_rng(seed)
    f, atoms = objective(name, rng, 12), rng.standard_normal((n, 12))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    result = solve(f, Cone(atoms), "orthogonal", tol=1e-9)
    assert result.status is Status.CONVERGED
    assert_optimal(f, atoms, result, 1e-8)
    assert result.value == pytest.approx(bounded_lbfgs(f, atoms), rel=1e-8)
    path = result.path
    first = -(atoms @ f.gradient(np.zeros(12))).min()
    for size, row in zip(path.sizes[1:], path.coefs[1:].toarray(), strict=True):
        used = np.flatnonzero(row)
        assert np.abs(atoms[used] @ f.gradient(path.x(size))).max() <= 1e-8 * first


@pytest.mark.parametrize("step", [ExactLineSearch(), Backtracking()], ids=repr)
@pytest.mark.parametrize("name", ["logistic with ridge", "Huber", "only a gradient"])
def test_matching_pursuit_over_a_cone_is_optimal_for_any_smooth_f(name, step):
    rng = np.random.default_rng(5)
    f, atoms = objective(name, rng, 12), rng.standard_normal((9, 12))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    result = solve(f, Cone(atoms), methods.matching_pursuit(step=step), tol=1e-8, max_iter=20_000)
    assert result.status is Status.CONVERGED
    assert_optimal(f, atoms, result, 1e-8 * (1 + 1e-6))
    assert result.value == pytest.approx(bounded_lbfgs(f, atoms), rel=1e-8)
