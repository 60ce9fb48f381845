"""Processes that tests start."""

import sys

passed_over: list[str] = []
"""The warnings that are no errors in this run of the tests, as its options -W name them."""


def strict_python(*arguments):
    """The command of a process that takes warnings for errors, just as the tests do."""
    return [sys.executable, "-W", "error", *leniency(), *map(str, arguments)]


def leniency():
    """The options -W of this run of the tests, for a Python or a pytest that it starts."""
    return [word for rule in passed_over for word in ("-W", rule)]
