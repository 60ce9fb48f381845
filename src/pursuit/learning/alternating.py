"""Alternating learning: codes of all signals, then atoms that fit the codes better.

Approximate K-SVD (Rubinstein, Zibulevsky, Elad 2008) goes from atom to atom: with R = X − ΓD kept
up to date, d_j ← unit(R_jᵀγ_j + ‖γ_j‖² d_j), and the coefficients of d_j follow. The method of
optimal directions (Engan, Aase, Husøy 1999) solves ΓᵀΓ D = ΓᵀX. Neither lets ‖X − ΓD‖² rise. New
greedy codes seldom do: in a pass where they would, each signal keeps its old code where that is
better. So the objective never rises between renewals. (To keep better codes in every pass hinders
learning: 8 × 8 patches of a photograph end 1.3 % higher after ten passes.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array
from pursuit.kernels.learning import CodesBySignal, sweep_residuals, take_residuals
from pursuit.kernels.pursuit import sum_squares
from pursuit.learning import statistics
from pursuit.learning.coding import coded, columns_of, rows_of
from pursuit.learning.renewal import Renewal, replacements
from pursuit.learning.round import Lesson, Round, Values, energy, rounding_share
from pursuit.learning.signals import Batch, Source, check_batch
from pursuit.learning.statistics import Statistics

SIGNALS = 4096
"""Signals whose residuals a thread takes at a time."""
SWEEP = 16
"""Atoms that are updated between two looks at whether the run was interrupted."""
SWEEPS = 4
"""Sweeps of coordinate descent that stand for a least-squares fit of atoms of at least zero."""
SINGULAR = 1e-10
"""Below this share of the largest eigenvalue codes say nothing about a direction."""
RENEWAL = Renewal()


class PassMemory(NamedTuple):
    """What changes from pass to pass: atoms, the codes that fit them, and ‖residual‖² of each.

    A code that a new atom made void has an infinite one. `top` is what Σ‖residual‖² of new codes
    may be: that of the last pass, or infinite after a renewal.
    """

    atoms: Array
    codes: CodesBySignal
    squares: Array
    top: float
    turn: int


Update = Callable[["Alternating", CodesBySignal, Array], tuple[Array, Array]]
"""New atoms, and coefficients, in place, that fit the signals better: the atoms and ‖R_i‖² of each
signal, with R = X − ΓD left in the residuals of the method."""


class Alternating:
    """Passes over signals that are held in memory."""

    def __init__(self, source: Source, lesson: Lesson, atoms: Array, update: Update) -> None:
        self.x, self.lesson, self._update = source.everything(), lesson, update
        m = len(self.x)
        nothing = CodesBySignal(
            np.zeros(m + 1, np.int64), np.empty(0, np.int32), np.empty(0, self.x.dtype)
        )
        self.memory = PassMemory(atoms, nothing, np.full(m, np.inf), np.inf, 0)
        self.residuals = np.empty_like(self.x)
        self._energy = energy(self.x)

    def rounds(self) -> Iterator[Round]:
        """Learn from all signals at a time."""
        check_batch(Batch(self.x, np.arange(len(self.x))))
        while self.memory.turn < self.lesson.passes:
            yield self._learn()

    def _learn(self) -> Round:
        turn, atoms = self.memory.turn + 1, self.memory.atoms.copy()
        codes, squares = self._codes(atoms)
        residual2 = float(squares.sum())
        atoms, squares = self._update(self, codes, atoms)
        renewed = 0 if turn > 0.8 * self.lesson.passes else self._renew(turn, atoms, codes, squares)
        top = np.inf if renewed else residual2
        self.memory = PassMemory(atoms, codes, squares, top, turn)
        return Round(len(self.x), residual2, self._energy, renewed, True)

    def _codes(self, atoms: Array) -> tuple[CodesBySignal, Array]:
        """Codes over new atoms, and the ‖residual‖² of each."""
        found = coded(atoms, self.x, self.lesson, len(self.x))
        squares, before = found.residual_norms**2, self.memory.squares
        if squares.sum() <= self.memory.top:
            return rows_of(found), squares
        kept = _chosen(rows_of(found), self.memory.codes, squares > before)
        return kept, np.minimum(squares, before)

    def take_residuals(self, codes: CodesBySignal, atoms: Array) -> Array:
        """R = X − ΓD, and ‖R_i‖² of each signal."""
        m, squares = len(self.x), np.empty(len(self.x))

        def job(number: int) -> None:
            part = number * SIGNALS, min(m, (number + 1) * SIGNALS)
            take_residuals(codes, self.x, atoms, self.residuals, squares, *part)

        for_each_block(-(-m // SIGNALS), lambda: job, self.lesson.threads)
        return squares

    def _renew(self, turn: int, atoms: Array, codes: CodesBySignal, squares: Array) -> int:
        """Replace poor atoms, in place, and void the codes that use them; how many."""
        used = np.bincount(codes.indices, minlength=len(atoms)).astype(np.float64)
        poor = RENEWAL.poor(atoms, used)
        if not poor.size:
            return 0
        least = rounding_share(self.x.dtype) * self._energy / len(self.x)
        badly = np.where(squares > least, squares, 0.0)
        draws = [self.lesson.seed, turn]
        new = replacements(self.residuals, badly, len(poor), draws, self.lesson.nonnegative)
        poor = poor[: len(new)]
        atoms[poor] = new
        touched = np.isin(codes.indices, poor)
        squares[np.repeat(np.arange(len(squares)), np.diff(codes.indptr))[touched]] = np.inf
        return len(poor)

    # The state as plain arrays and numbers ----------------------------------------------------

    def values(self) -> Values:
        """What has to be kept to go on from here."""
        m = self.memory
        arrays = {"atoms": m.atoms, "squares": m.squares, **m.codes._asdict()}
        return Values(arrays, {"turn": m.turn, "top": m.top})

    def restore(self, values: Values) -> None:
        """Go on from there."""
        a = values.arrays
        codes = CodesBySignal(*(a[name].copy() for name in CodesBySignal._fields))
        top, turn = float(values.numbers["top"]), int(values.numbers["turn"])
        self.memory = PassMemory(a["atoms"].copy(), codes, a["squares"].copy(), top, turn)

    @property
    def atoms(self) -> Array:
        return self.memory.atoms

    @property
    def usage(self) -> Array:
        """The share of the signals that use each atom."""
        used = np.bincount(self.memory.codes.indices, minlength=len(self.memory.atoms))
        return used / len(self.x)


def _chosen(new: CodesBySignal, old: CodesBySignal, keep: Array) -> CodesBySignal:
    """The codes of `old` where `keep` says so, else those of `new`."""
    sizes = np.where(keep, np.diff(old.indptr), np.diff(new.indptr))
    indptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
    kept = np.repeat(keep, sizes)
    begin = np.repeat(np.where(keep, old.indptr[:-1], new.indptr[:-1]), sizes)
    places = begin + within
    indices, values = np.empty(len(places), np.int32), np.empty(len(places), new.values.dtype)
    for rows, chosen in ((new, ~kept), (old, kept)):
        indices[chosen] = rows.indices[places[chosen]]
        values[chosen] = rows.values[places[chosen]]
    return CodesBySignal(indptr, indices, values)


# Updates -------------------------------------------------------------------------------------


def aksvd(method: Alternating, codes: CodesBySignal, atoms: Array) -> tuple[Array, Array]:
    """One sweep over the atoms, each with its coefficients."""
    method.take_residuals(codes, atoms)
    columns, n = columns_of(codes, len(atoms)), len(atoms)

    def job(number: int) -> None:
        part = number * SWEEP, min(n, (number + 1) * SWEEP)
        what = codes.values, method.residuals, atoms, method.lesson.nonnegative
        sweep_residuals(columns, *what, *part)

    # One after the other: each atom sees what those before it have become.
    for_each_block(-(-n // SWEEP), lambda: job, 1)
    squares = np.empty(len(method.x))
    sum_squares(method.residuals, squares)
    return atoms, squares


def mod(method: Alternating, codes: CodesBySignal, atoms: Array) -> tuple[Array, Array]:
    """All atoms at once: the D nearest to the old one that minimises ‖X − ΓD‖."""
    known, room = (Statistics.zeros(*atoms.shape) for _ in range(2))
    known = statistics.add(known, 0.0, codes, method.x, room, method.lesson.threads)
    if method.lesson.nonnegative:
        free = atoms.copy()
        for _ in range(SWEEPS):
            statistics.descend(known, free, False, True)
    else:
        free = atoms + _solve(known.gram, known.moment - known.gram @ atoms)
    length = np.linalg.norm(free, axis=1)
    live = length > 0
    codes.values[:] = codes.values * length[codes.indices]
    new = np.where(live[:, None], free / np.where(live, length, 1.0)[:, None], atoms)
    return new, method.take_residuals(codes, new)


def _solve(gram: Array, right: Array) -> Array:
    """The least change D with A D = right; of unused atoms, and along what no code tells, none."""
    linalg, size = scipy_linalg(), np.sqrt(gram.diagonal())
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    scaled = gram * scale[:, None] * scale
    try:
        factor = linalg.cho_factor(scaled, check_finite=False)
        if factor[0].diagonal().min() ** 2 > SINGULAR:
            solved: Array = linalg.cho_solve(factor, scale[:, None] * right) * scale[:, None]
            return solved
    except linalg.LinAlgError:
        pass
    value, vector = linalg.eigh(scaled, check_finite=False)
    kept = value > SINGULAR * value.max(initial=0.0)
    inner = vector[:, kept].T @ (scale[:, None] * right)
    change: Array = scale[:, None] * (vector[:, kept] @ (inner / value[kept, None]))
    return change
