"""Books in files: .npz, and .csv for other programs, both with a checksum."""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import Any

import numpy as np

from pursuit.atoms.gabor import LONGEST
from pursuit.base.archive import ArchiveKind, load_archive, save_archive, whole_file
from pursuit.base.errors import InputError, PursuitError
from pursuit.base.memory import memory_for
from pursuit.base.paths import named, path_of
from pursuit.base.validation import REAL_KINDS, Array, count, positive
from pursuit.decomposing.book import COLUMNS, WHOLE, Book, facts

BOOK = ArchiveKind("book", "a book", "pursuit book", format=1)
ENDINGS = (".npz", ".csv")
FACTS = "# pursuit book "
"""How the first line of a .csv file begins; what is no column follows, as JSON."""
CHECKSUM = "checksum"
"""The last of these: of all the others, and of the lines that follow."""


def ending(name: str, path: str | os.PathLike[str]) -> str:
    """How a path ends, if books can be kept in such a file."""
    file = path_of(name, path)
    suffix = file.suffix.lower()
    if suffix not in ENDINGS:
        raise InputError(f"{name}: expected a file that ends in .npz or .csv, got {named(file)}")
    return suffix


def save(book: Book, path: str | os.PathLike[str]) -> None:
    """Write a book, whole or not at all."""
    if ending("book", path) == ".npz":
        columns = {name: getattr(book, name) for name in COLUMNS}
        save_archive(path, BOOK, facts(book), columns)
        return
    columns_ = (getattr(book, name).tolist() for name in COLUMNS)
    rows = [",".join(map(repr, row)) for row in zip(*columns_, strict=True)]
    lines = [",".join(COLUMNS), *rows]
    with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in [_first_line(facts(book), lines), *lines])


def load(path: str | os.PathLike[str]) -> Book:
    """Read a book; what does not fit together is an input error."""
    if ending("book", path) == ".npz":
        stored = load_archive(path, BOOK)
        return _checked(os.fspath(path), stored.arrays, stored.about)
    if not os.path.exists(path):
        raise InputError(f"book: there is no file {os.fspath(path)}")
    about, lines = _opened(os.fspath(path))
    try:
        cells = [line.split(",") for line in lines[1:]]
        table = np.array(cells, np.float64).reshape(-1, len(COLUMNS))
    except ValueError as error:
        raise InputError(f"book: {os.fspath(path)} is not a book ({error})") from None
    return _checked(os.fspath(path), dict(zip(COLUMNS, table.T, strict=True)), about)


def _opened(path: str) -> tuple[dict[str, Any], list[str]]:
    """What a .csv file says of a book, and its other lines, which its checksum is of."""
    try:
        needed = 2 * os.path.getsize(path)  # as a whole and in lines
        with memory_for(f"book: {path}", needed), open(path, encoding="utf-8") as file:
            first, *lines = file.read().splitlines() or [""]
        about = json.loads(first.removeprefix(FACTS)) if first.startswith(FACTS) else {}
    except PursuitError:
        raise
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"book: {path} is not a book ({error})") from None
    if not isinstance(about, dict) or CHECKSUM not in about or lines[:1] != [",".join(COLUMNS)]:
        raise InputError(f"book: {path} is not a book that `save` wrote, or is damaged")
    del about[CHECKSUM]
    if first != _first_line(about, lines):
        raise InputError(f"book: {path} is damaged, its checksum is that of other lines")
    return about, lines


def _first_line(about: dict[str, Any], lines: list[str]) -> str:
    """What is no column, with a checksum of that and of the other lines."""
    body = "\n".join([json.dumps(about), *lines])
    checksum = blake2b(body.encode(), digest_size=16).hexdigest()
    return FACTS + json.dumps({**about, CHECKSUM: checksum})


def _checked(path: str, columns: dict[str, Array], about: dict[str, Any]) -> Book:
    try:
        listed = {name: _column(name, columns[name]) for name in COLUMNS}
        channels, reached = about["channels"], tuple(float(v) for v in about["reached"])
        book = Book(
            **listed,
            rate=positive("rate", about["rate"]),
            length=count("length", about["length"], minimum=1),
            channels=None if channels is None else count("channels", channels, minimum=1),
            reached=reached,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"book: {path} is not a book ({error})") from None
    if len({len(column) for column in listed.values()}) > 1 or not _fits(book):
        raise InputError(f"book: {path} is damaged, its columns do not fit together")
    return book


def _column(name: str, values: Array) -> Array:
    if values.ndim != 1 or values.dtype.kind not in REAL_KINDS:
        raise ValueError(f"{name} is no column of real numbers")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not a number everywhere")
    if name in WHOLE and not ((values == np.rint(values)) & (np.abs(values) < 2**53)).all():
        raise ValueError(f"{name} is not a whole number everywhere")
    column: Array = values.astype(np.int64 if name in WHOLE else np.float64)
    return column


def _fits(book: Book) -> bool:
    within = (book.channel >= 0) & (book.channel < (book.channels or 1))
    within &= (book.scale > 0) & (book.scale <= LONGEST)
    # Atoms meet the signal, or nearly: anything else has no place among its samples.
    within &= np.abs(book.time) <= (book.length + LONGEST) / book.rate
    return bool(within.all())
