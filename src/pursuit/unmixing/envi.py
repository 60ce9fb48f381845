"""ENVI scenes: a text header beside a file of raw numbers.

Read with NumPy alone: the binary part is raw numbers whose count must agree with the header to
the byte, and they keep their type. The usual readers of this format, `spectral` and `rasterio`,
give other numbers without a word where a header is wrong or a file too short
(`python benchmarks/envi.py` shows it).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.memory import check_memory
from pursuit.base.validation import shown
from pursuit.files import OPENERS
from pursuit.files.arrays import Array, reading

INTEGERS = {"1": "u1", "2": "i2", "3": "i4", "12": "u2", "13": "u4", "14": "i8", "15": "u8"}
TYPES = INTEGERS | {"4": "f4", "5": "f8"}
BYTE_ORDERS = {"0": "<", "1": ">"}
AXES = {"bsq": "bands rows columns", "bil": "rows bands columns", "bip": "rows columns bands"}
SIZES = {"rows": "lines", "columns": "samples", "bands": "bands"}
BINARY_SUFFIXES = ("", ".img", ".dat", ".raw", ".bin", ".bsq", ".bil", ".bip", ".hyspex", ".sli")


@dataclass(frozen=True)
class EnviHeader:
    """The fields of a header: lower-case names, texts as written, braces removed."""

    path: Path
    fields: dict[str, str]

    def text(self, name: str) -> str:
        """A field that must be there."""
        if name not in self.fields:
            raise InputError(f"{self.path}: the header has no field '{name}'")
        return self.fields[name]

    def integer(self, name: str, minimum: int) -> int:
        """A field that must be a whole number of at least `minimum`."""
        text = self.text(name)
        # No file has more bytes than 18 digits say, and Python refuses to convert some thousands.
        if not re.fullmatch(r"\d{1,18}", text) or int(text) < minimum:
            raise InputError(
                f"{self.path}: '{name}' must be a whole number of at least {minimum} and at most "
                f"18 digits, got {shown(text)}"
            )
        return int(text)

    def choice(self, name: str, choices: dict[str, str]) -> str:
        """What a field that must be one of the keys of `choices` stands for."""
        text = self.text(name).lower()
        if text not in choices:
            expected = ", ".join(choices)
            raise InputError(
                f"{self.path}: expected '{name}' to be one of {expected}, got {text!r}"
            )
        return choices[text]

    def numbers(self, name: str, of: str = "bands") -> Array | None:
        """A list with one number per band, or None where the header has none."""
        if name not in self.fields:
            return None
        words = [word for word in re.split(r"[,\s]+", self.fields[name]) if word]
        if not words:
            return None
        try:
            values = np.array(words, dtype=np.float64)
        except ValueError:
            raise InputError(f"{self.path}: expected numbers in the list '{name}'") from None
        bands = self.integer(of, 1)
        if len(values) != bands:
            raise InputError(
                f"{self.path}: expected one number for each of {bands} bands in the list "
                f"'{name}', got {len(values)}"
            )
        return values

    def number(self, name: str) -> float | None:
        """A number, or None where the header has none."""
        if name not in self.fields:
            return None
        try:
            return float(self.fields[name])
        except ValueError:
            raise InputError(
                f"{self.path}: expected '{name}' to be a number, got {self.fields[name]!r}"
            ) from None


class EnviFile(NamedTuple):
    """The numbers, the names of their axes in order, the header, and the file of the numbers."""

    values: Array
    layout: str
    header: EnviHeader
    path: Path


def read_envi(path: Path) -> EnviFile:
    """A scene of three axes.

    `path` is the header or the file of raw numbers; the other is looked for beside it.
    """
    header, binary = _both_files(path)
    _refuse_what_is_not_a_plain_scene(header)
    layout = header.choice("interleave", AXES)
    shape = tuple(header.integer(SIZES[axis], 1) for axis in layout.split())
    return EnviFile(_raw_numbers(binary, header, shape), layout, header, binary)


def read_envi_library(path: Path) -> EnviFile:
    """A spectral library: one spectrum per row."""
    header, binary = _both_files(path)
    if "spectral library" not in header.fields.get("file type", "").lower():
        raise InputError(f"{header.path}: is a scene, not a spectral library")
    shape = (header.integer("lines", 1), header.integer("samples", 1))
    return EnviFile(_raw_numbers(binary, header, shape), "spectra bands", header, binary)


def _both_files(path: Path) -> tuple[EnviHeader, Path]:
    if path.suffix.lower() == ".hdr":
        return read_header(path), _binary_beside(path)
    return read_header(_header_beside(path)), path


def read_header(path: Path) -> EnviHeader:
    """The fields of the header at `path`."""
    with reading(path):
        check_memory(path, path.stat().st_size)
        raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # units such as µm, written by older programs
    first, *rest = text.splitlines() or [""]
    if first.strip() != "ENVI":
        raise InputError(f"{path}: is not an ENVI header, its first line is not 'ENVI'")
    body = "\n".join(line for line in rest if not line.lstrip().startswith(";"))
    fields = {}
    for name, listed, plain in re.findall(r"(?m)^([^=\n{}]+)=[ \t]*(?:\{([^}]*)\}|(.*)$)", body):
        if plain.lstrip().startswith("{"):
            raise InputError(f"{path}: the list '{name.strip()}' has no closing brace")
        fields[" ".join(name.split()).lower()] = (listed or plain).strip()
    return EnviHeader(path, fields)


def _refuse_what_is_not_a_plain_scene(header: EnviHeader) -> None:
    if "spectral library" in header.fields.get("file type", "").lower():
        raise InputError(f"{header.path}: is a spectral library, not a scene")
    if header.fields.get("file compression", "0") != "0":
        raise InputError(f"{header.path}: compressed ENVI files are not read")
    for name in ("major frame offsets", "minor frame offsets"):
        if re.search("[1-9]", header.fields.get(name, "")):
            raise InputError(f"{header.path}: ENVI files with {name} are not read")


def _raw_numbers(path: Path, header: EnviHeader, shape: tuple[int, ...]) -> Array:
    dtype = np.dtype(header.choice("byte order", BYTE_ORDERS) + header.choice("data type", TYPES))
    offset = header.integer("header offset", 0) if "header offset" in header.fields else 0
    count = math.prod(shape)
    with reading(path):
        expected, found = offset + count * dtype.itemsize, path.stat().st_size
        if expected != found:
            raise InputError(f"{path}: expected {expected} bytes by its header, got {found}")
        check_memory(path, count * dtype.itemsize)
        values = np.fromfile(path, dtype, count, offset=offset)
        return values.reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _header_beside(path: Path) -> Path:
    found = _named(path.parent, [path.name + ".hdr", path.stem + ".hdr"])
    if not found:
        raise InputError(
            f"{path}: expected a {', '.join(OPENERS)} or .tif file, or an ENVI header beside it"
        )
    return found[0]


def _binary_beside(header: Path) -> Path:
    found = _named(header.parent, [header.stem + suffix for suffix in BINARY_SUFFIXES])
    if not found:
        raise InputError(f"{header}: the file of raw numbers beside this header is missing")
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise InputError(f"{header}: belongs to any of {names}; pass the path of the one you mean")
    return found[0]


def _named(folder: Path, names: list[str]) -> list[Path]:
    """The files of the folder with one of the names, in upper or lower case, in their order."""
    order = [name.lower() for name in names]
    with reading(folder):
        found = [file for file in folder.iterdir() if file.name.lower() in order]
    return sorted(filter(Path.is_file, found), key=lambda file: order.index(file.name.lower()))
