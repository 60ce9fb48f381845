"""What a path is: asked once, at every door that reads or writes."""

from __future__ import annotations

import os
from pathlib import Path

from pursuit.base.errors import InputError
from pursuit.base.validation import shown


def path_of(name: str, value: object, expected: str = "a path") -> Path:
    """`value` as a path: a text, or what stands for one, that the system can look for."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
    except Exception:  # of an object that only says it is a path
        text = None
    if not isinstance(text, str) or not _can_be_there(text):
        told = value is None or isinstance(value, str)
        raise InputError(
            f"{name}: expected {expected}, got {shown(value) if told else type(value).__name__}"
        )
    return Path(text)


def _can_be_there(text: str) -> bool:
    try:
        return bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeError:
        return False


def named(path: Path) -> str:
    """A path at the beginning of a message, where blanks alone would be lost."""
    return str(path) if str(path).strip() else repr(str(path))
