"""What the functions of `pursuit.geometry` are asked about, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.objectives.problem import Problem


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, refusing an `atoms` that is no set and an `f` that is no objective for it."""
    arguments = signature(function)
    with_objective = "f" in arguments.parameters

    @wraps(function)
    def ask(*args: Any, **kwargs: Any) -> Any:
        given = arguments.bind(*args, **kwargs).arguments
        if with_objective:
            Problem(given["f"], given["atoms"])
        elif not isinstance(given["atoms"], AtomSet):
            raise InputError(
                "atoms: expected an AtomSet, such as Dictionary(rows), got "
                f"{type(given['atoms']).__name__}"
            )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return function(*args, **kwargs)

    return ask
