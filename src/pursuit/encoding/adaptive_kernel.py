"""The parameter-free acceleration on quadratics over a finite set, compiled, many signals at once.

`accelerated` must equal the steps of `planar.PlanarStepper` in Gram form with the defaults of
method "accelerated": exact line search, all atoms explored uniformly, a start by pursuit, restarts.
What is kept for a signal has the names that it has there. Nothing here draws a number.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from pursuit.acceleration.adaptive import GROW, LOOKS, SHRINK, SLOW
from pursuit.acceleration.headings import SPOILT
from pursuit.acceleration.patience import WINDOW, time_constant
from pursuit.acceleration.planar import RENEW
from pursuit.acceleration.subspace import CUT
from pursuit.acceleration.subspace import solve_small as _solve_small
from pursuit.base.validation import Array
from pursuit.kernels.compiling import strict
from pursuit.kernels.pursuit import CONVERGED, GOING, STALLED, compiled, inlined
from pursuit.kernels.runs import Setting, Watch, ends, flat, inner, left, lowest
from pursuit.solving.driver import REFRESH

EPS = float(np.finfo(np.float64).eps)
ATOM, MEAN, LAST, AWAY, STEP, SPARE = range(6)
"""The directions that are kept: z, u, the last step, v − x, and the step being tried."""
BETA, BANK, KAPPA, RATIO = range(4)

_minimiser = strict(_solve_small)
_time_constant = strict(time_constant)


class Headings(NamedTuple):
    """Directions: coefficients, effects G·coefficients, their reach and rounding; the work done."""

    coef: Array  # (6, n)
    effect: Array  # (6, n)
    reach: Array  # (6,)
    error: Array  # (6,)
    work: Array  # (1,): products with the atoms


class Record(NamedTuple):
    """What is noted at the iteration numbers of a grid, summed over signals."""

    grid: Array
    optimum: Array  # coefficients of a minimiser for each signal, as rows
    values: Array  # f(x_t) − f*
    products: Array
    enough: float  # a signal's run ends when f(x_t) − f* is this share of the first


class Trial(NamedTuple):
    """A step that may yet be refused."""

    alpha: float
    energy: float
    decrease: float
    divergence: float
    tau: float


@strict
def accelerated(
    gram: Array,
    norms: Array,
    first: Array,
    coef: Array,
    iterations: int,
    patience: float = SLOW,
    watch: Watch | None = None,
) -> None:
    """Run every signal from zero; its first correlations are a row of `first`, its coefficients
    end in a row of `coef`. With a watch, each runs until it is finished."""
    setting = Setting(gram, norms, first, REFRESH)
    none = np.zeros(0)
    unnoted = Record(np.zeros(0, np.int64), np.zeros_like(first), none, none, 0.0)
    for i in range(len(first)):
        _run(setting, coef[i], iterations, patience, i, unnoted, watch)


@strict
def watched(gram: Array, norms: Array, first: Array, coef: Array, record: Record) -> None:
    """`accelerated` up to the end of a grid, with notes."""
    setting = Setting(gram, norms, first, REFRESH)
    for i in range(len(first)):
        _run(setting, coef[i], record.grid[-1], SLOW, i, record, None)


@inlined
def _run(
    setting: Setting,
    a: Array,
    iterations: int,
    patience: float,
    number: int,
    record: Record,
    watch: Watch | None,
) -> None:
    gram, norms, first = setting.rows, setting.bounds, setting.first[number]
    _clear(a)
    if watch is not None and left(watch, number, setting, first, 0):
        return
    n = len(first)
    s, y = first.copy(), np.zeros(n)
    kept = Headings(np.zeros((6, n)), np.zeros((6, n)), np.zeros(6), np.zeros(6), np.zeros(1))
    numbers, fallen = np.zeros(4), np.zeros(2 * WINDOW + 1)
    enough = record.enough * _rest(a, s, number, record)
    lost, place, t = patience == 0, _note(a, s, kept, number, record, 0, 0), 0
    while t < iterations:
        if t > 0 and t % REFRESH == 0:
            _recompute(gram, first, a, s)
        if not lost:
            decrease = _pursue(gram, a, s)
            kept.work[0] += 1 + 1 / n
            if decrease == 0:
                break
            fallen = _longer(fallen, t + 1)
            fallen[t + 1] = fallen[t] + decrease
            lost = _time_constant(fallen, t + 1) > patience
        else:
            if numbers[BETA] > 0 and t % RENEW == 0:
                _recompute(gram, first, a, s)
                _renew(gram, norms, kept, AWAY)
                _renew(gram, norms, kept, LAST)
            if not _accelerate(gram, norms, a, s, y, kept, numbers):
                break
        t += 1
        place, noted = _note(a, s, kept, number, record, place, t), place
        if place > noted and _rest(a, s, number, record) <= enough:
            break
        if watch is not None:
            at_least = lowest(watch, number, setting, a, s)
            if ends(watch, number, setting, a, s, t, at_least):
                break
    _note(a, s, kept, number, record, place, iterations)
    if watch is not None and watch.found.status[number] == GOING:
        nothing_left = flat(watch, number, setting, s)
        watch.found.status[number] = CONVERGED if nothing_left else STALLED


@inlined
def _note(
    a: Array, s: Array, kept: Headings, number: int, record: Record, place: int, t: int
) -> int:
    """Note all that the grid wants up to iteration t; the next place of the grid."""
    while place < len(record.grid) and record.grid[place] <= t:
        record.values[place] += _rest(a, s, number, record)
        record.products[place] += kept.work[0]
        place += 1
    return place


@inlined
def _rest(a: Array, s: Array, number: int, record: Record) -> float:
    """f(x) − f* = ½(a − a*)·s."""
    twice = 0.0
    for j in range(len(a)):
        twice += (a[j] - record.optimum[number, j]) * s[j]
    return 0.5 * twice


@inlined
def _pursue(gram: Array, a: Array, s: Array) -> float:
    """x ← x − γz along the oracle's atom; the decrease of f."""
    z = _largest(s)
    h, c = gram[z, z], s[z]
    a[z] -= c / h
    _add(s, -c / h, gram[z])
    decrease: float = c * c / (2 * h)
    return decrease


@inlined
def _longer(fallen: Array, t: int) -> Array:
    """The same array, or a copy with room for entry t."""
    if t < len(fallen):
        return fallen
    room = np.zeros(2 * t)
    _set(room[:t], fallen)
    return room


@strict
def _accelerate(
    gram: Array, norms: Array, a: Array, s: Array, y: Array, kept: Headings, numbers: Array
) -> bool:
    """One accelerated step; False where there is nothing left to gain."""
    trial = _find(gram, norms, s, y, kept, numbers)
    if not (trial.decrease > 0 and trial.energy > 0):
        if trial.energy == 0:
            _add(a, trial.tau, kept.coef[AWAY])
            _add(s, trial.tau, kept.effect[AWAY])
        return False
    numbers[BETA] += trial.alpha
    rises = inner(y, kept.coef[STEP]) > 0
    _add(a, 1.0, kept.coef[STEP])
    _add(s, 1.0, kept.effect[STEP])
    weights = np.zeros(SPARE)
    weights[MEAN], weights[AWAY], weights[STEP] = -trial.alpha, 1.0, -1.0
    _total(gram, norms, kept, weights, SPARE)  # v − x after both have moved
    _copy(kept, SPARE, AWAY)
    _copy(kept, STEP, LAST)
    if rises:
        _begin_phase(kept, numbers)
    return True


@inlined
def _find(gram: Array, norms: Array, s: Array, y: Array, kept: Headings, numbers: Array) -> Trial:
    """A step for which (⋆) holds, or one from a point with nothing to gain."""
    while True:
        beta = numbers[BETA]
        kappa = max(numbers[RATIO], SHRINK * numbers[KAPPA])
        for _ in range(LOOKS):
            trial = _try(gram, norms, s, y, kept, beta, kappa)
            if not (trial.decrease > 0 and trial.energy > 0):
                return trial
            alpha, ratio = trial.alpha, trial.energy / (2 * trial.decrease)
            if beta == 0:
                kappa, alpha = ratio, 1 / ratio
            gain = (beta + alpha) * trial.decrease + beta * trial.divergence
            bank = numbers[BANK] + gain - alpha * alpha * trial.energy / 2
            if bank >= 0 or beta == 0:
                numbers[BANK], numbers[KAPPA], numbers[RATIO] = max(bank, 0.0), kappa, ratio
                return Trial(alpha, trial.energy, trial.decrease, trial.divergence, trial.tau)
            kappa = GROW * max(ratio, kappa)
        _begin_phase(kept, numbers)


@inlined
def _try(
    gram: Array, norms: Array, s: Array, y: Array, kept: Headings, beta: float, kappa: float
) -> Trial:
    """Look at y, leave its correlations in `y` and x_{t+1} − x_t in the direction STEP."""
    alpha = (1 + sqrt(1 + 4 * beta * kappa)) / (2 * kappa) if kappa > 0 else 0.0
    tau = alpha / (beta + alpha) if beta > 0 else 1.0
    _combine(y, s, tau, kept.effect[AWAY])
    kept.work[0] += 1 + 1 / len(y)
    for j in range(len(y)):
        kept.coef[MEAN, j] = y[j] / len(y)
    energy = inner(kept.coef[MEAN], y)
    z = _largest(y)
    gamma, decrease = y[z] / gram[z, z], y[z] * y[z] / (2 * gram[z, z])
    if not (decrease > 0 and energy > 0):
        return Trial(alpha, energy, decrease, 0.0, tau)
    _clear(kept.coef[ATOM])
    kept.coef[ATOM, z] = 1
    _set(kept.effect[ATOM], gram[z])
    kept.reach[ATOM], kept.error[ATOM] = norms[z], EPS * norms[z]
    _renew(gram, norms, kept, MEAN)
    _combine(kept.effect[SPARE], y, -gamma, kept.effect[ATOM])  # the correlations after x's step
    slopes, hessian, reach2 = np.zeros(STEP), np.zeros((STEP, STEP)), np.zeros(STEP)
    for i in range(STEP):
        reach2[i] = kept.reach[i] * kept.reach[i]
        slopes[i] = inner(kept.coef[i], kept.effect[SPARE])
        for j in range(i + 1):
            hessian[i, j] = inner(kept.coef[i], kept.effect[j])
    delta, further = _minimiser(hessian, slopes, reach2, CUT * EPS)
    delta[ATOM] += gamma
    delta[AWAY] -= tau  # x_{t+1} − x_t = τ(v − x) − γz − Σ δ_i d_i
    for i in range(STEP):
        delta[i] = -delta[i]
    _total(gram, norms, kept, delta, STEP)
    divergence = 0.5 * tau * tau * max(hessian[AWAY, AWAY], 0.0)
    return Trial(alpha, energy, decrease + further, divergence, tau)


# Directions ---------------------------------------------------------------------------------


@strict
def _total(gram: Array, norms: Array, kept: Headings, weights: Array, out: int) -> None:
    """Σ weight·direction over the first directions, as `headings.total`."""
    count = len(weights)
    _clear(kept.coef[out])
    _clear(kept.effect[out])
    error = 0.0
    for k in range(count):
        _add(kept.coef[out], weights[k], kept.coef[k])
        _add(kept.effect[out], weights[k], kept.effect[k])
        error += abs(weights[k]) * (kept.error[k] + EPS * kept.reach[k])
    kept.error[out] = error
    kept.reach[out] = _reach(kept.coef[out], norms)
    if error > SPOILT * EPS * kept.reach[out]:
        _renew(gram, norms, kept, out)


@strict
def _renew(gram: Array, norms: Array, kept: Headings, k: int) -> None:
    """The effect of a direction anew from its coefficients: one product."""
    kept.work[0] += 1
    coef = kept.coef[k]
    for j in range(len(coef)):
        kept.effect[k, j] = inner(coef, gram[j])
    kept.reach[k] = _reach(coef, norms)
    kept.error[k] = EPS * kept.reach[k]


@inlined
def _copy(kept: Headings, source: int, target: int) -> None:
    _set(kept.coef[target], kept.coef[source])
    _set(kept.effect[target], kept.effect[source])
    kept.reach[target], kept.error[target] = kept.reach[source], kept.error[source]


@inlined
def _begin_phase(kept: Headings, numbers: Array) -> None:
    """v ← x, β ← 0."""
    _clear(kept.coef[AWAY])
    _clear(kept.effect[AWAY])
    kept.reach[AWAY] = kept.error[AWAY] = 0
    numbers[BETA] = numbers[BANK] = 0


# Rows of numbers: products are written out, since those of a BLAS would start threads of its own


@strict
def _largest(s: Array) -> int:
    """The first entry of the largest absolute value."""
    best, place = abs(s[0]), 0
    for j in range(1, len(s)):
        if abs(s[j]) > best:
            best, place = abs(s[j]), j
    return place


@strict
def _clear(out: Array) -> None:
    for j in range(len(out)):
        out[j] = 0


@strict
def _set(out: Array, row: Array) -> None:
    """out ← the first entries of a row."""
    for j in range(len(out)):
        out[j] = row[j]


@strict
def _add(out: Array, weight: float, row: Array) -> None:
    """out ← out + weight·row."""
    for j in range(len(out)):
        out[j] += weight * row[j]


@strict
def _combine(out: Array, row: Array, weight: float, other: Array) -> None:
    """out ← row + weight·other."""
    for j in range(len(out)):
        out[j] = row[j] + weight * other[j]


@compiled
def _reach(coef: Array, norms: Array) -> float:
    """Σ |a_j|·‖z_j‖."""
    total = 0.0
    for j in range(len(coef)):
        total += abs(coef[j]) * norms[j]
    return total


@strict
def _recompute(gram: Array, first: Array, a: Array, s: Array) -> None:
    """s = s_0 + G·a anew."""
    for j in range(len(s)):
        s[j] = first[j] + inner(a, gram[j])
