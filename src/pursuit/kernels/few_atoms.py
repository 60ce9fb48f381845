"""Matching pursuit over a handful of unit atoms: a signal in each lane of a vector.

A tile of signals is worked through from the first product to the code: everything about it stays
in the nearest cache. In a tile rows are atoms and columns are signals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.layouts import COMFORT, Piece, Signals, aligned
from pursuit.kernels.pursuit import CONVERGED, MAX_ITER, NOTHING, PursuitRules, part, uncounted
from pursuit.kernels.simd import (
    MIDDLING,
    NARROW,
    above,
    counted,
    highest,
    larger,
    middling,
    narrow,
    product,
    size,
    store,
    sweep,
    times,
    total,
)

UNCOMFORTABLE = -2
"""What `abreast` returns where a signal has to be scaled first."""
GROUP = 3
"""Atoms that two signals are multiplied by at a time: their sums fit in the registers."""


class Few(NamedTuple):
    """The atoms: rows (n, d), the same cut into whole vectors (see `cut`), G = Z Zᵀ, which of
    them are twice there (their correlations are kept at zero), what was divided out of them, the
    largest number of their type, the least and the largest squared norm of a signal of a
    comfortable scale, and a tuple of as many entries as a tile has rows."""

    rows: Array
    cut: Array
    gram: Array
    twins: Array
    scale: Array
    largest: float
    comfort: tuple[float, float]
    places: tuple[int, ...]


def few_of(rows: Array, gram: Array, twins: Array, scale: Array) -> Few:
    """A kernel is compiled for each number of rows of a tile, so only even ones are used."""
    n = len(rows)
    even = n + n % 2
    padded = np.zeros((even, even), rows.dtype)
    padded[:n, :n] = gram[:, :n]
    limits = float(np.finfo(rows.dtype).max), COMFORT[rows.dtype]
    return Few(rows, cut(rows), padded.reshape(-1), twins, scale, *limits, (0,) * even)


class Tile(NamedTuple):
    """Scratch for one tile: (n, lanes) first correlations, present ones, coefficients, and those
    in the user's scale; (lanes) slopes that count as zero, steps, ‖residual‖², the largest
    coefficient in the user's scale."""

    first: Array
    c: Array
    value: Array
    scaled: Array
    zero: Array
    steps: Array
    left2: Array
    peak: Array


def tile_for(few: Few) -> Tile:
    """Scratch for the tiles of some atoms."""
    dtype, lanes = few.rows.dtype, MIDDLING // few.rows.itemsize
    every, double = len(few.places) * lanes, np.dtype(np.float64)
    kinds = (every, dtype), (every, dtype), (every, dtype), (every, double)
    ends = (lanes, dtype), (lanes, dtype), (lanes, double), (lanes, double)
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
def abreast(
    few: Few, rules: PursuitRules, signals: Signals, tile: Tile, out: Piece
) -> tuple[int, int]:
    """`methods.matching_pursuit` on ½‖x − signal‖² for every signal of a block.

    Returns the number of coefficients, and the first signal whose coefficients leave the range
    of their type, or NOTHING, or UNCOMFORTABLE if a signal has to be scaled first. The norms of
    the signals are found on the way.
    """
    lanes, every = tile.zero.size, signals.norm2.size
    at, bad = 0, NOTHING
    for start in range(0, every, lanes):
        count = min(lanes, every - start)
        if rules.halt[0]:
            break
        _correlate(few, signals.x, start, tile.first)
        if not _measure(few.comfort, signals, start, count):
            return 0, UNCOMFORTABLE
        for k in range(tile.first.size):
            tile.c[k] = tile.first[k]
            tile.value[k] = 0
        for lane in range(lanes):
            tile.steps[lane] = 0
            here = start + min(lane, count - 1)
            tile.zero[lane] = rules.rounding * np.sqrt(signals.norm2[here])
        _pursue(few, rules.max_iter, tile)
        _rescale(few, signals, tile, start, count)
        at, odd = _emit(few, rules, signals, tile, start, count, at, out)
        if bad == NOTHING:
            bad = odd
    return at, bad


@part
def _correlate(few: Few, x: Array, start: int, c: Array) -> None:
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
    for t in few.twins:
        for lane in range(lanes):
            c[t * lanes + lane] = 0


@part
def _measure(comfort: tuple[float, float], signals: Signals, start: int, count: int) -> bool:
    """‖x‖² of a tile of signals; False if one is neither zero nor of a comfortable scale."""
    low, high = comfort
    fine = True
    for r in range(start, start + count):
        row, norm2 = signals.x[r], 0.0
        for i in range(row.size):
            norm2 += np.float64(row[i]) * np.float64(row[i])
        signals.norm2[r] = norm2
        if not (norm2 >= low and norm2 <= high):
            for i in range(row.size):
                fine &= row[i] == 0
    return fine


@part
def _pursue(few: Few, max_iter: int, tile: Tile) -> None:
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
def _rescale(few: Few, signals: Signals, tile: Tile, start: int, count: int) -> None:
    """Coefficients in the user's scale, and ‖residual‖² = ‖x‖² − Σ value_j (c⁰_j + c_j)."""
    lanes = tile.zero.size
    for lane in range(count):
        tile.left2[lane] = signals.norm2[start + lane]
        tile.peak[lane] = 0.0
    for j in range(few.rows.shape[0]):
        row, scale = j * lanes, few.scale[j]
        for lane in range(count):
            a = np.float64(tile.value[row + lane])
            both = np.float64(tile.first[row + lane]) + np.float64(tile.c[row + lane])
            tile.left2[lane] -= a * both
            a = a * signals.unscale[start + lane] / scale
            tile.scaled[row + lane] = a
            tile.peak[lane] = max(tile.peak[lane], abs(a))


@part
def _emit(
    few: Few,
    rules: PursuitRules,
    signals: Signals,
    tile: Tile,
    start: int,
    count: int,
    at: int,
    out: Piece,
) -> Any:
    """The codes of a tile after `at` others; how many there are then, and a signal out of range."""
    n, lanes, bad = few.rows.shape[0], tile.zero.size, NOTHING
    for lane in range(count):
        r, before = start + lane, at
        for j in range(n):
            a = tile.scaled[j * lanes + lane]
            out.indices[at], out.values[at] = j, a
            at += 1 if a != 0 else 0
        left2, steps = tile.left2[lane], np.int64(tile.steps[lane])
        status = CONVERGED if steps < rules.max_iter else MAX_ITER
        if left2 <= rules.trust * signals.norm2[r]:
            left2 = _rest2(few.rows, signals.x[r], tile.value, lane, lanes)
            if left2 <= tile.zero[lane] * np.float64(tile.zero[lane]):
                status = CONVERGED
        out.sizes[r], out.iterations[r], out.statuses[r] = at - before, steps, status
        out.residual_norms[r] = np.sqrt(max(left2, 0.0)) * signals.unscale[r]
        peak = tile.peak[lane]
        odd = peak > few.largest or (steps > 0 and peak * few.largest < 1)
        if bad == NOTHING and odd:
            bad = r
    return at, bad


@part
def _rest2(rows: Array, x: Array, value: Array, lane: int, lanes: int) -> float:
    """‖x − Σ value_j z_j‖² of the signal in a lane, from its definition."""
    rest2 = 0.0
    for i in range(x.size):
        rest = x[i]
        for j in range(rows.shape[0]):
            rest -= value[j * lanes + lane] * rows[j, i]
        rest2 += np.float64(rest) * np.float64(rest)
    return rest2
