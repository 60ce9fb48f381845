"""Non-negative pursuit for blocks of signals: the kernels of `kernels.py` over a cone.

With c = Z·residual, an atom with c_j > 0 wants to grow, and one with c_j < 0 to shrink, which it
can while its coefficient is positive. Slopes c come from rows of the Gram matrix, or from a
matrix product for each step. The coefficients of orthogonal pursuit are those of the best fit
with a ≥ 0 of the atoms in use, by Lawson and Hanson's active set with a Cholesky factor that grows
by a row when an atom enters; products of atoms are summed in float64 for signals of any type.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.pursuit import (
    CONVERGED,
    DIVERGED,
    GOING,
    NOTHING,
    STALLED,
    Atoms,
    BlockState,
    PursuitRules,
    finish,
    part,
    residual2,
    routine,
    uncounted,
    verdict,
)
from pursuit.kernels.simd import (
    NARROW,
    first,
    highest,
    larger,
    minus,
    narrow,
    product,
    store,
    times,
)

DEPENDENT = -1
"""What `_admit` gives for an atom in the span of those in use."""
SENT_BACK = -2
"""What `_admit` gives for an atom that the best fit does not use after all: rounding."""
FAR = 2.0
"""A run with ‖residual‖² above so many times ‖signal‖² has diverged, as in `runs.collect_runs`."""
STEPS_PER_ATOM = 30
"""Steps for each atom of the widest code after which a signal has stalled. In exact arithmetic no
set of atoms is met twice; this is for rounding."""


class Fit(NamedTuple):
    """Least squares with a ≥ 0 over a few atoms at unit norm, for each signal of a state.

    `gram` and row r of `b` are products of atoms with each other and with signal r. Row r of
    `order` lists places in them, first those of the atoms in use, as they came, and row r of
    `value` their coefficients. For one signal at a time: `lower` is the Cholesky factor of their
    Gram matrix, with one over its diagonal, `along` is L⁻¹ b, and `goal` a solution.
    """

    gram: Array
    b: Array
    order: Array
    value: Array
    lower: Array
    along: Array
    goal: Array


class Small(NamedTuple):
    """For each signal of a block, `Fit`'s `gram`, `b`, `order`, `lower` and `along` for the w atoms
    that it may use; `atom` (b, w): which atom is in a place of `gram` and `b`."""

    gram: Array
    b: Array
    order: Array
    lower: Array
    along: Array
    atom: Array


class ConeSteps(NamedTuple):
    """How matching pursuit steps: γ = c_j / `curvature`_j; `back`: atoms in use may shrink too."""

    curvature: Array
    back: bool


class ConeScratch(NamedTuple):
    """Scratch of one thread: correlations (padded n), a residual (d), and `Fit`'s for w atoms.

    `zero`: a correlation at most this times the coefficients that it is a difference of is zero.
    `single`: codes are written down in float32.
    """

    c: Array
    rest: Array
    lower: Array
    along: Array
    goal: Array
    zero: float
    single: bool


# Slopes ------------------------------------------------------------------------------------


@part
def _uphill(c: Array, begin: int, end: int) -> Any:
    """argmax c_j over a row of a flat array, the lowest of several; any where none is positive."""
    nought = times(c.dtype.type(0), narrow(c, begin))
    best = nought
    for s in range(begin, end, NARROW // c.itemsize):
        best = larger(best, narrow(c, s))
    return _place(c, begin, end, highest(best))


@part
def _place(c: Array, begin: int, end: int, top: float) -> Any:
    """The place of the first number of a row that is `top`, which is at least zero."""
    nought = times(c.dtype.type(0), narrow(c, begin))
    tile = NARROW // c.itemsize
    for s in range(begin, end, tile):
        here = first(larger(narrow(c, s), nought), top)
        if here < tile:
            return s + here
    return begin


@part
def _slopes(
    fit: Fit, flat_gram: Array, flat_b: Array, used: int, length: Array, c: Array, r: int
) -> None:
    """c ← (b − Σ a_k G_k)·length: the slopes at the coefficients, for the atoms as they are."""
    nought = times(c.dtype.type(0), narrow(c, 0))
    for s in range(0, c.size, NARROW // c.itemsize):
        v = narrow(flat_b, r * c.size + s)
        for k in range(used):
            row = fit.order[r, k] * fit.gram.shape[1]
            v = minus(v, fit.value[r, k], narrow(flat_gram, row + s))
        store(c, s, product(nought, v, narrow(length, s)))


# Matching pursuit --------------------------------------------------------------------------


@uncounted
def matching_pursuit(
    atoms: Atoms,
    steps: ConeSteps,
    gram: Array,
    rules: PursuitRules,
    state: BlockState,
    rest: Array,
) -> None:
    """`methods.matching_pursuit` over a cone, for every signal of a block."""
    rows, c, n = gram.reshape(-1), state.c.reshape(-1), state.c.shape[1]
    for r in range(state.c.shape[0]):
        zero = rules.zero * np.sqrt(state.norm2[r])
        state.status[r] = verdict(state.norm2[r], state.target2[r], 0, 0, rules)
        while state.status[r] == GOING:
            j, gamma = _step(atoms, steps, c, r * n, n, state, zero, r)
            _close(atoms, rules, state, gamma, rest, r)
            if state.status[r] == GOING:
                step = c.dtype.type(gamma)
                for s in range(0, n, NARROW // c.itemsize):
                    row = narrow(rows, j * gram.shape[1] + s)
                    store(c, r * n + s, minus(narrow(c, r * n + s), step, row))


@uncounted
def step_from_residuals(
    atoms: Atoms,
    steps: ConeSteps,
    rules: PursuitRules,
    state: BlockState,
    rest: Array,
    live: Array,
    scratch: Array,
) -> None:
    """One step of matching pursuit over a cone for each signal of `live`.

    The deliberate twin of `matching_pursuit` without a Gram matrix. ``state.c[k]`` are the
    slopes of signal ``live[k]``, `rest` the residuals of all.
    """
    c, n = state.c.reshape(-1), state.c.shape[1]
    for k in range(live.size):
        r = live[k]
        zero = rules.zero * np.sqrt(state.norm2[r])
        j, gamma = _step(atoms, steps, c, k * n, n, state, zero, r)
        _close(atoms, rules, state, gamma, scratch, r)
        step = rest.dtype.type(gamma)
        for i in range(rest.shape[1]):
            rest[r, i] -= step * atoms.rows[j, i]


@part
def _step(
    atoms: Atoms,
    steps: ConeSteps,
    c: Array,
    at: int,
    n: int,
    state: BlockState,
    zero: float,
    r: int,
) -> Any:
    """Choose an atom and change its coefficient; the atom and the step, 0 where none is left.

    ``residual2`` falls by ‖residual‖² − ‖residual − γz‖² = γ(2c − γ‖z‖²).
    """
    used: Any = np.int64(state.size[r])
    while True:
        j, place = _uphill(c, at, at + n) - at, used
        top = max(c[at + j], c.dtype.type(0))
        for k in range(used):  # those in use may shrink as well
            i = np.int64(state.chosen[r, k])
            here = abs(c[at + i]) if steps.back else c[at + i]
            if here > top or (here == top and i <= j):
                top, j, place = here, i, k
        if top > zero * atoms.norm[j]:
            break
        if top <= zero * atoms.shortest:
            return j, 0.0
        c[at + j] = 0  # rounding; so small a slope may be more for a shorter atom
    slope = np.float64(c[at + j])
    gamma = slope / steps.curvature[j]
    if place == used:
        state.chosen[r, used], state.value[r, used] = j, 0.0
        used += 1
    if state.value[r, place] + gamma <= 0:  # down to zero and no further: the atom leaves
        gamma = -state.value[r, place]
        used -= 1
        state.chosen[r, place] = state.chosen[r, used]
        state.value[r, place] = state.value[r, used]
    else:
        state.value[r, place] += gamma
    state.size[r] = used
    state.residual2[r] -= gamma * (2 * slope - gamma * atoms.norm2[j])
    return j, gamma


@part
def _close(
    atoms: Atoms,
    rules: PursuitRules,
    state: BlockState,
    gamma: float,
    rest: Array,
    r: int,
) -> None:
    """End a step: see whether the signal is finished."""
    if gamma == 0:
        state.status[r] = CONVERGED
    else:
        state.steps[r] += 1
        used: Any = np.int64(state.size[r])
        left2, target2 = state.residual2[r], state.target2[r]
        if target2 >= 0 and left2 <= max(target2, rules.cancelled * state.norm2[r]):
            left2 = residual2(atoms, state, used, rest, r)
        state.residual2[r] = left2
        state.status[r] = verdict(left2, target2, used, state.steps[r], rules)
        if not left2 <= FAR * state.norm2[r]:  # no exact step leads there
            state.size[r], state.status[r] = 0, DIVERGED
            state.residual2[r] = state.norm2[r]
    if state.status[r] != GOING and state.status[r] != DIVERGED:
        finish(atoms, rules, state, rest, r)


# Least squares over the atoms in use -------------------------------------------------------


@part
def _enter(fit: Fit, r: int, k: int, dependent: float) -> Any:
    """Row k of the factor for the atom listed there; False if it is in the span of the others."""
    j = fit.order[r, k]
    pivot, w = fit.gram[j, j], fit.b[r, j]
    least = dependent * pivot
    for i in range(k):
        t = fit.gram[j, fit.order[r, i]]
        for l in range(i):
            t -= fit.lower[i, l] * fit.lower[k, l]
        t *= fit.lower[i, i]
        fit.lower[k, i] = t
        pivot -= t * t
        w -= t * fit.along[i]
    fit.lower[k, k] = 1 / np.sqrt(max(pivot, least))
    fit.along[k] = w * fit.lower[k, k]
    return pivot > least


@part
def _solve(fit: Fit, size: int) -> float:
    """Lᵀ goal = along; the least coefficient."""
    least = np.inf
    for k in range(size - 1, -1, -1):
        a = fit.along[k]
        for i in range(k + 1, size):
            a -= fit.lower[i, k] * fit.goal[i]
        fit.goal[k] = a * fit.lower[k, k]
        least = min(least, fit.goal[k])
    return least


@part
def _fit(fit: Fit, r: int, size: int, dependent: float) -> int:
    """The best coefficients of the atoms in use, those at zero left out; how many stay."""
    while size > 0 and _solve(fit, size) <= 0:
        size = _retreat(fit, r, size, dependent)
    for k in range(size):
        fit.value[r, k] = fit.goal[k]
    return size


@part
def _retreat(fit: Fit, r: int, size: int, dependent: float) -> int:
    """Go towards the goal until a coefficient is zero, and list its atom after the others."""
    share, first_out = 2.0, 0
    for k in range(size):
        if fit.goal[k] <= 0:
            here = 0.0
            if fit.value[r, k] > 0:
                here = fit.value[r, k] / (fit.value[r, k] - fit.goal[k])
            if here < share:
                share, first_out = here, k
    kept = lowest = size
    for k in range(size - 1, -1, -1):
        fit.value[r, k] += share * (fit.goal[k] - fit.value[r, k])
        if k == first_out or fit.value[r, k] <= 0:
            j = fit.order[r, k]
            for i in range(k, kept - 1):
                fit.order[r, i], fit.value[r, i] = fit.order[r, i + 1], fit.value[r, i + 1]
            kept -= 1
            fit.order[r, kept], fit.value[r, kept] = j, 0.0
            lowest = k
    for k in range(lowest, kept):
        _enter(fit, r, k, dependent)
    return kept


@part
def _admit(fit: Fit, r: int, used: int, dependent: float, zero: float) -> int:
    """Let the atom listed after those in use join them: the best fit with a ≥ 0 of all of these.

    How many are in use then, or why the atom may not join.
    """
    if not _enter(fit, r, used, dependent):
        return DEPENDENT
    if fit.along[used] <= 0:
        return SENT_BACK
    fit.value[r, used] = 0.0
    now = _fit(fit, r, used + 1, dependent)
    if now <= used:
        now = _return(fit, r, now, used + 1, dependent, zero)
    return now


@routine
def _return(fit: Fit, r: int, used: int, size: int, dependent: float, zero: float) -> int:
    """Let those of the first `size` atoms that have left come back while their slopes say so."""
    for _ in range(STEPS_PER_ATOM * size):
        best, top = -1, zero
        for p in range(used, size):
            j = fit.order[r, p]
            slope = fit.b[r, j]
            for k in range(used):
                slope -= fit.gram[j, fit.order[r, k]] * fit.value[r, k]
            if slope > top:
                best, top = p, slope
        if best < 0:
            break
        fit.order[r, used], fit.order[r, best] = fit.order[r, best], fit.order[r, used]
        fit.value[r, used] = 0.0
        if _enter(fit, r, used, dependent) and fit.along[used] > 0:
            used = _fit(fit, r, used + 1, dependent)
        else:  # it is not looked at again
            size -= 1
            fit.order[r, used], fit.order[r, size] = fit.order[r, size], fit.order[r, used]
    return used


# Orthogonal pursuit ------------------------------------------------------------------------


@uncounted
def orthogonal(
    atoms: Atoms,
    length: Array,
    gram: Array,
    rules: PursuitRules,
    state: BlockState,
    scratch: ConeScratch,
) -> None:
    """Orthogonal pursuit over a cone for every signal of a block: least squares with a ≥ 0 over
    the atoms in use, which an atom leaves when its coefficient comes to zero.

    `gram` and ``state.c`` are for atoms at unit norm; `length` are the norms of the atoms.
    """
    fit = Fit(gram, state.c, state.chosen, state.value, scratch.lower, scratch.along, scratch.goal)
    flat_gram, flat_b = gram.reshape(-1), state.c.reshape(-1)
    for r in range(state.c.shape[0]):
        state.status[r] = verdict(state.norm2[r], state.target2[r], 0, 0, rules)
        while state.status[r] == GOING:
            used: Any = np.int64(state.size[r])
            _slopes(fit, flat_gram, flat_b, used, length, scratch.c, r)
            zero = _zero(rules, scratch, state, r)
            now, refused = DEPENDENT, 0.0
            while now < 0:
                j = _best(scratch.c, 0, scratch.c.size, length, zero, refused, state, r)
                if j < 0:
                    break
                state.chosen[r, used] = j
                now = _admit(fit, r, used, rules.dependent, zero)
                refused = _pass_over(scratch.c, j, length[j], now, refused)
            if now >= 0:
                _end_step(atoms, length, rules, state, fit, now, scratch.rest, r)
        _finish(atoms, length, rules, state, fit, scratch, r)


@uncounted
def step_orthogonally(
    atoms: Atoms,
    length: Array,
    rules: PursuitRules,
    state: BlockState,
    rest: Array,
    live: Array,
    small: Small,
    scratch: ConeScratch,
) -> None:
    """One step of orthogonal pursuit over a cone for each signal of `live`.

    The deliberate twin of `orthogonal` without a Gram matrix. ``state.c[k]`` are the
    slopes of signal ``live[k]``, `rest` the residuals of all.
    """
    c, n = state.c.reshape(-1), state.c.shape[1]
    for k in range(live.size):
        r = live[k]
        factor = (small.lower[r], small.along[r], scratch.goal)
        fit = Fit(small.gram[r], small.b, small.order, state.value, *factor)
        used: Any = np.int64(state.size[r])
        zero = _zero(rules, scratch, state, r)
        now, refused = DEPENDENT, 0.0
        while now < 0:
            j = _best(c, k * n, n, length, zero, refused, state, r)
            if j < 0:
                break
            _measure(atoms, length, state, small, r, used, j)
            now = _admit(fit, r, used, rules.dependent, zero)
            refused = _pass_over(c, k * n + j, length[j], now, refused)
        if now >= 0:
            for i in range(now):
                state.chosen[r, i] = small.atom[r, small.order[r, i]]
            _end_step(atoms, length, rules, state, fit, now, scratch.rest, r)
        if state.status[r] == GOING:
            _residual2(atoms, length, state, scratch.rest, r)
            for i in range(rest.shape[1]):
                rest[r, i] = scratch.rest[i]
        else:
            _finish(atoms, length, rules, state, fit, scratch, r)


@part
def _best(
    c: Array, at: int, n: int, length: Array, zero: float, refused: float, state: BlockState, r: int
) -> Any:
    """The atom that promises most, or −1 and the status of the signal.

    Slopes are the row of c that begins at `at`; `refused` is the best of those passed over, for
    atoms of unit norm, as `zero` is.
    """
    j = _uphill(c, at, at + n) - at
    while c[at + j] > 0 and c[at + j] <= zero * length[j]:
        c[at + j] = 0  # rounding; so small a slope may be more for a shorter atom
        j = _uphill(c, at, at + n) - at
    slope = c[at + j] / length[j]
    if slope > zero and state.size[r] < state.chosen.shape[1]:
        return j
    state.status[r] = STALLED if max(slope, refused) > 8 * zero else CONVERGED
    return NOTHING


@part
def _pass_over(c: Array, at: int, length: float, now: int, refused: float) -> Any:
    """Look no more at the slope of an atom; the best slope of those that were not let in."""
    slope = np.float64(c[at]) / length
    c[at] = 0
    return max(refused, slope) if now == DEPENDENT else refused


@part
def _measure(
    atoms: Atoms,
    length: Array,
    state: BlockState,
    small: Small,
    r: int,
    used: int,
    j: int,
) -> None:
    """Put atom j in the place that is listed after those in use: its products with them."""
    place = small.order[r, used]
    small.atom[r, place] = j
    small.gram[r, place, place] = atoms.norm2[j] / (length[j] * length[j])
    for k in range(used):
        other = small.order[r, k]
        i = small.atom[r, other]
        total = 0.0
        for l in range(atoms.rows.shape[1]):
            total += np.float64(atoms.rows[i, l]) * np.float64(atoms.rows[j, l])
        total /= length[i] * length[j]
        small.gram[r, place, other] = total
        small.gram[r, other, place] = total
    total = 0.0
    for l in range(atoms.rows.shape[1]):
        total += np.float64(state.x[r, l]) * np.float64(atoms.rows[j, l])
    small.b[r, place] = total / length[j]


@part
def _zero(rules: PursuitRules, scratch: ConeScratch, state: BlockState, r: int) -> Any:
    """The correlation of an atom of unit norm that counts as zero.

    It is a difference of products with the signal, in its precision, and of the coefficients with
    products of atoms, in float64.
    """
    return rules.zero * np.sqrt(state.norm2[r]) + scratch.zero * _weight(state, r)


@part
def _weight(state: BlockState, r: int) -> float:
    """The sum of the coefficients of atoms at unit norm."""
    weight = 0.0
    for k in range(state.size[r]):
        weight += state.value[r, k]
    return weight


@part
def _end_step(
    atoms: Atoms,
    length: Array,
    rules: PursuitRules,
    state: BlockState,
    fit: Fit,
    used: int,
    rest: Array,
    r: int,
) -> None:
    """End a step: update ‖residual‖², and see whether the signal is finished."""
    state.size[r] = used
    state.steps[r] += 1
    steps, target2 = state.steps[r], state.target2[r]
    left2 = state.norm2[r]
    for k in range(used):
        left2 -= fit.b[r, fit.order[r, k]] * fit.value[r, k]
    if target2 >= 0 and left2 <= max(target2, rules.cancelled * state.norm2[r]):
        left2 = _residual2(atoms, length, state, rest, r)
    state.residual2[r] = left2
    state.status[r] = verdict(left2, target2, used, steps, rules)
    if state.status[r] == GOING and steps >= STEPS_PER_ATOM * (state.chosen.shape[1] + 1):
        state.status[r] = STALLED


@routine
def _residual2(atoms: Atoms, length: Array, state: BlockState, rest: Array, r: int) -> float:
    """Return ‖x − Σ a_k z_k‖² of signal r from its definition; `rest` is the residual then."""
    for i in range(rest.size):
        rest[i] = state.x[r, i]
    used: Any = np.int64(state.size[r])
    for k in range(0, used - 1, 2):
        j, l = state.chosen[r, k], state.chosen[r, k + 1]
        a, b = state.value[r, k] / length[j], state.value[r, k + 1] / length[l]
        for i in range(rest.size):
            rest[i] -= a * atoms.rows[j, i] + b * atoms.rows[l, i]
    if used % 2:
        j = state.chosen[r, used - 1]
        a = state.value[r, used - 1] / length[j]
        for i in range(rest.size):
            rest[i] -= a * atoms.rows[j, i]
    total = 0.0
    for i in range(rest.size):
        total += rest[i] * rest[i]
    return total


@part
def _finish(
    atoms: Atoms,
    length: Array,
    rules: PursuitRules,
    state: BlockState,
    fit: Fit,
    scratch: ConeScratch,
    r: int,
) -> None:
    """The code of a signal for the atoms as they are, refined if need be; what it leaves.

    ‖residual‖² stays the difference of squares while that has its digits: neither the signal nor
    the fit of an atom is much larger than the residual.
    """
    longest = 1.0
    for k in range(state.size[r]):
        longest = max(longest, fit.lower[k, k])
    is_near = rules.cancelled * longest * longest >= 1  # atoms nearly depend on each other
    if is_near:
        _residual2(atoms, length, state, scratch.rest, r)
        _refine(atoms, length, state, fit, scratch.rest, r)
    for k in range(state.size[r]):
        if scratch.single:
            state.value[r, k] = np.float64(np.float32(state.value[r, k]))
    weight = _weight(state, r)
    if is_near or state.residual2[r] <= rules.cancelled * max(state.norm2[r], weight * weight):
        state.residual2[r] = _residual2(atoms, length, state, scratch.rest, r)
        zero = _zero(rules, scratch, state, r)
        if state.residual2[r] <= zero * zero:
            state.status[r] = CONVERGED
    for k in range(state.size[r]):
        state.value[r, k] /= length[state.chosen[r, k]]


@part
def _refine(atoms: Atoms, length: Array, state: BlockState, fit: Fit, rest: Array, r: int) -> None:
    """Add the fit of the residual, if no atom leaves with it: one step of iterative refinement."""
    used: Any = np.int64(state.size[r])
    for k in range(used):
        j = state.chosen[r, k]
        slope = 0.0
        for i in range(rest.size):
            slope += atoms.rows[j, i] * rest[i]
        slope /= length[j]
        for l in range(k):
            slope -= fit.lower[k, l] * fit.along[l]
        fit.along[k] = slope * fit.lower[k, k]
    _solve(fit, used)
    least = np.inf
    for k in range(used):
        least = min(least, state.value[r, k] + fit.goal[k])
    if least > 0:
        for k in range(used):
            state.value[r, k] += fit.goal[k]
