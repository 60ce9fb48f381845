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
