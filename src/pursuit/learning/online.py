"""Online learning: a new dictionary after each batch of signals (Mairal, Bach, Ponce, Sapiro 2010).

With Γ the codes of batch t over the atoms D, and β_t = (1 − 1/t)^ρ:

    A ← β_t A + ΓᵀΓ,    B ← β_t B + ΓᵀX,    d_j ← unit(A_jj d_j + b_j − A_j D)  for j = 1, …, n.

β_t weighs batch s as (s/t)^ρ: codes over early dictionaries are forgotten. In the last fifth of a
run whose end is known, β_t = 1: there noise is averaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pursuit.base.validation import Array
from pursuit.kernels.learning import CodesBySignal, take_residuals
from pursuit.learning import statistics
from pursuit.learning.coding import coded, rows_of
from pursuit.learning.renewal import Renewal, replacements
from pursuit.learning.round import Lesson, Round, Values, rounding2
from pursuit.learning.signals import Batch, Place, Source, batch_size, batches, check_batch
from pursuit.learning.statistics import Statistics

FORGETTING = 10.0
"""ρ."""
EVERY = 8
"""Batches between two renewals."""
RENEWAL = Renewal()
WINDOW = 64
"""Batches that `tol` compares, of signals that come without an end."""


class OnlineMemory(NamedTuple):
    """What changes from batch to batch.

    `weight` and `entries` are the signals and the coefficients of their codes, counted as A and B
    count them.
    """

    atoms: Array
    known: Statistics
    used: Array
    weight: float
    entries: float
    step: int
    seen: int
    at: Place


class Online:
    """The method; `memory` is replaced as a whole, so that an interrupt leaves it whole."""

    def __init__(self, source: Source, lesson: Lesson, atoms: Array) -> None:
        n, d = atoms.shape
        self.source, self.lesson = source, lesson
        self.memory = OnlineMemory(
            atoms, Statistics.zeros(n, d), np.zeros(n), 0.0, 0.0, 0, 0, Place(0, 0, 0)
        )
        self._room = Statistics.zeros(n, d)
        self._batch = batch_size(source.total)

    def rounds(self) -> Iterator[Round]:
        """Learn from a batch at a time."""
        while self.memory.at.turn < self.lesson.passes:
            at = self.memory.at
            for batch, after in batches(self.source, at, self.lesson.seed):
                whole = self._ends_pass(len(batch.rows))
                yield self._learn(batch, Place(at.turn + 1, 0, 0) if whole else after)
            if self.source.total is None:  # it came to its end, and begins only once
                return

    def _ends_pass(self, signals: int) -> bool:
        """Whether so many signals more are the last ones of a pass."""
        total = self.source.total
        return total is not None and (self.memory.seen + signals) % total == 0

    def _learn(self, batch: Batch, after: Place) -> Round:
        m, lesson, x = self.memory, self.lesson, batch.rows
        check_batch(batch)
        codes = coded(m.atoms, x, lesson, self._batch)
        rows = rows_of(codes)
        step, n = m.step + 1, len(m.atoms)
        late = self._is_late(len(x))
        beta = 1.0 if late else (1 - 1 / step) ** FORGETTING
        known = statistics.add(m.known, beta, rows, x, self._room, lesson.threads)
        atoms, used = m.atoms.copy(), beta * m.used + np.bincount(rows.indices, minlength=n)
        statistics.descend(known, atoms, True, lesson.nonnegative)
        due = step % EVERY == 0 and not late
        renewed = self._renew(step, atoms, known, used, rows, x) if due else 0
        ended = after.turn > m.at.turn if self.source.total else step % WINDOW == 0
        self._room = m.known
        counted = beta * m.weight + len(x), beta * m.entries + len(rows.indices)
        self.memory = OnlineMemory(atoms, known, used, *counted, step, m.seen + len(x), after)
        return Round.of(len(x), codes.residual_norms, x, renewed, ended)

    def _renew(
        self, step: int, atoms: Array, known: Statistics, used: Array, rows: CodesBySignal, x: Array
    ) -> int:
        """Replace poor atoms, in place; how many."""
        poor = RENEWAL.poor(atoms, used)
        if not poor.size:
            return 0
        residuals, squares = np.empty_like(x), np.empty(len(x))
        take_residuals(rows, x, atoms, residuals, squares, 0, len(x))
        squares[squares <= rounding2(x)] = 0
        draws = [self.lesson.seed, step]
        new = replacements(residuals, squares, len(poor), draws, self.lesson.nonnegative)
        poor = poor[: len(new)]
        atoms[poor], used[poor] = new, used.mean()
        known.forget(poor)
        return len(poor)

    def _is_late(self, signals: int) -> bool:
        """Whether so many signals more are of the last fifth of the run: a new atom would have too
        little time left to become a good one, and codes are as good as they will be."""
        total = self.source.total
        if total is None:
            return False
        return self.memory.seen + signals > 0.8 * self.lesson.passes * total

    # The state as plain arrays and numbers ----------------------------------------------------

    def values(self) -> Values:
        """What has to be kept to go on from here."""
        m = self.memory
        arrays = {"atoms": m.atoms, "gram": m.known.gram, "moment": m.known.moment, "used": m.used}
        counted = {"weight": m.weight, "entries": m.entries}
        numbers = {**counted, "step": m.step, "seen": m.seen, "at": list(m.at)}
        return Values({name: array.copy() for name, array in arrays.items()}, numbers)

    def restore(self, values: Values) -> None:
        """Go on from there."""
        a, numbers = values.arrays, values.numbers
        known = Statistics(a["gram"].copy(), a["moment"].copy())
        at = Place(*map(int, numbers["at"]))
        counted = float(numbers["weight"]), float(numbers["entries"])
        counts = int(numbers["step"]), int(numbers["seen"])
        arrays = a["atoms"].copy(), known, a["used"].copy()
        self.memory = OnlineMemory(*arrays, *counted, *counts, at)

    @property
    def atoms(self) -> Array:
        return self.memory.atoms

    @property
    def usage(self) -> Array:
        """The share of the signals that use each atom, the latest weighing most."""
        m, total = self.memory, self.memory.used.sum()
        # New atoms count as if used: shares add up to the atoms that a signal has on average.
        return m.used * (m.entries / m.weight / total if total else 0.0)
