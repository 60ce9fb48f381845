"""How much a code may cost: the stopping rules by count, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.base.errors import InputError
from pursuit.base.validation import count
from pursuit.encoding.offered import UNLIMITED, Offered

FEW = 4
"""One in so many of the atoms of the widest code are expected to meet a residual test."""


@dataclass(frozen=True)
class Limits:
    """Distinct atoms and steps at which a signal is left; `width` atoms fit in any code."""

    n_nonzero: int
    max_iter: int
    width: int
    orthogonal: bool = False

    @property
    def expected_steps(self) -> int:
        """Return the expected number of steps of a signal, for planning.

        Orthogonal pursuit takes one step for each atom of a code. Other methods choose some atoms
        again. A residual test alone is met by a part of the atoms.
        """
        if self.n_nonzero == self.max_iter == UNLIMITED:
            return max(1, self.width // FEW)
        if self.orthogonal:
            return max(1, self.width)
        return min(self.max_iter, 2 * self.n_nonzero)


def limits(
    method: Offered,
    shape: tuple[int, int],
    n_nonzero: int | None,
    max_iter: int | None,
    residual_goal: bool,
) -> Limits:
    """The limits for a dictionary of `shape` (n, d). More atoms than there are is no error."""
    n, d = shape
    if n_nonzero is not None and not method.counts_atoms:
        raise InputError(
            f"n_nonzero: {method.name} moves through all atoms, so that their number in a code "
            f"cannot be limited; expected max_iter, rtol or atol, got n_nonzero={n_nonzero!r}"
        )
    if n_nonzero is None and max_iter is None and not residual_goal:
        n_nonzero = method.atoms(d)
    atoms, steps = UNLIMITED, method.steps
    if n_nonzero is not None:
        atoms = min(count("n_nonzero", n_nonzero, minimum=1), UNLIMITED)
    if max_iter is not None:
        steps = min(count("max_iter", max_iter, minimum=1), UNLIMITED)
    width = min(atoms, n, method.distinct(steps, d))
    return Limits(atoms, steps, width, method.orthogonal)
