"""`pursuit decompose`: the Gabor atoms of a sound, in a book."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.commands.options import INTERRUPTED, Force, Resume, in_options, new_file
from pursuit.files.sounds import read_sound

OPTIONS = {
    "snr": "--snr",
    "rate": "--rate",
    "scales": "--scales",
    "max_atoms": "--max-atoms",
    "resume": "--resume",
    "columns": "--columns",
    "give its transpose": "give --columns",
}
"""What the arguments of `pursuit.decompose` are here."""
PICTURES = (".png", ".pdf", ".svg")


def decompose(
    sound: Annotated[Path, typer.Argument(help="A .wav file, or a .npy file with --rate.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The book to write, .npz or .csv.", metavar="FILE")
    ],
    snr: Annotated[
        float, typer.Option(help="Signal over residual to reach, in dB.", metavar="NUMBER")
    ] = 20.0,
    figure: Annotated[
        Path | None,
        typer.Option(help="A picture to write: .png, .pdf or .svg.", metavar="FILE"),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Samples in a second, for .npy.", metavar="NUMBER")
    ] = None,
    scales: Annotated[
        str | None,
        typer.Option(
            help="Lengths of windows, powers of two: 64,256,1024. 64 to 8192 if not given.",
            metavar="LIST",
        ),
    ] = None,
    max_atoms: Annotated[
        int | None, typer.Option(help="The most atoms of a channel.", metavar="NUMBER")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="All channels share the places of their atoms.")
    ] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="The columns of the .npy file are channels.")
    ] = False,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Take a sound apart into waves with a beginning and an end, the largest first.

    The book lists frequency, time, scale, phase and amplitude of each.
    Channels are taken apart one by one, or with --shared together. A long
    run is saved every half minute: the same command with --resume goes on.

    pursuit decompose sound.wav --snr 20 -o book.npz --figure book.png
    """
    from pursuit.decomposing import decompose as decompose_signal
    from pursuit.decomposing.book_files import ending

    ending("--out", out)
    new_file(out, force)
    if figure is not None:
        if figure.suffix.lower() not in PICTURES:
            raise InputError(
                f"--figure: expected a file that ends in .png, .pdf or .svg, got {figure}"
            )
        new_file(figure, force, "--figure")
    saved = out.with_name(f"{out.name}.checkpoint")
    with _telling_how_to_resume(saved):
        with _warnings_on_stderr(), in_options({**OPTIONS, "signal": str(sound)}):
            samples, hertz = read_sound(sound, rate, columns)
            book = decompose_signal(
                samples,
                hertz,
                snr,
                max_atoms=max_atoms,
                scales=None if scales is None else _numbers(scales),
                shared=shared,
                checkpoint=saved,
                resume=resume,
            )
        if figure is not None:
            with whole_file(figure) as part:
                book.plot(samples).savefig(part, dpi=150, format=figure.suffix[1:].lower())
        book.save(out)
        for file in _checkpoints(saved):
            file.unlink(missing_ok=True)
    typer.echo(str(book))
    typer.echo(f"book: {out}" if figure is None else f"book: {out}, picture: {figure}")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"scales: expected whole numbers and commas, got {text!r}") from None


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Print each warning as one line that names options instead of arguments."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        message = str(warning.message).replace("max_atoms=", "--max-atoms ")
        typer.echo(f"pursuit: {message.replace('snr=', '--snr ')}", err=True)


def _checkpoints(saved: Path) -> list[Path]:
    """The checkpoint, or those of the channels."""
    of_channels = (f for f in saved.parent.iterdir() if f.stem == saved.name)
    return [saved, *(f for f in of_channels if f.suffix[1:].isdecimal())]


@contextmanager
def _telling_how_to_resume(saved: Path) -> Iterator[None]:
    """Let Ctrl-C end in a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        there = any(file.exists() for file in _checkpoints(saved))
        kept = "; the same command with --resume goes on from the last half minute"
        typer.echo(f"pursuit: interrupted{kept if there else ''}", err=True)
        raise typer.Exit(INTERRUPTED) from None
