"""The command line: `pursuit COMMAND`. Each command is a file of `pursuit.commands`."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from pursuit.base.errors import PursuitError

app = typer.Typer(
    name="pursuit",
    help="Minimise a smooth convex function over the span of a set of atoms.",
    no_args_is_help=True,
    add_completion=False,
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


@app.callback()
def _program() -> None:
    """Keep the name of a command in the command line even while there is only one."""


def main() -> None:
    """Run a command; an error raised on purpose is one sentence and exit code 2."""
    try:
        app()
    except PursuitError as error:
        print(f"pursuit: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
