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
finished            a byte for each block of signals; 1: its rows are on the disk
==================  ===============================================================

A block is marked as finished only after its rows have reached the disk. Whatever stops a run, the
marked blocks are whole and the others are done again. Rows are written and never mapped: a full
disk is then an error that can be told, not a crash.
"""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.errors import InputError, PursuitError
from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes, Piece

FORMAT = 1
ABOUT, FINISHED, PART = "about.json", "finished", ".part"
SECONDS = 2.0
"""Between two moments at which rows are forced to the disk and their blocks are marked."""
KEPT = "; what was finished is kept, resume=True (--resume) continues there"
MARKS = 2**16
"""Room for the marks of blocks where nobody knows their number."""
ROWS = 2**16
"""Codes that `StoredCodes.parts` gives at a time."""


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

    @property
    def blocks(self) -> int | None:
        """The number of blocks, where it is known."""
        return None if self.signals is None else -(-self.signals // self.block)

    @property
    def columns(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """Type and shape of a row of each array."""
        return {
            "indices": (np.dtype(np.int32), (self.width,)),
            "values": (np.dtype(self.dtype), (self.width,)),
            "residual_norms": (np.dtype(np.float64), ()),
            "iterations": (np.dtype(np.int64), ()),
            "statuses": (np.dtype(np.uint8), ()),
        }


# Writing -----------------------------------------------------------------------------------


class Writer:
    """Puts the codes of blocks into a folder, new or begun earlier."""

    def __init__(self, path: str | os.PathLike[str], about: About, resume: bool) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._written: list[int] = []
        self._committed = time.monotonic()
        with _writing(self.path):
            self._about = self._continue(about) if _begun(self.path, resume) else self._begin(about)
            if not (self.path / FINISHED).exists():
                self._create()
            self._done = _finished(self.path)
            _check_arrays(self.path, self._about, self._done)
            self._open()

    def _begin(self, about: About) -> About:
        self.path.mkdir(parents=True, exist_ok=True)
        _write_about(self.path, about)
        return about

    def _continue(self, wanted: About) -> About:
        """The folder's own description, if it belongs to the same job."""
        about = _read_about(self.path)
        for name, text in wanted.identity.items():
            if (there := about.identity.get(name)) != text:
                raise InputError(
                    f"out: {self.path} belongs to another job: its {name} is {there}, got {text}"
                )
        return about

    def _create(self) -> None:
        """Arrays first, the marks last: where those are missing, nothing was begun."""
        for name, (dtype, shape) in self._about.columns.items():
            header = npy_header(dtype, (self._about.signals or 0, *shape))
            size = len(header) + (self._about.signals or 0) * _row_bytes(dtype, shape)
            with open(self.path / f"{name}.npy", "wb") as file:
                file.write(header)
                file.truncate(size)
                os.fsync(file.fileno())
        with open(self.path / FINISHED, "wb") as marks:
            # Room for the marks is taken now: on a disk that is full later, they still fit.
            marks.write(bytes(self._about.blocks or MARKS))
            os.fsync(marks.fileno())

    def _open(self) -> None:
        self._marks = open(self.path / FINISHED, "r+b", buffering=0)  # noqa: SIM115
        self._files = {
            name: open(self.path / f"{name}.npy", "r+b", buffering=0)  # noqa: SIM115
            for name in self._about.columns
        }

    def has(self, number: int) -> bool:
        """Whether a block was finished, by this run or an earlier one."""
        return number < len(self._done) and bool(self._done[number])

    def keep(self, number: int, piece: Piece) -> None:
        """Write the codes of a block; any thread may call."""
        about = self._about
        rows = _fixed_width(piece, about.width)
        self._refuse_more(number * about.block + len(piece.sizes))
        with self._lock, _writing(self.path, KEPT):
            for name, (dtype, shape) in about.columns.items():
                size = _row_bytes(dtype, shape)
                offset = len(npy_header(dtype, (0, *shape))) + number * about.block * size
                write_at(self._files[name], offset, np.ascontiguousarray(rows[name], dtype))
            self._written.append(number)
            if time.monotonic() - self._committed >= SECONDS:
                self._commit()

    def _refuse_more(self, signals: int) -> None:
        if self._about.signals is not None and signals > self._about.signals:
            raise InputError(
                f"out: {self.path} has room for {self._about.signals} signals, got more"
            )

    def _commit(self) -> None:
        """Force rows to the disk, and only then mark their blocks."""
        if not self._written:
            return
        for file in self._files.values():
            os.fsync(file.fileno())
        for number in self._written:
            write_at(self._marks, number, np.ones(1, np.uint8))
        os.fsync(self._marks.fileno())
        self._written, self._committed = [], time.monotonic()

    def finish(self, signals: int) -> Codes:
        """All blocks are there: say so, and give the codes."""
        if self._about.signals not in (None, signals):
            raise InputError(
                f"out: {self.path} is for {self._about.signals} signals, got {signals}"
            )
        with self._lock, _writing(self.path, KEPT):
            self._commit()
            if self._about.signals is None:
                for name, (dtype, shape) in self._about.columns.items():
                    file, header = self._files[name], npy_header(dtype, (signals, *shape))
                    file.truncate(len(header) + signals * _row_bytes(dtype, shape))
                    write_at(file, 0, np.frombuffer(header, np.uint8))
                    os.fsync(file.fileno())
            _write_about(self.path, replace(self._about, signals=signals, complete=True))
        return open_folder(self.path)

    def close(self) -> None:
        """Keep what was finished, as far as the disk allows."""
        try:
            with self._lock:
                self._commit()
        except OSError:
            pass  # the error that led here is on its way; unmarked blocks are done again
        finally:
            for file in (*self._files.values(), self._marks):
                file.close()


def write_at(file: io.FileIO, offset: int, array: Array) -> None:
    """Write all bytes of an array; the system may take them in several portions."""
    data = array.reshape(-1).view(np.uint8).data
    file.seek(offset)
    while data:
        data = data[file.write(data) or 0 :]


def _fixed_width(piece: Piece, width: int) -> dict[str, Array]:
    used = np.arange(width) < piece.sizes[:, None]
    indices = np.full(used.shape, -1, np.int32)
    values = np.zeros(used.shape, piece.values.dtype)
    indices[used], values[used] = piece.indices, piece.values
    ends = piece._asdict()
    return {**ends, "indices": indices, "values": values}


@contextmanager
def _writing(path: Path, besides: str = "") -> Iterator[None]:
    """One sentence for a full disk, a folder that cannot be written, a file in the way."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise PursuitError(f"{path}: cannot be written ({problem}){besides}") from None


def _write_about(path: Path, about: About) -> None:
    """Whole or not at all."""
    part = path / (ABOUT + PART)
    with open(part, "w", encoding="utf-8") as file:
        json.dump({"pursuit codes": {"format": FORMAT, **asdict(about)}}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path / ABOUT)


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...], by_columns: bool = False) -> bytes:
    """The start of a .npy file; NumPy gives it the same length for any number of rows."""
    header = io.BytesIO()
    kind = np.lib.format.dtype_to_descr(dtype)
    about = {"descr": kind, "fortran_order": by_columns, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    return header.getvalue()


def _row_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int)) * dtype.itemsize


# Reading -----------------------------------------------------------------------------------


def open_folder(path: str | os.PathLike[str]) -> StoredCodes:
    """The codes in a folder that `encode` filled to the end; anything else is an input error."""
    folder = Path(path)
    about = _read_about(folder)
    if not about.complete or about.signals is None:
        done = int(_finished(folder).sum())
        of = "" if about.blocks is None else f" of {about.blocks}"
        raise InputError(
            f"{folder}: the codes are unfinished, {done}{of} blocks are there; encode the same "
            "signals with resume=True (--resume)"
        )
    _check_arrays(folder, about, _finished(folder))
    return StoredCodes(folder, about)


class StoredCodes(Codes):
    """Codes in a folder. What is asked for is read.

    Residual norms, iterations and statuses are mapped. `indices`, `values` and `matrix` are
    gathered in memory when they are first asked for; `parts` gives codes that do not fit there.
    """

    def __init__(self, folder: Path, about: About) -> None:
        self._stored = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in about.columns
        }
        vars(self).update(n_atoms=about.n_atoms, method=about.method, plan=about.plan)
        for name in ("residual_norms", "iterations", "statuses"):
            vars(self)[name] = self._stored[name]

    def parts(self, rows: int = ROWS) -> Iterator[Codes]:
        """The codes of consecutive signals, `rows` at a time."""
        return (self.part(start, start + rows) for start in range(0, len(self), rows))

    def part(self, start: int, stop: int) -> Codes:
        """The codes of the signals from `start` up to, not including, `stop`."""
        rows = {name: array[start:stop] for name, array in self._stored.items()}
        indices = np.asarray(rows["indices"])
        used = indices >= 0
        if indices.max() >= self.n_atoms or (indices < -1).any():
            raise InputError(
                f"codes: expected numbers below {self.n_atoms}; indices.npy is damaged"
            )
        sizes = used.sum(axis=1, dtype=np.int32)
        flat = indices[used], np.asarray(rows["values"])[used]
        ends = (np.asarray(rows[name]) for name in ("residual_norms", "iterations", "statuses"))
        return Codes.join([Piece(sizes, *flat, *ends)], self.n_atoms, self.method, self.plan)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._stored["values"].dtype
        return dtype

    @cached_property
    def sizes(self) -> Array:
        """The number of atoms of each code."""
        return np.concatenate([part.sizes for part in self.parts()])

    @cached_property
    def _whole(self) -> Codes:
        return self.part(0, len(self))

    @property
    def indptr(self) -> Array:
        return self._whole.indptr

    @property
    def indices(self) -> Array:
        return self._whole.indices

    @property
    def values(self) -> Array:
        return self._whole.values


def _read_about(folder: Path) -> About:
    """What a folder says about itself."""
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder of codes, there is none")
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["pursuit codes"]
        version = found.pop("format")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder}: is not a folder of codes") from None
    if version != FORMAT:
        raise InputError(f"{folder}: holds codes of another version ({version!r}, not {FORMAT})")
    try:
        about = About(**found)
    except TypeError:
        raise InputError(f"{folder}: {ABOUT} is damaged") from None
    if not _sound(about):
        raise InputError(f"{folder}: {ABOUT} is damaged")
    return about


def _sound(about: About) -> bool:
    numbers = [about.n_atoms, about.block, about.width, about.signals or 1]
    return (
        all(type(number) is int and number > 0 for number in numbers)
        and about.dtype in (np.dtype(np.float32).str, np.dtype(np.float64).str)
        and isinstance(about.identity, dict)
    )


def _begun(folder: Path, resume: bool) -> bool:
    """Whether there is anything in a folder but what a run killed at its very start leaves."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"out: {folder} is a file, expected a folder")
    begun = folder.is_dir() and any(p.name != ABOUT + PART for p in folder.iterdir())
    if begun and not resume:
        raise InputError(
            f"out: {folder} is not empty; expected a new folder, or resume=True (--resume)"
        )
    return begun


def _finished(folder: Path) -> Array:
    """The marks of the blocks; none where the file was not made yet."""
    marks = folder / FINISHED
    return np.frombuffer(marks.read_bytes() if marks.exists() else b"", np.uint8)


def _check_arrays(folder: Path, about: About, done: Array) -> None:
    """Refuse a folder in which a file is missing, of another type, or shorter than it was."""
    last = int(np.flatnonzero(done)[-1]) if done.any() else -1
    # Of an unknown number of signals, the last block may hold a single one.
    needed = about.signals if about.signals is not None else max(0, last * about.block + 1)
    for name, (dtype, shape) in about.columns.items():
        file = folder / f"{name}.npy"
        header = npy_header(dtype, (about.signals or 0, *shape))
        try:
            with open(file, "rb") as stream:
                start = stream.read(len(header))
            size = file.stat().st_size
        except FileNotFoundError:
            raise InputError(f"{folder}: {file.name} is missing") from None
        missing = len(header) + needed * _row_bytes(dtype, shape) - size
        if missing > 0:
            raise InputError(f"{folder}: {file.name} is incomplete, {missing} bytes are missing")
        if about.signals is not None and start != header:
            raise InputError(f"{folder}: {file.name} is not what {ABOUT} says it is")
