"""`pursuit denoise`: a picture without its noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError
from pursuit.commands.options import Force, Seed, Threads, different_files, in_options, new_file
from pursuit.files.pictures import kind_of, read_picture, write_picture

if TYPE_CHECKING:
    from pursuit.learning.denoising import Denoised

LEVELS = 255
"""Noise is told in levels of 8 bits, whatever a picture has."""


def denoise(
    photo: Annotated[Path, typer.Argument(help="The picture: .png, .jpg, .tif, …")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write.", metavar="FILE")],
    noise: Annotated[
        float | None,
        typer.Option(
            help="The standard deviation of the noise, on a scale of 0 to 255; estimated if not "
            "given.",
            metavar="NUMBER",
        ),
    ] = None,
    atoms: Annotated[
        Path | None,
        typer.Option("--atoms", help="Draw the atoms that were learned (.png).", metavar="FILE"),
    ] = None,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Take noise off a photograph, by a dictionary of its own patches.

    Patches of 8 x 8 pixels are learned from the picture itself; each is
    encoded up to the noise, and the patches that a pixel is in are averaged.
    Grey or in colours, 8 or 16 bits; a transparent one stays so.

    pursuit denoise photo.png -o clean.png --noise 25
    """
    from pursuit.learning.denoising import denoise as denoise_pixels

    written = {"--out": out, "--atoms": atoms}
    different_files({"the picture": photo, **written})
    for option, path in written.items():
        if path is not None:
            new_file(path, force, option)
            kind_of(path)
    if noise is not None and not 0 < noise <= LEVELS:
        raise InputError(
            f"--noise: expected a number above 0 and up to {LEVELS}, the range of the picture, "
            f"got {noise:g}"
        )
    level = None if noise is None else noise / LEVELS
    picture = read_picture(photo)
    with in_options({"pixels": str(photo), "seed": "--seed", "threads": "--threads"}):
        done = denoise_pixels(picture.pixels, level, seed=seed, threads=threads)
    write_picture(out, picture.with_pixels(done.pixels))
    if atoms is not None:
        _draw(done, atoms)
    typer.echo(_summary(done, noise is None, out))


def _summary(done: Denoised, estimated: bool, out: Path) -> str:
    """What was done, in a few lines."""
    height, width = done.pixels.shape[:2]
    levels = ", ".join(f"{LEVELS * level:.1f}" for level in dict.fromkeys(done.noise))
    said = "estimated; what is below 1 stays" if estimated else "given"
    counts = [0 if one is None else len(one.atoms) for one in done.learned]
    rows = {
        "picture": f"{width} × {height} pixels, {'grey' if len(counts) == 1 else 'in colours'}",
        "noise": f"{levels} of {LEVELS} ({said})",
        "atoms": f"{', '.join(map(str, counts))} learned from its patches",
        "file": str(out),
    }
    return "\n".join(f"{name:>10}: {text}" for name, text in rows.items())


def _draw(done: Denoised, path: Path) -> None:
    """The atoms of the lightness."""
    learned = done.learned[0]
    if learned is None:
        raise InputError("--atoms: none was learned, no patch of the picture stands out of noise")
    drawing: Any = learned.plot().figure
    with whole_file(path) as part:
        drawing.savefig(part, dpi=120, format=path.suffix.lstrip(".") or "png")
