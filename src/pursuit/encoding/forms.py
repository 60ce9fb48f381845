"""The forms of a plan, run: each gives the codes of a block of signals."""

from __future__ import annotations

import numpy as np

from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array
from pursuit.encoding import few_atoms
from pursuit.encoding.buffers import fresh, room_for
from pursuit.encoding.job import Chunk, Job
from pursuit.encoding.offered import Started
from pursuit.encoding.plan import Form
from pursuit.kernels import pursuit as kernels
from pursuit.kernels.layouts import Piece, aligned
from pursuit.kernels.pursuit import Bases, Block, GramCache, Scratch
from pursuit.kernels.simd import NARROW

GRAM_TILE = 1024
"""Rows and columns of the Gram matrix that one product gives."""
SHORT = 2**14
"""The length of atoms up to which such a product takes well below a second."""
ROWS_PER_CHUNK = 512
"""Atoms that a thread takes at a time where one signal is worked on by all threads."""


def start(job: Job, threads: int) -> Started:
    """Do the dictionary's part in the form of the plan."""
    return _START[job.plan.form](job, threads)


def _start_gram(job: Job, threads: int) -> Started:
    gram = _gram(job, threads)
    if few_atoms.suits(job):
        return few_atoms.start(job, gram)
    return Started(lambda: GramRows(job, gram))


def _start_columns(job: Job, threads: int) -> Started:
    return Started(lambda: GramColumns(job, threads), alone=True)


def _start_products(job: Job, threads: int) -> Started:
    return Started(lambda: Products(job))


_START = {
    Form.GRAM: _start_gram,
    Form.COLUMNS: _start_columns,
    Form.PRODUCTS: _start_products,
}


def _work(job: Job) -> Scratch:
    width = job.width if job.orthogonal else 0
    return Scratch(
        np.zeros(len(job.atoms.rows), np.int32),
        aligned((width * job.padded,), job.dtype),
        np.zeros((width, width)),
        np.zeros(width),
        np.zeros(width, job.dtype),
        np.zeros(width),
        np.empty(job.atoms.rows.shape[1], job.dtype),
    )


# The Gram matrix ---------------------------------------------------------------------------


def _gram(job: Job, threads: int) -> Array:
    gram = symmetric_product(job.atoms.rows, job.padded, threads)
    gram[:, job.twins] = 0
    return gram


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

    for_each_block(len(pairs), lambda: job, threads, brief=rows.shape[1] <= SHORT)
    return gram


def _pieces(total: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


class GramRows:
    """One product for the correlations of a block, then one pass over a row of G for each step."""

    def __init__(self, job: Job, gram: Array) -> None:
        self.job = job
        self.gram = GramCache(gram, np.arange(len(gram), dtype=np.int32))
        self.room = room_for(job.plan.block, job.width)
        self.work = _work(job)
        self.c = aligned((job.plan.block, job.padded), job.dtype)
        self.kernel = kernels.orthogonal if job.orthogonal else kernels.matching_pursuit

    def __call__(self, chunk: Chunk) -> Piece:
        job = self.job
        signals = job.load(chunk)
        b = len(signals.x)
        job.correlate(signals.x, self.c[:b])
        block = Block(signals.x, self.c[:b], signals.norm2, job.goal.squared(signals))
        found = fresh(self.room, signals)
        self.kernel(job.atoms, self.gram, job.rules_of(chunk), block, found, self.work)
        return job.finish(chunk, signals, found)


# Columns on demand -------------------------------------------------------------------------


class GramColumns:
    """One signal at a time, all threads on it; columns of G are kept from signal to signal."""

    def __init__(self, job: Job, threads: int) -> None:
        self.job, self.threads = job, threads
        self.pieces = _pieces(len(job.atoms.rows), ROWS_PER_CHUNK)
        self.slot = np.full(len(job.atoms.rows), -1, np.int32)
        self.known: list[int] = []
        self.capacity = max(2 * job.width, 64)
        self.columns = aligned((self.capacity, job.padded), job.dtype)
        self.c = aligned((1, job.padded), job.dtype)
        self.room = room_for(1, job.width)
        self.work = _work(job)
        self.kernel = kernels.orthogonal if job.orthogonal else kernels.matching_pursuit

    def __call__(self, chunk: Chunk) -> Piece:
        job = self.job
        signals = job.load(chunk)
        self._correlate(signals.x[0])
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        found, rules = fresh(self.room, signals), job.rules_of(chunk)
        while True:
            gram = GramCache(self.columns, self.slot)
            missing = self.kernel(job.atoms, gram, rules, block, found, self.work)
            if missing == kernels.NOTHING:
                return job.finish(chunk, signals, found)
            self._fetch(missing)

    def _correlate(self, x: Array) -> None:
        rows, c = self.job.atoms.rows, self.c[0]

        def job(number: int) -> None:
            here = self.pieces[number]
            np.matmul(rows[here], x, out=c[here])

        for_each_block(len(self.pieces), lambda: job, self.threads, brief=True)
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

        for_each_block(len(self.pieces), lambda: job, self.threads, brief=True)
        self.columns[np.ix_(places, self.job.twins)] = 0


# Residuals ---------------------------------------------------------------------------------


class Products:
    """The residuals of a block, multiplied by the dictionary at each step."""

    def __init__(self, job: Job) -> None:
        self.job = job
        b, d, width = job.plan.block, job.atoms.rows.shape[1], job.width
        self.room = room_for(b, width)
        self.c = aligned((b, job.padded), job.dtype)
        self.rest = np.empty((b, d), job.dtype)
        if job.orthogonal:
            q = np.empty((b, width, d), job.dtype)
            self.bases = Bases(q, np.zeros((b, width, width)), np.zeros((b, width)))

    def __call__(self, chunk: Chunk) -> Piece:
        job = self.job
        signals = job.load(chunk)
        self.rest[: len(signals.x)] = signals.x
        found, rules = fresh(self.room, signals), job.rules_of(chunk)
        block = Block(signals.x, self.c, signals.norm2, job.goal.squared(signals))
        found.status[signals.norm2 <= block.goal2] = kernels.CONVERGED
        while (live := np.flatnonzero(found.status == kernels.GOING)).size:
            job.correlate(self.rest[live], self.c[: live.size])
            if job.orthogonal:
                kernels.step_orthogonally(
                    job.atoms, rules, block, self.rest, live, found, self.bases
                )
            else:
                kernels.step_from_residuals(job.atoms, rules, block, self.rest, live, found)
        return job.finish(chunk, signals, found)
