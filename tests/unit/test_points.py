"""Which representation a point gets: f, the set and the rule are asked, in one place."""

import numpy as np
import pytest
from scipy.sparse import random_array

from pursuit import (
    Cone,
    Coordinates,
    Dictionary,
    Function,
    Gabor,
    Huber,
    InputError,
    LeastSquares,
    MatrixDistance,
    MatrixEntries,
    Objective,
    Quadratic,
    RankOne,
    Sphere,
    SquaredDistance,
    methods,
    solve,
)
from pursuit.base.growing import lengthened
from pursuit.points import Needs, choose
from pursuit.points.ambient import AmbientPoint
from pursuit.points.blind import BlindPoint
from pursuit.points.factored import DistancePoint, EntriesPoint
from pursuit.points.gabor import GaborPoint
from pursuit.points.gram import GramPoint
from pursuit.points.linear import LinearPoint

rng = np.random.default_rng(0)
D, N = 4, 7
A, ROWS = rng.standard_normal((6, D)), rng.standard_normal((N, D))
B = rng.standard_normal((5, 3))
QUADRATICS = [SquaredDistance(np.ones(D)), LeastSquares(A, np.ones(6)), Quadratic(A.T @ A, A[0])]
BOWL = Function(lambda x: x @ x, lambda x: 2 * x, shape=D, L=2.0)
FINITE = [Dictionary(ROWS), Coordinates(D), Cone(ROWS)]


def kind(f, atoms, needs=Needs.SLOPES, **options):
    return type(choose(f, atoms, f.origin(atoms), needs, **options))


@pytest.mark.parametrize("f", QUADRATICS, ids=repr)
def test_a_quadratic_keeps_slopes_where_they_are_finitely_many_and_asked_for_again(f):
    for atoms in FINITE:
        assert kind(f, atoms) is GramPoint
        assert kind(f, atoms, Needs.VECTOR) is AmbientPoint
    assert kind(f, Sphere(D)) is AmbientPoint


@pytest.mark.parametrize("f", [*QUADRATICS, BOWL, Huber(A, np.ones(6), 0.5)], ids=repr)
def test_a_rule_that_sees_values_gets_no_slopes(f):
    assert {kind(f, atoms, Needs.VALUES) for atoms in [*FINITE, Sphere(D)]} == {BlindPoint}


def test_other_objectives_keep_x_and_what_makes_them_cheap():
    for atoms in [*FINITE, Sphere(D)]:
        for needs in (Needs.SLOPES, Needs.VECTOR):
            assert kind(BOWL, atoms, needs) is AmbientPoint
            assert kind(Huber(A, np.ones(6), 0.5), atoms, needs) is LinearPoint


def test_matrices_are_kept_as_factors_over_pairs_and_refused_over_other_sets():
    entries = random_array((5, 3), density=0.5, rng=np.random.default_rng(1))
    for f, expected in ((MatrixDistance(B), DistancePoint), (MatrixEntries(entries), EntriesPoint)):
        assert {kind(f, RankOne(5, 3), needs) for needs in list(Needs)[:2]} == {expected}
        with pytest.raises(InputError, match=r"^atoms: .* needs RankOne atoms, got Sphere"):
            choose(f, Sphere(5, 3), np.zeros((5, 3)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_gram_matrix_of_the_limit_is_formed_and_of_a_byte_more_is_not(dtype):
    f, atoms = SquaredDistance(np.ones(D, dtype)), Dictionary(ROWS.astype(dtype))
    size = N * N * np.dtype(dtype).itemsize
    assert kind(f, atoms, gram_bytes=size) is GramPoint
    assert kind(f, atoms, gram_bytes=size - 1) is AmbientPoint
    assert kind(f, Coordinates(1), gram_bytes=0) is AmbientPoint


def test_solve_forms_a_gram_matrix_up_to_the_limit_it_is_given():
    for limit, columns in ((0, 0), (N * N * 8 - 1, 0), (N * N * 8, N), (None, N)):
        result = solve(QUADRATICS[1], Dictionary(ROWS), tol=0, max_iter=300, gram_bytes=limit)
        assert result.counts.setup == columns


@pytest.mark.parametrize("limit", [-1, 1.5, True, "1 GB", np.nan])
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit):
    with pytest.raises(InputError, match=r"^gram_bytes: expected an integer of at least 0, got"):
        solve(QUADRATICS[0], Dictionary(ROWS), gram_bytes=limit)


class Counting(AmbientPoint):
    """A point of a user, who wants to know how often x moves."""

    moves = 0

    def move(self, gamma, z):
        Counting.moves += 1
        super().move(gamma, z)


class Own(SquaredDistance):
    """An objective whose points are of its own kind."""

    def form(self, atoms, x0):
        return Counting(self, atoms, x0)


def test_an_objective_may_build_points_of_its_own():
    b, Counting.moves = np.arange(D) - 1.0, 0
    ours = solve(Own(b), Dictionary(ROWS), max_iter=20, tol=0)
    theirs = solve(SquaredDistance(b), Dictionary(ROWS), max_iter=20, tol=0, gram_bytes=0)
    assert Counting.moves == 20
    np.testing.assert_array_equal(ours.x, theirs.x)
    assert solve(Own(b), Dictionary(ROWS), "orthogonal").success


@pytest.mark.parametrize("form", ["gram", lambda self, atoms, x0: x0])
def test_a_form_that_gives_no_point_is_refused(form):
    f = type("Own", (SquaredDistance,), {"form": form})(np.ones(D))
    with pytest.raises(InputError, match=r"^f: Own\.form gives .* expected a PointForm, or a fun"):
        solve(f, Dictionary(ROWS))


class Bowl(Objective):
    """½‖x‖² of a user who has never heard of points."""

    shape, L = (D,), 1.0

    def value(self, x):
        return 0.5 * float(x @ x)

    def gradient(self, x):
        return x.copy()


@pytest.mark.parametrize("name", methods.NAMED)
def test_an_objective_of_a_user_need_not_know_of_points(name):
    for atoms in (Dictionary(ROWS), Coordinates(D)):
        result = solve(Bowl(), atoms, name, x0=np.ones(D), max_iter=30)
        assert result.value < 0.5 * D


def test_coefficients_of_all_gabor_atoms_are_kept_for_a_distance_alone():
    atoms, x0 = Gabor(100, (16, 32)), np.zeros(100)
    assert type(choose(SquaredDistance(np.ones(100)), atoms, x0)) is GaborPoint
    assert type(choose(SquaredDistance(np.ones(100)), atoms, x0, Needs.VECTOR)) is AmbientPoint
    assert type(choose(LeastSquares(np.eye(100), np.ones(100)), atoms, x0)) is AmbientPoint


def test_a_vector_that_grows_by_one_is_copied_a_few_times_only():
    vector, places = np.arange(3.0), set()
    for size in range(4, 1000):
        vector = lengthened(vector, size)
        places.add(id(vector.base))
        assert vector[:3].tolist() == [0, 1, 2]
        assert not vector[3:].any()
    assert len(places) <= 10


def test_factors_of_a_result_become_a_dense_array():
    target = np.arange(12.0).reshape(3, 4)
    x = solve(MatrixDistance(target), RankOne(3, 4), max_iter=3).x
    np.testing.assert_array_equal(np.asarray(x), x.toarray())
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    np.testing.assert_allclose(np.array(x, copy=True), target, atol=1e-9)
    with pytest.raises(ValueError, match="copy must be True or None"):
        np.asarray(x, copy=False)
