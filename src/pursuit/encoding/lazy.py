"""Codes by Dask: lazy ones, a graph with a task for each chunk of signals, and chunk by chunk on
their way into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.cluster import (
    SharedValue,
    each_result,
    graphs_up_to,
    held_node,
    in_words,
    require,
    shared_node,
)
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes, decoder
from pursuit.encoding.folder import Row, columns_of, fixed_width, signals_checksum

if TYPE_CHECKING:
    import dask.array as da

    from pursuit.encoding.chunks import Chunks
    from pursuit.encoding.encoder import Encoder
    from pursuit.encoding.stream import Sink, Throughput

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
        import dask.array as da

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
        from dask.base import tokenize

        shared = shared_node(SharedValue(tokenize(rows), rows.reshape(len(rows), *shape)))
        dtype = np.result_type(self.dtype, rows.dtype)
        return self._blocks(_product_of, shared, dtype=dtype, shape=shape)

    # Computing --------------------------------------------------------------------------------

    def compute(self, **options: Any) -> Codes:
        """The codes, in memory; options are those of ``dask.compute``."""
        import dask

        with self._computing():
            codes: Codes = dask.compute(self, **options)[0]
        return codes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The codes as a dense array, computed, as those of a dask array are."""
        return self.compute().__array__(dtype, copy)

    def persist(self, **options: Any) -> LazyCodes:
        """The same, computed and kept where it was computed."""
        import dask

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
        import dask.array as da

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

    @property
    def __dask_optimize__(self) -> Any:
        return type(self.parts).__dask_optimize__

    @property
    def __dask_scheduler__(self) -> Any:
        return type(self.parts).__dask_scheduler__

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
    plan = encoder.plan(signals.dtype)
    parts = encoded(signals.cut(plan.block), shared_node(shared_encoder(encoder)))
    description = plan.width, plan.dtype, plan.description, str(plan)
    return LazyCodes(parts, len(encoder), *description, encoder.matrix.nbytes)


def shared_encoder(encoder: Encoder) -> SharedValue:
    """An encoder for tasks: each has one thread, and each process prepares the dictionary once."""
    from dask.base import tokenize

    single = encoder.with_threads(1)
    single.matrix = encoder.matrix.copy()  # whatever becomes of the array before they run
    return SharedValue(tokenize(single.__getstate__()), single)


def encoded(rows: da.Array, shared: Any) -> da.Array:
    """A dask array of shape (m,) whose chunks are the codes of those of `rows`."""
    return map_chunks(encode_chunk, rows, shared, rows.dtype)


def map_chunks(function: Callable[..., Any], rows: da.Array, *arguments: object) -> da.Array:
    """function(chunk, *arguments) of each chunk of rows: a dask array of shape (m,)."""
    import dask.array as da

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
    return fixed_width(codes, name, row)


def _product_of(codes: Codes, shared: SharedValue) -> Array:
    product: Array = codes @ shared.value
    return product


def _joined(parts: list[Codes]) -> Codes:
    return Codes.join(parts)


def _rebuilt(
    graph: Any, codes: LazyCodes, rebuild: Any, arguments: Any, rename: Any = None
) -> LazyCodes:
    parts = rebuild(graph, *arguments, **({} if rename is None else {"rename": rename}))
    return replace(codes, parts=parts)


# Into a folder ---------------------------------------------------------------------------------


def encode_chunks(encoder: Encoder, signals: Chunks, sink: Sink, rate: Throughput) -> None:
    """Encode the blocks that a sink does not have: a task for each chunk, some at a time."""
    plan = encoder.plan(signals.dtype)
    block, dtype, blocks = plan.block, plan.dtype, -(-signals.seen // plan.block)
    there = np.array([sink.has(number) for number in range(blocks)])
    # Where blocks that are there end or begin, a chunk does: no block is made again.
    rows = signals.cut(block, (np.flatnonzero(np.diff(there)) + 1) * block)
    first = np.cumsum([0, *rows.chunks[0]])[:-1] // block
    is_finished = there[first]
    if is_finished.any():
        checksums = map_chunks(_checksums, rows, rows.dtype, dtype, block)
        for place, found in _results(checksums, np.flatnonzero(is_finished)):
            _verify(sink, found, int(first[place]), block, rows.chunks[0][place])
    if not is_finished.all():
        shared = held_node(shared_encoder(encoder))
        parts = map_chunks(_encode, rows, shared, rows.dtype, dtype, block)
        for place, (codes, found) in _results(parts, np.flatnonzero(~is_finished)):
            _keep(sink, codes, found, int(first[place]), block)
            rate.add(-(-len(codes) // block))


def _results(parts: Any, places: Array) -> Iterator[tuple[int, Any]]:
    """(place, result) of some chunks of a dask array, in the order in which they are finished."""
    from dask.utils import ensure_dict

    keys = [parts.__dask_keys__()[place] for place in places]
    graph: dict[Any, Any] = ensure_dict(parts.__dask_optimize__(parts.__dask_graph__(), keys))
    for number, result in each_result(graph, keys):
        yield int(places[number]), result


def _verify(sink: Sink, checksums: list[int], first: int, block: int, rows: int) -> None:
    """Compare the blocks of a chunk with what they were encoded from."""
    for place, checksum in enumerate(checksums):
        sink.verify(first + place, min(block, rows - place * block), checksum)


def _keep(sink: Sink, codes: Codes, checksums: list[int], first: int, block: int) -> None:
    """Keep the codes of a chunk, block by block."""
    for place, checksum in enumerate(checksums):
        sink.keep(first + place, codes[place * block : (place + 1) * block], checksum)


# What workers do -----------------------------------------------------------------------------


def _encode(
    rows: Array,
    shared: SharedValue,
    given: np.dtype[Any],
    dtype: np.dtype[Any],
    block: int,
    block_info: Any = None,
) -> tuple[Codes, list[int]]:
    """The codes of a chunk, and the checksum of the signals of each of its blocks."""
    codes = encode_chunk(rows, shared, given, block_info)
    return codes, _checksums(rows, given, dtype, block, block_info)


def _checksums(
    rows: Array, given: np.dtype[Any], dtype: np.dtype[Any], block: int, block_info: Any = None
) -> list[int]:
    """The checksum of the signals of each block of a chunk."""
    check_chunk(rows, given, block_info)
    starts = range(0, len(rows), block)
    return [signals_checksum(rows[start : start + block], dtype) for start in starts]
