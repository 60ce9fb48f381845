"""Which blocks of a folder are finished, with the checksums of their rows and their signals.

The file `finished` has a record for each block, zero where the block is not there:

=====  =====================================================================
bytes  hold
=====  =====================================================================
4      the number of its rows
20     the CRC-32 of its rows in each of the five arrays, in their order
4      the CRC-32 of the signals that it was encoded from
4      a digest of these and of the block's number
=====  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.encoding.about import About
from pursuit.encoding.columns import COLUMNS

FINISHED = "finished"
# 32 bytes: a record never lies across two pages of a disk, so that it is written or it is not.
RECORD: np.dtype[Any] = np.dtype(
    [("rows", "<u4"), ("sums", "<u4", (len(COLUMNS),)), ("signals", "<u4"), ("seal", "<u4")]
)


def checksum(rows: Array) -> int:
    """The CRC-32 of the bytes of an array."""
    return crc32(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)


def signals_checksum(rows: Array, dtype: np.dtype[Any]) -> int:
    """Return the CRC-32 of signals as little-endian numbers of the type they are encoded in.

    So it depends on neither the memory order nor the byte order of the array they come in.
    """
    with np.errstate(all="ignore"):
        return checksum(np.asarray(rows, dtype.newbyteorder("<")))


def record(number: int, rows: Mapping[str, Array], signals: int) -> Array:
    """The record of a block, from its rows in each array and the checksum of its signals."""
    made = np.zeros(1, RECORD)
    made["rows"] = len(rows[COLUMNS[0]])
    made["sums"] = [checksum(rows[name]) for name in COLUMNS]
    made["signals"] = signals
    made["seal"] = _seal(number, made.tobytes())
    return made


def read_marks(folder: Path, about: About) -> Array:
    """The records of all blocks, up to the last finished; one bit changed is an input error."""
    file = folder / FINISHED
    if file.is_dir():
        raise InputError(f"{folder}: {FINISHED} is a folder, expected a file")
    raw = file.read_bytes() if file.exists() else b""
    if file.exists() and about.blocks is not None and len(raw) != about.blocks * RECORD.itemsize:
        raise InputError(
            f"{folder}: {FINISHED} is damaged, expected {about.blocks * RECORD.itemsize} bytes, "
            f"got {len(raw)}"
        )
    # Of an unknown number of blocks, what a kill left of a last record is no record.
    marks = np.frombuffer(raw[: len(raw) // RECORD.itemsize * RECORD.itemsize], RECORD)
    begun = np.flatnonzero(marks.view(np.uint8).reshape(-1, RECORD.itemsize).any(axis=1))
    for number in begun.tolist():
        one = raw[number * RECORD.itemsize : (number + 1) * RECORD.itemsize]
        sealed = marks[number]["seal"] == _seal(number, one)
        if not (sealed and 0 < marks[number]["rows"] <= about.block):
            raise InputError(f"{folder}: {FINISHED} is damaged in the record of block {number}")
    return marks[: begun[-1] + 1] if begun.size else marks[:0]


def _seal(number: int, one: bytes) -> int:
    """The digest that the record of a block ends with."""
    content = number.to_bytes(8, "little") + one[: RECORD.fields["seal"][1]]  # type: ignore[index]
    return int.from_bytes(blake2b(content, digest_size=4).digest(), "little")
