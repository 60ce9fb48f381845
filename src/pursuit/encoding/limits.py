"""How much a code may cost: the stopping rules by count, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.validation import count

MATCHING_PURSUIT_STEPS = 1000
"""Steps of matching pursuit for each signal where none are given, as in `solve`."""
UNLIMITED = 2**62


@dataclass(frozen=True)
class Limits:
    """Distinct atoms and steps at which a signal is left; `width` atoms fit in any code."""

    n_nonzero: int
    max_iter: int
    width: int

    @property
    def expected_steps(self) -> int:
        """A guess at the steps of a signal, to plan with: atoms are seldom chosen again."""
        return min(self.max_iter, 2 * self.n_nonzero)


def limits(
    shape: tuple[int, int],
    orthogonal: bool,
    n_nonzero: int | None,
    max_iter: int | None,
    residual_goal: bool,
) -> Limits:
    """The limits for a dictionary of `shape` (n, d). More atoms than there are is no error."""
    n, d = shape
    if n_nonzero is None and max_iter is None and not residual_goal:
        n_nonzero = max(1, d // 10)
    atoms = UNLIMITED if n_nonzero is None else count("n_nonzero", n_nonzero, minimum=1)
    if max_iter is not None:
        steps = count("max_iter", max_iter, minimum=1)
    else:
        steps = UNLIMITED if orthogonal else MATCHING_PURSUIT_STEPS
    width = min(atoms, steps, n, d) if orthogonal else min(atoms, steps, n)
    return Limits(atoms, steps, width)
