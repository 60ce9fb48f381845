"""`pursuit rebuild`: a book back to sound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pursuit.commands.options import Force, different_files, in_options, new_file
from pursuit.files.sounds import Sound, write_sound


def rebuild(
    book: Annotated[Path, typer.Argument(help="A book that `pursuit decompose` made.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The sound, .wav or .npy.", metavar="FILE")
    ],
    force: Force = False,
) -> None:
    """Write the sum of the atoms of a book as sound.

    A .wav file gets floating-point samples, a .npy file channels as rows.

    pursuit rebuild book.npz -o sound.wav
    """
    from pursuit.decomposing import Book

    different_files({"the book": book, "--out": out})
    new_file(out, force)
    with in_options({"book": str(book), "out": "--out"}):
        listed = Book.load(book)
        write_sound(out, Sound(listed.rebuild(), listed.rate))
    typer.echo(f"{len(listed):,} atoms, {listed.length / listed.rate:.6g} s: {out}")
