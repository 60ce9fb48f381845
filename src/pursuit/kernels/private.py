"""What Numba does not promise to keep, in one place: look here first when a new version fails."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils

UNCOUNTED = {"_nrt": False}
"""Options of a kernel that counts no references to its arrays."""


def insert_function(module: Any, kind: Any, name: str) -> Any:
    """A function of LLVM that is declared once in a module."""
    return cgutils.get_or_insert_function(module, kind, name)  # type: ignore[no-untyped-call]


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """The address of the numbers of an array, inside compiled code."""
    return context.make_array(kind)(context, builder, array).data


def watch_index(dispatcher: Any, mark: str) -> None:
    """Let compiled code on disk be stale when `mark` changes, and never be the cause of an error.

    Numba looks at the file of a kernel alone; a kernel is made of other files too. And the index
    lists types by the names of their classes: an earlier version of the package may have left one
    with names that are gone, and loading it would end in an error before its age is looked at.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is None or not hasattr(file, "_source_stamp"):
        return  # no compiler, or one that keeps its results in another way
    file._source_stamp = (file._source_stamp, mark)
    load = file._load_index

    def load_index() -> dict[Any, Any]:
        try:
            index: dict[Any, Any] = load()
        except (AttributeError, ImportError):
            return {}
        return index

    file._load_index = load_index
