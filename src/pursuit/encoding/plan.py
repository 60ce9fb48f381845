"""Where the correlations come from: decided here, once for each job, and reported.

After a step along atom j every correlation changes by a multiple of row j of the Gram matrix
G = Z Zᵀ. There are three ways to have it:

* **gram**: form G once (a symmetric product), then a step costs one pass over a row;
* **columns**: compute rows of G when they are needed, and in the same pass over the dictionary
  those of the next best candidates: for few signals and many atoms;
* **products**: keep residuals, and multiply those of a whole block by the dictionary at each step:
  for many atoms and more than a few signals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from pursuit.base.errors import InputError

GRAM_BYTES = 2**31
"""The largest Gram matrix that is formed, where no other limit is given."""
WORK_BYTES = 2**28
"""The most scratch memory of one thread; blocks are made smaller to stay below."""
BLOCK_BYTES = 2**21
"""Signals and correlations of a block: few enough to stay in the cache, and enough work to make
up for what a block costs in Python."""

# Rates of one ordinary core, in numbers a second: they only have to be right relative to each
# other, and fixed, so that a job is done in the same way, and with the same bits, everywhere.
MULTIPLY = 4e10
STREAM = 4e9
UPDATE = 1e10
FRESH = 1e9
"""Writing to memory for the first time."""
STEP_SECONDS = 2e-7
"""What a step on residuals costs whatever the sizes are: triangular solves, looking up atoms."""


@dataclass(frozen=True)
class Task:
    """The size of a job: m signals, n atoms, d numbers each, at most `steps` steps a signal.

    `width` is the most atoms of a code; orthogonal pursuit keeps a vector for each of them. A Gram
    matrix takes at most `gram_bytes`; `form` is the one that is asked for, None: the fastest.
    """

    m: int
    n: int
    d: int
    steps: int
    width: int
    itemsize: int
    orthogonal: bool
    gram_bytes: int = GRAM_BYTES
    form: Form | None = None

    @property
    def gram_fits(self) -> bool:
        return self.n**2 * self.itemsize <= self.gram_bytes

    @property
    def passes(self) -> float:
        """Orthogonal pursuit updates every vector of its basis at each step."""
        return 1 + (min(self.width, self.steps) / 2 if self.orthogonal else 0)

    @property
    def updating(self) -> float:
        """Seconds for correlations that follow from rows of the Gram matrix."""
        return self.m * self.steps * self.passes * self.n / UPDATE


class FormOfWork(ABC):
    """A way to have correlations: whether it fits in memory, what it costs, and in which blocks."""

    @abstractmethod
    def words(self, gram_bytes: int) -> str: ...

    @abstractmethod
    def fits(self, task: Task) -> bool: ...

    @abstractmethod
    def seconds(self, task: Task) -> float: ...

    @abstractmethod
    def block(self, task: Task) -> int:
        """Signals of a block: a function of the job alone, never of the number of threads."""


class _WholeGram(FormOfWork):
    def words(self, gram_bytes: int) -> str:
        return f"Gram matrix of {gram_bytes / 2**20:.3g} MiB"

    def fits(self, task: Task) -> bool:
        basis = task.width * task.n * task.itemsize if task.orthogonal else 0
        return task.gram_fits and basis <= WORK_BYTES

    def seconds(self, task: Task) -> float:
        correlate = task.m * task.n * task.d / MULTIPLY
        return task.n**2 * (task.d / 2 / MULTIPLY + 1 / FRESH) + correlate + task.updating

    def block(self, task: Task) -> int:
        room = max(192, BLOCK_BYTES // ((task.n + task.d) * task.itemsize))
        return _whole(min(room, 2048, task.m // 6))


class _ColumnsOnDemand(FormOfWork):
    def words(self, gram_bytes: int) -> str:
        return "Gram columns on demand, with those of the next candidates"

    def fits(self, task: Task) -> bool:
        kept = task.width * (2 if task.orthogonal else 1)
        return kept * task.n * task.itemsize <= 2 * WORK_BYTES

    def seconds(self, task: Task) -> float:
        t, candidates = task, 64 // task.itemsize
        # Some candidates are never used; 100 steps took 7 passes with 16 of them.
        trips = t.m * (1 + min(t.width, t.steps, t.n) / (0.9 * candidates))
        each = max(t.n * t.d / STREAM, candidates * t.n * t.d / MULTIPLY)
        return trips * each + t.updating

    def block(self, task: Task) -> int:
        return 1


class _ProductsOfResiduals(FormOfWork):
    def words(self, gram_bytes: int) -> str:
        return "one matrix product a step"

    def fits(self, task: Task) -> bool:
        return True

    def seconds(self, task: Task) -> float:
        t, block = task, self.block(task)
        trips = t.steps * -(-t.m // block)
        each = max(t.n * t.d / STREAM, min(t.m, block) * t.n * t.d / MULTIPLY)
        return trips * each + t.m * t.steps * (t.passes * t.d / UPDATE + STEP_SECONDS)

    def block(self, task: Task) -> int:
        # A product is worth its pass over the dictionary when it serves many signals.
        basis = task.width * (task.d + task.width) * task.itemsize if task.orthogonal else 0
        row = (task.n + 2 * task.d) * task.itemsize
        return min(max(1, WORK_BYTES // (row + basis)), _whole(min(512, task.m // 4)))


class Form(Enum):
    """Where correlations come from."""

    GRAM = _WholeGram()
    COLUMNS = _ColumnsOnDemand()
    PRODUCTS = _ProductsOfResiduals()

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Plan:
    """How a job is done: the form, signals of a block, atoms of a code."""

    form: Form
    block: int
    width: int
    gram_bytes: int

    def __str__(self) -> str:
        return f"{self.form.value.words(self.gram_bytes)}, blocks of {self.block} signals"


def choose(task: Task, forms: Iterable[Form] = Form) -> Plan:
    """The form with the least estimated time among those of `forms` that fit in memory."""
    fitting = [form for form in asked(task, forms) if form.value.fits(task)]
    if not fitting:
        raise InputError(
            f"form: {task.form} takes more memory than is allowed for {task.n:,} atoms of "
            f"{task.d:,} numbers; expected another form, or fewer atoms"
        )
    form = min(fitting, key=lambda form: form.value.seconds(task))
    return Plan(form, form.value.block(task), task.width, task.n**2 * task.itemsize)


def asked(task: Task, forms: Iterable[Form]) -> tuple[Form, ...]:
    """Those of the forms that a job can be done in which are asked for."""
    able = tuple(forms)
    if task.form is None:
        return able
    if task.form not in able:
        known = " or ".join(map(str, able)) or "none for this method"
        raise InputError(f"form: expected {known}, got {task.form}")
    return (task.form,)


def _whole(number: int) -> int:
    """The nearest multiple of 64, which matrix products like; at least one."""
    return max(1, round(number / 64)) * 64
