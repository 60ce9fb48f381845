"""Matching pursuit over a handful of atoms, signals abreast, equals `solve` on each signal."""

import numpy as np
import pytest

from pursuit import Dictionary, SquaredDistance, encode, solve
from pursuit.encoding.pursuits import FewAtomsEncoder

STEPS = 40


def problem(n, d, m, dtype, rng):
    atoms = rng.standard_normal((n, d)) * np.exp(rng.standard_normal((n, 1)))
    return rng.standard_normal((m, d)).astype(dtype), atoms.astype(dtype)


@pytest.fixture
def blocks_abreast(monkeypatch):
    """How many blocks were encoded abreast."""
    seen = []
    encode = FewAtomsEncoder.__call__
    monkeypatch.setattr(
        FewAtomsEncoder, "__call__", lambda self, k: seen.append(k.number) or encode(self, k)
    )
    return seen


# Lengths around whole vectors of either type, numbers of signals around whole tiles.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "m"), [(1, 16, 1), (3, 17, 33), (4, 31, 70), (6, 162, 100), (7, 33, 65), (8, 48, 3)]
)
def test_every_code_equals_that_of_solve(n, d, m, dtype, blocks_abreast):
    signals, atoms = problem(n, d, m, dtype, np.random.default_rng(n))
    codes = encode(signals, atoms, "matching-pursuit", max_iter=STEPS)
    assert blocks_abreast
    tolerance = 1e-9 if dtype == np.float64 else 2e-4
    for i, signal in enumerate(signals):
        result = solve(SquaredDistance(signal), Dictionary(atoms), max_iter=STEPS, tol=0)
        row, coef = codes.matrix[[i]].toarray()[0], result.coef.toarray()
        assert np.abs(row - coef).max() <= tolerance * max(np.abs(coef).max(), 1e-30)
        left = np.linalg.norm(signal.astype(float) - row @ atoms.astype(float))
        assert abs(codes.residual_norms[i] - left) <= tolerance * np.linalg.norm(signal)


def test_of_equal_atoms_the_first_is_used(blocks_abreast):
    rng = np.random.default_rng(0)
    signals, atoms = problem(5, 20, 50, np.float64, rng)
    atoms[3] = -atoms[1]
    codes = encode(signals, atoms, "matching-pursuit", max_iter=STEPS)
    assert blocks_abreast
    assert not codes.matrix.toarray()[:, 3].any()
    assert codes.matrix.toarray()[:, 1].any()


def test_two_atoms_that_promise_the_same_take_their_turns(blocks_abreast):
    atoms = np.eye(4, 16)
    codes = encode(np.tile(atoms.sum(axis=0), (3, 1)), atoms, "matching-pursuit", max_iter=STEPS)
    assert blocks_abreast
    np.testing.assert_array_equal(codes.matrix.toarray(), np.ones((3, 4)))
    np.testing.assert_array_equal(codes.iterations, 4)


@pytest.mark.parametrize("scale", [1e-13, 1.0, 1e13])
def test_signals_within_the_atoms_are_fitted_to_rounding(scale, blocks_abreast):
    rng = np.random.default_rng(1)
    atoms = np.linalg.qr(rng.standard_normal((32, 6)))[0].T.astype(np.float32)
    signals = (scale * rng.standard_normal((40, 6)) @ atoms).astype(np.float32)
    codes = encode(signals, atoms, "matching-pursuit", max_iter=200)
    assert blocks_abreast
    assert {status.name for status in codes.counts()} == {"CONVERGED"}
    assert (codes.residual_norms <= 1e-6 * np.linalg.norm(signals.astype(float), axis=1)).all()


def test_blocks_and_the_whole_have_the_same_bits(tmp_path, blocks_abreast):
    rng = np.random.default_rng(2)
    signals, atoms = problem(5, 20, 9000, np.float32, rng)
    # Codes with gaps between them, a signal of zeros, and one that is small.
    signals[::7] = atoms[0]
    signals[4000], signals[8000] = 0, signals[8000] * 1e-13
    whole = encode(signals, atoms, "matching-pursuit", max_iter=STEPS)
    streamed = encode(signals, atoms, "matching-pursuit", max_iter=STEPS, out=tmp_path / "codes")
    assert len(set(blocks_abreast)) > 2
    assert 1 in whole.sizes
    for name in ("indptr", "indices", "values", "residual_norms", "iterations", "statuses"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(streamed, name))
