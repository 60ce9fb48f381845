"""Online learning from arrays that come one after the other, nobody knowing how many."""

from __future__ import annotations

from typing import NamedTuple

from pursuit.base.cores import thread_count
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, real_array
from pursuit.learning.door import first_atoms_of, nonzero_of
from pursuit.learning.learned import Learned
from pursuit.learning.online import Online
from pursuit.learning.round import Lesson, Values
from pursuit.learning.run import NUMBERS
from pursuit.learning.signals import HeldSignals


class Ongoing(NamedTuple):
    """What was learned so far and what is needed to go on: plain arrays and numbers."""

    lesson: Lesson
    values: Values

    @property
    def atoms(self) -> Array:
        """Unit rows, float64."""
        return self.values.arrays["atoms"]


class PassingSignals(HeldSignals):
    """An array that others will follow: no end is known, so that nothing is done for the end."""

    def __init__(self, rows: Array) -> None:
        super().__init__(rows)
        self.total = None


def begin(
    signals: object,
    n_atoms: int,
    n_nonzero: int | None = None,
    *,
    nonnegative: bool = False,
    start: object = None,
    seed: int = 0,
    threads: int | None = None,
) -> Ongoing:
    """Learn from a first array, whose rows are the first atoms unless `start` says others.

    Arguments are those of `learn`.
    """
    source = PassingSignals(real_array("signals", signals, ndim=2))
    rows, shape = source.sample(seed), source.shape
    k = nonzero_of(n_nonzero, n_atoms, shape[0])
    lesson = Lesson(n_atoms, k, nonnegative, 1, seed, thread_count(threads))
    atoms = first_atoms_of(rows, shape, lesson, start)
    return _learn(source, lesson, Online(source, lesson, atoms))


def go_on(ongoing: Ongoing, signals: object) -> Ongoing:
    """Learn from the next array."""
    source = PassingSignals(real_array("signals", signals, ndim=2))
    method = Online(source, ongoing.lesson, ongoing.atoms)
    # The array is a pass of its own.
    here = ongoing.values.numbers | {"at": [0, 0, 0]}
    method.restore(Values(ongoing.values.arrays, here))
    return _learn(source, ongoing.lesson, method)


def after(learned: Learned, seed: int, threads: int | None = None) -> Ongoing:
    """Return what `learn` found online as something to go on from."""
    n, k, kind = len(learned.atoms), learned.n_nonzero, learned.nonnegative
    lesson = Lesson(n, k, kind, 1, seed, thread_count(threads))
    arrays = {name: a for name, a in learned.state.arrays.items() if name != "trace"}
    return Ongoing(lesson, Values(arrays, learned.state.numbers[NUMBERS]))


def _learn(source: PassingSignals, lesson: Lesson, method: Online) -> Ongoing:
    with single_threaded_blas:
        for _ in method.rounds():
            pass
    return Ongoing(lesson, method.values())
