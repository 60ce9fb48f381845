"""Chunks of signals to Dask's tasks, their codes to where codes go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dask.utils import ensure_dict

from pursuit.base.cluster import each_result, held_node
from pursuit.encoding.chunks import Chunks
from pursuit.encoding.codes import Codes
from pursuit.encoding.columns import cut
from pursuit.encoding.lazy import encoded, shared_encoder

if TYPE_CHECKING:
    from pursuit.encoding.stream import Order, Sink, Throughput


def encode_chunks(order: Order, signals: Chunks, sink: Sink, rate: Throughput) -> None:
    """Encode the blocks that a sink does not have: a task for each chunk, some at a time."""
    block = order.job.plan.block
    there = np.array([sink.has(number) for number in range(order.blocks)])
    # Where blocks that are there end or begin, a chunk does: no block is made again.
    rows = signals.cut(block, (np.flatnonzero(np.diff(there)) + 1) * block)
    first = np.cumsum([0, *rows.chunks[0]])[:-1] // block
    missing = np.flatnonzero(~there[first])
    if not missing.size:
        return
    parts = encoded(rows, held_node(shared_encoder(order.encoder)))
    keys = [parts.__dask_keys__()[place] for place in missing]
    graph: dict[Any, Any] = ensure_dict(parts.__dask_optimize__(parts.__dask_graph__(), keys))
    for place, codes in each_result(graph, keys, sink.kept):
        _keep(sink, codes, int(first[missing[place]]), block)
        rate.add(-(-len(codes) // block))


def _keep(sink: Sink, codes: Codes, first: int, block: int) -> None:
    """The codes of a chunk, block by block."""
    for number, piece in enumerate(cut(codes.piece(), block), first):
        sink.keep(number, piece)
