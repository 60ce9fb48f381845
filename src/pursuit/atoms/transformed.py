"""A set of atoms seen in other coordinates: M⁻¹A."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Near, Unit
from pursuit.atoms.dictionary import Dictionary
from pursuit.atoms.lin import Lin
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, row_norms
from pursuit.base.products import times
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, real_array


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
        An invertible d × d matrix.
    """

    def __new__(cls, atoms: object = None, M: object = None) -> Transformed:
        finite = cls is Transformed and isinstance(atoms, FiniteAtoms)
        return object.__new__(_FiniteTransformed if finite else cls)

    @single_threaded_blas
    def __init__(self, atoms: AtomSet, M: object) -> None:
        if not isinstance(atoms, AtomSet) or len(atoms.shape) != 1:
            raise InputError("atoms: expected a set of atoms that are vectors")
        self.base, self.shape, self.quality = atoms, atoms.shape, atoms.quality
        self.M = real_array("M", M, ndim=2).astype(np.float64)
        if self.M.shape != 2 * self.shape:
            raise InputError(f"M: expected shape {2 * self.shape}, got {self.M.shape}")
        spectrum = np.linalg.svd(self.M, compute_uv=False)
        if spectrum[-1] <= len(self.M) * np.finfo(float).eps * spectrum[0]:
            raise InputError("M: expected an invertible matrix, got one that is numerically not")
        self._smallest = float(spectrum[-1])
        from scipy.linalg import lu_factor

        self._factors = lu_factor(self.M)

    def __repr__(self) -> str:
        return f"Transformed({self.base!r})"

    def _solve(self, x: Array) -> Array:
        """M⁻¹x."""
        from scipy.linalg import lu_solve

        solved: Array = lu_solve(self._factors, x)
        return solved

    def _pull(self, d: Array) -> Array:
        """M⁻ᵀd, for which ⟨d, M⁻¹z⟩ = ⟨M⁻ᵀd, z⟩."""
        from scipy.linalg import lu_solve

        pulled: Array = lu_solve(self._factors, d, trans=1)
        return pulled

    def lmo(self, d: Array) -> Atom:
        return self.base.lmo(self._pull(d))

    def near_lmo(self, d: Any, delta: float, rng: np.random.Generator) -> Near:
        return self.base.near_lmo(self._pull(d), delta, rng)

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        return self.base.draw(rng, size)

    def vector(self, z: Atom) -> Array:
        return self._solve(self.base.vector(z))

    def dual_norm(self, d: Array) -> float:
        return self.base.dual_norm(self._pull(d))

    def gauge(self, x: Array) -> float:
        return self.base.gauge(self.M @ x)

    @property
    def radius(self) -> float:
        """An upper bound on max ‖M⁻¹z‖."""
        return self.base.radius / self._smallest

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
        half = self._solve(base)  # M⁻¹ P̃ M⁻ᵀ
        turned = self._solve(half.T)
        matrix: Array = (turned + turned.T) / 2
        return matrix

    def spans(self, x: Array) -> bool:
        return self.base.spans(self.M @ x)

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
        rows: Array = np.ascontiguousarray(self._solve(self.base.matrix.T).T)
        return rows

    @cached_property
    def norms(self) -> Array:
        return row_norms(self.matrix)

    @cached_property
    def lin(self) -> Lin:
        """M⁻¹lin(A): the rounding of the transformed atoms adds no dimension."""
        base = self.base.lin
        if base.basis is None:
            return base
        turned = np.linalg.qr(self._solve(base.basis.T))[0].T
        blow_up = float(np.linalg.cond(self.M))
        tilt = min(1.0, blow_up * (base.tilt + len(self.M) * EPS))
        return Lin(base.dimension, turned, tilt, base.atoms)

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
