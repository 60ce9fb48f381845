"""What all kernels of `encode` share, and those of matching pursuit and orthogonal pursuit.

A handful of atoms has a kernel of its own in `few_atoms`, cones are in `cone`, the random and the
paper's accelerated methods in `runs`.

A kernel works through a block of signals and changes the arrays that it is given, so that it can
be left and entered again: `Outcome` is its state and its result. Kernels release the GIL, draw no
random numbers and allocate at most a row of scratch for a call, nothing for a signal. Correlations
are rows padded with zeros to whole tiles (see `simd`).

The atoms of a kernel are unit rows, or all rows times one number (`norm2` tells); signals have a
comfortable scale. Both are seen to at the door.
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
MAX_ATOMS = Status.MAX_ATOMS.code
STALLED = Status.STALLED.code
GOING = 255
"""The status of a signal that is not finished."""
HALTED = 254
"""The status of one that was left since its call was interrupted; nobody gets to see it."""
HEEDED = 16
"""Steps between two looks at whether it was: a look takes as long as a step over few atoms."""
NOTHING = -1
"""What a kernel returns when it needs no further row of the Gram matrix."""
BLURRED = 1e-6
"""The share of ‖residual‖² that rounding may have made of it before it is computed."""
NEAR = 100.0
"""One over the squared distance of an atom from those before it, as a share of its squared norm,
above which the factor loses digits that are missed."""
WORTH = 1e-3
"""The share of ‖residual‖² that an atom has to promise for a signal not to have converged."""
SHARPENED = 2
"""Corrections of coefficients whose factor has lost digits."""
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
    """The dictionary: rows (n, d), their squared norms, their norms, and the least of these."""

    rows: Array
    norm2: Array
    norm: Array
    shortest: float


class GramCache(NamedTuple):
    """Rows of Z Zᵀ (k, padded n), and which row belongs to an atom (−1: none yet)."""

    rows: Array
    slot: Array


class PursuitRules(NamedTuple):
    """When to stop, and what counts as zero.

    A slope of an atom below `rounding` × ‖signal‖ × ‖atom‖ is zero. ‖residual‖² is updated by
    differences while it is above `trust` × ‖signal‖², else computed from the coefficients. An atom
    whose squared distance to the active ones is below `dependent` of its squared norm is never
    added.
    Where `halt` is set meanwhile, nothing more is to be done (`pursuit.base.threads`).
    """

    n_nonzero: int
    max_iter: int
    rounding: float
    trust: float
    dependent: float
    halt: Array


class Block(NamedTuple):
    """Signals (b, d), their correlations with the atoms (b, padded n), norms, residual goals."""

    x: Array
    c: Array
    norm2: Array
    goal2: Array


class Outcome(NamedTuple):
    """The state of each signal, and in the end its code for the atoms of the kernel."""

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
    one over its diagonal; `along` ⟨signal, q_k⟩; `weight`, `change` and `rest` are room for one
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


@routine
def residual2(atoms: Atoms, block: Block, found: Outcome, used: Any, rest: Array, r: int) -> float:
    """‖x − Σ value_k z_k‖² of signal r, from its definition."""
    x, rows = block.x[r], atoms.rows
    for i in range(x.size):
        rest[i] = x[i]
    for k in range(0, used - used % 2, 2):
        a, y = x.dtype.type(found.value[r, k]), rows[found.chosen[r, k]]
        b, z = x.dtype.type(found.value[r, k + 1]), rows[found.chosen[r, k + 1]]
        for i in range(x.size):
            rest[i] -= a * y[i] + b * z[i]
    if used % 2:
        a, y = x.dtype.type(found.value[r, used - 1]), rows[found.chosen[r, used - 1]]
        for i in range(x.size):
            rest[i] -= a * y[i]
    total = 0.0
    for i in range(x.size):
        total += np.float64(rest[i]) * np.float64(rest[i])
    return total


@part
def verdict(left2: float, goal2: float, used: int, steps: int, rules: PursuitRules) -> int:
    """Whether a signal is finished, in the order of `solve`: fit, atoms, iterations."""
    if steps % HEEDED == 0 and rules.halt[0]:
        return HALTED
    if left2 <= goal2:
        return CONVERGED
    if used >= rules.n_nonzero:
        return MAX_ATOMS
    if steps >= rules.max_iter:
        return MAX_ITER
    return GOING


@part
def settle(
    atoms: Atoms,
    rules: PursuitRules,
    block: Block,
    found: Outcome,
    zero: float,
    rest: Array,
    r: int,
) -> None:
    """The true ‖residual‖² of a finished signal; CONVERGED if nothing but rounding is left."""
    if found.residual2[r] <= rules.trust * block.norm2[r]:
        used = np.int64(found.size[r])
        found.residual2[r] = residual2(atoms, block, found, used, rest, r)
        if found.residual2[r] <= zero * zero:
            found.status[r] = CONVERGED


# Matching pursuit ------------------------------------------------------------------------


@uncounted
def matching_pursuit(
    atoms: Atoms, gram: GramCache, rules: PursuitRules, block: Block, found: Outcome, work: Scratch
) -> int:
    """`methods.matching_pursuit` on ½‖x − signal‖² for every signal of a block.

    Returns the atom whose row of the Gram matrix is missing, or NOTHING.
    """
    for r in range(block.c.shape[0]):
        if found.status[r] == GOING:
            missing = _pursue(atoms, gram, rules, block, found, work, r)
            if missing != NOTHING:
                return missing
    return NOTHING


@part
def _pursue(
    atoms: Atoms,
    gram: GramCache,
    rules: PursuitRules,
    block: Block,
    found: Outcome,
    work: Scratch,
    r: int,
) -> int:
    """Signal r. `_pursue_orthogonally` is its deliberate twin: a compiled loop over one signal
    keeps its numbers in registers, and cannot be handed what differs."""
    c, norm2, goal2 = block.c[r], block.norm2[r], block.goal2[r]
    zero = rules.rounding * np.sqrt(norm2)
    used: Any = np.int64(found.size[r])
    steps, left2 = found.steps[r], found.residual2[r]
    status = verdict(left2, goal2, used, steps, rules)
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
            found.chosen[r, used] = j
            found.value[r, used] = 0.0
            used += 1
            work.place[j] = used
        found.value[r, work.place[j] - 1] += gamma  # x_{t+1} = x_t − γ z_t
        steps += 1
        left2 -= gamma * c[j]
        if goal2 >= 0 and left2 <= rules.trust * norm2:
            left2 = residual2(atoms, block, found, used, work.rest, r)
        status = verdict(left2, goal2, used, steps, rules)
        if status == GOING:
            j = descend(c, gamma, gram.rows[gram.slot[j]])
    _write_down(found, r, used, steps, status, left2)
    if status != GOING:
        settle(atoms, rules, block, found, zero, work.rest, r)
        for k in range(used):
            work.place[found.chosen[r, k]] = 0
    return missing


@part
def _write_down(found: Outcome, r: int, used: int, steps: int, status: int, left2: float) -> None:
    """Where a signal is left."""
    found.size[r], found.steps[r], found.status[r] = used, steps, status
    found.residual2[r] = left2


# Orthogonal pursuit ----------------------------------------------------------------------


@uncounted
def orthogonal(
    atoms: Atoms, gram: GramCache, rules: PursuitRules, block: Block, found: Outcome, work: Scratch
) -> int:
    """`methods.orthogonal` on ½‖x − signal‖² for every signal of a block.

    With q_1, q_2, … the active atoms made orthonormal in the order of their arrival, the
    correlations after atom j are c − ⟨q, signal⟩ ⟨z, q⟩ over all z, and ⟨z, q⟩ follows from row j
    of the Gram matrix: a Cholesky factor that grows by one row, without triangular solves.
    Returns the atom whose row is missing, or NOTHING.
    """
    for r in range(block.c.shape[0]):
        if found.status[r] == GOING:
            missing = _pursue_orthogonally(atoms, gram, rules, block, found, work, r)
            if missing != NOTHING:
                return missing
    return NOTHING


@part
def _pursue_orthogonally(
    atoms: Atoms,
    gram: GramCache,
    rules: PursuitRules,
    block: Block,
    found: Outcome,
    work: Scratch,
    r: int,
) -> int:
    """Signal r; the deliberate twin of `_pursue`, with a factor that grows."""
    c, norm2, goal2 = block.c[r], block.norm2[r], block.goal2[r]
    used: Any = np.int64(found.size[r])
    steps, left2 = found.steps[r], found.residual2[r]
    zero, blur = rules.rounding * np.sqrt(norm2), 0.0
    for k in range(used):
        zero, blur = _doubt(atoms, rules, work, k, np.int64(found.chosen[r, k]), zero, blur)
    status = verdict(left2, goal2, used, steps, rules)
    j, missing, refused = steepest(c), NOTHING, 0.0
    while status == GOING:
        if abs(c[j]) <= zero * atoms.norm[j]:
            if abs(c[j]) <= zero * atoms.shortest:
                status = STALLED if refused > 8 * zero else CONVERGED
                break
            j = _other(c, j)  # rounding; so small a slope may be more for a shorter atom
            continue
        if used == found.chosen.shape[1]:
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
        found.chosen[r, used] = j
        left2 -= work.along[used] * work.along[used]
        zero, blur = _doubt(atoms, rules, work, used, j, zero, blur)
        used, steps = used + 1, steps + 1
        if goal2 >= 0 and (left2 <= rules.trust * norm2 or blur > BLURRED * left2):
            solve_upper(work.lower, work.along, found.value[r], used)
            left2 = residual2(atoms, block, found, used, work.rest, r)
        status = verdict(left2, goal2, used, steps, rules)
        if status == GOING:
            j, refused = _extend(work, used - 1, c, gram.rows[gram.slot[j]]), 0.0
    _write_down(found, r, used, steps, status, left2)
    if status != GOING:
        solve_upper(work.lower, work.along, found.value[r], used)
        if blur > BLURRED * left2:
            _sharpen(atoms, rules, block, found, work, r)
        settle(atoms, rules, block, found, zero, work.rest, r)
    return missing


@part
def _doubt(
    atoms: Atoms, rules: PursuitRules, work: Scratch, k: int, j: Any, zero: float, blur: float
) -> tuple[float, float]:
    """How far a short pivot magnifies rounding, in the slope of an atom of unit norm and, where it
    is short enough to be missed there, in ‖residual‖²."""
    nearness = work.lower[k, k] * atoms.norm[j]
    doubt = abs(work.along[k]) * nearness
    blurred = doubt * doubt if nearness * nearness > NEAR else 0.0
    return zero + rules.rounding * doubt, blur + rules.rounding * blurred


@part
def _sharpen(
    atoms: Atoms, rules: PursuitRules, block: Block, found: Outcome, work: Scratch, r: int
) -> None:
    """Coefficients, ‖residual‖² and status of a signal whose factor has lost too many digits.

    The residual itself says what is missing from the fit: the fit of the residual is added, as in
    corrected seminormal equations, as long as that helps.
    """
    used: Any = np.int64(found.size[r])
    left2, worse = np.inf, False
    for turn in range(SHARPENED + 2):
        now2 = residual2(atoms, block, found, used, work.rest, r)
        if worse:
            break  # the residual is that of the best coefficients again
        worse = turn > 0 and not now2 < left2
        if not worse:
            left2 = now2
            if turn == SHARPENED:
                break
            _fit_the_rest(atoms, found, work, used, r)
        for k in range(used):
            found.value[r, k] += -work.change[k] if worse else work.change[k]
    found.residual2[r] = left2
    if found.status[r] == CONVERGED:
        _doubt_the_end(atoms, rules, block, found, work, r)


@part
def _fit_the_rest(atoms: Atoms, found: Outcome, work: Scratch, used: int, r: int) -> None:
    """`change` ← the coefficients of the residual in the active atoms."""
    for k in range(used):
        slope = _slope(atoms.rows[found.chosen[r, k]], work.rest)
        for i in range(k):
            slope -= work.lower[k, i] * work.along[i]
        work.along[k] = slope * work.lower[k, k]
    solve_upper(work.lower, work.along, work.change, used)


@part
def _doubt_the_end(
    atoms: Atoms, rules: PursuitRules, block: Block, found: Outcome, work: Scratch, r: int
) -> None:
    """STALLED where an atom could still take off a part of the residual, which is in `work`: the
    factor only cannot tell that atom from the chosen ones any more."""
    used: Any = np.int64(found.size[r])
    left2, terms = found.residual2[r], np.sqrt(block.norm2[r])
    for k in range(used):
        terms += abs(found.value[r, k]) * atoms.norm[found.chosen[r, k]]
    rounded = 8 * rules.rounding * terms
    if left2 <= max(rounded * rounded, block.goal2[r]):
        return
    for j in range(len(atoms.norm)):
        norm2, slope = atoms.norm2[j], _slope(atoms.rows[j], work.rest)
        apart2 = max(_distance2(work, used, j, norm2), rules.dependent * norm2)
        if slope * slope > WORTH * apart2 * left2:
            found.status[r] = STALLED


@part
def _distance2(work: Scratch, used: int, j: int, norm2: float) -> float:
    """The squared distance of atom j to the span of the active atoms."""
    tile = WIDE // work.basis.itemsize
    at = (j // tile) * tile * work.weight.size + j % tile
    distance2 = float(norm2)
    for k in range(used):
        w = np.float64(work.basis[at + k * tile])
        distance2 -= w * w
    return distance2


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
    atoms: Atoms, rules: PursuitRules, block: Block, rest: Array, live: Array, found: Outcome
) -> None:
    """One step of matching pursuit for each signal of `live`; `rest` are residuals (b, d).

    ``block.c[k]`` are the correlations of the residual of signal ``live[k]``.
    """
    room = np.empty(rest.shape[1], rest.dtype)
    for k in range(live.size):
        r, c = live[k], block.c[k]
        j = steepest(c)
        zero = rules.rounding * np.sqrt(block.norm2[r])
        while abs(c[j]) <= zero * atoms.norm[j] and abs(c[j]) > zero * atoms.shortest:
            c[j] = 0
            j = steepest(c)
        if abs(c[j]) <= zero * atoms.norm[j]:
            found.status[r] = CONVERGED
            settle(atoms, rules, block, found, zero, room, r)
            continue
        gamma = c[j] / atoms.norm2[j]
        position = 0
        while position < found.size[r] and found.chosen[r, position] != j:
            position += 1
        if position == found.size[r]:
            found.chosen[r, position], found.value[r, position] = j, 0.0
            found.size[r] += 1
        found.value[r, position] += gamma
        _take_off(rest[r], rest.dtype.type(gamma), atoms.rows[j])
        _close(atoms, rules, block, found, gamma * c[j], zero, room, r)


@compiled
def step_orthogonally(
    atoms: Atoms,
    rules: PursuitRules,
    block: Block,
    rest: Array,
    live: Array,
    found: Outcome,
    bases: Bases,
) -> None:
    """One step of orthogonal pursuit for each signal of `live`."""
    q, lower, along = bases
    room = np.empty(rest.shape[1], rest.dtype)
    for k in range(live.size):
        r = live[k]
        zero = rules.rounding * np.sqrt(block.norm2[r])
        used: Any = np.int64(found.size[r])
        refused = 0.0
        j = steepest(block.c[k])
        while abs(block.c[k, j]) > zero * atoms.shortest and used < found.chosen.shape[1]:
            if abs(block.c[k, j]) > zero * atoms.norm[j]:
                pivot = _orthonormal(atoms.rows[j], q[r], lower[r], used)
                if pivot > rules.dependent * atoms.norm2[j]:
                    break
                refused = max(refused, abs(block.c[k, j]) / atoms.norm[j])
            block.c[k, j] = 0
            j = steepest(block.c[k])
        left = abs(block.c[k, j]) / atoms.norm[j]
        if left <= zero or used == found.chosen.shape[1]:
            stuck = left > zero or refused > 8 * zero
            found.status[r] = STALLED if stuck else CONVERGED
            settle(atoms, rules, block, found, zero, room, r)
            continue
        beta = 0.0
        for i in range(rest.shape[1]):
            beta += np.float64(q[r, used, i]) * rest[r, i]
        along[r, used] = beta
        found.chosen[r, used] = j
        found.size[r] += 1
        _take_off(rest[r], rest.dtype.type(beta), q[r, used])
        solve_upper(lower[r], along[r], found.value[r], used + 1)
        _close(atoms, rules, block, found, beta * beta, zero, room, r)


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
    block: Block,
    found: Outcome,
    fallen: float,
    zero: float,
    room: Array,
    r: int,
) -> None:
    """The end of a step: what is left of the signal, and whether it is finished."""
    found.steps[r] += 1
    used: Any = np.int64(found.size[r])
    left2 = found.residual2[r] - fallen
    if block.goal2[r] >= 0 and left2 <= rules.trust * block.norm2[r]:
        left2 = residual2(atoms, block, found, used, room, r)
    found.residual2[r] = left2
    found.status[r] = verdict(left2, block.goal2[r], used, found.steps[r], rules)
    if found.status[r] != GOING:
        settle(atoms, rules, block, found, zero, room, r)


# Codes ------------------------------------------------------------------------------------


@compiled
def collect(
    found: Outcome, unscale: Array, scale: Array, index: Array, value: Array, largest: float
) -> int:
    """The codes of a block one after another, for the signals and atoms as given.

    Returns the first signal whose coefficients leave the range of their type, or NOTHING; the
    range is that of normal numbers, from about 1/largest to `largest`.
    """
    at, bad = 0, NOTHING
    for r in range(found.size.size):
        top = 0.0
        for k in range(found.size[r]):
            j = found.chosen[r, k]
            a = found.value[r, k] * unscale[r] / scale[j]
            top = max(top, abs(a))
            index[at], value[at] = j, a
            at += 1
        if bad == NOTHING and (top > largest or (found.size[r] > 0 and top * largest < 1)):
            bad = r
    return bad
