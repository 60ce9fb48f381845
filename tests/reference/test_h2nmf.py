"""H2NMF and SPA: the published picks on Urban, and what must hold on any scene."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pursuit.base.errors import InputError
from pursuit.files.data import find
from pursuit.unmixing import h2nmf, spa
from pursuit.unmixing.h2nmf import _leaf, _shares, _threshold, _two_weights
from pursuit.unmixing.spa import projection_picks


@pytest.fixture(scope="module")
def urban():
    path = find("urban77/urban77.npz")
    if path is None:
        pytest.skip("urban77/urban77.npz is not in $PURSUIT_DATA")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in ("pixels", "h2nmf_indices", "h2nmf_labels")}


@pytest.fixture(scope="module")
def urban_pixels(urban):
    return urban["pixels"].T


def squared_error(pixels, atoms):
    fit = np.linalg.lstsq(atoms.T, pixels.T, rcond=None)[0]
    return fit, ((pixels.T - atoms.T @ fit) ** 2).sum(axis=0)


def squared_error_non_negative(pixels, atoms):
    """The exact optimum per pixel: the best of the feasible fits on every subset of atoms."""
    best = (pixels**2).sum(axis=1)
    for size in range(1, len(atoms) + 1):
        for subset in combinations(range(len(atoms)), size):
            fit, error = squared_error(pixels, atoms[list(subset)])
            best = np.where((fit >= 0).all(axis=0), np.minimum(best, error), best)
    return best


@pytest.mark.parametrize(
    ("r", "picks"),
    [
        (2, [479, 3087]),
        (3, [479, 2388, 909]),
        (5, [909, 2497, 4115, 1964, 3330]),
        (6, [909, 4115, 1964, 3330, 4282, 1394]),
    ],
)
def test_urban_picks_are_those_of_the_reference_code(urban_pixels, r, picks):
    assert (h2nmf(urban_pixels, r).indices + 1).tolist() == picks


def test_urban_labels_are_those_of_the_reference_code(urban, urban_pixels):
    found = h2nmf(urban_pixels, 6)
    np.testing.assert_array_equal(found.labels, urban["h2nmf_labels"])
    np.testing.assert_array_equal(found.indices, urban["h2nmf_indices"])
    assert np.bincount(found.labels).tolist() == [1145, 363, 922, 1770, 570, 1159]
    np.testing.assert_array_equal(found.endmembers, urban_pixels[found.indices])


def test_urban_root_split_has_the_reference_numbers(urban_pixels):
    pixels = urban_pixels.astype(float)
    root = _leaf(pixels, np.arange(len(pixels)))
    np.testing.assert_allclose(root.sigmas, [190545.664, 50529.090], atol=5e-4, rtol=0)
    picks = projection_picks(pixels @ root.directions, 2)
    assert (picks + 1).tolist() == [169, 956]
    shares = _shares(pixels, root.directions)
    assert _threshold(shares) == 0.57
    assert np.count_nonzero(shares >= 0.57) == 2092
    assert np.count_nonzero(shares < 0.57) == 3837


def test_urban_losses_have_the_reference_digits(urban_pixels):
    pixels = urban_pixels.astype(float)
    atoms = h2nmf(pixels, 6).endmembers
    total = (pixels**2).sum()
    _, error = squared_error(pixels, atoms)
    assert round(total / len(pixels), 4) == 6_663_868.5375
    assert round(error.sum() / len(pixels), 9) == 10_484.470594719
    assert round(100 * np.sqrt(error.sum() / total), 4) == 3.9665
    best = squared_error_non_negative(pixels, atoms).sum()
    assert round(100 * np.sqrt(best / total), 4) == 6.3273


def test_urban_spa_picks_and_errors_have_the_reference_numbers(urban_pixels):
    pixels = urban_pixels.astype(float)
    found = spa(urban_pixels, 6)
    assert (found.indices + 1).tolist() == [169, 4799, 956, 1101, 311, 553]
    total = (pixels**2).sum()
    _, error = squared_error(pixels, found.endmembers)
    assert round(100 * np.sqrt(error.sum() / total), 4) == 8.7021
    best = squared_error_non_negative(pixels, found.endmembers).sum()
    assert round(100 * np.sqrt(best / total), 4) == 10.2971


def mixtures(seed, n_pixels=300, bands=20, materials=4):
    """A scene of Dirichlet mixtures in general position."""
    rng = np.random.default_rng(seed)
    spectra = rng.random((materials, bands)) + 0.05
    shares = rng.dirichlet(np.full(materials, 0.4), n_pixels)
    return (shares @ spectra) * rng.uniform(0.5, 1.5, (n_pixels, 1))


@pytest.mark.parametrize("pick", [h2nmf, spa])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(1e-60, 1e60))
def test_a_common_factor_changes_no_pick(pick, seed, factor):
    pixels = mixtures(seed)
    before, after = pick(pixels, 4), pick(factor * pixels, 4)
    np.testing.assert_array_equal(before.indices, after.indices)
    np.testing.assert_array_equal(before.labels, after.labels)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_pixels_does_not_matter(seed):
    pixels = mixtures(seed)
    order = np.random.default_rng(seed + 1).permutation(len(pixels))
    before, after = h2nmf(pixels, 5), h2nmf(pixels[order], 5)
    assert set(order[after.indices]) == set(before.indices)
    clusters = [set(order[after.labels == k]) for k in range(5)]
    assert all(set(np.flatnonzero(before.labels == k)) in clusters for k in range(5))
    assert set(order[spa(pixels[order], 4).indices]) == set(spa(pixels, 4).indices)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), materials=st.integers(1, 8))
def test_spa_finds_the_pure_pixels_of_a_separable_scene(seed, materials):
    rng = np.random.default_rng(seed)
    pure = rng.random((materials, 20))
    mixed = rng.dirichlet(np.ones(materials), 200) @ pure * rng.uniform(0, 1, (200, 1))
    pixels = np.vstack([pure, 0.999 * mixed])
    order = rng.permutation(len(pixels))
    found = spa(pixels[order], materials)
    assert sorted(order[found.indices]) == list(range(materials))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), materials=st.integers(2, 6))
def test_h2nmf_separates_materials_that_do_not_mix(seed, materials):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(materials), rng.integers(20, 60, materials))
    peaks = np.kron(np.eye(materials), np.ones(6))
    spectra = peaks * rng.uniform(0.5, 1.5, peaks.shape) + 0.02 * rng.random(peaks.shape)
    pixels = spectra[truth] * rng.uniform(0.8, 1.2, (len(truth), 1))
    found = h2nmf(pixels, materials)
    assert sorted(truth[found.indices]) == list(range(materials))
    np.testing.assert_array_equal(truth[found.indices][found.labels], truth)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_two_weights_are_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((2, 5))
    pixels = rng.standard_normal((30, 5))
    weights = _two_weights(pixels @ atoms.T, atoms @ atoms.T)
    assert (weights >= 0).all()
    error = ((pixels - weights @ atoms) ** 2).sum(axis=1)
    np.testing.assert_allclose(error, squared_error_non_negative(pixels, atoms), rtol=1e-9)


def test_two_parallel_atoms_are_used_one_at_a_time():
    atoms = np.array([[1.0, 2.0], [2.0, 4.0]])
    pixels = np.array([[1.0, 2.0], [-1.0, -2.0]])
    weights = _two_weights(pixels @ atoms.T, atoms @ atoms.T)
    np.testing.assert_allclose(weights @ atoms, [[1.0, 2.0], [0.0, 0.0]], atol=1e-15)
    assert (weights[:, 1] == 0).all()


def test_integers_of_16_bits_do_not_overflow():
    pixels = (mixtures(3) * 40_000).astype(np.uint16)
    small, large = h2nmf(pixels, 4), h2nmf(pixels.astype(float), 4)
    np.testing.assert_array_equal(small.labels, large.labels)
    np.testing.assert_array_equal(spa(pixels, 4).indices, spa(pixels.astype(float), 4).indices)


def test_negative_entries_count_as_zero_and_are_returned_as_given():
    pixels = mixtures(4) - 0.3
    kept = pixels.copy()
    found, clipped = h2nmf(pixels, 4), h2nmf(np.maximum(pixels, 0), 4)
    np.testing.assert_array_equal(found.labels, clipped.labels)
    np.testing.assert_array_equal(found.endmembers, pixels[found.indices])
    np.testing.assert_array_equal(pixels, kept)


def test_more_bands_than_pixels_gives_the_same_as_few_bands():
    pixels = mixtures(5, n_pixels=40, bands=10)
    wide = np.hstack([pixels, np.zeros((40, 200))])
    np.testing.assert_array_equal(h2nmf(pixels, 4).labels, h2nmf(wide, 4).labels)


def test_a_missing_split_gives_fewer_clusters_and_a_warning():
    ray = np.arange(1.0, 6.0)[:, None] * np.array([1.0, 2.0, 4.0])
    with pytest.warns(UserWarning, match="found 1 endmembers instead of 3: no cluster"):
        assert len(h2nmf(ray, 3)) == 1
    with pytest.warns(UserWarning, match="found 1 endmembers instead of 3: they span"):
        assert len(spa(ray, 3)) == 1


@pytest.mark.parametrize("pick", [h2nmf, spa])
def test_fewer_different_pixels_than_r_are_refused(pick):
    pixels = np.repeat([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], 10, axis=0)
    with pytest.raises(InputError, match="number of different pixels, 2, got 3"):
        pick(pixels, 3)


@pytest.mark.parametrize("pick", [h2nmf, spa])
def test_a_scene_of_zeros_has_one_endmember_at_most(pick):
    with pytest.raises(InputError, match="different pixels, 1, got 2"):
        pick(np.zeros((5, 3)), 2)


@pytest.mark.parametrize("pick", [h2nmf, spa])
@pytest.mark.parametrize(
    ("pixels", "r", "sentence"),
    [
        (np.ones(5), 1, "pixels: expected 2 dimension"),
        (np.ones((3, 4, 5)), 1, "pixels: expected 2 dimension"),
        (np.ones((0, 5)), 1, "pixels: expected at least one entry"),
        (np.full((4, 4), np.nan), 1, "pixels: expected finite numbers"),
        (np.full((4, 4), 1j), 1, "pixels: expected real numbers"),
        (np.eye(4), 5, "r: expected at most the number of pixels, 4, got 5"),
        (np.eye(4), 0, "r: expected an integer of at least 1, got 0"),
        (np.eye(4), 2.0, "r: expected an integer of at least 1, got 2.0"),
    ],
)
def test_a_wrong_argument_is_named(pick, pixels, r, sentence):
    with pytest.raises(InputError, match=sentence):
        pick(pixels, r)


def test_spa_cannot_pick_more_pixels_than_bands():
    with pytest.raises(InputError, match="r: expected at most the number of bands, 2, got 3"):
        spa(np.random.default_rng(0).random((10, 2)), 3)


def test_a_result_prints_its_pixels_and_cluster_sizes():
    pixels = np.repeat([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], [4, 6], axis=0)
    text = repr(h2nmf(pixels, 2))
    assert text.splitlines()[0] == "2 endmembers with 3 bands, by H2NMF"
    assert "cluster of 4 pixels" in text
    assert "cluster of 6 pixels" in text
    assert "cluster" not in repr(spa(pixels, 2))
