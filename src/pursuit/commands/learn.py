"""`pursuit learn`: a dictionary from the signals in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.commands.encode import read_signals
from pursuit.commands.options import (
    INTERRUPTED,
    Force,
    Seed,
    Signals,
    SignalsName,
    Threads,
    different_files,
    in_options,
    new_file,
)
from pursuit.files.tables import read_matrix
from pursuit.learning import learn as learn_atoms

if TYPE_CHECKING:
    from pursuit.base.validation import Array

METHODS = ("online", "aksvd", "mod")
"""Those of `pursuit.learning`."""
OPTIONS = {
    "n_atoms": "--atoms",
    "n_nonzero": "--nonzero",
    "method": "--method",
    "passes": "--passes",
    "start": "--start",
    "tol": "--tol",
    "max_time": "--max-time",
    "seed": "--seed",
    "threads": "--threads",
    "nonnegative": "--nonnegative",
    "checkpoint": "--checkpoint",
    "resume": "--resume",
    "variable": "--variable",
    "method, nonnegative, start or seed": "--method, --nonnegative, --start or --seed",
}
"""What the arguments of `pursuit.learn` are here."""


def learn(
    signals: Signals,
    atoms: Annotated[int, typer.Option(help="How many atoms to learn.", metavar="NUMBER")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The dictionary to write (.npy).", metavar="FILE")
    ],
    nonzero: Annotated[
        int | None,
        typer.Option(help="Atoms of a code; a tenth of a signal's length.", metavar="NUMBER"),
    ] = None,
    method: Annotated[
        str, typer.Option(help=f"One of {', '.join(METHODS)}.", metavar="NAME")
    ] = "online",
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Coefficients and atoms of at least zero.")
    ] = False,
    passes: Annotated[
        int, typer.Option(help="How often each signal is learned from.", metavar="NUMBER")
    ] = 3,
    start: Annotated[
        Path | None, typer.Option(help="The first atoms, in a file.", metavar="FILE")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(help="Stop when a pass lowers the objective by less.", metavar="SHARE"),
    ] = None,
    max_time: Annotated[
        float | None, typer.Option(help="Stop after so many seconds.", metavar="NUMBER")
    ] = None,
    force: Force = False,
    seed: Seed = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state in this file.", metavar="FILE")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the file of --checkpoint.")
    ] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="Signals, and the atoms written, are columns.")
    ] = False,
    variable: SignalsName = None,
    threads: Threads = None,
) -> None:
    """Learn a dictionary: unit atoms of which a few make each signal.

    Signals in a .npy file are read a part at a time: they do not have to
    fit in memory. `pursuit encode` takes the dictionary.

    pursuit learn signals.npy --atoms 256 --nonzero 8 -o dictionary.npy
    """
    if out.suffix.lower() != ".npy":
        raise InputError(f"--out: expected a file that ends in .npy, got {out}")
    read: dict[str, Path | None] = {"the signals": signals, "--start": start}
    different_files({**read, "--out": out, "--checkpoint": checkpoint})
    new_file(out, force)
    if resume and checkpoint is None:
        raise InputError("--resume: expected the file to go on from as --checkpoint, got none")
    if checkpoint is not None and not resume:
        new_file(checkpoint, force, "--checkpoint")
    first = None if start is None else read_matrix(start, columns=columns)
    with in_options({**OPTIONS, "signals": str(signals)}), _telling_how_to_resume(checkpoint):
        learned = learn_atoms(
            read_signals(signals, variable, columns),
            atoms,
            nonzero,
            method,
            nonnegative=nonnegative,
            passes=passes,
            start=first,
            tol=tol,
            max_time=max_time,
            seed=seed,
            threads=threads,
            checkpoint=checkpoint,
            resume=checkpoint if resume else None,
        )
    _write(learned.atoms.T if columns else learned.atoms, out)
    typer.echo(str(learned))
    typer.echo(f"{'file':>10}: {out}")


def _write(atoms: Array, out: Path) -> None:
    import numpy as np

    with whole_file(out) as part, part.open("wb") as file:
        np.save(file, atoms, allow_pickle=False)


@contextmanager
def _telling_how_to_resume(checkpoint: Path | None) -> Iterator[None]:
    """Let Ctrl-C end in a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"; the state is kept in {checkpoint}, the same command with --resume goes on"
        there = checkpoint is not None and checkpoint.exists()
        typer.echo(f"pursuit: interrupted{kept if there else ''}", err=True)
        raise typer.Exit(INTERRUPTED) from None
