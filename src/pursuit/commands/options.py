"""Options that commands share, and errors in their words where functions speak of arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pursuit.base.archive import writable_path
from pursuit.base.errors import InputError, PursuitError

Signals = Annotated[Path, typer.Argument(help="The signals: .npy, .zarr, .npz, .mat or .csv.")]
SignalsName = Annotated[
    str | None, typer.Option(help="The name of the signals in their file.", metavar="NAME")
]
Threads = Annotated[
    int | None, typer.Option(help="Threads; all cores if not given.", metavar="NUMBER")
]
Seed = Annotated[int, typer.Option(help="Of all draws.", metavar="NUMBER")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")]
Force = Annotated[bool, typer.Option("--force", help="Write over files that are there.")]

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended."""
TOLERANCES = ("rtol", "atol", "tol")
"""Names that stand for nothing else in a sentence, as those with an underscore do."""


def different_files(paths: dict[str, Path | None]) -> None:
    """Refuse two options that name one file: what is read is never written over, nor a result."""
    seen: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        first = seen.setdefault(path.resolve(), option)
        if first != option:
            raise InputError(f"{option}: expected another file than {first}, got {path} for both")


def new_file(path: Path, force: bool, option: str = "--out") -> None:
    """Refuse to write over a file, unless that is meant: a question to ask before hours of work."""
    if os.path.lexists(path) and not os.path.isdir(path):
        if not force:
            raise InputError(f"{option}: {path} is there already; --force writes over it")
        if not os.path.exists(path):  # a link to nothing, which holds nothing that could be lost
            path.unlink()
    try:
        writable_path(path)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


@contextmanager
def in_options(names: dict[str, str]) -> Iterator[None]:
    """Let errors inside speak of options.

    Parameters
    ----------
    names
        What to say for each argument, ``{"n_nonzero": "--nonzero"}``; for a file, its path. A key
        of several words is a phrase to be replaced.
    """
    try:
        yield
    except PursuitError as error:
        error.args = (translated(str(error), names),)
        raise


def translated(text: str, names: dict[str, str]) -> str:
    """A sentence with options in place of arguments."""
    for flag, option in (("resume", "--resume"), ("overwrite", "--force")):
        text = text.replace(f"{flag}=True ({option})", option)
    for name, option in names.items():
        word = re.escape(name)
        patterns = {
            rf"^{word}(?=[:,]| must )": option,  # the argument that a message begins with
            rf"(?<=\bits ){word}(?= is\b)": option,
            rf"\b{word}=(?=[\w('])": f"{option} ",
            rf"\b{word}=": option,
        }
        if not name.isalpha() or name in TOLERANCES:
            patterns[rf"(?<![-\w/.]){word}(?![\w/.])"] = option
        for pattern, words in patterns.items():
            text = re.sub(pattern, lambda _, words=words: words, text)  # type: ignore[misc]
    return text
