"""Every picker against another implementation or a published property, and their contest."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from made_scenes import dark_scene, degrees, mixed, samson, urban

from pursuit.base.errors import InputError
from pursuit.unmixing import Scene, pick, pickers, spa, vca
from pursuit.unmixing.pickers import DETERMINISTIC, PICKERS, mean_relative_residual

SCENES = {"Samson": samson, "Urban": urban}


def unit(pixels):
    """At unit norm, but for the brightest pixel, which comes first where lengths are tied."""
    norms = np.linalg.norm(pixels, axis=1, keepdims=True)
    return pixels / norms * np.where(norms == norms.max(), 1 + 1e-9, 1.0)


def with_constant(pixels):
    return np.column_stack([pixels, np.full(len(pixels), np.linalg.norm(pixels, axis=1).max())])


# Successive projection is a QR factorisation with column pivoting.

BEFORE_SPA = {"spa": lambda pixels: pixels, "spa-normalised": unit, "spa-constant": with_constant}


@pytest.mark.parametrize("name", BEFORE_SPA)
@pytest.mark.parametrize("scene", SCENES)
def test_successive_projection_picks_the_pivots_of_lapack(scene, name):
    pixels, _ = SCENES[scene]()
    pivots = scipy.linalg.qr(BEFORE_SPA[name](pixels).T, mode="r", pivoting=True)[1]
    found = PICKERS[name](pixels, 8)
    np.testing.assert_array_equal(found.indices, pivots[:8])
    np.testing.assert_array_equal(found.endmembers, pixels[found.indices])


# Vertex component analysis


def textbook_vca(pixels, r, seed):
    """The box of the paper, with pixels as columns as it has them; its draws are uniform."""
    Y, rng = pixels.T, np.random.default_rng(seed)
    L, N = Y.shape
    mean = Y.mean(axis=1, keepdims=True)
    Ud = np.linalg.svd((Y - mean) @ (Y - mean).T / N)[0][:, :r]
    x = Ud.T @ (Y - mean)
    P_y, P_x = np.sum(Y**2) / N, np.sum(x**2) / N + np.sum(mean**2)
    if 10 * np.log10((P_x - r / L * P_y) / (P_y - P_x)) < 15 + 10 * np.log10(r):
        x = x[: r - 1]
        y = np.vstack([x, np.full(N, np.sqrt(np.max(np.sum(x**2, axis=0))))])
    else:
        x = np.linalg.svd(Y @ Y.T / N)[0][:, :r].T @ Y
        y = x / (x.mean(axis=1) @ x)
    A, picks = np.zeros((r, r)), []
    A[-1, 0] = 1
    for i in range(r):
        w = rng.random(r)
        f = w - A @ np.linalg.pinv(A) @ w
        picks.append(int(np.argmax(np.abs(f @ y))))
        A[:, i] = y[:, picks[-1]]
    return picks


@pytest.mark.parametrize("noise", [1e-3, 0.5], ids=["strong signal", "weak signal"])
@pytest.mark.parametrize("seed", range(5))
def test_vca_picks_as_the_box_of_the_paper_does(seed, noise, monkeypatch):
    """Both projections; singular directions have no sign of their own, so they are shared."""
    pixels, _ = mixed(seed, 4, noise=noise, n_pixels=800, bands=40)
    svd = np.linalg.svd

    def signed(matrix):
        u, s, v = svd(matrix)
        return u * np.sign(u[np.abs(u).argmax(axis=0), np.arange(len(u))]), s, v

    eigh = np.linalg.eigh

    def eigh_signed(matrix):
        values, u = eigh(matrix)
        return values, u * np.sign(u[np.abs(u).argmax(axis=0), np.arange(len(u))])

    monkeypatch.setattr(np.linalg, "svd", signed)
    monkeypatch.setattr(np.linalg, "eigh", eigh_signed)
    expected = textbook_vca(pixels, 4, seed)
    assert vca(pixels, 4, seed=seed).indices.tolist() == expected


@given(seed=st.integers(0, 10**6), materials=st.integers(2, 7))
def test_vca_finds_pure_pixels_under_any_light_with_any_seed(seed, materials):
    """Where the signal is strong the projection along the mean undoes the light of each pixel."""
    pixels, truth = mixed(seed, materials, light=0.8, n_pixels=300, bands=40)
    assert degrees(vca(pixels, materials, seed=seed).endmembers, truth).max() < 1e-4


def test_vca_gives_the_same_picks_for_the_same_seed():
    pixels, _ = mixed(3, 5, noise=0.3)
    np.testing.assert_array_equal(vca(pixels, 5, seed=7).indices, vca(pixels, 5, seed=7).indices)
    others = [vca(pixels, 5, seed=seed).indices.tolist() for seed in range(5)]
    assert len(set(map(tuple, others))) > 1


def test_vca_stops_where_the_pixels_span_no_more():
    pixels, _ = mixed(0, 3, n_pixels=200, bands=20)
    with pytest.warns(UserWarning, match="found 3 endmembers instead of 5"):
        assert len(vca(pixels, 5)) == 3
    with pytest.raises(InputError, match="r: expected an integer of at least 2, got 1"):
        vca(pixels, 1)
    with pytest.raises(InputError, match="r: expected at most the number of bands, 20, got 21"):
        vca(pixels, 21)


# What normalising and a constant band are for


@pytest.mark.parametrize("name", ["h2nmf-normalised", "spa-normalised"])
@given(seed=st.integers(0, 10**6))
def test_shade_on_pixels_changes_no_pick_on_normalised_pixels(name, seed):
    """If the brightest pixel, which successive projection starts from, stays the brightest."""
    pixels, _ = mixed(seed, 4, noise=0.01, n_pixels=300, bands=30)
    factors = 0.5 ** np.random.default_rng(seed).integers(0, 60, (300, 1))
    factors[np.argmax(np.linalg.norm(pixels, axis=1))] = 1.0
    before, after = PICKERS[name](pixels, 4), PICKERS[name](factors * pixels, 4)
    np.testing.assert_array_equal(before.indices, after.indices)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(after.endmembers, (factors * pixels)[after.indices])


@given(seed=st.integers(0, 10**6), materials=st.integers(2, 6))
def test_with_a_constant_band_an_inner_material_is_a_corner_too(seed, materials):
    """Shares that sum to one: spectra need only be affinely independent, one may be the mean of
    the others and black, where plain successive projection sees no length left to pick."""
    rng = np.random.default_rng(seed)
    pure = rng.random((materials, 20))
    pure[-1] = 0.0
    pixels = np.vstack([pure, 0.999 * rng.dirichlet(np.ones(materials), 200) @ pure])
    pixels[materials:] += 0.001 * pure.mean(axis=0)
    order = rng.permutation(len(pixels))
    found = PICKERS["spa-constant"](pixels[order], materials)
    assert sorted(order[found.indices]) == list(range(materials))


# The contest


def test_samson_is_won_by_the_smallest_angle():
    pixels, truth = samson()
    assert_won_by_the_smallest_angle(pixels, truth, "spa-normalised", 3.68)
    assert degrees(PICKERS["h2nmf"](pixels, 3).endmembers, truth).mean() > 19.6


def test_urban_is_won_by_the_smallest_angle():
    pixels, truth = urban()
    assert_won_by_the_smallest_angle(pixels, truth, "h2nmf", 6.25)


def assert_won_by_the_smallest_angle(pixels, truth, winner, angle):
    found = pick(pixels, len(truth), average=False)
    angles = {
        name: degrees(PICKERS[name](pixels, len(truth)).endmembers, truth).mean()
        for name in DETERMINISTIC
    }
    assert min(angles, key=angles.get) == winner
    assert [score.picker for score in found.contest if score.won] == [winner]
    assert degrees(found.endmembers, truth).mean() == angles[winner]
    assert round(angles[winner], 2) == angle
    np.testing.assert_array_equal(found.endmembers, pixels[found.indices])


@pytest.mark.parametrize("seed", range(6))
def test_a_dark_material_is_found_within_4_degrees(seed):
    pixels, truth = dark_scene(seed)
    assert degrees(pick(pixels, 5).endmembers, truth).max() < 4
    assert degrees(pick(pixels, 5, average=False).endmembers, truth).max() < 4
    assert degrees(PICKERS["h2nmf"](pixels, 5).endmembers, truth).max() > 12


def test_the_contest_is_judged_by_the_residual_relative_to_each_pixel():
    pixels, _ = mixed(1, 4, noise=0.02, light=0.5)
    found = pick(pixels, 4, average=False)
    assert [score.picker for score in found.contest] == list(DETERMINISTIC)
    for score in found.contest:
        atoms = PICKERS[score.picker](pixels, 4).endmembers
        each = [scipy.optimize.nnls(atoms.T, y)[1] / np.linalg.norm(y) for y in pixels]
        assert score.residual == pytest.approx(np.mean(each), rel=1e-9)
    assert min(found.contest, key=lambda score: score.residual).won
    lines = repr(found).splitlines()
    assert len(lines) == 1 + 4 + len(DETERMINISTIC)
    assert sum(line.endswith(" %, taken") for line in lines) == 1


def test_the_contest_draws_nothing_and_units_do_not_matter():
    pixels, _ = mixed(2, 5, noise=0.05, light=0.3)
    first = pick(pixels, 5)
    np.random.default_rng(0).random(10)
    for again in (
        pick(pixels, 5, seed=99),
        pick(2.0**200 * pixels, 5),
        pick(2.0**-200 * pixels, 5),
    ):
        assert again.method == first.method
        np.testing.assert_array_equal(again.indices, first.indices)
        np.testing.assert_array_equal(again.averaged_over, first.averaged_over)


def test_units_change_no_endmember_but_its_scale():
    pixels, _ = mixed(2, 5, noise=0.05, light=0.3, n_pixels=500, bands=40)
    first = pick(pixels, 5)
    for power in (2.0**200, 2.0**-200):
        again = pick(power * pixels, 5)
        np.testing.assert_array_equal(again.indices, first.indices)
        np.testing.assert_array_equal(again.averaged_over, first.averaged_over)
        np.testing.assert_array_equal(again.endmembers / power, first.endmembers)


@pytest.mark.parametrize("name", ["auto", "spa", "vca"])
def test_nothing_is_picked_from_zeros(name):
    with pytest.raises(
        InputError, match=r"the number of different pixels, 1|some that are not zero"
    ):
        pick(np.zeros((9, 4)), 2, name)
    with pytest.raises(InputError, match="average: expected True or False, got 'yes'"):
        pick(np.eye(4), 2, name, average="yes")
    with pytest.raises(InputError, match="seed: expected an integer of at least 0, got -1"):
        pick(np.eye(4), 2, name, seed=-1)


def test_pickers_that_find_fewer_do_not_take_part():
    light = np.arange(1.0, 13)[:, None] * np.ones(5)  # one direction
    with pytest.warns(UserWarning, match="found 1 endmembers instead of 3"):
        found = pick(light, 3)
    assert len(found) == 1
    two = np.vstack([light, light + np.eye(5)[0]])
    assert len(pick(two, 2)) == 2


def test_when_every_picker_refuses_the_first_says_why():
    with pytest.raises(InputError, match="r: expected at most the number of different pixels, 2"):
        pick(np.tile(np.eye(2), (4, 1)), 3)
    with pytest.raises(InputError, match="r: expected at most the number of pixels, 8, got 9"):
        pick(np.random.default_rng(0).random((8, 10)), 9)
    with pytest.raises(InputError, match=r"picker: expected one of auto, h2nmf, spa, .* got 'pca'"):
        pick(np.eye(3), 2, "pca")


def test_scenes_are_picked_from_like_rows():
    pixels, _ = mixed(0, 3, n_pixels=12, bands=10)
    scene = Scene(pixels, np.argwhere(np.ones((3, 4))), (3, 4), np.arange(1, 11))
    np.testing.assert_array_equal(pick(scene, 3, "spa").indices, spa(pixels, 3).indices)


def test_pixels_of_zeros_do_not_count():
    pixels, truth = mixed(0, 3, n_pixels=200)
    assert mean_relative_residual(np.vstack([pixels, 0 * pixels]), truth) == pytest.approx(
        mean_relative_residual(pixels, truth)
    )
    assert mean_relative_residual(0 * pixels, truth) == 0


# Averaging


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_averaging_brings_no_set_farther_from_the_references(scene, name):
    pixels, truth = SCENES[scene]()
    before = degrees(pick(pixels, len(truth), name, average=False).endmembers, truth).mean()
    assert degrees(pick(pixels, len(truth), name).endmembers, truth).mean() <= before + 1e-9


def test_averaging_helps_where_picked_pixels_have_their_like():
    pixels, truth = samson()
    assert round(degrees(pick(pixels, 3).endmembers, truth).mean(), 2) == 3.12
    pixels, truth = urban()
    assert round(degrees(pick(pixels, 6).endmembers, truth).mean(), 2) == 6.25


@pytest.mark.parametrize("light", [0.0, 0.5])
@pytest.mark.parametrize(("pure", "gain"), [(1, 0.99), (5, 1.5), (30, 4)])
def test_averaging_takes_noise_down_as_far_as_there_are_pure_pixels(pure, gain, light):
    ratios = []
    for seed in range(4):
        pixels, truth = mixed(seed, 4, noise=0.03, pure=pure, light=light)
        alone = pick(pixels, 4, "spa-normalised", average=False)
        mean = pick(pixels, 4, "spa-normalised")
        np.testing.assert_array_equal(mean.indices, alone.indices)
        np.testing.assert_allclose(*(np.linalg.norm(f.endmembers, axis=1) for f in (mean, alone)))
        angles = (degrees(found.endmembers, truth).mean() for found in (alone, mean))
        ratios.append(np.divide(*angles))
    assert min(ratios) > gain


def test_a_pixel_without_its_like_stays_and_few_pixels_are_left_alone():
    pixels, _ = mixed(5, 4, noise=1e-6, pure=1)
    found = pick(pixels, 4, "spa")
    np.testing.assert_array_equal(found.endmembers, pixels[found.indices])
    assert found.averaged_over.tolist() == [1, 1, 1, 1]
    few = pick(pixels[:100], 4, "spa")
    assert few.averaged_over is None


# Scenes too large to search all pixels


@pytest.mark.parametrize("picker", ["auto", *PICKERS])
def test_large_scenes_are_sampled_and_indices_are_those_of_the_scene(picker, monkeypatch):
    rng = np.random.default_rng(0)
    pixels = rng.dirichlet(np.full(3, 0.4), 1000) @ rng.uniform(0.1, 1, (3, 8))
    assert pick(pixels, 3, picker, average=False).n_sampled is None
    monkeypatch.setattr(pickers, "LARGEST_SAMPLE", 800)
    found = pick(pixels, 3, picker, average=False)
    sample = np.linspace(0, 999, 100).round().astype(int)
    monkeypatch.undo()
    alone = pick(pixels[sample], 3, picker, average=False)
    assert found.n_sampled == 100
    assert "from 100 evenly spaced pixels" in repr(found)
    np.testing.assert_array_equal(found.indices, sample[alone.indices])
    np.testing.assert_array_equal(found.endmembers, pixels[found.indices])
    if found.labels is not None:
        np.testing.assert_array_equal(found.labels[sample], alone.labels)
        assert np.count_nonzero(found.labels >= 0) == 100
