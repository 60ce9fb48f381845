"""Next to the largest and the smallest numbers: taken as others are, or refused."""

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.sparse.linalg import aslinearoperator

from pursuit import (
    L1,
    AffineInvariant,
    Approximate,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    InputError,
    LeastSquares,
    Logistic,
    NonNegative,
    Operator,
    Quadratic,
    Shifts,
    Smooth,
    Sphere,
    SquaredDistance,
    SquaredHinge,
    Status,
    Union,
    geometry,
    rates,
    solve,
)
from pursuit.methods import matching_pursuit
from pursuit.unmixing import unmix


def test_free_abundances_of_nearly_dependent_endmembers_fit_to_the_last_digit():
    rng = np.random.default_rng(0)
    endmembers = rng.standard_normal(6) + 1e-8 * rng.standard_normal((6, 6))
    pixels = 2.0 * endmembers
    found = unmix(pixels, endmembers, "none")
    assert found.residual_norms.max() < 1e-13


@pytest.mark.parametrize("spread", [1e-14, 3e-14, 1e-13])
def test_free_abundances_do_not_follow_what_rounding_made_of_endmembers(spread):
    rng = np.random.default_rng(0)
    endmembers = 1 + spread * rng.standard_normal((11, 6))
    pixels = rng.random((8, 11)) @ endmembers
    found = unmix(pixels, endmembers, "none")
    assert (found.residual_norms < 1e-11 * found.pixel_norms).all()


@pytest.mark.parametrize("rare", [5e-324, 1e-310, 1e-200])
def test_atoms_that_are_drawn_too_rarely_are_refused(rare):
    p = np.array([0.5, 0.5 - rare, rare])
    for atoms in (Dictionary(np.eye(3) + np.eye(3, k=1)), Coordinates(3)):
        with pytest.raises(InputError, match=r"^sampling: the atoms with positive prob"):
            geometry.sampling_quality(atoms, p)


def test_rare_atoms_in_directions_that_are_drawn_often_are_no_matter():
    p, atoms = np.array([0.5, 0.5, 1e-310]), Dictionary([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert geometry.leverage(atoms, p) == pytest.approx([2, 2, 4])
    assert geometry.sampling_quality(atoms, p) == pytest.approx(1 / 4)


def test_a_rate_above_the_range_is_infinite():
    given = {"L_A": 1e100, "R_A": 1.0, "δ̂²": 1e-300}
    rate = rates.theorem_4(SquaredDistance(np.ones(2)), Coordinates(2), given=given)
    assert np.array_equal(rate(np.arange(1, 4)), [np.inf] * 3)


@pytest.mark.parametrize("most", [2**70, 10**400], ids=["2**70", "10**400"])
def test_limits_that_no_counter_reaches_are_none(most):
    rng = np.random.default_rng(0)
    b, shifts = SquaredDistance(rng.standard_normal(30)), Shifts([[1.0, 2.0, 1.0]], 30)
    assert solve(b, shifts, max_iter=50, n_nonzero=most, every=most).status is Status.MAX_ITER
    assert solve(b, np.eye(30), max_iter=most, target=1e-9).status is Status.CONVERGED
    X = random_array((3000, 2500), density=0.01, rng=rng)  # large enough for a kernel of columns
    f = Logistic(X, rng.random(3000) < 0.5)
    few = solve(f, Coordinates(2500), "cyclic", max_iter=50, n_nonzero=most)
    assert few.status is Status.MAX_ITER


def test_f_that_is_flat_everywhere_is_at_its_minimum():
    flat = LeastSquares(np.zeros((3, 2)), np.ones(3))
    result = solve(flat, Dictionary([[1.0, 0.0], [1.0, 2.0]]), "accelerated", max_iter=5)
    assert result.status is Status.CONVERGED
    assert result.value == 1.5


def test_values_alone_lead_to_a_minimum_however_far_it_is():
    b = 1e47 * np.array([1.0, 3.0])
    result = solve(
        SquaredDistance(b), Coordinates(2), "gradient-free", coef0=[1e-3, 0.0], max_iter=20
    )
    assert result.value < 1e-20 * b @ b


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mixed_precisions_run_in_the_larger_one(dtype):
    """In float32 the steps would round, overflow or vanish."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 3)).astype(np.float32), rng.standard_normal(8)
    f = LeastSquares(A.astype(dtype), b)
    for method in ("matching-pursuit", "affine-invariant", "random-pursuit"):
        result = solve(f, Coordinates(3), method, max_iter=60, tol=0)
        assert result.trace.value[-1] == pytest.approx(result.value, rel=1e-13)
    tiny = np.eye(3, dtype=np.float32) * np.float32(1e-14)
    far = SquaredDistance(rng.standard_normal(3))
    result = solve(far, Dictionary(tiny.astype(dtype)), "random-pursuit", unit_atoms=False)
    assert result.value < 1e-20
    result = solve(far, Dictionary(tiny.astype(dtype)), "blended", unit_atoms=False)
    assert result.value < 1e-20


@pytest.mark.parametrize("method", ["matching-pursuit", "random-pursuit", "gradient-free"])
def test_sets_without_a_precision_of_their_own_run_in_that_of_f(method):
    """Atoms in float32 times a step would be rounded to float32."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, 3)).astype(np.float32)
    f = Quadratic(np.diag([3.5, 2.0, 1.0]), rng.standard_normal(3) / 20)
    tol = None if method == "gradient-free" else 0
    for atoms in (Union(Coordinates(3), Coordinates(3)), Operator(aslinearoperator(rows.T))):
        for unit_atoms in (True, False):
            result = solve(f, atoms, method, max_iter=60, tol=tol, unit_atoms=unit_atoms)
            assert result.trace.value[-1] == pytest.approx(result.value, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "cyclic"])
def test_slopes_that_are_rounding_of_products_leave_an_optimal_start(method, dtype):
    """Entries of Aᵀb that are zero are sums of terms that are not, and hardly ever cancel."""
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 7)))[0]
    A, b = (q * ([100] + 6 * [1])).astype(dtype), (100 * q[:, 0]).astype(dtype)
    result = solve(LeastSquares(A, b), Dictionary(np.eye(7, dtype=dtype)[1:]), method)
    assert (result.status, result.iterations) == (Status.CONVERGED, 0)


def test_what_a_transform_lets_other_atoms_see_leaves_an_optimal_start():
    """Templates are correlated by transforms of all of ∇f: where it is zero, c is rounding."""
    templates = np.float32([[1.0075888e-14, 6.0045526e-15], [1.2253587e-14, 1.2263089e-15]])
    f = Quadratic(np.diag(np.arange(1.0, 8)), [0, 0, 0, 0, 2.7, 0, 0.4])
    result = solve(f, Shifts(templates, 7), penalty=Box(-np.inf, 0.0), unit_atoms=False)
    assert (result.status, result.iterations) == (Status.CONVERGED, 0)


def test_coefficients_that_decay_to_nothing_are_zero():
    method, atoms = matching_pursuit(step=Smooth(L=2.0)), Dictionary(1e10 * np.eye(2))
    options = {"coef0": [1.0, 0.0], "tol": 0, "max_iter": 20000, "penalty": NonNegative()}
    result = solve(SquaredDistance([0.0, 0.0]), atoms, method, **options)
    assert (result.status, result.value) == (Status.STALLED, 0)


def test_a_steep_direction_that_is_done_hides_no_other_one():
    f = LeastSquares([[1e8, 0.6, 0], [0, 0.8, 0], [0, 0, 1.0]], [0, 1.25e9, 5])
    start = [0, 1e9, 0]
    result = solve(f, Coordinates(3), "cyclic", penalty=NonNegative(), coef0=start)
    assert result.x[2] == pytest.approx(5)


def test_a_column_that_no_sample_can_tell_costs_its_weight_for_nothing():
    f = LeastSquares([[1e-320, 1.0]], [0.5])
    result = solve(f, Coordinates(2), "working-set", penalty=L1(0.1), coef0=[0.7, 0.2])
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, [0.0, 0.4])


def test_slopes_that_are_no_numbers_end_an_approximate_search():
    f = SquaredHinge(1e55 * np.random.default_rng(0).standard_normal((7, 3)), np.ones(7))
    method = matching_pursuit(direction=Approximate(0.9), step=AffineInvariant(L_A=1e-3))
    atoms = Union(Coordinates(3), Dictionary(np.eye(3) + 1))
    result = solve(f, atoms, method, max_iter=50, unit_atoms=False)
    assert result.status is Status.DIVERGED


def test_a_slope_whose_square_is_no_number_is_followed():
    """Beyond all margins only the l2 bends f, and the step that it allows leads far back."""
    f = SquaredHinge(1e69 * np.random.default_rng(0).random((8, 6)), np.ones(8), l2=1e-3)
    start = np.full(6, 1e-57)
    result = solve(f, Coordinates(6), "cyclic", penalty=L1(1e67), coef0=start, max_iter=50)
    assert result.value < f.value(start) + 6e10


def test_weights_and_bounds_at_the_ends_of_the_range_are_a_penalty():
    """Of coefficients of unit atoms they vanish, or have no end: they stay a weight and a bound."""
    start = np.array([1.0, 0.0])
    for scale, penalty in ((1e62, L1(1e-200)), (1e10, Box(-1e300, 1e300))):
        f, atoms = SquaredDistance([0.0, scale]), Dictionary(scale * np.eye(2))
        result = solve(f, atoms, "cyclic", coef0=start, penalty=penalty, max_iter=20)
        assert result.trace.value[0] == pytest.approx(scale * scale)
        assert result.value <= 1e-20 * scale * scale


def test_starts_and_bounds_beyond_a_precision_are_taken_or_refused_without_a_warning():
    b = np.float32([1.0, 0.0])
    f, atoms = SquaredDistance(b), Dictionary(2.0**40 * np.eye(2, dtype=np.float32))
    result = solve(f, atoms, penalty=Box(-1e150, 1e300), coef0=np.float32([2.0**-40, 0]))
    assert result.status is Status.CONVERGED
    hinge = SquaredHinge(np.eye(2), np.array([1, -1]))
    for far in (f, hinge):
        with pytest.raises(InputError, match=r"^(coef0|f): "):
            solve(far, Cone(atoms), "matching-pursuit", coef0=[1e300, 1.0])
    with pytest.raises(InputError, match=r"^(coef0|f): "):
        solve(f, Cone(Coordinates(2)), coef0=[1e300, 1.0])


def test_a_run_whose_value_became_no_number_has_ended_for_good(tmp_path):
    f, atoms = LeastSquares(1e40 * np.eye(3), np.ones(3)), Coordinates(3)
    wild = matching_pursuit(step=Smooth(L=1.0))
    options = {"checkpoint": tmp_path / "run.npz", "tol": 0}
    ended = solve(f, atoms, wild, max_iter=200, **options)
    assert ended.status is Status.DIVERGED
    assert ended.iterations < 200
    resumed = solve(f, atoms, wild, max_iter=200, resume=tmp_path / "run.npz", tol=0)
    assert (resumed.status, resumed.iterations) == (ended.status, ended.iterations)


@pytest.mark.parametrize("method", ["orthogonal", "blended"])
def test_an_atom_whose_curvature_rounds_below_zero_is_left_out(method):
    """In float32 the curvature along the flat axes of H is rounding, of either sign."""
    rows = [[3077.0435, 1799.3887, 1274.1925, 3293.939, 2663.5464]]
    rows += [[1799.3887, 1292.6902, 715.1104, 2083.6042, 1738.7068]]
    rows += [[1274.1925, 715.1104, 582.646, 1258.5577, 957.32324]]
    rows += [[3293.939, 2083.6042, 1258.5577, 3772.768, 3175.7966]]
    rows += [[2663.5464, 1738.7068, 957.32324, 3175.7966, 2737.3538]]
    b = [1.1012172e-12, 6.6541773e-13, 4.1061024e-13, 1.2643934e-12, 1.0719321e-12]
    f = Quadratic(np.array(rows, np.float32), np.array(b, np.float32))
    assert solve(f, Sphere(5), method, max_iter=16, target=-0.8).value < 0


def test_a_start_far_away_is_in_the_span_in_any_precision():
    rows = np.eye(4, dtype=np.float32)[:3]
    f = SquaredDistance(np.ones(4, np.float32))
    x0 = np.array([3e18, 9e18, -2e19, 0], np.float32)
    assert solve(f, Dictionary(rows), x0=x0, max_iter=30).value < 1e-12 * x0 @ x0.astype(float)


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_shares_of_endmembers_of_uneven_lengths_are_not_spoilt_by_their_correction():
    """Shade alone leaves no more of a pixel than all of it."""
    rng = np.random.default_rng(20)
    endmembers = rng.standard_normal((10, 2)) * 10.0 ** rng.uniform(-8, 8, (10, 1))
    pixels = rng.standard_normal((60, 2))
    found = unmix(pixels, endmembers[:9], "sum-at-most-one")
    assert (found.residual_norms <= (1 + 1e-12) * np.linalg.norm(pixels, axis=1)).all()
