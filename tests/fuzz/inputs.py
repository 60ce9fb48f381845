"""The area `inputs`: every public door, with one argument that is not what it should be.

The same numbers in another coat (a list, a tensor, an unmasked masked array) are the same answer
or a refusal. What is no array of real numbers is a refusal.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import oddities
from fuzz.case import Case, Refused, words
from fuzz.decomposing import NAMES as DECOMPOSE_NAMES
from fuzz.doors import Door, doors
from fuzz.encoding import NAMES as ENCODE_NAMES
from fuzz.generators import ENDLESS, JUNK, Array
from fuzz.geometry import NAMES as GEOMETRY_NAMES
from fuzz.learning import NAMES as LEARN_NAMES
from fuzz.outlets import FILES, OUTLETS, WRITTEN
from fuzz.penalised import NAMES as PENALISED_NAMES
from fuzz.solving import NAMES as SOLVE_NAMES
from fuzz.unmixing import NAMES as UNMIX_NAMES
from fuzz.unmixing import SAID
from pursuit import InputError
from pursuit.base.errors import one_line
from pursuit.base.validation import shown

NAMES = (
    SOLVE_NAMES
    | ENCODE_NAMES
    | UNMIX_NAMES
    | GEOMETRY_NAMES
    | LEARN_NAMES
    | DECOMPOSE_NAMES
    | PENALISED_NAMES
    | words("p confidence result entries scene endmembers channels cut max_depth gram weights, ")
    | words("min_samples_leaf n_templates rounds expected lower upper")
    | words("max_nonzero criterion cv scoring rule l1_ratio positive fit_intercept loss alpha C")
    | words("n_nonzero_coefs precompute sparse_output n_jobs random_state n_components")
)


# Coats -------------------------------------------------------------------------------------


def _torch(array: Array, **options: Any) -> Any:
    import torch

    return torch.tensor(np.ascontiguousarray(array, np.float64), **options)


def _half(array: Array) -> Any:
    import torch

    return torch.tensor(np.ascontiguousarray(array)).to(torch.bfloat16)


def _dask(array: Array) -> Any:
    import dask.array

    return dask.array.from_array(array)


def _xarray(array: Array) -> Any:
    import xarray

    return xarray.DataArray(array)


class _Convertible:
    """Something that only NumPy can make an array of."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._array if dtype is None else self._array.astype(dtype)


COATS: dict[str, Callable[[Array], Any]] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "Fortran": np.asfortranarray,
    "subclass": lambda a: a.view(type("Sub", (np.ndarray,), {})),
    "unmasked": lambda a: np.ma.array(a),
    "object with __array__": _Convertible,
    "tensor": _torch,
    "tensor with grad": lambda a: _torch(a, requires_grad=True),
    "dask": _dask,
    "xarray": _xarray,
    "list of arrays": list,
    **oddities.SPARSE,
    **oddities.PANDAS,
    **oddities.SAME,
}
"""The same numbers."""
_LIBRARIES = {"tensor": "torch", "tensor with grad": "torch", "half tensor": "torch",
              "dask": "dask", "xarray": "xarray", "pandas": "pandas",
              "pandas with NA, none": "pandas", "pandas with a hole": "pandas"}  # fmt: skip


def _there(kinds: dict[str, Any]) -> list[str]:
    """The kinds for which the library is installed."""
    return [kind for kind in kinds if find_spec(_LIBRARIES.get(kind, "numpy"))]


def _holed(value: float) -> Callable[[Array], Any]:
    def make(array: Array) -> Array:
        spoilt = array.astype(np.float64)
        spoilt.flat[-1] = value
        return spoilt

    return make


def _masked(array: Array) -> Any:
    mask = np.zeros(array.shape, bool)
    mask.flat[0] = True
    return np.ma.array(array, mask=mask)


RAGS: dict[str, Callable[[Array], Any]] = {
    "nan": _holed(np.nan),
    "inf": _holed(np.inf),
    "masked": _masked,
    "complex": lambda a: a + 1j,
    "texts": lambda a: a.astype(str),
    "bytes": lambda a: a.astype("S8"),
    "objects": lambda a: a.astype(object),
    "dates": lambda a: np.zeros(a.shape, "datetime64[s]"),
    "records": lambda a: np.zeros(a.shape, "f8,f8"),
    "empty": lambda a: a[:0],
    "no columns": lambda a: a[..., :0],
    "ragged": lambda a: [[1.0, 2.0], [3.0]],
    "text": lambda a: "signals",
    "nothing": lambda a: None,
    "mapping": lambda a: {"a": 1},
    "set": lambda a: {1.0, 2.0},
    "function": lambda a: np.mean,
    "class": lambda a: np.ndarray,
    "generator of numbers": lambda a: (float(v) for v in a.flat),
    "number": lambda a: 3.0,
    "half tensor": _half,
    "two more axes": lambda a: a[None, None],
    **oddities.SIGNALLING,
    **oddities.MISSING,
    **oddities.FAILING,
    **oddities.LIES,
}
"""No array of real numbers, or not one of that shape."""
FITTING = frozenset({"two more axes", "half tensor", "nothing", "number", "generator of numbers",
                     "empty", "function", "no columns", "text"})  # fmt: skip
"""Rags that some argument may take: they must not crash, and that is all."""


# The doors ---------------------------------------------------------------------------------

OPTIONAL = frozenset({"x0", "coef0", "sampling", "weights", "gradient", "given", "size",
                      "start", "strengths", "norms"})  # fmt: skip
"""Arguments that are left out unless they are the one to be tried."""


STEPS = frozenset({"rounds", "passes", "max_iter"})
"""Numbers of steps, all of which are taken."""


def inputs_case(case: Case) -> None:
    if case.chance(0.08):
        _path(case)
        return
    name = case.pick(*doors())
    door = doors()[name]
    argument = case.pick(*door.arrays, *door.others)
    case.tell(door=name, argument=argument)
    arrays = {name: door.plain(name) for name in door.arrays}
    plain = {k: v for k, v in (arrays | door.others).items() if k not in OPTIONAL}
    if argument in door.arrays and not case.chance(0.1):
        _array(case, door, argument, plain)
    else:
        _other(case, door, argument, plain)


def _array(case: Case, door: Door, argument: str, plain: dict[str, Any]) -> None:
    good = door.arrays[argument]
    if case.chance(0.4):
        coat = case.pick(*_there(COATS))
        case.tell(value=coat)
        try:
            truth = door.compared(
                _quietly(lambda: door.call(**plain | {argument: door.plain(argument)}))
            )
        except InputError:
            truth = None
        call = lambda: door.call(**plain | {argument: COATS[coat](good)})  # noqa: E731
        found = case.ask(call, NAMES, warned=TOLD)
        case.require(door.compared(found) == truth, f"{argument} as {coat}: another answer")
        return
    rag = case.pick(*_there(RAGS))
    case.tell(value=rag)
    value = RAGS[rag](good)
    try:
        found = case.ask(lambda: door.call(**plain | {argument: value}), NAMES, warned=TOLD)
    except Refused:
        return
    unbound = rag == "inf" and argument in ("lower", "upper")  # there is no bound, then
    case.require(
        rag in FITTING or unbound or door.lenient,
        f"{argument} is taken as {rag}: {door.compared(found)!r:.80}",
    )


def _quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def _other(case: Case, door: Door, argument: str, plain: dict[str, Any]) -> None:
    """Junk for anything: where it is taken, the answer can at least be looked at."""
    value = case.pick(*JUNK, *oddities.ODD)
    case.tell(value=shown(value))
    if argument in ("callback", "scoring") and callable(value):
        return  # what a callback raises passes through
    if argument in STEPS and isinstance(value, int) and value >= ENDLESS:
        return  # more than anyone waits for
    if argument == "n_jobs" and isinstance(value, (int, np.integer)) and value not in (0, 1):
        return  # processes of a process are for joblib to make
    found = case.ask(lambda: door.call(**plain | {argument: value}), NAMES, warned=TOLD)
    case.ask(lambda: door.compared(found), NAMES, valid=True)


TOLD = (*SAID, "MAX_ITER", ".*is more than the")
"""Warnings of models that stop early, and of numbers above what there is."""


def _path(case: Case) -> None:
    """What is no path, where something is read or written."""
    name, value = case.pick(*OUTLETS), case.pick(*oddities.NO_PATHS)
    case.tell(door=name, value=shown(value))
    typed = {one_line(str(value)), repr(value)} if isinstance(value, (str, Path)) else set()
    with contextlib.chdir(case.folder):  # where what is written to an odd name stays
        case.ask(lambda: OUTLETS[name](value), NAMES | typed | FILES, warned=SAID)
    case.require(isinstance(value, str) and name in WRITTEN, f"{value!r} is taken as {name}")
