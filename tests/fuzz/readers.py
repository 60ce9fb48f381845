"""The area `readers`: scenes and matrices in files, as they should be and damaged."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.case import Case, words
from fuzz.damage import damaged
from fuzz.generators import JUNK, Array
from pursuit import encode
from pursuit.files.sounds import read_sound
from pursuit.files.tables import read_matrix
from pursuit.unmixing import read_library, read_scene, unmix

NAMES = words("variable layout shape bad_bands nodata scale wavelengths path")
LEFT_OUT = (".*its wavelengths are not all numbers",)
"""Said of a header that is damaged where nothing is computed from it."""
TYPES = ("f8", "f4", "f8", "f4", "i2", "u2", "i4", "u1", "i8", ">f8", ">i2")


def readers_case(case: Case) -> None:
    kinds = {_matrix: 3, _scene: 4, _envi: 3, _geotiff: 1, _side_files: 1}
    case.weighted(kinds | {_heard: 1, _library: 1, _zarr: 0.5})(case)


def numbers(case: Case, *shape: int) -> Array:
    """An array of some type, now and then with holes."""
    dtype = np.dtype(case.pick(*TYPES))
    if dtype.kind in "iu":
        values = case.rng.integers(0, 100, shape)
    else:
        values = case.rng.standard_normal(shape)
        if case.chance(0.1):
            values.flat[int(case.rng.integers(values.size))] = case.pick(np.nan, np.inf, -np.inf)
    return values.astype(dtype)


# Files -------------------------------------------------------------------------------------


def _npy(case: Case, path: Path, arrays: dict[str, Array]) -> None:
    array = next(iter(arrays.values()))
    if case.chance(0.3):
        array = np.asfortranarray(array)
    np.save(path, array)


def _npz(case: Case, path: Path, arrays: dict[str, Array]) -> None:
    (np.savez if case.chance(0.5) else np.savez_compressed)(path, **arrays)


def _mat(case: Case, path: Path, arrays: dict[str, Array]) -> None:
    from scipy.io import savemat

    native = {name: a.astype(a.dtype.newbyteorder("=")) for name, a in arrays.items()}
    old = all(a.ndim <= 2 for a in native.values()) and case.chance(0.3)
    if old:  # version 4 knows few types
        native = {name: a.astype("f8") for name, a in native.items()}
        savemat(path, native, format="4")
    else:
        savemat(path, native, do_compression=case.chance(0.5))


def _mat73(case: Case, path: Path, arrays: dict[str, Array]) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name, a in arrays.items():
            native = a.astype(a.dtype.newbyteorder("="))
            file.create_dataset(name, data=np.atleast_2d(native).T)


def _csv(case: Case, path: Path, arrays: dict[str, Array]) -> None:
    array = np.atleast_2d(next(iter(arrays.values())))
    mark = case.pick(",", ";", "\t", " ", ", ")
    lines = [mark.join(repr(float(v)) for v in row) for row in array]
    if case.chance(0.3):
        lines.insert(0, mark.join(f"band{k}" for k in range(array.shape[1])))
    end = case.pick("\n", "\r\n")
    path.write_bytes((case.pick("", "\ufeff") + end.join(lines) + case.pick("", end)).encode())


WRITERS: dict[str, tuple[str, Callable[[Case, Path, dict[str, Array]], None]]] = {
    "npy": (".npy", _npy),
    "npz": (".npz", _npz),
    "mat": (".mat", _mat),
    "mat 7.3": (".mat", _mat73),
    "csv": (".csv", _csv),
}


def written(case: Case, arrays: dict[str, Array], *, flat: bool) -> tuple[Path, str]:
    """A file with the arrays in one of the formats, and which format that is."""
    kinds = [kind for kind in WRITERS if flat or kind != "csv"]
    kind = case.pick(*kinds)
    suffix, write = WRITERS[kind]
    path = case.folder / f"data{suffix}"
    write(case, path, arrays)
    case.tell(kind=kind, arrays=arrays)
    return path, kind


def as_read(array: Array) -> Array:
    """What a reader makes of numbers: float32 stays, all else becomes float64."""
    plain = array.astype(array.dtype.newbyteorder("="))
    return plain if plain.dtype in (np.float32, np.float64) else plain.astype(np.float64)


def equal(case: Case, found: Any, expected: Array, what: str, loosely: bool = False) -> None:
    case.require(found.shape == expected.shape, f"{what} of shape {found.shape}")
    case.require(loosely or found.dtype == expected.dtype, f"{what} of type {found.dtype}")
    case.require(np.array_equal(found, expected, equal_nan=True), f"{what} with other numbers")


# Matrices ----------------------------------------------------------------------------------


def _matrix(case: Case) -> None:
    shape = (case.whole(1, 6), case.whole(1, 6)) if case.chance(0.9) else (case.whole(1, 6),)
    array = numbers(case, *shape)
    arrays = {"atoms": array}
    if case.chance(0.2):
        arrays["other"] = numbers(case, 2, 3)
    path, kind = written(case, arrays, flat=True)
    columns = case.chance(0.3)
    variable = case.weighted({None: 6, "atoms": 2, "nothing": 0.5, "other": 0.5})
    whole = not case.chance(0.5) or not damaged(case, path)
    case.tell(columns=columns, variable=variable, whole=whole)
    single = len(arrays) == 1 or kind in ("npy", "csv")
    named = kind in ("npz", "mat", "mat 7.3")
    fine = whole and np.isfinite(array).all() and single and variable is None
    names = NAMES | {str(path)}
    found = case.ask(lambda: read_matrix(path, variable, columns), names, valid=fine)
    case.require(found.ndim == 2 and np.isfinite(found).all(), "no matrix of finite numbers")
    case.require(found.dtype in (np.float32, np.float64), f"a matrix of {found.dtype}")
    if not whole or (variable == "other" and named) or not (single or variable):
        return  # of a vector and a matrix, the matrix is taken
    expected = np.atleast_2d(as_read(array))
    if columns:
        expected = expected.T if array.ndim == 2 or kind not in ("npy", "npz") else expected
    if array.ndim == 1 and kind not in ("npy", "npz"):
        expected = expected.reshape(found.shape)  # the format itself has rows and columns
    equal(case, found, expected, "a matrix", loosely=kind in ("csv", "mat"))


# Scenes ------------------------------------------------------------------------------------


def _scene(case: Case) -> None:
    r, c, b = case.whole(1, 4), case.whole(1, 4), case.whole(1, 5)
    layout = case.pick("rows columns bands", "bands rows columns", "columns rows bands")
    cube = numbers(case, r, c, b)
    axes = {"rows": 0, "columns": 1, "bands": 2}
    stored = np.transpose(cube, [axes[name] for name in layout.split()])
    arrays = {"cube": stored}
    if case.chance(0.3):
        arrays["wavelengths"] = np.linspace(400, 2500, b)
    path, kind = written(case, arrays, flat=False)
    options = _reading(case, layout, b)
    whole = not case.chance(0.4) or not damaged(case, path)
    case.tell(options=options, whole=whole)
    names = NAMES | {str(path)} | {value for value in options.values() if isinstance(value, str)}
    scene = case.ask(lambda: read_scene(path, **options), names)
    _sound(case, scene)
    usual = set(options) <= {"layout", "scale", "bad_bands"} and options["layout"] == layout
    # MATLAB's older files do not keep a last axis of length one.
    if whole and usual and (b > 1 or kind in ("npy", "npz")):
        bad = {n - 1 for n in options.get("bad_bands") or ()}
        kept = [k for k in range(b) if k not in bad]
        _same_scene(case, scene, cube[:, :, kept], options.get("scale", 1.0))


def _reading(case: Case, layout: str, bands: int) -> dict[str, Any]:
    options: dict[str, Any] = {"layout": layout}
    if case.chance(0.2):
        options["scale"] = case.pick(2.0, 1000.0, 1, 0, -1.0, float("nan"))
    if case.chance(0.2):
        options["bad_bands"] = case.rng.integers(1, bands + 1, case.whole(0, 3)).tolist()
    if case.chance(0.1):
        options["nodata"] = case.pick(float("nan"), 0.0, 5, -9999.0)
    if case.chance(0.1):
        name = case.pick("variable", "layout", "shape", "bad_bands", "nodata", "scale")
        options[name] = case.pick(*JUNK)
    return options


def _sound(case: Case, scene: Any) -> None:
    """A scene is finite pixels that lie inside of a picture, each in a place of its own."""
    n, bands = scene.pixels.shape
    case.require(n == len(scene) == len(scene.places) and bands == len(scene.bands), "shapes")
    case.require(np.isfinite(scene.pixels).all(), "a scene with holes")
    inside = (scene.places >= 0).all() and (scene.places < scene.shape).all()
    case.require(inside, "a pixel outside of the picture")
    case.require(len(np.unique(scene.places, axis=0)) == n, "two pixels in one place")
    case.ask(lambda: (repr(scene), scene.mask, scene.image(scene.pixels)), NAMES, valid=True)


def _same_scene(case: Case, scene: Any, cube: Array, scale: Any) -> None:
    case.require(scene.shape == cube.shape[:2], f"a picture of {scene.shape}")
    expected = as_read(cube)
    expected = (expected / np.asarray(scale, expected.dtype)).astype(expected.dtype)
    found = scene.pixels
    there = expected[scene.places[:, 0], scene.places[:, 1]]
    case.require(len(found) == cube.shape[0] * cube.shape[1], "pixels are missing")
    case.require(np.allclose(found, there, rtol=1e-6, atol=0), "pixels with other numbers")


# ENVI --------------------------------------------------------------------------------------

ENVI_TYPES = {"u1": 1, "i2": 2, "i4": 3, "f4": 4, "f8": 5, "u2": 12, "u4": 13, "i8": 14, "u8": 15}
INTERLEAVES = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}


def _envi(case: Case) -> None:
    r, c, b = case.whole(1, 4), case.whole(1, 4), case.whole(1, 5)
    kind = case.pick(*ENVI_TYPES)
    cube = (case.rng.random((r, c, b)) * 100).astype(kind)
    interleave, order = case.pick(*INTERLEAVES), case.pick(0, 1)
    offset = case.pick(0, 0, 16)
    raw = np.transpose(cube, INTERLEAVES[interleave]).astype(f"{'<>'[order]}{kind}")
    fields = {"samples": c, "lines": r, "bands": b, "data type": ENVI_TYPES[kind],
              "interleave": interleave, "byte order": order, "header offset": offset}  # fmt: skip
    bad = [int(case.chance(0.8)) for _ in range(b)]
    if case.chance(0.3) and any(bad):
        fields["bbl"] = "{" + ", ".join(map(str, bad)) + "}"
    else:
        bad = [1] * b
    if case.chance(0.3):
        fields["wavelength"] = "{\n " + ",\n ".join(str(400.5 + k) for k in range(b)) + "}"
    header, binary = case.folder / "s.hdr", case.folder / f"s{case.pick('', '.img', '.dat')}"
    lines = ["ENVI", *(f"{name} = {value}" for name, value in fields.items())]
    header.write_text("\n".join(lines) + "\n")
    binary.write_bytes(bytes(offset) + raw.tobytes())
    case.tell(fields=fields)
    path = case.pick(header, binary)
    whole = not case.chance(0.5) or not damaged(case, case.pick(header, header, binary))
    case.tell(whole=whole)
    names = NAMES | {str(header), str(binary)}
    scene = case.ask(lambda: read_scene(path), names, valid=whole, warned=() if whole else LEFT_OUT)
    _sound(case, scene)
    if whole:
        _same_scene(case, scene, cube[:, :, np.flatnonzero(bad)], 1)


# GeoTIFF, and files beside the scene -------------------------------------------------------


def _geotiff(case: Case) -> None:
    import rasterio

    cube = (case.rng.random((case.whole(1, 4), case.whole(1, 4), case.whole(1, 5))) * 100).astype(
        case.pick("uint8", "int16", "uint16", "int32", "float32", "float64")
    )
    path = case.folder / case.pick("s.tif", "s.TIFF")
    profile = {
        "compress": case.pick("deflate", "lzw", None),
        "interleave": case.pick("band", "pixel"),
    }
    place = {"crs": "EPSG:32631", "transform": rasterio.Affine(30, 0, 5e5, 0, -30, 4.6e6)}
    height, width, count = cube.shape
    with rasterio.open(
        path, "w", driver="GTiff", height=height, width=width, count=count,
        dtype=cube.dtype.name, **profile, **place,
    ) as file:  # fmt: skip
        file.write(np.moveaxis(cube, -1, 0))
        if case.chance(0.5):
            file.descriptions = tuple(f"{400 + k} nm" for k in range(count))
    whole = not case.chance(0.6) or not damaged(case, path)
    case.tell(profile=profile, whole=whole)
    scene = case.ask(lambda: read_scene(path), NAMES | {str(path)}, valid=whole)
    _sound(case, scene)
    if whole:
        _same_scene(case, scene, cube, 1)
        case.require(scene.georeference is not None, "the place is lost")


def _side_files(case: Case) -> None:
    bands = case.whole(1, 6)
    scene, side = case.folder / "s.npy", case.folder / "beside.txt"
    np.save(scene, case.rng.random((3, 2, bands)))
    waves = 400 + 10 * np.arange(bands)
    mark = case.pick(" ", ",", "\t", ";")
    kind = case.pick("wavelengths", "bad_bands")
    if kind == "bad_bands":
        lines = [str(band) for band in range(2, bands + 1) if case.chance(0.5)]
    elif case.chance(0.5):
        lines = [f"{k + 1}{mark}{wave}" for k, wave in enumerate(waves)]
    else:
        lines = ["nm", *map(str, waves)]
    side.write_text("\n".join(lines))
    whole = not case.chance(0.7) or not damaged(case, side)
    case.tell(kind=kind, lines=lines, whole=whole)
    names = NAMES | {str(scene), str(side)}
    found = case.ask(lambda: read_scene(scene, **{kind: side}), names, valid=whole)
    _sound(case, found)
    if whole and kind == "wavelengths":
        equal(case, found.wavelengths, waves.astype(float), "wavelengths")


def _imported(name: str) -> Any:
    return import_module(name) if find_spec(name) else None


# Sounds, libraries, zarr -------------------------------------------------------------------


def _heard(case: Case) -> None:
    from scipy.io import wavfile

    shape = (case.whole(1, 40),) if case.chance(0.6) else (case.whole(3, 40), 2)
    dtype = case.pick("u1", "i2", "i4", "f4", "f8")
    samples = (100 * case.rng.random(shape)).astype(dtype)
    path = case.folder / case.pick("s.wav", "s.WAV")
    wavfile.write(path, 8000, samples)
    whole = not case.chance(0.7) or not damaged(case, path)
    case.tell(dtype=dtype, shape=shape, whole=whole)
    names = NAMES | {str(path), "rate", "columns", "signal"}
    found = case.ask(lambda: read_sound(path), names, valid=whole)
    case.require(found.samples.dtype == np.float64 and found.rate > 0, "no sound")
    if whole:
        case.require(found.samples.shape == samples.T.shape, "another number of samples")
        case.require(found.rate == 8000, "another rate")


def _library(case: Case) -> None:
    """Spectra that were written with their names."""
    bands, r = case.whole(2, 5), case.whole(2, 4)
    pure = case.rng.random((r, bands)).astype(case.pick("f8", "f4")) + 0.5
    found = unmix(pure, pure, "non-negative", names=[f"s{k}" for k in range(r)])
    path = case.folder / case.pick("x.csv", "x.sli")
    case.ask(lambda: found.save_endmembers(path), NAMES, valid=True)
    beside = [path, path.with_suffix(".hdr")] if path.suffix == ".sli" else [path]
    whole = not case.chance(0.7) or not damaged(case, case.pick(*beside))
    case.tell(pure=pure, whole=whole)
    names = NAMES | {*map(str, beside), "library"}
    again = case.ask(lambda: read_library(path), names, valid=whole, warned=LEFT_OUT)
    case.require(again.spectra.ndim == 2, "no spectra")
    if whole:
        case.require(again.names == found.names, "other names")
        case.require(np.allclose(again.spectra, pure, rtol=1e-6), "other spectra")


def _zarr(case: Case) -> None:
    zarr = _imported("zarr")
    if zarr is None:
        return
    signals, atoms = case.rng.random((case.whole(1, 9), 3)), case.rng.random((4, 3))
    path = case.folder / "signals.zarr"
    kept = zarr.create_array(path, shape=signals.shape, chunks=(2, 3), dtype="f8")
    kept[:] = signals
    files = sorted(p for p in path.rglob("*") if p.is_file())
    whole = not case.chance(0.7) or not damaged(case, case.pick(*files))
    names = NAMES | {str(path), "signals"}
    found = case.ask(lambda: encode(path, atoms, n_nonzero=1), names, valid=whole)
    if whole:
        truth = encode(signals, atoms, n_nonzero=1)
        equal(case, found.toarray(), truth.toarray(), "codes of a zarr array")
