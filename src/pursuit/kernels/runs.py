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
    BlockState,
    PursuitRules,
    part,
    residual2,
    verdict,
)

Span = tuple[int, int]
"""Iterations from the first number up to, not including, the second."""
CHECK_EVERY = 64
"""All correlations are looked at once in so many iterations, or in as many as there are atoms."""


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
    state: BlockState
    exact2: Array  # ‖residual‖² where it was last computed from its definition
    rest: Array  # scratch for a residual
    correlated: bool  # whether s are the correlations, and not the gradient


class NextCheck(NamedTuple):
    """Where it is to be seen whether a signal is finished."""

    left2: float  # a ‖residual‖² that may be small enough, or has lost its digits
    n_atoms: int  # distinct atoms
    iteration: int  # the last, or the one at which all correlations are looked at
    zero: float  # a largest correlation that is nothing but rounding


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
            if is_left(watch, i, setting, s, span[0]):
                continue
            check = next_check(watch, i, span[0], len(h))
            used, left2 = np.int64(watch.state.size[i]), watch.state.residual2[i]
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
                largest_c = abs(c) if steepest else np.inf
                if is_due(check, left2, used, t + 1, largest_c):
                    watch.state.size[i], watch.state.residual2[i] = used, left2
                    if is_finished(watch, i, setting, coef, s, t + 1, left2 <= check.left2):
                        break
                    check, left2 = next_check(watch, i, t + 1, len(h)), watch.state.residual2[i]
        if watch is not None and watch.state.status[i] == GOING:
            watch.state.size[i], watch.state.residual2[i] = used, left2


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
            if is_left(watch, i, setting, s, span[0]):
                continue
            check = next_check(watch, i, span[0], len(h))
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
                left2 = lowest2(watch, i, setting, coef, s) if check.left2 >= 0 else np.inf
                largest_c = abs(c) if steepest else np.inf
                if is_due(check, left2, 0, t + 1, largest_c):
                    if is_finished(watch, i, setting, coef, s, t + 1, left2 <= check.left2):
                        break
                    check = next_check(watch, i, t + 1, len(h))


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
    """s = s_0 + Σ coef_z row_z from the start, against the drift of rounding."""
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
def is_left(watch: Watch, i: int, setting: Setting, s: Array, t: int) -> bool:
    """Whether there is nothing to do for a signal: it was left, or its first point will do."""
    if watch.rules.interrupt_flag[0]:
        return True
    if t > 0 or watch.state.status[i] != GOING:
        return watch.state.status[i] != GOING  # type: ignore[no-any-return]
    done = watch.state.norm2[i] <= watch.state.target2[i] or is_flat(watch, i, setting, s)
    watch.state.status[i] = CONVERGED if done else GOING
    return done


@strict_part
def next_check(watch: Watch, i: int, t: int, n: int) -> NextCheck:
    """Return when to look at a signal again after t iterations."""
    rules, left2 = watch.rules, watch.state.target2[i]
    if left2 >= 0:
        left2 = max(left2, rules.cancelled * watch.exact2[i])
    period = max(n, CHECK_EVERY)
    iteration = min((t // period + 1) * period, rules.max_iter)
    return NextCheck(left2, rules.n_nonzero, iteration, zero_of(watch, i) * watch.atoms.shortest)


@part
def is_due(check: NextCheck, left2: float, used: int, t: int, largest_c: float) -> bool:
    """Whether a signal is to be looked at: its ‖residual‖² is about `left2`, `used` atoms are in
    its code, t iterations were made, and the last one saw a largest correlation."""
    low = left2 <= check.left2 or largest_c <= check.zero
    return low or used >= check.n_atoms or t >= check.iteration


@strict_part
def is_finished(
    watch: Watch, i: int, setting: Setting, coef: Array, s: Array, t: int, is_low: bool
) -> bool:
    """Whether a signal is left after t iterations.

    Only a residual that is computed from its definition counts as small enough.
    """
    state, target2 = watch.state, watch.state.target2[i]
    state.steps[i] = t
    if is_low:
        state.residual2[i] = watch.exact2[i] = exact_residual2(watch, i, coef)
    # Where no residual is asked for, none is known: any above the target of −inf will do.
    left2 = state.residual2[i] if target2 >= 0 else 0.0
    used: Any = np.int64(state.size[i])
    status = verdict(left2, target2, used, t, watch.rules)
    if status != CONVERGED and is_flat(watch, i, setting, s):
        status = CONVERGED
    state.status[i] = status
    return status != GOING


@strict_part
def lowest2(watch: Watch, i: int, setting: Setting, coef: Array, s: Array) -> float:
    """‖residual‖² less what may be rounding.

    It is ‖s‖² where s is the gradient, else ‖signal‖² + a·(s + s_0).
    """
    first, total, size = setting.first[i], 0.0, watch.state.norm2[i]
    if watch.correlated:
        for j in range(len(coef)):
            term = np.float64(coef[j]) * (np.float64(s[j]) + first[j])
            total += term
            size += abs(term)
        total += watch.state.norm2[i]
    else:
        for k in range(len(s)):
            total += np.float64(s[k]) * s[k]
    watch.state.residual2[i] = total
    return total - watch.rules.zero * size  # type: ignore[no-any-return]


@strict_part
def is_flat(watch: Watch, i: int, setting: Setting, s: Array) -> bool:
    """Whether every correlation is nothing but rounding."""
    zero, norm = zero_of(watch, i), watch.atoms.norm
    z: Any = np.int64(0)
    while z < len(norm) and abs(_slope(watch.correlated, setting.rows, s, z)) <= zero * norm[z]:
        z += 1
    return z == len(norm)  # type: ignore[no-any-return]


@strict_part
def zero_of(watch: Watch, i: int) -> float:
    """The correlation with an atom of unit norm that counts as zero."""
    zero: float = watch.rules.zero * np.sqrt(watch.state.norm2[i])
    return zero


@strict_part
def exact_residual2(watch: Watch, i: int, coef: Array) -> float:
    """‖signal − Σ coef_j z_j‖² from its definition; the code is written down on the way."""
    state, used = watch.state, 0
    for j in range(len(coef)):
        if coef[j] != 0:
            state.chosen[i, used] = j
            state.value[i, used] = coef[j]
            used += 1
    state.size[i] = used
    left: float = residual2(watch.atoms, state, used, watch.rest, i)
    return left


@strict
def collect_runs(watch: Watch, coef: Array) -> None:
    """Write down the codes of a block, with residuals from their definition.

    One that is far from its signal, or no number at all, is a run that diverged: its code is
    empty.
    """
    state = watch.state
    for i in range(len(coef)):
        norm2 = state.norm2[i]
        left2, zero = exact_residual2(watch, i, coef[i]), zero_of(watch, i)
        if not left2 <= 2 * norm2:
            state.size[i], state.status[i] = 0, DIVERGED
            left2 = norm2
        elif left2 <= zero * zero:
            state.status[i] = CONVERGED
        state.residual2[i] = left2
