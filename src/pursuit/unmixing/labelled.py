"""Labelled scenes: an `xarray.DataArray` in, a `Dataset` with its coordinates out.

`xarray` is never imported here: whoever brings a `DataArray` has imported it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import REAL_KINDS, float_type, real_array, shown
from pursuit.unmixing.extraction import Array
from pursuit.unmixing.unmixed import Unmixing, endmember_names

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

FILL_NAMES = ("_FillValue", "missing_value", "nodata")
"""Where the value of no data stands among the attributes or the encoding of an array."""


def is_labelled(scene: object) -> bool:
    """Whether this is an `xarray.DataArray`."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(scene, xarray.DataArray)


def unmix_labelled(
    scene: DataArray,
    endmembers: object,
    dim: str,
    names: Sequence[str],
    solve: Callable[[Array, Array, bool], Unmixing],
) -> Dataset:
    """The abundances of a labelled scene; `solve(pixels, endmembers, alone)` knows the rest."""
    import xarray

    _refuse_no_scene(scene, dim)
    table = _table(endmembers, scene, dim, names)
    axis = str(table.dims[0])
    _refuse_taken(axis, scene)
    spectra = real_array("endmembers", table.to_numpy(), ndim=2)
    chunked = scene.chunks is not None
    whole = scene.chunk({dim: -1}) if chunked else scene
    dtype = np.result_type(float_type(scene.dtype), spectra.dtype)
    fill = _fill_value(scene)

    def block(pixels: Array) -> tuple[Array, Array, Array]:
        return _unmix_block(pixels, spectra, fill, dtype, lambda p: solve(p, spectra, chunked))

    shares, residuals, angles = xarray.apply_ufunc(
        block,
        whole,
        input_core_dims=[[dim]],
        output_core_dims=[[axis], [], []],
        dask="parallelized",
        output_dtypes=[dtype, np.float64, np.float64],
        dask_gufunc_kwargs={"output_sizes": {axis: len(spectra)}},
    )
    found = {"abundance": shares, "residual_norm": residuals, "angle": angles}
    result = xarray.Dataset(found, attrs=_kept_attributes(scene))
    result = result.assign_coords({axis: table[axis]})
    return result.transpose(axis, *(d for d in scene.dims if d != dim))


def _refuse_no_scene(scene: DataArray, dim: str) -> None:
    if dim not in scene.dims:
        raise InputError(
            f"dim: expected one of {', '.join(map(str, scene.dims))}, got {shown(dim)}"
        )
    if scene.dtype.kind not in REAL_KINDS:
        raise InputError(f"scene: expected real numbers, got an array of type {scene.dtype}")


def _refuse_taken(axis: str, scene: DataArray) -> None:
    """The dimension of the endmembers is a new one."""
    if axis in scene.dims or axis in scene.coords:
        raise InputError(
            f"endmembers: expected a dimension that the scene does not have, got {axis!r}; "
            "rename one of them"
        )


def _unmix_block(
    pixels: Array,
    spectra: Array,
    fill: float | None,
    dtype: np.dtype[Any],
    solve: Callable[[Array], Unmixing],
) -> tuple[Array, Array, Array]:
    """Abundances, residual norms and angles of pixels on the last axis; NaN where data miss."""
    rows = pixels.reshape(-1, pixels.shape[-1])
    valid = np.isfinite(rows).all(axis=1)
    if fill is not None:
        valid &= (rows != fill).all(axis=1)
    shares = np.full((len(rows), len(spectra)), np.nan, dtype)
    residuals, angles = np.full((2, len(rows)), np.nan)
    if valid.any():
        found = solve(rows[valid])
        shares[valid], residuals[valid] = found.abundances, found.residual_norms
        angles[valid] = found.angles
    shape = pixels.shape[:-1]
    return shares.reshape(*shape, len(spectra)), residuals.reshape(shape), angles.reshape(shape)


def _table(endmembers: object, scene: DataArray, dim: str, names: Sequence[str]) -> DataArray:
    """The endmembers along one axis with names, their bands along `dim`, as in the scene."""
    import xarray

    if not is_labelled(endmembers):
        rows = real_array("endmembers", getattr(endmembers, "endmembers", endmembers), ndim=2)
        table = xarray.DataArray(rows, dims=("endmember", dim))
    else:
        assert isinstance(endmembers, xarray.DataArray)
        if endmembers.ndim != 2 or dim not in endmembers.dims:
            raise InputError(
                f"endmembers: expected two dimensions, one of them {dim!r}, got {endmembers.dims}"
            )
        table = endmembers.transpose(..., dim)
    _refuse_other_bands(table, scene, dim)
    axis = table.dims[0]
    if names or axis not in table.coords:
        table = table.assign_coords({axis: list(endmember_names(names, len(table)))})
    return table


def _refuse_other_bands(table: DataArray, scene: DataArray, dim: str) -> None:
    if table.sizes[dim] != scene.sizes[dim]:
        raise InputError(
            f"endmembers: expected {scene.sizes[dim]} bands as in the scene, got {table.sizes[dim]}"
        )
    if dim in table.coords and dim in scene.coords:
        here, there = table[dim].to_numpy(), scene[dim].to_numpy()
        numbers = here.dtype.kind in REAL_KINDS and there.dtype.kind in REAL_KINDS
        if not (np.allclose(here, there) if numbers else np.array_equal(here, there)):
            raise InputError(
                f"endmembers: expected the coordinate {dim!r} of the scene, got another"
            )


def _fill_value(scene: DataArray) -> float | None:
    for name in FILL_NAMES:
        for place in (scene.attrs, scene.encoding):
            if place.get(name) is not None:
                return _number(name, place[name])
    return None


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"scene: expected its {name} to be a number, got {shown(value)}") from None


def _kept_attributes(scene: DataArray) -> dict[str, Any]:
    kept = {name: value for name, value in scene.attrs.items() if name not in FILL_NAMES}
    return kept if scene.name is None else {"scene": str(scene.name), **kept}


def silently(work: Callable[[], Unmixing]) -> Unmixing:
    """A part of a scene says nothing about the fit of the whole."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the fit is bad")
        return work()
