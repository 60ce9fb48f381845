"""How signals are encoded: decided here, once for each dictionary and precision, and reported.

After a step along atom j every correlation changes by a multiple of row j of the Gram matrix
G = Z Zᵀ. There are three forms in which to have it:

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
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array

GRAM_BYTES = 2**31
"""The largest Gram matrix that is formed, where no other limit is given."""
WORK_BYTES = 2**28
"""The most scratch memory of one thread; blocks are made smaller to stay below."""
BLOCK_BYTES = 2**21
"""Signals and correlations of a block: few enough to stay in the cache, and enough work to make
up for what a block costs in Python."""
SHORT_BLOCK = 2**26
"""Numbers that the steps of a block may touch in well below a second."""
UNLIMITED = 2**62

# Rates of one ordinary core, in numbers a second: they only have to be right relative to each
# other, and fixed, so that a job is done in the same way, and with the same bits, everywhere.
MULTIPLY = 4e10
STREAM = 4e9
UPDATE = 1e10
FRESH = 1e9
"""Writing to memory for the first time."""
STEP_SECONDS = 2e-7
"""What a step on residuals costs whatever the sizes are: triangular solves, looking up atoms."""
FEW = 4
"""One in so many of the atoms of the widest code are expected to meet a residual test."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is done to the signals of a call.

    Attributes
    ----------
    method, nonnegative, orthogonal, forward_only
        The name of the method and its kind.
    dtype
        The precision of signals, atoms and codes.
    n_nonzero, max_iter, width
        The most distinct atoms of a code, the most steps, and the atoms that fit in any code.
    rtol, atol
        Residual norms to stop at: relative to the signal's, and absolute. None: no such test.
    rng
        The integer behind the draws of the methods with random directions.
    form, block, text
        Where correlations come from, signals that are encoded together, and the form in words.
    memory, work_dtype
        Of conjugate gradients: how many earlier steps are kept, and the precision of the work.
    """

    method: str
    nonnegative: bool
    orthogonal: bool
    forward_only: bool
    dtype: np.dtype[Any]
    n_nonzero: int
    max_iter: int
    width: int
    rtol: float | None
    atol: float | None
    rng: int
    form: str
    block: int
    text: str
    memory: int = 0
    work_dtype: np.dtype[Any] | None = None

    def __str__(self) -> str:
        seed = f", rng {self.rng}" if self.rng else ""
        return f"{self.text}, blocks of {self.block} signals{seed}"

    @property
    def description(self) -> str:
        """The method, as codes name it."""
        return f"{self.method}, non-negative" if self.nonnegative else self.method

    @property
    def has_target(self) -> bool:
        """Whether a residual norm is to be reached."""
        return self.rtol is not None or self.atol is not None

    def targets2(self, norm2: Array) -> Array:
        """Return the squared residual norm at which each signal is finished; −inf: never."""
        if not self.has_target:
            return np.full(len(norm2), -np.inf)
        targets = np.maximum((self.rtol or 0.0) * np.sqrt(norm2), self.atol or 0.0)
        squared: Array = targets**2
        return squared

    def is_short(self, n: int, d: int) -> bool:
        """Return whether a block takes well below a second, so that an interrupt may wait."""
        # A signal is multiplied by all atoms, at a tenth of the cost of a pass over them.
        steps = min(self.max_iter, self.width if self.orthogonal else UNLIMITED)
        passes = d / 10 + steps * (self.width if self.orthogonal else 1)
        return bool(self.block * n * passes <= SHORT_BLOCK)


@dataclass(frozen=True)
class Workload:
    """Sizes: m signals, n atoms, d numbers each, at most `steps` steps a signal.

    `width` is the most atoms of a code; orthogonal pursuit keeps a vector for each of them. A Gram
    matrix takes at most `gram_bytes`; `form` is the one that was asked for, None: the fastest.
    """

    m: int
    n: int
    d: int
    steps: int
    width: int
    itemsize: int
    orthogonal: bool
    gram_bytes: int = GRAM_BYTES
    form: str | None = None

    @property
    def gram_size(self) -> int:
        """Bytes of the Gram matrix of all atoms."""
        return self.n**2 * self.itemsize

    @property
    def gram_fits(self) -> bool:
        return self.gram_size <= self.gram_bytes

    @property
    def passes(self) -> float:
        """Orthogonal pursuit updates every vector of its basis at each step."""
        return 1 + (min(self.width, self.steps) / 2 if self.orthogonal else 0)

    @property
    def updating(self) -> float:
        """Seconds for correlations that follow from rows of the Gram matrix."""
        return self.m * self.steps * self.passes * self.n / UPDATE


def expected_steps(n_nonzero: int, max_iter: int, width: int, orthogonal: bool) -> int:
    """Return the expected number of steps of a signal.

    Orthogonal pursuit takes one step for each atom of a code. Other methods choose some atoms
    again. A residual test alone is met by a part of the atoms.
    """
    if n_nonzero == max_iter == UNLIMITED:
        return max(1, width // FEW)
    if orthogonal:
        return max(1, width)
    return min(max_iter, 2 * n_nonzero)


# Forms ---------------------------------------------------------------------------------------


class _Form(ABC):
    """A way to have correlations: whether it fits in memory, what it costs, and in which blocks."""

    @abstractmethod
    def text(self, load: Workload) -> str: ...

    @abstractmethod
    def fits(self, load: Workload) -> bool: ...

    @abstractmethod
    def seconds(self, load: Workload) -> float: ...

    @abstractmethod
    def block(self, load: Workload) -> int:
        """Signals of a block: a function of the sizes alone, never of the number of threads."""


class _WholeGram(_Form):
    def text(self, load: Workload) -> str:
        return f"Gram matrix of {load.gram_size / 2**20:.3g} MiB"

    def fits(self, load: Workload) -> bool:
        basis = load.width * load.n * load.itemsize if load.orthogonal else 0
        return load.gram_fits and basis <= WORK_BYTES

    def seconds(self, load: Workload) -> float:
        correlate = load.m * load.n * load.d / MULTIPLY
        return load.n**2 * (load.d / 2 / MULTIPLY + 1 / FRESH) + correlate + load.updating

    def block(self, load: Workload) -> int:
        rows = max(192, BLOCK_BYTES // ((load.n + load.d) * load.itemsize))
        return _multiple_of_64(min(rows, 2048, load.m // 6))


class _ColumnsOnDemand(_Form):
    def text(self, load: Workload) -> str:
        return "Gram columns on demand, with those of the next candidates"

    def fits(self, load: Workload) -> bool:
        kept = load.width * (2 if load.orthogonal else 1)
        return kept * load.n * load.itemsize <= 2 * WORK_BYTES

    def seconds(self, load: Workload) -> float:
        t, candidates = load, 64 // load.itemsize
        # Some candidates are never used; 100 steps took 7 passes with 16 of them.
        trips = t.m * (1 + min(t.width, t.steps, t.n) / (0.9 * candidates))
        each = max(t.n * t.d / STREAM, candidates * t.n * t.d / MULTIPLY)
        return trips * each + t.updating

    def block(self, load: Workload) -> int:
        return 1


class _ProductsOfResiduals(_Form):
    def text(self, load: Workload) -> str:
        return "one matrix product a step"

    def fits(self, load: Workload) -> bool:
        return True

    def seconds(self, load: Workload) -> float:
        t, block = load, self.block(load)
        trips = t.steps * -(-t.m // block)
        each = max(t.n * t.d / STREAM, min(t.m, block) * t.n * t.d / MULTIPLY)
        return trips * each + t.m * t.steps * (t.passes * t.d / UPDATE + STEP_SECONDS)

    def block(self, load: Workload) -> int:
        # A product is worth its pass over the dictionary when it serves many signals.
        basis = load.width * (load.d + load.width) * load.itemsize if load.orthogonal else 0
        row = (load.n + 2 * load.d) * load.itemsize
        most = max(1, WORK_BYTES // (row + basis))
        return min(most, _multiple_of_64(min(512, load.m // 4)))


_FORMS: dict[str, _Form] = {
    "gram": _WholeGram(),
    "columns": _ColumnsOnDemand(),
    "products": _ProductsOfResiduals(),
}
FORMS = tuple(_FORMS)


def choose_form(load: Workload, forms: Iterable[str] = FORMS) -> dict[str, Any]:
    """Return form, block and text of a `Plan`: the form that fits in memory with the least
    estimated time."""
    fitting = [form for form in possible_forms(load, forms) if _FORMS[form].fits(load)]
    if not fitting:
        raise InputError(
            f"form: {load.form} takes more memory than is allowed for {load.n:,} atoms of "
            f"{load.d:,} numbers; expected another form, or fewer atoms"
        )
    form = min(fitting, key=lambda form: _FORMS[form].seconds(load))
    return {"form": form, "block": _FORMS[form].block(load), "text": _FORMS[form].text(load)}


def possible_forms(load: Workload, forms: Iterable[str]) -> tuple[str, ...]:
    """Return those of the forms that a method has, or the one that was asked for."""
    able = tuple(forms)
    if load.form is None:
        return able
    if load.form not in able:
        known = " or ".join(able) or "none for this method"
        raise InputError(f"form: expected {known}, got {load.form}")
    return (load.form,)


def _multiple_of_64(number: int) -> int:
    """The nearest multiple of 64, which matrix products like; at least one."""
    return max(1, round(number / 64)) * 64
