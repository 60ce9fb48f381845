"""A set of atoms seen in other coordinates: M⁻¹A."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, GoodEnough, Unit
from pursuit.atoms.dictionary import Dictionary
from pursuit.atoms.lin import Lin
from pursuit.atoms.maps import LinearMap, MatrixMap
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.scaling import row_norms
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array


class Transformed(AtomSet):
    """M⁻¹A = {M⁻¹z : z in A}, for an invertible M; its handles are those of A.

    f over lin(A) and f∘M over lin(M⁻¹A) are one problem in two coordinate systems: Algorithm 2
    gives M⁻¹x_t in the second where it gives x_t in the first. The set is finite where A is.
    Atoms of an infinite one keep the norms that M⁻¹ gives them: `solve` runs on them as they are.

    Parameters
    ----------
    atoms
        The set A, of vectors of length d.
    M
        An invertible d × d matrix, or a `pursuit.atoms.maps.LinearMap`.
    """

    def __new__(cls, atoms: object = None, M: object = None) -> Transformed:
        finite = cls is Transformed and isinstance(atoms, FiniteAtoms)
        return object.__new__(_FiniteTransformed if finite else cls)

    def __init__(self, atoms: AtomSet, M: object) -> None:
        if not isinstance(atoms, AtomSet) or len(atoms.shape) != 1:
            raise InputError("atoms: expected a set of atoms that are vectors")
        self.base, self.shape, self.quality = atoms, atoms.shape, atoms.quality
        self.map = M if isinstance(M, LinearMap) else MatrixMap(M, atoms.shape[0])
        if self.map.size != atoms.shape[0]:
            raise InputError(f"M: expected one of size {atoms.shape[0]}, got {self.map.size}")

    def __repr__(self) -> str:
        return f"Transformed({self.base!r})"

    def lmo(self, d: Array) -> Atom:
        return self.base.lmo(self.map.pull(d))

    def near_lmo(self, d: Any, delta: float, rng: np.random.Generator) -> GoodEnough:
        return self.base.near_lmo(self.map.pull(d), delta, rng)

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        return self.base.draw(rng, size)

    def vector(self, z: Atom) -> Array:
        return self.map.solve(self.base.vector(z))

    def dual_norm(self, d: Array) -> float:
        return self.base.dual_norm(self.map.pull(d))

    def gauge(self, x: Array) -> float:
        return self.base.gauge(self.map(x))

    @property
    def radius(self) -> float:
        """An upper bound on max ‖M⁻¹z‖."""
        return self.base.radius / self.map.smallest

    @property
    def rank(self) -> int:
        return self.base.rank

    @property
    def max_leverage(self) -> float | None:
        """That of A: leverages do not depend on coordinates."""
        return self.base.max_leverage

    def second_moment(self) -> Array | None:
        base = self.base.second_moment()
        if base is None:
            return None
        half = self.map.solve(base)  # M⁻¹ P̃ M⁻ᵀ
        turned = self.map.solve(half.T)
        matrix: Array = (turned + turned.T) / 2
        return matrix

    def spans(self, x: Array) -> bool:
        return self.base.spans(self.map(x))

    def pack(self, atoms: Sequence[Atom]) -> Array:
        return self.base.pack(atoms)

    def unpack(self, packed: Array) -> list[Atom]:
        return self.base.unpack(packed)


class _FiniteTransformed(Transformed, FiniteAtoms):
    """The same for a finite A, whose transformed atoms are computed once."""

    base: FiniteAtoms

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    @single_threaded_blas
    def matrix(self) -> Array:
        rows: Array = np.ascontiguousarray(self.map.solve(self.base.matrix.T).T)
        return rows

    @cached_property
    def norms(self) -> Array:
        return row_norms(self.matrix)

    @cached_property
    def lin(self) -> Lin:
        """M⁻¹lin(A): the rounding of the transformed atoms adds no dimension."""
        base = self.base.lin
        if base.basis is None or base.frame is None:
            return base
        frame = self.map.solve(base.frame.T).T
        return Lin(base.dimension, np.linalg.qr(self.map.solve(base.basis.T))[0].T, frame)

    def lmo(self, d: Array) -> int:
        return FiniteAtoms.lmo(self, d)

    def vector(self, z: Atom) -> Array:
        row: Array = self.matrix[z]
        return row

    def correlate(self, d: Array) -> Array:
        return times(self.matrix, d)

    def combine(self, weights: Array) -> Array:
        return times(self.matrix.T, weights)

    @property
    def radius(self) -> float:
        return float(self.norms.max())

    def unit(self) -> Unit:
        return Dictionary(self.matrix).along(self).unit()
