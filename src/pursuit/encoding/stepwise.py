"""Random pursuit and the paper's accelerated methods: many signals, each with a run of its own.

A method becomes arrays (`MethodArrays`), and two kernels serve every combination of them. Each
signal is run as `solve` runs it, with draws of its own, until its own stopping rule is met. There
are two forms:

* **gram**: correlations are kept up to date by rows of the Gram matrix;
* **products**: where a step looks at one atom only, the residual will do: O(d) a step, and no Gram
  matrix. It is chosen where atoms are many (n > 2d), or too many for one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.errors import InputError
from pursuit.base.roots import next_weight
from pursuit.base.validation import Array
from pursuit.encoding.block import Block, KernelEncoder
from pursuit.encoding.methods import METHODS, EncodingMethod
from pursuit.encoding.plan import WORK_BYTES, Plan, Workload, possible_forms
from pursuit.encoding.pursuits import symmetric_product
from pursuit.kernels.pursuit import GOING, Atoms, BlockState, PursuitRules
from pursuit.kernels.runs import (
    Iterates,
    Record,
    Setting,
    Span,
    Watch,
    accelerated,
    collect_runs,
    plain,
)
from pursuit.methods import NAMED, Method
from pursuit.objectives.problem import Problem
from pursuit.objectives.quadratic import SquaredDistance
from pursuit.rules.directions import Draw
from pursuit.rules.steps import bounds_of

REFRESH = 1000
"""Iterations between two computations of correlations or residuals from the coefficients."""
SEGMENT = 4096
"""Iterations for which atoms are drawn ahead."""
BLOCK_WORK = 2**24
"""Numbers that the steps of a block touch: enough to make up for what it costs in Python."""


# Methods as arrays -------------------------------------------------------------------------


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


# One segment of a block --------------------------------------------------------------------


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


# The plan ----------------------------------------------------------------------------------


def choose(
    load: Workload, atoms: Atoms, method: EncodingMethod, nonnegative: bool
) -> dict[str, Any]:
    """Return what a plan says of the form and the blocks: functions of the dictionary and the
    limits, and not of the number of signals.

    Draws belong to blocks: signals that come from an iterator get those of an array.
    """
    n, d = load.n, load.d
    forms = possible_forms(load, ("gram",) if method.needs_gram else ("gram", "products"))
    if "gram" not in forms or (len(forms) > 1 and (n > 2 * d or not load.gram_fits)):
        text = "residuals, one atom at a time"
        return {"form": "products", "block": _block(load, d), "text": text}
    if not load.gram_fits:
        able = ", ".join(other.name for other in METHODS.values() if not other.needs_gram)
        raise InputError(
            f"atoms: {method.name} needs the Gram matrix of all {n:,} atoms, "
            f"{load.gram_size / 2**30:.3g} GiB, above the limit of "
            f"{load.gram_bytes / 2**30:.3g} GiB; expected fewer atoms, or one of the methods {able}"
        )
    text = f"Gram matrix of {load.gram_size / 2**20:.3g} MiB"
    return {"form": "gram", "block": _block(load, n), "text": text}


def _block(load: Workload, length: int) -> int:
    """Signals of a block, where a step touches `length` numbers."""
    steps = min(load.steps, SEGMENT)
    whole = BLOCK_WORK // (steps * length) // 64 * 64
    row = (2 * load.n + 4 * length) * load.itemsize + 12 * load.width + 8 * steps
    return max(1, min(max(64, whole), 1024, WORK_BYTES // row))


# Blocks of signals -------------------------------------------------------------------------


def start(atoms: Atoms, plan: Plan, threads: int) -> Callable[[], StepwiseEncoder]:
    """Do the dictionary's part; return what gives a thread its encoder of blocks."""
    rules = _method_arrays(atoms, plan)
    duplicates, moves = Duplicates.none(), atoms.rows
    if plan.form == "gram":
        moves = symmetric_product(atoms.rows, len(atoms.rows), threads)
        duplicates = Duplicates.of(atoms, moves)
        duplicates.copy(moves)
    schedule = Schedule(rules, plan.dtype)
    return lambda: StepwiseEncoder(atoms, plan, rules, moves, duplicates, schedule)


def _method_arrays(atoms: Atoms, plan: Plan) -> MethodArrays:
    """The method over the atoms, with the L and ν of the squared distance."""
    f = SquaredDistance(np.zeros(atoms.rows.shape[1], plan.dtype))
    rules = rules_of(NAMED[plan.method](), Problem(f, Dictionary(atoms.rows)))
    assert rules is not None, plan.method
    return rules


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Atoms that are an earlier one, or its negative.

    They get its correlations to the last bit, so that the oracle never prefers them to it.
    """

    places: Array
    earlier: Array
    signs: Array

    @staticmethod
    def none() -> Duplicates:
        return Duplicates(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))

    @staticmethod
    def of(atoms: Atoms, gram: Array) -> Duplicates:
        rows, earlier, signs = atoms.rows, [], []
        for j in atoms.duplicates.tolist():
            alike = np.flatnonzero(np.abs(gram[j, :j]) >= 0.99 * atoms.norm2[j])
            same = (i for i in alike if np.array_equal(np.abs(rows[i]), np.abs(rows[j])))
            earlier.append(int(next(same)))
            signs.append(np.sign(gram[j, earlier[-1]]))
        return Duplicates(atoms.duplicates, np.array(earlier, np.intp), np.array(signs, rows.dtype))

    def copy(self, correlations: Array) -> None:
        if self.places.size:
            correlations[:, self.places] = correlations[:, self.earlier] * self.signs


class StepwiseEncoder(KernelEncoder):
    """Signals are watched while they run on correlations or on residuals."""

    def __init__(
        self,
        atoms: Atoms,
        plan: Plan,
        method: MethodArrays,
        moves: Array,
        duplicates: Duplicates,
        schedule: Schedule,
    ) -> None:
        # The kernels of these methods keep correlations of their own.
        super().__init__(atoms, plan, np.empty((0, 0), plan.dtype))
        self.method, self.moves = method, moves
        self.duplicates, self.schedule = duplicates, schedule
        self.bounds = method.bounds.astype(plan.dtype)
        self.rest = np.empty_like(atoms.rows[0])

    def run(self, state: BlockState, rules: PursuitRules, block: Block) -> None:
        exact2, is_gram = state.norm2.copy(), self.plan.form == "gram"
        watch = Watch(self.atoms, rules, state, exact2, self.rest, is_gram)
        first = self._first(state.x)
        setting = Setting(self.moves, self.bounds, first, REFRESH)
        n = len(self.bounds)
        x, v = iterates(first, n), iterates(first, n)  # x_0 = v_0
        draws = Draws(self.method, len(first), self.plan.rng, block.number)
        unrecorded = Record(np.empty(0, np.int64), np.empty(0), x)
        for span in segments(self.plan.max_iter):
            drawn, weights = draws(span), self.schedule(span[0])
            advance(setting, x, v, drawn, weights, span, unrecorded, watch)
            if not (state.status == GOING).any():
                break
        collect_runs(watch, x.coef)

    def _first(self, x: Array) -> Array:
        """∇f(0) = −signal, or its correlations."""
        if self.plan.form != "gram":
            return -x
        correlations: Array = np.matmul(x, self.atoms.rows.T)
        np.negative(correlations, out=correlations)
        self.duplicates.copy(correlations)
        return correlations
