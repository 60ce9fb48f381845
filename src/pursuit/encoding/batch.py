"""Blocks of signals through random pursuit and the paper's accelerated methods.

Each signal is run as `solve` runs it, with draws of its own (`runs.Draws`), until its own
stopping rule is met. There are two forms:

* **gram**: correlations are kept up to date by rows of the Gram matrix;
* **residuals**: where a step looks at one atom only, the residual will do: O(d) a step, and no Gram
  matrix. It is chosen where atoms are many (n > 2d), or too many for one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.errors import InputError
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array
from pursuit.encoding import forms
from pursuit.encoding.buffers import fresh, room_for
from pursuit.encoding.job import Chunk, Job
from pursuit.encoding.offered import OFFERED, Stepwise
from pursuit.encoding.plan import WORK_BYTES, Form, Plan, Task, asked
from pursuit.encoding.runs import (
    SEGMENT,
    Draws,
    MethodArrays,
    Schedule,
    advance,
    iterates,
    rules_of,
    segments,
)
from pursuit.kernels.layouts import Piece
from pursuit.kernels.pursuit import GOING, Block
from pursuit.kernels.runs import Record, Setting, Watch, close
from pursuit.methods import NAMED
from pursuit.objectives.problem import Problem
from pursuit.objectives.quadratic import SquaredDistance
from pursuit.solving.loop import REFRESH

BLOCK_WORK = 2**24
"""Numbers that the steps of a block touch: enough to make up for what it costs in Python."""


# The plan -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchPlan(Plan):
    """How a job of these methods is done, in words. `Form.PRODUCTS` stands for residuals."""

    words: str

    def __str__(self) -> str:
        return f"{self.words}, blocks of {self.block} signals"


def plan(method: Stepwise, task: Task) -> BatchPlan:
    """The form and the blocks: functions of the job alone, and not of the number of signals.

    Draws belong to blocks: signals that come from an iterator get those of an array.
    """
    n, d = task.n, task.d
    gram = n * n * task.itemsize
    ways = asked(task, (Form.GRAM,) if method.needs_gram else (Form.GRAM, Form.PRODUCTS))
    if Form.GRAM not in ways or (len(ways) > 1 and (n > 2 * d or not task.gram_fits)):
        words = "residuals, one atom at a time"
        return BatchPlan(Form.PRODUCTS, _block(task, d), task.width, 0, words)
    if not task.gram_fits:
        able = ", ".join(other.name for other in OFFERED.values() if not other.needs_gram)
        raise InputError(
            f"atoms: {method.name} needs the Gram matrix of all {n:,} atoms, "
            f"{gram / 2**30:.3g} GiB, above the limit of {task.gram_bytes / 2**30:.3g} GiB; "
            f"expected fewer atoms, or one of the methods {able}"
        )
    words = f"Gram matrix of {gram / 2**20:.3g} MiB"
    return BatchPlan(Form.GRAM, _block(task, n), task.width, gram, words)


def _block(task: Task, length: int) -> int:
    """Signals of a block, where a step touches `length` numbers."""
    steps = min(task.steps, SEGMENT)
    whole = BLOCK_WORK // (steps * length) // 64 * 64
    room = (2 * task.n + 4 * length) * task.itemsize + 12 * task.width + 8 * steps
    return max(1, min(max(64, whole), 1024, WORK_BYTES // room))


# The work -----------------------------------------------------------------------------------


def encoder(job: Job, threads: int) -> Callable[[], Callable[[Chunk], Piece]]:
    """What gives a thread its encoder; the dictionary's part is done here, once."""
    rules, twins = job_rules(job), Twins.none()
    moves = job.atoms.rows
    if job.plan.form is Form.GRAM:
        moves = forms.symmetric_product(job.atoms.rows, len(job.atoms.rows), threads)
        twins = Twins.of(job, moves)
        twins.copy(moves)
    schedule = Schedule(rules, job.dtype)
    return lambda: StepwiseBlocks(job, rules, moves, twins, schedule)


def job_rules(job: Job) -> MethodArrays:
    """The method over the atoms of a job, with the L and ν of the squared distance."""
    f = SquaredDistance(np.zeros(job.atoms.rows.shape[1], job.dtype))
    with single_threaded_blas:
        rules = rules_of(NAMED[job.method.name](), Problem(f, Dictionary(job.atoms.rows)))
    assert rules is not None, job.method.name
    return rules


@dataclass(frozen=True, eq=False)
class Twins:
    """Atoms that are an earlier one, or its negative.

    They get its correlations to the last bit, so that the oracle never prefers them to it.
    """

    places: Array
    earlier: Array
    signs: Array

    @staticmethod
    def none() -> Twins:
        return Twins(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))

    @staticmethod
    def of(job: Job, gram: Array) -> Twins:
        rows, earlier, signs = job.atoms.rows, [], []
        for j in job.twins.tolist():
            alike = np.flatnonzero(np.abs(gram[j, :j]) >= 0.99 * job.atoms.norm2[j])
            same = (i for i in alike if np.array_equal(np.abs(rows[i]), np.abs(rows[j])))
            earlier.append(int(next(same)))
            signs.append(np.sign(gram[j, earlier[-1]]))
        return Twins(job.twins, np.array(earlier, np.intp), np.array(signs, job.dtype))

    def copy(self, correlations: Array) -> None:
        if self.places.size:
            correlations[:, self.places] = correlations[:, self.earlier] * self.signs


class StepwiseBlocks:
    """Signals come in, are watched while they run on correlations or on residuals, and leave."""

    def __init__(
        self, job: Job, rules: MethodArrays, moves: Array, twins: Twins, schedule: Schedule
    ) -> None:
        self.job, self.rules, self.moves = job, rules, moves
        self.twins, self.schedule = twins, schedule
        self.bounds = rules.bounds.astype(job.dtype)
        self.room = room_for(job.plan.block, job.width)
        self.rest = np.empty_like(job.atoms.rows[0])

    def __call__(self, chunk: Chunk) -> Piece:
        job = self.job
        signals = job.load(chunk)
        found = fresh(self.room, signals)
        # The kernels of these methods keep correlations of their own.
        unused = np.empty((0, 0), job.dtype)
        block = Block(signals.x, unused, signals.norm2, job.goal.squared(signals))
        sure, correlated = signals.norm2.copy(), job.plan.form is Form.GRAM
        rules = job.rules_of(chunk)
        watch = Watch(job.atoms, rules, block, found, sure, self.rest, correlated)
        close(watch, self._run(chunk.number, watch))
        return job.finish(chunk, signals, found)

    def _run(self, number: int, watch: Watch) -> Array:
        """The coefficients of a block in the end."""
        first = self._first(watch.block.x)
        setting = Setting(self.moves, self.bounds, first, REFRESH)
        n = len(self.bounds)
        x, v = iterates(first, n), iterates(first, n)  # x_0 = v_0
        draws = Draws(self.rules, len(first), self.job.seed, number)
        unrecorded = Record(np.empty(0, np.int64), np.empty(0), x)
        for span in segments(self.job.rules.max_iter):
            drawn, weights = draws(span), self.schedule(span[0])
            advance(setting, x, v, drawn, weights, span, unrecorded, watch)
            if not (watch.found.status == GOING).any():
                break
        return x.coef

    def _first(self, x: Array) -> Array:
        """∇f(0) = −signal, or its correlations."""
        if self.job.plan.form is not Form.GRAM:
            return -x
        correlations: Array = np.matmul(x, self.job.atoms.rows.T)
        np.negative(correlations, out=correlations)
        self.twins.copy(correlations)
        return correlations
