"""Equation (1) of the paper: minimise f over lin(A)."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.objectives.base import Objective


@dataclass(frozen=True)
class Problem:
    """Minimise f(x) over x in lin(A)."""

    f: Objective
    atoms: AtomSet

    def __post_init__(self) -> None:
        if not isinstance(self.f, Objective):
            raise InputError(
                "f: expected an Objective, such as SquaredDistance(b) for a signal b, got "
                f"{type(self.f).__name__}"
            )
        if not isinstance(self.atoms, AtomSet):
            raise InputError(
                "atoms: expected an AtomSet, such as Dictionary(rows), got "
                f"{type(self.atoms).__name__}"
            )
        if self.f.shape != self.atoms.shape:
            raise InputError(
                f"atoms: expected atoms of f's shape {self.f.shape}, got {self.atoms.shape}"
            )
