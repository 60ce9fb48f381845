"""Exact non-negative least squares: SciPy's numbers, an exhaustive search's, and the optimality
conditions, whatever the units and however dependent the atoms."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from pursuit.base.errors import InputError
from pursuit.encoding.nonnegative import BLOCK, nonnegative_fits, simplex_fits


def problem(seed, m, n, d, dependent=False):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((n, d)) + rng.uniform(0, 2)
    if dependent and n > 2:
        atoms[-1] = atoms[0] * rng.choice([1.0, 2.0, -1.0])
        atoms[-2] = atoms[0] + atoms[1]
    return rng.standard_normal((m, d)) + rng.uniform(0, 2), atoms


def best_on_simplex(y, atoms):
    """The optimum by trying every support: the free fit on its affine hull, if it is inside."""
    best, answer = np.inf, None
    for size in range(1, len(atoms) + 1):
        for support in map(list, combinations(range(len(atoms)), size)):
            origin, edges = atoms[support[0]], atoms[support[1:]] - atoms[support[0]]
            along = np.linalg.lstsq(edges.T, y - origin, rcond=None)[0]
            shares = np.concatenate([[1 - along.sum()], along])
            value = ((y - shares @ atoms[support]) ** 2).sum()
            if (shares >= -1e-13).all() and value < best:
                best, answer = value, np.zeros(len(atoms))
                answer[support] = shares
    return answer


SIZES = st.tuples(st.integers(1, 30), st.integers(1, 12), st.integers(1, 20))


# Sum left free


@given(seed=st.integers(0, 10**6), sizes=SIZES)
@settings(max_examples=100)
def test_coefficients_equal_scipy_nnls(seed, sizes):
    m, n, d = sizes
    signals, atoms = problem(seed, m, min(n, d), d)
    fits = nonnegative_fits(signals, atoms)
    expected = np.array([nnls(atoms.T, y)[0] for y in signals])
    condition = np.linalg.cond(atoms)
    np.testing.assert_allclose(fits.coefficients, expected, atol=1e-10 * condition, rtol=1e-8)
    assert fits.finished.all()


def test_urban_abundances_equal_scipy_nnls(urban):
    pixels, endmembers = urban
    expected = [nnls(endmembers.T, y) for y in pixels]
    fits = nonnegative_fits(pixels, endmembers)
    np.testing.assert_allclose(fits.coefficients, [a for a, _ in expected], atol=1e-8)
    np.testing.assert_allclose(fits.residual_norms, [norm for _, norm in expected], rtol=1e-10)


@given(seed=st.integers(0, 10**6), sizes=SIZES)
@settings(max_examples=100)
def test_dependent_atoms_leave_the_fit_of_scipy_nnls(seed, sizes):
    signals, atoms = problem(seed, *sizes, dependent=True)
    fits = nonnegative_fits(signals, atoms)
    norms = np.array([nnls(atoms.T, y)[1] for y in signals])
    np.testing.assert_allclose(fits.residual_norms, norms, atol=1e-9)
    assert (fits.coefficients >= 0).all()
    assert fits.finished.all()


def test_ill_conditioned_atoms_keep_the_digits_that_a_gram_matrix_alone_loses():
    rng = np.random.default_rng(3)
    atoms = 1 + 1e-5 * rng.standard_normal((5, 40))
    truth = rng.uniform(0.5, 1, (20, 5))
    signals = truth @ atoms
    error = np.abs(nonnegative_fits(signals, atoms).coefficients - truth).max()
    unit = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    plain = np.linalg.solve(unit @ unit.T, unit @ signals.T).T / np.linalg.norm(atoms, axis=1)
    assert error < 1e-8
    assert error < np.abs(plain - truth).max() / 10


@pytest.mark.parametrize("factor", [1e-60, 1e-20, 1e20, 1e60])
def test_units_of_signals_and_atoms_only_scale_the_coefficients(factor):
    signals, atoms = problem(1, 40, 6, 9)
    expected = nonnegative_fits(signals, atoms)
    far = nonnegative_fits(signals * factor, atoms)
    np.testing.assert_allclose(far.coefficients / factor, expected.coefficients, atol=1e-13)
    np.testing.assert_allclose(far.residual_norms / factor, expected.residual_norms, rtol=1e-12)
    one = atoms.copy()
    one[2] *= factor
    mixed = nonnegative_fits(signals, one).coefficients
    mixed[:, 2] *= factor
    np.testing.assert_allclose(mixed, expected.coefficients, atol=1e-12)


# Sum fixed at one


@given(seed=st.integers(0, 10**6), sizes=st.tuples(st.integers(1, 8), st.integers(1, 6)))
@settings(max_examples=60)
def test_shares_equal_an_exhaustive_search(seed, sizes):
    n, d = sizes
    signals, atoms = problem(seed, 5, min(n, d + 1), d)
    fits = simplex_fits(signals, atoms)
    expected = [best_on_simplex(y, atoms) for y in signals]
    np.testing.assert_allclose(fits.coefficients, expected, atol=1e-7)


def test_shares_of_200_urban_pixels_equal_an_exhaustive_search_and_a_general_qp(urban):
    pixels, endmembers = urban
    chosen = pixels[np.random.default_rng(0).choice(len(pixels), 200, replace=False)]
    found = simplex_fits(chosen, endmembers).coefficients
    np.testing.assert_allclose(found, [best_on_simplex(y, endmembers) for y in chosen], atol=1e-10)
    gram = endmembers @ endmembers.T
    for y, shares in zip(chosen, found, strict=True):
        b = endmembers @ y
        qp = minimize(
            lambda a, b=b: 0.5 * a @ gram @ a - b @ a,
            np.full(6, 1 / 6),
            jac=lambda a, b=b: gram @ a - b,
            method="SLSQP",
            bounds=[(0, None)] * 6,
            constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": lambda a: np.ones(6)},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(shares, qp.x, atol=1e-6)


@given(seed=st.integers(0, 10**6), sizes=SIZES)
@settings(max_examples=100)
def test_shares_are_feasible_and_optimal_for_any_atoms(seed, sizes):
    signals, atoms = problem(seed, *sizes, dependent=True)
    fits = simplex_fits(signals, atoms)
    shares = fits.coefficients
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=4e-16 * len(atoms))
    residuals = signals - shares @ atoms
    slopes = residuals @ atoms.T
    common = (slopes * shares).sum(axis=1, keepdims=True)
    assert (slopes - common).max() < 1e-9  # no atom promises more than those in use
    np.testing.assert_allclose(fits.residual_norms, np.linalg.norm(residuals, axis=1), atol=1e-12)
    assert fits.finished.all()


def test_shade_and_equal_endmembers_are_welcome_where_shares_sum_to_one():
    atoms = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    shares = simplex_fits([[0.5, 1.0, 1.5], [2.0, 4.0, 6.0]], atoms).coefficients
    np.testing.assert_allclose(shares @ atoms, [[0.5, 1.0, 1.5], [2.0, 4.0, 6.0]], atol=1e-14)
    same = simplex_fits([[5.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]).coefficients
    np.testing.assert_array_equal(same, [[1.0, 0.0]])


def test_pixels_far_from_the_endmembers_still_get_shares():
    signals, atoms = problem(4, 30, 6, 9)
    for factor in (1e8, 1e60):
        shares = simplex_fits(signals * factor, atoms).coefficients
        corners = np.argmax(signals @ atoms.T, axis=1)
        np.testing.assert_array_equal(np.argmax(shares, axis=1), corners)
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-15)


@pytest.mark.parametrize("factor", [1e-60, 1e-20, 1e20, 1e60])
def test_common_units_change_no_share(factor):
    signals, atoms = problem(5, 40, 6, 9)
    expected = simplex_fits(signals, atoms).coefficients
    found = simplex_fits(signals * factor, atoms * factor).coefficients
    np.testing.assert_allclose(found, expected, atol=1e-13)


# Both


@pytest.mark.parametrize("solver", [nonnegative_fits, simplex_fits])
def test_the_number_of_threads_changes_no_bit_and_inputs_are_left_alone(solver):
    signals, atoms = problem(6, 3 * BLOCK + 17, 5, 8)
    copies = signals.copy(), atoms.copy()
    one, three = solver(signals, atoms, threads=1), solver(signals, atoms, threads=3)
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(signals, copies[0])
    np.testing.assert_array_equal(atoms, copies[1])


@pytest.mark.parametrize("solver", [nonnegative_fits, simplex_fits])
def test_float32_stays_float32_with_the_answer_of_float64(solver):
    signals, atoms = (array.astype(np.float32) for array in problem(7, 30, 5, 8))
    found = solver(signals, atoms).coefficients
    exact = solver(signals.astype(np.float64), atoms.astype(np.float64)).coefficients
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, exact.astype(np.float32))


def test_signals_of_zero_and_outside_the_cone_get_zeros():
    atoms = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    fits = nonnegative_fits([[0.0, 0.0, 0.0], [-1.0, -2.0, 3.0], [0.0, 2.0, 1.0]], atoms)
    np.testing.assert_array_equal(fits.coefficients, [[0, 0], [0, 0], [0, 2]])
    np.testing.assert_allclose(fits.residual_norms, [0, np.sqrt(14), 1])


@pytest.mark.parametrize(
    ("signals", "atoms", "sentence"),
    [
        ([[1.0, np.nan]], [[1.0, 2.0]], "signals: expected finite numbers"),
        ([[1.0, 2.0]], [[1.0, np.inf]], "atoms: expected finite numbers"),
        ([[1.0, 2.0]], [[1.0, 2.0, 3.0]], "signals: expected rows of 3 numbers"),
        ([[1.0 + 1j, 2.0]], [[1.0, 2.0]], "signals: expected real numbers"),
        ([1.0, 2.0], [[1.0, 2.0]], "signals: expected 2 dimension"),
    ],
)
@pytest.mark.parametrize("solver", [nonnegative_fits, simplex_fits])
def test_wrong_input_is_named(solver, signals, atoms, sentence):
    with pytest.raises(InputError, match=sentence):
        solver(signals, atoms)


def test_what_cannot_be_in_a_fit_is_refused():
    with pytest.raises(InputError, match="atoms must be nonzero, got zeros in atom 1"):
        nonnegative_fits([[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]])
    with pytest.raises(InputError, match=r"signals must be zero or .* rescale the data"):
        simplex_fits([[1e300, 2e300]], [[1.0, 0.0], [0.0, 1.0]])
