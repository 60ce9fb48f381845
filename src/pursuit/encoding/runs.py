"""Compiled runs of the paper's methods: many signals, one quadratic Hessian, one set of atoms.

A method becomes arrays (`MethodArrays`), and two kernels serve every combination of them. Each
signal's run equals `solve` on it with the same draws.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import Silent
from pursuit.base.roots import next_weight
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array, count, real_array, shaped_array
from pursuit.kernels.runs import (
    Iterates,
    Record,
    Setting,
    Span,
    Watch,
    accelerated,
    plain,
)
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.rules.directions import Draw
from pursuit.rules.steps import bounds_of
from pursuit.solving.loop import REFRESH

BLOCK = 256
"""Signals that are run together and share a stream of draws, whatever the number of threads."""
SEGMENT = 4096
"""Iterations for which atoms are drawn ahead."""


@dataclass(frozen=True, eq=False)
class MethodArrays:
    """A method over a finite set, as arrays.

    Attributes
    ----------
    bounds
        h_j, one curvature bound an atom: γ = ⟨∇f, z_j⟩ / h_j.
    picks
        How the atoms of x are drawn; None: the oracle picks them.
    probes
        How the atoms of v are drawn; None: v moves along the atom of x.
    stiffness
        L·ν of Algorithms 3 and 4; None: there is no v.
    """

    bounds: Array
    picks: Draw | None = None
    probes: Draw | None = None
    stiffness: float | None = None

    @property
    def products(self) -> float:
        """Products with the atoms that one iteration costs, counted as `solve` counts them."""
        single = 1 / len(self.bounds)
        look = 1.0 if self.picks is None else single
        if self.stiffness is None:
            return look + single  # the move of x
        return look + 2 * single + (0 if self.probes is None else single)


class Schedule:
    """α_t and τ_t of Algorithms 3 and 4, computed once for all blocks, a segment at a time.

    α²Lν = β + α;  β ← β + α;  τ = α/β.
    """

    def __init__(self, rules: MethodArrays, dtype: np.dtype[Any]) -> None:
        self._stiffness, self._dtype = rules.stiffness, dtype
        self._beta = 0.0
        self._segments: list[tuple[Array, Array]] = []
        self._lock = threading.Lock()

    def __call__(self, start: int) -> tuple[Array, Array]:
        """The weights of the segment that begins at an iteration; empty where there is no v."""
        if self._stiffness is None:
            return np.empty(0, self._dtype), np.empty(0, self._dtype)
        with self._lock:
            while len(self._segments) <= start // SEGMENT:
                self._segments.append(self._next(self._stiffness))
            return self._segments[start // SEGMENT]

    def _next(self, stiffness: float) -> tuple[Array, Array]:
        alphas, taus = np.empty(SEGMENT), np.empty(SEGMENT)
        for k in range(SEGMENT):
            alpha = next_weight(self._beta, stiffness)
            self._beta += alpha
            alphas[k], taus[k] = alpha, alpha / self._beta
        return alphas.astype(self._dtype), taus.astype(self._dtype)


class Draws:
    """The atoms drawn for the signals of a block, a segment after another.

    A block has a generator for the atoms of x and one for those of v, from the seed and its
    number alone.
    """

    def __init__(self, rules: MethodArrays, signals: int, seed: int, block: int) -> None:
        self._rules, self._signals = rules, signals
        seeds = np.random.SeedSequence(seed, spawn_key=(block,)).spawn(2)
        self._rngs = [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]

    def __call__(self, span: Span) -> tuple[Array, Array]:
        """Picks and probes of a segment, a row for each signal; an empty row asks the oracle."""
        shape = self._signals, len(self._rules.bounds)
        picks, probes = (
            _drawn(draw, rng, shape, span)
            for draw, rng in zip((self._rules.picks, self._rules.probes), self._rngs, strict=True)
        )
        return picks, probes


def segments(steps: int) -> Iterator[Span]:
    """The iterations 0 … steps − 1 in the pieces that atoms are drawn for."""
    return ((start, min(start + SEGMENT, steps)) for start in range(0, steps, SEGMENT))


def rules_of(method: Method, problem: Problem) -> MethodArrays | None:
    """`method` as arrays, or None where one of its rules has no such form.

    Parameters
    ----------
    method
        What a function of `pursuit.methods` returns.
    problem
        A quadratic over a finite set. Of f only the Hessian is used, so that one f stands for
        all signals.
    """
    advance = method.advance
    direction, step = advance.direction, advance.step
    if direction is None or step is None or problem.atoms.finite is None:
        return None
    bounds, blending = bounds_of(step, problem), method.momentum.blending(advance, problem)
    if bounds is None or blending is None:
        return None
    probe = blending.probe
    rules = [direction] if probe is None else [direction, probe]
    draws = [rule.draws(problem) for rule in rules]
    if any(d is None and not rule.exact for d, rule in zip(draws, rules, strict=True)):
        return None
    return MethodArrays(bounds, draws[0], None if probe is None else draws[1], blending.stiffness)


@dataclass(frozen=True, eq=False)
class Runs:
    """The end of the runs, and what was recorded on the way.

    Attributes
    ----------
    grid
        Iteration numbers.
    values
        Σ over signals of f(x_t) − f(x*), or of f(x_t) − f(x_0) where no optimum was given; +inf
        once it has left the range of numbers.
    coef
        The last coefficients of every signal, as rows.
    """

    grid: Array
    values: Array
    coef: Array


def run_batch(
    rules: MethodArrays,
    gram: object,
    correlations: object,
    grid: object,
    *,
    optimum: object | None = None,
    seed: int = 0,
    threads: int | None = None,
    bar: Silent | None = None,
) -> Runs:
    """Run a method on many signals from the same start x_0.

    Parameters
    ----------
    rules
        From `rules_of`.
    gram
        G = Z H Zᵀ, shape (n, n).
    correlations
        Z∇f(x_0) of every signal, shape (signals, n): ``-signals @ atoms.T`` for the squared
        distance from zero.
    grid
        Increasing iteration numbers at which the sum of the values is recorded; the last is
        where the runs end.
    optimum
        Coefficients of a minimiser for every signal, counted from x_0. The values are then
        ½ (a − a*)·s, accurate however close they come to the floor.
    seed
        Of random methods. Every signal has draws of its own, and they do not depend on `threads`.
    threads
        ``PURSUIT_THREADS``, else all cores, where not given.
    bar
        Told how many blocks of `BLOCK` signals are done.
    """
    s0 = real_array("correlations", correlations, ndim=2)
    n = len(rules.bounds)
    shaped_array("correlations", s0, (len(s0), n))
    G = shaped_array("gram", gram, (n, n))
    dtype = np.result_type(s0, G)
    at = _grid(grid)
    job = _BlockRuns(
        rules,
        np.ascontiguousarray(G, dtype),
        np.ascontiguousarray(s0, dtype),
        None if optimum is None else shaped_array("optimum", optimum, s0.shape),
        at,
        count("seed", seed),
        Schedule(rules, dtype),
    )
    blocks = -(-len(s0) // BLOCK)
    coef, sums = np.empty_like(job.correlations), np.empty((blocks, len(job.grid)))

    def block(number: int) -> None:
        coef[number * BLOCK : (number + 1) * BLOCK], sums[number] = job.run(number)

    for_each_block(blocks, lambda: block, thread_count(threads), bar)
    with np.errstate(invalid="ignore", over="ignore"):
        values = sums.sum(axis=0)
    values[~np.isfinite(values)] = np.inf
    return Runs(job.grid, values, coef)


@dataclass(frozen=True, eq=False)
class _BlockRuns:
    """All that a block of signals needs."""

    rules: MethodArrays
    gram: Array
    correlations: Array
    optimum: Array | None
    grid: Array
    seed: int
    schedule: Schedule

    def run(self, block: int) -> tuple[Array, Array]:
        """The last coefficients of a block, and the sums of its values on the grid."""
        rows = slice(block * BLOCK, (block + 1) * BLOCK)
        first = self.correlations[rows]
        reference = self._reference(rows)
        bounds = self.rules.bounds.astype(first.dtype)
        setting = Setting(self.gram, bounds, first, REFRESH)
        x, v = iterates(first, len(bounds)), iterates(first, len(bounds))  # x_0 = v_0
        draws = Draws(self.rules, len(first), self.seed, block)
        sums = np.zeros(len(self.grid))
        if self.grid[0] == 0:
            sums[0] = _value(x, reference)
        for span in segments(int(self.grid[-1])):
            here = slice(*np.searchsorted(self.grid, span, side="right"))
            record = Record(self.grid[here], sums[here], reference)
            advance(setting, x, v, draws(span), self.schedule(span[0]), span, record)
        return x.coef, sums

    def _reference(self, rows: slice) -> Iterates:
        """The point that values are counted from: x*, where s = 0, or x_0, where a = 0."""
        first = self.correlations[rows]
        if self.optimum is None:
            return iterates(first, first.shape[1])
        zero = np.zeros_like(first)
        return iterates(zero, first.shape[1])._replace(coef=self.optimum[rows].astype(first.dtype))


def advance(
    setting: Setting,
    x: Iterates,
    v: Iterates,
    draws: tuple[Array, Array],
    weights: tuple[Array, Array],
    span: Span,
    record: Record,
    watch: Watch | None = None,
) -> None:
    """One segment of a block, by the kernel that its rules need."""
    if weights[0].size:
        accelerated(setting, x, v, *draws, weights, span, record, watch)
    else:
        plain(setting, x, draws[0], span, record, watch)


def iterates(s: Array, n: int) -> Iterates:
    """Zero coefficients of n atoms and a copy of their s."""
    own = s.copy()
    return Iterates(np.zeros((len(s), n), s.dtype), own, own.view(f"i{own.itemsize}"))


def _value(x: Iterates, reference: Iterates) -> float:
    coef = x.coef.astype(np.float64) - reference.coef
    return 0.5 * float(np.vdot(coef, x.s.astype(np.float64) + reference.s))


def _drawn(
    draw: Draw | None, rng: np.random.Generator, shape: tuple[int, int], span: Span
) -> Array:
    """The atoms of a segment; an empty array tells a kernel to ask the oracle."""
    signals, n = shape
    if draw is None:
        return np.empty((signals, 0), np.int32)
    drawn = np.ascontiguousarray(draw(rng, signals, span), np.int32)
    # Kernels do not look where they read: what they are given has to fit.
    if drawn.shape != (signals, span[1] - span[0]) or drawn.min() < 0 or drawn.max() >= n:
        raise InputError(
            f"draws: expected row numbers below {n} for {signals} signals and iterations "
            f"{span[0]} to {span[1]}, got an array of shape {drawn.shape}"
        )
    return drawn


def _grid(grid: object) -> Array:
    numbers = np.asarray(grid)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu":
        raise InputError("grid: expected a list of iteration numbers")
    numbers = numbers.astype(np.int64)
    if numbers[0] < 0 or (np.diff(numbers) <= 0).any():
        raise InputError("grid: expected increasing iteration numbers of at least 0")
    return numbers
