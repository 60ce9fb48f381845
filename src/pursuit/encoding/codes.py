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
from pursuit.encoding.folder import FINISHED, NO_ATOM, About, StoredRows, read_about, read_records

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CODES = ArchiveKind("path", "a file of codes", "pursuit codes", format=2)
DIRECT = 2**23
"""Coefficients that codes in memory may have room for in advance."""
LITTLE = 2**17
"""Fewer coefficients than this are copied by one thread."""
_STATUSES = tuple(Status)
_ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")
Selection = slice | Array
"""Which signals: a slice, or their numbers."""
ROWS = 2**16
"""Codes that `StoredCodes.parts` gives at a time."""


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
    def of(
        n_atoms: int,
        method: str,
        plan: str,
        sizes: Array,
        indices: Array,
        values: Array,
        *ends: Array,
    ) -> Codes:
        """Return codes of `sizes` atoms each, which `indices` and `values` list one by one;
        `ends` are residual norms, iterations and statuses."""
        if len(indices) > np.iinfo(np.int32).max:
            indices = indices.astype(np.int64)
        indptr = np.zeros(len(sizes) + 1, indices.dtype)
        np.cumsum(sizes, out=indptr[1:])
        residual_norms, iterations, statuses = ends
        arrays = indptr, indices, values, residual_norms, iterations, statuses
        return Codes(*arrays, n_atoms, method, plan)

    @staticmethod
    def join(parts: list[Codes], threads: int = 1) -> Codes:
        """Return the codes of consecutive parts as one."""
        first = parts[0]
        if len(parts) == 1:
            return first
        names = ("sizes", *_ARRAYS[1:])
        columns = [[getattr(part, name) for part in parts] for name in names]
        if sum(len(part.values) for part in parts) < LITTLE:
            arrays = list(map(np.concatenate, columns))
        else:
            arrays = _concatenated(columns, threads)
        return Codes.of(first.n_atoms, first.method, first.plan, *arrays)

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
        entries = self.indices[places], self.values[places]
        return Codes.of(self.n_atoms, self.method, self.plan, sizes, *entries, *ends)

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


def _concatenated(columns: list[list[Array]], threads: int) -> list[Array]:
    """Return the parts of each column as one array; new memory costs time when it is first written
    to, so all threads write."""
    ends = [np.cumsum([len(part) for part in column]) for column in columns]
    arrays = [np.empty(e[-1], c[0].dtype) for e, c in zip(ends, columns, strict=True)]

    def copy(number: int) -> None:
        for array, end, column in zip(arrays, ends, columns, strict=True):
            part = column[number]
            array[end[number] - len(part) : end[number]] = part

    for_each_block(len(columns[0]), lambda: copy, threads, brief=True)
    return arrays


class CodesBuffer:
    """The codes of blocks of one size, copied as they come to where they stay.

    Memory is written to for the first time only once then; where there is not room for codes of
    the full width, parts are joined in the end.
    """

    def __init__(self, m: int, block: int, width: int, dtype: np.dtype[Any]) -> None:
        self._block, self._width = block, width
        self._parts: dict[int, Codes] = {}
        self._counts = np.zeros(-(-m // block), np.int64)
        self._is_direct = len(self._counts) > 1 and m * width <= DIRECT
        if self._is_direct:
            self._entries = np.empty(m * width, np.int32), np.empty(m * width, dtype)
            self._sizes = np.empty(m, np.int32)
            self._ends: list[Array] = [np.empty(m), np.empty(m, np.int64), np.empty(m, np.uint8)]

    def put(self, place: int, codes: Codes) -> None:
        """Take the codes of a block; any thread may call."""
        if place == 0 or not self._is_direct:
            self._parts[place] = codes
        if not self._is_direct:
            return
        first, count = place * self._block, len(codes.values)
        rows = slice(first, first + len(codes))
        begin = first * self._width
        self._entries[0][begin : begin + count] = codes.indices
        self._entries[1][begin : begin + count] = codes.values
        np.subtract(codes.indptr[1:], codes.indptr[:-1], out=self._sizes[rows], casting="same_kind")
        self._counts[place] = count
        ends = codes.residual_norms, codes.iterations, codes.statuses
        for array, part in zip(self._ends, ends, strict=True):
            array[rows] = part

    def join(self, threads: int) -> Codes:
        """Return the codes of all blocks."""
        if not self._is_direct:
            return Codes.join([self._parts[place] for place in sorted(self._parts)], threads)
        end = 0
        for place, count in enumerate(self._counts.tolist()):
            begin = place * self._block * self._width
            if begin != end:  # a code before was not full: close the gap
                for array in self._entries:
                    array[end : end + count] = array[begin : begin + count]
            end += count
        first = self._parts[0]
        entries = (array[:end] for array in self._entries)
        names = first.n_atoms, first.method, first.plan
        return Codes.of(*names, self._sizes, *entries, *self._ends)


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


# Codes in a folder -----------------------------------------------------------------------------


def open_folder(path: str | os.PathLike[str], verify: bool = False) -> StoredCodes:
    """Return the codes in a folder that `encode` filled to the end."""
    folder = path_of("path", path)
    about = read_about(folder)
    records = read_records(folder, about)
    done = int(np.count_nonzero(records["rows"]))
    if not about.complete or about.signals is None:
        of = "" if about.blocks is None else f" of {about.blocks}"
        raise InputError(
            f"{folder}: the codes are unfinished, {done}{of} blocks are there; encode the same "
            "signals with resume=True (--resume)"
        )
    if done != about.blocks:
        raise InputError(f"{folder}: {FINISHED} is damaged, it has {done} of {about.blocks} blocks")
    rows = StoredRows(folder, about, records)
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
        is_used = found["indices"] != NO_ATOM
        entries = found["indices"][is_used], found["values"][is_used]
        ends = (found[name] for name in ("residual_norms", "iterations", "statuses"))
        sizes = is_used.sum(axis=1, dtype=np.int32)
        return Codes.of(self.n_atoms, self.method, self.plan, sizes, *entries, *ends)

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
