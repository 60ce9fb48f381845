"""Labelled scenes: dimensions, coordinates, names and no data are kept; chunks change nothing."""

import numpy as np
import pytest

from pursuit.base.errors import InputError
from pursuit.unmixing import pick, unmix

xarray = pytest.importorskip("xarray")

RNG = np.random.default_rng(0)
PURE = RNG.uniform(0.1, 1, (4, 30))
SHARES = RNG.dirichlet(np.ones(4), (12, 17))
MATERIALS = ["tree", "soil", "water", "roof"]


def scene(dims=("band", "y", "x"), noise=0.01, dtype=np.float64, **more):
    """Bands, rows and columns with coordinates of a map, and some pixels of NaN."""
    cube = SHARES @ PURE + noise * np.random.default_rng(1).standard_normal((12, 17, 30))
    cube[2:4, :3] = np.nan
    cube[8, 8, 5] = np.nan
    coords = {
        "y": 5e6 - 30.0 * np.arange(12),
        "x": 4e5 + 30.0 * np.arange(17),
        "band": np.linspace(400, 2400, 30),
        "spatial_ref": 0,
        "time": np.datetime64("2020-05-01", "ns"),
    }
    array = xarray.DataArray(
        cube.astype(dtype), dims=("y", "x", "band"), coords=coords, name="field",
        attrs={"units": "reflectance", **more},
    )  # fmt: skip
    return array.transpose(*dims)


def labelled_pure(axis="material"):
    bands = np.linspace(400, 2400, 30)
    return xarray.DataArray(
        PURE, dims=(axis, "band"), coords={axis: MATERIALS, "band": bands}
    ).transpose("band", axis)


@pytest.mark.parametrize("dims", [("band", "y", "x"), ("y", "x", "band"), ("x", "band", "y")])
@pytest.mark.parametrize("constraint", ["none", "non-negative", "sum-to-one", "sum-at-most-one"])
def test_values_are_those_of_rows_and_dimensions_coordinates_and_names_are_kept(dims, constraint):
    given = scene(dims)
    found = unmix(given, labelled_pure(), constraint)
    assert found.abundance.dims == ("material", *(d for d in dims if d != "band"))
    assert found.material.values.tolist() == MATERIALS
    for name in ("y", "x", "spatial_ref", "time"):
        assert found[name].equals(given[name])
    assert found.attrs == {"scene": "field", "units": "reflectance"}
    flat = given.transpose("y", "x", "band").values.reshape(-1, 30)
    valid = np.isfinite(flat).all(axis=1)
    rows = unmix(flat[valid], PURE, constraint)
    for name, values in [
        ("abundance", rows.abundances), ("residual_norm", rows.residual_norms),
        ("angle", rows.angles),
    ]:  # fmt: skip
        picture = found[name].transpose("y", "x", ...).values
        picture = picture.reshape(len(flat), *values.shape[1:])
        np.testing.assert_array_equal(picture[valid], values)
        assert np.isnan(picture[~valid]).all()
    assert np.count_nonzero(~valid) == 7


@pytest.mark.parametrize("constraint", ["none", "non-negative", "sum-to-one", "sum-at-most-one"])
@pytest.mark.parametrize("chunks", [{"y": 5, "x": 4, "band": 7}, {"y": 1}, {"x": -1}])
def test_chunks_stay_lazy_and_equal_the_whole_to_12_digits(constraint, chunks):
    dask = pytest.importorskip("dask")
    whole = unmix(scene(), labelled_pure(), constraint)
    lazy = unmix(scene().chunk(chunks), labelled_pure(), constraint)
    assert lazy.abundance.chunks is not None
    with dask.config.set(scheduler="threads"):
        done = lazy.compute()
    assert done.abundance.dims == whole.abundance.dims
    for name in ("abundance", "residual_norm", "angle"):
        np.testing.assert_allclose(done[name].values, whole[name].values, atol=1e-12, rtol=0)
        assert done[name].dtype == whole[name].dtype
    assert all(done[name].equals(whole[name]) for name in whole.coords)


def test_nothing_is_computed_before_it_is_asked_for():
    dask_array = pytest.importorskip("dask.array")

    def fail(block):
        raise AssertionError("computed")

    blocks = dask_array.from_array(scene().values, chunks=(-1, 4, 4)).map_blocks(fail, dtype=float)
    lazy = unmix(xarray.DataArray(blocks, dims=("band", "y", "x")), PURE)
    assert lazy.abundance.shape == (4, 12, 17)
    with pytest.raises(AssertionError, match="computed"):
        lazy.compute()


def test_plain_and_picked_endmembers_are_numbered_or_named():
    found = unmix(scene(), PURE)
    assert found.abundance.dims == ("endmember", "y", "x")
    assert found.endmember.values.tolist() == [f"Endmember {k}" for k in range(1, 5)]
    assert unmix(scene(), PURE, names=MATERIALS).endmember.values.tolist() == MATERIALS
    flat = scene(noise=0.001).stack(pixel=("y", "x")).dropna("pixel").transpose("pixel", "band")
    picked = pick(flat.values, 4)
    assert unmix(scene(noise=0.001), picked).sizes["endmember"] == 4


@pytest.mark.parametrize("name", ["_FillValue", "missing_value", "nodata"])
def test_the_fill_value_is_no_data_and_integers_become_float64(name):
    counts = (1000 * scene(noise=0.0).fillna(-9.999)).round().astype("int16")
    counts.attrs[name] = -9999
    found = unmix(counts, 1000 * PURE)
    assert found.abundance.dtype == np.float64
    assert int(np.isnan(found.residual_norm).sum()) == 7
    assert name not in found.attrs


def test_float32_stays_float32():
    assert unmix(scene(dtype=np.float32), PURE.astype(np.float32)).abundance.dtype == np.float32


def test_other_dimensions_are_welcome():
    series = scene().drop_vars("time").expand_dims(time=3).transpose("time", "band", "x", "y")
    assert unmix(series, PURE).abundance.dims == ("endmember", "time", "x", "y")
    lines = scene().isel(y=0)
    assert unmix(lines, PURE).abundance.dims == ("endmember", "x")
    renamed = scene().rename(band="wavelength")
    assert unmix(renamed, PURE, dim="wavelength").abundance.sizes["endmember"] == 4


def test_a_scene_without_any_data_gives_nan():
    assert np.isnan(unmix(scene() * np.nan, PURE).abundance).all()
    nowhere = unmix(scene().isel(y=slice(0)), PURE)
    assert nowhere.abundance.sizes["y"] == 0
    assert nowhere.abundance.sizes["endmember"] == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dim": "bands"}, "dim: expected one of band, y, x, got 'bands'"),
        ({"endmembers": PURE[:, 1:]}, "endmembers: expected 30 bands as in the scene, got 29"),
        (
            {"endmembers": labelled_pure().rename(band="wave")},
            "endmembers: expected two dimensions",
        ),
        (
            {"endmembers": labelled_pure().assign_coords(band=np.arange(30))},
            "endmembers: expected the coordinate 'band' of the scene, got another",
        ),
        (
            {"endmembers": labelled_pure("y")},
            "endmembers: expected a dimension that the scene does not have, got 'y'; rename",
        ),
        ({"scene": scene().assign_coords(endmember=1)}, "does not have, got 'endmember'; rename"),
        ({"scene": scene().astype(str)}, "scene: expected real numbers, got an array of type <U"),
        (
            {"scene": scene().assign_attrs(_FillValue="none")},
            "scene: expected its _FillValue to be a number, got 'none'",
        ),
        ({"names": "abcd"}, "names: expected one for each of 4 endmembers, got 'abcd'"),
        ({"names": ["a"]}, "names: expected 4, one for each endmember, got 1"),
        ({"constraint": "positive"}, "constraint: expected one of none"),
    ],
)
def test_a_wrong_argument_is_named(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        unmix(**({"scene": scene(), "endmembers": PURE} | arguments))
