"""The elements of a MATLAB file of version 5 to 7: whether its arrays hold numbers.

A file is a header and a row of elements; one is a tag (type, bytes) and its contents. An array is
an element of elements: flags, sizes, name, real numbers, imaginary ones. SciPy looks a type up in a
table without looking whether the table has it, so that one changed bit of a file can bring the
whole process down.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

HEADER = 128
ORDERS = {b"IM": "<", b"MI": ">"}
"""The last bytes of the header, and the byte order that they stand for; version 4 has none."""
COMPRESSED = 15
NUMERIC = range(6, 16)
"""Classes of arrays of numbers, in the lowest byte of their flags."""
COMPLEX = 0x0800
NUMBERS = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13})
"""Types of elements that hold numbers."""
PIECE = 2**16
"""Bytes read at a time."""

Read = Callable[[int], bytes]


def check_numbers(path: Path) -> None:
    """ValueError if an array of numbers has elements of a type that there is not."""
    with path.open("rb") as stream:
        order = ORDERS.get(stream.read(HEADER)[-2:])
        while order is not None and len(tag := stream.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            end = stream.tell() + size
            if kind == COMPRESSED:
                read = _Inflated(stream, size).read
                read(8)  # the tag of the array itself
                _check_array(read, order)
            else:
                _check_array(stream.read, order)
            stream.seek(end)


def _check_array(read: Read, order: str) -> None:
    flags, *_ = struct.unpack(f"{order}I", _element(read, order)[:4])
    if flags & 0xFF not in NUMERIC:
        return
    for _ in ("sizes", "name"):
        _element(read, order)
    for _ in range(2 if flags & COMPLEX else 1):
        kind, size, inside = _tag(read, order)
        if kind not in NUMBERS:
            raise ValueError(f"there are no numbers of type {kind}")
        if flags & COMPLEX and inside is None:
            _contents(read, size)


def _element(read: Read, order: str) -> bytes:
    """The contents of the next element."""
    _, size, inside = _tag(read, order)
    return _contents(read, size)[:size] if inside is None else inside[:size]


def _tag(read: Read, order: str) -> tuple[int, int, bytes | None]:
    """Type and bytes of the next element, and its contents where they are part of the tag."""
    tag = read(8)
    first, size = struct.unpack(f"{order}II", tag)
    return (first & 0xFFFF, first >> 16, tag[4:]) if first >> 16 else (first, size, None)


def _contents(read: Read, size: int) -> bytes:
    """What comes next, of which no more than the beginning is kept."""
    start, left = b"", -(-size // 8) * 8
    while left and (piece := read(min(left, PIECE))):
        start, left = start or piece, left - len(piece)
    return start


class _Inflated:
    """A compressed element, as far as it is read."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = stream, size
        self._inflate, self._ready = zlib.decompressobj(), b""

    def read(self, size: int) -> bytes:
        while len(self._ready) < size and self._left:
            packed = self._stream.read(min(PIECE, self._left))
            self._left = self._left - len(packed) if packed else 0
            self._ready += self._inflate.decompress(packed)
        found, self._ready = self._ready[:size], self._ready[size:]
        return found
