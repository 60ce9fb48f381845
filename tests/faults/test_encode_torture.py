"""Inputs on which other libraries fail, for both methods, in both precisions."""

import numpy as np
import pytest

from pursuit import Status
from pursuit.encoding import encode

BOTH = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])
N, D, K = 60, 24, 6


def unit_problem(dtype, m=80, seed=0):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((N, D))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    weights = np.zeros((m, N))
    for row in weights:
        row[rng.choice(N, K, replace=False)] = rng.uniform(0.5, 2, K) * rng.choice([-1, 1], K)
    signals = weights @ atoms + 0.01 * rng.standard_normal((m, D))
    return signals.astype(dtype), atoms.astype(dtype)


def close(dtype):
    return 2e-5 if dtype == np.float32 else 1e-10


def assert_same_fit(codes, atoms, plain, unit, dtype):
    """Same supports, and the same approximations."""
    assert np.array_equal(codes.matrix.toarray() != 0, plain.matrix.toarray() != 0)
    assert np.abs(codes @ atoms - plain @ unit).max() <= close(dtype) * np.abs(plain @ unit).max()


@BOTH
@PRECISIONS
@pytest.mark.parametrize("spread", ["norms from 0.5 to 3", "one of 1e8", "one of 1e-8"])
def test_norms_of_atoms_change_neither_support_nor_fit(spread, dtype, method):
    signals, unit = unit_problem(dtype)
    scale = np.ones((N, 1))
    if spread == "norms from 0.5 to 3":
        scale = np.random.default_rng(1).uniform(0.5, 3, (N, 1))
    else:
        scale[7] = 1e8 if spread == "one of 1e8" else 1e-8
    atoms = (unit * scale).astype(dtype)
    plain = encode(signals, unit, method, max_iter=K)
    codes = encode(signals, atoms, method, max_iter=K)
    # Rounding the scaled atoms moves them by an ulp: signals with a tie that close are few.
    same = (codes.matrix.toarray() != 0) == (plain.matrix.toarray() != 0)
    whole = same.all(axis=1)
    assert whole.sum() >= (len(signals) if dtype == np.float64 else len(signals) - 1)
    error = np.abs(codes @ atoms - plain @ unit)[whole].max()
    assert error <= close(dtype) * np.abs(signals).max()
    assert (7 in codes.indices) == (7 in plain.indices) is True


@PRECISIONS
def test_orthogonal_pursuit_goes_on_past_duplicates_and_sums_of_atoms(dtype):
    signals, unit = unit_problem(dtype)
    rows = np.vstack([unit, unit[:20], 3 * unit[20:30], unit[30:40] + unit[40:50]]).astype(dtype)
    plain = encode(signals, unit, "orthogonal", n_nonzero=8)
    codes = encode(signals, rows, "orthogonal", n_nonzero=8)
    assert (codes.sizes == 8).all()
    assert set(codes.counts()) == {Status.MAX_NONZERO}
    for i in range(len(signals)):
        chosen = codes.indices[codes.indptr[i] : codes.indptr[i + 1]]
        assert np.linalg.matrix_rank(rows[chosen].astype(float), tol=1e-3) == 8
        twins = chosen % N
        assert len(set(twins[chosen < N + 30])) == (chosen < N + 30).sum()
    assert np.isfinite(codes.values).all()
    assert np.median(codes.residual_norms) <= 1.05 * np.median(plain.residual_norms)


@PRECISIONS
def test_matching_pursuit_takes_duplicates_as_one_atom(dtype):
    signals, unit = unit_problem(dtype)
    rows = np.vstack([unit, unit])
    codes = encode(signals, rows, "matching-pursuit", max_iter=30)
    assert codes.indices.max() < N  # ties go to the lowest index
    plain = encode(signals, unit, "matching-pursuit", max_iter=30)
    assert np.allclose(codes.residual_norms, plain.residual_norms, rtol=1e-4)


@PRECISIONS
def test_a_dictionary_of_duplicates_only_ends_with_one_atom(dtype):
    row = np.random.default_rng(0).standard_normal(D).astype(dtype)
    signals = np.random.default_rng(1).standard_normal((5, D)).astype(dtype)
    codes = encode(signals, np.vstack([row, row, -2 * row]), "orthogonal", n_nonzero=3)
    assert (codes.sizes == 1).all()
    assert set(codes.counts()) == {Status.CONVERGED}
    assert not codes.indices.any()


def test_only_dependent_atoms_left_is_a_stall():
    # The second atom differs from the first by 1e-8: adding it would need all digits there are.
    base, other, third = np.eye(3)
    atoms = np.array([base, base + 1e-8 * other])
    codes = encode([base + other], atoms, "orthogonal", n_nonzero=2)
    assert codes.status(0) is Status.STALLED
    assert codes.indices.tolist() == [1] or codes.indices.tolist() == [0]
    wide = encode([base + other + third], np.vstack([atoms, third]), "orthogonal", n_nonzero=3)
    assert set(wide.indices) in ({0, 2}, {1, 2})


@BOTH
@PRECISIONS
def test_the_residual_test_fires_just_above_and_not_just_below(dtype, method):
    signals, unit = unit_problem(dtype)
    path = [encode(signals, unit, method, max_iter=t).residual_norms for t in (3, 4)]
    norms = np.linalg.norm(signals.astype(float), axis=1)
    for i in range(20):
        # Between the residuals of steps 3 and 4, next to that of step 4 on either side.
        for factor, steps in ((1.001, 4), (0.999, 5)):
            goal = factor * path[1][i]
            assert goal < path[0][i]
            absolute = encode(signals[i : i + 1], unit, method, atol=goal, max_iter=50)
            relative = encode(signals[i : i + 1], unit, method, rtol=goal / norms[i], max_iter=50)
            for codes in (absolute, relative):
                assert codes.status(0) is Status.CONVERGED
                assert codes.residual_norms[0] <= goal
                assert codes.iterations[0] == steps if steps == 4 else codes.iterations[0] >= 5


@PRECISIONS
def test_tiny_residual_goals_are_met_by_true_residuals(dtype):
    signals, unit = unit_problem(dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-13
    codes = encode(signals, unit, "orthogonal", rtol=rtol)
    true = np.linalg.norm(signals - (codes @ unit).astype(float), axis=1)
    assert set(codes.counts()) == {Status.CONVERGED}
    assert (true <= 2 * rtol * np.linalg.norm(signals, axis=1)).all()
    assert (codes.sizes <= D).all()


@PRECISIONS
def test_an_atom_chosen_twice_is_legal_in_matching_pursuit(dtype):
    atoms = np.array([[1, 0], [1, 1]], dtype)
    codes = encode(np.array([[3, 1]], dtype), atoms, "matching-pursuit", max_iter=60)
    assert codes.iterations[0] > 2
    assert sorted(codes.indices) == [0, 1]
    assert np.allclose(codes.matrix.toarray(), [[2, 1]], atol=1e-5)


@BOTH
@PRECISIONS
def test_ties_go_to_the_lowest_index(dtype, method):
    for n in (3, 40, 300):
        atoms = np.eye(n, dtype=dtype)
        signals = np.ones((4, n), dtype)
        signals[2:] *= -1
        for k in (1, 2, n // 2 + 1):
            codes = encode(signals, atoms, method, n_nonzero=k)
            assert np.array_equal(codes.indices.reshape(4, -1), np.tile(np.arange(k), (4, 1)))


@PRECISIONS
@pytest.mark.parametrize("n", [2, 8, 9])
def test_ties_of_a_handful_of_atoms_go_to_the_lowest_index(n, dtype):
    signals = np.ones((70, n), dtype)
    for t in range(1, n):
        codes = encode(signals, np.eye(n, dtype=dtype), "matching-pursuit", max_iter=t)
        assert np.array_equal(codes.indices.reshape(70, -1), np.tile(np.arange(t), (70, 1)))


@BOTH
@PRECISIONS
def test_zero_one_atom_and_orthogonal_signals_say_so(dtype, method):
    rng = np.random.default_rng(2)
    atoms = rng.standard_normal((10, D)).astype(dtype)
    basis = np.linalg.svd(atoms.astype(float))[2]
    outside = (basis[10:].T @ rng.standard_normal(D - 10)).astype(dtype)
    signals = np.stack([np.zeros(D, dtype), 5 * atoms[3], outside])
    codes = encode(signals, atoms, method, n_nonzero=5)
    assert codes.sizes.tolist() == [0, 1, 0]
    assert codes.iterations.tolist() == [0, 1, 0]
    assert set(codes.counts()) == {Status.CONVERGED}
    assert codes.indices.tolist() == [3]
    assert np.allclose(codes.values, 5, rtol=1e-6)
    eps = 20 * np.finfo(dtype).eps
    assert codes.residual_norms[0] == 0
    assert codes.residual_norms[1] <= eps * np.linalg.norm(signals[1])
    assert np.isclose(codes.residual_norms[2], np.linalg.norm(outside), rtol=1e-5)


@PRECISIONS
def test_a_signal_that_is_spent_with_its_last_atom_has_converged(dtype):
    _, unit = unit_problem(dtype)
    weights = np.array([[3, -2, 1.5], [1, 1, 1]])
    signals = (weights @ unit[[4, 17, 33]].astype(float)).astype(dtype)
    signals = np.vstack([signals, signals[0] + unit[50]])
    codes = encode(signals, unit, "orthogonal", n_nonzero=3)
    assert [codes.status(i) for i in range(3)] == [Status.CONVERGED] * 2 + [Status.MAX_NONZERO]
    assert (codes.sizes == 3).all()


@BOTH
@PRECISIONS
@pytest.mark.parametrize("power", [-40, 40])  # about 1e-12 and 1e12
def test_units_scale_the_codes_and_nothing_else(power, dtype, method):
    signals, unit = unit_problem(dtype)
    factor = dtype(2.0**power)
    plain = encode(signals, unit, method, max_iter=K)
    both = encode(signals * factor, unit * factor, method, max_iter=K)
    assert np.array_equal(both.indices, plain.indices)
    assert np.allclose(both.values, plain.values, rtol=close(dtype))
    one = encode(signals * factor, unit, method, max_iter=K)
    assert np.array_equal(one.indices, plain.indices)
    assert np.array_equal(one.values, plain.values * factor)
    assert np.allclose(one.residual_norms, plain.residual_norms * float(factor), rtol=1e-12)
    other = encode(signals, unit * factor, method, max_iter=K)
    assert np.allclose(other.values * factor, plain.values, rtol=close(dtype))


@BOTH
@pytest.mark.parametrize("factor", [1e-6, 1e6, 1e-13, 1e13])
def test_decimal_units_in_float32_give_the_same_supports(factor, method):
    signals, unit = unit_problem(np.float32)
    plain = encode(signals, unit, method, max_iter=K)
    scaled = (signals.astype(float) * factor).astype(np.float32)
    codes = encode(scaled, unit, method, max_iter=K)
    assert np.array_equal(codes.indices, plain.indices)
    assert np.allclose(codes.values / np.float32(factor), plain.values, rtol=1e-4)


@BOTH
@pytest.mark.parametrize("factor", [1e-65, 1e65])
def test_extreme_units_in_float64(factor, method):
    signals, unit = unit_problem(np.float64)
    plain = encode(signals, unit, method, max_iter=K)
    codes = encode(signals * factor, unit * factor, method, max_iter=K)
    assert np.array_equal(codes.indices, plain.indices)
    assert np.allclose(codes.values, plain.values, rtol=1e-9)
    assert np.allclose(codes.residual_norms, plain.residual_norms * factor, rtol=1e-9)


@BOTH
@PRECISIONS
@pytest.mark.parametrize("n_nonzero", [N, N + 1, 10 * N])
def test_more_atoms_than_there_are_is_no_error(n_nonzero, dtype, method):
    signals, unit = unit_problem(dtype, m=10)
    codes = encode(signals, unit, method, n_nonzero=n_nonzero)
    assert (codes.sizes <= (D if method == "orthogonal" else N)).all()
    ends = {Status.CONVERGED, Status.MAX_ITER}
    if method == "matching-pursuit" and n_nonzero == N:
        ends.add(Status.MAX_NONZERO)
    assert set(codes.counts()) <= ends
    assert np.isfinite(codes.values).all()
