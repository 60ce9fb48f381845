"""Damaged files of every format: a scene, or one sentence that names the file; nothing else."""

import warnings

import numpy as np
import pytest
import scipy.io

from pursuit.base.errors import InputError
from pursuit.unmixing import Scene, read_scene
from pursuit.unmixing.libraries import SpectralLibrary, read_library

CUBE = np.random.default_rng(0).integers(0, 1000, (6, 5, 4)).astype(np.uint16)
ROUNDS = 300

HEADER = """ENVI
description = { a scene }
samples = 5
lines = 6
bands = 4
header offset = 0
file type = ENVI Standard
data type = 12
interleave = bip
byte order = 0
map info = {UTM, 1, 1, 500000, 4600000, 30, 30, 31, North, WGS-84}
wavelength units = Nanometers
wavelength = { 400, 500, 600, 700 }
bbl = { 1, 1, 0, 1 }
data ignore value = 77
reflectance scale factor = 1000
"""
WORDS = (
    b"{",
    b"}",
    b"=",
    b"\n",
    b"-1",
    b"0",
    b"99999999999",
    b"nan",
    b"1e400",
    b"\xb5",
    b"\0",
    b",",
)


def save_envi(path):
    path.with_suffix(".img").write_bytes(CUBE.tobytes())
    path.write_text(HEADER)


def save_tiff(path):
    rasterio = pytest.importorskip("rasterio")
    with rasterio.open(
        path, "w", driver="GTiff", width=5, height=6, count=4, dtype="uint16", compress="deflate",
        crs="EPSG:32631", transform=rasterio.Affine(30, 0, 5e5, 0, -30, 4.6e6),
    ) as file:  # fmt: skip
        file.write(np.moveaxis(CUBE, -1, 0))


def save_csv(path):
    np.savetxt(path, CUBE.reshape(-1, 4), delimiter=",", header="a,b,c,d", comments="")


WRITERS = {
    "scene.hdr": save_envi,
    "scene.tif": save_tiff,
    "scene.mat": lambda path: scipy.io.savemat(path, {"Y": CUBE, "nRow": 6, "nCol": 5}),
    "scene.npz": lambda path: np.savez(path, cube=CUBE, wavelengths=np.arange(4.0)),
    "scene.npy": lambda path: np.save(path, CUBE),
    "scene.csv": save_csv,
}


def damaged(content, rng):
    """Bytes flipped, cut out, doubled, or replaced by words that mean something."""
    kind, place = rng.integers(5), int(rng.integers(len(content)))
    length = int(rng.integers(1, 9))
    if kind == 0:
        return content[:place]
    if kind == 1:
        return (
            content[:place]
            + bytes([content[place] ^ (1 << rng.integers(8))])
            + content[place + 1 :]
        )
    if kind == 2:
        return content[:place] + content[place + length :]
    if kind == 3:
        return content[:place] + content[place : place + length] + content[place:]
    return content[:place] + WORDS[rng.integers(len(WORDS))] + content[place + length :]


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_scene_is_a_scene_or_one_sentence(tmp_path, name, capfd):
    path = tmp_path / name
    WRITERS[name](path)
    sound = path.read_bytes()
    more = {"shape": (6, 5)} if name == "scene.csv" else {}
    assert read_scene(path, **more).shape == (6, 5)
    rng = np.random.default_rng(1)
    ends = {Scene: 0, InputError: 0}
    for _ in range(ROUNDS):
        path.write_bytes(damaged(sound, rng))
        ends[type(outcome(lambda: read_scene(path, **more), path))] += 1
    assert min(ends.values()) > 0  # both happened: the damage is neither none nor total
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def outcome(read, path):
    """What was read, or the error; both as they should be."""
    found = error = None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*map information is left out")
        warnings.filterwarnings("ignore", message=".*its wavelengths are not all numbers")
        try:
            found = read()
        except InputError as caught:
            error = caught
    if error is not None:
        assert str(path.stem) in str(error)
        assert "\n" not in str(error)
        return error
    if isinstance(found, Scene):
        assert np.isfinite(found.pixels).all()
        assert found.pixels.shape == (len(found.places), len(found.bands))
    return found


def test_damaged_numbers_beside_a_sound_header_are_refused(tmp_path):
    save_envi(tmp_path / "scene.hdr")
    binary = tmp_path / "scene.img"
    for length in (0, 1, 239, 241, 480):
        binary.write_bytes(bytes(length))
        with pytest.raises(InputError, match="expected 240 bytes by its header"):
            read_scene(tmp_path / "scene.hdr")


@pytest.mark.parametrize("option", ["wavelengths", "bad_bands"])
def test_damaged_side_files_are_read_or_refused(tmp_path, option):
    np.save(tmp_path / "scene.npy", CUBE)
    side = tmp_path / "scene-side.txt"
    sound = b"band, wavelength (nm)\n1, 400.5\n2, 500\n3, 600\n4, 700\n"
    rng = np.random.default_rng(2)
    ends = {Scene: 0, InputError: 0}
    for _ in range(ROUNDS):
        side.write_bytes(damaged(sound if option == "wavelengths" else b"1, 2-3\n", rng))
        given = {option: side}
        ends[
            type(outcome(lambda given=given: read_scene(tmp_path / "scene.npy", **given), side))
        ] += 1
    assert min(ends.values()) > 0


LIBRARY = """ENVI
samples = 4
lines = 3
bands = 1
file type = ENVI Spectral Library
data type = 4
interleave = bsq
byte order = 0
spectra names = { roof, grass, tree }
wavelength = { 400, 500, 600, 700 }
"""


def test_a_damaged_spectral_library_is_a_library_or_one_sentence(tmp_path):
    path = tmp_path / "library.hdr"
    (tmp_path / "library.sli").write_bytes(np.ones((3, 4), np.float32).tobytes())
    rng = np.random.default_rng(3)
    ends = {SpectralLibrary: 0, InputError: 0}
    for _ in range(ROUNDS):
        path.write_bytes(damaged(LIBRARY.encode(), rng))
        ends[type(outcome(lambda: read_library(path), path))] += 1
    assert min(ends.values()) > 0
