"""Matching pursuit over a handful of unit atoms: a signal in each lane of a vector.

A tile of signals is worked through from the first product to the code: everything about it stays
in the nearest cache. In a tile rows are atoms and columns are signals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.layouts import aligned
from pursuit.kernels.pursuit import CONVERGED, MAX_ITER, PursuitRules, part, uncounted
from pursuit.kernels.simd import (
    MIDDLING,
    NARROW,
    above,
    counted,
    highest,
    larger,
    middling,
    minus,
    narrow,
    product,
    size,
    store,
    sweep,
    times,
    total,
)

GROUP = 3
"""Atoms that two signals are multiplied by at a time: their sums fit in the registers."""


class FewAtoms(NamedTuple):
    """The atoms: rows (n, d), the same cut into whole vectors (see `cut`), G = Z Zᵀ, which of
    them repeat an earlier one (their correlations are kept at zero), what was divided out of them,
    and a tuple of as many entries as a tile has rows."""

    rows: Array
    cut: Array
    gram: Array
    duplicates: Array
    scale: Array
    places: tuple[int, ...]


def few_atoms(rows: Array, gram: Array, duplicates: Array, scale: Array) -> FewAtoms:
    """A kernel is compiled for each number of rows of a tile, so only even ones are used."""
    n = len(rows)
    even = n + n % 2
    padded = np.zeros((even, even), rows.dtype)
    padded[:n, :n] = gram[:, :n]
    return FewAtoms(rows, cut(rows), padded.reshape(-1), duplicates, scale, (0,) * even)


class FewCodes(NamedTuple):
    """The codes of some signals, one after another: arrays that the kernel fills."""

    sizes: Array
    indices: Array
    values: Array
    residual_norms: Array
    iterations: Array
    statuses: Array


class Tile(NamedTuple):
    """Scratch for one tile: (n, lanes) first correlations, present ones, coefficients of the unit
    atoms; (lanes) correlations that count as zero, steps, ‖residual‖²."""

    first: Array
    c: Array
    value: Array
    zero: Array
    steps: Array
    left2: Array


def tile_for(few: FewAtoms) -> Tile:
    """Scratch for the tiles of some atoms."""
    dtype, lanes = few.rows.dtype, MIDDLING // few.rows.itemsize
    every, double = len(few.places) * lanes, np.dtype(np.float64)
    kinds = (every, dtype), (every, dtype), (every, dtype)
    ends = (lanes, dtype), (lanes, dtype), (lanes, double)
    return Tile(*(aligned((size,), kind) for size, kind in (*kinds, *ends)))


def cut(rows: Array) -> Array:
    """Rows as whole vectors, a multiple of `GROUP` of them.

    A row of d numbers is read as vectors from its begin and a last one that ends with it. Where
    that one overlaps the one before, it has zeros here.
    """
    n, d = rows.shape
    lanes = NARROW // rows.itemsize
    whole = d - d % lanes
    pieces = np.zeros((-(-n // GROUP) * GROUP, -(-d // lanes) * lanes), rows.dtype)
    pieces[:n, :whole] = rows[:, :whole]
    if whole < d:
        pieces[:n, whole - d :] = rows[:, whole:]
    return pieces


@uncounted
def matching_pursuit(
    few: FewAtoms, rules: PursuitRules, x: Array, norm2: Array, tile: Tile, out: FewCodes
) -> int:
    """`methods.matching_pursuit` on ½‖x − signal‖² for every signal of a block.

    Returns the number of coefficients. The squared norms of the signals are found on the way.
    """
    lanes, every, at = tile.zero.size, norm2.size, 0
    for start in range(0, every, lanes):
        count = min(lanes, every - start)
        if rules.interrupt_flag[0]:
            break
        _correlate(few, x, start, tile.first)
        _measure(x, norm2, start, count)
        for k in range(tile.first.size):
            tile.c[k] = tile.first[k]
            tile.value[k] = 0
        for lane in range(lanes):
            tile.steps[lane] = 0
            tile.zero[lane] = rules.zero * np.sqrt(norm2[start + min(lane, count - 1)])
        _pursue(few, rules.max_iter, tile)
        _subtract_fits(few, norm2, tile, start, count)
        at = _emit(few, rules, x, norm2, tile, start, count, at, out)
    return at


@part
def _correlate(few: FewAtoms, x: Array, start: int, c: Array) -> None:
    """c (n, lanes): the products of a tile of signals with the atoms, two signals at a time."""
    n, d = few.rows.shape
    lanes, step = MIDDLING // x.itemsize, NARROW // x.itemsize
    last = x.shape[0] - 1
    flat, cut_rows, length = x.reshape(-1), few.cut.reshape(-1), few.cut.shape[1]
    for lane in range(0, lanes, 2):
        p, q = min(start + lane, last) * d, min(start + lane + 1, last) * d
        for j in range(0, n, GROUP):
            a0 = a1 = a2 = b0 = b1 = b2 = times(x.dtype.type(0), narrow(cut_rows, 0))
            for k in range(0, length, step):
                i = min(k, d - step)
                u, v = narrow(flat, p + i), narrow(flat, q + i)
                z = narrow(cut_rows, j * length + k)
                a0, b0 = product(a0, u, z), product(b0, v, z)
                z = narrow(cut_rows, (j + 1) * length + k)
                a1, b1 = product(a1, u, z), product(b1, v, z)
                z = narrow(cut_rows, (j + 2) * length + k)
                a2, b2 = product(a2, u, z), product(b2, v, z)
            c[j * lanes + lane], c[j * lanes + lane + 1] = total(a0), total(b0)
            if j + 1 < n:
                c[(j + 1) * lanes + lane], c[(j + 1) * lanes + lane + 1] = total(a1), total(b1)
            if j + 2 < n:
                c[(j + 2) * lanes + lane], c[(j + 2) * lanes + lane + 1] = total(a2), total(b2)
    for t in few.duplicates:
        for lane in range(lanes):
            c[t * lanes + lane] = 0


@part
def _measure(x: Array, norms2: Array, start: int, count: int) -> None:
    """‖x‖² of a tile of signals."""
    for r in range(start, start + count):
        row, norm2 = x[r], 0.0
        for i in range(row.size):
            norm2 += np.float64(row[i]) * np.float64(row[i])
        norms2[r] = norm2


@part
def _pursue(few: FewAtoms, max_iter: int, tile: Tile) -> None:
    """x_{t+1} = x_t − γ z_t with z_t = LMO(∇f(x_t)) in every lane, until none has a slope left."""
    lanes = tile.zero.size
    zero, steps = middling(tile.zero, 0), middling(tile.steps, 0)
    best = size(middling(tile.c, 0))
    for j in range(1, len(few.places)):
        best = larger(best, size(middling(tile.c, j * lanes)))
    for _ in range(max_iter):
        top = above(best, zero)
        if highest(top) < 0:
            break
        steps = counted(steps, top)
        best = sweep(few.places, tile.c, tile.value, few.gram, top)
    store(tile.steps, 0, steps)


@part
def _subtract_fits(few: FewAtoms, norm2: Array, tile: Tile, start: int, count: int) -> None:
    """‖residual‖² = ‖x‖² − Σ value_j (c⁰_j + c_j): the definition, multiplied out.

    In place of the first correlations, which nothing asks for any more, come the coefficients of
    the atoms as given.
    """
    lanes = tile.zero.size
    for lane in range(count):
        tile.left2[lane] = norm2[start + lane]
    for j in range(few.rows.shape[0]):
        row, scale = j * lanes, few.scale[j]
        for lane in range(count):
            a = np.float64(tile.value[row + lane])
            both = np.float64(tile.first[row + lane]) + np.float64(tile.c[row + lane])
            tile.left2[lane] -= a * both
            tile.first[row + lane] = a / scale


@part
def _emit(
    few: FewAtoms,
    rules: PursuitRules,
    x: Array,
    norm2: Array,
    tile: Tile,
    start: int,
    count: int,
    at: int,
    out: FewCodes,
) -> Any:
    """The codes of a tile after `at` others; how many coefficients there are then."""
    n, lanes = few.rows.shape[0], tile.zero.size
    for lane in range(count):
        r, before = start + lane, at
        for j in range(n):
            a = tile.first[j * lanes + lane]
            out.indices[at], out.values[at] = j, a
            at += 1 if a != 0 else 0
        left2, steps = tile.left2[lane], np.int64(tile.steps[lane])
        status = CONVERGED if steps < rules.max_iter else MAX_ITER
        if left2 <= rules.cancelled * norm2[r]:  # the difference has lost digits
            left2 = _rest2(few.rows, x[r], norm2[r], tile.value, lane, lanes)
            if left2 <= tile.zero[lane] * np.float64(tile.zero[lane]):
                status = CONVERGED
        out.sizes[r], out.iterations[r], out.statuses[r] = at - before, steps, status
        out.residual_norms[r] = np.sqrt(max(left2, 0.0))
    return at


@part
def _rest2(rows: Array, x: Array, norm2: float, value: Array, lane: int, lanes: int) -> float:
    """‖x − Σ value_j z_j‖² of the signal in a lane, from its definition."""
    if norm2 == 0:
        return 0.0
    flat, d, step = rows.reshape(-1), x.size, NARROW // x.itemsize
    inverse = x.dtype.type(1 / np.sqrt(norm2))  # squares of what is left then are in any range
    squares = times(x.dtype.type(0), narrow(x, 0))
    for s in range(0, d - d % step, step):
        v = narrow(x, s)
        for j in range(rows.shape[0]):
            v = minus(v, value[j * lanes + lane], narrow(flat, j * d + s))
        v = times(inverse, v)
        squares = product(squares, v, v)
    rest2 = np.float64(total(squares))
    for i in range(d - d % step, d):
        rest = x[i]
        for j in range(rows.shape[0]):
            rest -= value[j * lanes + lane] * rows[j, i]
        rest2 += np.float64(inverse * rest) * np.float64(inverse * rest)
    return rest2 * norm2
