"""An extension of griffe: parameters that share a description are described one by one.

It would give all of them the type and the default of the first.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?:[ ]{4,}.*(?:\n|$)|\n(?=[ ]{4}))+)", re.MULTILINE)
"""Names on a line of their own, and the lines of their description."""


def one_by_one(docstring: str) -> str:
    """The docstring with an entry for each of the names that share one."""

    def entries(found: re.Match[str]) -> str:
        return "".join(f"{name}\n{found[2].rstrip()}\n" for name in found[1].split(", "))

    return SHARED.sub(entries, docstring)


class OneByOne(griffe.Extension):
    """Is applied to every docstring before it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = one_by_one(obj.docstring.value)
