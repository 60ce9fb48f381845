"""f that falls without end is told from one that does not, by every method."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from pursuit import (
    Backtracking,
    Cone,
    Coordinates,
    Dictionary,
    ExactLineSearch,
    Function,
    Groups,
    Operator,
    Oracle,
    Quadratic,
    Sphere,
    Status,
    methods,
    solve,
)

FLAT_ATOM = Quadratic(np.diag([1.0, 0.0]), [1.0, 1.0])
FLAT_DIRECTION = Quadratic(np.ones((2, 2)), [1.0, -1.0])
PAIR = Dictionary([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SETS = {"coordinates": Coordinates(2), "dictionary": PAIR, "sphere": Sphere(2)}
SETS |= {"groups": Groups([[0], [1]])}
OVER_CONES = ("matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", [FLAT_ATOM, FLAT_DIRECTION], ids=["atom", "direction"])
@pytest.mark.parametrize("name", methods.NAMED)
def test_a_flat_direction_with_a_slope_ends_every_method_as_unbounded(name, f, dtype):
    f = Quadratic(f.H.astype(dtype), f.b.astype(dtype))
    for atoms in SETS.values():
        if atoms.finite is None and name in ("cyclic", "shuffled"):
            continue  # they go through all atoms
        result = solve(f, atoms, name)
        assert result.status is Status.UNBOUNDED
        assert result.message.startswith(("f falls without end", "objective is unbounded below"))
        assert not result.success
        assert not result.x.any()


@pytest.mark.parametrize("name", OVER_CONES)
def test_over_a_cone_only_directions_that_it_has_count(name):
    valley = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for b, status in (([1.0, 1.0], Status.UNBOUNDED), ([-1.0, -1.0], Status.CONVERGED)):
        assert solve(Quadratic(valley, b), Cone(np.eye(2)), name, every=1).status is status
    assert solve(FLAT_ATOM, Cone(np.eye(2)), name).status is Status.UNBOUNDED
    uphill = Quadratic(np.diag([1.0, 0.0]), [1.0, -1.0])
    assert solve(uphill, Cone(np.eye(2)), name, every=1).status is Status.CONVERGED


def test_only_directions_of_the_span_count():
    for atoms in (Dictionary([[2.0, 2.0]]), Groups([[0]], size=2)):
        assert solve(FLAT_DIRECTION, atoms).status is Status.CONVERGED
    assert solve(FLAT_DIRECTION, Dictionary([[2.0, -2.0]])).status is Status.UNBOUNDED


def test_a_small_curvature_of_its_own_is_no_flat_direction():
    """1e-17 on a diagonal is no rounding, though it is below that of the other entries."""
    f = Quadratic(np.diag([1.0, 1e-17]), [1.0, 1.0])
    result = solve(f, Coordinates(2), "orthogonal")
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, [1.0, 1e17])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_singular_hessian_whose_b_is_in_its_range_is_never_called_unbounded(dtype):
    """H = AᵀA and b = Aᵀy, both rounded, with singular values down to 1e-6 of the first."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 15))
        k = int(rng.integers(1, d))
        scale = np.geomspace(1, 10 ** -rng.uniform(0, 6), k)
        A = (rng.standard_normal((k, d)) * scale[:, None]).astype(dtype)
        b = A.T @ rng.standard_normal(k).astype(dtype)
        rows = rng.standard_normal((d + 3, d)).astype(dtype)
        for atoms in (Coordinates(d), Dictionary(rows), Dictionary(rows[: d - 1]), Cone(rows)):
            assert solve(Quadratic(A.T @ A, b), atoms, max_iter=0).status is not Status.UNBOUNDED


def test_a_flat_direction_between_two_atoms_of_a_cone_is_found():
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows, b = rng.standard_normal((2, 2)), rng.standard_normal(2)
        # a z_0 + (1 − a) z_1 = (0, height): inside the cone where the first entries differ in sign
        height = rows[0, 1] - rows[0, 0] * (rows[1, 1] - rows[0, 1]) / (rows[1, 0] - rows[0, 0])
        falls = rows[0, 0] * rows[1, 0] < 0 < height * b[1]
        status = solve(Quadratic(np.diag([1.0, 0.0]), b), Cone(rows), "orthogonal").status
        assert (status is Status.UNBOUNDED) == falls


def test_an_atom_of_a_cone_that_hardly_bends_is_not_flat():
    hardly = Quadratic(np.diag([1.0, 0.0]), [0.0, 1.0])
    result = solve(hardly, Cone([[1e-3, 1.0], [1.0, -1.0]]), "orthogonal")
    assert result.status is not Status.UNBOUNDED
    assert np.isclose(result.value, -0.5e6)


@pytest.mark.parametrize(
    "method",
    [
        methods.matching_pursuit(step=ExactLineSearch()),
        methods.matching_pursuit(step=Backtracking()),
        methods.random_pursuit(step=ExactLineSearch()),
        methods.accelerated(),
        methods.orthogonal(),
        methods.blended(),
        methods.gradient_free(),
    ],
    ids=lambda method: f"{method.name} {getattr(method.advance, 'step', '')}",
)
def test_a_function_that_falls_along_a_line_for_as_long_as_one_looks_is_unbounded(method):
    f = Function(lambda x: float(x.sum()), lambda x: np.ones(3), shape=3)
    result = solve(f, Coordinates(3), method)
    assert result.status is Status.UNBOUNDED
    assert "unbounded below" in result.message


@pytest.mark.parametrize("seed", range(6))
def test_a_flat_direction_of_a_function_is_met_among_the_atoms_in_use(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2, 4))
    H, flat = A.T @ A, np.linalg.svd(A)[2][3]
    b = A.T @ rng.standard_normal(2) + 0.3 * flat
    f = Function(lambda x: x @ H @ x / 2 - b @ x, lambda x: H @ x - b, shape=4)
    result = solve(f, rng.standard_normal((7, 4)), "orthogonal")
    # By slopes alone, rounding decides whether the direction seems to bend far out.
    assert result.status in (Status.UNBOUNDED, Status.STALLED)
    assert not result.success


def test_a_slope_that_grows_by_rounding_is_followed_to_the_end_of_numbers():
    A = np.random.default_rng(3).standard_normal((2, 3))
    H, flat = A.T @ A, np.linalg.svd(A)[2][2]
    f = Function(lambda x: x @ H @ x / 2 - flat @ x, lambda x: H @ x - flat, shape=3)
    result = solve(f, [flat], methods.matching_pursuit(step=Backtracking()))
    assert result.status in (Status.UNBOUNDED, Status.DIVERGED)


@pytest.mark.parametrize("method", ["blended", "orthogonal"])
def test_atoms_that_nearly_cancel_have_no_endless_direction(method):
    """By rounding, f seems to bend down along their differences."""
    f = Quadratic([[10.0, 4.0], [4.0, 10.0]], [-22.0, 8.0])
    for seed in range(100):
        rng = np.random.default_rng(seed)
        atoms = rng.standard_normal(2) + 1e-10 * rng.standard_normal((12, 2))
        start = rng.standard_normal(12) * (rng.random(12) < 0.5)
        atoms = Operator(aslinearoperator(atoms.T))
        options = {"coef0": start, "tol": 1e-14, "max_iter": 20, "unit_atoms": False}
        result = solve(f, atoms, method, **options)
        assert result.status is not Status.UNBOUNDED, seed


def test_a_flat_atom_of_a_set_known_by_its_oracle_alone_is_met_on_the_way():
    axes = Oracle(lambda d: np.eye(2)[np.argmax(np.abs(d))], 2, radius=1.0, rank=1)
    result = solve(FLAT_ATOM, axes, methods.matching_pursuit(step=ExactLineSearch()))
    assert result.status is Status.UNBOUNDED
    np.testing.assert_array_equal(result.x, [1.0, 0.0])


def test_a_run_that_ended_as_unbounded_does_so_again_when_resumed():
    first = solve(FLAT_ATOM, Coordinates(2))
    again = solve(FLAT_ATOM, Coordinates(2), resume=first)
    assert (again.status, again.iterations) == (Status.UNBOUNDED, 0)
