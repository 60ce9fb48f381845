"""Atoms that are hardly used, or nearly another, make room for what is badly represented."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.base.validation import Array
from pursuit.learning.start import directions

RENEW = 4
"""What draws are for (see `signals`)."""


@dataclass(frozen=True)
class Renewal:
    """When an atom is replaced.

    Attributes
    ----------
    usage
        An atom that fewer signals use than this share of the mean goes.
    coherence
        Of two atoms with a larger \\|⟨d_i, d_j⟩\\| the less used one goes.
    most
        The largest share of the atoms that go at a time.
    """

    usage: float = 0.3
    coherence: float = 0.95
    most: float = 0.05

    def poor(self, atoms: Array, used: Array) -> Array:
        """The atoms to replace, the least used first."""
        coherence = np.abs(atoms @ atoms.T)
        np.fill_diagonal(coherence, 0)
        poor = used < self.usage * used.mean()
        pairs = np.argwhere(np.triu(coherence > self.coherence))
        for i, j in pairs[np.argsort(-coherence[pairs[:, 0], pairs[:, 1]], kind="stable")]:
            if not (poor[i] or poor[j]):
                poor[i if used[i] < used[j] else j] = True
        order = np.argsort(used, kind="stable")
        chosen: Array = order[poor[order]][: max(1, int(self.most * len(atoms)))]
        return chosen


def replacements(
    residuals: Array, squares: Array, count: int, seed: list[int], nonnegative: bool
) -> Array:
    """Unit rows for `count` atoms, or for fewer: residuals drawn with probability ∝ ‖residual‖²,
    their positive parts if asked for."""
    live = np.flatnonzero(squares > 0)
    if not live.size or not count:
        return np.empty((0, residuals.shape[1]))
    weight = squares[live] / squares[live].sum()
    size = min(count, int(np.count_nonzero(weight)))
    drawn = np.random.default_rng([*seed, RENEW]).choice(live, size, replace=False, p=weight)
    return directions(residuals[drawn].astype(np.float64), nonnegative)
