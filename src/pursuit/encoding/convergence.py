"""How methods converge on some signals, all at once, by what `encode` runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import Silent
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array, count, real_array, shaped_array
from pursuit.encoding.conjugate import losses
from pursuit.encoding.stepwise import (
    REFRESH,
    Draws,
    MethodArrays,
    Schedule,
    advance,
    iterates,
    rules_of,
    segments,
)
from pursuit.kernels.runs import Iterates, Record, Setting
from pursuit.methods import Method, accelerated
from pursuit.objectives.problem import Problem
from pursuit.objectives.quadratic import SquaredDistance

BLOCK = 256
"""Signals that are run together and share a stream of draws, whatever the number of threads."""
RESOLUTION = 1e-12
"""Losses below this share of the first one are rounding, and equal."""


@dataclass(frozen=True, eq=False)
class ConvergenceCurve:
    """How far a method has come.

    Attributes
    ----------
    values
        Σ over signals of f(x_t) − f*, at every iteration number; what rounding takes below 0 is 0.
    products
        Products with the atoms up to there, for one signal.
    nu
        The ν or ν′ in use; nan for a method without.
    """

    values: Array
    products: Array
    nu: float


def _end(curve: ConvergenceCurve) -> tuple[float, int]:
    """Where a run ended, rounding being equal, and for how many records it was above it."""
    smallest = RESOLUTION * curve.values[0]
    return max(float(curve.values[-1]), smallest), int(np.sum(curve.values > smallest))


@dataclass(frozen=True, eq=False)
class BatchProblem:
    """f(x) = ½‖x − b‖² for every row b of `signals`, over the atoms as they are."""

    atoms: Dictionary
    signals: Array

    @cached_property
    def problem(self) -> Problem:
        """One f for all: the methods use its Hessian only."""
        return Problem(SquaredDistance(np.zeros(self.atoms.shape)), self.atoms)

    @cached_property
    def gram(self) -> Array:
        gram: Array = self.atoms.matrix @ self.atoms.matrix.T
        return gram

    @cached_property
    def correlations(self) -> Array:
        """Z∇f(0) of every signal."""
        correlations: Array = -self.signals @ self.atoms.matrix.T
        return correlations

    @cached_property
    def optimum(self) -> Array:
        """The shortest coefficients of the projection of every signal onto lin(A)."""
        best: Array = np.linalg.lstsq(self.atoms.matrix.T, self.signals.T, rcond=None)[0]
        return best.T

    @cached_property
    def floor(self) -> float:
        """Σ over signals of f*."""
        rest = self.signals - self.optimum @ self.atoms.matrix
        return 0.5 * float(np.vdot(rest, rest))

    def best(
        self, methods: list[Method], grid: Array, seed: int, bar: Silent | None = None
    ) -> ConvergenceCurve | None:
        """The run that ends lowest, and of those that end in rounding the first one there."""
        curves = [self.curve(method, grid, seed, bar) for method in methods]
        found = [curve for curve in curves if curve is not None]
        return min(found, key=_end, default=None)

    def curve(
        self, method: Method, grid: Array, seed: int, bar: Silent | None = None
    ) -> ConvergenceCurve | None:
        """Run a method; None where it has no form for many signals at once."""
        rules = rules_of(method, self.problem)
        if rules is not None:
            blending = method.momentum.blending(method.advance, self.problem)
            nu = np.nan if blending is None or blending.stiffness is None else blending.nu
            return self._compiled(rules, nu, grid, seed, bar)
        return self._conjugate(grid, bar) if method == accelerated() else None

    def _compiled(
        self, rules: MethodArrays, nu: float, grid: Array, seed: int, bar: Silent | None
    ) -> ConvergenceCurve:
        runs = run_batch(
            rules, self.gram, self.correlations, grid, optimum=self.optimum, seed=seed, bar=bar
        )
        return ConvergenceCurve(np.maximum(runs.values, 0), rules.products * grid, nu)

    def _conjugate(self, grid: Array, bar: Silent | None) -> ConvergenceCurve:
        best = self.optimum @ self.atoms.matrix
        values, steps = losses(self.atoms.matrix, self.signals, best, int(grid[-1]))
        if bar is not None:
            bar.update(-(-len(self.signals) // BLOCK))
        # A run that ended stays where it ended. Each step looks at all atoms and combines them.
        spent = np.minimum(steps[:, None], grid).mean(axis=0)
        return ConvergenceCurve(values[np.minimum(grid, len(values) - 1)], 2 * spent, np.nan)


# Runs ----------------------------------------------------------------------------------------


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
    batch = _BlockRuns(
        rules,
        np.ascontiguousarray(G, dtype),
        np.ascontiguousarray(s0, dtype),
        None if optimum is None else shaped_array("optimum", optimum, s0.shape),
        at,
        count("seed", seed),
        Schedule(rules, dtype),
    )
    blocks = -(-len(s0) // BLOCK)
    coef, sums = np.empty_like(batch.correlations), np.empty((blocks, len(batch.grid)))

    def block(number: int) -> None:
        coef[number * BLOCK : (number + 1) * BLOCK], sums[number] = batch.run(number)

    for_each_block(blocks, lambda: block, thread_count(threads), bar)
    with np.errstate(invalid="ignore", over="ignore"):
        values = sums.sum(axis=0)
    values[~np.isfinite(values)] = np.inf
    return Runs(batch.grid, values, coef)


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


def _value(x: Iterates, reference: Iterates) -> float:
    coef = x.coef.astype(np.float64) - reference.coef
    return 0.5 * float(np.vdot(coef, x.s.astype(np.float64) + reference.s))


def _grid(grid: object) -> Array:
    numbers = np.asarray(grid)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu":
        raise InputError("grid: expected a list of iteration numbers")
    numbers = numbers.astype(np.int64)
    if numbers[0] < 0 or (np.diff(numbers) <= 0).any():
        raise InputError("grid: expected increasing iteration numbers of at least 0")
    return numbers
