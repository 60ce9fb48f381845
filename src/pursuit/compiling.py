"""Compiled functions that are kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile when first called, without the GIL, and keep the result where a folder allows it."""

    def decorate(function: Function) -> Function:
        try:
            dispatcher = njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # neither the package nor the user's cache folder can be written
            return cast(Function, njit(nogil=True, **options)(function))
        _forgive(dispatcher)
        return cast(Function, dispatcher)

    return decorate


def _forgive(dispatcher: Any) -> None:
    """Take an index that cannot be read for an empty one.

    It lists types by the names of their classes, and an earlier version of the package may have
    left one with names that are gone: loading it would end in an error before its age is looked at.
    """
    file = dispatcher._cache._cache_file
    load = file._load_index

    def load_index() -> dict[Any, Any]:
        try:
            index: dict[Any, Any] = load()
        except (AttributeError, ImportError):
            return {}
        return index

    file._load_index = load_index


strict = compiled()
"""Compile a function whose arithmetic is done as it is written."""
