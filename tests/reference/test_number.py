"""How many endmembers: HySime against its definition, simulated scenes, and the literature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scenes import mixed, samson, urban
from scipy.ndimage import gaussian_filter1d

from pursuit.base.errors import InputError
from pursuit.unmixing import Scene, estimate_number
from pursuit.unmixing.noise import second_moments


def residuals_of_bands(pixels):
    """What regression of each band on all others leaves, one regression after the other."""
    left = np.empty_like(pixels)
    for i in range(pixels.shape[1]):
        others = np.delete(pixels, i, axis=1)
        left[:, i] = pixels[:, i] - others @ np.linalg.lstsq(others, pixels[:, i], rcond=None)[0]
    return left


def hysime(pixels):
    """The box of the paper: how many dimensions lose less signal than they let noise in."""
    N, L = pixels.shape
    noise = residuals_of_bands(pixels)
    R_y, R_n = pixels.T @ pixels / N, np.diag(np.sum(noise**2, axis=0) / N)
    R_x = (pixels - noise).T @ (pixels - noise) / N
    R_n += np.trace(R_x) / L / 1e5 * np.eye(L)
    E = np.linalg.svd(R_x)[0]
    return int(np.sum(-np.diag(E.T @ R_y @ E) + 2 * np.diag(E.T @ R_n @ E) < 0))


def unit(pixels):
    return pixels / np.linalg.norm(pixels, axis=1, keepdims=True)


def test_the_noise_of_a_band_is_what_the_others_do_not_predict():
    pixels = unit(mixed(0, 4, noise=0.05, n_pixels=500, bands=30)[0])
    left = residuals_of_bands(pixels)
    moments = second_moments(pixels)
    np.testing.assert_allclose(moments.noise, np.mean(left**2, axis=0), rtol=1e-6)
    kept = pixels - left
    np.testing.assert_allclose(moments.signal, kept.T @ kept / 500, rtol=1e-6, atol=1e-12)


@given(seed=st.integers(0, 10**6), materials=st.integers(1, 9), noise=st.floats(1e-3, 0.3))
def test_dimensions_are_those_of_hysime(seed, materials, noise):
    pixels, _ = mixed(seed, materials, noise=noise, n_pixels=400, bands=40, light=0.3)
    assert estimate_number(pixels).dimensions == max(1, hysime(unit(pixels)))


@pytest.mark.parametrize("scene", [samson, urban])
def test_dimensions_of_real_scenes_are_those_of_hysime(scene):
    pixels = scene()[0][::8]
    assert estimate_number(pixels).dimensions == hysime(unit(pixels))


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), materials=st.integers(2, 6))
def test_the_number_of_simulated_materials_is_found_and_sure(seed, materials):
    pixels, _ = mixed(seed, materials, noise=0.01, light=0.4, bands=60)
    found = estimate_number(pixels)
    assert (found.number, found.sure) == (materials, "sure")
    assert str(found).startswith(f"{materials} endmembers, sure: {materials} dimensions stand")


@pytest.mark.parametrize("materials", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_materials_that_vary_are_counted_once(seed, materials):
    pixels, _ = mixed(seed, materials, light=0.4, n_pixels=4000)
    rng = np.random.default_rng(seed)
    smooth = gaussian_filter1d(rng.standard_normal(pixels.shape), 10, axis=1)
    pixels = pixels * (1 + 0.03 * smooth / smooth.std())
    pixels += 1e-3 * rng.standard_normal(pixels.shape)
    found = estimate_number(pixels)
    assert found.number == materials
    assert found.dimensions > materials
    assert found.sure == "fairly sure"
    assert "bends there" in str(found)


def test_samson_has_three_and_urban_about_five():
    found = estimate_number(samson()[0])
    assert (found.number, found.quarters) == (3, (3, 3, 3, 3))
    found = estimate_number(urban()[0])
    assert (found.number, found.sure) == (5, "not sure")
    assert str(found).endswith("(HySime); quarters of the pixels give 3 to 5")


def test_the_curve_falls_and_units_do_not_matter():
    pixels, _ = mixed(1, 5, noise=0.02)
    found = estimate_number(pixels)
    assert (np.diff(found.curve) <= 0).all()
    assert found.curve[4] < 0.02 < found.curve[0]
    for factor in (2.0**200, 2.0**-200):
        np.testing.assert_array_equal(estimate_number(factor * pixels).curve, found.curve)


def test_scenes_equal_rows_and_pixels_of_zeros_do_not_count():
    pixels, _ = mixed(1, 3, noise=0.01, n_pixels=600, bands=50)
    scene = Scene(pixels, np.argwhere(np.ones((20, 30))), (20, 30), np.arange(1, 51))
    found = estimate_number(scene)
    assert found.number == estimate_number(np.vstack([pixels, np.zeros((99, 50))])).number == 3


def test_repeated_bands_and_spectra_without_noise_are_counted():
    pixels, _ = mixed(2, 4, n_pixels=900, bands=30)
    assert estimate_number(np.hstack([pixels, pixels])).number == 4


def test_too_few_pixels_are_refused_and_few_make_unsure():
    pixels, _ = mixed(0, 3, noise=0.01, n_pixels=200, bands=80)
    found = estimate_number(pixels)
    assert (found.quarters, found.sure) == ((), "not sure")
    assert str(found).endswith("too few pixels to see whether parts of them agree")
    with pytest.raises(InputError, match="pixels: expected at least 2 for each of 80 bands"):
        estimate_number(pixels[:159])
    with pytest.raises(InputError, match="got 0 that are not zero"):
        estimate_number(0 * pixels)
