"""Iterations of Algorithms 1 to 4 on a quadratic over a finite set, compiled.

They equal those of `momentum.Plain` and `momentum.FixedNu` over `advances.Greedy` with points in
Gram form, up to rounding. Nothing here draws a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.roots import next_weight
from pursuit.base.validation import Array
from pursuit.kernels.compiling import strict, strict_part

STRIP = 64
"""Rows are searched for their largest entry in strips of so many."""
PRODUCTS, ATOM, GAMMA, CORRELATION, BETA, LOG = range(6)
"""Places in the log of some iterations: the work done, the last step, and β; and their number."""
NOTHING = -1
EPS = float(np.finfo(np.float64).eps)
_next_weight = strict_part(next_weight)


class IterationRules(NamedTuple):
    """What does not change between iterations.

    Attributes
    ----------
    gram, known
        G = Z H Zᵀ, and which of its rows have been computed.
    bounds
        h_j: γ = ⟨∇f, z_j⟩ / h_j.
    work
        The products of an iteration.
    L, nu
        Of Algorithms 3 and 4.
    """

    gram: Array
    known: Array
    bounds: Array
    work: float
    L: float
    nu: float


class Ends(NamedTuple):
    """Where iterations pause, since a stopping criterion might be met.

    Attributes
    ----------
    dual_norm, atoms, value
        A dual norm of the gradient, a number of atoms (0: none), a value of f (−inf: none).
    first
        Z∇f at the initial point. Values are counted from there.
    """

    dual_norm: float
    atoms: int
    value: float
    first: Array


class IteratedPoint(NamedTuple):
    """Coefficients, correlations s = Z∇f, and the memory of s seen as integers."""

    coef: Array
    s: Array
    bits: Array


@strict
def plain(
    rules: IterationRules, ends: Ends, x: IteratedPoint, picks: Array, most: int, log: Array
) -> tuple[int, int]:
    """Up to `most` iterations of Algorithm 1, 2 or random pursuit (`picks`: its atoms).

    The compiled twin of `momentum.Plain` over `advances.Greedy`, as `runs.plain` is for signals.

    Returns how many were made, and the atom whose Gram row is missing or NOTHING.
    """
    steepest = picks.size == 0
    for t in range(most):
        z = largest(x.bits) if steepest else picks[t]  # line 3: z_t = LMO_A(∇f(x_t)), or z_t ~ p
        if not rules.known[z]:
            return t, z
        c = np.float64(x.s[z])
        _move(rules.gram, c / rules.bounds[z], z, x)  # line 4: x_{t+1} = x_t − γ z_t
        _write(rules, z, c, log)
        if _may_end(ends, x, log, steepest):
            return t + 1, NOTHING
    return most, NOTHING


@strict
def accelerated(
    rules: IterationRules,
    ends: Ends,
    x: IteratedPoint,
    y: IteratedPoint,
    v: IteratedPoint,
    draws: tuple[Array, Array],
    most: int,
    log: Array,
) -> tuple[int, int]:
    """The same for Algorithms 3 and 4. After an odd number of iterations x is in y.

    The compiled twin of `momentum.FixedNu` over `advances.Greedy`, as `runs.accelerated` is for
    signals.
    """
    picks, probes = draws
    steepest, own_probe = picks.size == 0, probes.size > 0
    for t in range(most):
        beta = log[BETA]
        alpha = _next_weight(beta, rules.L, rules.nu)  # line 3: α²Lν = β_t + α
        beta += alpha  # line 4
        _blend(alpha / beta, x, v, y)  # lines 5, 6: y_t = (1 − τ_t) x_t + τ_t v_t
        z = largest(y.bits) if steepest else picks[t]  # line 7: z_t = LMO_A(∇f(y_t)), or z_t ~ p
        u = probes[t] if own_probe else z  # Algorithm 4, line 9: z̃_t ~ p
        if not rules.known[z]:
            return t, z
        if not rules.known[u]:
            return t, u
        c, along = np.float64(y.s[z]), np.float64(y.s[u])
        _move(rules.gram, c / rules.bounds[z], z, y)  # line 8: x_{t+1} = y_t − γ z_t
        _move(rules.gram, alpha * along, u, v)  # last line: v_{t+1} = v_t − α ⟨∇f(y_t), z̃_t⟩ z̃_t
        log[BETA] = beta
        _write(rules, z, c, log)
        x, y = y, x
        if _may_end(ends, x, log, steepest):
            return t + 1, NOTHING
    return most, NOTHING


@strict_part
def largest(bits: Array) -> int:
    """The first entry of the largest absolute value, from the bits of the row.

    Without the sign they are ordered as the numbers are. A maximum of integers that carries no
    index along is compiled to vector instructions; the index is then looked for in one strip.
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


@strict_part
def _move(gram: Array, gamma: float, z: int, x: IteratedPoint) -> None:
    """x ← x − γz: one coefficient, one row of the Gram matrix."""
    step = x.s.dtype.type(gamma)
    x.coef[z] -= step
    for j in range(len(x.s)):
        x.s[j] -= step * gram[z, j]


@strict_part
def _blend(tau: float, x: IteratedPoint, v: IteratedPoint, y: IteratedPoint) -> None:
    """y = (1 − τ)x + τv."""
    share = x.s.dtype.type(tau)
    for j in range(len(x.s)):
        y.coef[j] = (v.coef[j] - x.coef[j]) * share + x.coef[j]
        y.s[j] = (v.s[j] - x.s[j]) * share + x.s[j]


@strict_part
def _write(rules: IterationRules, z: int, c: float, log: Array) -> None:
    log[ATOM], log[GAMMA], log[CORRELATION] = z, c / rules.bounds[z], c
    log[PRODUCTS] += rules.work


@strict_part
def _may_end(ends: Ends, x: IteratedPoint, log: Array, steepest: bool) -> bool:
    """Return whether a stopping criterion might be met; the run itself decides."""
    if steepest and (not abs(log[CORRELATION]) > ends.dual_norm or log[GAMMA] == 0):
        return True
    if ends.atoms > 0:
        used = 0
        for a in x.coef:
            used += a != 0
        if used >= ends.atoms:
            return True
    if ends.value == -np.inf:
        return False
    value, rounding = _value(ends.first, x)
    return not value - rounding > ends.value


@strict_part
def _value(first: Array, x: IteratedPoint) -> tuple[float, float]:
    """Return f(x) − f(x_0) = ½ a·(s_0 + s), and how much of it may be the rounding of a sum."""
    twice = size = 0.0
    for j in range(len(x.s)):
        term = np.float64(x.coef[j]) * (np.float64(first[j]) + x.s[j])
        twice += term
        size += abs(term)
    return 0.5 * twice, 2 * len(x.s) * EPS * size
