"""The arrays of real numbers in one file, and one sentence for every damaged file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pursuit.base.errors import InputError, PursuitError
from pursuit.base.memory import memory_for
from pursuit.base.paths import named, path_of
from pursuit.base.validation import REAL_KINDS, shown

Array = NDArray[Any]
Shape = tuple[int, ...]


LISTED = 6
"""Arrays of a file that a message names."""
QUOTED = 120
"""Characters of a decoder's words that a message repeats."""


@dataclass(frozen=True)
class ArrayFile:
    """The arrays of real numbers in one file: their shapes, and how to load one by its name."""

    path: Path
    shapes: Mapping[str, Shape]
    read: Callable[[str], Array]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the arrays in memory, where they are known before."""

    def load(self, name: str) -> Array:
        """The array called `name`, in the byte order of this machine."""
        if not isinstance(name, str):
            raise InputError(f"variable: expected the name of an array, got {shown(name)}")
        if name not in self.shapes:
            raise InputError(f"{self.path}: has no array '{name}', but {self.listing()}")
        with reading(self.path, self.sizes.get(name, 0)):
            array = np.asarray(self.read(name))
        if array.dtype.kind not in REAL_KINDS:
            raise InputError(f"{self.path}: expected real numbers in '{name}', got {array.dtype}")
        if array.shape != self.shapes[name]:
            raise InputError(f"{self.path}: the array '{name}' is damaged")
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def listing(self) -> str:
        """The names and shapes, for messages; of many the first ones."""
        listed = [f"{name:.40} ({by(shape)})" for name, shape in self.shapes.items()]
        more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
        return ", ".join(listed[:LISTED]) + more


def existing_file(path: str | os.PathLike[str]) -> Path:
    """`path` as the path of a file that is there."""
    file = path_of("path", path, "the path of a file")
    if not os.path.isfile(file):
        problem = "is a folder, not a file" if os.path.isdir(file) else "there is no such file"
        raise InputError(f"{named(file)}: {problem}")
    return file


def by(shape: Shape) -> str:
    """A shape for people: 162 × 5929."""
    return " × ".join(str(size) for size in shape) or "a number"


@contextmanager
def reading(path: Path, needed: int = 0) -> Iterator[None]:
    """Turn whatever a decoder says about a damaged file into one sentence that names the file.

    A file that needs more bytes of memory than are available is not called damaged.
    """
    try:
        with memory_for(path, needed):
            yield
    except PursuitError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:  # the system's word on the file itself
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        # Decoders raise nearly anything on bytes that they did not expect (zlib.error,
        # struct.error, KeyError, OSError): to the reader of a message all mean the same.
        raise InputError(f"{path}: is damaged or incomplete ({_line(error)})") from None


def _line(error: Exception) -> str:
    """The beginning of what a decoder says, without the addresses of its objects."""
    text = re.sub(r"<?([\w.]+) object at 0x[0-9a-fA-F]+>?", r"\1", str(error))
    return text[:QUOTED].strip() or type(error).__name__


def no_arrays(path: Path) -> ArrayFile:
    """A file in which there is nothing to load."""

    def read(name: str) -> Array:
        raise KeyError(name)

    return ArrayFile(path, {}, read)
