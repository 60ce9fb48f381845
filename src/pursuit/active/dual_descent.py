"""Coordinate descent on the dual of the ridge-penalised logistic loss, one sample at a time.

For text, with more words than documents, an epoch over the documents costs what two products do and
comes as far as a Newton step that takes many.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pursuit.active.columns import Columns
from pursuit.active.terms import Terms
from pursuit.base.validation import Array
from pursuit.objectives.linear_models import LinearModel
from pursuit.rules.memory import Memory

EPOCHS = 3
"""Passes over all samples in one step."""
FIRST = 1e-3
"""The dual variables of a run that begins at zero."""
WEAK = 10
"""‖xᵢ‖²/l2, on the average, from which on an l2 is weak."""
ENOUGH = 0.5
"""A step that leaves more than this share of the largest slope is the last of its kind."""


@dataclass
class DualMemory(Memory):
    """α of each sample (none before the first step), steps made, and whether they still pay."""

    alpha: Array = field(default_factory=lambda: np.empty(0))
    steps: int = 0
    pays: bool = True


class DualDescent:
    """β = Xᵀ(α w y)/l2 with α in (0, 1): exact steps along α_i, all samples in a drawn order."""

    def __init__(self, f: LinearModel, columns: Columns, memory: DualMemory) -> None:
        self.columns, self.memory = columns, memory
        y = f.entropic
        assert y is not None
        self.y = y.astype(np.float64)
        self.caps = f.weights.astype(np.float64) / f.l2
        self.rows = f.X.tocsr()
        self.squares = np.bincount(f.X.indices, f.X.data.astype(np.float64) ** 2, len(self.y))

    @staticmethod
    def suits(f: LinearModel, columns: Columns, terms: Terms) -> bool:
        """Whether f has this dual, over a sparse X with fewer samples than coefficients and an l2
        that is weak beside them."""
        shrunk = terms.smooth and bool((terms.l2 > 0).all())
        n, d = columns.shape
        if f.entropic is None or not (shrunk and columns.sparse and n < d):
            return False
        return float(f.X.data @ f.X.data) >= WEAK * n * f.l2

    def step(self) -> Array:
        """Some epochs; the β that they come to."""
        from pursuit.kernels.working_set import logistic_dual_epoch

        memory = self.memory
        if not len(memory.alpha):
            memory.alpha = np.full(len(self.y), FIRST)
        w = self.columns.correlate(memory.alpha * self.caps * self.y)
        # Kernels look up places without a sign faster: none of them can count from the end.
        columns = self.rows.indices.view(f"u{self.rows.indices.itemsize}")
        rows = (self.rows.data, columns, self.rows.indptr)
        samples = (self.squares, self.y, self.caps)
        orders = np.random.default_rng(memory.steps)
        for _ in range(EPOCHS):
            order = orders.permutation(len(self.y))
            logistic_dual_epoch(*rows, *samples, order, memory.alpha, w)
        memory.steps += 1
        return w
