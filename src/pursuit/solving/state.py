"""The state of a run as plain arrays and numbers: kept in a file without pickle."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array

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
        text = json.dumps({"format": FORMAT, **self.numbers}, default=str)
        header = np.frombuffer(text.encode(), np.uint8)
        with open(part, "wb") as file:
            np.savez(file, header=header, **self.arrays)  # type: ignore[arg-type]
        os.replace(part, target)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> State:
        """Read a file that `save` wrote; anything else is an input error."""
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"resume: expected a result or a path, got {type(path).__name__}")
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            numbers = dict(json.loads(arrays.pop("header").tobytes()))
        except FileNotFoundError:
            raise InputError(f"resume: there is no file {os.fspath(path)}") from None
        # Damage can surface as almost any error of the zip, npy and JSON readers.
        except Exception as error:
            raise InputError(f"resume: {os.fspath(path)} is not a checkpoint") from error
        if numbers.pop("format", None) != FORMAT:
            raise InputError(f"resume: {os.fspath(path)} is a checkpoint of another version")
        return State(arrays, numbers)


def fingerprint(*parts: object) -> str:
    """A short text that changes when one of the parts does."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


class Fingerprint:
    """A fingerprint that is computed when asked for.

    Most runs are never saved, and hashing a large dictionary takes longer than many a run over it.
    """

    def __init__(self, *parts: object) -> None:
        self._parts = parts

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return fingerprint(*self._parts)


def _feed(digest: Any, part: object) -> None:
    """Add one part: its type, its length where it has one, and what it is made of."""
    digest.update(f"{type(part).__qualname__}:".encode())
    if isinstance(part, np.ndarray):
        digest.update(repr((part.shape, part.dtype.str)).encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(getattr(part, "digest", None), bytes):
        digest.update(part.digest)  # type: ignore[attr-defined]
    elif isinstance(part, (list, tuple)):
        digest.update(f"{len(part)};".encode())
        for item in part:
            _feed(digest, item)
    elif isinstance(part, dict):
        _feed(digest, sorted(part.items(), key=lambda item: repr(item[0])))
    elif hasattr(part, "tocoo"):
        coo = part.tocoo()
        _feed(digest, [coo.shape, coo.data, *coo.coords])
    elif hasattr(part, "__dict__") and not callable(part):
        # Cached results are derived from the rest and may or may not be there yet.
        _feed(digest, {n: v for n, v in vars(part).items() if not _is_cached(type(part), n)})
    else:
        digest.update(f"{getattr(part, '__qualname__', None) or repr(part)};".encode())


def _is_cached(cls: type, name: str) -> bool:
    return isinstance(getattr(cls, name, None), cached_property)
