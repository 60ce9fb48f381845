"""GeoTIFF scenes: values, no data, scale, wavelengths and place come as another writer put them."""

import subprocess
import sys

import numpy as np
import pytest

from pursuit.base.errors import InputError, MissingExtra
from pursuit.unmixing import read_scene

rasterio = pytest.importorskip("rasterio")

CUBE = np.random.default_rng(0).integers(0, 200, (6, 5, 4))
WAVES = (400.5, 500.0, 600.0, 700.0)
PLACE = rasterio.Affine(30.0, 0.0, 500_000.0, 0.0, -30.0, 4_600_000.0)


@pytest.fixture
def write(tmp_path):
    """A GeoTIFF of a cube of rows, columns and bands."""

    def make(cube, name="scene.tif", setting=lambda file: None, **profile):
        rows, columns, bands = cube.shape
        place = {"transform": PLACE, "crs": "EPSG:32631"} | profile
        with rasterio.open(
            tmp_path / name,
            "w",
            driver="GTiff",
            height=rows,
            width=columns,
            count=bands,
            dtype=cube.dtype,
            **place,
        ) as file:
            file.write(np.moveaxis(cube, -1, 0))
            setting(file)
        return tmp_path / name

    return make


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "u4", "f4", "f8"])
@pytest.mark.parametrize("more", [{}, {"compress": "deflate", "interleave": "pixel"}])
def test_values_of_any_type_are_read(write, dtype, more):
    scene = read_scene(write(CUBE.astype(dtype), **more))
    np.testing.assert_array_equal(scene.image(scene.pixels), CUBE)
    assert scene.pixels.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert scene.pixels.flags.c_contiguous


def test_the_place_on_earth_is_kept(write):
    place = read_scene(write(CUBE.astype("u2"))).georeference
    assert place.transform == tuple(PLACE[:6])
    assert rasterio.crs.CRS.from_wkt(place.crs).to_epsg() == 32631


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning:rasterio")
def test_a_picture_without_a_place_is_read(write):
    scene = read_scene(write(CUBE.astype("u2"), transform=None, crs=None))
    assert scene.georeference is None
    assert len(scene) == 30


def test_no_data_and_scale_are_those_of_the_file(write):
    cube = CUBE.astype("i2")
    cube[2, 3, 1] = -999

    def scaled(file):
        file.scales = (0.0001,) * 4

    path = write(cube, setting=scaled, nodata=-999)
    scene = read_scene(path)
    assert np.argwhere(~scene.mask).tolist() == [[2, 3]]
    assert scene.file_scale == pytest.approx(10_000)
    assert scene.scale == 1
    assert read_scene(path, scale="auto").pixels.max() == pytest.approx(scene.pixels.max() / 10_000)


def described(names):
    def describe(file):
        file.descriptions = tuple(names)

    return describe


def tagged(names, **more):
    def tag(file):
        for band, tags in enumerate(names, 1):
            file.update_tags(band, **tags, **more)

    return tag


@pytest.mark.parametrize(
    ("setting", "unit"),
    [
        (described([f"{wave} nm" for wave in WAVES]), "nm"),
        (described([f"band 1 ({wave} Nanometers)" for wave in WAVES]), "Nanometers"),
        (tagged([{"wavelength": wave, "wavelength_units": "nm"} for wave in WAVES]), "nm"),
        (tagged([{"WAVELENGTH": wave} for wave in WAVES]), None),
    ],
)
def test_wavelengths_are_found_where_people_write_them(write, setting, unit):
    scene = read_scene(write(CUBE.astype("u2"), setting=setting))
    np.testing.assert_allclose(scene.wavelengths, WAVES)
    assert scene.wavelength_unit == unit


def test_wavelengths_in_the_imagery_domain_are_micrometres(write):
    waves = (0.4, 0.5, 0.6, 0.7)
    tags = [{"CENTRAL_WAVELENGTH_UM": w} for w in waves]
    scene = read_scene(write(CUBE.astype("u2"), setting=tagged(tags, ns="IMAGERY")))
    np.testing.assert_allclose(scene.wavelengths, waves)
    assert scene.wavelength_unit == "um"


@pytest.mark.parametrize("names", [("a", "b", "c", "d"), ("red 650", "1 nm", "2 nm", "3 m")])
def test_descriptions_that_are_no_wavelengths_are_none(write, names):
    assert read_scene(write(CUBE.astype("u2"), setting=described(names))).wavelengths is None


def test_what_a_tiff_says_itself_cannot_be_said_again(write):
    with pytest.raises(
        InputError, match="shape: expected None for a GeoTIFF, which says it itself"
    ):
        read_scene(write(CUBE.astype("u2")), shape=(6, 5))


def test_complex_numbers_are_no_scene(write):
    with pytest.raises(InputError, match="expected real numbers of one type, got complex64"):
        read_scene(write(CUBE.astype("c8")))


def test_a_file_of_another_format_named_tif_is_not_followed(write, tmp_path):
    """A virtual raster may name any file of the machine."""
    write(CUBE.astype("u2"), "inner.tif")
    (tmp_path / "scene.tif").write_text(
        '<VRTDataset rasterXSize="5" rasterYSize="6"><VRTRasterBand dataType="UInt16" band="1">'
        "<SimpleSource><SourceFilename>inner.tif</SourceFilename></SimpleSource>"
        "</VRTRasterBand></VRTDataset>"
    )
    with pytest.raises(InputError, match=r"scene.tif: (cannot be read|is damaged)"):
        read_scene(tmp_path / "scene.tif")


def test_a_tiff_that_claims_more_than_it_can_hold_is_refused(tmp_path):
    path = tmp_path / "scene.tif"
    with rasterio.open(
        path, "w", driver="GTiff", width=100_000, height=100_000, count=4, dtype="float64",
        crs="EPSG:32631", transform=PLACE, SPARSE_OK=True, BIGTIFF="YES", TILED=True,
        BLOCKXSIZE=8192, BLOCKYSIZE=8192, COMPRESS="DEFLATE",
    ):  # fmt: skip
        pass
    with pytest.raises(InputError, match=r"bytes claim to hold 4 bands of 100000 × 100000"):
        read_scene(path)


def test_without_rasterio_the_extra_is_named(write, monkeypatch):
    path = write(CUBE.astype("u2"))
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(MissingExtra, match=r"reading a GeoTIFF needs the 'scenes' extra"):
        read_scene(path)


def test_reading_other_files_imports_no_rasterio(tmp_path):
    np.save(tmp_path / "scene.npy", CUBE)
    code = (
        "import sys; from pursuit.unmixing import read_scene; read_scene(sys.argv[1]);"
        "print({'rasterio', 'xarray', 'spectral', 'h5py'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "scene.npy"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set()"
