"""The growing Cholesky factor, conjugate gradients and the line search."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit.linalg.cholesky import GrowingCholesky
from pursuit.linalg.conjugate_gradients import conjugate_gradients
from pursuit.linalg.line_search import line_search


def grown(gram):
    factor = GrowingCholesky()
    for k in range(len(gram)):
        factor.append(factor.row(gram[k, :k], gram[k, k]))
    return factor


def gram_of(size, seed, length=30):
    rows = np.random.default_rng(seed).standard_normal((size, length))
    return rows @ rows.T


def inflation(gram):
    return (np.diag(gram) * np.diag(np.linalg.inv(gram))).max()


# A growing factor ---------------------------------------------------------------------------


@given(st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_the_factor_grows_into_that_of_the_whole_matrix(size, seed):
    gram = gram_of(size, seed)
    factor = grown(gram)
    b = np.random.default_rng(seed).standard_normal(size)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(gram, b), rtol=1e-6)
    assert factor.condition == pytest.approx(inflation(gram), rel=1e-6)
    copy = factor.row(gram[0], gram[0, 0])
    assert copy.pivot == pytest.approx(0, abs=1e-9 * gram[0, 0])
    assert factor.inflation(copy) > 1e9


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_deleted_rows_leave_the_factor_of_the_others(size, seed):
    rng, gram = np.random.default_rng(seed), gram_of(size, seed)
    factor, kept = grown(gram), list(range(size))
    while kept:
        k = int(rng.integers(len(kept)))
        del kept[k]
        rest = gram[np.ix_(kept, kept)]
        factor.delete(k, rest)
        b = rng.standard_normal(len(kept))
        np.testing.assert_allclose(factor.solve(b), np.linalg.solve(rest, b), rtol=1e-6)
        assert factor.condition == pytest.approx(inflation(rest) if kept else 1, rel=1e-6)
    factor.append(factor.row(np.empty(0), 4.0))
    assert factor.solve(np.ones(1)) == pytest.approx([0.25])


def test_rows_of_a_nearly_singular_matrix_are_deleted_too(monkeypatch):
    gram = gram_of(6, 2)
    factor = grown(gram)

    def fails(matrix):
        raise np.linalg.LinAlgError

    with monkeypatch.context() as patched:
        patched.setattr("numpy.linalg.cholesky", fails)
        for k in (2, 4, 0):
            gram = np.delete(np.delete(gram, k, 0), k, 1)
            factor.delete(k, gram)
    b = np.ones(3)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(gram, b), rtol=1e-10)


def test_inflation_is_the_condition_after_the_row_has_entered():
    gram = gram_of(8, 3, length=9)
    factor = grown(gram[:7, :7])
    row = factor.row(gram[7, :7], gram[7, 7])
    ahead = factor.inflation(row)
    factor.append(row)
    assert ahead == pytest.approx(factor.condition)


def test_a_loaded_factor_solves_to_the_same_bits():
    gram = gram_of(9, 5)
    factor, other = grown(gram), GrowingCholesky()
    other.load(factor.packed, np.diag(gram))
    b = np.arange(9.0)
    assert factor.solve(b).tobytes() == other.solve(b).tobytes()


def test_factors_of_orthogonal_atoms_join():
    grams = [gram_of(4, 0), gram_of(3, 1)]
    first, second = (grown(gram) for gram in grams)
    first.extend(second)
    b = np.random.default_rng(2).standard_normal(7)
    apart = [np.linalg.solve(grams[0], b[:4]), np.linalg.solve(grams[1], b[4:])]
    np.testing.assert_allclose(first.solve(b), np.concatenate(apart), rtol=1e-9)
    assert first.condition == pytest.approx(max(map(inflation, grams)))


# Conjugate gradients --------------------------------------------------------------------------


@pytest.mark.parametrize("preconditioned", [False, True])
def test_conjugate_gradients_solve_in_as_many_steps_as_unknowns(preconditioned):
    H = gram_of(12, 4)
    b, calls = np.random.default_rng(1).standard_normal(12), []
    precondition = (lambda r: np.linalg.solve(H, r)) if preconditioned else None

    def apply(p):
        calls.append(p)
        return H @ p

    x = conjugate_gradients(apply, b, np.sqrt(np.diag(H)), 1e-12, 30, precondition)
    np.testing.assert_allclose(x, np.linalg.solve(H, b), rtol=1e-8)
    assert len(calls) <= (2 if preconditioned else 15)


def test_conjugate_gradients_end_along_a_direction_without_curvature():
    flat = np.ones((2, 2))
    x = conjugate_gradients(flat.dot, np.array([1.0, -1.0]), np.ones(2), 0.0, 9)
    assert x.tolist() == [0, 0]


# A line search ----------------------------------------------------------------------------------

DERIVATIVES = {
    "quadratic": lambda t: 3 * t - 1,
    "far": lambda t: t - 1e9,
    "near": lambda t: t - 1e-9,
    "exponential": lambda t: np.exp(50 * t) - np.exp(50 * 0.3),
    "kink": lambda t: max(t - 2, 1e-3 * (t - 2)) if t < 3 else 1e6 * (t - 2),
    "logistic": lambda t: 1 / (1 + np.exp(-t + 5)) - 0.9,
    "not finite beyond": lambda t: t - 0.1 if t < 0.11 else np.nan,
}


@pytest.mark.parametrize("start", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_line_search_ends_where_the_derivative_is_small(name, start):
    derivative, calls = DERIVATIVES[name], []

    def counted(t):
        calls.append(t)
        return derivative(t)

    fall = -derivative(0.0)
    with np.errstate(over="ignore"):
        t = line_search(counted, fall, start, accuracy=(1e-9, 1e-9), max_evaluations=100)
    assert abs(derivative(t)) <= 1e-9 * fall
    assert len(calls) < 80


def test_a_line_search_ends_at_its_limit():
    assert line_search(lambda t: t - 5, 5.0, limit=2.0) == 2
    assert line_search(lambda t: t - 1, 1.0, limit=2.0) == pytest.approx(1, abs=0.5)


def test_a_function_that_falls_for_ever_has_no_minimizer():
    assert line_search(lambda t: -1.0, 1.0) == inf


def test_a_line_search_that_finds_nothing_stays_where_the_function_falls():
    assert line_search(lambda t: 1.0, 1.0, max_evaluations=20) == 0


def test_a_line_search_never_ends_above_where_it_began():
    """φ falls steeply near 0 only, and rises for long at a rate that is small beside that."""
    for sharpness, rate in ((1e3, 1e-4), (1e5, 5e-4), (10.0, 1e-3)):

        def derivative(t, sharpness=sharpness, rate=rate):
            return -np.exp(-sharpness * t) + rate

        t = line_search(derivative, 1 - rate, start=1.0)
        assert t > 0
        assert rate * t - (1 - np.exp(-sharpness * t)) / sharpness < 0
