"""The cone of non-negative combinations of finitely many atoms."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms, Unit
from pursuit.atoms.dictionary import Dictionary
from pursuit.validation import Array


class Cone(FiniteAtoms):
    """cone(A) = {Σ a_j z_j, a_j ≥ 0} of a finite set: coefficients never fall below zero.

    Unlike other sets it does not stand for A ∪ −A: its oracle is one-sided.

    Parameters
    ----------
    atoms
        A finite set, or an array with an atom in each row.

    Examples
    --------
    >>> from pursuit import Cone, SquaredDistance, solve
    >>> result = solve(SquaredDistance([2.0, -1.0]), Cone([[3.0, 0.0], [0.0, 1.0]]))
    >>> result.x.round(9).tolist()
    [2.0, 0.0]
    """

    def __init__(self, atoms: object) -> None:
        self.atoms = atoms if isinstance(atoms, FiniteAtoms) else Dictionary(atoms)
        self.shape, self.dtype = self.atoms.shape, self.atoms.dtype

    def __len__(self) -> int:
        return len(self.atoms)

    def __repr__(self) -> str:
        return f"Cone of the {self.atoms!r}"

    @property
    def matrix(self) -> Array:
        return self.atoms.matrix

    @property
    def norms(self) -> Array:
        return self.atoms.norms

    @property
    def rank(self) -> int:
        return self.atoms.rank

    def vector(self, z: Atom) -> Array:
        return self.atoms.vector(z)

    def correlate(self, d: Array) -> Array:
        return self.atoms.correlate(d)

    def combine(self, weights: Array) -> Array:
        return self.atoms.combine(weights)

    def lmo(self, d: Array) -> int:
        """The atom that minimises ⟨d, z⟩: the way down, where d is a gradient."""
        return int(np.argmin(self.correlate(d)))

    def dual_norm(self, d: Array) -> float:
        """max over A of −⟨d, z⟩, at least zero."""
        return max(0.0, -float(self.correlate(d).min()))

    def unit(self) -> Unit:
        unit, scale = self.atoms.unit()
        return Unit(self if unit is self.atoms else Cone(unit), scale)
