"""What there is to encode, and how its results leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.encoding.limits import Limits
from pursuit.encoding.offered import UNLIMITED, Offered
from pursuit.encoding.plan import Plan
from pursuit.encoding.prepare import prepare_signals
from pursuit.kernels import pursuit as kernels
from pursuit.kernels.layouts import Piece, Signals
from pursuit.kernels.pursuit import Atoms, Outcome, PursuitRules
from pursuit.kernels.simd import WIDE

NEVER = np.zeros(1, np.bool_)
"""The flag of no call: blocks bring their own."""
BRIEF = 2**26
"""Numbers that the steps of a block may touch in well below a second."""


@dataclass(frozen=True)
class Goal:
    """Residual norms to stop at: relative to the signal's, and absolute; None: no such test."""

    rtol: float | None
    atol: float | None

    @property
    def given(self) -> bool:
        return self.rtol is not None or self.atol is not None

    def squared(self, signals: Signals) -> Array:
        """The squared residual norm at which each signal is finished; −inf: never.

        What is left may fall below zero by rounding, by more than one for large signals.
        """
        if not self.given:
            return np.full(len(signals.norm2), -np.inf)
        relative = (self.rtol or 0.0) * np.sqrt(signals.norm2)
        with np.errstate(over="ignore"):
            absolute = (self.atol or 0.0) / signals.unscale
            squared: Array = np.maximum(relative, absolute) ** 2
        return squared


class Chunk(NamedTuple):
    """The signals of a block as they are, its number in the whole, and the flag of its call.

    Where `halt` is set meanwhile, nothing more is to be done (`pursuit.base.threads`).
    """

    rows: Array
    number: int
    halt: Array

    def heed(self) -> None:
        """Raise where the call was interrupted: what a kernel left then is no result."""
        if self.halt[0]:
            raise KeyboardInterrupt


@dataclass(frozen=True, kw_only=True)
class Job:
    """A dictionary and a method: everything that does not change from block to block.

    `twins` are atoms equal to an earlier one. Their correlations are kept at zero, so that the
    earlier one is chosen whatever the rounding of a product is.
    """

    atoms: Atoms
    twins: Array
    scale: Array
    rules: PursuitRules
    goal: Goal
    method: Offered
    nonnegative: bool
    seed: int
    plan: Plan
    apart: float = 0.0
    """Exact least squares over a cone: the distance, for unit atoms, below which an atom is in the
    span of others. 0: a pursuit."""

    @property
    def orthogonal(self) -> bool:
        return self.method.orthogonal

    @property
    def description(self) -> str:
        """The method, as codes name it."""
        name = self.method.name
        return f"{name}, non-negative" if self.nonnegative else name

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

    def correlate(self, x: Array, out: Array) -> None:
        """out (b, padded) = x (b, d) times the atoms; what is beyond them stays zero."""
        np.matmul(x, self.atoms.rows.T, out=out[:, : len(self.atoms.rows)])
        if self.twins.size:
            out[:, self.twins] = 0

    def rules_of(self, chunk: Chunk) -> PursuitRules:
        """The rules of the kernels for a block."""
        return self.rules._replace(halt=chunk.halt)

    def load(self, chunk: Chunk) -> Signals:
        """The signals of a block as kernels want them."""
        return prepare_signals(chunk.rows, self.dtype, chunk.number * self.plan.block)

    @property
    def brief(self) -> bool:
        """Whether a block takes well below a second, so that an interrupt may wait for its end."""
        n, d = self.atoms.rows.shape
        # A signal is multiplied by all atoms, at a tenth of the cost of a pass over them.
        steps = min(self.rules.max_iter, self.width if self.orthogonal else UNLIMITED)
        passes = d / 10 + steps * (self.width if self.orthogonal else 1)
        return bool(self.plan.block * n * passes <= BRIEF)

    def finish(self, chunk: Chunk, signals: Signals, found: Outcome) -> Piece:
        """The codes in the scales of the user."""
        chunk.heed()
        indices = np.empty(int(found.size.sum()), np.int32)
        values = np.empty(len(indices), self.dtype)
        largest = float(np.finfo(self.dtype).max)
        bad = kernels.collect(found, signals.unscale, self.scale, indices, values, largest)
        if bad != kernels.NOTHING:
            self.refuse(chunk, bad)
        residuals = np.sqrt(np.maximum(found.residual2, 0.0)) * signals.unscale
        kept = found.size.copy(), found.steps.copy(), found.status.copy()
        return Piece(kept[0], indices, values, residuals, kept[1], kept[2])

    def refuse(self, chunk: Chunk, bad: int) -> NoReturn:
        """The coefficients of a signal of a block cannot be written down."""
        signal = chunk.number * self.plan.block + bad
        raise InputError(
            f"signals: the coefficients of signal {signal} are outside the range of {self.dtype}; "
            "expected signals and atoms of nearer scales"
        )


def kernel_rules(limits: Limits, dtype: np.dtype[Any]) -> PursuitRules:
    """The rules of the kernels in a precision."""
    eps = float(np.finfo(dtype).eps)
    # Differences of squares carry an error of about eps: below 1e-4 of what is left here.
    trust = 2e-3 if dtype == np.float32 else 1e-5
    return PursuitRules(limits.n_nonzero, limits.max_iter, 8 * eps, trust, 64 * eps, NEVER)
