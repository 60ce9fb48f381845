"""The command line: `pursuit COMMAND`. Each command is a file of `pursuit.commands`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from pursuit import __version__
from pursuit.base.errors import PursuitError

app = typer.Typer(
    name="pursuit",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

COMMANDS = (
    "constants",
    "decode",
    "decompose",
    "denoise",
    "encode",
    "learn",
    "rebuild",
    "reproduce",
    "unmix",
)

for _name in COMMANDS:
    app.command(_name)(getattr(import_module(f"pursuit.commands.{_name}"), _name))


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"pursuit {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Minimise a smooth convex function over the span of a set of atoms."""


def main() -> None:
    """Run a command; an error raised on purpose is one sentence and exit code 2."""
    try:
        app()
    except PursuitError as error:
        print(f"pursuit: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
