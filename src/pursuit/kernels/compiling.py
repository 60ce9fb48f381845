"""Compiled functions that are kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

from pursuit.kernels import private

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile when first called, without the GIL, and keep the result where a folder allows it.

    A function that others call becomes a part of each of them. Left as a call, the one that is
    run would be its own compilation in the process that made it, and the copy that was optimised
    with its caller in a process that loads the caller alone: sums in another order, other bits.
    """
    options = {"nogil": True, "forceinline": True, **options}

    def decorate(function: Function) -> Function:
        try:
            dispatcher = njit(cache=True, **options)(function)
        except RuntimeError:  # neither the package nor the user's cache folder can be written
            return cast(Function, njit(**options)(function))
        private.watch_index(dispatcher, mark())
        return cast(Function, dispatcher)

    return decorate


@cache
def mark() -> str:
    """A mark of the files that kernels are made of as they are: names, sizes and times.

    They are this room's, the codes of statuses that kernels hold as constants, and the root that
    they share with the rules.
    """
    room = Path(__file__).parent
    base = [room.parent / "base" / name for name in ("status.py", "roots.py")]
    seen = blake2b(digest_size=16)
    for path in [*sorted(room.glob("*.py")), *base]:
        about = path.stat()
        seen.update(f"{path} {about.st_size} {about.st_mtime_ns}".encode())
    return seen.hexdigest()


strict = compiled()
"""Compile a function whose arithmetic is done as it is written."""
