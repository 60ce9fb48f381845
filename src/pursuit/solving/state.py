"""The state of a run as plain arrays and numbers: kept in a file without pickle."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.base.archive import ArchiveKind, load_archive, save_archive
from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import Array

CHECKPOINT = ArchiveKind("resume", "a checkpoint", "pursuit checkpoint", format=3)


@dataclass(frozen=True)
class State:
    """Arrays by name, and numbers and texts that JSON can hold."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all."""
        save_archive(path, CHECKPOINT, self.numbers, self.arrays)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> State:
        """Read a file that `save` wrote; anything else, or one bit changed, is an input error."""
        stored = load_archive(path_of("resume", path, "a result or a path"), CHECKPOINT)
        return State(stored.arrays, stored.about)

    @staticmethod
    def of(source: Any) -> State:
        """The state of a result, of itself, or of a file."""
        state = getattr(source, "state", source)
        return state if isinstance(state, State) else State.load(state)


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


def check_outlet(checkpoint: object) -> None:
    """Whether a state can be saved there, before any work is done."""
    if checkpoint is None:
        return
    path = path_of("checkpoint", checkpoint)
    if not os.path.isdir(path.absolute().parent):
        raise InputError(f"checkpoint: there is no directory for {path}")
    if os.path.isdir(path):
        raise InputError(f"checkpoint: {path} is a folder, expected the name of a file")
