"""Checks made once, at the door: each names the argument, what came and what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pursuit.base.errors import InputError

Array = NDArray[Any]


def real_array(name: str, value: object, *, ndim: int | None = None, minimum: int = 1) -> Array:
    """`value` as a finite floating-point array; float32 stays float32, integers become float64."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name}: expected an array of real numbers, got {error}") from None
    if np.ma.is_masked(value):
        raise InputError(f"{name}: expected a value everywhere, got a masked array")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name}: expected real numbers, got an array of type {array.dtype}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if ndim is not None and array.ndim != ndim:
        raise InputError(f"{name}: expected {ndim} dimension(s), got shape {array.shape}")
    if array.ndim < minimum:
        raise InputError(
            f"{name}: expected at least {minimum} dimension(s), got shape {array.shape}"
        )
    if array.size == 0:
        raise InputError(f"{name}: expected at least one entry, got shape {array.shape}")
    if not np.isfinite(array).all():
        where = np.unravel_index(int(np.argmax(~np.isfinite(array))), array.shape)
        place = tuple(int(i) for i in where)
        raise InputError(f"{name}: expected finite numbers, got {array[where]} at {place}")
    return array


def shaped_array(name: str, value: object, shape: tuple[int, ...]) -> Array:
    """`value` as a finite floating-point array of the given shape."""
    array = real_array(name, value)
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero."""
    result = number(name, value)
    if not (np.isfinite(result) and result > 0):
        raise InputError(f"{name}: expected a positive number, got {value!r}")
    return result


def non_negative(name: str, value: object) -> float:
    """`value` as a finite float of at least zero."""
    result = number(name, value)
    if not (np.isfinite(result) and result >= 0):
        raise InputError(f"{name}: expected a number of at least 0, got {value!r}")
    return result


def count(name: str, value: object, minimum: int = 0) -> int:
    """`value` as an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise InputError(f"{name}: expected an integer of at least {minimum}, got {value!r}")
    return int(value)


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`."""
    if value not in choices:
        raise InputError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
    return str(value)


def number(name: str, value: object) -> float:
    """`value` as a float; not a text, not an array, not nan."""
    if isinstance(value, (bool, str)) or not np.isscalar(value):
        raise InputError(f"{name}: expected a number, got {value!r}")
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected a number, got {value!r}") from None
    if np.isnan(result):
        raise InputError(f"{name}: expected a number, got nan")
    return result
