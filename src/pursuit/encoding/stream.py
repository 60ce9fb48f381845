"""Signals that come piece by piece, codes that go to a folder: neither has to fit in memory.

The dictionary is prepared once. Blocks of signals are those of the same job in memory, so the
codes are the same, bit for bit.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pursuit.base.progress import Silent, bar
from pursuit.base.threads import new_halt
from pursuit.base.validation import Array
from pursuit.encoding.about import About
from pursuit.encoding.codes import Codes
from pursuit.encoding.job import Chunk, Job
from pursuit.encoding.prepared import BlockEncoder
from pursuit.encoding.rows import SignalRows
from pursuit.encoding.writer import Writer
from pursuit.kernels.layouts import Piece
from pursuit.solving.checkpoint import fingerprint

if TYPE_CHECKING:
    from pursuit.encoding.encoder import Encoder


class Sink(Protocol):
    """Where the codes of blocks go."""

    def has(self, number: int) -> bool:
        """Whether a block is there."""

    def checksum(self, rows: Array) -> int:
        """Return the checksum that the signals of a block are recognized by."""

    def verify(self, number: int, n_rows: int, checksum: int) -> None:
        """Raise where the signals of a block that is there have changed."""

    def keep(self, number: int, piece: Piece, checksum: int) -> None:
        """Take the codes of a block and the checksum of its signals, from any thread."""

    def finish(self, signals: int) -> Codes:
        """All is there."""

    def abort(self, error: BaseException) -> None:
        """Something failed; `close` comes next."""

    def close(self) -> None:
        """Whether all is there or not, nothing more comes."""


@dataclass(frozen=True)
class Order:
    """What to encode, and with what."""

    encoder: Encoder
    signals: SignalRows

    @property
    def job(self) -> Job:
        return self.encoder.job(self.signals)

    @property
    def blocks(self) -> int:
        """The number of blocks, where that of signals is known."""
        return -(-(self.signals.total or 0) // self.job.plan.block)

    def about(self) -> About:
        """What a folder has to say about these codes."""
        plan, dtype = self.job.plan, self.job.dtype
        return About(
            len(self.encoder),
            self.job.description,
            str(plan),
            plan.block,
            plan.width,
            dtype.str,
            self.signals.total,
            {name: str(value) for name, value in self._identity().items()},
        )

    def _shape_of_signals(self) -> str:
        """Number, length and type. What they are, the checksums of finished blocks say."""
        dtype, total = self.signals.dtype.newbyteorder("="), self.signals.total
        length = self.encoder.matrix.shape[1]
        return f"blocks of {dtype}" if total is None else f"{total} × {length} {dtype}"

    def _identity(self) -> dict[str, object]:
        """What has to be the same for the same codes."""
        rules, goal, atoms = self.job.rules, self.job.goal, self.encoder.matrix
        return {
            "dictionary": f"{' × '.join(map(str, atoms.shape))} {atoms.dtype} "
            f"({fingerprint(np.array(atoms))})",
            "signals": self._shape_of_signals(),
            "method": self.job.method.name,
            "nonnegative": self.job.nonnegative,
            "seed": self.job.seed,
            "n_nonzero": rules.n_nonzero,
            "max_iter": rules.max_iter,
            "rtol": goal.rtol,
            "atol": goal.atol,
            "unit_atoms": self.encoder.unit_atoms,
            "precision": self.job.dtype,
            "plan": self.job.plan,
        }


class InMemory:
    """Keeps all codes."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._pieces: dict[int, Piece] = {}

    def has(self, number: int) -> bool:
        return number in self._pieces

    def checksum(self, rows: Array) -> int:
        return 0  # nobody comes back to these codes

    def verify(self, number: int, n_rows: int, checksum: int) -> None:
        pass

    def keep(self, number: int, piece: Piece, checksum: int) -> None:
        self._pieces[number] = piece

    def finish(self, signals: int) -> Codes:
        pieces = [self._pieces[number] for number in sorted(self._pieces)]
        return self._order.encoder.joined(pieces, self._order.signals)

    def abort(self, error: BaseException) -> None:
        pass

    def close(self) -> None:
        pass


def encode_stream(
    order: Order,
    out: str | os.PathLike[str] | None,
    resume: bool,
    overwrite: bool,
    progress: bool | None,
) -> Codes:
    """The codes of an order: in the folder `out`, or in memory where there is none."""
    sink: Sink
    sink = InMemory(order) if out is None else Writer(out, order.about(), resume, overwrite)
    try:
        return sink.finish(_encode(order, sink, progress))
    except BaseException as error:
        sink.abort(error)
        raise
    finally:
        sink.close()


def _encode(order: Order, sink: Sink, progress: bool | None) -> int:
    """Encode the blocks that the sink does not have; the number of signals."""
    signals, block = order.signals, order.job.plan.block
    total = signals.total
    if total is not None:
        total = sum(min(block, total - n * block) for n in range(order.blocks) if not sink.has(n))
    with bar("encode", total, progress) as shown:
        rate = Throughput(shown, block, total)
        if signals.chunks is not None:
            from pursuit.encoding.cluster import encode_chunks  # and Dask with it

            encode_chunks(order, signals.chunks, sink, rate)
            return signals.seen
        for numbers in signals.windows(block):
            _verify_blocks(order, sink, [n for n in numbers if sink.has(n)])
            _encode_blocks(order, sink, [n for n in numbers if not sink.has(n)], rate)
    return signals.seen


def _verify_blocks(order: Order, sink: Sink, numbers: list[int]) -> None:
    """Compare the signals of finished blocks with what they were encoded from."""
    block = order.job.plan.block
    for number in numbers:
        rows = order.signals[number * block : (number + 1) * block]
        sink.verify(number, len(rows), sink.checksum(rows))


def _encode_blocks(order: Order, sink: Sink, numbers: list[int], rate: Throughput) -> None:
    if not numbers:
        return  # the dictionary's part is done when there is a first one
    signals = order.signals
    block, halt = order.job.plan.block, new_halt()

    def one(encode: BlockEncoder, place: int) -> None:
        number = numbers[place]
        rows = signals[number * block : (number + 1) * block]
        checksum = sink.checksum(rows)
        sink.keep(number, encode(Chunk(rows, number, halt)), checksum)

    order.encoder.prepared(signals).each(len(numbers), one, halt, rate)
    rate.add(len(numbers))


class Throughput(Silent):
    """A bar in signals, with signals a second, told in blocks of one window after another."""

    def __init__(self, shown: Silent, block: int, total: int | None) -> None:
        self._shown, self._block, self._total = shown, block, total
        self._began = time.monotonic()
        self._done = 0  # blocks of earlier windows

    def add(self, blocks: int) -> None:
        """So many blocks more are done, and the next window begins."""
        self._done += blocks
        self.update(0)

    def update(self, done: float, note: str = "") -> None:
        signals = (self._done + done) * self._block
        if self._total is not None:
            signals = min(signals, self._total)
        rate = signals / max(time.monotonic() - self._began, 1e-9)
        self._shown.update(signals, f"{rate:,.0f} signals/s")
