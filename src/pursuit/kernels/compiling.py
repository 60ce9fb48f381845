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
    """Compile a kernel when it is first called, without the GIL, and keep it where a folder allows.

    A kernel that others call becomes a part of each of them. What it is made of otherwise is for
    `part`.
    """
    options = {"nogil": True, "forceinline": True, **options}
    options["pipeline_class"] = private.KernelCompiler

    def decorate(function: Function) -> Function:
        try:
            dispatcher = njit(cache=True, **options)(function)
        except RuntimeError:  # neither the package nor the user's cache folder can be written
            return cast(Function, njit(**options)(function))
        private.watch_index(dispatcher, mark())
        return cast(Function, dispatcher)

    return decorate


def part(inline: bool = True, **options: Any) -> Callable[[Function], Function]:
    """Compile a function of kernels in each of them, and nowhere else: once, and no wrapper.

    A copy goes to each place that calls it, or, where that is much code for what a call saves, one
    to a kernel. A part counts no references: it allocates no arrays and gives none back.
    """
    options = {"nogil": True, "forceinline": inline, **private.UNCOUNTED, **options}

    def decorate(function: Function) -> Function:
        return cast(Function, private.part(function, options))

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
strict_part = part()
"""The same for a part of kernels."""
