"""Processes that tests start."""

import os
import sys

passed_over: list[str] = []
"""The warnings that are no errors in this run of the tests, as its options -W name them."""


def strict_python(*arguments):
    """The command of a process that takes warnings for errors, just as the tests do."""
    return [sys.executable, "-W", "error", *leniency(), *map(str, arguments)]


def without_cache_folder():
    """The environment of a process that chooses itself where compiled kernels are kept."""
    return {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}


def leniency():
    """The options -W of this run of the tests, for a Python or a pytest that it starts."""
    return [word for rule in passed_over for word in ("-W", rule)]
