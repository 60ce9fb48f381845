"""The state of a run as plain arrays and numbers: kept in a file without pickle."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.errors import InputError
from pursuit.validation import Array

FORMAT = 1


@dataclass(frozen=True)
class State:
    """Arrays by name, and numbers and texts that JSON can hold."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all."""
        target = Path(path)
        part = target.with_name(target.name + ".part")
        header = np.frombuffer(json.dumps({"format": FORMAT, **self.numbers}).encode(), np.uint8)
        with open(part, "wb") as file:
            np.savez(file, header=header, **self.arrays)  # type: ignore[arg-type]
        os.replace(part, target)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> State:
        """Read a file that `save` wrote; anything else is an input error."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            numbers = json.loads(arrays.pop("header").tobytes())
        except FileNotFoundError:
            raise InputError(f"resume: there is no file {os.fspath(path)}") from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, AttributeError):
            raise InputError(f"resume: {os.fspath(path)} is not a checkpoint") from None
        if numbers.pop("format", None) != FORMAT:
            raise InputError(f"resume: {os.fspath(path)} is a checkpoint of another version")
        return State(arrays, numbers)


def fingerprint(*parts: object) -> str:
    """A short text that changes when the problem or the method does."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: Any, part: object) -> None:
    if isinstance(part, np.ndarray):
        digest.update(repr((part.shape, part.dtype.str)).encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, (list, tuple)):
        for item in part:
            _feed(digest, item)
    elif hasattr(part, "tocoo"):
        coo = part.tocoo()
        _feed(digest, [coo.shape, coo.data, *coo.coords])
    elif hasattr(part, "__dict__") and not callable(part):
        digest.update(type(part).__qualname__.encode())
        # Cached results are derived from the rest and may or may not be there yet.
        derived = {n for n in vars(type(part)) if _is_cached(type(part), n)}
        for name, value in sorted(vars(part).items()):
            if name not in derived:
                _feed(digest, [name, value])
    else:
        digest.update((getattr(part, "__qualname__", None) or repr(part)).encode())


def _is_cached(cls: type, name: str) -> bool:
    from functools import cached_property

    return isinstance(vars(cls).get(name), cached_property)
