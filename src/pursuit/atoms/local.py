"""Sets whose atoms overlap few others: a step changes few correlations, and the set says which."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pursuit.atoms.base import GATHERED, Atom, FiniteAtoms
from pursuit.atoms.forms import AtomForm
from pursuit.base.validation import Array


class Overlaps(NamedTuple):
    """The atoms z_i that may overlap an atom z, in the order of their numbers, and ⟨z_i, z⟩."""

    places: Array
    products: Array


class LocalAtoms(FiniteAtoms):
    """A finite set of atoms that are zero nearly everywhere, and that nobody has to store.

    A subclass gives `support` (where an atom is not zero), `reach` (which atoms meet a vector with
    few entries) and `correlate`. On a `SquaredDistance` points then keep the correlations of all
    atoms up to date at the cost of one step's overlaps: x ← x − γz takes γ⟨z_i, z⟩ off c_i for the
    z_i that overlap z, and nothing off the others.
    """

    form = AtomForm.LOCAL

    @abstractmethod
    def support(self, z: Atom) -> tuple[Array, Array]: ...

    @abstractmethod
    def reach(self, where: Array, entries: Array) -> tuple[Array, Array]: ...

    def overlaps(self, z: Atom) -> Overlaps:
        """Which correlations a step along z changes, and by how much for γ = 1."""
        return Overlaps(*self.reach(*self.support(z)))

    @cached_property
    def crowding(self) -> float:
        """The mean number of atoms that a step along one of them changes the correlations of."""
        places = np.linspace(0, len(self) - 1, 16).astype(np.int64)
        return float(np.mean([len(self.overlaps(int(z)).places) for z in places]))

    # What follows from the support ------------------------------------------------------

    def some(self, first: int, last: int) -> Array:
        return self._stacked(first, last)

    def vector(self, z: Atom) -> Array:
        vector = np.zeros(int(np.prod(self.shape)), self.dtype)
        where, entries = self.support(z)
        vector[where] = entries
        return vector.reshape(self.shape)

    def inner(self, d: Array, z: Atom) -> float:
        where, entries = self.support(z)
        return float(d.reshape(-1)[where] @ entries)

    def shift(self, x: Array, gamma: float, z: Atom) -> None:
        where, entries = self.support(z)
        x.flat[where] -= gamma * entries

    def correlate_some(self, d: Array, places: Array) -> Array:
        return np.array([self.inner(d, int(z)) for z in places], np.result_type(d, self.dtype))

    def combine_some(self, weights: Array, places: Array) -> Array:
        flat = np.zeros(int(np.prod(self.shape)), weights.dtype)
        for weight, z in zip(weights, places.tolist(), strict=True):
            where, entries = self.support(z)
            flat[where] += weight * entries
        return flat.reshape(self.shape)

    def combine(self, weights: Array) -> Array:
        places = np.flatnonzero(weights)
        return self.combine_some(weights[places], places)


def chunks(places: Array) -> list[slice]:
    """Atoms that are gathered together."""
    return [slice(begin, begin + GATHERED) for begin in range(0, len(places), GATHERED)]
