"""What codes say about atoms: A = ΓᵀΓ and B = ΓᵀX, with what is older forgotten."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array
from pursuit.kernels.learning import CodesBySignal, add_statistics, descend_atoms
from pursuit.learning.coding import columns_of

ATOMS = 64
"""Atoms that a thread takes at a time, and that coordinate descent multiplies together."""
LITTLE = 2**20
"""Multiply-adds that are not worth a second thread."""


class Statistics(NamedTuple):
    """A (n, n) and B (n, d), float64."""

    gram: Array
    moment: Array

    @staticmethod
    def zeros(n_atoms: int, length: int) -> Statistics:
        return Statistics(np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, length)))

    def forget(self, atoms: Array) -> None:
        """Nothing is known of some atoms."""
        self.gram[atoms] = 0
        self.gram[:, atoms] = 0
        self.moment[atoms] = 0


def add(
    before: Statistics, beta: float, rows: CodesBySignal, x: Array, room: Statistics, threads: int
) -> Statistics:
    """βA + ΓᵀΓ and βB + ΓᵀX, written to `room`."""
    n = len(before.gram)
    columns = columns_of(rows, n)
    work = len(rows.indices) * (x.shape[1] + 8)

    def job(number: int) -> None:
        part = number * ATOMS, min(n, (number + 1) * ATOMS)
        add_statistics(rows, columns, x, beta, (*before,), (*room,), *part)

    workers = 1 if work < LITTLE else threads
    for_each_block(-(-n // ATOMS), lambda: job, workers, brief=True)
    return room


def descend(known: Statistics, atoms: Array, unit: bool, nonnegative: bool) -> None:
    """One sweep d_j ← d_j + (b_j − A_j D)/A_jj over all atoms, in place and in order.

    What earlier atoms change in the slopes of later ones is one matrix product for each block.
    """
    for start in range(0, len(atoms), ATOMS):
        here = slice(start, start + ATOMS)
        slope = known.moment[here] - known.gram[here] @ atoms
        part = np.ascontiguousarray(known.gram[here, here])
        descend_atoms(part, slope, atoms[here], unit, nonnegative)
