"""Codes in a folder, for results that do not fit in memory.

==================  ===============================================================
file                holds
==================  ===============================================================
about.json          format, what was encoded and how; when all is done, how many
indices.npy         the atoms of each code, (m, width) int32; −1: no more
values.npy          their coefficients, (m, width); 0 where there is no atom
residual_norms.npy  (m,) float64
iterations.npy      (m,) int64
statuses.npy        (m,) uint8
finished            which blocks of signals are there, with checksums of their rows
==================  ===============================================================

Every byte is under a checksum: those of about.json and of `finished` are compared when a folder is
opened, those of the rows of a block when rows of it are first read.

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

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from pursuit.base.archive import replacement
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.files.npy import npy_header

if TYPE_CHECKING:
    from pursuit.encoding.codes import Codes

# The arrays ------------------------------------------------------------------------------------

COLUMNS = ("indices", "values", "residual_norms", "iterations", "statuses")
NO_ATOM = -1
"""In place of an atom where a code has no more."""
Row = tuple[np.dtype[Any], tuple[int, ...]]


def columns_of(width: int, dtype: np.dtype[Any]) -> dict[str, Row]:
    """Type and shape of a row of each array."""
    return {
        "indices": (np.dtype(np.int32), (width,)),
        "values": (dtype, (width,)),
        "residual_norms": (np.dtype(np.float64), ()),
        "iterations": (np.dtype(np.int64), ()),
        "statuses": (np.dtype(np.uint8), ()),
    }


def fixed_width(codes: Codes, name: str, row: Row) -> Array:
    """One of the arrays for some codes."""
    (dtype, shape), entries = row, getattr(codes, name)
    if not shape or entries.size == len(codes.sizes) * shape[0]:  # all codes are full
        return np.ascontiguousarray(entries, dtype).reshape(-1, *shape)
    used = np.arange(*shape) < codes.sizes[:, None]
    rows = np.full(used.shape, NO_ATOM if name == "indices" else 0, dtype)
    rows[used] = entries
    return rows


# What a folder says about itself ---------------------------------------------------------------

FORMAT = 3
ABOUT = "about.json"
KEY = "pursuit codes"


@dataclass(frozen=True)
class About:
    """What a folder holds. `signals` is their number, None as long as it is not known.

    `identity` says what must be the same for a run to be continued: texts by name.
    """

    n_atoms: int
    method: str
    plan: str
    block: int
    width: int
    dtype: str
    signals: int | None
    identity: dict[str, str]
    complete: bool = False
    format: int = FORMAT

    @property
    def blocks(self) -> int | None:
        """The number of blocks, where it is known."""
        return None if self.signals is None else -(-self.signals // self.block)

    @property
    def columns(self) -> dict[str, Row]:
        """Type and shape of a row of each array."""
        return columns_of(self.width, np.dtype(self.dtype))

    def _is_sound(self) -> bool:
        numbers = [self.n_atoms, self.block, self.width, self.signals or 1]
        return (
            all(type(number) is int and number > 0 for number in numbers)
            and self.dtype in (np.dtype(np.float32).str, np.dtype(np.float64).str)
            and isinstance(self.identity, dict)
            and isinstance(self.complete, bool)
            and all(isinstance(text, str) for text in (self.method, self.plan))
        )


def write_about(folder: Path, about: About) -> None:
    """Whole or not at all."""
    with replacement(folder / ABOUT) as part:
        part.write_text(_text(asdict(about)), encoding="utf-8")


def is_codes_folder(folder: Path) -> bool:
    """Return whether `encode` wrote the description in a folder, in whatever version."""
    try:
        return KEY in json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def read_about(folder: Path) -> About:
    """What a folder says about itself; one bit changed is an input error."""
    if not os.path.isdir(folder):
        raise InputError(f"{folder}: expected a folder of codes, there is none")
    try:
        text = (folder / ABOUT).read_text(encoding="utf-8")
        document = json.loads(text)
        found = dict(document[KEY])
        version = found["format"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: is not a folder of codes, or {ABOUT} is damaged") from None
    if version != FORMAT:
        raise InputError(
            f"{folder}: holds codes of another version ({version!r}, not {FORMAT}), or {ABOUT} is "
            "damaged"
        )
    try:
        about = About(**found) if text == _text(found) else None
    except TypeError:
        about = None
    if about is None or not about._is_sound():
        raise InputError(f"{folder}: {ABOUT} is damaged")
    return about


def _text(content: dict[str, Any]) -> str:
    """The document, with a checksum of what it says; the same content gives the same text."""
    body = json.dumps(content)
    checksum = blake2b(body.encode(), digest_size=16).hexdigest()
    return json.dumps({KEY: content, "checksum": checksum}, indent=1)


# Which blocks are finished ---------------------------------------------------------------------

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
    return checksum(np.asarray(rows, dtype.newbyteorder("<")))


def record(number: int, rows: Mapping[str, Array], signals: int) -> Array:
    """The record of a block, from its rows in each array and the checksum of its signals."""
    made = np.zeros(1, RECORD)
    made["rows"] = len(rows[COLUMNS[0]])
    made["sums"] = [checksum(rows[name]) for name in COLUMNS]
    made["signals"] = signals
    made["seal"] = _seal(number, made.tobytes())
    return made


def read_records(folder: Path, about: About) -> Array:
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
    records = np.frombuffer(raw[: len(raw) // RECORD.itemsize * RECORD.itemsize], RECORD)
    begun = np.flatnonzero(records.view(np.uint8).reshape(-1, RECORD.itemsize).any(axis=1))
    for number in begun.tolist():
        one = raw[number * RECORD.itemsize : (number + 1) * RECORD.itemsize]
        sealed = records[number]["seal"] == _seal(number, one)
        if not (sealed and 0 < records[number]["rows"] <= about.block):
            raise InputError(f"{folder}: {FINISHED} is damaged in the record of block {number}")
    return records[: begun[-1] + 1] if begun.size else records[:0]


def _seal(number: int, one: bytes) -> int:
    """The digest that the record of a block ends with."""
    content = number.to_bytes(8, "little") + one[: RECORD.fields["seal"][1]]  # type: ignore[index]
    return int.from_bytes(blake2b(content, digest_size=4).digest(), "little")


# Rows, as they are asked for -------------------------------------------------------------------


class StoredRows:
    """The rows of the five arrays in a folder.

    Parameters
    ----------
    folder, about
        Where they are, and what they are.
    records
        The records of the blocks. A block is compared with its checksums once, when rows of it are
        first asked for.
    """

    def __init__(self, folder: Path, about: About, records: Array) -> None:
        self._folder, self._about, self._records = folder, about, records
        if not len(records):
            self._rows = about.signals or 0
        else:
            self._rows = about.block * (len(records) - 1) + int(records["rows"][-1])
        self._arrays = {name: self._map(name) for name in COLUMNS}
        self._unverified = {name: np.ones(len(records), bool) for name in COLUMNS}

    def __len__(self) -> int:
        return self._rows

    def column(self, name: str) -> Array:
        """One array as a whole, still on the disk."""
        self._check(name, slice(0, self._rows))
        return self._arrays[name]

    def take(self, rows: slice | Array) -> dict[str, Array]:
        """Some rows of every array, in memory."""
        for name in COLUMNS:
            self._check(name, rows)
        return {name: np.array(self._arrays[name][rows]) for name in COLUMNS}

    def verify(self) -> None:
        """Compare every block that is finished with its checksums."""
        for name in COLUMNS:
            self._check(name, slice(0, self._rows))

    def _check(self, name: str, rows: slice | Array) -> None:
        """Compare the blocks that some rows are of with their checksums, once."""
        unverified, size = self._unverified[name], self._about.block
        if not unverified.any():
            return
        for number in np.unique(_places(rows, self._rows) // size).tolist():
            if unverified[number]:
                self._compare(name, number, self._arrays[name][number * size :][:size])
                unverified[number] = False

    def _compare(self, name: str, number: int, rows: Array) -> None:
        entry = self._records[number]
        if not entry["rows"]:  # not finished: nobody reads it, and it is written again
            return
        if entry["sums"][COLUMNS.index(name)] != checksum(rows[: entry["rows"]]):
            first = number * self._about.block
            raise InputError(
                f"{self._folder}: {name}.npy is damaged in block {number}, the codes of signals "
                f"{first} to {first + int(entry['rows']) - 1}"
            )

    # Opening --------------------------------------------------------------------------------

    def _map(self, name: str) -> Array:
        """An array of the folder, if the file is what was described."""
        dtype, shape = self._about.columns[name]
        file = self._folder / f"{name}.npy"
        header = npy_header(dtype, (self._about.signals or 0, *shape))
        self._inspect(file, header, prod(shape) * dtype.itemsize)
        if not self._rows:  # which cannot be mapped
            return np.empty((0, *shape), dtype)
        mapped: Array = np.memmap(file, dtype, "r", len(header), (self._rows, *shape))
        return mapped

    def _inspect(self, file: Path, header: bytes, row: int) -> None:
        """Refuse a file that is missing, shorter than its rows, or of another type."""
        try:
            with open(file, "rb") as stream:
                start = stream.read(len(header))
            size = file.stat().st_size
        except OSError as error:
            problem = "is missing" if isinstance(error, FileNotFoundError) else "cannot be read"
            raise InputError(f"{self._folder}: {file.name} {problem}") from None
        known = self._about.signals is not None
        missing = len(header) + (self._about.signals or self._rows) * row - size
        if missing > 0:
            raise InputError(
                f"{self._folder}: {file.name} is incomplete, {missing} bytes are missing"
            )
        if known and (start != header or missing < 0):
            raise InputError(f"{self._folder}: {file.name} is not what {ABOUT} says it is")


def _places(rows: slice | Array, total: int) -> Array:
    """The numbers of some rows."""
    return np.arange(*rows.indices(total)) if isinstance(rows, slice) else rows
