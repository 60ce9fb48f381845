"""float32 in big-endian byte order, as FITS files hold it, is computed as native float32."""

import numpy as np
import pytest

import pursuit
from pursuit import Dictionary, SparseDictionary, SquaredDistance, decompose, encode, learn, solve
from pursuit.estimators import (
    OrthogonalMatchingPursuit,
    PenalisedRegressor,
    PursuitCoder,
    PursuitDictionary,
    PursuitRegressor,
)
from pursuit.unmixing import pick, unmix

RNG = np.random.default_rng(0)
ATOMS = np.abs(RNG.standard_normal((20, 12))).astype(np.float32)
SIGNALS = np.abs(RNG.standard_normal((60, 12))).astype(np.float32)
TARGET = (SIGNALS[:, 0] - SIGNALS[:, 3]).astype(np.float32)


def big(array):
    return array.astype(">f4")


@pytest.mark.parametrize("method", ["orthogonal", "matching-pursuit", "accelerated"])
def test_encode_keeps_big_endian_float32(method):
    native = encode(SIGNALS, ATOMS, method, max_iter=4)
    codes = encode(big(SIGNALS), big(ATOMS), method, max_iter=4)
    assert codes.values.dtype == native.values.dtype == np.float32
    np.testing.assert_array_equal(codes.values, native.values)


def test_encode_keeps_big_endian_float32_of_blocks(tmp_path):
    codes = encode(iter([big(SIGNALS)]), big(ATOMS), n_nonzero=3, out=tmp_path / "codes")
    assert codes[:].toarray().dtype == np.float32


def test_solve_keeps_big_endian_float32():
    f = SquaredDistance(big(SIGNALS[0]))
    result = solve(f, Dictionary(big(ATOMS)), max_iter=5)
    assert f.dtype == result.x.dtype == np.float32
    np.testing.assert_array_equal(
        result.x, solve(SquaredDistance(SIGNALS[0]), Dictionary(ATOMS), max_iter=5).x
    )


def test_sparse_atoms_keep_big_endian_float32():
    from scipy.sparse import csr_array

    matrix = csr_array(ATOMS)
    matrix.data = big(matrix.data)
    assert SparseDictionary(matrix).dtype == np.float32


@pytest.mark.parametrize("method", ["online", "aksvd"])
def test_learn_keeps_big_endian_float32(method):
    arguments = {"n_atoms": 8, "n_nonzero": 2, "method": method}
    native, learned = learn(SIGNALS, **arguments), learn(big(SIGNALS), **arguments)
    assert learned.atoms.dtype == native.atoms.dtype == np.float32
    np.testing.assert_array_equal(learned.atoms, native.atoms)


def test_decompose_takes_big_endian_float32():
    sound = np.cos(np.arange(512, dtype=np.float32) / 5)
    native, book = (decompose(s, 100.0, 10) for s in (sound, big(sound)))
    np.testing.assert_array_equal(book.amplitude, native.amplitude)


@pytest.mark.parametrize("constraint", ["none", "non-negative", "sum-to-one"])
def test_unmix_keeps_big_endian_float32(constraint):
    shares = RNG.dirichlet(np.ones(3), 60)
    pixels = (shares @ ATOMS[:3]).astype(np.float32)
    unmixing = unmix(big(pixels), big(ATOMS[:3]), constraint)
    assert unmixing.abundances.dtype == unmixing.endmembers.dtype == np.float32
    assert pick(big(pixels), 3).endmembers.dtype == np.float32


@pytest.mark.parametrize(
    "estimator", [OrthogonalMatchingPursuit(), PenalisedRegressor(), PursuitRegressor()]
)
def test_regressors_keep_big_endian_float32(estimator):
    estimator.fit(big(SIGNALS), big(TARGET))
    assert estimator.coef_.dtype == np.float32
    assert estimator.predict(big(SIGNALS)).dtype == np.float32


def test_coders_keep_big_endian_float32():
    coder = PursuitCoder(big(ATOMS), n_nonzero=3).fit(big(SIGNALS))
    assert coder.transform(big(SIGNALS)).dtype == np.float32
    learned = PursuitDictionary(8).fit(big(SIGNALS))
    assert learned.components_.dtype == np.float32


def test_double_precision_stays_double_in_any_byte_order():
    codes = pursuit.encode(SIGNALS.astype(">f8"), ATOMS.astype(">f8"), n_nonzero=2)
    assert codes.values.dtype == np.float64
    assert codes.values.dtype.isnative
