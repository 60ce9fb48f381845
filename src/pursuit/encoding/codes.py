"""Sparse codes of many signals."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array
from pursuit.solving.results import Status

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMAT = 1
LITTLE = 2**17
"""Fewer coefficients than this are not worth a thread."""
_STATUSES = tuple(Status)
_ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


class Piece(NamedTuple):
    """The codes of some signals, one after another."""

    sizes: Array
    indices: Array
    values: Array
    residual_norms: Array
    iterations: Array
    statuses: Array


def _concatenated(pieces: list[Piece], threads: int) -> Piece:
    """The pieces as one; new memory costs time when it is first written to, so all threads do."""
    if len(pieces) == 1:
        return pieces[0]
    columns = list(zip(*pieces, strict=True))
    if sum(len(piece.values) for piece in pieces) < LITTLE:
        return Piece(*map(np.concatenate, columns))
    ends = [np.cumsum([len(part) for part in column]) for column in columns]
    whole = Piece(*(np.empty(e[-1], c[0].dtype) for e, c in zip(ends, columns, strict=True)))

    def copy(number: int) -> None:
        for target, end, part in zip(whole, ends, pieces[number], strict=True):
            target[end[number] - len(part) : end[number]] = part

    for_each_block(len(pieces), lambda: copy, threads)
    return whole


@dataclass(frozen=True, eq=False, repr=False)
class Codes:
    """The codes of m signals over n atoms: ``codes @ atoms`` approximates the signals.

    Attributes
    ----------
    indptr, indices, values
        Signal i uses the atoms ``indices[indptr[i]:indptr[i + 1]]`` with the coefficients
        ``values[…]``, in the scale of the atoms as given. Orthogonal pursuit lists them in the
        order in which they were chosen.
    residual_norms
        ‖signal − code @ atoms‖, float64.
    iterations
        Steps taken for each signal.
    statuses
        How each signal ended: ``Status.code`` numbers. `status(i)` gives the member.
    n_atoms
        The number of atoms n.
    method, plan
        What was done, and how, in words.
    """

    indptr: Array
    indices: Array
    values: Array
    residual_norms: Array
    iterations: Array
    statuses: Array
    n_atoms: int
    method: str
    plan: str

    @staticmethod
    def join(pieces: list[Piece], n_atoms: int, method: str, plan: str, threads: int = 1) -> Codes:
        """The codes of consecutive pieces."""
        sizes, indices, values, residuals, iterations, statuses = _concatenated(pieces, threads)
        indptr = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=indptr[1:])
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        else:
            indices = indices.astype(np.int64)
        ends = residuals, iterations, statuses
        return Codes(indptr, indices, values, *ends, n_atoms, method, plan)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.statuses), self.n_atoms

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the coefficients."""
        return self.values.dtype

    @property
    def sizes(self) -> Array:
        """The number of atoms of each code."""
        return np.diff(self.indptr)

    @cached_property
    def matrix(self) -> csr_array[Any, tuple[int, int]]:
        """The codes as a sparse array of shape (m, n)."""
        from scipy.sparse import csr_array

        return csr_array((self.values, self.indices, self.indptr), shape=self.shape)

    def status(self, signal: int) -> Status:
        """How a signal ended."""
        return _STATUSES[int(self.statuses[signal])]

    def counts(self) -> dict[Status, int]:
        """How many signals ended in each way."""
        found = np.bincount(self.statuses, minlength=len(_STATUSES))
        return {s: int(k) for s, k in zip(_STATUSES, found, strict=True) if k}

    def __len__(self) -> int:
        return len(self.statuses)

    def __matmul__(self, atoms: object) -> Array:
        """The approximations: one row for each signal, in the shape of the atoms."""
        rows = np.asarray(getattr(atoms, "matrix", atoms))
        shape = getattr(atoms, "shape", ()) if hasattr(atoms, "matrix") else rows.shape[1:]
        if rows.ndim < 2 or len(rows) != self.n_atoms:
            raise InputError(
                f"atoms: expected {self.n_atoms} rows, as many as the codes have columns, "
                f"got shape {rows.shape}"
            )
        product: Array = self.matrix @ rows.reshape(len(rows), -1)
        return product.reshape(len(self), *shape)

    def __str__(self) -> str:
        m, n = self.shape
        sizes = self.sizes
        ended = ", ".join(f"{s.name} {k:,}" for s, k in self.counts().items())
        rows = {
            "codes": f"{m:,} signals over {n:,} atoms, {sizes.sum():,} coefficients ({self.dtype})",
            "method": self.method,
            "atoms used": f"{sizes.min()} … {sizes.max()} a signal, median {np.median(sizes):g}",
            "residual": f"median norm {np.median(self.residual_norms):.4g}, "
            f"largest {self.residual_norms.max():.4g}",
            "iterations": f"{self.iterations.min()} … {self.iterations.max()}",
            "status": ended,
            "done by": self.plan,
        }
        return "\n".join(f"{name:>10}: {text}" for name, text in rows.items())

    __repr__ = __str__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file (``.npz``), whole or not at all; no pickle is involved."""
        target = Path(path)
        part = target.with_name(target.name + ".part")
        about = {"format": FORMAT, "n": self.n_atoms, "method": self.method, "plan": self.plan}
        header = np.frombuffer(json.dumps({"pursuit codes": about}).encode(), np.uint8)
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        with open(part, "wb") as file:
            np.savez(file, header=header, **arrays)
        os.replace(part, target)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Codes:
        """The codes in a folder that ``encode(…, out=folder)`` filled; read where asked for."""
        from pursuit.encoding.folder import open_folder

        return open_folder(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Codes:
        """Read a file that `save` wrote; anything else is an input error."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in _ARRAYS}
                about = json.loads(file["header"].tobytes())["pursuit codes"]
        except FileNotFoundError:
            raise InputError(f"path: there is no file {os.fspath(path)}") from None
        except (
            OSError,
            ValueError,
            KeyError,
            EOFError,
            TypeError,
            AttributeError,
            zipfile.BadZipFile,
        ):
            raise InputError(f"path: {os.fspath(path)} does not hold codes") from None
        if about.get("format") != FORMAT:
            raise InputError(f"path: {os.fspath(path)} holds codes of another version")
        return Codes(**arrays, n_atoms=about["n"], method=about["method"], plan=about["plan"])
