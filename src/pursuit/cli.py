"""The command line: `pursuit COMMAND`. Each command is a file of `pursuit.commands`."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pursuit import __version__
from pursuit.base.errors import PursuitError

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
HELP = {"help_option_names": ["--help", "-h"]}
UsageError: Any = typer.BadParameter.__base__
"""What the parser raises; typer names no more of its errors than this one's kinds."""


class _Commands(TyperGroup):
    """Imports the file of the command that is asked for, and no other."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            return _command(cmd_name)
        if not ctx.resilient_parsing:  # a shell that completes asks for anything
            from pursuit.base.validation import one_of

            one_of("COMMAND", cmd_name, COMMANDS)
        return None

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and let Ctrl-C end it in a sentence where it has none of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from pursuit.commands.options import INTERRUPTED

            print("pursuit: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


@cache
def _command(name: str) -> Any:
    alone = typer.Typer(add_completion=False)
    function = getattr(import_module(f"pursuit.commands.{name}"), name)
    alone.command(name, context_settings=HELP)(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="pursuit",
    cls=_Commands,
    no_args_is_help=True,
    context_settings=HELP,
    pretty_exceptions_enable=False,
)


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


def _replace_unencodable_characters() -> None:
    """Print a question mark for what the encoding of the output lacks: no work is lost to it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # None where the stream is closed
            stream.reconfigure(errors="replace")


def main() -> None:
    """Run a command; an error raised on purpose is one sentence and exit code 2."""
    _replace_unencodable_characters()
    try:
        # The name is given also where Python runs it: completion is for this name.
        code = app(prog_name="pursuit", standalone_mode=False)
    except PursuitError as error:
        print(f"pursuit: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except UsageError as error:
        error.show()  # ends in one line, which a box would break
        raise SystemExit(error.exit_code) from None
    except typer.Abort:  # Ctrl-C, where typer is an older one
        raise SystemExit(130) from None
    raise SystemExit(code or 0)


if __name__ == "__main__":
    main()
