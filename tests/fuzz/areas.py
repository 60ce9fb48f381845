"""The areas by name: each is a function that runs a case."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.case import Case
from fuzz.solving import solve_case

AREAS: dict[str, Callable[[Case], None]] = {
    "solve": solve_case,
}
