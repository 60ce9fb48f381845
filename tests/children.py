"""Processes that tests start."""

import sys

passed_over: list[str] = []
"""The warnings that are no errors in this run of the tests, as its options -W name them."""


def strict_python(*arguments):
    """The command of a process that takes warnings for errors, just as the tests do."""
    options = [word for rule in ("error", *passed_over) for word in ("-W", rule)]
    return [sys.executable, *options, *map(str, arguments)]
