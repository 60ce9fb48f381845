"""Checks made once, at the door: each names the argument, what came and what is expected."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pursuit.base.errors import InputError

Array = NDArray[Any]

SHOWN = 60
"""Characters of a value that a message shows."""


ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object is in memory, which is nothing to tell."""

REAL_KINDS = "fiub"
"""The kinds of NumPy types that are real numbers."""


def plain_array(name: str, value: object) -> Array:
    """`value` as a NumPy array of real numbers, nothing being looked at but its type.

    Tensors of torch are taken as they are now, without their gradients; those in half precision
    become float64, as integers do further on. Labelled arrays of xarray lose their labels. What
    has no value everywhere, is sparse or is not computed yet is refused, with what to do.
    """
    array = value if type(value) is np.ndarray else _converted(name, value)
    if isinstance(value, bytearray):
        raise InputError(f"{name}: expected real numbers, got a bytearray")
    if array.dtype.kind not in REAL_KINDS:
        raise InputError(f"{name}: expected real numbers, got {_described(value, array)}")
    return array


def real_array(
    name: str,
    value: object,
    *,
    ndim: int | None = None,
    minimum: int = 1,
    check_finite: bool = True,
) -> Array:
    """`value` as a finite floating-point array; float32 stays float32, others become float64."""
    array = as_floats(plain_array(name, value))
    if ndim is not None and array.ndim != ndim:
        raise InputError(f"{name}: expected {ndim} dimension(s), got shape {array.shape}")
    if array.ndim < minimum:
        raise InputError(
            f"{name}: expected at least {minimum} dimension(s), got shape {array.shape}"
        )
    if array.size == 0:
        raise InputError(f"{name}: expected at least one entry, got shape {array.shape}")
    if check_finite:
        refuse_nonfinite(name, array)
    return array


def as_floats(array: Array) -> Array:
    """Real numbers as float32, if they are, or float64, unchecked.

    Numbers that float64 does not have, and a signalling NaN, are for those to name who look at the
    entries: NumPy would only warn.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(float_type(array.dtype), copy=False)


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for float32 of any byte order, else float64, both in native byte order."""
    is_single = dtype.newbyteorder("=") == np.float32
    return np.dtype(np.float32 if is_single else np.float64)


def in_rows(array: Array, dtype: np.dtype[Any]) -> Array:
    """An array one row after another in memory, in another type, unchecked as well."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows: Array = np.asarray(array, dtype, order="C")
    return rows


def is_finite(array: Array) -> bool:
    """Return whether all entries are finite, without a mask of the size of the array."""
    if array.size == 0:
        return True
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        return bool(np.isfinite(array.min()) and np.isfinite(array.max()))


def refuse_nonfinite(name: str, array: Array) -> None:
    """Name the first number that is none, and its place."""
    if is_finite(array):
        return
    where = np.unravel_index(int(np.argmax(~np.isfinite(array))), array.shape)
    place = tuple(int(i) for i in where)
    raise InputError(f"{name}: expected finite numbers, got {array[where]} at {place}")


def shaped_array(name: str, value: object, shape: tuple[int, ...]) -> Array:
    """`value` as a finite floating-point array of the given shape."""
    array = real_array(name, value)
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero."""
    result = number(name, value)
    if not (np.isfinite(result) and result > 0):
        raise InputError(f"{name}: expected a positive number, got {shown(value)}")
    return result


def share(name: str, value: object) -> float:
    """`value` as a float above zero and at most one."""
    result = positive(name, value)
    if result > 1:
        raise InputError(f"{name}: expected a number above 0 and at most 1, got {result:g}")
    return result


def non_negative(name: str, value: object) -> float:
    """`value` as a finite float of at least zero."""
    result = number(name, value)
    if not (np.isfinite(result) and result >= 0):
        raise InputError(f"{name}: expected a number of at least 0, got {shown(value)}")
    return result


def count(name: str, value: object, minimum: int = 0) -> int:
    """`value` as an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise InputError(f"{name}: expected an integer of at least {minimum}, got {shown(value)}")
    return int(value)


def random_seed(name: str, value: object) -> int:
    """Return the integer that a run draws its random numbers from: `value`, or where it is a
    generator one integer drawn from that, or where it is None one drawn from the system."""
    if value is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**63))
    if isinstance(value, (int, np.integer)):
        return count(name, value)
    raise InputError(
        f"{name} must be an integer of at least 0, a numpy.random.Generator or None, "
        f"got {shown(value)}"
    )


def extent(name: str, value: object) -> int:
    """`value` as the length of an axis: an integer of at least 1 that counts something."""
    length = count(name, value, minimum=1)
    if length > sys.maxsize:
        raise InputError(f"{name}: expected an integer up to {sys.maxsize}, got {shown(value)}")
    return length


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}: expected one of {', '.join(choices)}, got {shown(value)}")
    return str(value)


def flag(name: str, value: object) -> bool:
    """`value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name}: expected True or False, got {shown(value)}")
    return bool(value)


def listed(name: str, value: Any, expected: str) -> list[Any]:
    """The items of `value`, one after another."""
    try:
        return list(value)
    except Exception:  # of what has none, or fails to give them
        raise InputError(f"{name}: expected {expected}, got {shown(value)}") from None


def shown(value: object) -> str:
    """A value as messages show it, the beginning of a long one."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        text = ADDRESS.sub("", repr(value))
    except Exception:  # of an object that cannot even say what it is
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def number(name: str, value: object) -> float:
    """`value` as a float; not a text, not an array, not nan."""
    if isinstance(value, (bool, str, bytes)) or not np.isscalar(value):
        raise InputError(f"{name}: expected a number, got {shown(value)}")
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: expected a number, got {shown(value)}") from None
    if np.isnan(result):
        raise InputError(f"{name}: expected a number, got nan")
    return result


# Arrays of other libraries, known by their names: none of these is imported here ---------------


def _converted(name: str, value: Any) -> Array:
    """What another library, or a list, gives NumPy; its refusals become one sentence."""
    kind = type(value).__name__
    libraries = {parent.__module__.partition(".")[0] for parent in type(value).__mro__}
    refuse_mask(name, value)
    if "dask" in libraries:
        raise InputError(
            f"{name}: expected an array in memory, got a dask {kind}; give its compute()"
        )
    if hasattr(value, "toarray") and not hasattr(value, "__array__"):
        raise InputError(f"{name}: expected a dense array, got a sparse {kind}; give its toarray()")
    if "xarray" in libraries:
        if not hasattr(value, "data"):
            raise InputError(f"{name}: expected one array, got an xarray {kind} of several")
        return plain_array(name, value.data)
    try:
        return _detached(value) if "torch" in libraries else np.asarray(value)
    except MemoryError:  # nothing is wrong with what is too large
        raise
    except Exception as error:  # whatever an object that is no array raises when asked for one
        reason = " ".join(str(error).split())
        raise InputError(
            f"{name}: expected an array of real numbers, got a {kind} ({reason:.120})"
        ) from None


HOLDERS = (list, tuple, np.ma.MaskedArray)
"""What may have a mask, or hold what has one."""


def has_mask(value: object) -> bool:
    """Whether an entry of an array, or of arrays in a list, is masked."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.is_masked(value))
    if not isinstance(value, (list, tuple)):
        return False
    return any(has_mask(item) for item in value if isinstance(item, HOLDERS))


def refuse_mask(name: str, value: object) -> None:
    """Refuse what NumPy, and all that asks NumPy, would read as if it were not masked."""
    if has_mask(value):
        raise InputError(
            f"{name}: expected a value everywhere, got a masked array with masked entries; leave "
            "them out, or give filled(...) of it"
        )


def _detached(tensor: Any) -> Array:
    """The numbers of a torch tensor; NumPy has no bfloat16 and no types of eight bits."""
    if tensor.device.type != "cpu":  # moving it is for its owner to decide
        raise TypeError(f"on {tensor.device}: give its cpu(), or use pursuit.torch.encode")
    here = tensor.detach()
    if here.is_floating_point() and here.element_size() <= 2:
        here = here.double()
    array: Array = here.numpy()
    return array


def _described(value: object, array: Array) -> str:
    """What came in place of real numbers."""
    if array.dtype.kind != "O":
        return f"an array of type {array.dtype}"
    kind = type(value).__name__
    if array.ndim == 0:
        return f"a {kind}"
    first = type(array.flat[0]).__name__ if array.size else "nothing"
    return f"a {kind} of Python objects, the first a {first}"
