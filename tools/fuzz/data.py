"""Random arrays: atoms, signals and how they lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.case import Case

Array = np.ndarray


def magnitude(case: Case) -> float:
    """Return 1, or any magnitude within the decades of the case."""
    return 1.0 if case.chance(0.5) else 10.0 ** case.rng.uniform(-case.decades, case.decades)


def precision(case: Case) -> str:
    """Return a type of floating-point numbers."""
    return str(case.weighted({"f8": 2, "f4": 1}))


def _low_rank(rng: np.random.Generator, n: int, d: int) -> Array:
    rank = int(rng.integers(1, max(2, min(n, d))))
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))


def _repeated(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))[rng.integers(0, n, n)] * rng.choice([1.0, -1.0, 2.0], (n, 1))


def _nearly_equal(rng: np.random.Generator, n: int, d: int) -> Array:
    spread = 10.0 ** (rng.uniform(-12, -8) if rng.random() < 0.5 else rng.uniform(-8, -1))
    return rng.standard_normal(d) + spread * rng.standard_normal((n, d))


def _orthonormal(rng: np.random.Generator, n: int, d: int) -> Array:
    return np.linalg.qr(rng.standard_normal((max(n, d), max(n, d))))[0][:n, :d]


ROWS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "positive": lambda rng, n, d: rng.random((n, d)) + 0.01,
    "integers": lambda rng, n, d: rng.integers(-2, 3, (n, d)).astype(float),
    "orthonormal": _orthonormal,
    "sparse": lambda rng, n, d: rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4),
    "low rank": _low_rank,
    "repeated": _repeated,
    "nearly equal": _nearly_equal,
    "uneven": lambda rng, n, d: rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, (n, 1)),
}
REGULAR = ("gaussian", "positive")
"""Kinds of rows that are independent as far as their number allows."""


def rows(case: Case, n: int, d: int, dtype: str, *kinds: str) -> Array:
    """Return n rows of d numbers, none of them zero, of one of the kinds (of any by default)."""
    kind = "gaussian" if not kinds and case.chance(0.3) else case.choose(*(kinds or ROWS))
    array = ROWS[kind](case.rng, n, d)
    array[~array.any(axis=1), 0] = 1.0
    case.record(rows=kind)
    return (array * magnitude(case)).astype(dtype)


def signals(case: Case, atoms: Array, m: int, dtype: str) -> Array:
    """Return m signals: combinations of atoms, with or without noise, or independent of them."""
    n, d = atoms.shape
    unit = atoms / np.linalg.norm(atoms.astype(float), axis=1, keepdims=True)
    weights = case.rng.standard_normal((m, n)) * (case.rng.random((m, n)) < min(1, 3 / n))
    noise = case.rng.standard_normal((m, d))
    kind = case.choose("any", "sparse", "noisy", "positive", "integers")
    array = {
        "any": noise,
        "sparse": weights @ unit,
        "noisy": weights @ unit + 1e-3 * noise,
        "positive": np.abs(weights) @ unit,
        "integers": np.rint(2 * noise),
    }[kind]
    if case.chance(0.1):
        array[case.integer(0, m - 1)] = 0.0
    return (array * magnitude(case)).astype(dtype)


def laid_out(case: Case, array: Array) -> Any:
    """Return the same numbers in another memory order, read-only, or as lists."""
    kind = case.weighted({"c": 8, "fortran": 2, "strided": 1, "read-only": 1, "lists": 0.5})
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind == "strided":
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if kind == "read-only":
        array = array.copy()
        array.flags.writeable = False
    if kind == "lists" and array.dtype == np.float64:
        return array.tolist()
    return array


def damage(case: Case, data: bytes) -> bytes:
    """Return the bytes of a file as disks and networks leave them."""
    if not data:
        return b"\0"
    # Headers and checksums are at the ends.
    ends = case.choose(slice(0, 64), slice(-64, None), slice(None), slice(None))
    place = int(case.choose(*range(len(data))[ends]))
    length = case.integer(1, 32)
    kind = case.weighted({"bit": 6, "cut": 2, "zeros": 1, "removed": 1, "added": 1, "empty": 0.3})
    case.record(damage=(kind, place, len(data)))
    rest = data[place + length :]
    flipped = bytes([data[place] ^ (1 << case.integer(0, 7))])
    return {
        "bit": data[:place] + flipped + data[place + 1 :],
        "cut": data[:place],
        "zeros": data[:place] + bytes(len(data[place : place + length])) + rest,
        "removed": data[:place] + rest,
        "added": data + case.rng.bytes(length),
        "empty": b"",
    }[kind]
