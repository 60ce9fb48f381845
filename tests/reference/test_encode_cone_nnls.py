"""Non-negative codes against scipy.optimize.nnls."""

import numpy as np
import pytest
from encoded import encode_in
from scipy.optimize import nnls

from pursuit import Cone, Status, encode

FORMS = pytest.mark.parametrize("form", ["gram", "products"])


def assert_fits_on_support(codes, signals, atoms, tolerance=1e-8):
    """The coefficients of each code are those of the best fit of its atoms with a ≥ 0."""
    assert (codes.values > 0).all()
    for i, y in enumerate(signals):
        here = slice(codes.indptr[i], codes.indptr[i + 1])
        used = atoms[codes.indices[here]]
        norms = np.linalg.norm(used, axis=1)
        if len(used):
            expected = nnls((used / norms[:, None]).T, y)[0]
            error = np.abs(codes.values[here] * norms - expected).max()
            assert error <= tolerance * expected.max()


def alike(n, d, condition, rng):
    """Smooth positive rows, as alike as spectra: their condition number is about `condition`."""
    u, _, vt = np.linalg.svd(rng.uniform(0.5, 1, (n, d)), full_matrices=False)
    rows = (u * np.geomspace(1, 1 / condition, n)) @ vt
    return rows * np.sign(rows.sum())


@FORMS
def test_coefficients_on_the_support_are_those_of_scipy_nnls_in_300_cases(form):
    encode = encode_in(form)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, d = rng.integers(1, 60), rng.integers(2, 40)
        shift = rng.uniform(0, 2) * (seed % 2)
        atoms = (rng.standard_normal((n, d)) + shift) * 10 ** rng.uniform(-2, 2, (n, 1))
        signals = rng.standard_normal((3, d)) + shift
        codes = encode(signals, Cone(atoms), n_nonzero=int(rng.integers(1, 15)))
        assert_fits_on_support(codes, signals, atoms)


@FORMS
def test_ill_conditioned_atoms_keep_their_digits(form):
    encode = encode_in(form)
    rng = np.random.default_rng(0)
    atoms = alike(6, 120, 1e4, rng)
    assert 5e3 < np.linalg.cond(atoms) < 2e4
    signals = rng.uniform(0, 1, (300, 6)) @ atoms
    signals += 1e-3 * np.linalg.norm(signals) / 300 * rng.standard_normal(signals.shape)
    codes = encode(signals, Cone(atoms), n_nonzero=6)
    assert codes.sizes.max() > 3
    assert_fits_on_support(codes, signals, atoms)
    exact = encode(signals, Cone(atoms), n_nonzero=7).matrix.toarray()
    expected = np.array([nnls(atoms.T, y)[0] for y in signals])
    np.testing.assert_allclose(exact, expected, atol=1e-8 * expected.max())


def test_urban_codes_of_every_size_are_those_of_scipy_nnls_on_their_support(urban):
    pixels, endmembers = urban
    some = pixels[:: len(pixels) // 700]
    for k in (1, 2, 3, 4):
        codes = encode(some, Cone(endmembers), n_nonzero=k)
        assert (codes.sizes <= k).all()
        assert_fits_on_support(codes, some, endmembers)


@FORMS
def test_urban_without_a_limit_is_the_scipy_nnls_of_every_pixel(urban, form):
    encode = encode_in(form)
    pixels, endmembers = urban
    codes = encode(pixels, Cone(endmembers), n_nonzero=6)
    expected = [nnls(endmembers.T, y) for y in pixels]
    np.testing.assert_allclose(codes.matrix.toarray(), [a for a, _ in expected], atol=1e-10)
    np.testing.assert_allclose(codes.residual_norms, [norm for _, norm in expected], rtol=1e-10)
    sizes = codes.sizes
    assert set(codes.counts()) == {Status.CONVERGED, Status.MAX_NONZERO}
    assert np.array_equal(codes.statuses == Status.MAX_NONZERO.code, sizes == 6)
    assert (codes.iterations >= sizes).all()


@pytest.mark.parametrize("power", [-67, 67])  # about 1e-20 and 1e20
def test_units_scale_the_codes_of_urban_and_nothing_else(urban, power):
    pixels, endmembers = urban
    some, factor = pixels[::10], 2.0**power
    plain = encode(some, Cone(endmembers), n_nonzero=3)
    for other, scale in (
        (encode(some * factor, Cone(endmembers), n_nonzero=3), factor),
        (encode(some, Cone(endmembers * factor), n_nonzero=3), 1 / factor),
        (encode(some * factor, Cone(endmembers * factor), n_nonzero=3), 1.0),
    ):
        assert np.array_equal(other.indices, plain.indices)
        np.testing.assert_allclose(other.values, plain.values * scale, rtol=1e-12)


def test_all_atoms_allowed_gives_the_value_of_scipy_nnls():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = rng.integers(1, 50), rng.integers(1, 30)
        atoms, signals = rng.standard_normal((n, d)), rng.standard_normal((5, d))
        codes = encode(signals, Cone(atoms), n_nonzero=n)
        best = np.array([nnls(atoms.T, y)[1] for y in signals])
        np.testing.assert_allclose(codes.residual_norms, best, atol=1e-12, rtol=1e-10)


def test_matching_pursuit_comes_to_the_scipy_nnls_of_urban(urban):
    pixels, endmembers = urban
    some = pixels[::200]
    codes = encode(some, Cone(endmembers), "matching-pursuit", max_iter=100_000)
    best = np.array([nnls(endmembers.T, y)[1] for y in some])
    np.testing.assert_allclose(codes.residual_norms, best, rtol=1e-9)
    assert set(codes.counts()) == {Status.CONVERGED}


@FORMS
def test_nearly_collinear_atoms_of_float32_are_fitted_to_the_end(form):
    encode = encode_in(form)
    atoms = np.array(
        [
            [4.7439523, 4.976253, 5.4764814],
            [-4.696096, -5.416174, -5.3307643],
            [4.423194, 5.148502, 5.041194],
            [4.9168296, 5.6190815, 5.5515513],
        ],
        np.float32,
    )
    signal = np.array([[-0.39590278, 0.38121912, -0.66051215]], np.float32)
    codes = encode(signal, Cone(atoms), rtol=1e-3)
    _, best = nnls(atoms.T.astype(float), signal[0].astype(float))
    assert best < 1e-6
    assert codes.residual_norms[0] <= 1e-3 * np.linalg.norm(signal)
    # What is left counts the rounding of large coefficients, and of atoms at unit norm, to float32.
    row = codes.matrix.toarray()[0].astype(float)
    left = np.linalg.norm(signal - row @ atoms.astype(float))
    lengths = np.linalg.norm(atoms.astype(float), axis=1)
    rounding = np.finfo(np.float32).eps * row @ lengths
    assert abs(codes.residual_norms[0] - left) <= rounding
    assert codes.residual_norms[0] > 0.01 * rounding
