"""Signals that come piece by piece, codes that go to a folder: neither has to fit in memory.

The dictionary is prepared once. Blocks of signals are those of the same job in memory, so the
codes are the same, bit for bit.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pursuit.base.progress import Silent, bar
from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes
from pursuit.encoding.folder import About
from pursuit.encoding.signals import SignalRows
from pursuit.encoding.writer import Writer
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

    def keep(self, number: int, codes: Codes, checksum: int) -> None:
        """Take the codes of a block and the checksum of its signals, from any thread."""

    def take(self, number: int, rows: Array, codes: Codes) -> None:
        """The same with the signals themselves."""

    def finish(self, signals: int) -> Codes:
        """All is there."""

    def abort(self, error: BaseException) -> None:
        """Something failed; `close` comes next."""

    def close(self) -> None:
        """Whether all is there or not, nothing more comes."""


class InMemory:
    """Keeps all codes."""

    def __init__(self, threads: int) -> None:
        self._threads, self._codes = threads, dict[int, Codes]()

    def has(self, number: int) -> bool:
        return number in self._codes

    def checksum(self, rows: Array) -> int:
        return 0  # nobody comes back to these codes

    def verify(self, number: int, n_rows: int, checksum: int) -> None:
        pass

    def keep(self, number: int, codes: Codes, checksum: int) -> None:
        self._codes[number] = codes

    def take(self, number: int, rows: Array, codes: Codes) -> None:
        self._codes[number] = codes

    def finish(self, signals: int) -> Codes:
        return Codes.join([self._codes[number] for number in sorted(self._codes)], self._threads)

    def abort(self, error: BaseException) -> None:
        pass

    def close(self) -> None:
        pass


def encode_stream(
    encoder: Encoder,
    signals: SignalRows,
    out: str | os.PathLike[str] | None,
    resume: bool,
    overwrite: bool,
    progress: bool | None,
) -> Codes:
    """Return the codes of signals: in the folder `out`, or in memory where there is none."""
    sink: Sink
    if out is None:
        sink = InMemory(encoder.threads)
    else:
        sink = Writer(out, about(encoder, signals), resume, overwrite)
    try:
        _encode(encoder, signals, sink, progress)
        return sink.finish(signals.seen)
    except BaseException as error:
        sink.abort(error)
        raise
    finally:
        sink.close()


def _encode(encoder: Encoder, signals: SignalRows, sink: Sink, progress: bool | None) -> None:
    """Encode the blocks that the sink does not have."""
    total, block = signals.total, encoder.plan(signals.dtype).block
    if total is not None:
        starts = range(0, total, block)
        total = sum(min(block, total - start) for start in starts if not sink.has(start // block))
    with bar("encode", total, progress) as shown:
        signals.encode_missing(encoder, sink, Throughput(shown, block, total))


def about(encoder: Encoder, signals: SignalRows) -> About:
    """Return what a folder has to say about the codes of signals."""
    plan = encoder.plan(signals.dtype)
    return About(
        len(encoder),
        plan.description,
        str(plan),
        plan.block,
        plan.width,
        plan.dtype.str,
        signals.total,
        {name: str(value) for name, value in _identity(encoder, signals).items()},
    )


def _identity(encoder: Encoder, signals: SignalRows) -> dict[str, object]:
    """Return what has to be the same for the same codes."""
    plan, atoms = encoder.plan(signals.dtype), encoder.matrix
    return {
        "dictionary": f"{' × '.join(map(str, atoms.shape))} {atoms.dtype} "
        f"({fingerprint(np.array(atoms))})",
        "signals": _shape_of(signals, atoms.shape[1]),
        "method": plan.method,
        "nonnegative": plan.nonnegative,
        "rng": plan.rng,
        "n_nonzero": plan.n_nonzero,
        "max_iter": plan.max_iter,
        "rtol": plan.rtol,
        "atol": plan.atol,
        "unit_atoms": encoder.unit_atoms,
        "precision": plan.dtype,
        "plan": plan,
    }


def _shape_of(signals: SignalRows, length: int) -> str:
    """Number, length and type. What signals are, the checksums of finished blocks say."""
    dtype, total = signals.dtype.newbyteorder("="), signals.total
    return f"blocks of {dtype}" if total is None else f"{total} × {length} {dtype}"


class Throughput(Silent):
    """A bar in signals, with signals a second, updated in blocks of one window after another."""

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
