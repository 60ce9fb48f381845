"""Atoms and signals as the kernels want them: flat rows, finite, of a comfortable scale.

Scales are divided out as powers of two, or as norms of atoms, and put back into the codes: units
of 1e±20 in float32 lose nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array, float_type, in_rows, plain_array
from pursuit.kernels.layouts import COMFORT, Signals
from pursuit.kernels.pursuit import Atoms, project, sum_squares

LARGEST_POWER = 1023
"""2**1024 is no float64, though numbers next to it are."""
_ROWS = 1024


def real_rows(name: str, value: object) -> Array:
    """`value` as an array of real numbers with at least two dimensions; entries are not read."""
    array = plain_array(name, value)
    if array.ndim < 2:
        raise InputError(
            f"{name}: expected rows, an array of at least 2 dimensions, got shape {array.shape}"
        )
    if array.size == 0:
        raise InputError(f"{name}: expected at least one entry, got shape {array.shape}")
    return array


def common_type(*types: np.dtype[Any]) -> np.dtype[Any]:
    """float32 where everything is float32, else float64."""
    return np.result_type(*map(float_type, types))


def contiguous(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Rows as kernels want them: they are compiled once more, and round in other ways, for
    arrays that may not be written."""
    return np.require(in_rows(rows, dtype), requirements="W")


def prepare_signals(rows: Array, dtype: np.dtype[Any], start: int) -> Signals:
    """Rows of signals; `start` is the number of the first, for messages."""
    x = contiguous(rows, dtype)
    norm2 = np.empty(len(x))
    sum_squares(x, norm2)
    unscale = np.ones(len(x))
    odd = _uncomfortable(norm2, dtype)
    if odd.size:
        _refuse_nonfinite("signals", "signal", x, odd, start)
        x = x.copy() if np.may_share_memory(x, rows) else x
        unscale[odd] = _divide_powers(x, odd)
        sum_squares(x, norm2)
    return Signals(x, norm2, unscale)


def prepare_atoms(
    matrix: Array, dtype: np.dtype[Any], unit_atoms: bool, threads: int, any_scale: bool = False
) -> tuple[Atoms, Array]:
    """Unit rows (or the rows as they are, but for one power of two) and their scales.

    In `any_scale` a method does the same: rows that are as they are may have a power each.
    """
    rows = in_rows(matrix, dtype)
    norm2 = _norms2(rows, threads)
    odd = _uncomfortable(norm2, dtype)
    _refuse_nonfinite("atoms", "atom", rows, odd, 0)
    zero = odd[~rows[odd].any(axis=1)]
    if zero.size:
        raise InputError(f"atoms: atom {zero[0]} is zero; expected atoms with a direction")
    if unit_atoms and _nearly_unit(norm2, dtype):
        return measured(rows, norm2), np.ones(len(rows))
    if not unit_atoms and not odd.size:
        return measured(rows, norm2), np.ones(len(rows))
    rows = rows.copy() if np.may_share_memory(rows, matrix) else rows
    if not unit_atoms:
        scale = _divide_powers(rows, np.arange(len(rows))) if any_scale else _divide_one_power(rows)
        norm2 = _norms2(rows, threads)
        _refuse_short(norm2, dtype)
        return measured(rows, norm2), scale
    scale = _divide_norms(rows, norm2, odd)
    return measured(rows, _norms2(rows, threads)), scale


def measured(rows: Array, norm2: Array) -> Atoms:
    """Rows with what kernels want to know of their norms."""
    norm = np.sqrt(norm2)
    return Atoms(rows, norm2, norm, float(norm.min()))


def equal_to_earlier(atoms: Atoms, signed: bool = False) -> Array:
    """The atoms that are an earlier one, or unless `signed` its negative, bit for bit."""
    order = np.argsort(atoms.norm2, kind="stable")
    again = np.diff(atoms.norm2[order]) == 0
    # Only atoms of equal norm can be equal, and only if a product with some vector is.
    alike = np.sort(order[np.append(again, False) | np.append(False, again)])
    if not alike.size:
        return np.empty(0, np.intp)
    marks = np.empty(len(alike))
    direction: Array = 2 + np.cos(np.arange(atoms.rows.shape[1]))
    project(atoms.rows, alike, direction, marks)
    seen: dict[float, list[int]] = {}
    twins = []
    marks = marks if signed else np.abs(marks)
    same = np.array_equal if signed else _same_line
    for j, mark in zip(alike.tolist(), marks.tolist(), strict=True):
        earlier = seen.setdefault(mark, [])
        if any(same(atoms.rows[i], atoms.rows[j]) for i in earlier):
            twins.append(j)
        else:
            earlier.append(j)
    return np.array(twins, np.intp)


def _same_line(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b) or np.array_equal(a, -b))


def _norms2(rows: Array, threads: int) -> Array:
    norm2 = np.empty(len(rows))

    def job(number: int) -> None:
        here = slice(number * _ROWS, (number + 1) * _ROWS)
        sum_squares(rows[here], norm2[here])

    for_each_block(-(-len(rows) // _ROWS), lambda: job, threads, brief=True)
    return norm2


def _uncomfortable(norm2: Array, dtype: np.dtype[Any]) -> Array:
    low, high = COMFORT[dtype]
    return np.flatnonzero(~((norm2 >= low) & (norm2 <= high)))


def _refuse_nonfinite(name: str, what: str, rows: Array, odd: Array, start: int) -> None:
    for r in odd:
        bad = np.flatnonzero(~np.isfinite(rows[r]))
        if bad.size:
            raise InputError(
                f"{name}: expected finite numbers, got {rows[r, bad[0]]} "
                f"in {what} {start + r}, entry {bad[0]}"
            )


def _refuse_short(norm2: Array, dtype: np.dtype[Any]) -> None:
    """Products of atoms need all their digits, those of the shortest with itself too."""
    limits = np.finfo(dtype)
    short = np.flatnonzero(norm2 < limits.smallest_normal / limits.eps)
    if short.size:
        raise InputError(
            f"atoms: atom {short[0]} is so much shorter than the longest that the square of its "
            f"norm loses digits in {dtype}; expected unit_atoms=True, or atoms of nearer lengths"
        )


def _nearly_unit(norm2: Array, dtype: np.dtype[Any]) -> bool:
    return bool(np.all(np.abs(norm2 - 1) <= 8 * np.finfo(dtype).eps))


def _divide_powers(rows: Array, chosen: Array) -> Array:
    """Divide rows, in place, by the powers of two next to their largest entries."""
    exponent = _powers_next_to(np.abs(rows[chosen]).max(axis=1))
    rows[chosen] = np.ldexp(rows[chosen], -exponent[:, None])
    powers: Array = np.ldexp(1.0, exponent)
    return powers


def _divide_norms(rows: Array, norm2: Array, odd: Array) -> Array:
    """Divide rows, in place, by their norms; what was divided."""
    scale = np.ones(len(rows))
    if odd.size:
        scale[odd] = _divide_powers(rows, odd)
        norm2 = norm2.copy()
        extreme = np.empty(odd.size)
        sum_squares(rows[odd], extreme)
        norm2[odd] = extreme
    # The divisor is rounded to the type of the rows first, so that scale times row gives back
    # the atom to the last digit but one.
    norms = np.sqrt(norm2).astype(rows.dtype)
    rows /= norms[:, None]
    scale *= norms
    return scale


def _divide_one_power(rows: Array) -> Array:
    """Divide all rows, in place, by one power of two; it, for each row."""
    exponent = int(_powers_next_to(np.abs(rows).max()))
    np.ldexp(rows, -exponent, out=rows)
    return np.full(len(rows), np.ldexp(1.0, exponent))


def _powers_next_to(largest: Array) -> Array:
    """Exponents of the powers of two next to numbers; those of the largest numbers exist too."""
    exponents: Array = np.minimum(np.frexp(largest)[1], LARGEST_POWER)
    return exponents
