"""`solve` on inputs that break other libraries: norms, duplicates, ties, units, trivial signals."""

import numpy as np
import pytest

from pursuit import Dictionary, SquaredDistance, Status, solve

N, D, K = 30, 16, 4
METHODS = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal", "accelerated"])
GREEDY = pytest.mark.parametrize("method", ["matching-pursuit", "orthogonal"])
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def make(dtype, seed=0):
    """Return unit atoms and a signal of which no two correlations are close."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((N, D))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signal = rng.permutation(np.linspace(1, 3, N))[:K] @ atoms[:K]
    return atoms.astype(dtype), signal.astype(dtype)


def run(signal, atoms, method, **options):
    options = {"max_iter": 3 * K, "tol": 0} | options
    return solve(SquaredDistance(signal), Dictionary(atoms), method, **options)


def accuracy(dtype):
    return 1e-3 if dtype == np.float32 else 1e-9


@METHODS
@PRECISIONS
@pytest.mark.parametrize("spread", ["norms from 0.5 to 3", "one of 1e8", "one of 1e-8"])
def test_norms_of_atoms_change_neither_support_nor_fit(spread, dtype, method):
    atoms, signal = make(dtype)
    norms = np.random.default_rng(1).uniform(0.5, 3, N)
    if spread.startswith("one"):
        norms = np.where(np.arange(N) == 1, float(spread.split()[-1]), 1.0)
    plain, scaled = (run(signal, rows, method) for rows in (atoms, atoms * norms[:, None]))
    assert scaled.support.tolist() == plain.support.tolist()
    assert np.linalg.norm(scaled.x - plain.x) <= accuracy(dtype) * np.linalg.norm(plain.x)


@PRECISIONS
def test_orthogonal_pursuit_goes_on_past_duplicates_and_sums_of_atoms(dtype):
    atoms, signal = make(dtype)
    more = np.vstack([atoms, atoms[:5], atoms[:1] + atoms[1:2], -2 * atoms[2:3]])
    plain, found = (run(signal, rows, "orthogonal", tol=1e-4, max_iter=N) for rows in (atoms, more))
    assert found.status is plain.status is Status.CONVERGED
    assert np.linalg.norm(found.x - signal) <= 1e-3 * np.linalg.norm(signal)
    assert np.linalg.matrix_rank(more[found.support].astype(float)) == len(found.support)


@METHODS
@PRECISIONS
@pytest.mark.parametrize("sign", [-1, 1])
def test_units_scale_the_result_and_nothing_else(sign, dtype, method):
    atoms, signal = make(dtype)
    power = 2.0 ** (sign * (40 if dtype == np.float32 else 200))  # of the range, about 1e12, 1e60
    for of_signal, of_atoms in ((power, 1), (1, power), (power, power)):
        plain = run(signal, atoms, method)
        scaled = run(signal * dtype(of_signal), atoms * dtype(of_atoms), method)
        assert scaled.status is plain.status
        assert scaled.iterations == plain.iterations
        assert scaled.support.tolist() == plain.support.tolist()
        np.testing.assert_allclose(scaled.x / of_signal, plain.x, rtol=accuracy(dtype) / 1e3)


@METHODS
@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float32, 1e-12), (np.float32, 1e12), (np.float64, 1e-20), (np.float64, 1e20)],
)
def test_decimal_units_give_the_same_supports(dtype, factor, method):
    atoms, signal = make(dtype)
    plain, scaled = run(signal, atoms, method), run(signal * dtype(factor), atoms, method)
    assert scaled.support.tolist() == plain.support.tolist()
    gap = np.linalg.norm(scaled.x / dtype(factor) - plain.x)
    assert gap <= accuracy(dtype) * np.linalg.norm(plain.x)


@GREEDY
def test_float32_gives_the_supports_of_float64(method):
    for seed in range(10):
        single, double = (
            run(signal, atoms, method, max_iter=K)
            for atoms, signal in (make(np.float32, seed), make(np.float64, seed))
        )
        assert single.support.tolist() == double.support.tolist()


@GREEDY
@PRECISIONS
def test_ties_go_to_the_lowest_index(dtype, method):
    atoms = np.eye(D, dtype=dtype)[::-1].copy()
    result = run(np.ones(D, dtype), atoms, method, max_iter=3)
    assert result.support.tolist() == [0, 1, 2]


@GREEDY
@PRECISIONS
def test_trivial_signals_say_so(dtype, method):
    atoms = np.eye(D, dtype=dtype)[: D - 1]
    for signal, support in ((0 * atoms[0], []), (3 * atoms[2], [2]), (np.eye(D)[-1], [])):
        result = run(signal.astype(dtype), atoms, method, tol=1e-6)
        assert result.status is Status.CONVERGED
        assert result.support.tolist() == support


@PRECISIONS
def test_more_atoms_than_there_are_is_no_error(dtype):
    atoms, signal = make(dtype)
    result = run(signal, atoms[:K], "orthogonal", n_nonzero=10 * N, max_iter=N, tol=1e-4)
    assert result.status is Status.CONVERGED
    assert len(result.support) == K
