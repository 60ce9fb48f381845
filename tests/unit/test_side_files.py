"""Wavelengths, bad bands, sizes and scales, wherever people put them."""

import numpy as np
import pytest
import scipy.io

from pursuit.base.errors import InputError
from pursuit.unmixing import read_scene
from pursuit.unmixing.wavelengths import in_nanometres, unit_in

CUBE = np.random.default_rng(0).integers(0, 200, (6, 5, 4)).astype(float)
WAVES = [400.5, 500.0, 600.25, 700.0]


@pytest.fixture
def scene(tmp_path):
    np.save(tmp_path / "scene.npy", CUBE)
    return tmp_path / "scene.npy"


# Wavelengths


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("400.5\n500\n600.25\n700\n", None),
        ("400.5 500 600.25 700", None),
        ("400.5, 500, 600.25, 700\n", None),
        ("wavelength (nm)\n400.5\n500\n600.25\n700\n", "nm"),
        ("no;centre [microns];width\n1;400.5;9\n2;500;9\n3;600.25;9\n4;700;9\n", "microns"),
        ("0\t400.5\n1\t500\n2\t600.25\n3\t700\n", None),
        ("400.5,9\n500,9\n600.25,9\n700,9\n", None),
    ],
)
def test_wavelengths_are_read_from_a_text_beside_the_scene(scene, tmp_path, text, unit):
    (tmp_path / "waves.txt").write_text(text)
    found = read_scene(scene, wavelengths=tmp_path / "waves.txt", bad_bands=[2])
    assert found.wavelengths.tolist() == [400.5, 600.25, 700.0]
    assert found.wavelength_unit == unit


def test_a_counted_table_that_has_as_many_numbers_as_there_are_bands_is_none(scene, tmp_path):
    (tmp_path / "waves.txt").write_text("1 400\n2 500\n")  # of another scene, of two bands
    with pytest.raises(
        InputError, match="expected one wavelength for each of 4 bands, got 2 lines"
    ):
        read_scene(scene, wavelengths=tmp_path / "waves.txt")
    (tmp_path / "waves.txt").write_text("400 500\n600 700\n")  # lines one after the other
    found = read_scene(scene, wavelengths=tmp_path / "waves.txt")
    assert found.wavelengths.tolist() == [400, 500, 600, 700]


def test_a_side_file_that_is_not_there_is_named(scene, tmp_path):
    for name in ("wavelengths", "bad_bands"):
        with pytest.raises(InputError, match=rf"{name}: .*nowhere.txt: there is no such file"):
            read_scene(scene, **{name: tmp_path / "nowhere.txt"})


@pytest.mark.parametrize("junk", [[1], {}, "a", 1j, len, True, b"x", 10**400])
def test_a_value_of_no_data_that_is_none_is_refused(scene, junk):
    with pytest.raises(InputError, match="nodata: expected a number, got"):
        read_scene(scene, nodata=junk)


@pytest.mark.parametrize("junk", [3, 0.5, [[1]], ["1"], [True], [1.5], [None], [0]])
def test_numbers_of_bad_bands_that_are_none_are_refused(scene, junk):
    with pytest.raises(InputError, match=r"^bad_bands: expected (numbers of bands|an integer)"):
        read_scene(scene, bad_bands=junk)


def test_wavelengths_are_read_from_arrays_and_taken_as_numbers(scene, tmp_path):
    np.save(tmp_path / "waves.npy", WAVES)
    scipy.io.savemat(tmp_path / "waves.mat", {"centres": WAVES})
    for given in (WAVES, np.array(WAVES), tmp_path / "waves.npy", str(tmp_path / "waves.mat")):
        assert read_scene(scene, wavelengths=given).wavelengths.tolist() == WAVES


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\n2\n3\n", "waves.txt: expected one wavelength for each of 4 bands, got 3 numbers"),
        ("1 2\n3 4\n5 6\n", "expected one wavelength for each of 4 bands, got 3 lines"),
        ("400\n500\nsix\n700\n", "waves.txt: line 3, column 1: 'six' is not a number"),
        ("400\n500\nnan\n700\n", "waves.txt: expected finite numbers"),
        ("", "waves.txt: expected finite numbers"),
    ],
)
def test_wavelengths_that_do_not_fit_are_refused(scene, tmp_path, text, sentence):
    (tmp_path / "waves.txt").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_scene(scene, wavelengths=tmp_path / "waves.txt")


def test_wrong_wavelengths_are_refused_by_name(scene, tmp_path):
    with pytest.raises(InputError, match=r"wavelengths: expected shape \(4,\), got \(3,\)"):
        read_scene(scene, wavelengths=WAVES[:3])
    with pytest.raises(InputError, match=r"none.txt: there is no such file"):
        read_scene(scene, wavelengths=tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        ("nm", [500], [500]),
        ("Nanometers", [500], [500]),
        ("µm", [0.5], [500]),
        ("Micrometers", [0.5], [500]),
        ("microns", [0.5], [500]),
        ("Angstroms", [5000], [500]),
        (None, [0.5], [500]),
        ("Unknown", [500], [500]),
        ("Wavenumber", [500], None),
        ("Index", [1, 2], None),
    ],
)
def test_units_become_nanometres(unit, values, expected):
    found = in_nanometres(np.array(values, float), unit)
    assert (None if found is None else found.tolist()) == expected


def test_titles_name_units():
    assert unit_in("wavelength (nm)") == "nm"
    assert unit_in("centre in µm") == "µm"
    assert unit_in("a wavelength") is None


# Bad bands


@pytest.mark.parametrize("text", ["2, 4", "2\n4\n", "1 0 1 0", "1\n0\n1\n0\n", "2-2;4"])
def test_bad_bands_are_read_from_a_file(scene, tmp_path, text):
    (tmp_path / "bad.txt").write_text(text)
    assert read_scene(scene, bad_bands=tmp_path / "bad.txt").bands.tolist() == [1, 3]
    if "-" not in text:
        np.save(tmp_path / "bad.npy", np.array(text.replace(",", " ").split(), int))
        assert read_scene(scene, bad_bands=str(tmp_path / "bad.npy")).bands.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("two", "bad.txt: expected numbers such as 1-4,76, got 'two'"),
        ("4-2", "bad.txt: expected numbers such as 1-4,76, got '4-2'"),
        ("7", "bad.txt: expected numbers of bands from 1 to 4, got 7"),
    ],
)
def test_bad_bands_that_are_none_are_refused(scene, tmp_path, text, sentence):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_scene(scene, bad_bands=tmp_path / "bad.txt")


# Sizes and scales in the file itself

SIZES = [
    ("nRow", "nCol"), ("lines", "samples"), ("Lines", "Cols"), ("rows", "cols"), ("H", "W"),
    ("height", "width"), ("nl", "ns"), ("row", "col"), ("nRows", "nCols"), ("lines", "columns"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_sizes_are_found_under_the_names_in_use(tmp_path, rows, columns):
    matrix = CUBE.transpose(2, 1, 0).reshape(4, -1)
    scipy.io.savemat(tmp_path / "scene.mat", {"V": matrix, rows: 6, columns: 5})
    scene = read_scene(tmp_path / "scene.mat")
    np.testing.assert_array_equal(scene.image(scene.pixels), CUBE)


@pytest.mark.parametrize("name", ["image_shape", "imSize", "img_size"])
def test_both_sizes_are_found_in_one_array(tmp_path, name):
    np.savez(tmp_path / "scene.npz", **{"V": CUBE.reshape(-1, 4), name: [6, 5]})
    scene = read_scene(tmp_path / "scene.npz", layout="rows columns bands")
    np.testing.assert_array_equal(scene.image(scene.pixels), CUBE)


def test_an_array_called_rows_is_no_size(tmp_path):
    np.savez(tmp_path / "scene.npz", V=CUBE, rows=np.arange(30), columns=np.arange(30))
    assert read_scene(tmp_path / "scene.npz").shape == (6, 5)


@pytest.mark.parametrize("name", ["maxValue", "scale_factor"])
def test_the_scale_of_the_file_is_known_and_used_if_asked_for(tmp_path, name):
    scipy.io.savemat(tmp_path / "scene.mat", {"Y": CUBE, name: 200.0})
    scene = read_scene(tmp_path / "scene.mat")
    assert (scene.scale, scene.file_scale) == (1.0, 200.0)
    scaled = read_scene(tmp_path / "scene.mat", scale="auto")
    assert (scaled.scale, scaled.file_scale) == (200.0, 200.0)
    np.testing.assert_array_equal(scaled.pixels, scene.pixels / 200)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_scale_that_is_none_is_left_alone(tmp_path, value):
    scipy.io.savemat(tmp_path / "scene.mat", {"Y": CUBE, "maxValue": value})
    assert read_scene(tmp_path / "scene.mat", scale="auto").scale == 1.0
    with pytest.raises(InputError, match="scale: expected a positive number, got 0"):
        read_scene(tmp_path / "scene.mat", scale=0)
