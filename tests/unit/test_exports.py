"""What is written is read by others as it was: values, names, no data, place, wavelengths."""

import csv
import sys

import numpy as np
import pytest

from pursuit.base.errors import InputError, MissingExtra
from pursuit.unmixing import Scene, pick, read_scene, unmix
from pursuit.unmixing.exports import save_spectra
from pursuit.unmixing.georeference import Georeference
from pursuit.unmixing.libraries import read_library

rasterio = pytest.importorskip("rasterio")
envi = pytest.importorskip("spectral.io.envi")

UTM = rasterio.crs.CRS.from_epsg(32631).to_wkt()
PLACES = {
    "north up": (UTM, (30.0, 0.0, 500_000.0, 0.0, -30.0, 4_600_000.0)),
    "rotated": (UTM, (20.0, 10.0, 500_000.0, 10.0, -20.0, 4_600_000.0)),
    "degrees": (rasterio.crs.CRS.from_epsg(4326).to_wkt(), (0.01, 0.0, 4.0, 0.0, -0.01, 50.0)),
}
RNG = np.random.default_rng(0)
PURE = RNG.uniform(0.1, 1, (3, 8))
NAMES = ("roof, red", "grass {wet}", "Wasser – tief")


def scene(place=None, dtype=np.float64, unit="Nanometers"):
    """Seven rows of six columns, two pixels of them without data."""
    places = np.delete(np.argwhere(np.ones((7, 6))), [3, 40], axis=0)
    pixels = RNG.dirichlet(np.ones(3), 40) @ PURE
    where = None if place is None else Georeference(*PLACES[place])
    bands, waves = np.arange(2, 10), np.linspace(450, 880, 8)
    return Scene(
        pixels.astype(dtype), places, (7, 6), bands, waves, unit, "made", georeference=where
    )


def unmixed(place=None, dtype=np.float64):
    return unmix(scene(place, dtype), PURE.astype(dtype), names=NAMES)


def assert_same_place(file, place):
    crs, transform = PLACES[place]
    np.testing.assert_allclose(file.transform[:6], transform, rtol=1e-12)
    expected = rasterio.crs.CRS.from_wkt(crs)
    assert file.crs.to_epsg() == expected.to_epsg() or file.crs == expected


# Abundance cubes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["shares.tif", "shares.img", "shares.hdr", "shares.dat"])
def test_a_cube_is_read_by_rasterio_as_it_was(tmp_path, name, place, dtype):
    found = unmixed(place, dtype)
    found.save(tmp_path / name)
    with rasterio.open(tmp_path / name.replace(".hdr", ".img")) as file:
        np.testing.assert_array_equal(np.moveaxis(file.read(), 0, -1), found.maps())
        assert np.isnan(file.nodata)
        assert file.dtypes[0] == np.dtype(dtype).name
        assert_same_place(file, place)
        if name.endswith(".tif"):
            assert file.descriptions == NAMES
    leftovers = {path.suffix for path in tmp_path.iterdir()}
    assert leftovers <= {".tif", ".img", ".hdr", ".dat"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_envi_cube_is_read_by_spectral_as_it_was(tmp_path, dtype):
    found = unmixed("north up", dtype)
    found.save(tmp_path / "shares.img")
    image = envi.open(str(tmp_path / "shares.hdr"), str(tmp_path / "shares.img"))
    values = np.array(image.open_memmap(interleave="bip"))
    np.testing.assert_array_equal(values, found.maps())
    info = image.metadata["map info"]
    assert info[0] == "UTM"
    assert [float(x) for x in info[1:7]] == [1, 1, 500_000, 4_600_000, 30, 30]
    assert image.metadata["band names"] == ["roof; red", "grass (wet)", "Wasser – tief"]
    again = read_scene(tmp_path / "shares.img")
    np.testing.assert_array_equal(again.image(again.pixels), found.maps())


@pytest.mark.parametrize("first", ["scene.tif", "scene.img"])
@pytest.mark.parametrize("second", ["shares.tif", "shares.img"])
@pytest.mark.parametrize("place", PLACES)
def test_the_place_goes_from_file_to_file(tmp_path, first, second, place):
    made = scene(place, np.float32)
    driver = "GTiff" if first.endswith("tif") else "ENVI"
    crs, transform = PLACES[place]
    with rasterio.open(
        tmp_path / first, "w", driver=driver, width=6, height=7, count=8, dtype="float32",
        crs=crs, transform=rasterio.Affine(*transform), nodata=np.nan,
    ) as file:  # fmt: skip
        file.write(np.moveaxis(made.image(made.pixels), -1, 0))
    read = read_scene(tmp_path / first)
    np.testing.assert_array_equal(read.pixels, made.pixels)
    unmix(read, PURE).save(tmp_path / second)
    with rasterio.open(tmp_path / second) as file:
        assert_same_place(file, place)
    again = read_scene(tmp_path / second)
    np.testing.assert_array_equal(again.mask, made.mask)


@pytest.mark.parametrize("name", ["shares.tif", "shares.img"])
def test_a_cube_without_a_place_has_none_and_nothing_is_said(tmp_path, name):
    unmixed().save(tmp_path / name)
    assert read_scene(tmp_path / name).georeference is None


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    found = unmixed("north up")
    for name in ("shares.tif", "shares.img", "spectra.sli", "spectra.csv"):
        (tmp_path / name).write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    for name in ("shares.tif", "shares.img"):
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
            found.save(tmp_path / name)
    for name in ("spectra.sli", "spectra.csv"):
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
            found.save_endmembers(tmp_path / name)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"old"}
    assert len(list(tmp_path.iterdir())) == 4


def test_a_header_of_another_file_is_not_replaced(tmp_path):
    found = unmixed("north up")
    found.save(tmp_path / "a.img")
    header = (tmp_path / "a.hdr").read_bytes()
    with pytest.raises(
        InputError, match=r"a\.sli: .*a\.hdr is there already and belongs to another"
    ):
        found.save_endmembers(tmp_path / "a.sli")
    assert (tmp_path / "a.hdr").read_bytes() == header
    found.save(tmp_path / "a.img")  # its own may be
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.hdr", "a.img"]


def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch):
    found = unmixed("north up")
    with pytest.raises(InputError, match=r"path: expected a file that ends in one of .npz, .tif"):
        found.save(tmp_path / "shares.png")
    with pytest.raises(InputError, match=r"path: expected a file that ends in one of .csv, .sli"):
        found.save_endmembers(tmp_path / "spectra.txt")
    with pytest.raises(InputError, match=r"the folder .* does not exist"):
        found.save(tmp_path / "nowhere" / "shares.img")
    with pytest.raises(InputError, match="unmix a Scene to have pictures"):
        unmix(scene().pixels, PURE).save(tmp_path / "shares.tif")
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(MissingExtra, match=r"writing a picture needs the 'scenes' extra"):
        found.save(tmp_path / "shares.tif")
    monkeypatch.setitem(sys.modules, "spectral", None)
    with pytest.raises(MissingExtra, match=r"writing a spectral library needs the 'scenes' extra"):
        found.save_endmembers(tmp_path / "spectra.sli")
    assert list(tmp_path.iterdir()) == []


# Endmembers


def test_endmembers_as_a_table_have_titles_bands_and_wavelengths(tmp_path):
    found = unmixed()
    found.save_endmembers(tmp_path / "spectra.csv")
    with (tmp_path / "spectra.csv").open(encoding="utf-8", newline="") as stream:
        titles, *rows = csv.reader(stream)
    assert titles == ["band", "wavelength (Nanometers)", *NAMES]
    table = np.array(rows, float)
    np.testing.assert_array_equal(table[:, 0], found.scene.bands)
    np.testing.assert_array_equal(table[:, 1], found.scene.wavelengths)
    np.testing.assert_array_equal(table[:, 2:], PURE.T)


def test_endmembers_without_a_scene_are_numbered_by_band(tmp_path):
    unmix(scene().pixels, PURE).save_endmembers(tmp_path / "spectra.csv")
    back = read_library(tmp_path / "spectra.csv")
    np.testing.assert_array_equal(back.spectra, PURE)
    assert back.names == ("Endmember 1", "Endmember 2", "Endmember 3")
    assert back.wavelengths is None


@pytest.mark.parametrize("name", ["spectra.sli", "spectra.hdr"])
def test_an_envi_library_is_read_by_spectral_as_it_was(tmp_path, name):
    unmixed().save_endmembers(tmp_path / name)
    library = envi.open(str(tmp_path / "spectra.hdr"), str(tmp_path / "spectra.sli"))
    np.testing.assert_array_equal(library.spectra, PURE.astype(np.float32))
    assert library.names == ["roof; red", "grass (wet)", "Wasser – tief"]
    np.testing.assert_array_equal(library.bands.centers, scene().wavelengths)
    assert library.bands.band_unit == "Nanometers"


@pytest.mark.parametrize("name", ["spectra.sli", "spectra.csv"])
def test_written_endmembers_come_back(tmp_path, name):
    found = unmixed()
    found.save_endmembers(tmp_path / name)
    back = read_library(tmp_path / name)
    np.testing.assert_allclose(back.spectra, PURE, rtol=0 if name.endswith("csv") else 1e-7)
    np.testing.assert_array_equal(back.wavelengths, found.scene.wavelengths)
    assert back.wavelength_unit == "Nanometers"
    assert len(back.names) == 3


# All numbers


def test_all_numbers_have_names_picked_pixels_wavelengths_unit_and_place(tmp_path):
    made = scene("north up")
    picked = pick(made, 3, "spa", average=False)
    unmix(made, picked, names=NAMES).save(tmp_path / "all.npz")
    with np.load(tmp_path / "all.npz", allow_pickle=False) as file:
        assert tuple(file["names"]) == NAMES
        np.testing.assert_array_equal(file["picked"], picked.indices)
        np.testing.assert_array_equal(file["picked_places"], made.places[picked.indices])
        assert str(file["picker"]) == "SPA"
        np.testing.assert_array_equal(file["wavelengths"], made.wavelengths)
        assert str(file["wavelength_unit"]) == "Nanometers"
        np.testing.assert_array_equal(file["transform"], PLACES["north up"][1])
        assert str(file["crs"]) == UTM
        assert float(file["scale"]) == 1
        assert {"places", "image_shape", "bands", "abundances", "endmembers"} <= set(file)


FORMULAS = ["=1+1", "+a", "-b", "@SUM(A1)", "\tc", "\rd", "'=e", "''-f", "'g", "a;b", 'x, "y"', "-"]


def test_names_that_begin_like_formulas_are_escaped_in_tables(tmp_path):
    spectra = np.arange(1.0, 1 + 4 * len(FORMULAS)).reshape(len(FORMULAS), 4)
    save_spectra(tmp_path / "a.csv", spectra, FORMULAS, None)
    text = (tmp_path / "a.csv").read_bytes().decode()
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        titles = next(csv.reader(stream))
    assert not any(title.startswith(("=", "+", "-", "@", "\t", "\r")) for title in titles)
    assert text.startswith('"band","\'=1+1","\'+a","\'-b","\'@SUM(A1)","\'\tc","\'\rd",')


def test_names_that_begin_like_formulas_are_read_back(tmp_path):
    spectra = np.arange(1.0, 1 + 4 * len(FORMULAS)).reshape(len(FORMULAS), 4)
    save_spectra(tmp_path / "a.csv", spectra, FORMULAS, None)
    back = read_library(tmp_path / "a.csv")
    assert list(back.names) == FORMULAS
    np.testing.assert_array_equal(back.spectra, spectra)


def test_plain_names_are_written_without_quotes(tmp_path):
    save_spectra(tmp_path / "a.csv", PURE, [f"Endmember {k}" for k in range(len(PURE))], None)
    assert (tmp_path / "a.csv").read_text().startswith("band,Endmember 0,")
