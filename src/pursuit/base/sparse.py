"""Sparse arrays of SciPy, checked once, at the door.

The compiled products of SciPy believe what a sparse array says of its indices. Those that someone
assigned may point anywhere, and a process that follows them ends there.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.validation import Array, as_floats, plain_array, refuse_nonfinite


def sparse_array(name: str, value: Any) -> Any:
    """A sparse matrix by rows or by columns, whose indices are inside of its shape.

    Its entries are finite; float32 stays float32, others become float64. One that is by rows or by
    columns already shares its memory with `value`, and nothing else: what `value` remembers of the
    order of its entries may be of other ones. One without entries is zero.
    """
    if value.ndim != 2:
        raise InputError(f"{name}: expected 2 dimension(s), got shape {value.shape}")
    try:
        found = _BUILT[value.format](value)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(
            f"{name}: expected a sparse array with indices inside of its shape {value.shape}, got "
            f"a {type(value).__name__} of other ones ({error!s:.120})"
        ) from None
    found.data = as_floats(plain_array(name, found.data))  # before duplicates of integers are added
    kept = found if found.format in ("csr", "csc") else found.tocsr()
    refuse_nonfinite(name, kept.data)
    return kept


def canonical_rows(name: str, value: Any) -> Any:
    """A sparse matrix by rows, of its own, its entries in their order and each there once."""
    rows = sparse_array(name, value).tocsr(copy=True)
    rows.sum_duplicates()
    refuse_nonfinite(name, rows.data)  # two numbers in one place may have no sum
    return rows


# What SciPy checks when an array is built of its parts ----------------------------------------


def _whole(indices: Any) -> Array:
    """Indices, which SciPy would round where they are none."""
    array = np.asarray(indices)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"indices of type {array.dtype}")
    return array.astype(np.int64, copy=False) if array.dtype.kind != "i" else array


def _compressed(A: Any) -> Any:
    from scipy.sparse import bsr_array, csc_array, csr_array

    kind = {"csr": csr_array, "csc": csc_array, "bsr": bsr_array}[A.format]
    found = kind((A.data, _whole(A.indices), _whole(A.indptr)), shape=A.shape)
    found.check_format(full_check=True)
    return found


def _coordinates(A: Any) -> Any:
    rows, columns = A.coords
    return _placed(A.data, rows, columns, A.shape)


def _diagonals(A: Any) -> Any:
    from scipy.sparse import dia_array

    offsets = _whole(A.offsets)
    if (np.abs(offsets) > np.iinfo(np.int32).max // 2).any():
        raise ValueError("diagonals far outside")
    return dia_array((A.data, offsets), shape=A.shape)


def _lists(A: Any) -> Any:
    rows = np.repeat(np.arange(len(A.rows)), [len(row) for row in A.rows])
    return _placed(_listed(A.data, A.dtype), rows, _listed(A.rows), A.shape)


def _listed(lists: Any, dtype: Any = None) -> Array:
    return np.array(list(chain.from_iterable(lists)), dtype)


def _keys(A: Any) -> Any:
    rows, columns = np.array(list(A.keys())).reshape(-1, 2).T
    return _placed(np.array(list(A.values()), A.dtype), rows, columns, A.shape)


def _placed(data: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_array

    return coo_array((data, (_whole(rows), _whole(columns))), shape=shape)


_BUILT = {
    "csr": _compressed,
    "csc": _compressed,
    "bsr": _compressed,
    "coo": _coordinates,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _keys,
}
