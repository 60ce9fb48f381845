"""Sets whose geometry is known without computing.

For each of them the atoms have norm one and P̃ is diagonal, constant over the support of every
atom. Then w = 1/P̃ there, so δ̂² = min P̃ and ν′ = 1/δ̂²; Σ p_j w_j c_j² = ‖d‖², so ν = 1/mDW².
A new set of this kind needs mDW² and the diagonal of P̃ here, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.atoms.coordinates import Coordinates
from pursuit.atoms.groups import Groups
from pursuit.atoms.rank_one import RankOne
from pursuit.atoms.sphere import Sphere
from pursuit.base.validation import Array

if TYPE_CHECKING:
    from pursuit.atoms.sampling import Sampling


@dataclass(frozen=True)
class ClosedForm:
    """mDW², and the diagonal of P̃ over the flattened space, zero outside lin(A)."""

    squared_width: float
    diagonal: Array

    @property
    def quality(self) -> float:
        """δ̂²."""
        return float(self.diagonal[self.diagonal > 0].min())


@singledispatch
def closed_form(atoms: AtomSet, sampling: Sampling) -> ClosedForm | None:
    """The closed form of a set under a sampling, or None."""
    return None


@closed_form.register(Coordinates)
def _(atoms: Coordinates, sampling: Sampling) -> ClosedForm:
    return ClosedForm(1 / len(atoms), sampling.p)


@closed_form.register(Sphere)
def _(atoms: Sphere, sampling: Sampling) -> ClosedForm:
    return ClosedForm(1.0, np.full(atoms.rank, 1 / atoms.rank))


@closed_form.register(RankOne)
def _(atoms: RankOne, sampling: Sampling) -> ClosedForm:
    return ClosedForm(1 / min(atoms.shape), np.full(atoms.rank, 1 / atoms.rank))


@closed_form.register(Groups)
def _(atoms: Groups, sampling: Sampling) -> ClosedForm:
    diagonal = np.zeros(atoms.shape)
    for group in atoms.groups:
        diagonal[group] = 1 / (len(atoms.groups) * len(group))
    return ClosedForm(1 / len(atoms.groups), diagonal)
