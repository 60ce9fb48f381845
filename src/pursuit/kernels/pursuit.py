"""What all kernels of `encode` share, and those of matching pursuit and orthogonal pursuit.

A handful of atoms has a kernel of its own in `few_atoms`, cones are in `cone`, the random and the
paper's accelerated methods in `runs`.

A kernel works through a block of signals and changes the arrays that it is given, so that it can
be left and entered again: `BlockState` is its state and its result. Kernels release the GIL, draw
no random numbers and allocate at most a row of scratch for a call, nothing for a signal.
Correlations are rows padded with zeros to whole tiles (see `simd`).

The atoms of a kernel are unit rows, or the rows as given (`norm2` tells). All sizes are relative to
those of signals and atoms, so that powers of two multiplied to them change no digit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pursuit.base.status import Status
from pursuit.base.validation import Array
from pursuit.kernels import compiling, private
from pursuit.kernels.simd import (
    NARROW,
    WIDE,
    entry,
    first,
    highest,
    minus,
    narrow,
    plus,
    size,
    store,
    times,
    wide,
)

CONVERGED = Status.CONVERGED.code
DIVERGED = Status.DIVERGED.code
MAX_ITER = Status.MAX_ITER.code
MAX_NONZERO = Status.MAX_NONZERO.code
STALLED = Status.STALLED.code
GOING = 255
"""The status of a signal that is not finished."""
INTERRUPTED = 254
"""The status of one that was left since its call was interrupted; no result has it."""
CHECK_INTERRUPT_EVERY = 16
"""Steps between two checks of the interrupt flag: one takes as long as a step over few atoms."""
NOTHING = -1
"""What a kernel returns when it needs no further row of the Gram matrix."""
PIECE = 2048
"""Entries of an atom that are multiplied before the next ones are looked at."""

_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "reassoc", "arcp"},
}

compiled = compiling.compiled(**_OPTIONS)
"""A kernel."""
uncounted = compiling.compiled(**_OPTIONS, **private.UNCOUNTED)
"""A kernel without counts of references to its arrays, which take as long as the work itself
where that is little. It may allocate nothing, and its caller has to keep what it passes."""
part = compiling.part(**_OPTIONS)
"""A part of kernels, a copy in each place that calls it."""
routine = compiling.part(inline=False, **_OPTIONS)
"""A part that kernels call in several places, or rarely: one copy in each kernel."""


class Atoms(NamedTuple):
    """A dictionary: rows (n, d), their squared norms, their norms, and the least of these; what was
    divided out of each row; which rows repeat an earlier one."""

    rows: Array
    norm2: Array
    norm: Array
    shortest: float
    scale: Array
    duplicates: Array


class GramCache(NamedTuple):
    """Rows of Z Zᵀ (k, padded n), and which row belongs to an atom (−1: none yet)."""

    rows: Array
    slot: Array


class PursuitRules(NamedTuple):
    """When to stop, and what counts as rounding.

    Attributes
    ----------
    n_nonzero, max_iter
        The most atoms of a code, and the most steps.
    zero
        A correlation at most this times ‖signal‖ ‖atom‖ is zero.
    dependent
        An atom whose squared distance from those in use is at most this times its squared norm is
        skipped.
    cancelled
        A difference of squares at most this times the first of them has lost digits: ‖residual‖²
        is computed from the signal and the code then, and coefficients are refined.
    interrupt_flag
        Where it is set meanwhile, nothing more is to be done (`pursuit.base.threads`).
    """

    n_nonzero: int
    max_iter: int
    zero: float
    dependent: float
    cancelled: float
    interrupt_flag: Array


class BlockState(NamedTuple):
    """Signals of a block, how far each has come, and in the end its code for the kernel's atoms.

    Attributes
    ----------
    x, c
        The signals (b, d), and their correlations with the atoms (b, padded n).
    norm2, target2
        Their squared norms, and the squared residual norms at which they are finished; −inf: none.
    chosen, value, size
        The atoms of each code and their coefficients, (b, width), and how many there are.
    residual2, steps, status
        ‖residual‖², the steps taken, and a status or GOING.
    """

    x: Array
    c: Array
    norm2: Array
    target2: Array
    chosen: Array
    value: Array
    size: Array
    residual2: Array
    steps: Array
    status: Array


class Scratch(NamedTuple):
    """Scratch arrays of one thread.

    `place` (n): 1 + the position of an atom in the code of the signal at hand. The rest is of
    orthogonal pursuit, with q_k the orthonormal vectors made of the active atoms: `basis` holds
    ⟨z_j, q_k⟩ for every atom, tile by tile; `lower` the active atoms in terms of the q_k, with
    one over its diagonal; `along` ⟨signal, q_k⟩; `weight`, `change` and `rest` are scratch for one
    row each.
    """

    place: Array
    basis: Array
    lower: Array
    along: Array
    weight: Array
    change: Array
    rest: Array


class Bases(NamedTuple):
    """For each signal of a block: orthonormal vectors q (b, k, d), `lower` and `along` as above."""

    q: Array
    lower: Array
    along: Array


# Looking at rows -------------------------------------------------------------------------


@compiled
def sum_squares(rows: Array, norm2: Array) -> None:
    """‖row‖² of each row; finite exactly when its entries are, up to 1e150."""
    for r in range(rows.shape[0]):
        row, total = rows[r], 0.0
        for i in range(row.size):
            total += np.float64(row[i]) * np.float64(row[i])
        norm2[r] = total


@compiled
def project(rows: Array, chosen: Array, direction: Array, products: Array) -> None:
    """⟨row, direction⟩ of the chosen rows; the same bits, up to sign, for the same row."""
    for k in range(chosen.size):
        row, total = rows[chosen[k]], 0.0
        for i in range(row.size):
            total += np.float64(row[i]) * direction[i]
        products[k] = total


@routine
def steepest(c: Array) -> Any:
    """argmax \\|c_j\\|, the lowest index of several."""
    top, at = c.dtype.type(-1), 0
    for s in range(0, c.size, WIDE // c.itemsize):
        here = highest(size(wide(c, s)))
        if here > top:
            top, at = here, s
    return at + first(wide(c, at), top)


@part
def _other(c: Array, j: int) -> Any:
    """The atom that is steepest but for j, which is looked at no more."""
    c[j] = 0
    return steepest(c)


@part
def descend(c: Array, gamma: float, row: Array) -> Any:
    """c ← c − γ·row, and the argmax of the new \\|c_j\\|, in one pass."""
    step = c.dtype.type(gamma)
    top, at = c.dtype.type(-1), 0
    for s in range(0, c.size, WIDE // c.itemsize):
        v = minus(wide(c, s), step, wide(row, s))
        store(c, s, v)
        here = highest(size(v))
        if here > top:
            top, at = here, s
    return at + first(wide(c, at), top)


@part
def residual2(atoms: Atoms, state: BlockState, used: Any, rest: Array, r: int) -> Any:
    """Return ‖x − Σ value_k z_k‖² of signal r from its definition; `rest` is the residual then."""
    flat = atoms.rows.reshape(-1)
    return _subtract(state.x[r], flat, state.chosen[r, :used], state.value[r, :used], rest)


@routine
def _subtract(x: Array, flat: Array, chosen: Array, value: Array, rest: Array) -> float:
    """rest ← x − Σ value_k z_k; its squared norm.

    A tile of the residual stays in registers while all atoms of the code are subtracted.
    """
    d = x.size
    whole = d - d % (WIDE // x.itemsize)
    for s in range(0, whole, WIDE // x.itemsize):
        v = wide(x, s)
        for k in range(chosen.size):
            v = minus(v, x.dtype.type(value[k]), wide(flat, chosen[k] * d + s))
        store(rest, s, v)
    for s in range(whole, d - d % (NARROW // x.itemsize), NARROW // x.itemsize):
        u = narrow(x, s)
        for k in range(chosen.size):
            u = minus(u, x.dtype.type(value[k]), narrow(flat, chosen[k] * d + s))
        store(rest, s, u)
    for i in range(d - d % (NARROW // x.itemsize), d):
        a = x[i]
        for k in range(chosen.size):
            a -= x.dtype.type(value[k]) * flat[chosen[k] * d + i]
        rest[i] = a
    total = 0.0
    for i in range(d):
        total += np.float64(rest[i]) * np.float64(rest[i])
    return total


@part
def verdict(left2: float, target2: float, used: int, steps: int, rules: PursuitRules) -> int:
    """Whether a signal is finished, in the order of `solve`: fit, atoms, iterations."""
    if steps % CHECK_INTERRUPT_EVERY == 0 and rules.interrupt_flag[0]:
        return INTERRUPTED
    if left2 <= target2:
        return CONVERGED
    if used >= rules.n_nonzero:
        return MAX_NONZERO
    if steps >= rules.max_iter:
        return MAX_ITER
    return GOING


@part
def finish(atoms: Atoms, rules: PursuitRules, state: BlockState, rest: Array, r: int) -> None:
    """The last word on ‖residual‖² of a finished signal; CONVERGED if it is rounding.

    The difference of squares stands while it has its digits, and is replaced by the definition
    where it may have lost some.
    """
    if state.residual2[r] <= rules.cancelled * state.norm2[r]:
        state.residual2[r] = residual2(atoms, state, np.int64(state.size[r]), rest, r)
        if state.residual2[r] <= rules.zero * rules.zero * state.norm2[r]:
            state.status[r] = CONVERGED


# Matching pursuit ------------------------------------------------------------------------


@uncounted
def matching_pursuit(
    atoms: Atoms, gram: GramCache, rules: PursuitRules, state: BlockState, work: Scratch
) -> int:
    """`methods.matching_pursuit` on ½‖x − signal‖² for every signal of a block.

    Returns the atom whose row of the Gram matrix is missing, or NOTHING.
    """
    for r in range(state.c.shape[0]):
        if state.status[r] == GOING:
            missing = _pursue(atoms, gram, rules, state, work, r)
            if missing != NOTHING:
                return missing
    return NOTHING


@part
def _pursue(
    atoms: Atoms,
    gram: GramCache,
    rules: PursuitRules,
    state: BlockState,
    work: Scratch,
    r: int,
) -> int:
    """Signal r. `_pursue_orthogonally` is its deliberate twin: a compiled loop over one signal
    keeps its numbers in registers, and cannot be handed what differs."""
    c, norm2, target2 = state.c[r], state.norm2[r], state.target2[r]
    zero = rules.zero * np.sqrt(norm2)
    used: Any = np.int64(state.size[r])
    steps, left2 = state.steps[r], state.residual2[r]
    status = verdict(left2, target2, used, steps, rules)
    j, missing = steepest(c), NOTHING
    while status == GOING:
        if abs(c[j]) <= zero * atoms.norm[j]:
            if abs(c[j]) <= zero * atoms.shortest:
                status = CONVERGED
                break
            j = _other(c, j)  # rounding; so small a slope may be more for a shorter atom
            continue
        if gram.slot[j] < 0:
            missing = j
            break
        gamma = c[j] / atoms.norm2[j]  # z_t = LMO(∇f(x_t)), exact step
        if work.place[j] == 0:
            state.chosen[r, used] = j
            state.value[r, used] = 0.0
            used += 1
            work.place[j] = used
        state.value[r, work.place[j] - 1] += gamma  # x_{t+1} = x_t − γ z_t
        steps += 1
        left2 -= gamma * c[j]
        if target2 >= 0 and left2 <= max(target2, rules.cancelled * norm2):
            left2 = residual2(atoms, state, used, work.rest, r)
        status = verdict(left2, target2, used, steps, rules)
        if status == GOING:
            j = descend(c, gamma, gram.rows[gram.slot[j]])
    _write_down(state, r, used, steps, status, left2)
    if status != GOING:
        finish(atoms, rules, state, work.rest, r)
        for k in range(used):
            work.place[state.chosen[r, k]] = 0
    return missing


@part
def _write_down(
    state: BlockState, r: int, used: int, steps: int, status: int, left2: float
) -> None:
    """Where a signal is left."""
    state.size[r], state.steps[r], state.status[r] = used, steps, status
    state.residual2[r] = left2


# Orthogonal pursuit ----------------------------------------------------------------------


@uncounted
def orthogonal(
    atoms: Atoms, gram: GramCache, rules: PursuitRules, state: BlockState, work: Scratch
) -> int:
    """`methods.orthogonal` on ½‖x − signal‖² for every signal of a block.

    With q_1, q_2, … the active atoms made orthonormal in the order of their arrival, the
    correlations after atom j are c − ⟨q, signal⟩ ⟨z, q⟩ over all z, and ⟨z, q⟩ follows from row j
    of the Gram matrix: a Cholesky factor that grows by one row, without triangular solves.
    Returns the atom whose row is missing, or NOTHING.
    """
    for r in range(state.c.shape[0]):
        if state.status[r] == GOING:
            missing = _pursue_orthogonally(atoms, gram, rules, state, work, r)
            if missing != NOTHING:
                return missing
    return NOTHING


@part
def _pursue_orthogonally(
    atoms: Atoms,
    gram: GramCache,
    rules: PursuitRules,
    state: BlockState,
    work: Scratch,
    r: int,
) -> int:
    """Signal r; the deliberate twin of `_pursue`, with a factor that grows."""
    c, norm2, target2 = state.c[r], state.norm2[r], state.target2[r]
    used: Any = np.int64(state.size[r])
    steps, left2 = state.steps[r], state.residual2[r]
    zero = rules.zero * np.sqrt(norm2)
    status = verdict(left2, target2, used, steps, rules)
    j, missing, refused = steepest(c), NOTHING, 0.0
    while status == GOING:
        if abs(c[j]) <= zero * atoms.norm[j]:
            if abs(c[j]) <= zero * atoms.shortest:
                status = STALLED if refused > 8 * zero else CONVERGED
                break
            j = _other(c, j)  # rounding; so small a slope may be more for a shorter atom
            continue
        if used == state.chosen.shape[1]:
            status = STALLED  # as many atoms as dimensions, and something is left by rounding
            break
        pivot = _pivot(work, used, j, atoms.norm2[j])
        if pivot <= rules.dependent * atoms.norm2[j]:  # in the span of the active: pass it over
            refused = max(refused, abs(c[j]) / atoms.norm[j])
            j = _other(c, j)
            continue
        if gram.slot[j] < 0:
            missing = j
            break
        work.lower[used, used] = 1 / np.sqrt(pivot)
        work.along[used] = c[j] * work.lower[used, used]
        state.chosen[r, used] = j
        left2 -= work.along[used] * work.along[used]
        used, steps = used + 1, steps + 1
        if target2 >= 0 and left2 <= max(target2, rules.cancelled * norm2):
            solve_upper(work.lower, work.along, state.value[r], used)
            left2 = residual2(atoms, state, used, work.rest, r)
        status = verdict(left2, target2, used, steps, rules)
        if status == GOING:
            j, refused = _extend(work, used - 1, c, gram.rows[gram.slot[j]]), 0.0
    _write_down(state, r, used, steps, status, left2)
    if status != GOING:
        solve_upper(work.lower, work.along, state.value[r], used)
        if _has_short_pivot(atoms, rules, state, work, r):
            _refine(atoms, state, work, r)
            state.residual2[r] = residual2(atoms, state, used, work.rest, r)
        finish(atoms, rules, state, work.rest, r)
    return missing


@part
def _has_short_pivot(
    atoms: Atoms, rules: PursuitRules, state: BlockState, work: Scratch, r: int
) -> bool:
    """Return whether a pivot of the factor has lost digits, and the coefficients with it."""
    is_short = False
    for k in range(state.size[r]):
        inverse = work.lower[k, k] * work.lower[k, k]
        is_short |= rules.cancelled * atoms.norm2[state.chosen[r, k]] * inverse >= 1
    return is_short


@part
def _refine(atoms: Atoms, state: BlockState, work: Scratch, r: int) -> None:
    """Add the fit of the residual to the coefficients: one step of iterative refinement."""
    used: Any = np.int64(state.size[r])
    residual2(atoms, state, used, work.rest, r)
    for k in range(used):
        slope = _slope(atoms.rows[state.chosen[r, k]], work.rest)
        for i in range(k):
            slope -= work.lower[k, i] * work.along[i]
        work.along[k] = slope * work.lower[k, k]
    solve_upper(work.lower, work.along, work.change, used)
    for k in range(used):
        state.value[r, k] += work.change[k]


@part
def _slope(z: Array, rest: Array) -> float:
    """⟨z, rest⟩, summed in float64."""
    total = 0.0
    for i in range(z.size):
        total += np.float64(z[i]) * np.float64(rest[i])
    return total


@part
def _pivot(work: Scratch, used: int, j: int, norm2: float) -> float:
    """The squared distance of atom j to the span of the active atoms; row `used` of `lower`."""
    tile = WIDE // work.basis.itemsize
    at = (j // tile) * tile * work.weight.size + j % tile
    pivot = float(norm2)
    for k in range(used):
        w = work.basis[at + k * tile]
        work.weight[k] = w
        work.lower[used, k] = w
        pivot -= np.float64(w) * np.float64(w)
    return pivot


@part
def _extend(work: Scratch, k: int, c: Array, row: Array) -> Any:
    """⟨z, q_k⟩ = (row − Σ_i weight_i ⟨z, q_i⟩)/length for every z; c ← c − along_k ⟨z, q_k⟩."""
    basis, weight = work.basis, work.weight
    inverse = c.dtype.type(work.lower[k, k])
    along = c.dtype.type(work.along[k])
    tile = WIDE // c.itemsize
    top, at = c.dtype.type(-1), 0
    for s in range(0, c.size, tile):
        start = s * weight.size
        q = wide(row, s)
        for i in range(k):
            q = minus(q, weight[i], wide(basis, start + i * tile))
        q = times(inverse, q)
        store(basis, start + k * tile, q)
        v = minus(wide(c, s), along, q)
        store(c, s, v)
        here = highest(size(v))
        if here > top:
            top, at = here, s
    return at + first(wide(c, at), top)


@routine
def solve_upper(lower: Array, along: Array, value: Array, used: int) -> None:
    """Lᵀ value = along: from the orthonormal vectors back to the atoms. `lower` has 1/L_kk."""
    for k in range(used - 1, -1, -1):
        a = along[k]
        for i in range(k + 1, used):
            a -= lower[i, k] * value[i]
        value[k] = a * lower[k, k]


# Rows of the Gram matrix -----------------------------------------------------------------


@compiled
def correlate_few(rows: Array, chosen: Array, products: Array) -> None:
    """products (n, w) += rows (n, d) times `chosen` (d, w), where w numbers fill a narrow vector.

    One pass over the rows, four at a time: bound by memory, where a matrix product would first
    rearrange all rows. `chosen` is taken in pieces that stay in the cache.
    """
    n, d = rows.shape
    flat, w, out = rows.reshape(-1), chosen.reshape(-1), products.reshape(-1)
    whole = n - n % 4
    for start in range(0, d, PIECE):
        end = min(start + PIECE, d)
        for r in range(0, whole, 4):
            _four_rows(flat, w, out, r, d, start, end)
        for r in range(whole, n):
            _one_row(flat, w, out, r, d, start, end)


@part
def _four_rows(flat: Array, w: Array, out: Array, r: int, d: int, start: int, end: int) -> None:
    width = NARROW // flat.itemsize
    at, to = r * d, r * width
    a0, a1 = narrow(out, to), narrow(out, to + width)
    a2, a3 = narrow(out, to + 2 * width), narrow(out, to + 3 * width)
    for i in range(start, end):
        v = narrow(w, i * width)
        a0 = plus(a0, entry(flat, at + i), v)
        a1 = plus(a1, entry(flat, at + d + i), v)
        a2 = plus(a2, entry(flat, at + 2 * d + i), v)
        a3 = plus(a3, entry(flat, at + 3 * d + i), v)
    store(out, to, a0)
    store(out, to + width, a1)
    store(out, to + 2 * width, a2)
    store(out, to + 3 * width, a3)


@part
def _one_row(flat: Array, w: Array, out: Array, r: int, d: int, start: int, end: int) -> None:
    width = NARROW // flat.itemsize
    a = narrow(out, r * width)
    for i in range(start, end):
        a = plus(a, entry(flat, r * d + i), narrow(w, i * width))
    store(out, r * width, a)


# One matrix product for each step --------------------------------------------------------


@compiled
def step_from_residuals(
    atoms: Atoms, rules: PursuitRules, state: BlockState, rest: Array, live: Array
) -> None:
    """One step of matching pursuit for each signal of `live`; `rest` are residuals (b, d).

    ``state.c[k]`` are the correlations of the residual of signal ``live[k]``.
    """
    scratch = np.empty(rest.shape[1], rest.dtype)
    for k in range(live.size):
        r, c = live[k], state.c[k]
        j = steepest(c)
        zero = rules.zero * np.sqrt(state.norm2[r])
        while abs(c[j]) <= zero * atoms.norm[j] and abs(c[j]) > zero * atoms.shortest:
            c[j] = 0
            j = steepest(c)
        if abs(c[j]) <= zero * atoms.norm[j]:
            state.status[r] = CONVERGED
            finish(atoms, rules, state, scratch, r)
            continue
        gamma = c[j] / atoms.norm2[j]
        position = 0
        while position < state.size[r] and state.chosen[r, position] != j:
            position += 1
        if position == state.size[r]:
            state.chosen[r, position], state.value[r, position] = j, 0.0
            state.size[r] += 1
        state.value[r, position] += gamma
        _take_off(rest[r], rest.dtype.type(gamma), atoms.rows[j])
        _close(atoms, rules, state, gamma * c[j], scratch, r)


@compiled
def step_orthogonally(
    atoms: Atoms,
    rules: PursuitRules,
    state: BlockState,
    rest: Array,
    live: Array,
    bases: Bases,
) -> None:
    """One step of orthogonal pursuit for each signal of `live`."""
    q, lower, along = bases
    scratch = np.empty(rest.shape[1], rest.dtype)
    for k in range(live.size):
        r = live[k]
        zero = rules.zero * np.sqrt(state.norm2[r])
        used: Any = np.int64(state.size[r])
        refused = 0.0
        j = steepest(state.c[k])
        while abs(state.c[k, j]) > zero * atoms.shortest and used < state.chosen.shape[1]:
            if abs(state.c[k, j]) > zero * atoms.norm[j]:
                pivot = _orthonormal(atoms.rows[j], q[r], lower[r], used)
                if pivot > rules.dependent * atoms.norm2[j]:
                    break
                refused = max(refused, abs(state.c[k, j]) / atoms.norm[j])
            state.c[k, j] = 0
            j = steepest(state.c[k])
        left = abs(state.c[k, j]) / atoms.norm[j]
        if left <= zero or used == state.chosen.shape[1]:
            stuck = left > zero or refused > 8 * zero
            state.status[r] = STALLED if stuck else CONVERGED
            finish(atoms, rules, state, scratch, r)
            continue
        beta = 0.0
        for i in range(rest.shape[1]):
            beta += np.float64(q[r, used, i]) * rest[r, i]
        along[r, used] = beta
        state.chosen[r, used] = j
        state.size[r] += 1
        _take_off(rest[r], rest.dtype.type(beta), q[r, used])
        solve_upper(lower[r], along[r], state.value[r], used + 1)
        _close(atoms, rules, state, beta * beta, scratch, r)


@part
def _take_off(rest: Array, gamma: Any, z: Array) -> None:
    for i in range(rest.size):
        rest[i] -= gamma * z[i]


@part
def _orthonormal(z: Array, q: Array, lower: Array, used: int) -> float:
    """q_used from z by Gram–Schmidt, twice for orthogonality in rounding; its squared length."""
    out = q[used]
    for i in range(z.size):
        out[i] = z[i]
    for k in range(used):
        lower[used, k] = 0.0
    for _ in range(2):
        for k in range(used):
            w = 0.0
            for i in range(z.size):
                w += np.float64(out[i]) * q[k, i]
            lower[used, k] += w
            _take_off(out, z.dtype.type(w), q[k])
    pivot = 0.0
    for i in range(z.size):
        pivot += np.float64(out[i]) * out[i]
    lower[used, used] = 1 / np.sqrt(pivot) if pivot > 0 else 0.0
    inverse = z.dtype.type(lower[used, used])
    for i in range(z.size):
        out[i] *= inverse
    return pivot


@part
def _close(
    atoms: Atoms,
    rules: PursuitRules,
    state: BlockState,
    decrease: float,
    scratch: Array,
    r: int,
) -> None:
    """End a step: update ‖residual‖², and see whether the signal is finished."""
    state.steps[r] += 1
    used: Any = np.int64(state.size[r])
    left2, target2 = state.residual2[r] - decrease, state.target2[r]
    if target2 >= 0 and left2 <= max(target2, rules.cancelled * state.norm2[r]):
        left2 = residual2(atoms, state, used, scratch, r)
    state.residual2[r] = left2
    state.status[r] = verdict(left2, target2, used, state.steps[r], rules)
    if state.status[r] != GOING:
        finish(atoms, rules, state, scratch, r)


# Codes ------------------------------------------------------------------------------------


@compiled
def collect(state: BlockState, scale: Array, index: Array, value: Array) -> None:
    """Write the codes of a block one after another, for atoms times `scale`."""
    at = 0
    for r in range(state.size.size):
        for k in range(state.size[r]):
            j = state.chosen[r, k]
            index[at], value[at] = j, state.value[r, k] / scale[j]
            at += 1
