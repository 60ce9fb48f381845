"""Least squares with coefficients of at least zero and of sum one, exactly: active sets.

Lawson and Hanson's method with everything taken from G = Z Zᵀ and b = Z y: the atoms in use (the
*passive* set, in their words) have a Cholesky factor that grows by a row when an atom enters and
is rotated back to a triangle when one leaves. Kernels release the GIL and work in the `FitScratch`
that they are given. Where the sum is free, orthogonal pursuit over a cone is the method: `cone`,
the deliberate twin that lets an atom in at a time and keeps one over the diagonal of its factor.

The end is a point where no atom outside has a slope above rounding. In exact arithmetic each
entering atom lowers the value, so no set of atoms is met twice; what rounding could do to that is
cut off by a number of steps that no sound problem comes near.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.pursuit import compiled

STEPS_PER_ATOM = 30
"""Steps after which a signal is left, for each atom."""


class FitScratch(NamedTuple):
    """Scratch of one thread for problems of n atoms, and what counts as rounding.

    `order`: the atoms in use, in the order of the rows of `lower`; `inside`: whether an atom is in
    use; `barred`: whether it was tried in vain since the last move; `lower`: the Cholesky factor of
    their Gram matrix; `goal` and `unit`: solutions with it.
    An atom whose squared distance from the span of those in use is at most `dependent` times its
    squared norm does not enter; a slope at most `zero` times the numbers that it is the difference
    of is none.
    """

    order: Array
    inside: Array
    barred: Array
    lower: Array
    goal: Array
    unit: Array
    dependent: float
    zero: float


def fit_scratch(n: int, dependent: float, zero: float) -> FitScratch:
    """Scratch for problems of up to n atoms."""
    flags, order = np.zeros((2, n), np.bool_), np.zeros(n, np.int64)
    solutions = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    return FitScratch(order, flags[0], flags[1], *solutions, dependent, zero)


# The Cholesky factor of the atoms in use ---------------------------------------------------


@compiled
def _enter(gram: Array, scratch: FitScratch, k: int, j: int) -> bool:
    """Add atom j as row k; False, and nothing changed, if it depends on the others."""
    order, lower = scratch.order, scratch.lower
    rest = gram[j, j]
    for i in range(k):
        s = gram[order[i], j]
        for l in range(i):
            s -= lower[i, l] * lower[k, l]
        s /= lower[i, i]
        lower[k, i] = s
        rest -= s * s
    if not rest > scratch.dependent * gram[j, j]:
        return False
    lower[k, k] = np.sqrt(rest)
    order[k] = j
    scratch.inside[j] = True
    return True


@compiled
def _leave(scratch: FitScratch, k: int, place: int) -> None:
    """Remove row `place` of k rows: the rows below move up and are rotated to a triangle again."""
    order, lower = scratch.order, scratch.lower
    scratch.inside[order[place]] = False
    for i in range(place, k - 1):
        order[i] = order[i + 1]
        for l in range(i + 2):
            lower[i, l] = lower[i + 1, l]
    for c in range(place, k - 1):
        length = np.hypot(lower[c, c], lower[c, c + 1])
        cosine, sine = lower[c, c] / length, lower[c, c + 1] / length
        for i in range(c, k - 1):
            left, right = lower[i, c], lower[i, c + 1]
            lower[i, c] = cosine * left + sine * right
            lower[i, c + 1] = cosine * right - sine * left


@compiled
def _substitute(lower: Array, k: int, x: Array) -> None:
    """x ← (L Lᵀ)⁻¹ x."""
    for i in range(k):
        s = x[i]
        for l in range(i):
            s -= lower[i, l] * x[l]
        x[i] = s / lower[i, i]
    for i in range(k - 1, -1, -1):
        s = x[i]
        for l in range(i + 1, k):
            s -= lower[l, i] * x[l]
        x[i] = s / lower[i, i]


@compiled
def _summed_goal(b: Array, scratch: FitScratch, k: int, total: float) -> None:
    """`goal`: the coefficients of sum `total` at which the slopes b of the atoms in use agree.

    Only differences of slopes matter, so that of one atom is taken off all: a signal far from
    the atoms then costs no digits.
    """
    for i in range(k):
        scratch.goal[i] = b[scratch.order[i]] - b[scratch.order[0]]
        scratch.unit[i] = 1.0
    _substitute(scratch.lower, k, scratch.goal)
    _substitute(scratch.lower, k, scratch.unit)
    sum_goal = sum_unit = 0.0
    for i in range(k):
        sum_goal += scratch.goal[i]
        sum_unit += scratch.unit[i]
    for i in range(k):
        scratch.goal[i] += (total - sum_goal) / sum_unit * scratch.unit[i]


# Moves -------------------------------------------------------------------------------------


@compiled
def _begin(gram: Array, value: Array, scratch: FitScratch) -> int:
    """Take the atoms with a coefficient into use; how many."""
    k = 0
    for j in range(len(gram)):
        scratch.inside[j] = False
        scratch.barred[j] = False
        if value[j] > 0 and _enter(gram, scratch, k, j):
            k += 1
        else:
            value[j] = 0.0
    return k


@compiled
def _approach(value: Array, scratch: FitScratch, k: int) -> int:
    """Move towards the goal as far as no coefficient falls below zero; drop those that reach it.

    The number of atoms in use afterwards: k if the goal was reached.
    """
    t, first = 1.0, -1
    for i in range(k):
        p = scratch.order[i]
        if scratch.goal[i] <= 0:
            ratio = value[p] / (value[p] - scratch.goal[i]) if value[p] > 0 else 0.0
            if first < 0 or ratio < t:
                t, first = ratio, i
    for i in range(k):
        p = scratch.order[i]
        value[p] = scratch.goal[i] if first < 0 else value[p] + t * (scratch.goal[i] - value[p])
    if first < 0:
        return k
    value[scratch.order[first]] = 0.0
    left = k
    for i in range(k - 1, -1, -1):
        if value[scratch.order[i]] <= 0:
            value[scratch.order[i]] = 0.0
            _leave(scratch, left, i)
            left -= 1
    return left


@compiled
def _slope(gram: Array, b: Array, value: Array, scratch: FitScratch, k: int, j: int) -> float:
    """b_j − Σ G_ji a_i over the atoms i in use."""
    slope: float = b[j]
    for l in range(k):
        i = scratch.order[l]
        slope -= gram[j, i] * value[i]
    return slope


@compiled
def _next_in(
    gram: Array, b: Array, value: Array, scratch: FitScratch, k: int, above: float
) -> bool:
    """Let the atom outside of largest slope above `above` in, passing over those that depend on the
    ones in use; False if there is none."""
    while True:
        best, top = -1, above
        for j in range(len(gram)):
            if not (scratch.inside[j] or scratch.barred[j]):
                slope = _slope(gram, b, value, scratch, k, j)
                if slope > top:
                    best, top = j, slope
        if best < 0 or _enter(gram, scratch, k, best):
            return best >= 0
        scratch.barred[best] = True


@compiled
def _send_back(scratch: FitScratch, k: int) -> int:
    """Take the last atom out again: the slope that let it in was rounding."""
    scratch.barred[scratch.order[k - 1]] = True
    _leave(scratch, k, k - 1)
    return k - 1


# The method --------------------------------------------------------------------------------


@compiled
def simplex_on(gram: Array, b: Array, norm: float, value: Array, scratch: FitScratch) -> bool:
    """Minimise ½‖y − Σ a_j z_j‖² over a ≥ 0, Σ a_j = 1.

    A constant added to all of `gram` changes nothing here, and makes it positive definite for
    atoms that are affinely, if not linearly, independent: the caller sees to that.

    Parameters
    ----------
    gram, b
        Z Zᵀ and Z y for all atoms; ‖y‖ is `norm`.
    value
        On return the coefficients.
    scratch
        Scratch for as many atoms.

    Returns
    -------
    bool
        Whether the end was reached; the coefficients are feasible in any case.
    """
    best, size = _best_alone(gram, b), 0.0
    for j in range(len(gram)):
        size = max(size, np.sqrt(gram[j, j]))  # of the longest atom
        value[j] = 1.0 if j == best else 0.0
    k = _begin(gram, value, scratch)
    for _ in range(STEPS_PER_ATOM * (len(gram) + 1)):
        multiplier = 0.0
        for i in range(k):
            j = scratch.order[i]
            multiplier += value[j] * _slope(gram, b, value, scratch, k, j)
        above = multiplier + scratch.zero * (norm + size) * size
        if not _next_in(gram, b, value, scratch, k, above):
            return True
        k = _settle_summed(b, value, scratch, k + 1)
    return False


@compiled
def _best_alone(gram: Array, b: Array) -> int:
    """The atom nearest to the signal."""
    best = 0
    for j in range(1, len(gram)):
        if (b[j] - b[best]) - 0.5 * (gram[j, j] - gram[best, best]) > 0:
            best = j
    return best


@compiled
def _settle_summed(b: Array, value: Array, scratch: FitScratch, k: int) -> int:
    """Go to the minimiser over the atoms in use, the last of which has just come in, dropping
    those that reach zero on the way; the sum of the coefficients stays one. How many are left."""
    fresh = True
    while True:
        _summed_goal(b, scratch, k, 1.0)
        if fresh and scratch.goal[k - 1] <= 0:
            return _send_back(scratch, k)
        fresh = False
        before, k = k, _approach(value, scratch, k)
        if k == before:
            break
    scratch.barred[:] = False
    return k


# Blocks of signals -------------------------------------------------------------------------


@compiled
def simplex(
    gram: Array, b: Array, norms: Array, value: Array, done: Array, scratch: FitScratch, flag: Array
) -> None:
    """`simplex_on` for every row of b, unless the interrupt flag is set."""
    for s in range(len(b)):
        if flag[0]:
            break
        done[s] = simplex_on(gram, b[s], norms[s], value[s], scratch)


@compiled
def refine_simplex(gram: Array, slopes: Array, value: Array, scratch: FitScratch) -> None:
    """One correction on the atoms in use by slopes taken from the residual itself.

    Makes up for the digits that forming Z Zᵀ costs, as in corrected seminormal equations; the sum
    of the coefficients is brought back to one.
    """
    for s in range(len(value)):
        k = _begin(gram, value[s], scratch)
        missing = 1.0
        for p in range(len(gram)):
            missing -= value[s, p]
        _summed_goal(slopes[s], scratch, k, missing)
        total = _add_goal(value[s], scratch, k)
        for p in range(len(gram)):
            value[s, p] /= total


@compiled
def _add_goal(value: Array, scratch: FitScratch, k: int) -> float:
    """Add the goal to the coefficients, as far as zero allows; their sum."""
    total = 0.0
    for i in range(k):
        p = scratch.order[i]
        value[p] = max(value[p] + scratch.goal[i], 0.0)
        total += value[p]
    return total
