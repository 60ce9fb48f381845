"""unmix: what it solves, what it says about every pixel, and what it refuses."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.unmixing import Scene, estimate_number, h2nmf, unmix
from pursuit.unmixing.convergence import convergence
from pursuit.unmixing.scaling import matching_scale

PURE = np.array([[1.0, 2.0, 3.0, 1.0], [3.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 4.0]])
SHARES = np.random.default_rng(0).dirichlet(np.ones(3), 11)
PIXELS = SHARES @ PURE
PLACES = np.array([(i, j) for j in range(4) for i in range(3)])[:11]  # column by column, one hole
SCENE = Scene(pixels=PIXELS, places=PLACES, shape=(3, 4), bands=np.arange(1, 5), name="mixed")


@pytest.mark.parametrize(
    ("constraint", "more"),
    [
        ("none", {}),
        ("non-negative", {}),
        ("sum-to-one", {}),
        ("sum-at-most-one", {}),
        ("sparse", {"n_nonzero": 3}),
    ],
)
def test_exact_mixtures_are_taken_apart_under_every_constraint(constraint, more):
    found = unmix(SCENE, PURE, constraint, **more)
    np.testing.assert_allclose(found.abundances, SHARES, atol=1e-12)
    np.testing.assert_allclose(found.residual_norms, 0, atol=1e-12)
    np.testing.assert_allclose(found.angles, 0, atol=1e-12)


BAD_FIT = pytest.mark.filterwarnings("ignore:the fit is bad")
"""For tests whose pixels are noise."""


@BAD_FIT
def test_each_constraint_fits_no_better_than_a_weaker_one():
    noisy = np.random.default_rng(1).normal(1, 1, (200, 4))
    order = ("none", "non-negative", "sum-at-most-one", "sum-to-one")
    norms = [unmix(noisy, PURE, constraint).residual_norms for constraint in order]
    for weaker, stronger in pairwise(norms):
        assert (weaker <= stronger + 1e-12).all()
        assert (weaker < stronger - 1e-3).any()
    sparse = unmix(noisy, PURE, "sparse", n_nonzero=2)
    assert (np.count_nonzero(sparse.abundances, axis=1) <= 2).all()
    assert sparse.constraint == "sparse, at most 2 a pixel"


def test_unconstrained_abundances_are_the_shortest_where_endmembers_depend_on_each_other():
    twice = np.vstack([PURE, PURE[0]])
    found = unmix(PIXELS, twice, "none").abundances
    expected = SHARES[:, 0] / 2
    np.testing.assert_allclose(found[:, [0, 3]], np.column_stack([expected, expected]), atol=1e-12)


@BAD_FIT
@given(seed=st.integers(0, 1000), exponent=st.sampled_from([-60, -20, 0, 20, 60]))
def test_residuals_and_angles_are_those_of_their_definitions_in_any_unit(seed, exponent):
    noisy = np.random.default_rng(seed).normal(1, 1, (20, 4))
    factor = 10.0**exponent
    found = unmix(noisy * factor, PURE * factor)
    fits = found.abundances @ PURE
    np.testing.assert_allclose(
        found.residual_norms / factor, np.linalg.norm(noisy - fits, axis=1), rtol=1e-9, atol=1e-12
    )
    lengths = np.linalg.norm(noisy, axis=1) * np.linalg.norm(fits, axis=1)
    some = lengths > 0
    cosines = np.clip((noisy * fits).sum(axis=1)[some] / lengths[some], -1, 1)
    np.testing.assert_allclose(np.cos(found.angles[some]), cosines, atol=1e-9)
    expected = np.linalg.norm(noisy - fits) / np.linalg.norm(noisy)
    assert found.relative_error == pytest.approx(expected, rel=1e-9)


def test_tiny_angles_keep_their_digits():
    found = unmix([[1.0, 1e-9, 0.0]], [[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(found.angles, 1e-9, rtol=1e-6)


@BAD_FIT
def test_angles_with_nothing_are_right_angles_and_zero_between_nothings():
    found = unmix([[-1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0]])
    np.testing.assert_array_equal(found.angles, [np.pi / 2, 0.0])
    assert unmix([[0.0, 0.0]], [[1.0, 0.0]]).relative_error == 0


def test_maps_lie_where_the_pixels_do():
    found = unmix(SCENE, PURE)
    maps, errors = found.maps(), found.error_map()
    assert maps.shape == (3, 4, 3)
    assert np.isnan(maps[2, 3]).all()
    assert np.isnan(errors[2, 3])
    for (row, column), shares in zip(PLACES, found.abundances, strict=True):
        np.testing.assert_array_equal(maps[row, column], shares)
    np.testing.assert_allclose(found.fit(4), PIXELS[4], atol=1e-12)


def test_picked_endmembers_are_taken_as_they_come():
    picked = h2nmf(PIXELS, 3)
    found = unmix(SCENE, picked)
    np.testing.assert_array_equal(found.endmembers, picked.endmembers)
    assert found.extraction is picked


def test_pixels_picked_from_another_scene_have_no_place_in_this_one():
    elsewhere = h2nmf(np.vstack([2 * PIXELS[1:], PIXELS[:1]]), 3)
    assert unmix(SCENE, elsewhere).extraction is None
    longer = h2nmf(np.vstack([PIXELS, 5 * PURE]), 3)
    assert longer.indices.max() >= len(PIXELS)
    assert unmix(SCENE, longer).extraction is None


@pytest.mark.filterwarnings("ignore:the fit is bad")
@pytest.mark.parametrize("factor", [1.0, 1e-9, 1e9])
def test_shade_is_that_of_an_endmember_of_zeros_however_uneven_the_others(factor):
    pure = PURE * np.array([[1.0], [factor], [1.0]])
    pixels = np.vstack([0.3 * PIXELS, PIXELS, 2 * PIXELS, 0.3 * pure])
    found = unmix(pixels, pure, "sum-at-most-one")
    shaded = unmix(pixels, np.vstack([pure, 0 * pure[:1]]), "sum-to-one")
    free = unmix(pixels, pure, "non-negative")
    assert found.abundances.sum(axis=1).max() <= 1 + 1e-12
    assert (found.residual_norms <= shaded.residual_norms + 1e-9).all()
    assert (found.residual_norms >= free.residual_norms - 1e-9).all()
    under = free.abundances.sum(axis=1) <= 1
    assert 0 < np.count_nonzero(under) < len(pixels)
    np.testing.assert_array_equal(found.abundances[under], free.abundances[under])


def test_the_result_prints_what_it_found():
    text = repr(unmix(SCENE, PURE, "sum-to-one"))
    assert text.startswith("11 pixels of 4 bands unmixed into 3 endmembers\n")
    assert "constraint: sum-to-one" in text
    assert f"Endmember 1: mean abundance {SHARES[:, 0].mean():.4g}, largest in" in text
    named = unmix(SCENE, PURE, names=("roof", "grass", "tree"))
    assert f"grass: mean abundance {SHARES[:, 1].mean():.4g}" in repr(named)
    assert "and 8 more" in repr(unmix(PIXELS, np.random.default_rng(0).random((20, 4))))


def test_saved_numbers_come_back_without_a_pickle(tmp_path):
    found = unmix(SCENE, PURE)
    found.save(tmp_path / "numbers.npz")
    with np.load(tmp_path / "numbers.npz", allow_pickle=False) as file:
        for name in ("abundances", "endmembers", "residual_norms", "angles"):
            np.testing.assert_array_equal(file[name], getattr(found, name))
        np.testing.assert_array_equal(file["places"], PLACES)
        assert file["image_shape"].tolist() == [3, 4]
        assert str(file["constraint"]) == "non-negative"


def test_float32_scenes_give_float32_abundances():
    for constraint in ("none", "non-negative", "sum-to-one"):
        found = unmix(PIXELS.astype(np.float32), PURE.astype(np.float32), constraint)
        assert found.abundances.dtype == np.float32
        np.testing.assert_allclose(found.abundances, SHARES, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((PIXELS, PURE, "positive"), "constraint: expected one of none, non-negative, sum-to-one"),
        ((PIXELS, PURE[:, :3]), "endmembers: expected 4 bands as in the pixels, got 3"),
        ((PIXELS, PURE, "sparse"), 'n_nonzero: expected a number with the constraint "sparse"'),
        ((PIXELS, np.vstack([PURE, 0 * PURE[0]])), "endmembers: number 3 is zero, which only"),
        ((PIXELS * np.nan, PURE), "pixels: expected finite numbers, got nan"),
        ((PIXELS[0], PURE), "pixels: expected 2 dimension"),
        ((PIXELS, np.vstack([PURE, 0 * PURE[0]]), "sum-at-most-one"), "number 3 is zero"),
    ],
)
def test_a_wrong_argument_is_named(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        unmix(*arguments)


def test_a_number_of_endmembers_is_for_sparse_alone_and_maps_for_scenes():
    with pytest.raises(InputError, match=r"n_nonzero: expected a number .* and only then"):
        unmix(PIXELS, PURE, "none", n_nonzero=2)
    with pytest.raises(InputError, match="unmix a Scene to have pictures"):
        unmix(PIXELS, PURE).maps()
    with pytest.raises(InputError, match="pixel: expected a number below 11, got 11"):
        unmix(PIXELS, PURE).fit(11)


def test_names_are_one_for_each_endmember():
    with pytest.raises(InputError, match="names: expected 3, one for each endmember, got 2"):
        unmix(PIXELS, PURE, names=["roof", "grass"])


# Bad fits


def complaint_about(pixels, endmembers, constraint, **more):
    with pytest.warns(UserWarning, match="the fit is bad") as caught:
        found = unmix(pixels, endmembers, constraint, **more)
    (said,) = (str(warning.message) for warning in caught)
    assert found.warning == said
    assert said.startswith(f"the fit is bad: the mean residual is {residual_of(found)} % of a")
    assert repr(found).endswith(f"warning: {said}")
    return said


def residual_of(found):
    return f"{100 * np.mean(found.residual_norms / found.pixel_norms):.3g}"


@pytest.mark.parametrize("factor", [0.001, 0.3, 3.0, 1000.0])
def test_another_scale_is_said_with_the_factor_that_mends_it(factor):
    said = complaint_about(factor * PIXELS, PURE, "sum-to-one")
    assert f"which is {factor:.3g} in the median pixel: scene and endmembers have" in said
    assert said.endswith(f"divide the scene by about {factor:.2g} (scale)")
    assert unmix(factor * PIXELS / factor, PURE, "sum-to-one").warning is None
    assert unmix(factor * PIXELS, PURE, "non-negative").warning is None


def test_the_scale_that_the_file_says_is_the_advice():
    scene = replace(SCENE, pixels=1000 * PIXELS, file_scale=1000.0)
    said = complaint_about(scene, PURE, "sum-to-one")
    assert said.endswith("its file says to divide by 1000 (scale auto does)")


@pytest.mark.parametrize("factor", [1.0, 1e4, 1e-3, 2e4])
def test_the_power_of_ten_between_scene_and_endmembers_is_found(factor):
    scale = matching_scale(0.7 * factor * PIXELS, PURE)
    assert scale == 10.0 ** np.floor(np.log10(factor))
    assert matching_scale(0.7 * factor * PIXELS, PURE, 1.5 * factor) == 1.5 * factor
    assert matching_scale(0.7 * factor * PIXELS, PURE, 50 * factor) == scale
    assert SCENE.divided(2.0).divided(3.0).scale == 6
    np.testing.assert_array_equal(SCENE.divided(2.0).pixels, PIXELS / 2)


def test_no_scale_mends_endmembers_that_fit_nothing():
    with pytest.raises(InputError, match="scale: no scale makes these endmembers fit the scene"):
        matching_scale(-PIXELS, PURE)
    assert matching_scale(0 * PIXELS, PURE) == 1


def test_shade_is_told_from_light_that_varies_both_ways():
    light = np.linspace(0.1, 1, 11)[:, None]
    said = complaint_about(light * PIXELS, PURE, "sum-to-one")
    assert said.endswith("varies from pixel to pixel; use the constraint sum-at-most-one")
    assert unmix(light * PIXELS, PURE, "sum-at-most-one").warning is None
    for constraint in ("sum-to-one", "sum-at-most-one"):
        light = np.geomspace(0.3, 3, 11)[:, None]
        said = complaint_about(light * PIXELS, PURE, constraint)
        assert "which goes from 0.3" in said
        assert said.endswith("use the constraint non-negative")


@pytest.mark.parametrize("constraint", ["none", "non-negative", "sum-to-one", "sum-at-most-one"])
def test_endmembers_that_do_not_make_up_the_scene_are_to_blame(constraint):
    said = complaint_about(PIXELS, PURE[:1], constraint)
    assert "the endmembers do not make up the scene" in said


# Convergence


def test_every_method_comes_near_the_best_fit_and_matching_pursuit_never_rises():
    found = convergence(PIXELS, PURE)
    assert found.pixels == 11
    assert all(curve[-1] < 1e-6 for curve in found.curves.values())
    pursuit = found.curves["matching pursuit"]
    assert (np.diff(pursuit) <= 1e-15).all()


@pytest.mark.parametrize("endmembers", [PURE[:1], np.vstack([PURE, PURE[0]]), np.eye(4)])
def test_curves_are_drawn_for_single_dependent_and_complete_endmembers(endmembers):
    found = convergence(PIXELS * 1e-30, endmembers * 1e30)
    assert all(np.isfinite(curve).all() for curve in found.curves.values())
    assert found.lowest > 0


# Whole files


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")

    def fail(part):
        part.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), whole_file(target) as part:
        fail(part)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "old"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        unmix(SCENE, PURE).save(tmp_path / "nowhere" / "numbers.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="is a folder, expected the name of a file"):
        unmix(SCENE, PURE).save(tmp_path / "folder.npz")


@pytest.mark.filterwarnings("ignore:the fit is bad")
def test_endmembers_that_are_all_zero_leave_all_of_a_pixel():
    pixels = np.array([[1.0, 2.0], [0.0, 3.0]])
    found = unmix(pixels, np.zeros((2, 2)), "sum-to-one")
    np.testing.assert_array_equal(found.abundances.sum(axis=1), 1)
    np.testing.assert_allclose(found.residual_norms, np.linalg.norm(pixels, axis=1))


def test_the_estimated_number_prints_no_curve():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 400)
    estimate = estimate_number(shares @ np.random.default_rng(1).random((3, 40)))
    assert repr(estimate).count("\n") < 3
    assert f"number={estimate.number}" in repr(estimate)
    assert "array" not in repr(estimate)
