"""Orthogonal pursuit: what each atom promises, for any f, from any point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from unit.smooth_problems import QUADRATICS, SMOOTH, objective

from pursuit import (
    Coordinates,
    Dictionary,
    FixedNu,
    Huber,
    Logistic,
    Method,
    Random,
    RankOne,
    Sphere,
    SquaredDistance,
    Status,
    solve,
)
from pursuit.active.corrective import Corrective
from pursuit.files import data
from pursuit.objectives.problem import Problem
from pursuit.points import Needs, choose
from pursuit.rules.run import Run


def slopes_in_use(result, f, matrix):
    """The largest slope over the atoms in use at each size, as a share of that at the start."""
    first = np.abs(matrix @ f.gradient(result.path.x(0))).max()
    for size in result.path.sizes[1:]:
        active = result.path.coefs[[list(result.path.sizes).index(size)]].nonzero()[1]
        assert len(active) == size
        yield np.abs(matrix[active] @ f.gradient(result.path.x(size))).max() / first


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", QUADRATICS + SMOOTH)
def test_after_each_atom_the_slope_over_the_atoms_in_use_is_nothing(name, seed):
    rng = np.random.default_rng(seed)
    f, rows = objective(name, rng), rng.standard_normal((30, 12))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    result = solve(f, Dictionary(rows), "orthogonal", tol=1e-9)
    assert result.status is Status.CONVERGED
    assert len(result.path) == 13
    assert max(slopes_in_use(result, f, rows)) <= 1e-10


@pytest.mark.parametrize("seed", [0, 12, 20, 34, 42, 59])
def test_losses_that_are_flat_almost_everywhere_are_minimised_too(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 25)), 3 * rng.standard_cauchy(40)
    f = Huber(X, y, delta=10 ** rng.uniform(-3, 0), l2=rng.choice([0, 1e-3]))
    rows = rng.standard_normal((60, 25))
    result = solve(f, Dictionary(rows), "orthogonal", tol=1e-9)
    assert result.status is Status.CONVERGED
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert max(slopes_in_use(result, f, unit)) <= 1e-10


def test_after_each_gene_the_slope_over_the_genes_in_use_is_nothing():
    file = data.find("microarray/golub.npz")
    if file is None:
        pytest.skip("microarray/golub.npz is not in the data directory")
    with np.load(file) as golub:
        X = golub["X"].astype(np.float64)
        y = golub["y"] == "AML"
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for f in (Logistic(X, y, l2=1.0), Huber(X, 2.0 * y - 1, delta=0.2, l2=0.1)):
        result = solve(f, Coordinates(X.shape[1]), "orthogonal", n_nonzero=15, tol=0)
        gradients = [f.gradient(result.path.x(k)) for k in result.path.sizes]
        first = np.abs(gradients[0]).max()
        for k, g in enumerate(gradients[1:], start=1):
            assert np.abs(g[result.path.x(k) != 0]).max() <= 1e-10 * first


@pytest.mark.parametrize("name", ["logistic with ridge", "Huber with ridge", "only a gradient"])
def test_the_end_is_the_minimum_that_scipy_finds(name):
    rng = np.random.default_rng(8)
    f, rows = objective(name, rng), rng.standard_normal((30, 12))
    found = solve(f, Dictionary(rows), "orthogonal", tol=1e-10)
    theirs = minimize(f.value, np.zeros(12), jac=f.gradient, method="BFGS", tol=1e-9)
    np.testing.assert_allclose(found.x, theirs.x, atol=1e-6)


def test_the_path_over_matrices_of_rank_one_is_the_truncated_singular_value_decomposition():
    matrix = np.random.default_rng(2).standard_normal((7, 5))
    found = solve(SquaredDistance(matrix), RankOne(7, 5), "orthogonal", tol=1e-9)
    sigma = np.linalg.svd(matrix, compute_uv=False)
    best = [0.5 * (sigma[k:] ** 2).sum() for k in range(6)]  # Eckart and Young
    np.testing.assert_allclose(found.path.value, best, atol=1e-12)


def test_one_atom_of_the_sphere_is_enough():
    found = solve(SquaredDistance([3.0, -4.0]), Sphere(2), "orthogonal")
    assert found.status is Status.CONVERGED
    assert len(found.support) == 1
    np.testing.assert_allclose(found.x, [3, -4], atol=1e-15)


# From any point -------------------------------------------------------------------------------


def improved(f, atoms, point):
    run = Run(Problem(f, atoms), 0)
    improve = Corrective().start(run)
    return improve(point), run.memories["active"], improve


def test_a_dependent_atom_is_set_aside_and_the_next_best_one_enters():
    rows = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0.6, 0.8, 0, 0], [0, 0, 1.0, 0]])
    f, atoms = SquaredDistance([9.0, 9.0, 9.5, 0.0]), Dictionary(rows)
    y = choose(f, atoms, np.zeros(4), Needs.VECTOR)
    y.move(-1.0, 0)
    y.move(-1.0, 1)
    assert y.lmo()[0] == 2
    _, memory, improve = improved(f, atoms, y)
    assert memory.active.tolist() == [0, 1, 3]
    assert memory.dependent.tolist() == [2]
    np.testing.assert_allclose(y.vector, [9, 9, 9.5, 0], atol=1e-14)
    y.move(5.0, 0)
    y.move(5.0, 1)
    assert y.lmo()[0] == 2
    improve(y)
    assert memory.active.tolist() == [0, 1, 3]
    assert memory.dependent.tolist() == [2]  # it was not tried again
    np.testing.assert_allclose(y.vector, [9, 9, 9.5, 0], atol=1e-14)


@pytest.mark.parametrize("name", QUADRATICS + SMOOTH)
def test_all_atoms_with_a_coefficient_at_the_point_are_corrected(name):
    rng = np.random.default_rng(4)
    f, atoms = objective(name, rng), Dictionary(rng.standard_normal((30, 12)))
    y = choose(f, atoms, np.zeros(12))
    for j in (3, 17, 25):
        y.move(0.1, j)
    z = y.lmo()[0]
    improved(f, atoms, y)
    assert set(np.flatnonzero(y.coef)) == {3, 17, 25, z}
    first = np.abs(atoms.matrix @ f.gradient(np.zeros(12))).max()
    slopes = atoms.matrix @ f.gradient(y.vector)
    assert np.abs(slopes[y.coef != 0]).max() <= 1e-10 * first


@pytest.mark.parametrize("momentum", [FixedNu(), FixedNu(probe=Random())])
@pytest.mark.parametrize("name", ["least squares", "logistic with ridge"])
def test_it_composes_with_momentum(name, momentum):
    rng = np.random.default_rng(1)
    f, atoms = objective(name, rng), Dictionary(rng.standard_normal((30, 12)))
    plain = solve(f, atoms, "orthogonal", tol=1e-9)
    blend = solve(f, atoms, Method("both", Corrective(), momentum), tol=1e-9, max_iter=500)
    assert blend.status is Status.CONVERGED
    np.testing.assert_allclose(blend.x, plain.x, atol=1e-8)


@given(st.sampled_from(QUADRATICS + SMOOTH), st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_the_promised_decrease_is_never_more_than_the_true_one(name, seed, moves):
    rng = np.random.default_rng(seed)
    f, atoms = objective(name, rng), Dictionary(rng.standard_normal((20, 12)))
    y = choose(f, atoms, np.zeros(12))
    for j in rng.integers(0, 20, moves).tolist():
        y.move(0.3 * rng.standard_normal(), j)
    before = f.value(y.vector)
    progress, *_ = improved(f, atoms, y)
    true = before - f.value(y.vector)
    rounding = 1e-12 * max(abs(before), true)  # f is 0 at 0, and its terms are not
    assert 0 < progress.decrease <= true + rounding
    if name in QUADRATICS:
        assert progress.decrease >= true - rounding


# The edges ------------------------------------------------------------------------------------


@pytest.fixture
def atoms():
    return Dictionary(np.random.default_rng(0).standard_normal((6, 10)))


@pytest.mark.parametrize("method", ["orthogonal", "blended"])
class TestEdges:
    def test_more_atoms_asked_for_than_there_are(self, atoms, method):
        signal = np.random.default_rng(1).standard_normal(10)
        found = solve(SquaredDistance(signal), atoms, method, n_nonzero=50, tol=1e-9)
        best = np.linalg.lstsq(atoms.matrix.T, signal, rcond=None)[0]
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.coef.toarray(), best, atol=1e-8)

    def test_all_there_is_in_this_precision(self, atoms, method):
        signal = np.random.default_rng(1).standard_normal(10)
        found = solve(SquaredDistance(signal), atoms, method, n_nonzero=50, tol=0)
        best = np.linalg.lstsq(atoms.matrix.T, signal, rcond=None)[0]
        assert found.status is Status.STALLED
        assert found.iterations < 100
        np.testing.assert_allclose(found.coef.toarray(), best, atol=1e-12)

    def test_a_zero_signal_has_a_zero_code(self, atoms, method):
        found = solve(SquaredDistance(np.zeros(10)), atoms, method)
        assert found.status is Status.CONVERGED
        assert found.support.size == 0
        assert found.path.sizes.tolist() == [0]

    @pytest.mark.parametrize("tol", [None, 0.0])
    def test_a_signal_along_one_atom_takes_one_atom(self, atoms, method, tol):
        found = solve(SquaredDistance(-7 * atoms.matrix[4]), atoms, method, tol=tol)
        assert found.status is (Status.STALLED if tol == 0 else Status.CONVERGED)
        assert found.support.tolist() == [4]
        np.testing.assert_allclose(found.weights, [-7], rtol=1e-14)

    def test_a_signal_orthogonal_to_all_atoms_has_a_zero_code(self, atoms, method):
        signal = np.linalg.svd(atoms.matrix)[2][-1]
        found = solve(SquaredDistance(signal), atoms, method)
        assert found.status is Status.CONVERGED
        assert found.support.size == 0

    @pytest.mark.parametrize("unit", [1e-20, 1e20])
    def test_units_scale_the_code(self, atoms, method, unit):
        signal = np.random.default_rng(1).standard_normal(10)
        plain = solve(SquaredDistance(signal), atoms, method, n_nonzero=4)
        scaled = solve(SquaredDistance(unit * signal), atoms, method, n_nonzero=4)
        assert scaled.support.tolist() == plain.support.tolist()
        np.testing.assert_allclose(scaled.weights, unit * plain.weights, rtol=1e-10)

    def test_single_precision_stays_and_finds_the_same_atoms(self, method):
        rng = np.random.default_rng(3)
        rows, signal = rng.standard_normal((60, 30)), rng.standard_normal(30)
        double = solve(SquaredDistance(signal), Dictionary(rows), method, n_nonzero=12)
        f = SquaredDistance(signal.astype(np.float32))
        single = solve(f, Dictionary(rows.astype(np.float32)), method, n_nonzero=12)
        assert single.x.dtype == single.weights.dtype == np.float32
        assert single.support.tolist() == double.support.tolist()
        np.testing.assert_allclose(single.weights, double.weights, rtol=1e-3, atol=1e-4)

    def test_target_and_rtol_stop_it(self, atoms, method):
        f = SquaredDistance(atoms.matrix.sum(axis=0))
        for options in ({"target": 0.3 * f.value(np.zeros(10))}, {"rtol": 0.3**0.5}):
            found = solve(f, atoms, method, tol=0, **options)
            assert found.status is Status.CONVERGED
            assert found.value <= 0.3 * f.value(np.zeros(10)) < found.path.value[-2]


def test_the_work_is_one_look_an_atom_and_the_atoms_in_use(atoms):
    found = solve(SquaredDistance(atoms.matrix.sum(axis=0)), atoms, "orthogonal", n_nonzero=4)
    looks = 5  # one before each atom, one that tells that the end is not reached
    steps = sum(k / 6 for k in (1, 2, 3, 4))
    slopes = sum(2 * k / 6 for k in (1, 2, 3, 4))
    assert found.counts.oracle_calls == 4
    assert found.counts.products == pytest.approx(looks + steps + slopes)
    assert found.counts.setup == 0
