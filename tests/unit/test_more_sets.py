"""Groups, transformed sets and sets known by their oracle alone."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit import (
    Coordinates,
    Dictionary,
    FiniteAtoms,
    Groups,
    InputError,
    LeastSquares,
    Oracle,
    Quadratic,
    Sphere,
    SquaredDistance,
    Transformed,
    geometry,
    methods,
    solve,
)

rng = np.random.default_rng(0)
GROUPS = [[0, 3], [1], [2, 4, 5]]


# Groups ---------------------------------------------------------------------------------


@given(st.lists(st.floats(-9, 9).map(lambda v: round(v, 6)), min_size=6, max_size=6))
def test_the_dual_norm_is_the_largest_norm_of_a_group(entries):
    d = np.array(entries)
    norms = [np.linalg.norm(d[g]) for g in GROUPS]
    atoms = Groups(GROUPS)
    assert atoms.dual_norm(d) == pytest.approx(max(norms))
    assert atoms.gauge(d) == pytest.approx(sum(norms))
    group, entries = atoms.lmo(d)
    assert norms[group] == pytest.approx(max(norms))
    assert d[GROUPS[group]] @ entries == pytest.approx(max(norms))


def test_a_step_over_groups_solves_one_group_of_a_distance():
    b = rng.standard_normal(6)
    result = solve(SquaredDistance(b), Groups(GROUPS), max_iter=3, tol=0)
    assert np.allclose(result.x, b)
    assert len(result.weights) == 3


def test_groups_of_one_coordinate_are_the_coordinates():
    f = LeastSquares(rng.standard_normal((9, 5)), rng.standard_normal(9))
    singles = Groups([[j] for j in range(5)])
    sets, method = (singles, Coordinates(5)), "matching-pursuit"
    one, two = (solve(f, atoms, method, max_iter=40, tol=0) for atoms in sets)
    assert np.allclose(one.x, two.x, rtol=0, atol=1e-12)


def test_one_group_of_all_coordinates_is_the_sphere():
    f = LeastSquares(rng.standard_normal((9, 5)), rng.standard_normal(9))
    whole = Groups([range(5)])
    one, two = (solve(f, atoms, max_iter=40, tol=0) for atoms in (whole, Sphere(5)))
    assert np.allclose(one.x, two.x, rtol=0, atol=1e-12)


def test_coordinates_in_no_group_stay_zero():
    atoms = Groups([[0, 1], [3]], size=5)
    result = solve(SquaredDistance(np.ones(5)), atoms)
    assert result.x.round(9).tolist() == [1, 1, 0, 1, 0]
    assert atoms.rank == 3
    assert atoms.gauge(np.ones(5)) == np.inf
    with pytest.raises(InputError, match="x0"):
        solve(SquaredDistance(np.ones(5)), atoms, x0=np.ones(5))


def test_draws_take_each_group_as_often_and_point_anywhere_in_it():
    atoms = Groups(GROUPS)
    vectors = np.array([atoms.vector(z) for z in atoms.draw(np.random.default_rng(1), 40_000)])
    expected = np.zeros(6)
    for g in GROUPS:
        expected[g] = 1 / (len(GROUPS) * len(g))
    moment = vectors.T @ vectors / len(vectors)
    assert np.abs(moment - np.diag(expected)).max() < 0.01
    assert atoms.max_leverage == pytest.approx(1 / expected.min())


def test_random_pursuit_over_groups_resumes_bit_for_bit(tmp_path):
    f = LeastSquares(rng.standard_normal((9, 6)), rng.standard_normal(9))
    atoms, file = Groups(GROUPS), tmp_path / "run.npz"
    whole = solve(f, atoms, "accelerated-random", max_iter=60, tol=0)
    solve(f, atoms, "accelerated-random", max_iter=25, tol=0, checkpoint=file)
    resumed = solve(f, atoms, "accelerated-random", max_iter=60, tol=0, resume=file)
    assert np.array_equal(whole.x, resumed.x)


@pytest.mark.parametrize("method", ["matching-pursuit", "blended", "orthogonal"])
def test_groups_resume_in_float32_as_in_float64(method, tmp_path):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((9, 6)).astype("f4"), rng.standard_normal(6).astype("f4")
    f, atoms, file = Quadratic(A.T @ A, b), Groups([[0, 1], [2, 3, 4], [5]]), tmp_path / "run.npz"
    whole = solve(f, atoms, method, max_iter=40, tol=0)
    solve(f, atoms, method, max_iter=7, tol=0, checkpoint=file)
    resumed = solve(f, atoms, method, max_iter=40, tol=0, resume=file)
    assert whole.x.dtype == np.float32
    assert whole.x.tobytes() == resumed.x.tobytes()
    assert whole.value == resumed.value


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ([], "at least one group"),
        ([[0, 1], [1, 2]], "coordinate 1 is in more than one"),
        ([[0], []], "group 1"),
        ([[-1]], "group 0"),
        ([["a"]], "group 0"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups, complaint):
    with pytest.raises(InputError, match=complaint):
        Groups(groups)


# Transformed ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base", [Coordinates(4), Dictionary(rng.standard_normal((9, 4))), Sphere(4)], ids=repr
)
def test_algorithm_2_in_other_coordinates_takes_the_same_steps(base):
    """On f∘M with atoms M⁻¹z it gives M⁻¹x_t."""
    generator = np.random.default_rng(2)
    B, M = generator.standard_normal((2, 4, 4))
    H, b = B @ B.T + np.eye(4), generator.standard_normal(4)
    M = M + 2 * np.eye(4)
    f, g = Quadratic(H, b), Quadratic((M.T @ H @ M + (M.T @ H @ M).T) / 2, M.T @ b)
    if isinstance(base, FiniteAtoms):
        here, there = geometry.smoothness(f, base), geometry.smoothness(g, Transformed(base, M))
        assert float(here) == pytest.approx(float(there))
    L_A = float(f.L) * base.radius**2
    rule = methods.affine_invariant(L_A=L_A)
    options = {"max_iter": 50, "tol": 0, "unit_atoms": False}
    x = solve(f, base, rule, **options).x
    y = solve(g, Transformed(base, M), rule, **options).x
    assert np.allclose(M @ y, x, rtol=0, atol=1e-9)


def test_a_transformed_finite_set_is_finite_and_knows_its_atoms():
    M = rng.standard_normal((4, 4))
    base = Dictionary(rng.standard_normal((9, 4)))
    atoms = Transformed(base, M)
    assert isinstance(atoms, FiniteAtoms)
    assert np.allclose(atoms.matrix, base.matrix @ np.linalg.inv(M).T)
    result = solve(SquaredDistance(np.ones(4)), atoms, max_iter=5000)
    assert result.success
    assert np.allclose(atoms.combine(result.coef.toarray()), result.x)


@pytest.mark.parametrize("base", [Coordinates(3), Sphere(3)], ids=repr)
def test_a_transformed_set_can_be_copied(base):
    atoms = Transformed(base, np.diag([1.0, 2.0, 4.0]))
    d = np.array([1.0, 2.0, 5.0])
    for other in (copy.deepcopy(atoms), pickle.loads(pickle.dumps(atoms))):
        assert type(other) is type(atoms)
        assert other.dual_norm(d) == atoms.dual_norm(d)


@pytest.mark.parametrize(
    ("M", "complaint"),
    [(np.ones((3, 3)), "invertible"), (np.eye(2), r"shape \(3, 3\)"), ([1, 2], "M: expected 2")],
)
def test_a_matrix_that_is_no_change_of_coordinates_is_refused(M, complaint):
    with pytest.raises(InputError, match=complaint):
        Transformed(Coordinates(3), M)


# Oracle ---------------------------------------------------------------------------------


def test_an_oracle_over_a_dictionary_takes_the_dictionarys_steps():
    rows = rng.standard_normal((12, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    f = LeastSquares(rng.standard_normal((8, 5)), rng.standard_normal(8))
    own = Oracle(lambda d: rows[np.argmax(np.abs(rows @ d))], 5, radius=1.0)
    one = solve(f, own, max_iter=60, tol=0)
    two = solve(f, Dictionary(rows), max_iter=60, tol=0)
    assert np.allclose(one.x, two.x, rtol=0, atol=1e-10)


def test_an_oracle_may_write_every_atom_into_the_same_array():
    buffer = np.empty(3)

    def signs(d):
        buffer[:] = np.where(d < 0, -1.0, 1.0)
        return buffer

    result = solve(SquaredDistance([3.0, 1.0, -2.0]), Oracle(signs, 3, radius=2), max_iter=300)
    assert result.success
    rebuilt = sum(w * z for w, z in zip(result.weights, result.used, strict=True))
    assert np.allclose(rebuilt, result.x)


def test_an_oracle_without_a_sampler_serves_greedy_methods_only():
    atoms = Oracle(lambda d: np.where(d < 0, -1.0, 1.0), 3, radius=2)
    with pytest.raises(InputError, match="sample: this Oracle has none"):
        solve(SquaredDistance(np.ones(3)), atoms, "random-pursuit")


def test_an_oracle_that_returns_something_else_is_named():
    atoms = Oracle(lambda d: d[:2], 3, radius=1)
    with pytest.raises(InputError, match=r"function: expected shape \(3,\)"):
        solve(SquaredDistance(np.ones(3)), atoms)
    with pytest.raises(InputError, match="function: expected a function"):
        Oracle("lmo", 3, radius=1)
