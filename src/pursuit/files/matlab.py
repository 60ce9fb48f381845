"""Variables saved by MATLAB: version 4 to 7 by SciPy, version 7.3 (HDF5) by h5py."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.errors import MissingExtra
from pursuit.base.validation import REAL_KINDS
from pursuit.files.arrays import Array, ArrayFile
from pursuit.files.mat_elements import check_numbers

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_HEADER = 512
"""Bytes that MATLAB 7.3 writes before the HDF5 part of its files."""

MATLAB_NUMBERS = {"double": 8, "single": 4, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""Types of numbers, and the bytes of one."""


def open_mat(path: Path) -> ArrayFile:
    """The numeric variables of a .mat file; structures, cells and texts do not count."""
    with path.open("rb") as stream:
        start = stream.read(MATLAB_HEADER + len(HDF5_SIGNATURE))
    if start.startswith(b"MATLAB 7.3") or HDF5_SIGNATURE in (start[:8], start[MATLAB_HEADER:]):
        return _open_hdf5(path)
    from scipy.io import whosmat

    found = whosmat(str(path), appendmat=False)
    shapes = {name: shape for name, shape, kind in found if kind in MATLAB_NUMBERS}
    bytes_of = {name: MATLAB_NUMBERS.get(kind, 0) for name, _, kind in found}
    sizes = {name: math.prod(shape) * bytes_of[name] for name, shape in shapes.items()}
    return ArrayFile(path, shapes, lambda name: _load_mat(path, name), sizes)


def _load_mat(path: Path, name: str) -> Array:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadWarning

    check_numbers(path)
    with warnings.catch_warnings():
        # SciPy warns about a variable that it cannot read and returns a text in its place.
        warnings.simplefilter("error", MatReadWarning)
        found = loadmat(str(path), appendmat=False, variable_names=[name])
    return np.asarray(found[name])


def _open_hdf5(path: Path) -> ArrayFile:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("scenes", f"{path}: reading a MATLAB 7.3 file") from None
    shapes, sizes = {}, {}
    with h5py.File(path, "r") as file:
        for name in file:
            # A link to another file is not a part of this one.
            if isinstance(file.get(name, getlink=True), h5py.HardLink):
                item = file[name]
                if isinstance(item, h5py.Dataset) and _is_matlab_number(item):
                    shapes[name], sizes[name] = item.shape[::-1], int(item.nbytes)
    return ArrayFile(path, shapes, lambda name: _load_hdf5(path, name), sizes)


def _is_matlab_number(item: Any) -> bool:
    kind = item.attrs.get("MATLAB_class", b"double")
    text = kind.decode() if isinstance(kind, bytes) else str(kind)
    empty = bool(item.attrs.get("MATLAB_empty", False)) or item.shape is None
    return text in MATLAB_NUMBERS and item.dtype.kind in REAL_KINDS and not empty


def _load_hdf5(path: Path, name: str) -> Array:
    import h5py

    with h5py.File(path, "r") as file:
        return np.asarray(file[name][()]).T  # MATLAB stores columns first
