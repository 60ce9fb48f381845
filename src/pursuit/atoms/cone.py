"""The cone of non-negative combinations of finitely many atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms, Unit
from pursuit.atoms.dictionary import Dictionary
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.lin import Lin
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.penalties import NonNegative


class Cone(FiniteAtoms):
    """cone(A) = {Σ a_j z_j, a_j ≥ 0} of a finite set: coefficients never fall below zero.

    Unlike other sets it does not stand for A ∪ −A: its oracle is one-sided. `solve` over it
    minimises f over the cone. From x = Σ a_j z_j an atom may be followed where ⟨∇f(x), z_j⟩ < 0,
    so that a_j grows, or where a_j > 0, so that it may shrink; a step ends where a_j is zero. The
    slope of a result is the largest \\|⟨∇f(x), z_j⟩\\| of those, zero exactly at the optimum over
    the cone. Matching pursuit is then the one with away steps, and orthogonal pursuit the fully
    corrective one, of Locatello, Tschannen, Rätsch and Jaggi (2017): for a quadratic,
    non-negative least squares one atom at a time.

    Radius, rank and the constants of `pursuit.geometry` are those of A, about lin(A): no theorem
    of the paper covers a cone.

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

    penalty = NonNegative()

    def __init__(self, atoms: object) -> None:
        self.atoms = atoms if isinstance(atoms, FiniteAtoms) else Dictionary(atoms)
        if self.atoms.one_sided:
            raise InputError("atoms: expected a set or an array of atoms, got a Cone already")
        self.shape, self.dtype = self.atoms.shape, self.atoms.dtype

    def __len__(self) -> int:
        return len(self.atoms)

    def __repr__(self) -> str:
        return f"Cone of the {self.atoms!r}"

    def astype(self, dtype: np.dtype[Any]) -> Cone:
        other = self.atoms.astype(dtype)
        return self if other is self.atoms else Cone(other)

    def unit(self) -> Unit:
        unit, scale = self.atoms.unit()
        return Unit(self if unit is self.atoms else Cone(unit), scale)

    # As in A ----------------------------------------------------------------------------

    @property
    def form(self) -> AtomForm:  # type: ignore[override]
        return self.atoms.form

    @property
    def matrix(self) -> Array:
        return self.atoms.matrix

    @property
    def norms(self) -> Array:
        return self.atoms.norms

    @property
    def radius(self) -> float:
        return self.atoms.radius

    @property
    def lin(self) -> Lin:
        return self.atoms.lin

    @property
    def rank(self) -> int:
        return self.atoms.rank

    def spans(self, x: Array) -> bool:
        return self.atoms.spans(x)

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        return self.atoms.draw(rng, size)

    def vector(self, z: Atom) -> Array:
        return self.atoms.vector(z)

    def inner(self, d: Array, z: Atom) -> float:
        return self.atoms.inner(d, z)

    def norm2(self, z: Atom) -> float:
        return self.atoms.norm2(z)

    def image(self, A: Any, z: Atom) -> Array:
        return self.atoms.image(A, z)

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        self.atoms.shift(x, gamma, z)

    def correlate(self, d: Array) -> Array:
        return self.atoms.correlate(d)

    def correlate_some(self, d: Array, places: Array) -> Array:
        return self.atoms.correlate_some(d, places)

    def combine(self, weights: Array) -> Array:
        return self.atoms.combine(weights)

    def combine_some(self, weights: Array, places: Array) -> Array:
        return self.atoms.combine_some(weights, places)
