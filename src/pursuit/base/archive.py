"""Files that are written whole or not at all, and archives in which a changed bit is found.

An archive is a .npz file, which NumPy reads by itself: arrays, and a text of JSON that says what
they are. Its last bytes are a digest of all the others.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np

from pursuit.base.errors import InputError, PursuitError
from pursuit.base.memory import memory_for
from pursuit.base.paths import path_of
from pursuit.base.validation import Array

PART = ".part"
"""How the names of files end that are not whole yet."""
HEADER = "header"
"""The array that holds the text."""
MARK = b"blake2b:"
SEAL = len(MARK) + 32
"""Bytes of the mark and of the digest in hexadecimal, at the very end of an archive."""
CHUNK = 2**20


# Whole or not at all -------------------------------------------------------------------------


def writable_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """`path` if a file can be put there: a question to ask before hours of work."""
    target = path_of(name, path)
    if os.path.isdir(target):
        raise InputError(f"{target}: is a folder, expected the name of a file")
    check_no_dangling_link(target)
    if not os.path.isdir(target.parent):
        raise InputError(f"{target}: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target}: the folder {target.parent} cannot be written to")
    return target


def check_no_dangling_link(target: Path) -> None:
    """Refuse a symbolic link to nothing: writing would replace the link, not fill its target."""
    if os.path.lexists(target) and not os.path.exists(target):
        raise InputError(
            f"{target}: is a symbolic link to {os.readlink(target)}, which does not exist; remove "
            "the link or name another file"
        )


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; when all went well it becomes `path`, otherwise it is gone."""
    target = writable_path(path)
    try:
        with replacement(target) as part:
            yield part
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error})") from None


@contextmanager
def replacement(target: Path) -> Iterator[Path]:
    """The same, for those who have their own word on what the system says."""
    part = target.with_name(f"{target.name}.{os.getpid()}{PART}")
    try:
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())  # the name must not reach the disk before the bytes
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


# Archives ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArchiveKind:
    """A kind of archive.

    Attributes
    ----------
    argument, noun
        What messages call the path that is wrong, and the file that was expected there.
    key
        What the text of the archive is filed under.
    format
        The version that is written and read.
    """

    argument: str
    noun: str
    key: str
    format: int


@dataclass(frozen=True)
class Archive:
    """What an archive holds: arrays by name, and what JSON can hold."""

    arrays: dict[str, Array]
    about: dict[str, Any]


def save_archive(
    path: str | os.PathLike[str],
    kind: ArchiveKind,
    about: Mapping[str, Any],
    arrays: Mapping[str, Array],
) -> None:
    """Write an archive, whole or not at all; no pickle is involved."""
    text = json.dumps({kind.key: {"format": kind.format, **about}}, default=str)
    header = np.frombuffer(text.encode(), np.uint8)
    with whole_file(path) as part:
        with part.open("wb") as file:
            np.savez(file, **{HEADER: header}, **arrays)  # type: ignore[arg-type]
        with zipfile.ZipFile(part, "a") as archive:
            archive.comment = bytes(SEAL)  # room at the very end
        with part.open("r+b") as file:
            seal = _seal(file)
            file.seek(-SEAL, os.SEEK_END)
            file.write(seal)


def load_archive(path: str | os.PathLike[str], kind: ArchiveKind) -> Archive:
    """Read what `save_archive` wrote; anything else, or one bit changed, is an input error."""
    file = str(path_of(kind.argument, path))
    if not os.path.exists(file):
        raise InputError(f"{kind.argument}: there is no file {file}")
    try:
        is_intact = _is_intact(file)
        archive = _read(file, kind) if is_intact else None
        version = archive.about.pop("format") if archive else None
    except PursuitError:
        raise
    # Damage can surface as almost any error of the zip, npy and JSON readers.
    except Exception as error:
        raise InputError(f"{kind.argument}: {file} is not {kind.noun}, or is damaged") from error
    if archive is None:
        raise InputError(
            f"{kind.argument}: {file} is not {kind.noun}, or is damaged: its checksum is not that "
            "of its bytes"
        )
    if version != kind.format:
        raise InputError(f"{kind.argument}: {file} is {kind.noun} of another version ({version!r})")
    return archive


def _read(file: str, kind: ArchiveKind) -> Archive:
    with zipfile.ZipFile(file) as members:
        needed = sum(member.file_size for member in members.infolist())
    with (
        memory_for(f"{kind.argument}: {file}", needed),
        open(file, "rb") as stream,
        np.load(stream, allow_pickle=False) as stored,
    ):
        arrays = {name: stored[name] for name in stored.files}
    text = json.loads(arrays.pop(HEADER).tobytes())
    return Archive(arrays, dict(text[kind.key]))


def _seal(file: IO[bytes]) -> bytes:
    """The mark and the digest of all but the last bytes of a file."""
    digest = blake2b(digest_size=16)
    left = file.seek(0, os.SEEK_END) - SEAL
    file.seek(0)
    while left > 0 and (chunk := file.read(min(left, CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    return MARK + digest.hexdigest().encode()


def _is_intact(path: str) -> bool:
    """Return whether a file ends with the digest of its other bytes."""
    with open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) < SEAL:
            return False
        file.seek(-SEAL, os.SEEK_END)
        return file.read(SEAL) == _seal(file)
