"""Correlations of earlier bound those of now: a δ-approximate oracle that looks at few atoms.

For an atom whose correlation c(s) = ⟨z, g_s⟩ with an earlier gradient is known, write the present
gradient as g = a g_s + e with e ⊥ g_s. The part of z along g_s is known and the rest of it has
norm √(‖z‖² − c(s)²/‖g_s‖²), so

    |⟨z, g⟩| ≤ |a c(s)| + ‖e‖ √(‖z‖² − c(s)²/‖g_s‖²),

the best bound that these numbers allow; it is at most |c(s)| + ‖z‖‖g − g_s‖.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.rules.memory import Memory

SLOTS = 32
"""The most earlier gradients that are kept."""
CHUNK = 8
"""Atoms looked at together."""


class Found(NamedTuple):
    """An atom with its correlation, and what it took to find it.

    Attributes
    ----------
    atom, correlation
        z and ⟨z, g⟩.
    slope
        A proved upper bound on max_j \\|⟨z_j, g⟩\\|.
    looked
        How many atoms were looked at.
    compared
        How many earlier gradients g was compared with, each as much work as an atom.
    """

    atom: int
    correlation: float
    slope: float
    looked: int
    compared: int


@dataclass
class Looks(Memory):
    """For each atom a correlation and the place of the earlier gradient that it belongs to.

    Attributes
    ----------
    correlations, slot
        ⟨z_j, g_s⟩ and s, or −1 for an atom that was never looked at.
    gradients
        The g_s as rows.
    looked
        How many atoms were looked at.
    """

    correlations: Array
    slot: Array
    gradients: Array
    looked: float = 0.0


class StaleCorrelations:
    """The search among the atoms, and what it remembers of earlier ones."""

    def __init__(self, atoms: FiniteAtoms) -> None:
        self.atoms = atoms
        self.norms = atoms.norms.astype(np.float64)
        n, d = len(atoms), int(np.prod(atoms.shape))
        slots = max(2, min(SLOTS, n // 8))
        self.looks = Looks(np.zeros(n), np.full(n, -1), np.zeros((slots, d)))

    def search(self, gradient: Array, delta: float, coef: Array) -> Found:
        """An atom with |⟨z, g⟩| ≥ δ max_j |⟨z_j, g⟩|, of those that coefficients may follow.

        Atoms are looked at in decreasing order of their bounds until the best one found is at
        least δ times the next bound.
        """
        g = gradient.reshape(-1).astype(np.float64, copy=False)
        c, slot = self.looks.correlations, self.looks.slot
        bounds, compared = self._bounds(g, gradient.dtype, coef)
        new = self._free_slot(bounds)
        order = np.argsort(-bounds, kind="stable")
        best, slope, peak, seen = -1, 0.0, -1.0, 0
        while seen < len(order) and (peak < 0 or peak < delta * bounds[order[seen]]):
            some = order[seen : seen + CHUNK]
            c[some] = self.atoms.correlate_some(gradient, some)
            slot[some] = new
            seen += len(some)
            slopes = self.atoms.admissible(c[some], coef[some], some)
            k = int(np.argmax(np.abs(slopes)))
            if not abs(slopes[k]) <= peak:  # also where it is no number, and the run ends
                best, slope, peak = int(some[k]), float(slopes[k]), abs(float(slopes[k]))
        self.looks.gradients[new] = g
        self.looks.looked += seen
        rest = float(bounds[order[seen]]) if seen < len(order) else 0.0
        return Found(best, slope, max(peak, rest), seen, compared)

    def _bounds(self, g: Array, dtype: np.dtype[np.floating], coef: Array) -> tuple[Array, int]:
        """An upper bound on each |⟨z_j, g⟩|, and with how many earlier gradients g was compared."""
        c, slot = self.looks.correlations, self.looks.slot
        bounds = np.full(len(c), np.inf)
        used = np.unique(slot[slot >= 0])
        if not used.size:
            return bounds, 0
        earlier = self.looks.gradients[used]
        squares = np.einsum("ij,ij->i", earlier, earlier)
        norm2 = np.where(squares > 0, squares, 1.0)
        a = earlier @ g / norm2
        e = np.linalg.norm(g - a[:, None] * earlier, axis=1)
        # What rounding may have done to a correlation of this precision.
        terms = np.linalg.norm(g) + np.abs(a) * np.sqrt(norm2)
        slack = tolerances(dtype).equal * np.sqrt(g.size) * terms
        known = np.flatnonzero(slot >= 0)
        k = np.searchsorted(used, slot[known])
        across = np.sqrt(np.maximum(self.norms[known] ** 2 - c[known] ** 2 / norm2[k], 0))
        along, about = a[k] * c[known], e[k] * across + slack[k] * self.norms[known]
        here = coef[known]
        ends = (self.atoms.admissible(along + side, here, known) for side in (about, -about))
        bounds[known] = np.maximum(*(np.abs(end) for end in ends))
        return bounds, len(used)

    def _free_slot(self, bounds: Array) -> int:
        """A place for the present gradient; the atoms of a place that is given up come first."""
        slot = self.looks.slot
        users = np.bincount(slot[slot >= 0], minlength=len(self.looks.gradients))
        place = int(np.argmin(users))
        bounds[slot == place] = np.inf
        return place
