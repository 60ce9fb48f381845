"""Sparse codes of many signals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pursuit.base import html
from pursuit.base.archive import ArchiveKind, load_archive, save_archive
from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.status import Status
from pursuit.base.threads import for_each_block
from pursuit.base.validation import Array, real_array
from pursuit.kernels.layouts import Piece

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CODES = ArchiveKind("path", "a file of codes", "pursuit codes", format=2)
LITTLE = 2**17
"""Fewer coefficients than this are not worth a thread."""
_STATUSES = tuple(Status)
_ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")
Selection = slice | Array
"""Which signals: a slice, or their numbers."""


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

    for_each_block(len(pieces), lambda: copy, threads, brief=True)
    return whole


@dataclass(frozen=True, eq=False)
class Code:
    """The code of one signal, what ``codes[i]`` is: ``np.asarray(code)`` has n coefficients.

    Attributes
    ----------
    indices, values
        The atoms that it uses, and their coefficients.
    residual_norm, iterations, status
        ‖signal − code @ atoms‖, the steps taken, and how the signal ended.
    n_atoms
        The number of atoms n.
    """

    indices: Array
    values: Array
    residual_norm: float
    iterations: int
    status: Status
    n_atoms: int

    def __len__(self) -> int:
        """The number of atoms in use."""
        return len(self.indices)

    def toarray(self) -> Array:
        """The coefficients of all atoms, shape (n,)."""
        dense = np.zeros(self.n_atoms, self.values.dtype)
        dense[self.indices] = self.values
        return dense

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return _as_array(self.toarray, dtype, copy)


@dataclass(frozen=True, eq=False, repr=False)
class Codes:
    """The codes of m signals over n atoms: ``codes @ atoms`` approximates the signals.

    ``codes[i]`` is the `Code` of a signal, and iterating gives one after the other; a slice, an
    array of numbers or a mask gives the `Codes` of some signals. `matrix` is a sparse array,
    `toarray` and ``np.asarray(codes)`` are dense.

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

    def piece(self) -> Piece:
        """The codes as one of the pieces that `join` takes."""
        ends = self.residual_norms, self.iterations, self.statuses
        return Piece(self.sizes, self.indices, self.values, *ends)

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
        """The codes as a sparse array of shape (m, n), atoms in increasing order: a copy."""
        matrix = self._sparse(copy=True)
        matrix.sort_indices()
        return matrix

    def _sparse(self, copy: bool) -> csr_array[Any, tuple[int, int]]:
        from scipy.sparse import csr_array

        return csr_array((self.values, self.indices, self.indptr), shape=self.shape, copy=copy)

    def toarray(self) -> Array:
        """The codes as an array of shape (m, n)."""
        dense = np.zeros(self.shape, self.dtype)
        dense[np.repeat(np.arange(len(self)), self.sizes), self.indices] = self.values
        return dense

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return _as_array(self.toarray, dtype, copy)

    @overload
    def __getitem__(self, key: int) -> Code: ...
    @overload
    def __getitem__(self, key: slice | Array | list[int]) -> Codes: ...
    def __getitem__(self, key: object) -> Code | Codes:
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            place = int(key) + len(self) * (key < 0)
            if not 0 <= place < len(self):
                raise IndexError(f"codes: there is no signal {key} among {len(self)}")
            return next(iter(self._select(slice(place, place + 1))))
        return self._select(key if isinstance(key, slice) else _numbers(key, len(self)))

    def __iter__(self) -> Iterator[Code]:
        ends = zip(self.residual_norms, self.iterations, self.statuses, strict=True)
        bounds = zip(self.indptr[:-1].tolist(), self.indptr[1:].tolist(), ends, strict=True)
        for start, stop, (residual, steps, status) in bounds:
            yield Code(
                self.indices[start:stop].copy(),
                self.values[start:stop].copy(),
                float(residual),
                int(steps),
                _STATUSES[int(status)],
                self.n_atoms,
            )

    def _select(self, key: Selection) -> Codes:
        """The codes of some signals."""
        rows = np.arange(len(self))[key]
        sizes = self.sizes[rows]
        # Where the entries of each code begin here, and where they begin there.
        shift = self.indptr[rows] - (np.cumsum(sizes) - sizes)
        places = np.repeat(shift, sizes) + np.arange(sizes.sum())
        ends = self.residual_norms[rows], self.iterations[rows], self.statuses[rows]
        piece = Piece(sizes, self.indices[places], self.values[places], *ends)
        return Codes.join([piece], self.n_atoms, self.method, self.plan)

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
        rows, shape = decoder(atoms, self.n_atoms)
        return self._product(rows).reshape(len(self), *shape)

    def _product(self, rows: Array) -> Array:
        product: Array = self._sparse(copy=False) @ rows
        return product

    def _facts(self) -> dict[str, str]:
        m, n = self.shape
        sizes = self.sizes
        if not m:
            return {"codes": f"no signals over {n:,} atoms"}
        ended = ", ".join(f"{s.name} {k:,}" for s, k in self.counts().items())
        return {
            "codes": f"{m:,} signals over {n:,} atoms, {sizes.sum():,} coefficients ({self.dtype})",
            "method": self.method,
            "atoms used": f"{sizes.min()} … {sizes.max()} a signal, median {np.median(sizes):g}",
            "residual": f"median norm {np.median(self.residual_norms):.4g}, "
            f"largest {self.residual_norms.max():.4g}",
            "iterations": f"{self.iterations.min()} … {self.iterations.max()}",
            "status": ended,
            "done by": self.plan,
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:>10}: {text}" for name, text in self._facts().items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        curve = html.distribution(self.residual_norms, "residual norms, largest first")
        return html.page("Codes", html.facts(self._facts(), {"residual norms, sorted": curve}))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file (``.npz``), whole or not at all; no pickle is involved."""
        about = {"n": self.n_atoms, "method": self.method, "plan": self.plan}
        save_archive(path, CODES, about, {name: getattr(self, name) for name in _ARRAYS})

    @staticmethod
    def open(path: str | os.PathLike[str], verify: bool = False) -> Codes:
        """The codes in a folder that ``encode(…, out=folder)`` filled.

        They are read where asked for, and what is read is compared with its checksums; `verify`
        compares everything at once.
        """
        from pursuit.encoding.folder import open_folder

        return open_folder(path, verify)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Codes:
        """Read a file that `save` wrote; anything else, or one bit changed, is an input error."""
        file = path_of("path", path)
        if os.path.isdir(file):
            raise InputError(
                f"path: expected a file that save wrote, got the folder {file}; read the codes "
                "that encode(…, out=folder) wrote with Codes.open(folder)"
            )
        stored = load_archive(path, CODES)
        about = stored.about
        try:
            arrays = {name: stored.arrays[name] for name in _ARRAYS}
            codes = Codes(**arrays, n_atoms=about["n"], method=about["method"], plan=about["plan"])
            wrong = unsound(codes)
        except (KeyError, TypeError, ValueError, IndexError):
            wrong = "what it holds"
        if wrong:
            raise InputError(f"path: {os.fspath(path)} is not a file of codes: {wrong} is damaged")
        return codes


def decoder(atoms: object, n: int) -> tuple[Array, tuple[int, ...]]:
    """What codes over n atoms are multiplied with: atoms as rows of numbers, and their shape."""
    rows = real_array("atoms", getattr(atoms, "matrix", atoms))
    shape = getattr(atoms, "shape", ()) if hasattr(atoms, "matrix") else rows.shape[1:]
    if rows.ndim < 2 or len(rows) != n:
        raise InputError(
            f"atoms: expected {n} rows, as many as the codes have columns, got shape {rows.shape}"
        )
    return rows.reshape(len(rows), -1), shape


def unsound(codes: Codes) -> str:
    """The name of an array that cannot be that of codes; empty where all can."""
    m, entries = len(codes.statuses), len(codes.indices)
    indptr, indices = codes.indptr, codes.indices
    whole = all(array.dtype.kind in "iu" for array in (indptr, indices, codes.statuses))
    right = {
        "indptr": whole and indptr.shape == (m + 1,) and (indptr[0], indptr[-1]) == (0, entries),
        "indices": entries == 0 or 0 <= indices.min() <= indices.max() < codes.n_atoms,
        "values": codes.values.shape == indices.shape == (entries,),
        "residual_norms": codes.residual_norms.shape == (m,),
        "iterations": codes.iterations.shape == (m,),
        "statuses": m == 0 or codes.statuses.max() < len(_STATUSES),
        "sizes": (codes.sizes >= 0).all(),
    }
    return next((name for name, is_right in right.items() if not is_right), "")


def _numbers(key: object, m: int) -> Array:
    """The numbers of signals that a mask, or numbers from either end, stand for."""
    # Of (i, j) everybody else makes one coefficient; those are in codes.matrix.
    places = np.asarray(None if isinstance(key, tuple) else key)
    if places.dtype == bool and places.shape == (m,):
        return np.flatnonzero(places)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise InputError(
            "codes: expected the number of a signal, a slice, or an array of numbers or of "
            f"{m} booleans, got {key!r:.80}"
        )
    places = places.astype(np.int64)
    if places.size and not -m <= places.min() <= places.max() < m:
        raise IndexError(f"codes: expected numbers of {m} signals, got {key!r:.80}")
    return np.where(places < 0, places + m, places)


def _as_array(dense: Callable[[], Array], dtype: Any, copy: bool | None) -> Array:
    """What NumPy asks for; codes are sparse, so that there is nothing to share."""
    if copy is False:
        raise ValueError("codes: a dense array of them is a copy, which copy=False forbids")
    return dense() if dtype is None else dense().astype(dtype, copy=False)
