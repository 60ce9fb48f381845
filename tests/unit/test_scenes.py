"""Every format, layout, interleave, byte order and type gives the same scene."""

import sys
from itertools import permutations

import numpy as np
import pytest
import scipy.io

from pursuit.base.errors import InputError, MissingExtra
from pursuit.files.data import find
from pursuit.unmixing import Scene, read_scene

ROWS, COLUMNS, BANDS = 3, 4, 5
CUBE = np.arange(ROWS * COLUMNS * BANDS, dtype=np.uint16).reshape(ROWS, COLUMNS, BANDS) * 7 % 101
MATRIX = CUBE.transpose(2, 1, 0).reshape(BANDS, -1)  # bands × pixels, column by column


def assert_is_the_cube(scene, cube=CUBE):
    assert scene.shape == cube.shape[:2]
    np.testing.assert_array_equal(scene.image(scene.pixels), cube)
    assert scene.pixels.flags.c_contiguous


def save_matlab73(path, **variables):
    """A file as MATLAB 7.3 writes it: HDF5 after a text header, transposed, with classes."""
    h5py = pytest.importorskip("h5py")
    classes = {"float64": "double", "float32": "single", "bool": "logical"}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            item = file.create_dataset(name, data=np.asarray(value).T)
            kind = classes.get(str(item.dtype), str(item.dtype))
            item.attrs["MATLAB_class"] = np.bytes_(kind)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def save_envi(path, cube, interleave="bsq", byte_order=0, **fields):
    """The ENVI files that the `spectral` package writes."""
    envi = pytest.importorskip("spectral.io.envi")
    metadata = {name.replace("_", " "): value for name, value in fields.items()}
    envi.save_image(
        str(path),
        cube,
        interleave=interleave,
        byteorder=byte_order,
        dtype=cube.dtype,
        metadata=metadata,
    )


def data_file(name):
    path = find(name)
    if path is None:
        pytest.skip(f"{name} is not in $PURSUIT_DATA")
    return path


# Formats


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("byte_order", [0, 1])
@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
def test_envi_files_of_another_writer_are_read(tmp_path, interleave, byte_order, dtype):
    save_envi(tmp_path / "scene.hdr", CUBE.astype(dtype), interleave, byte_order)
    scene = read_scene(tmp_path / "scene.hdr")
    assert_is_the_cube(scene)
    assert scene.pixels.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert scene.pixels.dtype.isnative
    np.testing.assert_array_equal(scene.pixels, CUBE.reshape(-1, BANDS))


def test_envi_is_found_from_the_raw_numbers_too(tmp_path):
    save_envi(tmp_path / "scene.hdr", CUBE)
    assert_is_the_cube(read_scene(tmp_path / "scene.img"))


def test_envi_header_in_capitals_with_comments_offset_and_latin_1_is_read(tmp_path):
    (tmp_path / "SCENE.DAT").write_bytes(b"12345" + CUBE.astype(">i2").tobytes())
    header = f"""ENVI
; a comment = {{ that is not closed
description = {{
  bands = 99 }}
Samples = {COLUMNS}
LINES   = {ROWS}
bands = {BANDS}
header offset = 5
data type = 2
Interleave = BIP
byte order = 1
wavelength units = \xb5m
wavelength = {{ 0.4, 0.5,
 0.6, 0.7, 0.8 }}
"""
    (tmp_path / "scene.HDR").write_bytes(header.encode("latin-1"))
    scene = read_scene(tmp_path / "scene.HDR")
    assert_is_the_cube(scene)
    np.testing.assert_array_equal(scene.wavelengths, [0.4, 0.5, 0.6, 0.7, 0.8])
    assert scene.wavelength_unit == "µm"


def test_envi_header_says_bad_bands_and_the_value_of_no_data(tmp_path):
    cube = CUBE.astype(np.float32)
    cube[1, 2, 0] = -9999
    cube[0, 0, 3] = -9999  # in a bad band: does not count
    save_envi(
        tmp_path / "scene.hdr",
        cube,
        bbl=[1, 1, 1, 0, 1],
        data_ignore_value=-9999,
        wavelength=[400, 500, 600, 700, 800],
    )
    scene = read_scene(tmp_path / "scene.hdr")
    assert scene.bands.tolist() == [1, 2, 3, 5]
    assert scene.wavelengths.tolist() == [400, 500, 600, 800]
    assert np.argwhere(~scene.mask).tolist() == [[1, 2]]
    assert read_scene(tmp_path / "scene.hdr", bad_bands=[]).bands.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("field", ["data_gain_values", "data_offset_values"])
def test_what_an_envi_header_wants_for_each_band_is_said_to_be_left_out(tmp_path, field):
    neutral = 1 if "gain" in field else 0
    save_envi(tmp_path / "plain.hdr", CUBE, **{field: [neutral] * BANDS})
    assert_is_the_cube(read_scene(tmp_path / "plain.hdr"))
    save_envi(tmp_path / "scene.hdr", CUBE, **{field: [neutral] * (BANDS - 1) + [2]})
    with pytest.warns(UserWarning, match="a factor or an offset for each band, .* not applied"):
        assert_is_the_cube(read_scene(tmp_path / "scene.hdr"))


def test_wavelengths_that_are_not_all_numbers_are_left_out_with_a_warning(tmp_path):
    save_envi(tmp_path / "scene.hdr", CUBE, wavelength=[400, 500, 600, "nan", 800])
    with pytest.warns(UserWarning, match="its wavelengths are not all numbers: left out"):
        assert read_scene(tmp_path / "scene.hdr").wavelengths is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"places": [[0, 0], [0, 5]]}, "places: expected rows and columns inside of a picture"),
        ({"places": [[0, 0], [0, 0]]}, "places: expected rows and columns inside .* each once"),
        ({"places": [[0, 0], [-1, 0]]}, "places: expected rows and columns inside"),
        ({"places": [[0.0, 0.0], [0.0, 1.0]]}, "places: expected rows and columns inside"),
        ({"places": [[0], [1]]}, "places: expected rows and columns inside"),
        ({"bands": [1, 2]}, "pixels: expected one row for each of 2 places and one column"),
        ({"wavelengths": [400.0]}, "wavelengths: expected one for each of 3 bands"),
    ],
)
def test_a_scene_that_does_not_fit_itself_is_refused(change, sentence):
    parts = {"pixels": [[1.0, 2, 3]] * 2, "places": [[0, 0], [0, 1]], "bands": [1, 2, 3]}
    scene = Scene(**parts, shape=(1, 2))
    assert scene.mask.all()
    with pytest.raises(InputError, match="divisor: expected a positive number, got 0"):
        scene.divided(0)
    with pytest.raises(InputError, match=sentence):
        Scene(**(parts | change), shape=(1, 2))


def test_a_path_that_is_none_is_refused():
    with pytest.raises(InputError, match="path: expected the path of a file, got None"):
        read_scene(None)


@pytest.mark.parametrize("dtype", ["u1", ">u2", "i4", "f2", ">f4", "f8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_of_any_type_and_order_are_read(tmp_path, dtype, order):
    cube = CUBE.astype(dtype)
    np.save(tmp_path / "scene.npy", np.asarray(cube, order=order))
    scene = read_scene(tmp_path / "scene.npy")
    assert_is_the_cube(scene, cube)
    assert scene.pixels.dtype == (np.float32 if dtype == ">f4" else np.float64)


def save_npz(path, **variables):
    np.savez_compressed(path, **variables)


def save_mat5(path, **variables):
    scipy.io.savemat(path, variables, do_compression=True)


WRITERS = {"scene.npz": save_npz, "scene.mat": save_mat5, "scene73.mat": save_matlab73}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.float64])
def test_a_matrix_with_its_shape_beside_it_is_read_in_one_call(tmp_path, name, dtype):
    WRITERS[name](
        tmp_path / name,
        V=MATRIX.astype(dtype),
        nRow=np.array([[ROWS]], dtype=np.float64),
        nCol=np.array([[COLUMNS]], dtype=np.float64),
        Lambda=np.linspace(400, 800, BANDS)[None],
    )
    scene = read_scene(tmp_path / name)
    assert_is_the_cube(scene)
    np.testing.assert_array_equal(scene.pixels, MATRIX.T)  # the order of the file is kept
    np.testing.assert_array_equal(scene.wavelengths, np.linspace(400, 800, BANDS))
    assert scene.pixels.dtype == (np.float32 if dtype == np.float32 else np.float64)


@pytest.mark.parametrize("name", WRITERS)
def test_a_cube_is_read_and_a_variable_can_be_chosen(tmp_path, name):
    WRITERS[name](tmp_path / name, first=CUBE, second=CUBE[:2, :3] + 1)
    assert_is_the_cube(read_scene(tmp_path / name))
    assert_is_the_cube(read_scene(tmp_path / name, variable="second"), CUBE[:2, :3] + 1)


def test_texts_cells_and_structures_beside_the_scene_do_not_matter(tmp_path):
    cell = np.array(["rock", "tree"], dtype=object)
    beside = {"names": cell, "info": {"a": 1}, "text": "x" * 500, "lambda": 0.1}
    scipy.io.savemat(tmp_path / "scene.mat", {"V": CUBE, **beside})
    scene = read_scene(tmp_path / "scene.mat")
    assert_is_the_cube(scene)
    assert scene.wavelengths is None


def test_a_matlab_73_file_without_h5py_names_the_extra(tmp_path, monkeypatch):
    save_matlab73(tmp_path / "scene.mat", V=CUBE)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pursuit\[scenes\]'"):
        read_scene(tmp_path / "scene.mat")


def test_importing_the_readers_imports_no_format_library():
    import subprocess

    code = "import sys, pursuit.unmixing; print({'scipy', 'h5py', 'spectral'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Layouts


@pytest.mark.parametrize(
    "layout", [" ".join(p) for p in permutations(("rows", "columns", "bands"))]
)
def test_every_layout_of_a_cube_gives_the_same_picture(tmp_path, layout):
    axes = [("rows", "columns", "bands").index(axis) for axis in layout.split()]
    np.save(tmp_path / "scene.npy", CUBE.transpose(axes))
    assert_is_the_cube(read_scene(tmp_path / "scene.npy", layout=layout))


@pytest.mark.parametrize(
    ("layout", "matrix"),
    [
        (None, MATRIX),
        ("bands columns rows", MATRIX),
        (None, MATRIX.T),
        ("columns rows bands", MATRIX.T),
        ("rows columns bands", CUBE.reshape(-1, BANDS)),
        ("bands rows columns", CUBE.reshape(-1, BANDS).T),
    ],
)
def test_every_layout_of_a_matrix_gives_the_same_picture(tmp_path, layout, matrix):
    np.save(tmp_path / "scene.npy", matrix)
    scene = read_scene(tmp_path / "scene.npy", layout=layout, shape=(ROWS, COLUMNS))
    assert_is_the_cube(scene)


def test_a_matrix_whose_axes_both_fit_needs_a_layout(tmp_path):
    square = np.arange(36.0).reshape(6, 6)
    np.save(tmp_path / "scene.npy", square)
    with pytest.raises(InputError, match="both axes of a matrix of 6 × 6 fit"):
        read_scene(tmp_path / "scene.npy", shape=(2, 3))
    scene = read_scene(tmp_path / "scene.npy", shape=(2, 3), layout="bands columns rows")
    np.testing.assert_array_equal(scene.pixels, square.T)


# Bands, pixels, units


def test_bad_bands_are_dropped_by_their_number_from_1(tmp_path):
    np.savez(tmp_path / "scene.npz", cube=CUBE, wavelengths=np.arange(BANDS) + 0.5)
    scene = read_scene(tmp_path / "scene.npz", bad_bands=[1, 4, 4])
    assert scene.bands.tolist() == [2, 3, 5]
    assert scene.wavelengths.tolist() == [1.5, 2.5, 4.5]
    np.testing.assert_array_equal(scene.pixels, CUBE.reshape(-1, BANDS)[:, [1, 2, 4]])


@pytest.mark.parametrize("nodata", [-50.0, np.nan, -np.inf])
def test_pixels_without_data_are_left_out_and_are_nan_in_pictures(tmp_path, nodata):
    cube = CUBE.astype(np.float32)
    cube[0, 1] = nodata
    cube[2, 3, 4] = nodata
    np.save(tmp_path / "scene.npy", cube)
    scene = read_scene(tmp_path / "scene.npy", nodata=nodata)
    assert len(scene) == ROWS * COLUMNS - 2
    assert np.argwhere(~scene.mask).tolist() == [[0, 1], [2, 3]]
    picture = scene.image(np.arange(len(scene)))
    assert picture.shape == (ROWS, COLUMNS)
    np.testing.assert_array_equal(np.isnan(picture), ~scene.mask)
    np.testing.assert_array_equal(picture[scene.mask], np.arange(len(scene)))
    assert "10 pixels with data" in repr(scene)


def test_numbers_are_divided_by_the_scale_after_no_data_is_found(tmp_path):
    cube = CUBE.copy()
    cube[0, 0] = 1000
    np.save(tmp_path / "scene.npy", cube)
    scene = read_scene(tmp_path / "scene.npy", scale=1000, nodata=1000)
    np.testing.assert_array_equal(scene.pixels, CUBE.reshape(-1, BANDS)[1:] / 1000)


def test_pictures_of_wrong_values_are_refused(tmp_path):
    np.save(tmp_path / "scene.npy", CUBE)
    scene = read_scene(tmp_path / "scene.npy")
    with pytest.raises(InputError, match="values: expected one row for each of 12 pixels"):
        scene.image(np.ones(11))
    with pytest.raises(InputError, match="pixels: expected one row for each of 12 places"):
        Scene(scene.pixels[1:], scene.places, scene.shape, scene.bands)


# Scenes of the literature


def test_urban_loads_in_one_call_from_either_file():
    path = data_file("urban77/urban77.npz")
    scene = read_scene(path)
    with np.load(path, allow_pickle=False) as file:
        pixels = file["pixels"]
    np.testing.assert_array_equal(scene.pixels, pixels.T)
    np.testing.assert_array_equal(scene.image(scene.pixels[:, 0])[:, 1], pixels[0, 77:154])
    matlab = read_scene(data_file("urban77/urban_undersampled4.mat"), shape=(77, 77))
    np.testing.assert_array_equal(matlab.pixels, scene.pixels)
    assert repr(scene) == "urban77: picture of 77 × 77, 162 bands"


def test_samson_loads_in_one_call():
    path = data_file("samson/samson_1.mat")
    scene = read_scene(path)
    assert scene.shape == (95, 95)
    np.testing.assert_array_equal(scene.pixels, scipy.io.loadmat(path)["V"].T)
