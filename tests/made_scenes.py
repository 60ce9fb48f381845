"""Scenes made for tests, and how far endmembers are from those that a scene was made of."""

import numpy as np
import pytest
import scipy.io
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment

from pursuit.files.data import find


def spectra(rng, materials, bands=120, width=8):
    """Smooth spectra of unit norm."""
    rough = gaussian_filter1d(rng.uniform(0, 1, (materials, bands)), width, axis=1)
    rough -= rough.min(axis=1, keepdims=True)
    smooth = 0.05 + 0.6 * rough / rough.max(axis=1, keepdims=True)
    return smooth / np.linalg.norm(smooth, axis=1, keepdims=True)


def mixed(seed, materials, *, n_pixels=3000, noise=0.0, light=0.0, bands=120, dark=1.0, pure=3):
    """Mixtures with some pure pixels of every material: the pixels, and the spectra they are of.

    The last material is `dark` as bright as the others; `noise` is the norm of a pixel's noise,
    `light` how much the brightness of pixels varies.
    """
    rng = np.random.default_rng(seed)
    truth = spectra(rng, materials, bands)
    truth[-1] *= dark
    shares = rng.dirichlet(np.ones(materials), n_pixels)
    shares[: pure * materials] = np.repeat(np.eye(materials), pure, axis=0)
    pixels = rng.permutation(shares) @ truth
    pixels *= rng.uniform(1 - light, 1 + light, (n_pixels, 1))
    return pixels + noise / np.sqrt(bands) * rng.standard_normal(pixels.shape), truth


def dark_scene(seed):
    """Five materials, one of 2 % of the brightness of the others, noise a thirtieth of that."""
    return mixed(seed, 5, dark=0.02, noise=0.02 / 30)


def degrees(found, truth):
    """The spectral angle of every true spectrum to the one of `found` that is matched with it."""
    u, v = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (truth, found))
    angles = np.degrees(np.arccos(np.clip(u @ v.T, -1, 1)))
    return angles[linear_sum_assignment(angles)]


def data_file(name):
    """A file of the literature, or a skipped test."""
    path = find(name)
    if path is None:
        pytest.skip(f"{name} is not in $PURSUIT_DATA")
    return path


def samson():
    """Its pixels and its reference endmembers, as rows."""
    scene = scipy.io.loadmat(data_file("samson/samson_1.mat"))
    truth = scipy.io.loadmat(data_file("samson/Samson_GT_end3.mat"))
    return scene["V"].T.astype(float), truth["M"].T.astype(float)


def urban():
    """Its pixels in reflectance and its reference endmembers, as rows."""
    with np.load(data_file("urban77/urban77.npz"), allow_pickle=False) as file:
        return file["pixels"].T / 1000, file["endmembers_gt"].T.astype(float)
