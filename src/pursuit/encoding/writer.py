"""Codes on their way into a folder.

A block is marked as finished only after its rows have reached the disk. Whatever stops a run, the
marked blocks are whole and the others are done again. Rows are written and never mapped: a full
disk is then an error with a message, not a crash.
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
from pursuit.base.lock import LOCK, FolderLock
from pursuit.base.paths import path_of
from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes, open_folder
from pursuit.encoding.folder import (
    ABOUT,
    COLUMNS,
    FINISHED,
    RECORD,
    About,
    StoredRows,
    fixed_width,
    is_codes_folder,
    read_about,
    read_records,
    record,
    signals_checksum,
    write_about,
)
from pursuit.files.npy import npy_header

SECONDS = 2.0
"""Between two moments at which rows are forced to the disk and their blocks are marked."""
FILES = (FINISHED, *(f"{column}.npy" for column in COLUMNS), ABOUT)
"""What a run writes. They are removed in this order: a folder is one of codes to the last."""
RECORDS = 2**15
"""Space for the records of blocks where nobody knows their number."""


class Writer:
    """Puts the codes of blocks into a folder, new or begun earlier."""

    def __init__(
        self, path: str | os.PathLike[str], about: About, resume: bool, overwrite: bool
    ) -> None:
        self.path = path_of("out", path)
        self._lock, self._written = threading.Lock(), dict[int, Array]()
        self._committed, self._is_new = time.monotonic(), False
        self._advice = "the finished blocks are kept in"
        with _writing(self.path):
            _check_folder(self.path, resume, overwrite)
            self._folders = _make_folders(self.path)
            try:
                self._folder_lock = FolderLock(self.path)
            except BlockingIOError:
                raise InputError(
                    f"out must be a folder that no other job is writing, got {self.path}; wait "
                    "for that job, or use another folder"
                ) from None
            try:
                self._prepare(about, resume, overwrite)
            except BaseException:
                if self._is_new:
                    _try_to_remove(self.path)
                self._leave()
                raise

    def _prepare(self, about: About, resume: bool, overwrite: bool) -> None:
        """Open a new folder, or the one of the same job."""
        if overwrite:
            _remove_codes(self.path)
        self._is_new = overwrite or not _is_begun(self.path)
        if not self._is_new and not resume:
            raise InputError(_not_empty(self.path))
        self._about = self._begin(about) if self._is_new else self._continue(about)
        if not (self.path / FINISHED).exists():
            self._create()
        self._earlier = self._read_finished()
        self._any_finished = bool((self._earlier["rows"] > 0).any())
        self._open()

    def _begin(self, about: About) -> About:
        write_about(self.path, about)
        return about

    def _continue(self, wanted: About) -> About:
        """The folder's own description, if it belongs to the same job."""
        about = read_about(self.path)
        for name, text in wanted.identity.items():
            if (there := about.identity.get(name)) != text:
                raise InputError(
                    f"out: {self.path} belongs to another job: its {name} is {there}, got {text}"
                )
        _remove_parts(self.path)  # of a run that was killed
        return about

    def _create(self) -> None:
        """Arrays first, the records last: where those are missing, nothing was begun."""
        for name, (dtype, shape) in self._about.columns.items():
            header = npy_header(dtype, (self._about.signals or 0, *shape))
            size = len(header) + (self._about.signals or 0) * prod(shape) * dtype.itemsize
            with open(self.path / f"{name}.npy", "wb") as file:
                file.write(header)
                file.truncate(size)
                os.fsync(file.fileno())
        with replacement(self.path / FINISHED) as part:
            # Room for the records is taken now: on a disk that is full later, they still fit.
            part.write_bytes(bytes((self._about.blocks or RECORDS) * RECORD.itemsize))

    def _read_finished(self) -> Array:
        """The records of the blocks that are there, compared with the checksums of their rows."""
        records = read_records(self.path, self._about)
        try:
            StoredRows(self.path, self._about, records).verify()
        except InputError as error:
            raise InputError(
                f"{error}; without the file {FINISHED}, resume=True (--resume) encodes all again"
            ) from None
        return records

    def _open(self) -> None:
        self._records = open(self.path / FINISHED, "r+b", buffering=0)  # noqa: SIM115
        self._files = {
            name: open(self.path / f"{name}.npy", "r+b", buffering=0)  # noqa: SIM115
            for name in self._about.columns
        }

    def has(self, number: int) -> bool:
        """Whether an earlier run finished a block."""
        return number < len(self._earlier) and bool(self._earlier[number]["rows"])

    def checksum(self, rows: Array) -> int:
        """Return the checksum that the signals of a block are recognized by."""
        return signals_checksum(rows, np.dtype(self._about.dtype))

    def verify(self, number: int, n_rows: int, checksum: int) -> None:
        """Raise where the signals of a finished block are not those that it was encoded from."""
        stored, first = self._earlier[number], number * self._about.block
        expected, end = int(stored["rows"]), first + int(stored["rows"]) - 1
        if n_rows != expected:
            found = f"{n_rows} rows instead of {expected}"
        elif checksum != stored["signals"]:
            found = "other values"
        else:
            return
        self._advice = ""
        raise InputError(
            f"signals must be unchanged since {self.path} was begun, got {found} in block {number} "
            f"(rows {first} to {end}); encode the same signals, use a new folder, or "
            "overwrite=True (--force)"
        )

    def keep(self, number: int, codes: Codes, checksum: int) -> None:
        """Write the codes of a block, and the checksum of its signals; any thread may call."""
        about = self._about
        rows = {name: fixed_width(codes, name, row) for name, row in about.columns.items()}
        self._check_total(number * about.block + len(codes))
        entry = record(number, rows, checksum)
        with self._lock, _writing(self.path):
            for name, (dtype, shape) in about.columns.items():
                size = prod(shape) * dtype.itemsize
                offset = len(npy_header(dtype, (0, *shape))) + number * about.block * size
                write_at(self._files[name], offset, rows[name])
            self._written[number] = entry
            if time.monotonic() - self._committed >= SECONDS:
                self._commit()

    def take(self, number: int, rows: Array, codes: Codes) -> None:
        """The same with the signals themselves."""
        self.keep(number, codes, self.checksum(rows))

    def _check_total(self, signals: int) -> None:
        if self._about.signals is not None and signals > self._about.signals:
            raise InputError(
                f"out: {self.path} has room for {self._about.signals} signals, got more"
            )

    def _commit(self) -> None:
        """Force rows to the disk, and only then write the records of their blocks."""
        if not self._written:
            return
        for file in self._files.values():
            os.fsync(file.fileno())
        for number, entry in self._written.items():
            write_at(self._records, number * RECORD.itemsize, entry)
        os.fsync(self._records.fileno())
        self._written, self._committed = {}, time.monotonic()
        self._any_finished = True

    def finish(self, signals: int) -> Codes:
        """All blocks are there: say so, and give the codes."""
        if self._about.signals not in (None, signals):
            raise InputError(
                f"out: {self.path} is for {self._about.signals} signals, got {signals}"
            )
        about = replace(self._about, signals=signals, complete=True)
        with self._lock, _writing(self.path):
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
        self._records.truncate(blocks * RECORD.itemsize)
        os.fsync(self._records.fileno())

    def abort(self, error: BaseException) -> None:
        """After an error: keep the finished blocks and say so, or remove what was written."""
        self._close_files()
        if not self._any_finished:
            _try_to_remove(self.path)
        elif self._advice:
            advice = f"{self._advice} {self.path}; continue with resume=True (--resume)"
            if isinstance(error, PursuitError):
                error.args = (f"{error}; {advice}",)
            else:
                error.add_note(advice)

    def close(self) -> None:
        """End the work on the folder, and let others have it."""
        self._close_files()
        self._leave()

    def _close_files(self) -> None:
        """Mark what was finished, as far as the disk allows."""
        try:
            with self._lock:
                self._commit()
        except OSError:
            pass  # the error that led here is on its way; unmarked blocks are done again
        finally:
            self._written = {}
            for file in (*self._files.values(), self._records):
                file.close()

    def _leave(self) -> None:
        """Unlock the folder, and remove the folders that were made for nothing."""
        self._folder_lock.release()
        with suppress(OSError):  # those that are not empty stay
            for folder in self._folders:
                folder.rmdir()


def write_at(file: io.FileIO, offset: int, array: Array) -> None:
    """Write all bytes of an array; the system may take them in several portions."""
    data = array.reshape(-1).view(np.uint8).data
    file.seek(offset)
    while data:
        data = data[file.write(data) or 0 :]


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """One sentence for a full disk, a folder that cannot be written, a file in the way."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise PursuitError(f"{path}: cannot be written ({problem})") from None


# Folders -------------------------------------------------------------------------------------


def _check_folder(folder: Path, resume: bool, overwrite: bool) -> None:
    """Refuse what is not a folder for codes, before anything is created or removed there."""
    check_no_dangling_link(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"out: {folder} is a file, expected a folder")
    if not _is_begun(folder) or is_codes_folder(folder):
        return
    if resume:
        read_about(folder)  # which says what is wrong
    if overwrite:
        raise InputError(
            f"out must be a folder of codes for overwrite=True (--force), got {folder}, which "
            f"holds other files or a damaged {ABOUT}"
        )
    raise InputError(_not_empty(folder))


def _not_empty(folder: Path) -> str:
    return (
        f"out must be a new folder, got {folder}, which is not empty; use resume=True (--resume) "
        "to continue its run, or overwrite=True (--force) to replace its codes"
    )


def _is_begun(folder: Path) -> bool:
    """Whether there is anything in a folder but what a run killed at its very start leaves."""
    return folder.is_dir() and any(
        file.suffix != PART and file.name != LOCK for file in folder.iterdir()
    )


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those it is in; return the new ones, the innermost first."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return new


def _remove_codes(folder: Path) -> None:
    """Remove the files that a run writes, and no others."""
    _remove_parts(folder)
    for name in FILES:
        (folder / name).unlink(missing_ok=True)


def _try_to_remove(folder: Path) -> None:
    """The same after an error, which matters more than one of the disk."""
    with suppress(OSError):
        _remove_codes(folder)


def _remove_parts(folder: Path) -> None:
    for name in FILES:
        for part in folder.glob(f"{name}*{PART}"):
            part.unlink(missing_ok=True)
