"""Inputs on which other libraries fail, over a Cone: both methods, both precisions and forms."""

import numpy as np
import pytest
from encoded import encode_in

from pursuit import Cone, Status

BOTH = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])
N, D, K = 60, 24, 6


@pytest.fixture(params=["gram", "products"])
def encode(request):
    return encode_in(request.param)


def unit_problem(dtype, m=80, seed=0):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((N, D))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    weights = np.zeros((m, N))
    for row in weights:
        row[rng.choice(N, K, replace=False)] = rng.uniform(0.5, 2, K)
    signals = weights @ atoms + 0.01 * rng.standard_normal((m, D))
    return signals.astype(dtype), atoms.astype(dtype)


def close(dtype):
    return 2e-5 if dtype == np.float32 else 1e-10


@BOTH
@PRECISIONS
@pytest.mark.parametrize("spread", ["norms from 0.5 to 3", "one of 1e8", "one of 1e-8"])
def test_norms_of_atoms_change_neither_support_nor_fit(spread, dtype, method, encode):
    signals, unit = unit_problem(dtype)
    scale = np.ones((N, 1))
    if spread == "norms from 0.5 to 3":
        scale = np.random.default_rng(1).uniform(0.5, 3, (N, 1))
    else:
        scale[7] = 1e8 if spread == "one of 1e8" else 1e-8
    atoms = (unit * scale).astype(dtype)
    plain = encode(signals, Cone(unit), method, max_iter=K)
    codes = encode(signals, Cone(atoms), method, max_iter=K)
    same = (codes.matrix.toarray() != 0) == (plain.matrix.toarray() != 0)
    whole = same.all(axis=1)
    assert whole.sum() >= (len(signals) if dtype == np.float64 else len(signals) - 1)
    error = np.abs(codes @ atoms - plain @ unit)[whole].max()
    assert error <= close(dtype) * np.abs(signals).max()
    assert (7 in codes.indices) == (7 in plain.indices) is True


@pytest.mark.parametrize("length", [1e-8, 1e8])
def test_the_atoms_as_given_may_have_any_scale_too(length, encode):
    signals, unit = unit_problem(np.float64)
    atoms = unit.copy()
    atoms[7] *= length
    codes = encode(signals, Cone(atoms), n_nonzero=N, unit_atoms=False)
    best = encode(signals, Cone(unit), n_nonzero=N)
    np.testing.assert_allclose(codes.residual_norms, best.residual_norms, atol=1e-5)
    assert (codes.values > 0).all()


@PRECISIONS
def test_orthogonal_pursuit_goes_on_past_duplicates_and_sums_of_atoms(dtype, encode):
    signals, unit = unit_problem(dtype)
    rows = np.vstack([unit, unit[:20], 3 * unit[20:30], unit[30:40] + unit[40:50]]).astype(dtype)
    plain = encode(signals, Cone(unit), n_nonzero=8)
    codes = encode(signals, Cone(rows), n_nonzero=8)
    assert set(codes.counts()) <= {Status.MAX_NONZERO, Status.CONVERGED}
    assert np.median(codes.sizes) == 8
    for i in range(len(signals)):
        chosen = codes.indices[codes.indptr[i] : codes.indptr[i + 1]]
        assert np.linalg.matrix_rank(rows[chosen].astype(float), tol=1e-3) == len(chosen)
        twins = chosen % N
        assert len(set(twins[chosen < N + 30])) == (chosen < N + 30).sum()
    assert (codes.values > 0).all()
    assert np.median(codes.residual_norms) <= 1.05 * np.median(plain.residual_norms)


@PRECISIONS
def test_matching_pursuit_takes_duplicates_as_one_atom(dtype, encode):
    signals, unit = unit_problem(dtype)
    codes = encode(signals, Cone(np.vstack([unit, unit])), "matching-pursuit", max_iter=30)
    assert codes.indices.max() < N  # ties go to the lowest index
    plain = encode(signals, Cone(unit), "matching-pursuit", max_iter=30)
    assert np.allclose(codes.residual_norms, plain.residual_norms, rtol=1e-4)


@BOTH
@PRECISIONS
def test_a_dictionary_of_duplicates_and_opposites_ends_with_one_atom(dtype, method, encode):
    row = np.random.default_rng(0).standard_normal(D).astype(dtype)
    signals = np.random.default_rng(1).standard_normal((6, D)).astype(dtype)
    codes = encode(signals, Cone(np.vstack([row, row, -2 * row, row])), method, n_nonzero=3)
    assert (codes.sizes == 1).all()
    assert set(codes.counts()) == {Status.CONVERGED}
    towards = signals.astype(float) @ row > 0
    assert np.array_equal(codes.indices, np.where(towards, 0, 2))


def test_only_dependent_atoms_left_is_a_stall(encode):
    # The third atom opens a residual along `other`, which the second could take up with all the
    # digits there are: it differs from the first by 1e-8.
    base, other, third = np.eye(3)
    atoms = np.array([base, base + 1e-8 * other, 2 * third - other])
    codes = encode([5 * base - 0.1 * other + 2 * third], Cone(atoms), n_nonzero=3)
    assert codes.status(0) is Status.STALLED
    assert codes.indices.tolist() == [0, 2]


@BOTH
@PRECISIONS
def test_the_residual_test_fires_just_above_and_not_just_below(dtype, method, encode):
    signals, unit = unit_problem(dtype)
    path = [encode(signals, Cone(unit), method, max_iter=t).residual_norms for t in (3, 4)]
    norms = np.linalg.norm(signals.astype(float), axis=1)
    for i in range(20):
        for factor, steps in ((1.001, 4), (0.999, 5)):
            goal = factor * path[1][i]
            assert goal < path[0][i]
            for rule in ({"atol": goal}, {"rtol": goal / norms[i]}):
                codes = encode(signals[i : i + 1], Cone(unit), method, max_iter=50, **rule)
                assert codes.status(0) is Status.CONVERGED
                assert codes.residual_norms[0] <= goal
                assert codes.iterations[0] == steps if steps == 4 else codes.iterations[0] >= 5


@PRECISIONS
def test_tiny_residual_goals_are_met_by_true_residuals(dtype, encode):
    _, unit = unit_problem(dtype)
    weights = np.random.default_rng(3).uniform(0.5, 2, (40, 3))
    signals = (weights @ unit[:3].astype(float)).astype(dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-13
    codes = encode(signals, Cone(unit), rtol=rtol)
    true = np.linalg.norm(signals - (codes @ unit).astype(float), axis=1)
    assert set(codes.counts()) == {Status.CONVERGED}
    assert (true <= 2 * rtol * np.linalg.norm(signals, axis=1)).all()


@PRECISIONS
def test_an_atom_chosen_twice_is_legal_in_matching_pursuit(dtype, encode):
    atoms = np.array([[1, 0], [1, 1]], dtype)
    codes = encode(np.array([[3, 1]], dtype), Cone(atoms), "matching-pursuit", max_iter=60)
    assert codes.iterations[0] > 2
    assert np.allclose(codes.matrix.toarray(), [[2, 1]], atol=1e-5)


@BOTH
def test_float32_has_the_supports_of_float64_where_no_two_atoms_tie(method, encode):
    signals, unit = (array.astype(np.float32) for array in unit_problem(np.float32, m=400))
    single = encode(signals, Cone(unit), method, max_iter=K)
    double = encode(signals.astype(float), Cone(unit.astype(float)), method, max_iter=K)
    clear = np.ones(len(signals), bool)
    rest = signals.astype(float)
    for t in range(1, K + 1):  # the choice of step t is clear if its two best slopes are apart
        slopes = np.sort(np.abs(rest @ unit.T.astype(float)), axis=1)
        clear &= slopes[:, -1] - slopes[:, -2] > 1e-5 * np.linalg.norm(signals, axis=1)
        before = encode(signals.astype(float), Cone(unit.astype(float)), method, max_iter=t)
        rest = signals - before @ unit.astype(float)
    assert clear.sum() > 350
    same = (single.matrix.toarray() != 0) == (double.matrix.toarray() != 0)
    assert same.all(axis=1)[clear].all()
    assert single.dtype == np.float32
    error = np.abs(single.matrix.toarray() - double.matrix.toarray())[clear].max()
    assert error <= 1e-5 * np.abs(signals).max()


@BOTH
@PRECISIONS
def test_ties_go_to_the_lowest_index(dtype, method, encode):
    for n in (3, 8, 9, 40, 300):
        signals = np.ones((4, n), dtype)
        for k in (1, 2, n // 2 + 1):
            codes = encode(signals, Cone(np.eye(n, dtype=dtype)), method, n_nonzero=k)
            assert np.array_equal(codes.indices.reshape(4, -1), np.tile(np.arange(k), (4, 1)))


@BOTH
@PRECISIONS
def test_zero_one_atom_and_orthogonal_signals_say_so(dtype, method, encode):
    rng = np.random.default_rng(2)
    atoms = rng.standard_normal((10, D)).astype(dtype)
    basis = np.linalg.svd(atoms.astype(float))[2]
    outside = (basis[10:].T @ rng.standard_normal(D - 10)).astype(dtype)
    signals = np.stack([np.zeros(D, dtype), 5 * atoms[3], outside])
    codes = encode(signals, Cone(atoms), method, n_nonzero=5)
    assert codes.sizes.tolist() == [0, 1, 0]
    assert codes.iterations.tolist() == [0, 1, 0]
    assert set(codes.counts()) == {Status.CONVERGED}
    assert codes.indices.tolist() == [3]
    assert np.allclose(codes.values, 5, rtol=1e-6)
    eps = 20 * np.finfo(dtype).eps
    assert codes.residual_norms[0] == 0
    assert codes.residual_norms[1] <= eps * np.linalg.norm(signals[1])
    assert np.isclose(codes.residual_norms[2], np.linalg.norm(outside), rtol=1e-5)


@BOTH
@PRECISIONS
def test_signals_that_every_atom_points_away_from_get_nothing(dtype, method, encode):
    atoms = np.random.default_rng(0).uniform(0.1, 1, (30, D)).astype(dtype)
    codes = encode(-atoms, Cone(atoms), method, n_nonzero=4)
    assert not codes.sizes.any()
    assert set(codes.counts()) == {Status.CONVERGED}
    assert np.allclose(codes.residual_norms, np.linalg.norm(atoms, axis=1), rtol=1e-6)


@BOTH
@PRECISIONS
@pytest.mark.parametrize("power", [-40, 40])  # about 1e-12 and 1e12
def test_units_scale_the_codes_and_nothing_else(power, dtype, method, encode):
    signals, unit = unit_problem(dtype)
    factor = dtype(2.0**power)
    plain = encode(signals, Cone(unit), method, max_iter=K)
    both = encode(signals * factor, Cone(unit * factor), method, max_iter=K)
    assert np.array_equal(both.indices, plain.indices)
    assert np.allclose(both.values, plain.values, rtol=close(dtype))
    one = encode(signals * factor, Cone(unit), method, max_iter=K)
    assert np.array_equal(one.indices, plain.indices)
    assert np.array_equal(one.values, plain.values * factor)
    assert np.allclose(one.residual_norms, plain.residual_norms * float(factor), rtol=1e-12)
    other = encode(signals, Cone(unit * factor), method, max_iter=K)
    assert np.allclose(other.values * factor, plain.values, rtol=close(dtype))


@BOTH
@pytest.mark.parametrize("factor", [1e-65, 1e-20, 1e20, 1e65])
def test_decimal_units_give_the_same_supports(factor, method, encode):
    signals, unit = unit_problem(np.float64)
    plain = encode(signals, Cone(unit), method, max_iter=K)
    codes = encode(signals * factor, Cone(unit * factor), method, max_iter=K)
    assert np.array_equal(codes.indices, plain.indices)
    assert np.allclose(codes.values, plain.values, rtol=1e-9)
    assert np.allclose(codes.residual_norms, plain.residual_norms * factor, rtol=1e-9)


@BOTH
@PRECISIONS
@pytest.mark.parametrize("n_nonzero", [N, N + 1, 10 * N])
def test_more_atoms_than_there_are_is_no_error(n_nonzero, dtype, method, encode):
    signals, unit = unit_problem(dtype, m=10)
    codes = encode(signals, Cone(unit), method, n_nonzero=n_nonzero)
    assert (codes.sizes <= (D if method == "orthogonal" else N)).all()
    assert (codes.values > 0).all()
    assert set(codes.counts()) <= {Status.CONVERGED, Status.MAX_ITER, Status.STALLED}
