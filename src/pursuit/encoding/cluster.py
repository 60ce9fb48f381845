"""Chunks of signals to Dask's tasks, their codes to where codes go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.utils import ensure_dict

from pursuit.base.cluster import SharedValue, each_result, held_node
from pursuit.base.validation import Array
from pursuit.encoding.chunks import Chunks
from pursuit.encoding.codes import Codes
from pursuit.encoding.columns import cut
from pursuit.encoding.lazy import check_chunk, encode_chunk, map_chunks, shared_encoder
from pursuit.encoding.marks import signals_checksum

if TYPE_CHECKING:
    from pursuit.encoding.stream import Order, Sink, Throughput


def encode_chunks(order: Order, signals: Chunks, sink: Sink, rate: Throughput) -> None:
    """Encode the blocks that a sink does not have: a task for each chunk, some at a time."""
    block, dtype = order.job.plan.block, order.job.dtype
    there = np.array([sink.has(number) for number in range(order.blocks)])
    # Where blocks that are there end or begin, a chunk does: no block is made again.
    rows = signals.cut(block, (np.flatnonzero(np.diff(there)) + 1) * block)
    first = np.cumsum([0, *rows.chunks[0]])[:-1] // block
    is_finished = there[first]
    if is_finished.any():
        checksums = map_chunks(_checksums, rows, rows.dtype, dtype, block)
        for place, found in _results(checksums, np.flatnonzero(is_finished)):
            _verify(sink, found, int(first[place]), block, rows.chunks[0][place])
    if not is_finished.all():
        shared = held_node(shared_encoder(order.encoder))
        parts = map_chunks(_encode, rows, shared, rows.dtype, dtype, block)
        for place, (codes, found) in _results(parts, np.flatnonzero(~is_finished)):
            _keep(sink, codes, found, int(first[place]), block)
            rate.add(-(-len(codes) // block))


def _results(parts: Any, places: Array) -> Iterator[tuple[int, Any]]:
    """(place, result) of some chunks of a dask array, in the order in which they are finished."""
    keys = [parts.__dask_keys__()[place] for place in places]
    graph: dict[Any, Any] = ensure_dict(parts.__dask_optimize__(parts.__dask_graph__(), keys))
    for number, result in each_result(graph, keys):
        yield int(places[number]), result


def _verify(sink: Sink, checksums: list[int], first: int, block: int, rows: int) -> None:
    """Compare the blocks of a chunk with what they were encoded from."""
    for place, checksum in enumerate(checksums):
        sink.verify(first + place, min(block, rows - place * block), checksum)


def _keep(sink: Sink, codes: Codes, checksums: list[int], first: int, block: int) -> None:
    """The codes of a chunk, block by block."""
    pieces = cut(codes.piece(), block)
    for number, (piece, checksum) in enumerate(zip(pieces, checksums, strict=True), first):
        sink.keep(number, piece, checksum)


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
