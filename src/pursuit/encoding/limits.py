"""How much a code may cost: the stopping rules by count, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.base.errors import InputError
from pursuit.base.validation import count

STEPS = 1000
"""Steps for each signal where none are given, as in `solve`; orthogonal pursuit needs no limit."""
UNLIMITED = 2**62
FEW = 4
"""One in so many of the atoms of the widest code are expected to meet a residual test."""
CONJUGATE = "accelerated"
STEPWISE = ("random-pursuit", "accelerated-random", "accelerated-matching-pursuit", CONJUGATE)
"""But for the first, all atoms may enter their codes. The last has blocks of its own kind."""


@dataclass(frozen=True)
class Limits:
    """Distinct atoms and steps at which a signal is left; `width` atoms fit in any code."""

    n_nonzero: int
    max_iter: int
    width: int

    @property
    def expected_steps(self) -> int:
        """A guess at the steps of a signal, to plan with.

        Atoms are seldom chosen again, and a residual test alone is met by a part of them.
        """
        if self.n_nonzero == self.max_iter == UNLIMITED:
            return max(1, self.width // FEW)
        return min(self.max_iter, 2 * self.n_nonzero)


def limits(
    shape: tuple[int, int],
    method: str,
    n_nonzero: int | None,
    max_iter: int | None,
    residual_goal: bool,
) -> Limits:
    """The limits for a dictionary of `shape` (n, d). More atoms than there are is no error."""
    n, d = shape
    if n_nonzero is not None and method in STEPWISE[1:]:
        raise InputError(
            f"n_nonzero: {method} moves through all atoms, so that their number in a code cannot "
            f"be limited; expected max_iter, rtol or atol, got n_nonzero={n_nonzero!r}"
        )
    if n_nonzero is None and max_iter is None and not residual_goal and method not in STEPWISE:
        n_nonzero = max(1, d // 10)
    atoms = UNLIMITED
    if n_nonzero is not None:
        atoms = min(count("n_nonzero", n_nonzero, minimum=1), UNLIMITED)
    if max_iter is not None:
        steps = min(count("max_iter", max_iter, minimum=1), UNLIMITED)
    else:
        steps = UNLIMITED if method == "orthogonal" else STEPS
    return Limits(atoms, steps, min(atoms, n, _distinct(method, steps, d)))


def _distinct(method: str, steps: int, d: int) -> int:
    """The most distinct atoms that so many steps may use."""
    if method == "orthogonal":
        return min(steps, d)
    if method == "accelerated-matching-pursuit":
        return 2 * steps  # those of x, and those of v
    return UNLIMITED if method == CONJUGATE else steps
