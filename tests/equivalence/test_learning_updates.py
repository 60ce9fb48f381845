"""The compiled updates of `learn` equal their formulas, written out."""

import numpy as np
import pytest

from pursuit import encode, learn
from pursuit.encoding import Codes
from pursuit.kernels.learning import CodesBySignal, sweep_residuals, take_residuals
from pursuit.learning import statistics
from pursuit.learning.coding import columns_of, rows_of
from pursuit.learning.online import FORGETTING
from pursuit.learning.signals import BATCH, batch_size
from pursuit.learning.statistics import Statistics

RNG = np.random.default_rng(0)
N, D, M, K = 70, 12, 300, 3


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


ATOMS, SIGNALS = unit(RNG.standard_normal((N, D))), RNG.standard_normal((M, D))


def dense(rows):
    codes = np.zeros((len(rows.indptr) - 1, N))
    for i in range(len(codes)):
        here = slice(rows.indptr[i], rows.indptr[i + 1])
        codes[i, rows.indices[here]] = rows.values[here]
    return codes


@pytest.fixture
def rows():
    found = rows_of(encode(SIGNALS, ATOMS, n_nonzero=K))
    return CodesBySignal(found.indptr, found.indices, found.values.copy())


def test_codes_by_atom_are_those_by_signal(rows):
    columns, expected = columns_of(rows, N), dense(rows)
    for j in range(N):
        here = slice(columns.indptr[j], columns.indptr[j + 1])
        users = np.flatnonzero(expected[:, j])
        assert columns.signals[here].tolist() == users.tolist()
        assert rows.values[columns.places[here]].tolist() == expected[users, j].tolist()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_are_forgotten_sums_of_products(rows, threads, dtype, monkeypatch):
    monkeypatch.setattr(statistics, "LITTLE", 0)
    before = Statistics(RNG.standard_normal((N, N)), RNG.standard_normal((N, D)))
    x = SIGNALS.astype(dtype)
    found = statistics.add(before, 0.7, rows, x, Statistics.zeros(N, D), threads)
    codes = dense(rows)
    np.testing.assert_allclose(found.gram, 0.7 * before.gram + codes.T @ codes, atol=1e-12)
    moment = 0.7 * before.moment + codes.T @ x.astype(np.float64)
    np.testing.assert_allclose(found.moment, moment, atol=1e-12)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("on_sphere", [False, True])
def test_a_sweep_is_exact_coordinate_descent_atom_by_atom(rows, nonnegative, on_sphere):
    codes = dense(rows)
    codes[:, 5] = 0  # an atom that no signal uses
    A, B = codes.T @ codes, codes.T @ SIGNALS
    expected = ATOMS.copy()
    for j in range(N):
        if A[j, j] == 0:
            continue
        u = A[j, j] * expected[j] + B[j] - A[j] @ expected
        u = np.maximum(u, 0) if nonnegative else u
        expected[j] = unit(u) if on_sphere else u / A[j, j]
    found = ATOMS.copy()
    statistics.descend(Statistics(A, B), found, on_sphere, nonnegative)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_approximate_ksvd_is_its_box(rows, nonnegative):
    if nonnegative:
        rows.values[:] = np.abs(rows.values)
    codes, expected = dense(rows), ATOMS.copy()
    for j in range(N):
        users = np.flatnonzero(codes[:, j])
        E = SIGNALS[users] - codes[users] @ expected + np.outer(codes[users, j], expected[j])
        d = codes[users, j] @ E
        expected[j] = unit(np.maximum(d, 0) if nonnegative else d)
        g = E @ expected[j]
        codes[users, j] = np.maximum(g, 0) if nonnegative else g
    residuals, squares = np.empty_like(SIGNALS), np.empty(M)
    take_residuals(rows, SIGNALS, ATOMS, residuals, squares, 0, M)
    found, columns = ATOMS.copy(), columns_of(rows, N)
    for part in ((0, 40), (40, N)):
        sweep_residuals(columns, rows.values, residuals, found, nonnegative, *part)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    np.testing.assert_allclose(dense(rows), codes, atol=1e-11)
    np.testing.assert_allclose(residuals, SIGNALS - codes @ expected, atol=1e-11)


def test_one_pass_of_optimal_directions_is_a_least_squares_fit():
    learned = learn(SIGNALS, N, K, "mod", start=ATOMS, passes=1)
    codes = encode(SIGNALS, ATOMS, n_nonzero=K).toarray()
    fit = np.linalg.pinv(codes) @ SIGNALS
    used = np.abs(codes).sum(axis=0) > 0
    assert used.all()
    np.testing.assert_allclose(learned.atoms, unit(fit), atol=1e-8)


def test_one_online_pass_is_the_recursion_over_its_batches():
    signals = RNG.standard_normal((1800, D))
    learned = learn(signals, N, K, start=ATOMS, passes=1, seed=3)
    size = batch_size(1800)
    order = np.random.default_rng([3, 1, 0, 0]).permutation(1800)
    parts = np.split(order, np.linspace(0, 1800, round(1800 / size) + 1).astype(int)[1:-1])
    assert len(parts) == 7
    atoms, A, B = ATOMS.copy(), np.zeros((N, N)), np.zeros((N, D))
    for t, part in enumerate(parts, start=1):
        codes = encode(signals[part], atoms, n_nonzero=K).toarray()
        beta = (1 - 1 / t) ** FORGETTING if t / 7 <= 0.8 else 1.0
        A, B = beta * A + codes.T @ codes, beta * B + codes.T @ signals[part]
        for j in np.flatnonzero(A.diagonal()):
            atoms[j] = unit(A[j, j] * atoms[j] + B[j] - A[j] @ atoms)
    np.testing.assert_allclose(learned.atoms, atoms, atol=1e-9)
    assert batch_size(None) == batch_size(10**9) == BATCH


def test_what_is_traced_is_the_objective_of_the_codes():
    learned = learn(SIGNALS, N, K, "aksvd", start=ATOMS, passes=1)
    codes: Codes = encode(SIGNALS, ATOMS, n_nonzero=K)
    squares = codes.residual_norms**2
    np.testing.assert_allclose(learned.trace.objective[0], squares.mean() / 2)
    np.testing.assert_allclose(learned.trace.share[0], squares.sum() / (SIGNALS**2).sum())
    np.testing.assert_allclose(learned.usage.sum(), K)
