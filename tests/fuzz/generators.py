"""Numbers, matrices and options to feed the library with: tame ones, odd ones, impossible ones.

What makes a case odd is written into ``case.odd``; a case with nothing odd in it must not be
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fuzz.case import Case

Array = np.ndarray

REACH = {np.dtype(np.float32): 36.0, np.dtype(np.float64): 304.0}
"""Powers of ten at the ends of a precision's range."""


def magnitude(case: Case, dtype: Any) -> float:
    """A power of ten: mostly one, sometimes moderate, sometimes at the end of the range."""
    kind = case.weighted({"one": 8, "moderate": 3, "far": 1, "extreme": 1})
    if kind == "one":
        return 1.0
    if kind == "moderate":
        return 10.0 ** case.rng.uniform(-3, 3)
    reach = REACH.get(np.dtype(dtype), 4.0)
    far = 0.45 * reach if kind == "far" else reach
    exponent = float(case.rng.uniform(-far, far))
    case.odd.append(f"magnitude 1e{exponent:.0f}")
    return 10.0**exponent


def real_type(case: Case) -> np.dtype[Any]:
    """A type of array; float64 and float32 most of the time."""
    common = {"f8": 12, "f4": 6}
    rare = {"i8": 1, "i2": 0.5, "u1": 0.5, "?": 0.3, "f2": 0.3, ">f8": 0.3, "longdouble": 0.3}
    return np.dtype(case.weighted(common | rare))


def precision(*arrays: Any) -> np.dtype[Any]:
    """float32 where everything is float32, else float64: what the library computes in."""
    single = all(np.asarray(array).dtype == np.float32 for array in arrays)
    return np.dtype(np.float32 if single else np.float64)


def cast(case: Case, array: Array, dtype: Any) -> Array:
    """The array in a type; integers get some room, and what leaves the range is odd."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        array = np.rint(np.clip(20 * array, np.iinfo(dtype).min / 2, np.iinfo(dtype).max / 2))
    if dtype.kind == "b":
        array = array > 0
    made = array.astype(dtype)
    if not np.isfinite(made.astype(np.float64)).all():
        case.odd.append(f"not finite as {dtype}")
    if dtype.kind in "iub" or dtype.itemsize == 2:
        case.odd.append(f"type {dtype}")  # rounding may make rows equal or zero
    return made


def laid_out(case: Case, array: Array) -> Any:
    """The same numbers in another place: order, strides, a read-only array, lists."""
    kind = case.weighted({"c": 10, "f": 2, "steps": 1, "backwards": 1, "locked": 1, "lists": 0.5})
    if kind == "f":
        return np.asfortranarray(array)
    if kind == "steps":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if kind == "backwards":
        return np.ascontiguousarray(array[::-1])[::-1]
    if kind == "locked":
        locked = array.copy()
        locked.flags.writeable = False
        return locked
    if kind == "lists" and array.dtype == np.float64:
        return array.tolist()
    return array


# Rows of numbers ---------------------------------------------------------------------------


def _low_rank(rng: np.random.Generator, n: int, d: int) -> Array:
    r = int(rng.integers(1, max(2, min(n, d))))
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d))


def _clustered(rng: np.random.Generator, n: int, d: int) -> Array:
    spread = 10.0 ** rng.uniform(-12, -1)
    return rng.standard_normal(d) + spread * rng.standard_normal((n, d))


def _repeated(rng: np.random.Generator, n: int, d: int) -> Array:
    rows = rng.standard_normal((n, d))
    signs = rng.choice([1.0, 1.0, -1.0, 2.0], (n, 1))
    return rows[rng.integers(0, n, n)] * signs


def _integers(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.integers(-2, 3, (n, d)).astype(float)


def _uneven(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-8, 8, (n, 1))


def _graded(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-8, 0, d)


def _orthonormal(rng: np.random.Generator, n: int, d: int) -> Array:
    size = max(n, d)
    return np.linalg.qr(rng.standard_normal((size, size)))[0][:n, :d]


def _sparse(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)


ROWS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "positive": lambda rng, n, d: rng.random((n, d)) + 0.01,
    "integers": _integers,
    "orthonormal": _orthonormal,
    "sparse": _sparse,
    "low rank": _low_rank,
    "repeated": _repeated,
    "clustered": _clustered,
    "uneven": _uneven,
    "graded": _graded,
}
TAME = ("gaussian", "positive")
"""Kinds of rows that are independent as far as they can be, and of one scale."""


def rows(case: Case, n: int, d: int, dtype: Any, *, spoil: float = 0.03) -> Array:
    """n rows of d numbers, none of them zero unless they are spoilt."""
    kind = "gaussian" if case.chance(0.35) else case.pick(*ROWS)
    made = ROWS[kind](case.rng, n, d)
    empty = ~made.any(axis=1)
    made[empty, 0] = 1.0
    if kind not in TAME:
        case.odd.append(f"{kind} rows")
    made = made * magnitude(case, dtype)
    if case.chance(spoil):
        made = spoilt(case, made)
    return cast(case, made, dtype)


def spoilt(case: Case, array: Array) -> Array:
    """An array with something in it that nobody can compute with, or with a row of zeros."""
    array = array.copy()
    value = case.pick(np.nan, np.inf, -np.inf, 0.0, 1e-320, 5e-324, 1e308)
    where = int(case.rng.integers(len(array)))
    if value == 0 or case.chance(0.2):
        array[where] = value
    else:
        array[where].flat[int(case.rng.integers(array[where].size))] = value
    case.odd.append(f"{value} in row {where}")
    return array


def near(case: Case, atoms: Array, m: int, dtype: Any) -> Array:
    """m signals that have something to do with the atoms, or nothing."""
    atoms = np.nan_to_num(atoms.astype(np.float64), posinf=1.0, neginf=1.0)
    n, d = atoms.shape
    norms = np.linalg.norm(atoms / max(np.abs(atoms).max(), 1e-300), axis=1)
    unit = atoms / max(np.abs(atoms).max(), 1e-300) / np.where(norms > 0, norms, 1)[:, None]
    kinds = {
        "any": lambda: case.rng.standard_normal((m, d)),
        "few": lambda: _few(case, m, n) @ unit,
        "one": lambda: unit[case.rng.integers(0, n, m)] * case.rng.choice([-3.0, 1.0, 0.5], (m, 1)),
        "noisy": lambda: _few(case, m, n) @ unit + 1e-3 * case.rng.standard_normal((m, d)),
        "positive": lambda: np.abs(_few(case, m, n)) @ unit,
        "integers": lambda: case.rng.integers(-3, 4, (m, d)).astype(float),
    }
    made = kinds[case.pick(*kinds)]()
    if case.chance(0.15):
        made[case.rng.integers(len(made))] = 0.0
    if case.chance(0.1):
        made *= 10.0 ** case.rng.uniform(-6, 6, (m, 1))
    made = made * magnitude(case, dtype)
    if case.chance(0.02):
        made = spoilt(case, made)
    return cast(case, made, dtype)


def _few(case: Case, m: int, n: int) -> Array:
    return case.rng.standard_normal((m, n)) * (case.rng.random((m, n)) < min(1, 3 / n))


# Options -----------------------------------------------------------------------------------

ENDLESS = 2**70
"""A number that no counter of 64 bits holds; of steps, more than anyone waits for."""
JUNK: tuple[Any, ...] = (
    float("nan"),
    float("inf"),
    -float("inf"),
    -1,
    0,
    -0.5,
    0.5,
    1.0,
    ENDLESS,
    10**400,
    True,
    "3",
    "",
    "nonsense",
    b"3",
    None,
    [],
    [1],
    (1, 2),
    {},
    1j,
    Fraction(1, 3),
    np.float32(0.5),
    np.int64(2),
    np.array(2),
    np.array(0.5),
    np.array([1.0, 2.0]),
    np.array([[1, 2], [3, 4]]),
    np.datetime64("2020-01-01"),
    np.ma.masked,
    len,
)
"""What people pass by mistake; some of it is a number after all."""


def junked(case: Case, options: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The options with one of the names set to junk, now and then."""
    if not case.chance(0.06):
        return options
    name, value = case.pick(*names), case.pick(*JUNK)
    if name == "max_iter" and isinstance(value, int) and value >= ENDLESS:
        return options
    case.odd.append(f"{name}={value!r}")
    return options | {name: value}
