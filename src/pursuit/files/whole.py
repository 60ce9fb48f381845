"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pursuit.base.errors import InputError


def writable_path(path: str | os.PathLike[str]) -> Path:
    """`path` if a file can be put there: a question to ask before hours of work."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a folder, expected the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target}: the folder {target.parent} cannot be written to")
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; when all went well it becomes `path`, otherwise it is gone."""
    target = writable_path(path)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error})") from None
    finally:
        part.unlink(missing_ok=True)
