"""Codes on their way into a folder.

A block is marked as finished only after its rows have reached the disk. Whatever stops a run, the
marked blocks are whole and the others are done again. Rows are written and never mapped: a full
disk is then an error that can be told, not a crash.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np

from pursuit.base.archive import PART, check_no_dangling_link, replacement
from pursuit.base.errors import InputError, PursuitError
from pursuit.base.paths import path_of
from pursuit.base.validation import Array
from pursuit.encoding.about import ABOUT, UNSEALED, About, read_about, write_about
from pursuit.encoding.codes import Codes
from pursuit.encoding.columns import fixed_width
from pursuit.encoding.folder import open_folder
from pursuit.encoding.marks import FINISHED, RECORD, read_marks, record
from pursuit.encoding.stored import StoredRows
from pursuit.files.npy import npy_header
from pursuit.kernels.layouts import Piece

SECONDS = 2.0
"""Between two moments at which rows are forced to the disk and their blocks are marked."""
KEPT = "; what was finished is kept, resume=True (--resume) continues there"
MARKS = 2**15
"""Room for the marks of blocks where nobody knows their number."""


class Writer:
    """Puts the codes of blocks into a folder, new or begun earlier."""

    kept = KEPT

    def __init__(self, path: str | os.PathLike[str], about: About, resume: bool) -> None:
        self.path = path_of("out", path)
        self._lock, self._refused = threading.Lock(), False
        self._written: dict[int, Array] = {}
        self._committed = time.monotonic()
        with _writing(self.path):
            self._fresh = not _begun(self.path, resume)
            self._about = self._begin(about) if self._fresh else self._continue(about)
            if not (self.path / FINISHED).exists():
                self._create()
            self._done = self._finished()
            self._open()

    def _begin(self, about: About) -> About:
        self.path.mkdir(parents=True, exist_ok=True)
        write_about(self.path, about)
        return about

    def _continue(self, wanted: About) -> About:
        """The folder's own description, if it belongs to the same job."""
        about = read_about(self.path)
        if about.format == UNSEALED:
            raise InputError(
                f"out: {self.path} was written by version 0.1.0, without checksums, and is not "
                "continued; expected a new folder"
            )
        for name, text in wanted.identity.items():
            if (there := about.identity.get(name)) != text:
                raise InputError(
                    f"out: {self.path} belongs to another job: its {name} is {there}, got {text}"
                )
        for left in self.path.glob(f"*{PART}"):  # by a run that was killed
            left.unlink(missing_ok=True)
        return about

    def _create(self) -> None:
        """Arrays first, the marks last: where those are missing, nothing was begun."""
        for name, (dtype, shape) in self._about.columns.items():
            header = npy_header(dtype, (self._about.signals or 0, *shape))
            size = len(header) + (self._about.signals or 0) * prod(shape) * dtype.itemsize
            with open(self.path / f"{name}.npy", "wb") as file:
                file.write(header)
                file.truncate(size)
                os.fsync(file.fileno())
        with replacement(self.path / FINISHED) as part:
            # Room for the marks is taken now: on a disk that is full later, they still fit.
            part.write_bytes(bytes((self._about.blocks or MARKS) * RECORD.itemsize))

    def _finished(self) -> Array:
        """Which blocks are there; those are compared with their checksums."""
        marks = read_marks(self.path, self._about)
        try:
            StoredRows(self.path, self._about, marks).verify()
        except InputError as error:
            raise InputError(
                f"{error}; without the file {FINISHED}, resume=True (--resume) encodes all again"
            ) from None
        return marks["rows"] > 0

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
        rows = {name: fixed_width(piece, name, row) for name, row in about.columns.items()}
        self._refuse_more(number * about.block + len(piece.sizes))
        mark = record(number, rows)
        with self._lock, _writing(self.path, KEPT):
            for name, (dtype, shape) in about.columns.items():
                size = prod(shape) * dtype.itemsize
                offset = len(npy_header(dtype, (0, *shape))) + number * about.block * size
                write_at(self._files[name], offset, rows[name])
            self._written[number] = mark
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
        for number, mark in self._written.items():
            write_at(self._marks, number * RECORD.itemsize, mark)
        os.fsync(self._marks.fileno())
        self._written, self._committed = {}, time.monotonic()
        self._fresh = False

    def finish(self, signals: int) -> Codes:
        """All blocks are there: say so, and give the codes."""
        if self._about.signals not in (None, signals):
            raise InputError(
                f"out: {self.path} is for {self._about.signals} signals, got {signals}"
            )
        about = replace(self._about, signals=signals, complete=True)
        with self._lock, _writing(self.path, KEPT):
            self._commit()
            if self._about.signals is None:
                self._cut(about)
            write_about(self.path, about)
        return open_folder(self.path)

    def _cut(self, about: About) -> None:
        """Give files that were begun for any number of signals the length for those that came."""
        rows, blocks = about.signals or 0, about.blocks or 0
        for name, (dtype, shape) in about.columns.items():
            file, header = self._files[name], npy_header(dtype, (rows, *shape))
            file.truncate(len(header) + rows * prod(shape) * dtype.itemsize)
            write_at(file, 0, np.frombuffer(header, np.uint8))
            os.fsync(file.fileno())
        self._marks.truncate(blocks * RECORD.itemsize)
        os.fsync(self._marks.fileno())

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
            if self._refused and self._fresh:
                self._leave_nothing()

    def refuse(self) -> None:
        """What was to come cannot be encoded."""
        self._refused = True

    def _leave_nothing(self) -> None:
        """Nothing was finished: what was begun would only be in the way of another run."""
        with suppress(OSError):
            for name in (FINISHED, *(f"{column}.npy" for column in self._about.columns), ABOUT):
                (self.path / name).unlink(missing_ok=True)


def write_at(file: io.FileIO, offset: int, array: Array) -> None:
    """Write all bytes of an array; the system may take them in several portions."""
    data = array.reshape(-1).view(np.uint8).data
    file.seek(offset)
    while data:
        data = data[file.write(data) or 0 :]


@contextmanager
def _writing(path: Path, besides: str = "") -> Iterator[None]:
    """One sentence for a full disk, a folder that cannot be written, a file in the way."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise PursuitError(f"{path}: cannot be written ({problem}){besides}") from None


def _begun(folder: Path, resume: bool) -> bool:
    """Whether there is anything in a folder but what a run killed at its very start leaves."""
    check_no_dangling_link(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"out: {folder} is a file, expected a folder")
    begun = folder.is_dir() and any(p.suffix != PART for p in folder.iterdir())
    if begun and not resume:
        raise InputError(
            f"out: {folder} is not empty; expected a new folder, or resume=True (--resume)"
        )
    return begun
