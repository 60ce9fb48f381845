"""Codes over a dictionary that changes from batch to batch, by the engine of `encode`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.base.progress import Silent
from pursuit.base.validation import Array
from pursuit.encoding import forms
from pursuit.encoding.codes import Codes
from pursuit.encoding.job import Goal, Job, kernel_rules
from pursuit.encoding.limits import limits
from pursuit.encoding.plan import Form, Task, choose
from pursuit.encoding.prepare import equal_to_earlier, measured
from pursuit.kernels.learning import Columns, Rows, by_atom
from pursuit.kernels.pursuit import sum_squares

METHOD = "orthogonal"


class Coder:
    """Orthogonal pursuit with `n_nonzero` unit atoms, planned once for batches of a size."""

    def __init__(
        self,
        shape: tuple[int, int],
        n_nonzero: int,
        dtype: np.dtype[Any],
        nonnegative: bool,
        batch: int,
        threads: int,
    ) -> None:
        ends = limits(shape, METHOD, n_nonzero, None, False)
        # Over a cone the Gram matrix is of float64.
        itemsize = 8 if nonnegative else dtype.itemsize
        task = Task(batch, *shape, ends.expected_steps, ends.width, itemsize, True)
        # Columns on demand would be those of a dictionary that is gone with the next batch.
        self.plan = choose(task, (Form.GRAM, Form.PRODUCTS))
        self.dtype, self.nonnegative, self.threads = dtype, nonnegative, threads
        self._rules, self._scale = kernel_rules(ends, dtype), np.ones(shape[0])

    def __call__(self, atoms: Array, rows: Array) -> Codes:
        """The codes of rows over unit atoms of float64, rounded to the type of the rows."""
        atoms = np.ascontiguousarray(atoms, self.dtype)
        norm2 = np.empty(len(atoms))
        sum_squares(atoms, norm2)
        prepared = measured(atoms, norm2)
        twins = equal_to_earlier(prepared, self.nonnegative)
        what = self._rules, Goal(None, None), METHOD, self.nonnegative, 0, self.plan
        job = Job(rows, prepared, twins, self._scale, *what)
        pieces = forms.run(job, self.threads, Silent())
        return Codes.join(pieces, len(atoms), METHOD, str(self.plan), self.threads)


def rows_of(codes: Codes) -> Rows:
    """Codes as kernels want them."""
    return Rows(codes.indptr, codes.indices, codes.values)


def columns_of(rows: Rows, n_atoms: int) -> Columns:
    """The same by atom."""
    entries = len(rows.indices)
    columns = Columns(
        np.zeros(n_atoms + 1, np.int64), np.empty(entries, np.int64), np.empty(entries, np.int64)
    )
    by_atom(rows, columns)
    return columns
