"""Sparse arrays whose indices point elsewhere are refused before anything follows them."""

import numpy as np
import pytest
from scipy import sparse

from pursuit import (
    Coordinates,
    InputError,
    LeastSquares,
    Logistic,
    MatrixDistance,
    MatrixEntries,
    Operator,
    SparseDictionary,
    SparsePlusLowRank,
    estimators,
    solve,
)

RNG = np.random.default_rng(0)
X, Y, LABELS = RNG.standard_normal((6, 4)), np.arange(6.0), np.array([0.0, 1, 1, 0, 1, 0])
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")

# Every door that takes sparse arrays: what the argument is called, and a number that it leads to.
DOORS = {
    "LeastSquares": ("A", lambda A: solve(LeastSquares(A, Y), Coordinates(4), max_iter=5).x),
    "Logistic": ("X", lambda A: Logistic(A, LABELS).gradient(np.ones(4))),
    "SparseDictionary": ("atoms", lambda A: SparseDictionary(A).correlate(np.ones(4))),
    "Operator": ("operator", lambda A: Operator(A).norms),
    "MatrixEntries": ("B", lambda A: MatrixEntries(A).value(np.ones((6, 4)))),
    "MatrixDistance": ("B", lambda A: MatrixDistance(A).value(np.ones((6, 4)))),
    "SparsePlusLowRank": ("sparse", lambda A: SparsePlusLowRank(A, X[:, :1], X[:4, :1]).toarray()),
    "regression": ("X", lambda A: estimators.PursuitRegressor().fit(A, Y).coef_),
    "codes": ("X", lambda A: estimators.PursuitCoder(X).fit(X).transform(A)),
}


def with_parts(format, **parts):
    """A sparse array some of whose parts were assigned."""
    array = sparse.csr_array(X).asformat(format)
    for name, change in parts.items():
        setattr(array, name, change(getattr(array, name).copy()))
    return array


def with_item(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def with_first_row(row):
    array = sparse.lil_array(X)
    array.rows[0] = row
    return array


LIES = {
    **{
        f"{format}, {name}": (lambda f=format, p=parts: with_parts(f, **p))
        for format in ("csr", "csc", "bsr")
        for name, parts in {
            "an index beyond": {"indices": with_item(-1, 2**30)},
            "an index below": {"indices": with_item(-1, -(2**30))},
            "pointers that fall": {"indptr": with_item(1, 2**30)},
            "a first pointer below": {"indptr": with_item(0, -5)},
            "a last pointer beyond": {"indptr": with_item(-1, 2**30)},
            "pointers too many": {"indptr": lambda p: np.append(p, 2**30)},
            "pointers too few": {"indptr": lambda p: p[:-1]},
            "indices too few": {"indices": lambda i: i[:1]},
            "entries too few": {"data": lambda d: d[:1]},
            "indices of no whole numbers": {"indices": lambda i: i + 0.25},
        }.items()
        if (format, name) != ("bsr", "indices too few")  # one block is all there is
    },
    "coo, beyond": lambda: with_parts("coo", row=lambda i: i + 2**30),
    "coo, below": lambda: with_parts("coo", col=lambda i: i - 2),
    "coo, entries too few": lambda: with_parts("coo", data=lambda d: d[:2]),
    "dia, far": lambda: with_parts("dia", offsets=lambda o: o + (2**31 - 9)),
    "dia, diagonals too few": lambda: with_parts("dia", data=lambda d: d[:1]),
    "lil, beyond": lambda: with_first_row([0, 2**30, 1, 2]),
    "lil, too few": lambda: with_first_row([0]),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("door", DOORS)
def test_indices_that_point_elsewhere_are_refused_by_name(door, lie):
    argument, enter = DOORS[door]
    with pytest.raises(InputError, match=rf"^{argument}: expected .* indices inside of its shape"):
        enter(LIES[lie]())


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("door", DOORS)
def test_every_format_of_scipy_is_taken_for_the_matrix_that_it_is(door, format):
    _, enter = DOORS[door]
    expected = enter(sparse.csr_array(X))
    for made in (sparse.csr_array(X), sparse.csr_matrix(X)):
        np.testing.assert_allclose(enter(made.asformat(format)), expected, rtol=1e-12)


@pytest.mark.parametrize("format", FORMATS)
def test_the_entries_of_every_format_are_looked_at(format):
    spoilt = X.copy()
    spoilt[3, 2] = np.nan
    for A in (spoilt, X + 1j):
        with pytest.raises(InputError, match=r"^A: expected (finite|real) numbers"):
            LeastSquares(sparse.csr_array(A).asformat(format), Y)


def test_what_a_sparse_array_remembers_of_other_indices_is_not_believed():
    rows = sparse.csr_array((np.ones(4), [0, 1, 2, 3], [0, 4]), shape=(1, 4))
    assert rows.has_canonical_format
    rows.indices = np.array([2, 0, 2, 1], rows.indices.dtype)  # a place twice, and no order
    assert np.array_equal(SparseDictionary(rows).vector(0), [1, 1, 2, 0])
    assert np.array_equal(MatrixEntries(rows).entries, [1, 1, 2])


def test_integers_in_one_place_are_added_as_numbers():
    twice = (np.array([100, 100], np.int8), ([0, 0], [0, 0]))
    assert SparseDictionary(sparse.coo_array(twice, shape=(1, 2))).norms[0] == 200


def test_numbers_in_one_place_that_have_no_sum_are_refused():
    twice = (np.array([1e308, 1e308]), [0, 0], [0, 2])
    with pytest.raises(InputError, match=r"^atoms: expected finite numbers, got inf"):
        SparseDictionary(sparse.csr_array(twice, shape=(1, 2)))


def test_a_sparse_array_of_one_axis_is_refused():
    with pytest.raises(InputError, match=r"^A: expected 2 dimension\(s\), got shape \(4,\)"):
        LeastSquares(sparse.coo_array(X[0]), Y)
