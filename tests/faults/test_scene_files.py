"""Bad files: one sentence that names the file and what is wrong; never a pickle, never a half."""

import pickle
import re
import shutil
import struct
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pytest
import scipy.io

from pursuit.base.errors import InputError
from pursuit.files import open_arrays
from pursuit.files.tables import read_matrix
from pursuit.unmixing import read_scene

CUBE = np.random.default_rng(0).integers(0, 1000, (6, 5, 4)).astype(np.uint16)


class Bomb:
    """Whoever unpickles it fails the test."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def refused(path, sentence, **arguments):
    """Reading the scene raises one line that names the file and matches `sentence`."""
    with pytest.raises(InputError, match=sentence) as caught:
        read_scene(path, **arguments)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def save_hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["cube"] = CUBE.T


HEADER = """ENVI
samples = 5
lines = 6
bands = 4
data type = 12
interleave = bip
byte order = 0
"""


def save_envi(folder, header=HEADER, numbers=CUBE):
    (folder / "scene.img").write_bytes(numbers.astype("<u2").tobytes())
    (folder / "scene.hdr").write_text(header)
    return folder / "scene.hdr"


def test_the_sound_envi_file_of_these_tests_is_read(tmp_path):
    scene = read_scene(save_envi(tmp_path))
    np.testing.assert_array_equal(scene.image(scene.pixels), CUBE)


# Nothing is unpickled


def test_a_pickle_in_an_npy_is_not_loaded(tmp_path):
    path = tmp_path / "scene.npy"
    path.write_bytes(pickle.dumps(Bomb()))
    refused(path, "is not an array saved by NumPy .a pickle, perhaps: those are never loaded")


def test_an_array_of_objects_in_an_npy_is_not_loaded(tmp_path):
    path = tmp_path / "scene.npy"
    np.save(path, np.array([[Bomb(), 1]], dtype=object), allow_pickle=True)
    refused(path, "holds no array of real numbers .pickled Python objects are never loaded")


def test_an_array_of_objects_beside_the_scene_is_not_loaded(tmp_path):
    path = tmp_path / "scene.npz"
    np.savez(path, bomb=np.array([Bomb()], dtype=object), cube=CUBE)
    np.testing.assert_array_equal(read_scene(path).pixels, CUBE.reshape(-1, 4))
    refused(path, r"has no array 'bomb', but cube \(6 × 5 × 4\)", variable="bomb")


def test_a_pickle_in_an_npz_is_not_loaded(tmp_path):
    path = tmp_path / "scene.npz"
    path.write_bytes(pickle.dumps(Bomb()))
    refused(path, "is not a complete .npz file")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cube.npy", pickle.dumps(Bomb()))
    refused(path, "is not an array saved by NumPy")


# Nothing half-read is returned


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("scene.npy", lambda path: np.save(path, CUBE)),
        ("stored.npz", lambda path: np.savez(path, cube=CUBE)),
        ("packed.npz", lambda path: np.savez_compressed(path, cube=CUBE)),
        ("plain.mat", lambda path: scipy.io.savemat(path, {"cube": CUBE})),
        ("old.mat", lambda path: scipy.io.savemat(path, {"cube": CUBE[0]}, format="4")),
        ("packed.mat", lambda path: scipy.io.savemat(path, {"cube": CUBE}, do_compression=True)),
        ("new.mat", save_hdf5),
    ],
)
def test_a_truncated_file_is_refused_wherever_it_was_cut(tmp_path, name, save):
    whole = tmp_path / name
    save(whole)
    expected = open_arrays(whole).load(next(iter(open_arrays(whole).shapes)))
    content = whole.read_bytes()
    path = tmp_path / f"cut{whole.suffix}"
    for length in [*range(0, len(content), 1 + len(content) // 500), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=re.escape(str(path))):
            open_arrays(path).load(next(iter(open_arrays(path).shapes)))
    np.testing.assert_array_equal(expected, CUBE[0] if name == "old.mat" else CUBE)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("array", [CUBE / 2, CUBE + 1j])
def test_numbers_of_a_type_that_there_is_not_are_refused(tmp_path, array, packed):
    """SciPy would look up such a type beyond the end of a table, and bring the process down."""
    path = tmp_path / "scene.mat"
    scipy.io.savemat(path, {"cube": array})
    content = bytearray(path.read_bytes())
    place = content.index(b"cube") + 4
    if array.dtype.kind == "c":  # the imaginary part
        place += 8 + 8 * CUBE.size
    content[place + 1] ^= 2
    if packed:
        element = zlib.compress(content[128:])
        content[128:] = struct.pack("<II", 15, len(element)) + element
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{re.escape(str(path))}: is damaged .*type 521"):
        open_arrays(path).load("cube")


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_changed_bytes_of_a_packed_file_are_refused_or_do_not_matter(tmp_path, suffix):
    path = tmp_path / f"scene{suffix}"
    if suffix == ".npz":
        np.savez_compressed(path, cube=CUBE)
    else:
        scipy.io.savemat(path, {"cube": CUBE}, do_compression=True)
    content = bytearray(path.read_bytes())
    for place in range(200 if suffix == ".mat" else 60, len(content) - 30, 23):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with suppress(InputError):
            values = read_scene(path, variable="cube").pixels
            np.testing.assert_array_equal(values, CUBE.reshape(-1, 4))


# What is wrong is said


def test_a_file_that_is_not_there_is_named(tmp_path):
    refused(tmp_path / "scene.mat", "there is no such file")
    refused(tmp_path, "is a folder, not a file")


def test_an_unknown_ending_lists_the_known_ones(tmp_path):
    (tmp_path / "scene.xyz").write_bytes(b"II")
    refused(tmp_path / "scene.xyz", "expected a .npy, .npz, .mat, .csv or .tif file, or an ENVI")


def test_a_text_named_mat_is_refused(tmp_path):
    path = tmp_path / "scene.mat"
    path.write_text("these are not the numbers that you are looking for\n" * 20)
    refused(path, "damaged or incomplete")


def test_a_wrong_variable_lists_the_arrays(tmp_path):
    path = tmp_path / "scene.mat"
    scipy.io.savemat(path, {"Y": CUBE, "A": CUBE[0]})
    refused(path, r"has no array 'V', but Y \(6 × 5 × 4\), A \(5 × 4\)", variable="V")


def test_arrays_of_equal_size_must_be_chosen_by_name(tmp_path):
    path = tmp_path / "scene.npz"
    np.savez(path, one=CUBE, two=CUBE)
    refused(path, "expected one array larger than the others, got one .*choose one with variable=")


def test_an_array_of_one_axis_is_no_scene(tmp_path):
    path = tmp_path / "scene.npz"
    np.savez(path, line=np.arange(5.0))
    refused(path, "expected 'line' to have 2 or 3 axes, got 5", variable="line")


def test_complex_numbers_are_no_scene(tmp_path):
    path = tmp_path / "scene.mat"
    scipy.io.savemat(path, {"z": CUBE * 1j})
    refused(path, "expected real numbers in 'z', got complex128")


def test_a_matrix_without_the_shape_of_its_picture_asks_for_it(tmp_path):
    path = tmp_path / "scene.npy"
    np.save(path, CUBE.reshape(-1, 4))
    refused(path, r"a matrix of 30 × 4 .*pass shape=\(rows, columns\)")
    refused(path, "does not fit a picture of 3 × 3 = 9 pixels", shape=(3, 3))
    refused(
        path,
        "does not fit a picture of 6 × 5 = 30 pixels as 'bands columns rows'",
        shape=(6, 5),
        layout="bands columns rows",
    )
    refused(
        path,
        "does not fit a picture .* as 'rows bands columns'",
        shape=(6, 5),
        layout="rows bands columns",
    )


def test_a_cube_that_contradicts_its_shape_is_refused(tmp_path):
    path = tmp_path / "scene.npz"
    np.savez(path, cube=np.moveaxis(CUBE, -1, 0), image_shape=[6, 5])
    refused(path, "expected a picture of 6 × 5, but as 'rows columns bands' .* one of 4 × 6")
    assert read_scene(path, layout="bands rows columns").shape == (6, 5)


@pytest.mark.parametrize("shape", [[0, 5], [6, np.nan], [6.5, 5], [6, 5, 4]])
def test_a_shape_in_the_file_that_is_none_is_refused(tmp_path, shape):
    path = tmp_path / "scene.npz"
    np.savez(path, pixels=CUBE.reshape(-1, 4), image_shape=shape)
    refused(path, "image_shape: expected")


def test_bands_of_nan_are_named(tmp_path):
    path = tmp_path / "scene.npy"
    cube = CUBE.astype(float)
    cube[:, :, 1] = np.nan
    cube[0, 0, 3] = np.inf
    np.save(path, cube)
    refused(path, "30 of 30 pixels have NaN or infinite values, in band 2, 4; drop the bands")
    refused(path, "every pixel has the no-data value nan", nodata=np.nan)
    refused(path, "1 of 30 pixels .* in band 4;", bad_bands=[2])
    assert read_scene(path, bad_bands=[2, 4]).bands.tolist() == [1, 3]


def test_a_scene_without_bands_is_refused(tmp_path):
    path = tmp_path / "scene.npy"
    np.save(path, CUBE)
    refused(path, "all 4 bands are bad", bad_bands=range(1, 5))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"bad_bands": [0]}, "bad_bands: expected an integer of at least 1, got 0"),
        ({"bad_bands": [5]}, "bad_bands: expected numbers from 1 to 4, got 5"),
        ({"layout": "bip"}, "layout: expected one of rows columns bands, .*, got 'bip'"),
        ({"shape": 30}, r"shape: expected \(rows, columns\), got 30"),
        ({"shape": (6, 5.0)}, "shape: columns: expected an integer of at least 1, got 5.0"),
        ({"scale": 0}, "scale: expected a positive number, got 0"),
    ],
)
def test_a_wrong_argument_is_named(tmp_path, arguments, sentence):
    np.save(tmp_path / "scene.npy", CUBE)
    with pytest.raises(InputError, match=sentence):
        read_scene(tmp_path / "scene.npy", **arguments)


# ENVI


def test_envi_without_its_numbers_is_refused(tmp_path):
    path = save_envi(tmp_path)
    (tmp_path / "scene.img").unlink()
    refused(path, "the file of raw numbers beside this header is missing")


def test_envi_with_several_files_of_numbers_asks_which(tmp_path):
    path = save_envi(tmp_path)
    shutil.copy(tmp_path / "scene.img", tmp_path / "scene.dat")
    refused(path, "belongs to any of scene.img, scene.dat; pass the path of the one you mean")
    assert len(read_scene(tmp_path / "scene.dat")) == 30


@pytest.mark.parametrize("numbers", [CUBE[:5], np.concatenate([CUBE, CUBE])])
def test_envi_numbers_that_contradict_the_header_are_refused(tmp_path, numbers):
    save_envi(tmp_path, numbers=numbers)
    refused(tmp_path / "scene.img", f"expected 240 bytes by its header, got {2 * numbers.size}")


@pytest.mark.parametrize("field", ["samples", "lines", "bands", "data type", "interleave"])
def test_an_envi_header_without_a_field_names_it(tmp_path, field):
    lines = [line for line in HEADER.splitlines() if not line.startswith(field)]
    refused(save_envi(tmp_path, "\n".join(lines)), f"the header has no field '{field}'")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("ENVI", "ENVY", "is not an ENVI header, its first line is not 'ENVI'"),
        (
            "samples = 5",
            "samples = five",
            "'samples' must be a whole number of at least 1 .*, got 'five'",
        ),
        ("lines = 6", "lines = -6", "'lines' must be a whole number of at least 1 .*, got '-6'"),
        ("bands = 4", "bands = 0", "'bands' must be a whole number of at least 1 .*, got '0'"),
        ("type = 12", "type = 6", "expected 'data type' to be one of .*, got '6'"),
        ("= bip", "= bop", "expected 'interleave' to be one of bsq, bil, bip, got 'bop'"),
        ("order = 0", "order = 2", "expected 'byte order' to be one of 0, 1, got '2'"),
        ("ENVI", "ENVI\nwavelength = {1, 2}", "one number for each of 4 bands .* got 2"),
        ("ENVI", "ENVI\nwavelength = {1, 2, 3, x}", "expected numbers in the list 'wavelength'"),
        ("ENVI", "ENVI\nbbl = {1, 1", "the list 'bbl' has no closing brace"),
        ("ENVI", "ENVI\ndata ignore value = x", "expected 'data ignore value' to be a number"),
        ("ENVI", "ENVI\nfile type = ENVI Spectral Library", "is a spectral library, not a scene"),
        ("ENVI", "ENVI\nfile compression = 1", "compressed ENVI files are not read"),
        ("ENVI", "ENVI\nmajor frame offsets = {4, 0}", "major frame offsets are not read"),
    ],
)
def test_a_wrong_envi_header_is_refused_with_its_field(tmp_path, old, new, sentence):
    refused(save_envi(tmp_path, HEADER.replace(old, new, 1)), sentence)


@pytest.mark.parametrize("value", ["9" * 5000, "0" * 5000, "1e999", "-1", "6.5", "nan", "9" * 18])
@pytest.mark.parametrize("field", ["samples", "lines", "bands", "header offset"])
def test_an_envi_size_that_no_file_has_is_refused_in_one_line(tmp_path, field, value):
    lines = [line for line in HEADER.splitlines() if not line.startswith(field)]
    path = save_envi(tmp_path, "\n".join([*lines, f"{field} = {value}"]))
    with pytest.raises(InputError, match=f"'{field}' must be|bytes by its header") as caught:
        read_scene(path)
    assert len(str(caught.value)) < 400


def test_envi_headers_leave_no_layout_to_choose(tmp_path):
    path = save_envi(tmp_path)
    with pytest.raises(InputError, match="layout: expected None for an ENVI file, which"):
        read_scene(path, layout="rows columns bands")


# Matrices for the command line meet the same files


def test_a_matrix_is_never_unpickled_either(tmp_path):
    path = tmp_path / "atoms.npy"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="never loaded"):
        read_matrix(path)
