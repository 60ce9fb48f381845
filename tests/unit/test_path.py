"""The path: what a run found with each number of atoms."""

import numpy as np
import pytest

from pursuit import (
    Coordinates,
    Dictionary,
    InputError,
    LeastSquares,
    Logistic,
    Sphere,
    SquaredDistance,
    plots,
    solve,
)

ROWS = np.random.default_rng(0).standard_normal((40, 20)) * np.arange(1, 41)[:, None]
SIGNAL = np.random.default_rng(1).standard_normal(20)


def run(method="orthogonal", **options):
    return solve(SquaredDistance(SIGNAL), Dictionary(ROWS), method, **options)


@pytest.mark.parametrize("method", ["orthogonal", "blended"])
def test_a_point_of_the_path_is_the_run_stopped_there(method):
    path = run(method, n_nonzero=12).path
    assert path.sizes.tolist() == list(range(13))
    for size in (1, 5, 12):
        stopped = run(method, n_nonzero=size)
        np.testing.assert_allclose(path.x(size), stopped.x, atol=1e-14)
        np.testing.assert_allclose(path.coefs[[size]].toarray()[0], stopped.coef.toarray())
        assert path.value[size] == pytest.approx(stopped.value)


@pytest.mark.parametrize("method", ["orthogonal", "blended"])
def test_values_fall_and_residuals_are_those_of_the_coefficients(method):
    path = run(method, n_nonzero=15).path
    assert (np.diff(path.value) < 0).all()
    residuals = np.linalg.norm(path.coefs @ ROWS - SIGNAL, axis=1)
    np.testing.assert_allclose(path.residual, residuals, rtol=1e-12)
    assert (np.count_nonzero(path.coefs.toarray(), axis=1) == path.sizes).all()
    assert (np.diff(path.seconds) > 0).all()


def test_the_last_of_several_points_with_a_size_is_kept():
    found = run("blended", tol=1e-10)
    assert len(found.path) < found.iterations + 1
    assert found.path.sizes[-1] >= len(found.support)
    np.testing.assert_allclose(found.path.x(len(found.support)), found.x, atol=1e-12)


def test_it_counts_from_the_start():
    start = np.zeros(40)
    start[[3, 8]] = 2.0, -1.0
    path = run(coef0=start, n_nonzero=6).path
    assert path.sizes.tolist() == [2, 3, 4, 5, 6]
    np.testing.assert_allclose(path.coefs @ ROWS, [path.x(int(k)) for k in path.sizes], atol=1e-9)
    shifted = run(x0=np.ones(20), n_nonzero=3).path
    np.testing.assert_allclose(shifted.x(0), np.ones(20))
    np.testing.assert_allclose(shifted.x(3), 1 + (shifted.coefs @ ROWS)[3], atol=1e-12)


@pytest.mark.parametrize("method", ["orthogonal", "blended"])
def test_a_resumed_run_has_the_path_of_a_straight_one(method, tmp_path):
    straight = run(method, n_nonzero=14, tol=0)
    first = run(method, max_iter=6, tol=0)
    run(method, max_iter=6, tol=0, checkpoint=tmp_path / "half")
    for source in (first, tmp_path / "half"):
        resumed = run(method, n_nonzero=14, tol=0, resume=source)
        np.testing.assert_array_equal(resumed.path.sizes, straight.path.sizes)
        np.testing.assert_array_equal(resumed.path.coefs.toarray(), straight.path.coefs.toarray())


def test_an_infinite_set_has_a_path_too():
    path = solve(LeastSquares(np.diag([1.0, 5.0]), [1.0, 1.0]), Sphere(2), "orthogonal").path
    assert path.sizes.tolist() == [0, 1, 2]
    np.testing.assert_allclose(path.x(2), [1, 0.2], atol=1e-12)


def test_a_loss_without_a_residual_says_so():
    f = Logistic([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]], [0, 1, 1], l2=1.0)
    path = solve(f, Coordinates(2), "orthogonal").path
    assert np.isnan(path.residual).all()
    assert path.value[-1] < path.value[0]


def test_a_size_that_was_not_visited_is_named():
    path = run(n_nonzero=3).path
    with pytest.raises(InputError, match="7"):
        path.x(7)


def test_methods_that_revisit_atoms_have_none():
    assert run("matching-pursuit", max_iter=5).path is None


def test_a_run_with_nothing_to_do_has_its_start():
    path = solve(SquaredDistance(np.zeros(20)), Dictionary(ROWS), "blended").path
    assert path.sizes.tolist() == [0]
    assert path.value.tolist() == [0]


def test_it_is_drawn_against_the_number_of_atoms():
    path = run(n_nonzero=5).path
    ax = path.plot(label="orthogonal")
    line = ax.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), path.sizes)
    np.testing.assert_array_equal(line.get_ydata(), path.value)
    assert ax.get_yscale() == "log"
    assert plots.path(path, ax=ax, floor=0.1) is ax
    np.testing.assert_allclose(ax.lines[1].get_ydata(), path.value - 0.1)


def test_it_prints_its_ends():
    path = run(n_nonzero=5).path
    assert repr(path).startswith("Path of 6 points, 0 to 5 atoms, value ")
