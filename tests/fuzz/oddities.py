"""What nobody means to pass: lying sparse arrays, missing entries, objects that fail, no paths."""

from __future__ import annotations

from array import array as typed_array
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray
Made = dict[str, Callable[[Array], Any]]

# Sparse arrays -----------------------------------------------------------------------------

FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")


def _sparse(format: str, kind: type) -> Callable[[Array], Any]:
    return lambda a: kind(np.atleast_2d(a)).asformat(format)


SPARSE: Made = {
    f"sparse {format} {kind.__name__[4:]}": _sparse(format, kind)
    for format in FORMATS
    for kind in (sparse.csr_array, sparse.csr_matrix)
}
"""The same numbers, in every format that SciPy has."""


def _item(place: int, value: int) -> Callable[[Array], Array]:
    def changed(array: Array) -> Array:
        array = array.copy()
        array[place] = value
        return array

    return changed


CHANGES: dict[str, dict[str, Callable[[Array], Array]]] = {
    "an index beyond": {"indices": _item(-1, 2**30)},
    "an index just beyond": {"indices": lambda i: i + 1},
    "an index below": {"indices": _item(0, -(2**30))},
    "pointers that fall": {"indptr": _item(1, 2**29)},
    "pointers from below": {"indptr": _item(0, -3)},
    "pointers beyond": {"indptr": _item(-1, 2**30)},
    "pointers too many": {"indptr": lambda p: np.append(p, 2**30)},
    "pointers too few": {"indptr": lambda p: p[:-1]},
    "indices too few": {"indices": lambda i: i[:-1]},
    "entries too few": {"data": lambda d: d[:-1]},
    "no whole indices": {"indices": lambda i: i + 0.5},
    "indices of nothing": {"indices": lambda i: None},
}


def _lying(format: str, parts: dict[str, Callable[[Array], Array]]) -> Callable[[Array], Any]:
    def make(array: Array) -> Any:
        made = sparse.csr_array(np.atleast_2d(array)).asformat(format)
        for name, change in parts.items():
            setattr(made, name, change(getattr(made, name).copy()))
        return made

    return make


def _lil(array: Array) -> Any:
    made = sparse.lil_array(np.atleast_2d(array))
    made.rows[0] = [2**30, *made.rows[0][1:]]
    return made


LIES: Made = {
    f"{format} with {name}": _lying(format, parts)
    for format in ("csr", "csc", "bsr")
    for name, parts in CHANGES.items()
} | {
    "coo beyond": _lying("coo", {"row": lambda i: i + 2**30}),
    "coo below": _lying("coo", {"col": lambda i: i - 2**30}),
    "coo too few": _lying("coo", {"data": lambda d: d[:-1]}),
    "dia too few": _lying("dia", {"data": lambda d: d[:-1]}),
    "dia far": _lying("dia", {"offsets": lambda o: o + (2**31 - 64)}),
    "lil beyond": _lil,
}
"""Sparse arrays whose parts were assigned, and point elsewhere."""


# Numbers that are not there ----------------------------------------------------------------


def _signalling(dtype: str, bits: int) -> Callable[[Array], Any]:
    def make(array: Array) -> Array:
        spoilt = np.array(array, dtype, order="C")
        spoilt.reshape(-1).view(f"u{spoilt.itemsize}")[-1] = bits
        return spoilt

    return make


SIGNALLING: Made = {
    "signalling nan, half": _signalling("f2", 0x7D00),
    "signalling nan, single": _signalling("f4", 0x7FA00000),
    "signalling nan, double": _signalling("f8", 0x7FF4000000000000),
}


def _pandas(array: Array, *, hole: bool) -> Any:
    import pandas

    rows = np.atleast_2d(array).tolist()
    if hole:
        rows[-1][-1] = None
    if array.ndim > 1:
        return pandas.DataFrame(rows).astype("Float64")
    return pandas.Series(rows[0], dtype="Float64")


def _plain_pandas(array: Array) -> Any:
    import pandas

    return pandas.DataFrame(array) if array.ndim > 1 else pandas.Series(array)


def _masked_row(array: Array) -> Any:
    rows = list(np.atleast_2d(array))
    return [np.ma.masked, *rows[1:]]


def _wide(array: Array) -> Array:
    """Numbers that are some in long double alone."""
    spoilt = array.astype(np.longdouble)
    spoilt.flat[0] = np.finfo(np.longdouble).max
    return spoilt


MISSING: Made = {
    "pandas with a hole": lambda a: _pandas(a, hole=True),
    "all masked": lambda a: np.ma.masked_all(a.shape),
    "a masked row in a list": _masked_row,
    "None in a list": lambda a: [None, *a.tolist()[1:]],
    "masked": lambda a: np.ma.masked,
    "beyond double": _wide,
}
PANDAS: Made = {"pandas": _plain_pandas, "pandas with NA, none": lambda a: _pandas(a, hole=False)}


# Objects that fail -------------------------------------------------------------------------


class Fails:
    """Whatever is asked of it, it says no."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("this object fails")

    __float__ = __int__ = __index__ = __array__ = __len__ = __iter__ = __getitem__ = _fail
    __bool__ = __eq__ = __lt__ = __str__ = __repr__ = _fail
    __hash__ = None  # type: ignore[assignment]


class FailsAsNumber:
    def __float__(self) -> float:
        raise RuntimeError("no float here")

    __index__ = __float__


class FailsAsArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise KeyError("no array here")


class Arrayless:
    """Says that it is an array, and is none."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return "not an array"


class Endless:
    """A sequence that says that it has items, and has none."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)


def _objects(array: Array) -> Any:
    made = array.astype(object)
    made.flat[-1] = FailsAsNumber()
    return made


FAILING: Made = {
    "failing objects": _objects,
    "failing items": lambda a: [FailsAsNumber()] * len(a),
    "failing object": lambda a: FailsAsNumber(),
    "failing array": lambda a: FailsAsArray(),
    "object that fails in everything": lambda a: Fails(),
    "no array after all": lambda a: Arrayless(),
    "a sequence without items": lambda a: Endless(),
    "keys": lambda a: dict.fromkeys(range(len(a))).keys(),
    "values": lambda a: dict(enumerate(a.tolist())).values(),
    "arrays by name": lambda a: {"atoms": a},
    "bytes object": lambda a: a.tobytes(),
    "bytearray": lambda a: bytearray(a.tobytes()),
    "frozen set": lambda a: frozenset(a.ravel().tolist()),
    "namespace": lambda a: SimpleNamespace(a=a),
    "one record": lambda a: np.zeros((), "f8,f8")[()],
    "an iterator that fails": lambda a: _failing(),
    "an iterator of nothing": lambda a: iter(()),
    "a module": lambda a: np,
}


def _failing() -> Iterator[Any]:
    yield FailsAsNumber()


SAME: Made = {
    "typed array": lambda a: typed_array("d", a.tolist()) if a.ndim == 1 else a,
    "memory": lambda a: memoryview(np.ascontiguousarray(a)),
}
"""The same numbers, in what else Python has."""


# Anything ----------------------------------------------------------------------------------


class NoPath:
    """Says that it is a path, and is none."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __fspath__(self) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value

    def __repr__(self) -> str:
        return "NoPath()"


NO_PATHS: tuple[Any, ...] = (
    0,
    3.5,
    True,
    b"bytes.npz",
    bytearray(b"x.npz"),
    NoPath(7),
    NoPath(b"bytes.npz"),
    NoPath(OSError("gone")),
    "",
    " ",
    "a\0b.npz",
    "a\0b.npy",
    Path("a\0b.csv"),
    "/",
    ".",
    "..",
    "x" * 300 + ".npz",
    "x/" * 60 + "y.npz",
    "/dev/null/x.npz",
    "nowhere/x.npz",
    "/proc/x.npz",
    "a\ud800.npz",
    ["x.npz"],
    ("x.npz",),
    {"x.npz"},
    np.array("x.npz"),
    np.str_("nowhere/x.npz"),
    len,
    Path,
)
"""What no file can be written to, and none read from."""

ODD: tuple[Any, ...] = (
    *NO_PATHS[:10],
    Fails(),
    FailsAsNumber(),
    FailsAsArray(),
    Arrayless(),
    Endless(),
    Decimal("sNaN"),
    Decimal(2),
    np.float64(np.nan),
    np.array([0x7FA00000], "u4").view("f4")[0],
    np.longdouble("1e4000"),
    np.array([FailsAsNumber()], object),
    np.array(["x"]),
    {1, 2},
    frozenset(),
    {"a": 1}.keys(),
    range(3),
    slice(None),
    SimpleNamespace(),
    NotImplemented,
    ...,
    object,
    np.float64,
    ValueError("x"),
    b"",
    "\0",
    "\ud800",
    "é" * 400,
    [[]],
    [[1], [1, 2]],
    [None],
    sparse.csr_array((3, 3)),
)
