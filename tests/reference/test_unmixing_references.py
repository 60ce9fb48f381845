"""Abundances against the references that come with Samson and Urban."""

import numpy as np
import pytest
import scipy.io
from scipy.optimize import nnls

from pursuit.files.data import find
from pursuit.unmixing import h2nmf, read_scene, unmix


def data_file(name):
    path = find(name)
    if path is None:
        pytest.skip(f"{name} is not in $PURSUIT_DATA")
    return path


def shares(abundances):
    return abundances / abundances.sum(axis=1, keepdims=True)


def correlations(found, reference):
    return [np.corrcoef(found[:, k], reference[:, k])[0, 1] for k in range(found.shape[1])]


def test_samson_abundances_scaled_to_sum_one_are_those_of_the_reference():
    truth = scipy.io.loadmat(data_file("samson/Samson_GT_end3.mat"))
    scene = read_scene(data_file("samson/samson_1.mat"), variable="V")
    found = unmix(scene, truth["M"].T)
    assert min(correlations(shares(found.abundances), truth["A"].T)) >= 0.999


def test_urban_abundances_scaled_to_sum_one_are_those_of_the_reference():
    with np.load(data_file("urban77/urban77.npz"), allow_pickle=False) as file:
        pixels, endmembers = file["pixels"].T, file["endmembers_gt"].T
        reference = file["abundances_gt"].T
    found = shares(unmix(pixels, endmembers).abundances)
    assert np.corrcoef(found.ravel(), reference.ravel())[0, 1] >= 0.99
    # One pixel reaches the top of the scale and is clipped there. With it Metal, the rarest
    # material, correlates by 0.9899, and all others by more than 0.995.
    assert min(correlations(found, reference)) >= 0.9895
    measured = (pixels < 1000).all(axis=1)
    assert np.count_nonzero(~measured) == 1
    assert min(correlations(found[measured], reference[measured])) >= 0.99


def test_urban_with_picked_endmembers_has_the_error_of_scipy_nnls():
    pixels = read_scene(data_file("urban77/urban77.npz")).pixels
    found = unmix(pixels, h2nmf(pixels, 6))
    residuals = [nnls(found.endmembers.T, y)[1] for y in pixels]
    expected = np.linalg.norm(residuals) / np.linalg.norm(pixels)
    assert found.relative_error == pytest.approx(expected, rel=1e-12)


def dependent_problem(seed, dtype):
    """Endmembers of a smaller rank, rounded: independent of each other only by rounding."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(2, 9))
    k, d = int(rng.integers(1, r + 1)), int(rng.integers(3, 25))
    endmembers = (rng.standard_normal((r, k)) @ rng.standard_normal((k, d))).astype(dtype)
    pixels = rng.standard_normal((5, d)) * 10 ** rng.uniform(-2, 2)
    pixels[:2] = np.abs(rng.standard_normal((2, r))) @ endmembers
    return pixels, endmembers


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_dependent_endmembers_fit_as_well_as_by_scipy():
    for seed in range(60):
        pixels, endmembers = dependent_problem(seed, np.float64)
        found = unmix(pixels, endmembers)
        assert (found.abundances >= 0).all()
        for pixel, rest in zip(pixels, found.residual_norms, strict=True):
            best = nnls(endmembers.T.astype(np.float64), pixel)[1]
            assert rest <= best + 1e-7 * np.linalg.norm(pixel)
