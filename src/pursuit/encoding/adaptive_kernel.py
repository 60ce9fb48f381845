"""The parameter-free acceleration on quadratics over a finite set, compiled, many signals at once.

`accelerated` must equal the steps of `planar.PlanarStepper` in Gram form with the defaults of
method "accelerated": exact line search, all atoms explored uniformly, a start by pursuit, restarts.
What is kept for a signal has the names that it has there. Nothing here draws a number.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from pursuit.adaptive import GROW, LOOKS, SHRINK, SLOW
from pursuit.driver import REFRESH
from pursuit.headings import SPOILT
from pursuit.patience import WINDOW
from pursuit.planar import RENEW
from pursuit.subspace import CUT
from pursuit.subspace import solve_small as _solve_small
from pursuit.validation import Array

EPS = float(np.finfo(np.float64).eps)
ATOM, MEAN, LAST, AWAY, STEP, SPARE = range(6)
"""The directions that are kept: z, u, the last step, v − x, and the step being tried."""
BETA, BANK, KAPPA, RATIO = range(4)

_minimiser = njit(cache=True, nogil=True)(_solve_small)


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


@njit(cache=True, nogil=True)
def accelerated(
    gram: Array, norms: Array, first: Array, coef: Array, iterations: int, patience: float = SLOW
) -> None:
    """Run every signal from zero; its first correlations are a row of `first`, its coefficients
    end in a row of `coef`."""
    unwatched = Record(np.zeros(0, np.int64), np.zeros_like(first), np.zeros(0), np.zeros(0), 0.0)
    for i in range(len(first)):
        _run(gram, norms, first[i], coef[i], iterations, patience, i, unwatched)


@njit(cache=True, nogil=True)
def watched(gram: Array, norms: Array, first: Array, coef: Array, record: Record) -> None:
    """`accelerated` up to the end of a grid, with notes."""
    for i in range(len(first)):
        _run(gram, norms, first[i], coef[i], record.grid[-1], SLOW, i, record)


@njit(cache=True, nogil=True)
def _run(
    gram: Array,
    norms: Array,
    first: Array,
    a: Array,
    iterations: int,
    patience: float,
    number: int,
    record: Record,
) -> None:
    n = len(first)
    a[:] = 0
    s, y = first.copy(), np.zeros(n)
    kept = Headings(np.zeros((6, n)), np.zeros((6, n)), np.zeros(6), np.zeros(6), np.zeros(1))
    numbers, fallen = np.zeros(4), np.zeros(iterations + 1)
    enough = record.enough * _rest(a, s, number, record)
    lost, place = patience == 0, _note(a, s, kept, number, record, 0, 0)
    for t in range(iterations):
        if t > 0 and t % REFRESH == 0:
            s[:] = first + gram @ a
        if not lost:
            decrease = _pursue(gram, a, s)
            kept.work[0] += 1 + 1 / n
            if decrease == 0:
                break
            fallen[t + 1] = fallen[t] + decrease
            lost = _time_constant(fallen, t + 1) > patience
        else:
            if numbers[BETA] > 0 and t % RENEW == 0:
                s[:] = first + gram @ a
                _renew(gram, norms, kept, AWAY)
                _renew(gram, norms, kept, LAST)
            if not _accelerate(gram, norms, a, s, y, kept, numbers):
                break
        place, noted = _note(a, s, kept, number, record, place, t + 1), place
        if place > noted and _rest(a, s, number, record) <= enough:
            break
    _note(a, s, kept, number, record, place, iterations)


@njit(cache=True, nogil=True)
def _note(
    a: Array, s: Array, kept: Headings, number: int, record: Record, place: int, t: int
) -> int:
    """Note all that the grid wants up to iteration t; the next place of the grid."""
    while place < len(record.grid) and record.grid[place] <= t:
        record.values[place] += _rest(a, s, number, record)
        record.products[place] += kept.work[0]
        place += 1
    return place


@njit(cache=True, nogil=True)
def _rest(a: Array, s: Array, number: int, record: Record) -> float:
    """f(x) − f* = ½(a − a*)·s."""
    rest: float = 0.5 * np.dot(a - record.optimum[number], s)
    return rest


@njit(cache=True, nogil=True)
def _pursue(gram: Array, a: Array, s: Array) -> float:
    """x ← x − γz along the oracle's atom; the decrease of f."""
    z = np.argmax(np.abs(s))
    h, c = gram[z, z], s[z]
    a[z] -= c / h
    s -= (c / h) * gram[z]
    decrease: float = c * c / (2 * h)
    return decrease


@njit(cache=True, nogil=True)
def _time_constant(fallen: Array, t: int) -> float:
    window = max(WINDOW, t // 4)
    if t < 2 * window:
        return 0.0
    last = fallen[t] - fallen[t - window]
    before = fallen[t - window] - fallen[t - 2 * window]
    if last >= before:
        return np.inf
    return window / log(before / last) if last > 0 else 0.0


@njit(cache=True, nogil=True)
def _accelerate(
    gram: Array, norms: Array, a: Array, s: Array, y: Array, kept: Headings, numbers: Array
) -> bool:
    """One accelerated step; False where there is nothing left to gain."""
    trial = _find(gram, norms, s, y, kept, numbers)
    if not (trial.decrease > 0 and trial.energy > 0):
        if trial.energy == 0:
            a += trial.tau * kept.coef[AWAY]
            s += trial.tau * kept.effect[AWAY]
        return False
    numbers[BETA] += trial.alpha
    rises = np.dot(y, kept.coef[STEP]) > 0
    a += kept.coef[STEP]
    s += kept.effect[STEP]
    weights = np.array([0.0, -trial.alpha, 0.0, 1.0, -1.0])
    _total(gram, norms, kept, weights, SPARE)  # v − x after both have moved
    _copy(kept, SPARE, AWAY)
    _copy(kept, STEP, LAST)
    if rises:
        _begin_phase(kept, numbers)
    return True


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _try(
    gram: Array, norms: Array, s: Array, y: Array, kept: Headings, beta: float, kappa: float
) -> Trial:
    """Look at y, leave its correlations in `y` and x_{t+1} − x_t in the direction STEP."""
    alpha = (1 + sqrt(1 + 4 * beta * kappa)) / (2 * kappa) if kappa > 0 else 0.0
    tau = alpha / (beta + alpha) if beta > 0 else 1.0
    y[:] = s + tau * kept.effect[AWAY]
    kept.work[0] += 1 + 1 / len(y)
    kept.coef[MEAN] = y / len(y)
    energy = np.dot(kept.coef[MEAN], y)
    z = np.argmax(np.abs(y))
    gamma, decrease = y[z] / gram[z, z], y[z] * y[z] / (2 * gram[z, z])
    if not (decrease > 0 and energy > 0):
        return Trial(alpha, energy, decrease, 0.0, tau)
    kept.coef[ATOM] = 0
    kept.coef[ATOM, z] = 1
    kept.effect[ATOM] = gram[z]
    kept.reach[ATOM], kept.error[ATOM] = norms[z], EPS * norms[z]
    _renew(gram, norms, kept, MEAN)
    plane = kept.coef[:STEP]
    slopes, hessian = plane @ (y - gamma * gram[z]), plane @ kept.effect[:STEP].T
    delta, further = _minimiser(hessian, slopes, kept.reach[:STEP] ** 2, CUT * EPS)
    delta[ATOM] += gamma
    delta[AWAY] -= tau  # x_{t+1} − x_t = τ(v − x) − γz − Σ δ_i d_i
    _total(gram, norms, kept, -delta, STEP)
    divergence = 0.5 * tau * tau * max(hessian[AWAY, AWAY], 0.0)
    return Trial(alpha, energy, decrease + further, divergence, tau)


# Directions ---------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _total(gram: Array, norms: Array, kept: Headings, weights: Array, out: int) -> None:
    """Σ weight·direction over the first directions, as `headings.total`."""
    count = len(weights)
    kept.coef[out] = weights @ kept.coef[:count]
    kept.effect[out] = weights @ kept.effect[:count]
    kept.reach[out] = np.dot(np.abs(kept.coef[out]), norms)
    error = 0.0
    for k in range(count):
        error += abs(weights[k]) * (kept.error[k] + EPS * kept.reach[k])
    kept.error[out] = error
    if error > SPOILT * EPS * kept.reach[out]:
        _renew(gram, norms, kept, out)


@njit(cache=True, nogil=True)
def _renew(gram: Array, norms: Array, kept: Headings, k: int) -> None:
    """The effect of a direction anew from its coefficients: one product."""
    kept.work[0] += 1
    kept.effect[k] = gram @ kept.coef[k]
    kept.reach[k] = np.dot(np.abs(kept.coef[k]), norms)
    kept.error[k] = EPS * kept.reach[k]


@njit(cache=True, nogil=True)
def _copy(kept: Headings, source: int, target: int) -> None:
    kept.coef[target], kept.effect[target] = kept.coef[source], kept.effect[source]
    kept.reach[target], kept.error[target] = kept.reach[source], kept.error[source]


@njit(cache=True, nogil=True)
def _begin_phase(kept: Headings, numbers: Array) -> None:
    """v ← x, β ← 0."""
    kept.coef[AWAY] = 0
    kept.effect[AWAY] = 0
    kept.reach[AWAY] = kept.error[AWAY] = 0
    numbers[BETA] = numbers[BANK] = 0
