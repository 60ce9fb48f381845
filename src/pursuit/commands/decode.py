"""`pursuit decode`: a folder of codes back to signals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.commands.options import Force, different_files, in_options, new_file
from pursuit.encoding.codes import StoredCodes, open_folder
from pursuit.files import READABLE
from pursuit.files.npy import npy_header
from pursuit.files.tables import read_matrix

if TYPE_CHECKING:
    from pursuit.base.validation import Array


def decode(
    codes: Annotated[Path, typer.Argument(help="A folder that `pursuit encode` made.")],
    dictionary: Annotated[Path, typer.Option(help=f"The atoms: {READABLE}.", metavar="FILE")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The signals to write (.npy).", metavar="FILE")
    ],
    columns: Annotated[
        bool, typer.Option("--columns", help="Atoms, and the signals written, are columns.")
    ] = False,
    force: Force = False,
    variable: Annotated[
        str | None, typer.Option(help="The name of the atoms in their file.", metavar="NAME")
    ] = None,
) -> None:
    """Write the approximations that codes stand for: codes times dictionary.

    A part of the codes is in memory at a time. The file is written whole or
    not at all.

    pursuit decode codes --dictionary atoms.npy -o fit.npy
    """
    if out.suffix.lower() != ".npy":
        raise InputError(f"--out: expected a file that ends in .npy, got {out}")
    different_files({"--dictionary": dictionary, "--out": out})
    if codes.resolve() in out.resolve().parents:
        raise InputError(f"--out: expected a file outside of the folder {codes}, got {out}")
    new_file(out, force)
    with in_options({"atoms": "--dictionary", "variable": "--variable"}):
        stored, atoms = open_folder(codes), read_matrix(dictionary, variable, columns)
        _write(stored, atoms, out, columns)
    typer.echo(f"{len(stored):,} signals of {atoms.shape[1]} numbers: {out}")


def _write(codes: StoredCodes, atoms: Array, out: Path, columns: bool) -> None:
    """The product, a part of its rows at a time."""
    import numpy as np

    shape, dtype = (len(codes), atoms.shape[1]), np.result_type(codes.dtype, atoms)
    with whole_file(out) as path, open(path, "wb") as file, bar("decode", len(codes)) as shown:
        # Rows one after another are the columns of the transpose, stored by columns.
        file.write(npy_header(dtype, shape[::-1] if columns else shape, by_columns=columns))
        done = 0
        for part in codes.parts():
            file.write(np.ascontiguousarray(part @ atoms, dtype).data)
            done += len(part)
            shown.update(done)
