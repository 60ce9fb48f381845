"""Codes behave as a sequence of codes and as a matrix, in memory and on disk."""

import numpy as np
import pytest

from pursuit import Codes, InputError, Status, encode

RNG = np.random.default_rng(3)
ATOMS = RNG.standard_normal((40, 12))
SIGNALS = RNG.standard_normal((300, 12))
SIGNALS[5] = 0  # a code without atoms
SELECTIONS = [
    slice(None),
    slice(3, 7),
    slice(None, None, -1),
    slice(280, None, 3),
    slice(4, 4),
    [7, 7, 0, -1],
    np.array([299, 2]),
    np.arange(300) % 3 == 1,
    [],
]


@pytest.fixture(params=["memory", "folder", "file"])
def codes(request, tmp_path):
    if request.param == "folder":
        return encode(SIGNALS, ATOMS, rtol=0.3, out=tmp_path / "codes")
    codes = encode(SIGNALS, ATOMS, rtol=0.3)
    if request.param == "file":
        codes.save(tmp_path / "codes.npz")
        return Codes.load(tmp_path / "codes.npz")
    return codes


def test_a_code_says_what_the_arrays_say_about_its_signal(codes):
    assert len(codes) == 300
    for i in (0, 5, 17, -1, np.int64(299)):
        code, there = codes[i], int(i) % 300
        entries = slice(codes.indptr[there], codes.indptr[there + 1])
        assert np.array_equal(code.indices, codes.indices[entries])
        assert np.array_equal(code.values, codes.values[entries])
        assert code.residual_norm == codes.residual_norms[there]
        assert code.iterations == codes.iterations[there]
        assert code.status is codes.status(there)
        assert len(code) == codes.sizes[there]
        assert np.array_equal(np.asarray(code), code.toarray())
        np.testing.assert_allclose(code @ ATOMS, SIGNALS[there], atol=code.residual_norm * 1.01)
    assert len(codes[5]) == 0
    assert codes[5].status is Status.CONVERGED


def test_iterating_gives_the_code_of_every_signal(codes):
    dense = np.array([code.toarray() for code in codes])
    assert np.array_equal(dense, codes.toarray())
    assert [code.status for code in codes] == [codes.status(i) for i in range(len(codes))]


@pytest.mark.parametrize("key", SELECTIONS, ids=repr)
def test_a_selection_of_codes_is_that_of_the_dense_array(codes, key):
    some = codes[key]
    expected = codes.toarray()[np.asarray(key, int) if isinstance(key, list) else key]
    assert isinstance(some, Codes)
    assert some.shape == expected.shape
    assert np.array_equal(some.toarray(), expected)
    assert np.array_equal(some.matrix.toarray(), expected)
    rows = np.arange(300)[np.asarray(key, int) if isinstance(key, list) else key]
    assert np.array_equal(some.residual_norms, codes.residual_norms[rows])
    assert np.array_equal(some.iterations, codes.iterations[rows])
    assert np.array_equal(some.statuses, codes.statuses[rows])
    assert (some.method, some.plan, some.dtype) == (codes.method, codes.plan, codes.dtype)
    assert str(some)
    np.testing.assert_allclose(some @ ATOMS, expected @ ATOMS, atol=1e-12)


def test_orthogonal_codes_keep_the_order_of_choice_in_a_selection():
    codes = encode(SIGNALS, ATOMS, n_nonzero=5)
    assert any((np.diff(code.indices) < 0).any() for code in codes)
    assert np.array_equal(codes[::-1].indices[:5], codes[-1].indices)


@pytest.mark.parametrize("key", [300, -301, [300], [-301]])
def test_a_signal_that_is_not_there_is_an_index_error(codes, key):
    with pytest.raises(IndexError, match="300"):
        codes[key]


@pytest.mark.parametrize(
    "key", ["1", 1.0, None, (1, 2), (1, 2, 3.0), [[1]], True, [True, False], (0, 0.5)]
)
def test_what_is_no_number_of_a_signal_is_refused(codes, key):
    with pytest.raises(InputError, match="expected the number of a signal"):
        codes[key]


def test_codes_are_a_dense_array_to_numpy(codes):
    dense = np.asarray(codes)
    assert dense.shape == (300, 40)
    assert dense.dtype == np.float64
    assert np.array_equal(dense, codes.matrix.toarray())
    assert np.asarray(codes, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        np.array(codes, copy=False)


def test_nothing_that_is_done_to_the_matrix_changes_the_codes(codes):
    before = {name: getattr(codes, name).copy() for name in ("indices", "values", "indptr")}
    fit, first = codes @ ATOMS, codes[0].toarray()
    assert any((np.diff(code.indices) < 0).any() for code in codes)  # in the order of choice
    matrix = codes.matrix
    assert matrix is codes.matrix
    assert matrix.has_sorted_indices
    assert np.array_equal(matrix.toarray(), codes.toarray())
    matrix.data[:] = np.nan
    matrix.indices[:] = 0
    matrix.indptr[:] = 0
    for name, array in before.items():
        assert np.array_equal(getattr(codes, name), array), name
    assert np.array_equal(codes @ ATOMS, fit)
    assert np.array_equal(codes[0].toarray(), first)


def test_scikit_learn_takes_the_matrix_and_leaves_the_codes_alone():
    from sklearn.preprocessing import normalize

    codes = encode(SIGNALS[:5], ATOMS, n_nonzero=4)
    before = codes.indices.copy()
    normalize(codes.matrix)
    assert np.array_equal(codes.indices, before)


def test_loading_a_folder_names_the_function_that_opens_it(tmp_path):
    encode(np.eye(3), np.eye(3), n_nonzero=1, out=tmp_path / "codes")
    with pytest.raises(InputError, match=r"got the folder .*codes; .* with Codes\.open\(folder\)"):
        Codes.load(tmp_path / "codes")
