"""`pursuit encode`: sparse codes of the signals in a file, in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pursuit.atoms.cone import Cone
from pursuit.base.errors import InputError
from pursuit.commands.cluster import on_cluster
from pursuit.commands.interrupts import ClusterInterrupt, leave_at_once, run_interruptibly
from pursuit.commands.options import (
    INTERRUPTED,
    Resume,
    Signals,
    SignalsName,
    Threads,
    in_options,
)
from pursuit.encoding import METHODS, Codes
from pursuit.encoding import encode as encode_signals
from pursuit.encoding.chunks import from_npy, from_zarr, in_memory, is_zarr
from pursuit.encoding.folder import FINISHED
from pursuit.encoding.signals import npy_rows
from pursuit.files import READABLE
from pursuit.files.tables import read_matrix

OPTIONS = {
    "atoms": "--dictionary",
    "method": "--method",
    "n_nonzero": "--nonzero",
    "max_iter": "--max-iter",
    "rtol": "--rtol",
    "atol": "--atol",
    "rng": "--seed",
    "threads": "--threads",
    "out": "--out",
    "overwrite": "--force",
    "nonnegative": "--nonnegative",
    "variable": "--variable",
    "workers": "--workers",
    "scheduler": "--scheduler",
    "over a Cone": "with --nonnegative",
}
"""What the arguments of `pursuit.encode` are here."""


def encode(
    signals: Signals,
    dictionary: Annotated[Path, typer.Option(help=f"The atoms: {READABLE}.", metavar="FILE")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new folder for the codes.", metavar="DIR")
    ],
    nonzero: Annotated[
        int | None, typer.Option(help="The most atoms of a code.", metavar="NUMBER")
    ] = None,
    method: Annotated[
        str, typer.Option(help=f"One of {', '.join(METHODS)}; or mp, omp.", metavar="NAME")
    ] = "orthogonal",
    nonnegative: Annotated[
        bool,
        typer.Option(
            "--nonnegative",
            help="Coefficients of at least zero; with orthogonal or matching-pursuit.",
        ),
    ] = False,
    max_iter: Annotated[
        int | None, typer.Option(help="The most steps for a signal.", metavar="NUMBER")
    ] = None,
    rtol: Annotated[
        float | None,
        typer.Option(
            help="Stop at this residual norm, relative to the signal's.", metavar="NUMBER"
        ),
    ] = None,
    atol: Annotated[
        float | None,
        typer.Option(help="Stop at this residual norm, in the signal's unit.", metavar="NUMBER"),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Of the methods with random directions.", metavar="NUMBER")
    ] = 0,
    resume: Resume = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the codes in the folder.")
    ] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="Both files have signals and atoms as columns.")
    ] = False,
    variable: SignalsName = None,
    dictionary_variable: Annotated[
        str | None, typer.Option(help="The name of the atoms in their file.", metavar="NAME")
    ] = None,
    threads: Threads = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes of this machine in place of threads.", metavar="NUMBER"),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="The Dask cluster to work on: tcp://HOST:PORT.", metavar="ADDRESS"),
    ] = None,
) -> None:
    """Encode signals over a dictionary: which atoms each one uses, and how much of them.

    Signals in a .npy file are read a block at a time, and finished blocks
    are kept whatever stops the run: neither signals nor codes have to fit
    in memory. Codes.open("DIR") reads the folder in Python, and
    `pursuit decode` turns it back into signals.

    With --workers or --scheduler, Dask's workers read the signals, which
    they have to find under the same path, and encode them: the codes and
    the folder are the same.

    pursuit encode signals.npy --dictionary atoms.npy -o codes --nonzero 10
    """
    with in_options({"variable": "--dictionary-variable"}):
        atoms = read_matrix(dictionary, dictionary_variable, columns)

    def work(elsewhere: bool) -> Codes:
        return encode_signals(
            read_signals(signals, variable, columns, elsewhere),
            Cone(atoms) if nonnegative else atoms,
            method,
            n_nonzero=nonzero,
            max_iter=max_iter,
            rtol=rtol,
            atol=atol,
            rng=seed,
            threads=threads,
            out=out,
            resume=resume,
            overwrite=force,
        )

    with in_options({**OPTIONS, "signals": str(signals)}), _telling_how_to_resume(out):
        local = workers is None and scheduler is None
        cluster = on_cluster(workers, scheduler, threads)
        codes = work(False) if local else run_interruptibly(cluster, work)
    typer.echo(str(codes))
    typer.echo(f"{'folder':>10}: {out}")


@contextmanager
def _telling_how_to_resume(out: Path) -> Iterator[None]:
    """Let Ctrl-C end in a sentence."""
    try:
        yield
    except ClusterInterrupt:
        _report_interrupt(out)
        leave_at_once(INTERRUPTED)
    except KeyboardInterrupt:
        _report_interrupt(out)
        raise typer.Exit(INTERRUPTED) from None


def _report_interrupt(out: Path) -> None:
    kept = f"; the finished blocks are kept in {out}, the same command with --resume goes on"
    typer.echo(f"pursuit: interrupted{kept if (out / FINISHED).exists() else ''}", err=True)


def read_signals(path: Path, variable: str | None, columns: bool, elsewhere: bool = False) -> Any:
    """The signals; those of a .npy or .zarr file stay on the disk, for workers to read there."""
    alone = path.suffix.lower() == ".npy" or is_zarr(path)
    if not alone:
        rows = read_matrix(path, variable, columns)
        return in_memory(rows) if elsewhere else rows
    if variable is not None:
        raise InputError(f"--variable: {path} holds one array and no names, got {variable!r}")
    if is_zarr(path):
        rows = from_zarr(path)
        return rows.T if columns and rows.ndim == 2 else rows
    return from_npy(path, columns) if elsewhere else npy_rows(path, columns)
