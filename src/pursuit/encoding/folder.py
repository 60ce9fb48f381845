"""Codes in a folder, for results that do not fit in memory.

==================  ===============================================================
file                holds
==================  ===============================================================
about.json          format, what was encoded and how; when all is done, how many
indices.npy         the atoms of each code, (m, width) int32; −1: no more
values.npy          their coefficients, (m, width); 0 where there is no atom
residual_norms.npy  (m,) float64
iterations.npy      (m,) int64
statuses.npy        (m,) uint8
finished            which blocks of signals are there, with checksums of their rows
==================  ===============================================================

Every byte is under a checksum: those of about.json and of `finished` are compared when a folder is
opened, those of the rows of a block when rows of it are first read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.validation import Array
from pursuit.encoding.about import About, read_about
from pursuit.encoding.codes import Code, Codes, Selection
from pursuit.encoding.marks import FINISHED, read_marks
from pursuit.encoding.stored import StoredRows
from pursuit.kernels.layouts import Piece

ROWS = 2**16
"""Codes that `StoredCodes.parts` gives at a time."""


def open_folder(path: str | os.PathLike[str], verify: bool = False) -> StoredCodes:
    """The codes in a folder that `encode` filled to the end; anything else is an input error."""
    folder = path_of("path", path)
    about = read_about(folder)
    marks = read_marks(folder, about)
    done = int(np.count_nonzero(marks["rows"]))
    if not about.complete or about.signals is None:
        of = "" if about.blocks is None else f" of {about.blocks}"
        raise InputError(
            f"{folder}: the codes are unfinished, {done}{of} blocks are there; encode the same "
            "signals with resume=True (--resume)"
        )
    if done != about.blocks:
        raise InputError(f"{folder}: {FINISHED} is damaged, it has {done} of {about.blocks} blocks")
    rows = StoredRows(folder, about, marks)
    if verify:
        rows.verify()
    return StoredCodes(rows, about)


class StoredCodes(Codes):
    """Codes in a folder. What is asked for is read, and compared with its checksums.

    Residual norms, iterations and statuses stay on the disk. `indices`, `values` and `matrix` are
    gathered in memory when they are first asked for; slices and `parts` give codes that do not
    fit there.
    """

    def __init__(self, rows: StoredRows, about: About) -> None:
        self._rows, self._about = rows, about
        vars(self).update(n_atoms=about.n_atoms, method=about.method, plan=about.plan)

    def __len__(self) -> int:
        return len(self._rows)

    def parts(self, rows: int = ROWS) -> Iterator[Codes]:
        """The codes of consecutive signals, `rows` at a time."""
        return (self[start : start + rows] for start in range(0, len(self), rows))

    def __iter__(self) -> Iterator[Code]:
        return (code for part in self.parts() for code in part)

    def _select(self, rows: Selection) -> Codes:
        found = self._rows.take(rows)
        indices = found["indices"]
        used = indices != -1
        sizes = used.sum(axis=1, dtype=np.int32)
        ends = (found[name] for name in ("residual_norms", "iterations", "statuses"))
        piece = Piece(sizes, indices[used], found["values"][used], *ends)
        return Codes.join([piece], self.n_atoms, self.method, self.plan)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._about.dtype)

    @property
    def residual_norms(self) -> Array:
        return self._rows.column("residual_norms")

    @property
    def iterations(self) -> Array:
        return self._rows.column("iterations")

    @property
    def statuses(self) -> Array:
        return self._rows.column("statuses")

    @cached_property
    def sizes(self) -> Array:
        """The number of atoms of each code."""
        return np.concatenate([part.sizes for part in self.parts()])

    def toarray(self) -> Array:
        dense = np.empty(self.shape, self.dtype)
        for start, part in zip(range(0, len(self), ROWS), self.parts(), strict=True):
            dense[start : start + ROWS] = part.toarray()
        return dense

    @cached_property
    def matrix(self) -> Any:
        return self[:].matrix

    def _product(self, rows: Array) -> Array:
        return np.concatenate([part @ rows for part in self.parts()])

    @cached_property
    def _whole(self) -> Codes:
        return self[:]

    @property
    def indptr(self) -> Array:
        return self._whole.indptr

    @property
    def indices(self) -> Array:
        return self._whole.indices

    @property
    def values(self) -> Array:
        return self._whole.values
