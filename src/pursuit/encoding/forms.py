"""The forms of a plan, run: each gives the codes of a block of signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.encoding import kernels
from pursuit.encoding.blocks import for_each_block
from pursuit.encoding.codes import Piece
from pursuit.encoding.kernels import Atoms, Bases, Block, Found, Gram, Rules, Work
from pursuit.encoding.lanes import NARROW, WIDE
from pursuit.encoding.limits import Limits
from pursuit.encoding.plan import Form, Plan
from pursuit.encoding.prepare import Signals, prepare_signals
from pursuit.errors import InputError
from pursuit.progress import Silent
from pursuit.validation import Array

GRAM_TILE = 1024
"""Rows and columns of the Gram matrix that one product gives."""
ROWS_PER_CHUNK = 512
"""Atoms that a thread takes at a time where one signal is worked on by all threads."""


@dataclass(frozen=True)
class Goal:
    """Residual norms to stop at: relative to the signal's, and absolute; None: no such test."""

    rtol: float | None
    atol: float | None

    @property
    def given(self) -> bool:
        return self.rtol is not None or self.atol is not None

    def squared(self, signals: Signals) -> Array:
        """The squared residual norm at which each signal is finished; −1: never."""
        if not self.given:
            return np.full(len(signals.norm2), -1.0)
        relative = (self.rtol or 0.0) * np.sqrt(signals.norm2)
        absolute = (self.atol or 0.0) / signals.unscale
        squared: Array = np.maximum(relative, absolute) ** 2
        return squared


@dataclass(frozen=True)
class Job:
    """Signals to encode, and everything that does not change from block to block.

    `twins` are atoms equal to an earlier one. Their correlations are kept at zero, so that the
    earlier one is chosen whatever the rounding of a product is.
    """

    signals: Array
    atoms: Atoms
    twins: Array
    scale: Array
    rules: Rules
    goal: Goal
    orthogonal: bool
    plan: Plan

    @property
    def width(self) -> int:
        """The most atoms of a code."""
        return self.plan.width

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.atoms.rows.dtype

    @property
    def padded(self) -> int:
        """The length of a row of correlations: whole tiles."""
        tile = WIDE // self.dtype.itemsize
        return -(-len(self.atoms.rows) // tile) * tile

    @property
    def blocks(self) -> int:
        return -(-len(self.signals) // self.plan.block)

    def correlate(self, x: Array, out: Array) -> None:
        """out (b, padded) = x (b, d) times the atoms; what is beyond them stays zero."""
        np.matmul(x, self.atoms.rows.T, out=out[:, : len(self.atoms.rows)])
        if self.twins.size:
            out[:, self.twins] = 0

    def load(self, number: int) -> Signals:
        start = number * self.plan.block
        return prepare_signals(self.signals[start : start + self.plan.block], self.dtype, start)

    def finish(self, number: int, signals: Signals, found: Found) -> Piece:
        """The codes in the scales of the user."""
        indices = np.empty(int(found.size.sum()), np.int32)
        values = np.empty(len(indices), self.dtype)
        largest = float(np.finfo(self.dtype).max)
        bad = kernels.collect(found, signals.unscale, self.scale, indices, values, largest)
        if bad != kernels.NOTHING:
            raise InputError(
                f"signals: the coefficients of signal {number * self.plan.block + bad} are outside "
                f"the range of {self.dtype}; expected signals and atoms of nearer scales"
            )
        residuals = np.sqrt(np.maximum(found.residual2, 0.0)) * signals.unscale
        kept = found.size.copy(), found.steps.copy(), found.status.copy()
        return Piece(kept[0], indices, values, residuals, kept[1], kept[2])


def rules(limits: Limits, dtype: np.dtype[Any]) -> Rules:
    """The rules of the kernels in a precision."""
    eps = float(np.finfo(dtype).eps)
    # Differences of squares carry an error of about eps: below 1e-4 of what is left here.
    trust = 2e-3 if dtype == np.float32 else 1e-5
    return Rules(limits.n_nonzero, limits.max_iter, 8 * eps, trust, 64 * eps)


def run(job: Job, threads: int, bar: Silent) -> list[Piece]:
    """The codes of every block, in order."""
    pieces: list[Piece | None] = [None] * job.blocks
    encode_block, shared = encoder(job, threads)

    def start() -> Callable[[int], None]:
        encode = encode_block()

        def one(number: int) -> None:
            pieces[number] = encode(number)

        return one

    for_each_block(job.blocks, start, 1 if shared else threads, bar)
    return [piece for piece in pieces if piece is not None]


Encoder = Callable[[int], Piece]


def encoder(job: Job, threads: int) -> tuple[Callable[[], Encoder], bool]:
    """What gives a thread its encoder, and whether one encoder uses all threads itself."""
    if job.plan.form is Form.COLUMNS:
        columns = Columns(job, threads)
        return (lambda: columns), True
    if job.plan.form is Form.PRODUCTS:
        return (lambda: Products(job)), False
    gram = symmetric_product(job.atoms.rows, job.padded, threads)
    gram[:, job.twins] = 0
    if Abreast.suits(job):
        return (lambda: Abreast(job, gram)), False
    return (lambda: GramRows(job, gram)), False


# Room --------------------------------------------------------------------------------------


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros that begin on a cache line, so that vector loads do not straddle two."""
    total = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(total + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + total].view(dtype).reshape(shape)


def _room(b: int, width: int) -> Found:
    return Found(
        np.empty((b, width), np.int32),
        np.empty((b, width)),
        np.empty(b, np.int32),
        np.empty(b),
        np.empty(b, np.int64),
        np.empty(b, np.uint8),
    )


def _fresh(room: Found, signals: Signals) -> Found:
    """The state of signals that nothing was done to yet."""
    found = Found(*(array[: len(signals.x)] for array in room))
    found.size[:] = 0
    found.residual2[:] = signals.norm2
    found.steps[:] = 0
    found.status[:] = kernels.GOING
    return found


def _work(job: Job) -> Work:
    width = job.width if job.orthogonal else 0
    return Work(
        np.zeros(len(job.atoms.rows), np.int32),
        aligned((width * job.padded,), job.dtype),
        np.zeros((width, width)),
        np.zeros(width),
        np.zeros(width, job.dtype),
        np.empty(job.atoms.rows.shape[1], job.dtype),
    )


# The Gram matrix ---------------------------------------------------------------------------


def symmetric_product(rows: Array, padded: int, threads: int) -> Array:
    """Z Zᵀ with rows padded by zeros: the products of half of the tiles, mirrored."""
    n = len(rows)
    # One cache line more: rows a power of two apart would compete for the same few of them.
    gram = aligned((n, padded + 64 // rows.itemsize), rows.dtype)
    pieces = _pieces(n, min(GRAM_TILE, -(-n // 256) * 64))
    pairs = [(a, b) for k, a in enumerate(pieces) for b in pieces[k:]]

    def job(number: int) -> None:
        here, there = pairs[number]
        np.matmul(rows[here], rows[there].T, out=gram[here, there])
        if here != there:
            gram[there, here] = gram[here, there].T

    for_each_block(len(pairs), lambda: job, threads)
    return gram


def _pieces(total: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


class GramRows:
    """One product for the correlations of a block, then one pass over a row of G for each step."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        self.gram = Gram(gram, np.arange(len(gram), dtype=np.int32))
        self.room = _room(job.plan.block, job.width)
        self.work = _work(job)
        self.c = aligned((job.plan.block, job.padded), job.dtype)
        self.kernel = kernels.orthogonal if job.orthogonal else kernels.matching_pursuit

    def __call__(self, number: int) -> Piece:
        job = self.job
        signals = job.load(number)
        b = len(signals.x)
        job.correlate(signals.x, self.c[:b])
        block = Block(signals.x, self.c[:b], signals.norm2, job.goal.squared(signals))
        found = _fresh(self.room, signals)
        self.kernel(job.atoms, self.gram, job.rules, block, found, self.work)
        return job.finish(number, signals, found)


class Abreast:
    """Matching pursuit over a handful of atoms: one signal in each lane of a vector."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        n, tile = len(gram), WIDE // job.dtype.itemsize
        b = -(-job.plan.block // tile) * tile
        self.gram = np.ascontiguousarray(gram[:, :n])
        self.c, self.step, self.value = (aligned((n, b), job.dtype) for _ in range(3))
        self.zero, self.steps = aligned((b,), job.dtype), aligned((b,), job.dtype)
        self.room = _room(job.plan.block, n)

    @staticmethod
    def suits(job: Job) -> bool:
        """Few unit atoms, no limit on them, no residual to watch."""
        few = len(job.atoms.rows) <= kernels.FEW and len(job.atoms.rows) < job.rules.n_nonzero
        unit = bool(np.all(np.abs(job.atoms.norm2 - 1) < 1e-5))
        # Steps are counted in lanes, in the type of the signals.
        countable = job.rules.max_iter < 2**23
        return few and unit and countable and not (job.orthogonal or job.goal.given)

    def __call__(self, number: int) -> Piece:
        job = self.job
        signals = job.load(number)
        b = len(signals.x)
        for array in (self.c, self.value, self.zero, self.steps):
            array[...] = 0
        np.matmul(job.atoms.rows, signals.x.T, out=self.c[:, :b])
        self.c[job.twins] = 0
        before = self.c.copy()
        self.zero[:b] = job.rules.rounding * job.atoms.radius * np.sqrt(signals.norm2)
        kernels.few_atoms(
            self.gram, job.rules, self.c, self.zero, self.step, self.value, self.steps
        )
        found = _fresh(self.room, signals)
        found.steps[:] = self.steps[:b]
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        kernels.gather_few(job.atoms, job.rules, block, before, self.c, self.value, found)
        return job.finish(number, signals, found)


# Columns on demand -------------------------------------------------------------------------


class Columns:
    """One signal at a time, all threads on it; columns of G are kept from signal to signal."""

    def __init__(self, job: Job, threads: int) -> None:
        self.job, self.threads = job, threads
        self.pieces = _pieces(len(job.atoms.rows), ROWS_PER_CHUNK)
        self.slot = np.full(len(job.atoms.rows), -1, np.int32)
        self.known: list[int] = []
        self.capacity = max(2 * job.width, 64)
        self.columns = aligned((self.capacity, job.padded), job.dtype)
        self.c = aligned((1, job.padded), job.dtype)
        self.room = _room(1, job.width)
        self.work = _work(job)
        self.kernel = kernels.orthogonal if job.orthogonal else kernels.matching_pursuit

    def __call__(self, number: int) -> Piece:
        job = self.job
        signals = job.load(number)
        self._correlate(signals.x[0])
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        found = _fresh(self.room, signals)
        while True:
            gram = Gram(self.columns, self.slot)
            missing = self.kernel(job.atoms, gram, job.rules, block, found, self.work)
            if missing == kernels.NOTHING:
                return job.finish(number, signals, found)
            self._fetch(missing)

    def _correlate(self, x: Array) -> None:
        rows, c = self.job.atoms.rows, self.c[0]

        def job(number: int) -> None:
            here = self.pieces[number]
            np.matmul(rows[here], x, out=c[here])

        for_each_block(len(self.pieces), lambda: job, self.threads)
        c[self.job.twins] = 0

    def _fetch(self, missing: int) -> None:
        """Columns of the missing atom and of the best others that are not there yet."""
        rows = self.job.atoms.rows
        width = min(NARROW // rows.itemsize, len(rows) - len(self.known))
        size = np.abs(self.c[0, : len(rows)])
        size[self.slot >= 0] = -1.0
        size[missing] = np.inf
        chosen = np.argpartition(size, -width)[-width:]
        if len(self.known) + width > self.capacity:
            self._forget()
        spread = np.zeros((rows.shape[1], NARROW // rows.itemsize), rows.dtype)
        spread[:, :width] = rows[chosen].T
        places = np.arange(len(self.known), len(self.known) + width)
        self._multiply(spread, places)
        self.slot[chosen] = places
        self.known.extend(chosen.tolist())

    def _forget(self) -> None:
        """Make room: the older half of the columns goes."""
        keep = self.known[len(self.known) // 2 :]
        self.columns[: len(keep)] = self.columns[self.slot[keep]]
        self.slot[:] = -1
        self.slot[keep] = np.arange(len(keep), dtype=np.int32)
        self.known = keep

    def _multiply(self, spread: Array, places: Array) -> None:
        rows = self.job.atoms.rows

        def job(number: int) -> None:
            here = self.pieces[number]
            products = np.zeros((len(rows[here]), spread.shape[1]), rows.dtype)
            kernels.correlate_few(rows[here], spread, products)
            self.columns[places, here] = products.T[: len(places)]

        for_each_block(len(self.pieces), lambda: job, self.threads)
        self.columns[np.ix_(places, self.job.twins)] = 0


# Residuals ---------------------------------------------------------------------------------


class Products:
    """The residuals of a block, multiplied by the dictionary at each step."""

    def __init__(self, job: Job) -> None:
        self.job = job
        b, d, width = job.plan.block, job.atoms.rows.shape[1], job.width
        self.room = _room(b, width)
        self.c = aligned((b, job.padded), job.dtype)
        self.rest = np.empty((b, d), job.dtype)
        if job.orthogonal:
            q = np.empty((b, width, d), job.dtype)
            self.bases = Bases(q, np.zeros((b, width, width)), np.zeros((b, width)))

    def __call__(self, number: int) -> Piece:
        job = self.job
        signals = job.load(number)
        self.rest[: len(signals.x)] = signals.x
        found = _fresh(self.room, signals)
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        found.status[signals.norm2 <= block.goal2] = kernels.CONVERGED
        while (live := np.flatnonzero(found.status == kernels.GOING)).size:
            job.correlate(self.rest[live], self.c[: live.size])
            if job.orthogonal:
                kernels.step_orthogonally(
                    job.atoms, job.rules, block, self.rest, live, found, self.bases
                )
            else:
                kernels.step_from_residuals(job.atoms, job.rules, block, self.rest, live, found)
        return job.finish(number, signals, found)
