"""What a run stores to be continued: arrays and numbers, kept in a file without pickle."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pursuit.base.archive import ArchiveKind, load_archive, save_archive
from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import Array

CHECKPOINT = ArchiveKind("resume", "a checkpoint", "pursuit checkpoint", format=3)

Owners = dict[str, dict[str, Any]]
"""Arrays and numbers by name, of each owner by its name."""
PathEntries = dict[int, tuple[float, Array, Array]]
"""By the number of atoms: seconds, and the places and the values of nonzero coefficients."""


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
        """Return the state of a result, of itself, or of a file."""
        state = getattr(source, "state", source)
        return state if isinstance(state, State) else State.load(state)


class StateCopy(NamedTuple):
    """A copy of what changes in a run, and the lengths of what only grows: `rows` and `atoms` are
    the numbers of records and of atoms of an infinite set."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]
    rows: int
    atoms: int
    path: PathEntries | None


def join(owners: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the entries of all owners in one dict, as "owner.name"."""
    return {f"{owner}.{k}": v for owner, values in owners.items() for k, v in values.items()}


def split(entries: Mapping[str, Any]) -> Owners:
    """Return the entries of each owner from those that `join` put into one dict."""
    owners: Owners = {}
    for key, value in entries.items():
        owner, _, name = key.rpartition(".")
        owners.setdefault(owner, {})[name] = value
    return owners


def without_arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is no array."""
    return {k: v for k, v in values.items() if not isinstance(v, np.ndarray)}


def pack_path(entries: PathEntries) -> dict[str, Array]:
    """Return a path as a few arrays."""
    seconds, places, weights = zip(*entries.values(), strict=True)
    return {
        "sizes": np.array(list(entries)),
        "seconds": np.array(seconds),
        "counts": np.array([len(p) for p in places]),
        "places": np.concatenate(places),
        "weights": np.concatenate(weights),
    }


def unpack_path(arrays: dict[str, Array]) -> PathEntries:
    """Return the path of some arrays."""
    ends = np.cumsum(arrays["counts"])[:-1]
    places, weights = np.split(arrays["places"], ends), np.split(arrays["weights"], ends)
    columns = (arrays["seconds"].tolist(), places, weights)
    return dict(zip(arrays["sizes"].tolist(), zip(*columns, strict=True), strict=True))


def check_outlet(checkpoint: object) -> None:
    """Raise InputError where a state could not be saved, before any work is done."""
    if checkpoint is None:
        return
    path = path_of("checkpoint", checkpoint)
    if not os.path.isdir(path.absolute().parent):
        raise InputError(f"checkpoint: there is no directory for {path}")
    if os.path.isdir(path):
        raise InputError(f"checkpoint: {path} is a folder, expected the name of a file")


# Fingerprints ---------------------------------------------------------------------------------


def fingerprint(*parts: object) -> str:
    """Return a short text that changes when one of the parts does."""
    digest = hashlib.blake2b(digest_size=16)
    _feed_all(digest, parts)
    return digest.hexdigest()


class Fingerprint:
    """A fingerprint that is computed when it is needed.

    Most runs are never saved, and hashing a large dictionary takes longer than many a run over it.
    """

    def __init__(self, *parts: object) -> None:
        self._parts = parts

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return fingerprint(*self._parts)


def _feed_all(digest: Any, parts: Iterable[object]) -> None:
    for part in parts:
        _feed(digest, part)


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
        _feed_all(digest, part)
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
