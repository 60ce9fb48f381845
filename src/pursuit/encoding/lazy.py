"""Codes that are not computed yet: a dask graph with a task for each chunk of signals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from dask.base import tokenize

from pursuit.base.cluster import SharedValue, graphs_up_to, in_words, require, shared_node
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.encoding.chunks import Chunks
from pursuit.encoding.codes import Codes, decoder
from pursuit.encoding.columns import Row, columns_of, fixed_width

if TYPE_CHECKING:
    from pursuit.encoding.encoder import Encoder

GRAPH_BYTES = 10 * 2**20
"""The size of graph that Dask warns of."""


@dataclass(frozen=True, eq=False, repr=False)
class LazyCodes:
    """The codes of m signals over n atoms, not computed yet.

    `compute` gives `Codes`, the same as without Dask, bit for bit; so does ``dask.compute(codes)``.
    The arrays below are dask arrays with the chunks of the signals, cut at the blocks of the plan.

    Attributes
    ----------
    indices, values
        The atoms that each signal uses and their coefficients, (m, width); −1 and 0 where a code
        has no more.
    residual_norms, iterations, statuses
        Those of `Codes`, (m,).
    n_atoms, width
        The number of atoms n, and the most that a code has.
    dtype, dictionary_bytes
        The type of the coefficients; what the atoms take.
    method, plan
        What will be done, and how, in words.
    """

    parts: Any  # a dask array of shape (m,) whose chunks are `Codes`
    n_atoms: int
    width: int
    dtype: np.dtype[Any]
    method: str
    plan: str
    dictionary_bytes: int

    # The arrays -------------------------------------------------------------------------------

    @property
    def indices(self) -> da.Array:
        return self._column("indices")

    @property
    def values(self) -> da.Array:
        return self._column("values")

    @property
    def residual_norms(self) -> da.Array:
        return self._column("residual_norms")

    @property
    def iterations(self) -> da.Array:
        return self._column("iterations")

    @property
    def statuses(self) -> da.Array:
        return self._column("statuses")

    @property
    def _columns(self) -> dict[str, Row]:
        return columns_of(self.width, self.dtype)

    def _column(self, name: str) -> da.Array:
        dtype, shape = self._columns[name]
        return self._blocks(_column_of, name, (dtype, shape), dtype=dtype, shape=shape)

    def _blocks(
        self,
        function: Callable[..., Array],
        *arguments: object,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> da.Array:
        """function(codes, *arguments) of the codes of each chunk, with rows of a shape."""
        return da.map_blocks(
            function,
            self.parts,
            *arguments,
            chunks=(*self.parts.chunks, *((length,) for length in shape)),
            new_axis=list(range(1, 1 + len(shape))) or None,
            meta=np.empty((0,) * (1 + len(shape)), dtype),
        )

    def __matmul__(self, atoms: object) -> da.Array:
        """The approximations, as a dask array: one row for each signal, in the shape of an atom."""
        rows, shape = decoder(atoms, self.n_atoms)
        shared = shared_node(SharedValue(tokenize(rows), rows.reshape(len(rows), *shape)))
        dtype = np.result_type(self.dtype, rows.dtype)
        return self._blocks(_product_of, shared, dtype=dtype, shape=shape)

    # Computing --------------------------------------------------------------------------------

    def compute(self, **options: Any) -> Codes:
        """The codes, in memory; options are those of ``dask.compute``."""
        with self._computing():
            codes: Codes = dask.compute(self, **options)[0]
        return codes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The codes as a dense array, computed, as those of a dask array are."""
        return self.compute().__array__(dtype, copy)

    def persist(self, **options: Any) -> LazyCodes:
        """The same, computed and kept where it was computed."""
        with self._computing():
            kept: LazyCodes = dask.persist(self, **options)[0]
        return kept

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Dask warns of a large graph; that of a dictionary which is sent once is none."""
        with graphs_up_to(GRAPH_BYTES + self.dictionary_bytes), in_words():
            yield

    def to_zarr(self, store: str | os.PathLike[str], **options: Any) -> None:
        """Write the five arrays to a new zarr group; what it is about goes to its attributes."""
        zarr = require("zarr", "writing a zarr group")
        rows = max(self.parts.chunks[0])
        path = os.fspath(store) if isinstance(store, os.PathLike) else store
        try:
            group = zarr.open_group(path, mode="w-")
        except FileExistsError:
            raise InputError(f"store: {path} is there already; expected a new one") from None
        except TypeError:
            kind = type(store).__name__
            raise InputError(f"store: expected a path or a store of zarr, got {kind}") from None
        group.attrs.update(n_atoms=self.n_atoms, method=self.method, plan=self.plan)
        sources, targets = [], []
        for name, (dtype, shape) in self._columns.items():
            # A chunk of the group is written by one task: they all have the same size.
            sources.append(getattr(self, name).rechunk((rows, *shape)))
            size = (len(self), *shape)
            targets.append(group.create_array(name, shape=size, chunks=(rows, *shape), dtype=dtype))
        with self._computing():
            da.store(sources, targets, lock=False, **options)

    # What Dask asks ---------------------------------------------------------------------------

    def __dask_graph__(self) -> Any:
        return self.parts.__dask_graph__()

    def __dask_keys__(self) -> Any:
        return self.parts.__dask_keys__()

    def __dask_layers__(self) -> Any:
        return self.parts.__dask_layers__()

    def __dask_tokenize__(self) -> Any:
        return "LazyCodes", self.parts.name

    __dask_optimize__ = staticmethod(da.Array.__dask_optimize__)
    __dask_scheduler__ = staticmethod(da.Array.__dask_scheduler__)

    def __dask_postcompute__(self) -> tuple[Callable[..., Codes], tuple[Any, ...]]:
        return _joined, ()

    def __dask_postpersist__(self) -> tuple[Callable[..., LazyCodes], tuple[Any, ...]]:
        rebuild, arguments = self.parts.__dask_postpersist__()
        return _rebuilt, (self, rebuild, arguments)

    # What people ask --------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.n_atoms

    def __len__(self) -> int:
        return len(self.parts)

    def __str__(self) -> str:
        m, n = self.shape
        chunks = self.parts.chunks[0]
        rows = {
            "lazy codes": f"{m:,} signals over {n:,} atoms, at most {self.width:,} a signal "
            f"({self.dtype})",
            "method": self.method,
            "tasks": f"{len(chunks):,}, of up to {max(chunks):,} signals",
            "done by": self.plan,
            "not done": "compute() gives codes, to_zarr() writes them; encode(…, out=folder) "
            "writes a folder",
        }
        return "\n".join(f"{name:>10}: {text}" for name, text in rows.items())

    __repr__ = __str__


# Building the graph --------------------------------------------------------------------------


def lazy_codes(encoder: Encoder, signals: Chunks) -> LazyCodes:
    """The codes of signals in chunks, to be computed when they are asked for."""
    job = encoder.job(signals)
    parts = encoded(signals.cut(job.plan.block), shared_node(shared_encoder(encoder)))
    return LazyCodes(
        parts,
        len(encoder),
        job.plan.width,
        job.dtype,
        job.description,
        str(job.plan),
        encoder.matrix.nbytes,
    )


def shared_encoder(encoder: Encoder) -> SharedValue:
    """An encoder for tasks: each has one thread, and each process prepares the dictionary once."""
    single = encoder.with_threads(1)
    single.matrix = encoder.matrix.copy()  # whatever becomes of the array before they run
    return SharedValue(tokenize(single.__getstate__()), single)


def encoded(rows: da.Array, shared: Any) -> da.Array:
    """A dask array of shape (m,) whose chunks are the codes of those of `rows`."""
    return map_chunks(encode_chunk, rows, shared, rows.dtype)


def map_chunks(function: Callable[..., Any], rows: da.Array, *arguments: object) -> da.Array:
    """function(chunk, *arguments) of each chunk of rows: a dask array of shape (m,)."""
    chunks, meta = (rows.chunks[0],), np.empty(0, object)
    return da.map_blocks(function, rows, *arguments, drop_axis=1, chunks=chunks, meta=meta)


def encode_chunk(
    rows: Array, shared: SharedValue, dtype: np.dtype[Any], block_info: Any = None
) -> Codes:
    """The codes of a chunk: those that its rows have in the whole."""
    first = check_chunk(rows, dtype, block_info)
    codes: Codes = shared.here().part(rows, first)
    return codes


def check_chunk(rows: Array, dtype: np.dtype[Any], block_info: Any) -> int:
    """Return the number of a chunk's first row, if the chunk is what the dask array says."""
    first, end = block_info[0]["array-location"][0]
    if len(rows) != end - first or rows.dtype != dtype:
        raise InputError(
            f"signals: expected {end - first} rows of {dtype} from {first} on, as the dask array "
            f"says, got {len(rows)} of {rows.dtype}"
        )
    return int(first)


def _column_of(codes: Codes, name: str, row: Row) -> Array:
    return fixed_width(codes.piece(), name, row)


def _product_of(codes: Codes, shared: SharedValue) -> Array:
    product: Array = codes @ shared.value
    return product


def _joined(parts: list[Codes]) -> Codes:
    first = parts[0]
    return Codes.join([part.piece() for part in parts], first.n_atoms, first.method, first.plan)


def _rebuilt(
    graph: Any, codes: LazyCodes, rebuild: Any, arguments: Any, rename: Any = None
) -> LazyCodes:
    parts = rebuild(graph, *arguments, **({} if rename is None else {"rename": rename}))
    return replace(codes, parts=parts)
