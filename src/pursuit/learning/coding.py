"""Codes over a dictionary that changes from batch to batch, by the engine of `encode`."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.cone import Cone
from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes
from pursuit.encoding.encoder import Encoder
from pursuit.kernels.learning import CodesByAtom, CodesBySignal, by_atom
from pursuit.learning.round import Lesson


def coded(atoms: Array, rows: Array, lesson: Lesson, batch: int) -> Codes:
    """The codes of rows over unit atoms of float64, rounded to the type of the rows.

    `batch` is what every call has, so that all are planned alike.
    """
    rounded = np.ascontiguousarray(atoms, rows.dtype)
    given = Cone(rounded) if lesson.nonnegative else rounded
    encoder = Encoder(given, n_nonzero=lesson.n_nonzero, threads=lesson.threads, expected=batch)
    return encoder(rows, progress=False)


def rows_of(codes: Codes) -> CodesBySignal:
    """Codes as kernels want them."""
    return CodesBySignal(codes.indptr, codes.indices, codes.values)


def columns_of(rows: CodesBySignal, n_atoms: int) -> CodesByAtom:
    """The same by atom."""
    entries = len(rows.indices)
    columns = CodesByAtom(
        np.zeros(n_atoms + 1, np.int64), np.empty(entries, np.int64), np.empty(entries, np.int64)
    )
    by_atom(rows, columns)
    return columns
