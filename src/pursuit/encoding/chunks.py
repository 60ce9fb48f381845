"""Signals in the chunks of a dask array, a zarr array or a file that workers read themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pursuit.base.cluster import in_words, require
from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import REAL_KINDS, Array
from pursuit.encoding.lazy import LazyCodes, encode_chunks, lazy_codes
from pursuit.encoding.signals import SignalRows, as_rows, npy_rows
from pursuit.files.arrays import reading

if TYPE_CHECKING:
    from pursuit.encoding.encoder import Encoder
    from pursuit.encoding.stream import Sink, Throughput

TASK_BYTES = 2**24
"""About what one task reads, where nobody has said how to cut a file."""

ON_CLUSTER = "encoding on a cluster"
FROM_ZARR = "encoding a zarr array"


class DaskArray(Protocol):
    """What type checkers know a dask array by."""

    def __dask_graph__(self) -> Any: ...

    def compute_chunk_sizes(self) -> Any: ...


class Chunks(SignalRows):
    """Signals as rows of a dask array, none of which is computed before it is encoded.

    A chunk has all numbers of its rows. Where chunks are cut along rows is up to the user, but for
    the nearest border of the blocks of a plan. `lazy`: codes are computed later, too.
    """

    kind = "chunks that are not computed yet"

    def __init__(self, array: Any, shape: tuple[int, ...], lazy: bool = True) -> None:
        self.is_lazy = lazy
        if any(np.isnan(length) for length in array.shape):
            raise InputError(
                f"signals: expected chunks of known sizes, got a dask array of shape "
                f"{array.shape}; its compute_chunk_sizes() finds them"
            )
        if array.dtype.kind not in REAL_KINDS:
            raise InputError(
                f"signals: expected real numbers, got a dask array of type {array.dtype}"
            )
        whole = dict.fromkeys(range(0 if array.shape == shape else 1, array.ndim), -1)
        self.rows = as_rows(array.rechunk(whole), shape)
        self.dtype, self.total = array.dtype, len(self.rows)

    def __getitem__(self, rows: Array) -> Array:
        """Some rows, computed: the chunks that they are in, that is."""
        with in_words():
            computed: Array = np.asarray(self.rows[rows])
        return computed

    def lazy_codes(self, encoder: Encoder) -> LazyCodes | None:
        return lazy_codes(encoder, self) if self.is_lazy else None

    def encode_missing(self, encoder: Encoder, sink: Sink, rate: Throughput) -> None:
        encode_chunks(encoder, self, sink, rate)

    def cut(self, block: int, also: Iterable[int] = ()) -> Any:
        """The array with chunks that begin at multiples of `block`, and at those of `also`."""
        rows, given = self.seen, np.cumsum(self.rows.chunks[0])[:-1]
        nearest = np.minimum((given + block // 2) // block * block, rows)
        borders = np.unique([0, *nearest.tolist(), *also, rows])
        return self.rows.rechunk((tuple(np.diff(borders).tolist()), -1))


def open_chunks(signals: object, shape: tuple[int, ...]) -> Chunks | None:
    """Return a dask array, a zarr array or the path of one as signals; None for anything else."""
    if is_dask(signals):
        return Chunks(signals, shape)
    return Chunks(from_zarr(signals), shape, lazy=False) if is_zarr(signals) else None


# Where they come from ------------------------------------------------------------------------


def is_dask(signals: object) -> bool:
    """Whether something is a dask array; Dask is not imported for the question."""
    return _is_array_of("dask", signals)


def is_zarr(signals: object) -> bool:
    """Whether something is a zarr array, or the path of one."""
    if isinstance(signals, (str, os.PathLike)):
        folder = path_of("signals", signals, "an array or the path of a .npy file")
        return any(os.path.isfile(folder / name) for name in ("zarr.json", ".zarray"))
    return _is_array_of("zarr", signals)


def _is_array_of(library: str, value: object) -> bool:
    modules = {parent.__module__.partition(".")[0] for parent in type(value).__mro__}
    # Of the class: a delayed value has whatever attribute it is asked for.
    kind = type(value)
    return library in modules and hasattr(kind, "chunks") and hasattr(kind, "dtype")


def from_zarr(signals: Any) -> Any:
    """A zarr array, or that of a path, as a dask array of chunks that are worth a task."""
    dask_array, zarr = (require(module, FROM_ZARR) for module in ("dask.array", "zarr"))
    if isinstance(signals, (str, os.PathLike)):
        path = Path(signals)
        with reading(path):
            signals = zarr.open_array(path.resolve(), mode="r")
    else:
        path = Path(str(signals.store_path).removeprefix("file://"))
    stored = ZarrFile(signals, path)
    return _worthwhile(dask_array.from_array(stored, chunks=signals.chunks, asarray=False))


class ZarrFile:
    """A zarr array; of a chunk that is damaged, one sentence says where it is."""

    def __init__(self, array: Any, path: Path) -> None:
        self.array, self.path = array, path
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key: Any) -> Array:
        with reading(self.path):
            return np.asarray(self.array[key])


def from_npy(path: str | os.PathLike[str], columns: bool = False, rows: int | None = None) -> Any:
    """The array of a .npy file, as a dask array whose chunks are read where they are needed."""
    dask_array = require("dask.array", ON_CLUSTER)
    file = NpyFile(Path(path).resolve(), columns)
    chunks = (rows or _rows_of_a_task(file.shape, file.dtype), *file.shape[1:])
    return dask_array.from_array(file, chunks=chunks, asarray=False)


class NpyFile:
    """The array of a .npy file, by its path: this is what travels, not the numbers."""

    def __init__(self, path: Path, columns: bool) -> None:
        self.path, self.columns = path, columns
        array = self._open()
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def _open(self) -> Array:
        return npy_rows(self.path, self.columns)

    def __getitem__(self, key: Any) -> Array:
        part: Array = self._open()[key]  # still on the disk: whoever looks at it reads it
        return part


def in_memory(array: Array) -> Any:
    """An array of this process as a dask array: its chunks are sent to whoever encodes them."""
    rows = _rows_of_a_task(array.shape, array.dtype)
    return require("dask.array", ON_CLUSTER).from_array(array, chunks=(rows, *array.shape[1:]))


def _worthwhile(array: Any) -> Any:
    """Chunks along rows merged, up to what is worth a task."""
    stored = max(1, *array.chunks[0])
    rows = max(1, _rows_of_a_task(array.shape, array.dtype) // stored) * stored
    return array.rechunk({0: rows})


def _rows_of_a_task(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    row = int(np.prod(shape[1:])) * dtype.itemsize
    return max(1, min(TASK_BYTES // max(1, row), shape[0]))
