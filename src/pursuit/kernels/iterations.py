"""Iterations of Algorithms 1 to 4 on a quadratic over a finite set, compiled.

Bit for bit the iterations of `momentum.Plain` and `momentum.FixedNu` over `advances.Greedy` with
points in Gram form: every sum is in the order and the precision that it has there. Nothing here
draws a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.roots import next_weight
from pursuit.base.validation import Array
from pursuit.kernels.compiling import strict, strict_part

STRIP = 64
"""Rows are searched for their largest entry in strips of so many."""
PRODUCTS, ATOM, GAMMA, CORRELATION, BETA, BEST, WATCHED = range(7)
"""Places in the notes of a stretch: the work done, the last step, β, the lowest value that a watch
has seen, counted from the start, and how many watches there were."""
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
        What is added to the products of an iteration, one after another.
    L, nu
        Of Algorithms 3 and 4.
    """

    gram: Array
    known: Array
    bounds: Array
    work: Array
    L: float
    nu: float


class Ends(NamedTuple):
    """Where a stretch has to stop, since a test of the run might be met.

    Attributes
    ----------
    slope, atoms, value
        A slope, a number of atoms (0: none), a value of f (−inf: none).
    watch
        Iterations between two looks at whether the value runs away.
    high
        It does when it is above `high` less the lowest one.
    first
        Z∇f at the start. Values are counted from there.
    """

    slope: float
    atoms: int
    value: float
    watch: int
    high: float
    first: Array


class IteratedPoint(NamedTuple):
    """Coefficients, correlations s = Z∇f, and the memory of s seen as integers."""

    coef: Array
    s: Array
    bits: Array


@strict
def plain(
    rules: IterationRules,
    ends: Ends,
    x: IteratedPoint,
    picks: Array,
    span: tuple[int, int],
    notes: Array,
) -> tuple[int, int]:
    """Iterations span[0] up to span[1] of Algorithm 1, 2 or random pursuit (`picks`: its atoms).

    The compiled twin of `momentum.Plain` over `advances.Greedy`, as `runs.plain` is for signals.

    Returns how many were made, and the atom whose Gram row is missing or NOTHING.
    """
    steepest = picks.size == 0
    for t in range(span[1] - span[0]):
        z = largest(x.bits) if steepest else picks[t]  # line 3: z_t = LMO_A(∇f(x_t)), or z_t ~ p
        if not rules.known[z]:
            return t, z
        c = np.float64(x.s[z])
        _move(rules.gram, c / rules.bounds[z], z, x)  # line 4: x_{t+1} = x_t − γ z_t
        _note(rules, z, c, notes)
        if _may_end(ends, x, span[0] + t + 1, notes, steepest):
            return t + 1, NOTHING
    return span[1] - span[0], NOTHING


@strict
def accelerated(
    rules: IterationRules,
    ends: Ends,
    x: IteratedPoint,
    y: IteratedPoint,
    v: IteratedPoint,
    draws: tuple[Array, Array],
    span: tuple[int, int],
    notes: Array,
) -> tuple[int, int]:
    """The same for Algorithms 3 and 4. After an odd number of iterations x is in y.

    The compiled twin of `momentum.FixedNu` over `advances.Greedy`, as `runs.accelerated` is for
    signals: there a value may differ in its last bit, here it may not.
    """
    picks, probes = draws
    steepest, own_probe = picks.size == 0, probes.size > 0
    for t in range(span[1] - span[0]):
        beta = notes[BETA]
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
        notes[BETA] = beta
        _note(rules, z, c, notes)
        x, y = y, x
        if _may_end(ends, x, span[0] + t + 1, notes, steepest):
            return t + 1, NOTHING
    return span[1] - span[0], NOTHING


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
def _note(rules: IterationRules, z: int, c: float, notes: Array) -> None:
    notes[ATOM], notes[GAMMA], notes[CORRELATION] = z, c / rules.bounds[z], c
    for share in rules.work:
        notes[PRODUCTS] += share


@strict_part
def _may_end(ends: Ends, x: IteratedPoint, t: int, notes: Array, steepest: bool) -> bool:
    """Whether a test of the run might be met after iteration t; the run itself decides."""
    if steepest and (not abs(notes[CORRELATION]) > ends.slope or notes[GAMMA] == 0):
        return True
    if ends.atoms > 0:
        used = 0
        for a in x.coef:
            used += a != 0
        if used >= ends.atoms:
            return True
    watched = t % ends.watch == 0
    if not watched and ends.value == -np.inf:
        return False
    value, doubt = _value(ends.first, x)
    if not value - doubt > ends.value:
        return True
    if watched:
        if not value + doubt <= ends.high - notes[BEST]:
            return True
        notes[BEST] = min(notes[BEST], value)
        notes[WATCHED] += 1
    return False


@strict_part
def _value(first: Array, x: IteratedPoint) -> tuple[float, float]:
    """f(x) − f(x_0) = ½ a·(s_0 + s), and how much of it may be the rounding of a sum."""
    twice = size = 0.0
    for j in range(len(x.s)):
        term = np.float64(x.coef[j]) * (np.float64(first[j]) + x.s[j])
        twice += term
        size += abs(term)
    return 0.5 * twice, 2 * len(x.s) * EPS * size
