"""The paper's methods on quadratics over a finite set, compiled, many signals at once.

A method arrives as arrays: one curvature bound an atom, the atoms to move along (none: the
oracle picks), the scalars α_t and τ_t. `plain` must equal the step of `momentum.Plain`, and
`accelerated` that of `momentum.FixedNu`, over `advances.Greedy`. Nothing here draws a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pursuit.validation import Array

STRIP = 64
"""Rows this long are searched for their largest entry in strips of so many."""


class Setting(NamedTuple):
    """What all signals of a block share, and the correlations that each of them began with."""

    gram: Array  # G = Z H Zᵀ, (n, n)
    bounds: Array  # h_j: γ = ⟨∇f, z_j⟩ / h_j
    first: Array  # Z∇f(x_0), (signals, n)
    refresh: int  # iterations between two recomputations of the correlations


class Iterates(NamedTuple):
    """One sequence of points for each signal: coefficients and correlations s = Z∇f, by rows."""

    coef: Array
    s: Array
    bits: Array  # the memory of s, seen as integers


class Record(NamedTuple):
    """Where Σ over signals of f(x_t) − f(x_ref) is added up."""

    at: Array  # increasing iteration numbers
    sums: Array
    reference: Iterates


@njit(cache=True, nogil=True)
def plain(setting: Setting, x: Iterates, picks: Array, span: tuple[int, int], out: Record) -> None:
    """Advance every signal from iteration span[0] to span[1]: Algorithms 1, 2, random pursuit."""
    gram, h, refresh = setting.gram, setting.bounds, setting.refresh
    steepest = picks.shape[1] == 0
    for i in range(x.s.shape[0]):
        coef, s, bits = x.coef[i], x.s[i], x.bits[i]
        mark = 0
        for t in range(span[0], span[1]):
            z = _largest(s, bits) if steepest else picks[i, t - span[0]]  # LMO_A(∇f(x_t)), or ~ p
            _move(s[z] / h[z], z, gram, coef, s)  # x_{t+1} = x_t − γ z_t
            if (t + 1) % refresh == 0:
                _recompute(gram, setting.first[i], coef, s)
            if mark < len(out.at) and out.at[mark] == t + 1:
                out.sums[mark] += _value(coef, s, out.reference.coef[i], out.reference.s[i])
                mark += 1


@njit(cache=True, nogil=True)
def accelerated(
    setting: Setting,
    x: Iterates,
    v: Iterates,
    picks: Array,
    probes: Array,
    weights: tuple[Array, Array],
    span: tuple[int, int],
    out: Record,
) -> None:
    """Advance every signal from iteration span[0] to span[1]: Algorithms 3 and 4."""
    gram, h, refresh = setting.gram, setting.bounds, setting.refresh
    alpha, tau = weights
    steepest, own_probe = picks.shape[1] == 0, probes.shape[1] > 0
    for i in range(x.s.shape[0]):
        coef, s, bits = x.coef[i], x.s[i], x.bits[i]
        coef_v, s_v = v.coef[i], v.s[i]
        mark = 0
        for t in range(span[0], span[1]):
            k = t - span[0]
            _blend(tau[k], coef_v, coef)  # y_t = (1 − τ_t) x_t + τ_t v_t, in the place of x_t
            _blend(tau[k], s_v, s)
            z = _largest(s, bits) if steepest else picks[i, k]  # z_t = LMO_A(∇f(y_t)), or z_t ~ p
            u = probes[i, k] if own_probe else z  # z̃_t ~ p
            gamma, step_v = s[z] / h[z], alpha[k] * s[u]
            _move(gamma, z, gram, coef, s)  # x_{t+1} = y_t − γ z_t
            _move(step_v, u, gram, coef_v, s_v)  # v_{t+1} = v_t − α ⟨∇f(y_t), z̃_t⟩ z̃_t
            if (t + 1) % refresh == 0:
                _recompute(gram, setting.first[i], coef, s)
                _recompute(gram, setting.first[i], coef_v, s_v)
            if mark < len(out.at) and out.at[mark] == t + 1:
                out.sums[mark] += _value(coef, s, out.reference.coef[i], out.reference.s[i])
                mark += 1


@njit(cache=True, nogil=True)
def _largest(s: Array, bits: Array) -> int:
    """The first entry of the largest absolute value."""
    if len(s) >= STRIP:
        return _largest_by_strips(bits)
    best, place = abs(s[0]), 0
    for j in range(1, len(s)):
        size = abs(s[j])
        if size > best:
            best, place = size, j
    return place


@njit(cache=True, nogil=True)
def _largest_by_strips(bits: Array) -> int:
    """The same for long rows, from the bits of s: without the sign, they are ordered as \\|s\\|.

    A maximum of integers that carries no index along is compiled to vector instructions; the
    index is then looked for in one strip.
    """
    unsigned = np.iinfo(bits.dtype).max
    best, strip = -1, 0
    for begin in range(0, len(bits), STRIP):
        peak = bits[begin] & unsigned
        for j in range(begin, min(begin + STRIP, len(bits))):
            peak = max(peak, bits[j] & unsigned)
        if peak > best:
            best, strip = peak, begin
    place = strip
    while bits[place] & unsigned != best:
        place += 1
    return place


@njit(cache=True, nogil=True)
def _move(gamma: float, z: int, gram: Array, coef: Array, s: Array) -> None:
    """x ← x − γz: one coefficient, one row of the Gram matrix."""
    coef[z] -= gamma
    for j in range(len(s)):
        s[j] -= gamma * gram[z, j]


@njit(cache=True, nogil=True)
def _blend(tau: float, v: Array, x: Array) -> None:
    """x ← (1 − τ)x + τv."""
    for j in range(len(x)):
        x[j] = (v[j] - x[j]) * tau + x[j]


@njit(cache=True, nogil=True)
def _recompute(gram: Array, first: Array, coef: Array, s: Array) -> None:
    """s = Z∇f(x_0) + G·coef anew, against the drift of rounding."""
    s[:] = first
    for z in range(len(coef)):
        if coef[z] != 0:
            for j in range(len(s)):
                s[j] += coef[z] * gram[z, j]


@njit(cache=True, nogil=True)
def _value(coef: Array, s: Array, coef_ref: Array, s_ref: Array) -> float:
    """f(x) − f(x_ref) = ½ (a − a_ref)·(s + s_ref), summed in float64."""
    twice = 0.0
    for j in range(len(s)):
        twice += (np.float64(coef[j]) - coef_ref[j]) * (np.float64(s[j]) + s_ref[j])
    return 0.5 * twice
