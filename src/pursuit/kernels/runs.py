"""The paper's methods on quadratics over a finite set, compiled, many signals at once.

A method arrives as arrays: one curvature bound an atom, the atoms to move along (none: the
oracle picks), the scalars α_t and τ_t. `plain` must equal the step of `momentum.Plain`, and
`accelerated` that of `momentum.FixedNu`, over `advances.Greedy`. Nothing here draws a number.

A point is its coefficients and an array s that every step along atom j changes by a multiple of
row j of a matrix. Where s are the correlations Z∇f, that is the Gram matrix; where s is the
gradient of ½‖x − signal‖², the atoms themselves, and the oracle has nothing to look at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.compiling import strict, strict_part
from pursuit.kernels.iterations import STRIP, largest
from pursuit.kernels.pursuit import (
    CONVERGED,
    DIVERGED,
    GOING,
    Atoms,
    Block,
    Outcome,
    PursuitRules,
    part,
    residual2,
    verdict,
)

Span = tuple[int, int]
"""Iterations from the first number up to, not including, the second."""
LOOK = 64
"""All slopes are looked at once in so many iterations, or in as many as there are atoms."""


class Setting(NamedTuple):
    """What all signals of a block share, and the s that each of them began with."""

    rows: Array  # what a step along an atom takes off s: G = Z H Zᵀ, (n, n), or Z, (n, d)
    bounds: Array  # h_j: γ = ⟨∇f, z_j⟩ / h_j
    first: Array  # s at x_0: Z∇f(x_0), (signals, n), or ∇f(x_0), (signals, d)
    refresh: int  # iterations between two recomputations of s


class Iterates(NamedTuple):
    """One sequence of points for each signal: coefficients and s, by rows."""

    coef: Array
    s: Array
    bits: Array  # the memory of s, seen as integers


class Record(NamedTuple):
    """Where Σ over signals of f(x_t) − f(x_ref) is added up."""

    at: Array  # increasing iteration numbers
    sums: Array
    reference: Iterates


class Watch(NamedTuple):
    """When each signal is left, for f(x) = ½‖x − signal‖² from zero."""

    atoms: Atoms
    rules: PursuitRules
    block: Block
    found: Outcome
    sure: Array  # ‖residual‖² where it was last computed from its definition
    rest: Array  # room for a residual
    correlated: bool  # whether s are the correlations, and not the gradient


class Marks(NamedTuple):
    """Where a signal is to be looked at again."""

    goal2: float  # a ‖residual‖² that may be small enough
    doubt: float  # how far from the truth the one that is kept may be
    most: int  # distinct atoms
    look: int  # iterations: the last, or those at which all slopes are looked at
    zero: float  # a largest slope that is nothing but rounding


@strict
def plain(
    setting: Setting, x: Iterates, picks: Array, span: Span, out: Record, watch: Watch | None
) -> None:
    """Advance every signal from iteration span[0] to span[1]: Algorithms 1, 2, random pursuit.

    With a watch, only those that are not finished, each until it is.
    """
    rows, h, refresh = setting.rows, setting.bounds, setting.refresh
    correlated = True if watch is None else watch.correlated
    steepest = picks.shape[1] == 0
    for i in range(x.s.shape[0]):
        coef, s, bits = x.coef[i], x.s[i], x.bits[i]
        mark = 0
        if watch is not None:
            if left(watch, i, setting, s, span[0]):
                continue
            marks = marks_of(watch, i, span[0], len(h))
            used, left2 = np.int64(watch.found.size[i]), watch.found.residual2[i]
        for t in range(span[0], span[1]):
            z = _largest(s, bits) if steepest else picks[i, t - span[0]]  # line 3
            c, before = _slope(correlated, rows, s, z), coef[z]
            gamma = c / h[z]
            _move(gamma, z, rows, coef, s)  # line 4: x_{t+1} = x_t − γ z_t
            if (t + 1) % refresh == 0:
                _recompute(rows, setting.first[i], coef, s)
            if mark < len(out.at) and out.at[mark] == t + 1:
                out.sums[mark] += _value(coef, s, out.reference.coef[i], out.reference.s[i])
                mark += 1
            if watch is not None:
                used += (coef[z] != 0) - (before != 0)
                left2 -= gamma * (2 * c - gamma * watch.atoms.norm2[z])
                seen = abs(c) if steepest else np.inf
                if due(marks, left2 - marks.doubt, used, t + 1, seen):
                    watch.found.size[i], watch.found.residual2[i] = used, left2
                    if ends(watch, i, setting, coef, s, t + 1, left2 - marks.doubt):
                        break
                    marks, left2 = marks_of(watch, i, t + 1, len(h)), watch.found.residual2[i]
        if watch is not None and watch.found.status[i] == GOING:
            watch.found.size[i], watch.found.residual2[i] = used, left2


@strict
def accelerated(
    setting: Setting,
    x: Iterates,
    v: Iterates,
    picks: Array,
    probes: Array,
    weights: tuple[Array, Array],
    span: Span,
    out: Record,
    watch: Watch | None,
) -> None:
    """Advance every signal from iteration span[0] to span[1]: Algorithms 3 and 4.

    With a watch, only those that are not finished, each until it is.
    """
    rows, h, refresh = setting.rows, setting.bounds, setting.refresh
    correlated = True if watch is None else watch.correlated
    alpha, tau = weights
    steepest, own_probe = picks.shape[1] == 0, probes.shape[1] > 0
    for i in range(x.s.shape[0]):
        coef, s, bits = x.coef[i], x.s[i], x.bits[i]
        coef_v, s_v = v.coef[i], v.s[i]
        mark = 0
        if watch is not None:
            if left(watch, i, setting, s, span[0]):
                continue
            marks = marks_of(watch, i, span[0], len(h))
        for t in range(span[0], span[1]):
            k = t - span[0]
            _blend(tau[k], coef_v, coef)  # line 6: y_t = (1 − τ_t) x_t + τ_t v_t, over x_t
            _blend(tau[k], s_v, s)
            z = _largest(s, bits) if steepest else picks[i, k]  # line 7: LMO_A(∇f(y_t)), or ~ p
            u = probes[i, k] if own_probe else z  # Algorithm 4, line 9: z̃_t ~ p
            c = _slope(correlated, rows, s, z)
            step_v = alpha[k] * (_slope(correlated, rows, s, u) if own_probe else c)
            _move(c / h[z], z, rows, coef, s)  # line 8: x_{t+1} = y_t − γ z_t
            _move(step_v, u, rows, coef_v, s_v)  # last line: v_{t+1} = v_t − α ⟨∇f(y_t), z̃_t⟩ z̃_t
            if (t + 1) % refresh == 0:
                _recompute(rows, setting.first[i], coef, s)
                _recompute(rows, setting.first[i], coef_v, s_v)
            if mark < len(out.at) and out.at[mark] == t + 1:
                out.sums[mark] += _value(coef, s, out.reference.coef[i], out.reference.s[i])
                mark += 1
            if watch is not None:
                at_least = lowest(watch, i, setting, coef, s) if marks.goal2 >= 0 else np.inf
                seen = abs(c) if steepest else np.inf
                if due(marks, at_least, 0, t + 1, seen):
                    if ends(watch, i, setting, coef, s, t + 1, at_least):
                        break
                    marks = marks_of(watch, i, t + 1, len(h))


# One step -----------------------------------------------------------------------------------


@strict_part
def _slope(correlated: bool, rows: Array, s: Array, z: int) -> float:
    """⟨∇f, z⟩."""
    return s[z] if correlated else inner(rows[z], s)


@part
def inner(row: Array, s: Array) -> float:
    """⟨row, s⟩ over the length of the row, in its precision, as a BLAS would."""
    total = row.dtype.type(0)
    for i in range(row.size):
        total += row[i] * s[i]
    return total  # type: ignore[no-any-return]


@strict_part
def _largest(s: Array, bits: Array) -> int:
    """The first entry of the largest absolute value."""
    if len(s) >= STRIP:
        return largest(bits)
    best, place = abs(s[0]), 0
    for j in range(1, len(s)):
        size = abs(s[j])
        if size > best:
            best, place = size, j
    return place


@strict_part
def _move(gamma: float, z: int, rows: Array, coef: Array, s: Array) -> None:
    """x ← x − γz: one coefficient, one row."""
    coef[z] -= gamma
    for j in range(len(s)):
        s[j] -= gamma * rows[z, j]


@strict_part
def _blend(tau: float, v: Array, x: Array) -> None:
    """x ← (1 − τ)x + τv."""
    for j in range(len(x)):
        x[j] = (v[j] - x[j]) * tau + x[j]


@strict_part
def _recompute(rows: Array, first: Array, coef: Array, s: Array) -> None:
    """s = s_0 + Σ coef_z row_z anew, against the drift of rounding."""
    for j in range(len(s)):
        s[j] = first[j]
    for z in range(len(coef)):
        if coef[z] != 0:
            for j in range(len(s)):
                s[j] += coef[z] * rows[z, j]


@strict_part
def _value(coef: Array, s: Array, coef_ref: Array, s_ref: Array) -> float:
    """f(x) − f(x_ref) = ½ (a − a_ref)·(s + s_ref), summed in float64."""
    twice = 0.0
    for j in range(len(s)):
        twice += (np.float64(coef[j]) - coef_ref[j]) * (np.float64(s[j]) + s_ref[j])
    return 0.5 * twice


# When to leave a signal ---------------------------------------------------------------------


@strict_part
def left(watch: Watch, i: int, setting: Setting, s: Array, t: int) -> bool:
    """Whether there is nothing to do for a signal: it was left, or its first point will do."""
    if watch.rules.halt[0]:
        return True
    if t > 0 or watch.found.status[i] != GOING:
        return watch.found.status[i] != GOING  # type: ignore[no-any-return]
    done = watch.block.norm2[i] <= watch.block.goal2[i] or flat(watch, i, setting, s)
    watch.found.status[i] = CONVERGED if done else GOING
    return done


@strict_part
def marks_of(watch: Watch, i: int, t: int, n: int) -> Marks:
    """What a signal that is looked at after t iterations has to reach to be looked at again."""
    rules = watch.rules
    period = max(n, LOOK)
    look = min((t // period + 1) * period, rules.max_iter)
    doubt = 8 * rules.rounding * watch.sure[i]
    zero = zero_slope(watch, i) * watch.atoms.shortest
    return Marks(watch.block.goal2[i], doubt, rules.n_nonzero, look, zero)


@part
def due(marks: Marks, at_least: float, used: int, t: int, seen: float) -> bool:
    """Whether a signal is to be looked at: ‖residual‖² is `at_least` so much, `used` atoms are in
    its code, t iterations were made, and the last saw a largest slope of `seen`."""
    low = at_least <= marks.goal2 or seen <= marks.zero
    return low or used >= marks.most or t >= marks.look


@strict_part
def ends(
    watch: Watch, i: int, setting: Setting, coef: Array, s: Array, t: int, at_least: float
) -> bool:
    """Whether a signal is left after t iterations.

    Only a residual that is computed from its definition counts as small enough.
    """
    found, goal2 = watch.found, watch.block.goal2[i]
    found.steps[i] = t
    if goal2 >= 0 and at_least <= goal2:
        found.residual2[i] = watch.sure[i] = exact_residual2(watch, i, coef)
    # Where no residual is asked for, none is known: any above the goal of −1 will do.
    left2 = found.residual2[i] if goal2 >= 0 else 0.0
    used: Any = np.int64(found.size[i])
    status = verdict(left2, goal2, used, t, watch.rules)
    if status != CONVERGED and flat(watch, i, setting, s):
        status = CONVERGED
    found.status[i] = status
    return status != GOING


@strict_part
def lowest(watch: Watch, i: int, setting: Setting, coef: Array, s: Array) -> float:
    """‖residual‖² less what may be rounding.

    It is ‖s‖² where s is the gradient, else ‖signal‖² + a·(s + s_0).
    """
    first, total, size = setting.first[i], 0.0, watch.block.norm2[i]
    if watch.correlated:
        for j in range(len(coef)):
            term = np.float64(coef[j]) * (np.float64(s[j]) + first[j])
            total += term
            size += abs(term)
        total += watch.block.norm2[i]
    else:
        for k in range(len(s)):
            total += np.float64(s[k]) * s[k]
    watch.found.residual2[i] = total
    return total - 8 * watch.rules.rounding * size  # type: ignore[no-any-return]


@strict_part
def flat(watch: Watch, i: int, setting: Setting, s: Array) -> bool:
    """Whether every slope is nothing but rounding."""
    zero, norm = zero_slope(watch, i), watch.atoms.norm
    z: Any = np.int64(0)
    while z < len(norm) and abs(_slope(watch.correlated, setting.rows, s, z)) <= zero * norm[z]:
        z += 1
    return z == len(norm)  # type: ignore[no-any-return]


@strict_part
def zero_slope(watch: Watch, i: int) -> float:
    """The slope of an atom of unit norm that counts as zero."""
    zero: float = watch.rules.rounding * np.sqrt(watch.block.norm2[i])
    return zero


@strict_part
def exact_residual2(watch: Watch, i: int, coef: Array) -> float:
    """‖signal − Σ coef_j z_j‖² from its definition; the code is written down on the way."""
    found, used = watch.found, 0
    for j in range(len(coef)):
        if coef[j] != 0:
            found.chosen[i, used] = j
            found.value[i, used] = coef[j]
            used += 1
    found.size[i] = used
    return residual2(watch.atoms, watch.block, found, used, watch.rest, i)


@strict
def close(watch: Watch, coef: Array) -> None:
    """Write down the codes of a block, with true residuals.

    One that is far from its signal, or no number at all, is a run that diverged: its code is
    empty.
    """
    found = watch.found
    for i in range(len(coef)):
        norm2 = watch.block.norm2[i]
        left2, zero = exact_residual2(watch, i, coef[i]), zero_slope(watch, i)
        if not left2 <= 2 * norm2:
            found.size[i], found.status[i] = 0, DIVERGED
            left2 = norm2
        elif left2 <= zero * zero:
            found.status[i] = CONVERGED
        found.residual2[i] = left2
