"""What structured sets refuse, in one sentence each."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from pursuit import (
    Cone,
    Coordinates,
    InputError,
    Operator,
    Shifts,
    SparseDictionary,
    Sphere,
    SquaredDistance,
    Union,
    encode,
    solve,
)

LONG = Shifts([[1.0, 2.0, 1.0]], 30_000)


@pytest.mark.parametrize(
    ("templates", "shape", "sentence"),
    [
        (np.ones((1, 30)), 20, "templates no longer than the signal, got 30 entries along axis 0"),
        ([[1.0, np.nan]], 20, "templates: "),
        ([[1.0, 2.0], [0.0, 0.0]], 20, "templates must be nonzero, got zeros in template 1"),
        ([[1.0, 2.0], [0.0, 1.0], [-2.0, -4.0]], 20, "template 2 is template 0 up to its scale"),
        ([[1.0, 2.0]], (5, 5), "templates with 2 axes"),
        (np.ones((1, 2, 2, 2)), (5, 5, 5), "move along at most two axes"),
        ([[1.0, 2.0]], 0, "shape: "),
    ],
)
def test_templates_that_cannot_be_moved_are_refused(templates, shape, sentence):
    with pytest.raises(InputError, match=sentence):
        Shifts(templates, shape)


def test_a_silent_signal_is_optimal_at_once():
    result = solve(SquaredDistance(np.zeros(30)), Shifts([[1.0, 2.0]], 30))
    assert (result.status.name, len(result.support)) == ("CONVERGED", 0)
    assert "the initial point is optimal" in result.message


def test_a_signal_with_nan_or_of_another_length_is_refused():
    with pytest.raises(InputError, match="b: "):
        SquaredDistance([1.0, np.nan, 2.0])
    with pytest.raises(InputError, match=r"shape \(20,\), got \(30,\)"):
        solve(SquaredDistance(np.ones(20)), Shifts([[1.0, 2.0]], 30))


@pytest.mark.parametrize("method", ["accelerated-random", "accelerated-matching-pursuit"])
def test_what_needs_the_matrix_of_a_large_set_says_so(method):
    f = SquaredDistance(np.ones(30_000))
    with pytest.raises(InputError, match=r"29,998 × 30,000 matrix .* never formed"):
        solve(f, LONG, method)
    with pytest.raises(InputError, match="never formed"):
        encode(np.ones((2, 30_000)), LONG)


def test_sparse_dictionaries_refuse_what_has_no_direction():
    with pytest.raises(InputError, match="atoms must be nonzero, got zeros in atom 1"):
        SparseDictionary(sparse.csr_array([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(InputError, match="expected a SciPy sparse matrix, got ndarray"):
        SparseDictionary(np.eye(3))
    with pytest.raises(InputError, match="atoms: "):
        SparseDictionary(sparse.csr_array([[1.0, np.nan]]))
    with pytest.raises(InputError, match="expected 2 entries"):
        SparseDictionary(sparse.csr_array([[1.0, 2.0]]), (3, 2))


def test_operators_refuse_a_wrong_adjoint_and_norms_that_are_none():
    A = np.random.default_rng(0).standard_normal((6, 6))
    wrong = LinearOperator((6, 6), lambda w: A @ w, lambda d: A @ d, dtype=float)
    with pytest.raises(InputError, match="rmatvec that is the adjoint"):
        Operator(wrong)
    with pytest.raises(InputError, match="norms: expected a positive number"):
        Operator(A, norms=[1.0, 2.0])
    with pytest.raises(InputError, match=r"real numbers, got .*complex"):
        Operator(A + 1j)
    with pytest.raises(InputError, match="expected a LinearOperator"):
        Operator("A")
    with pytest.raises(InputError, match="operator must be nonzero, got zeros in atom 2"):
        _ = Operator(A * (np.arange(6) != 2)).norms


def test_operators_whose_products_are_none_are_refused():
    A = np.random.default_rng(0).standard_normal((6, 4))

    def made(forth, back):
        return LinearOperator((6, 4), forth, back, dtype=float)

    with pytest.raises(InputError, match="operator: it has no rmatvec"):
        Operator(made(lambda w: A @ w, None))
    with pytest.raises(InputError, match="operator: of shape"):
        Operator(made(lambda w: w, lambda d: d))
    with pytest.raises(InputError, match="its products are complex"):
        Operator(made(lambda w: A @ w * 1j, lambda d: A.T @ d * -1j))


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_operators_have_atoms_of_any_size(unit):
    A, b = np.random.default_rng(0).standard_normal((6, 4)), SquaredDistance(np.ones(6))
    expected = solve(b, Operator(A), max_iter=5).x
    np.testing.assert_allclose(solve(b, Operator(A * unit), max_iter=5).x, expected, rtol=1e-12)


def test_long_atoms_of_an_operator_meet_large_signals():
    A = np.random.default_rng(0).standard_normal((6, 4))
    expected = Operator(A).unit().atoms.correlate(np.ones(6))
    found = Operator(A * 2.0**200).unit().atoms.correlate(np.full(6, 2.0**200))
    np.testing.assert_allclose(found / 2.0**200, expected, rtol=1e-14)


@pytest.mark.parametrize("share", [0.5, 1.1, 1e6])
def test_norms_that_are_not_those_of_the_atoms_are_refused(share):
    A = np.random.default_rng(0).standard_normal((6, 4))
    norms = np.linalg.norm(A, axis=0)
    assert np.allclose(Operator(A, norms=norms).norms, norms)
    with pytest.raises(InputError, match="norms: atom 0 has the norm"):
        Operator(A, norms=share * norms)


def test_unions_take_finite_sets_of_one_shape():
    with pytest.raises(InputError, match="at least one set"):
        Union()
    with pytest.raises(InputError, match="expected finite sets"):
        Union(Coordinates(3), Sphere(3))
    with pytest.raises(InputError, match="no Cone"):
        Union(Coordinates(3), Cone(Coordinates(3)))
    with pytest.raises(InputError, match="atoms of one shape"):
        Union(Coordinates(3), Coordinates(4))


def test_atoms_are_found_again_by_template_and_place():
    atoms = Shifts(np.random.default_rng(1).standard_normal((3, 2, 4)), (9, 20))
    numbers = np.arange(len(atoms))
    template, row, column = atoms.place(numbers)
    assert np.array_equal(atoms.number(template, column, row), numbers)
    vector = atoms.vector(int(atoms.number(2, 11, 5)))
    assert np.array_equal(vector[5:7, 11:15], atoms.templates[2, 0])
    assert np.count_nonzero(vector) == 8


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ((3, 0, 0), "template: expected 0 … 2, got 3"),
        ((0, [4, 17], 0), "column: expected 0 … 16, got 17"),
        ((0, 0, -1), "row: expected 0 … 7, got -1"),
    ],
)
def test_places_outside_the_signal_have_no_number(where, sentence):
    atoms = Shifts(np.random.default_rng(1).standard_normal((3, 2, 4)), (9, 20))
    with pytest.raises(InputError, match=sentence):
        atoms.number(*where)
