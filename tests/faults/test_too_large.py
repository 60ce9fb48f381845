"""Files that do not fit in memory are called large, and not damaged."""

import struct
import zlib

import numpy as np
import pytest

from pursuit import Book, Codes, InputError, decompose, encode
from pursuit.base import memory
from pursuit.files.npy import npy_header
from pursuit.files.pictures import read_picture
from pursuit.files.sounds import read_sound
from pursuit.files.tables import read_matrix
from pursuit.unmixing import read_scene

RNG = np.random.default_rng(0)
CUBE = RNG.random((40, 30, 20))
SAID = r"needs [\d.,e-]+ GB of memory, 1e-06 GB available$"


@pytest.fixture
def no_memory(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)


def large_files(folder):
    from scipy.io import savemat, wavfile

    np.save(folder / "a.npy", CUBE)
    np.savez(folder / "a.npz", a=CUBE)
    savemat(folder / "a.mat", {"a": CUBE})
    np.savetxt(folder / "a.csv", CUBE[0], delimiter=",")
    wavfile.write(folder / "a.wav", 8000, RNG.standard_normal(4000).astype(np.float32))
    CUBE.tofile(folder / "e.img")
    (folder / "e.hdr").write_text(
        "ENVI\nsamples = 30\nlines = 40\nbands = 20\ndata type = 5\ninterleave = bip\n"
        "byte order = 0\n"
    )
    encode(CUBE[0], CUBE[1]).save(folder / "codes.npz")
    book = decompose(RNG.standard_normal(200), 1.0, 3.0)
    book.save(folder / "book.npz")
    book.save(folder / "book.csv")


READERS = {
    "a.npy": read_scene,
    "a.npz": read_scene,
    "a.mat": read_scene,
    "a.csv": read_matrix,
    "a.wav": read_sound,
    "e.img": read_scene,
    "codes.npz": Codes.load,
    "book.npz": Book.load,
    "book.csv": Book.load,
}


@pytest.mark.parametrize("name", READERS)
def test_files_larger_than_memory_say_what_they_need(tmp_path, monkeypatch, name):
    large_files(tmp_path)
    READERS[name](tmp_path / name)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(InputError, match=SAID):
        READERS[name](tmp_path / name)


def test_a_huge_array_is_refused_before_it_is_read(tmp_path):
    path, shape = tmp_path / "a.npy", (2**19, 2**19)
    header = npy_header(np.dtype(np.float64), shape)
    path.write_bytes(header)
    with path.open("r+b") as file:
        try:
            file.truncate(len(header) + 8 * 2**38)
        except OSError:
            pytest.skip("no sparse files of this size")
    with pytest.raises(InputError, match=r"a\.npy: needs 2,199 GB of memory, .* GB available"):
        read_matrix(path)


def test_a_memory_error_while_reading_is_not_called_damage(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", CUBE[0])

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(np, "load", fail)
    with pytest.raises(InputError, match=r"a\.npy: needs .* GB of memory or more, .* available$"):
        read_matrix(tmp_path / "a.npy")


def test_without_knowledge_of_memory_nothing_is_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", CUBE[0])
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert read_matrix(tmp_path / "a.npy").shape == CUBE[0].shape


# Pictures ------------------------------------------------------------------------------------


def save_png_header(path, width, height):
    """A grayscale picture of which there is only the beginning."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data))


def test_pictures_above_the_limit_of_pillow_open(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    image.new("L", (100, 50)).save(tmp_path / "a.png")
    monkeypatch.setattr(image, "MAX_IMAGE_PIXELS", 1000)
    assert read_picture(tmp_path / "a.png").pixels.shape == (50, 100)
    assert image.MAX_IMAGE_PIXELS == 1000


def test_a_picture_of_180_megapixels_is_a_question_of_memory(tmp_path, no_memory):
    pytest.importorskip("PIL")
    save_png_header(tmp_path / "a.png", 13_400, 13_400)
    with pytest.raises(InputError, match=r"a\.png: needs 1\.62 GB of memory, 1e-06 GB available"):
        read_picture(tmp_path / "a.png")


def test_a_picture_above_a_gigapixel_is_refused(tmp_path):
    pytest.importorskip("PIL")
    save_png_header(tmp_path / "a.png", 40_000, 40_000)
    with pytest.raises(InputError, match="must have at most 1,000,000,000 pixels, got 40,000 × 40"):
        read_picture(tmp_path / "a.png")
