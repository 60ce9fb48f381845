"""Several finite sets as one: spikes beside templates, a transform beside a learned dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Unit
from pursuit.atoms.forms import AtomForm
from pursuit.atoms.local import LocalAtoms
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, shown


class Member(NamedTuple):
    """Which of the sets, and the number of the atom in it."""

    set: Array
    atom: Array


class Union(LocalAtoms):
    """A = A_1 ∪ … ∪ A_m, the atoms of one set after those of another.

    Products cost what they do in the members. Where one of these says which of its atoms overlap,
    a step on a `SquaredDistance` changes the correlations that it can change in every member.

    Parameters
    ----------
    sets
        Finite sets of atoms of one shape.

    Examples
    --------
    >>> from pursuit import Coordinates, Shifts, Union
    >>> Union(Coordinates(100), Shifts([[1.0, 2.0, 1.0]], 100))
    Union of 198 atoms: Coordinates(100), Shifts of 1 templates of shape (3,) over (100,): 98 atoms
    """

    def __init__(self, *sets: FiniteAtoms) -> None:
        if not sets:
            raise InputError("sets: expected at least one set of atoms, got none")
        for atoms in sets:
            if not isinstance(atoms, FiniteAtoms) or atoms.one_sided:
                raise InputError(
                    "sets: expected finite sets, such as Dictionary(rows) or Shifts, and no Cone, "
                    f"got {shown(atoms)}"
                )
            if atoms.shape != sets[0].shape:
                raise InputError(
                    f"sets: expected atoms of one shape, got {sets[0].shape} and {atoms.shape}"
                )
        self.sets, self.shape = sets, sets[0].shape
        self.dtype = np.dtype(np.result_type(*(atoms.dtype for atoms in sets)))
        self.starts = np.cumsum([0, *(len(atoms) for atoms in sets)])
        local = any(atoms.form in (AtomForm.LOCAL, AtomForm.SHIFTS) for atoms in sets)
        self.form = AtomForm.LOCAL if local else AtomForm.ROWS

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __repr__(self) -> str:
        return f"Union of {len(self):,} atoms: {', '.join(map(repr, self.sets))}"

    def member(self, atoms: Any) -> Member:
        """The sets that atoms belong to, and their numbers there."""
        numbers = np.asarray(atoms)
        of = np.searchsorted(self.starts, numbers, side="right") - 1
        return Member(of, numbers - self.starts[of])

    def _own(self, z: Atom) -> tuple[FiniteAtoms, int]:
        of, atom = self.member(z)
        return self.sets[int(of)], int(atom)

    def _parts(self, numbers: Array) -> list[Array]:
        """An entry for each atom, set by set."""
        return np.split(numbers, self.starts[1:-1])

    def support(self, z: Atom) -> tuple[Array, Array]:
        atoms, own = self._own(z)
        where, entries = atoms.support(own)
        return where, entries.astype(self.dtype, copy=False)

    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]:
        met = [atoms.reach(where, entries) for atoms in self.sets]
        places = [begin + places for begin, (places, _) in zip(self.starts, met, strict=False)]
        return np.concatenate(places), np.concatenate([products for _, products in met])

    def vector(self, z: Atom) -> Array:
        atoms, own = self._own(z)
        return atoms.vector(own).astype(self.dtype, copy=False)

    def inner(self, d: Array, z: Atom) -> float:
        atoms, own = self._own(z)
        return atoms.inner(d, own)

    def norm2(self, z: Atom) -> float:
        atoms, own = self._own(z)
        return atoms.norm2(own)

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        atoms, own = self._own(z)
        atoms.shift(x, gamma, own)

    @cached_property
    def norms(self) -> Array:
        return np.concatenate([atoms.norms for atoms in self.sets]).astype(self.dtype)

    @property
    def norm_range(self) -> tuple[float, float]:
        ranges = [atoms.norm_range for atoms in self.sets]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    @property
    def radius(self) -> float:
        return max(atoms.radius for atoms in self.sets)

    def correlate(self, d: Array) -> Array:
        return np.concatenate([atoms.correlate(d) for atoms in self.sets])

    def dual_norm(self, d: Array) -> float:
        return max(atoms.dual_norm(d) for atoms in self.sets)

    def combine(self, weights: Array) -> Array:
        parts = zip(self.sets, self._parts(weights), strict=True)
        combined: Array = sum(atoms.combine(part) for atoms, part in parts)  # type: ignore[assignment]
        return combined

    def correlate_some(self, d: Array, places: Array) -> Array:
        out = np.empty(len(places), np.result_type(d, self.dtype))
        of, own = self.member(places)
        for k, atoms in enumerate(self.sets):
            out[of == k] = atoms.correlate_some(d, own[of == k])
        return out

    def combine_some(self, weights: Array, places: Array) -> Array:
        x = np.zeros(self.shape, weights.dtype)
        of, own = self.member(places)
        for k, atoms in enumerate(self.sets):
            if (of == k).any():
                x += atoms.combine_some(weights[of == k], own[of == k])
        return x

    def astype(self, dtype: np.dtype[Any]) -> Union:
        return self._of([atoms.astype(dtype) for atoms in self.sets], dtype)

    @staticmethod
    def _of(sets: Sequence[AtomSet], dtype: np.dtype[Any]) -> Union:
        """These sets, in a precision that members without one of their own do not tell."""
        union = Union(*sets)  # type: ignore[arg-type]
        union.dtype = np.dtype(dtype)
        return union

    def unit(self) -> Unit:
        units = [atoms.unit() for atoms in self.sets]
        if all(scale is None for _, scale in units):
            return Unit(self, None)
        scales = [
            np.ones(len(atoms), self.dtype) if scale is None else scale
            for atoms, (_, scale) in zip(self.sets, units, strict=True)
        ]
        return Unit(self._of([atoms for atoms, _ in units], self.dtype), np.concatenate(scales))
