"""Arrays saved by NumPy: .npy and .npz."""

from __future__ import annotations

import io
import math
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import REAL_KINDS
from pursuit.files.arrays import Array, ArrayFile, Shape, no_arrays


def open_npy(path: Path) -> ArrayFile:
    """The one array of a .npy file, under the name of the file."""
    with path.open("rb") as stream:
        shape, dtype = _npy_header(path, stream)
        size = math.prod(shape) * dtype.itemsize
        missing = stream.tell() + size - path.stat().st_size
    if dtype.kind not in REAL_KINDS:
        return no_arrays(path)
    if missing > 0:
        raise InputError(f"{path}: is incomplete, {missing} bytes are missing at its end")
    name = path.stem
    return ArrayFile(path, {name: shape}, lambda _: np.load(path, allow_pickle=False), {name: size})


def open_npz(path: Path) -> ArrayFile:
    """The arrays of real numbers in a .npz file."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: is not a complete .npz file")
    shapes, sizes = {}, {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with archive.open(member) as stream:
                    shape, dtype = _npy_header(path, stream)
                if dtype.kind in REAL_KINDS:
                    name = member.filename.removesuffix(".npy")
                    shapes[name] = shape
                    # A damaged shape claims anything, but no more is ever unpacked.
                    sizes[name] = min(math.prod(shape) * dtype.itemsize, member.file_size)
    return ArrayFile(path, shapes, lambda name: _load_member(path, name), sizes)


def _load_member(path: Path, name: str) -> Array:
    with np.load(path, allow_pickle=False) as archive:
        return np.asarray(archive[name])


def _npy_header(path: Path, stream: IO[bytes]) -> tuple[Shape, np.dtype[Any]]:
    """Shape and type of an array, from its header alone."""
    try:
        version = np.lib.format.read_magic(stream)
    except ValueError:
        raise InputError(
            f"{path}: is not an array saved by NumPy (a pickle, perhaps: those are never loaded)"
        ) from None
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise InputError(f"{path}: is in version {version} of NumPy's format, not for numbers")
    return shape, dtype


@lru_cache(maxsize=64)
def npy_header(dtype: np.dtype[Any], shape: Shape, by_columns: bool = False) -> bytes:
    """The start of a .npy file; NumPy gives it the same length for any number of rows."""
    header = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(dtype)
    about = {"descr": kind, "fortran_order": by_columns, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    return header.getvalue()
