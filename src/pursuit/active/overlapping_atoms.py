"""Orthogonal pursuit over atoms that overlap few others.

The Gram matrix of the atoms in use is sparse: two atoms that do not overlap have no product. Atoms
that hang together, each overlapping another, form a cluster, and different clusters are orthogonal.
A new atom changes the best coefficients of its own cluster alone: that is exact orthogonal pursuit
at the price of one cluster. The local correction is cheaper still: it corrects the coefficients of
the new atom and of those that overlap it, and leaves the others as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from pursuit.active.engine import ActiveMemory
from pursuit.atoms.local import LocalAtoms
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.linalg.cholesky import GrowingCholesky, NewRow
from pursuit.points.base import Point
from pursuit.rules.run import Progress

Overlaps = dict[int, float]
"""⟨z_i, z⟩ by the number i of every atom in use that overlaps z."""


class Neighborhoods:
    """The atoms in use in their order, and who overlaps whom: a sparse Gram matrix.

    A new atom is corrected with those that overlap it.
    """

    def __init__(self, atoms: LocalAtoms) -> None:
        self.atoms = atoms
        self.places: list[int] = []
        self.products: list[Overlaps] = []
        # Numbers from one upwards: as sparse as the coefficients.
        self._number = np.zeros(len(atoms), np.int32)

    def number(self, place: int) -> int | None:
        """Return the number of an atom in use; None where it is not."""
        number = int(self._number[place])
        return number - 1 if number else None

    def overlaps(self, place: int) -> Overlaps:
        """Return the products of an atom with those in use that overlap it."""
        places, products = self.atoms.overlaps(place)
        numbers = self._number[places]
        used = np.flatnonzero(numbers)
        return dict(zip((numbers[used] - 1).tolist(), products[used].tolist(), strict=True))

    def add(self, place: int, most_inflated: float) -> bool:
        """Take an atom in unless it depends on those in use; whether it entered."""
        overlaps, number = self.overlaps(place), len(self.places)
        for other, product in overlaps.items():
            self.products[other][number] = product
        self.places.append(place)
        self.products.append({**overlaps, number: self.atoms.norm2(place)})
        self._number[place] = number + 1
        return True

    def corrected_with(self, number: int) -> list[int]:
        """Return the numbers of the atoms that are corrected with one of them."""
        return list(self.products[number])

    def solve(self, numbers: list[int], gradient: Array) -> Array:
        """Return the step that makes the gradient over these atoms vanish."""
        gram = [[self.products[i].get(j, 0.0) for j in numbers] for i in numbers]
        # Atoms that depend on each other share what their gradient asks for.
        step: Array = np.linalg.lstsq(np.array(gram), gradient, rcond=None)[0]
        return step


@dataclass
class _Cluster:
    numbers: list[int] = field(default_factory=list)
    factor: GrowingCholesky = field(default_factory=GrowingCholesky)

    def row(self, overlaps: Overlaps) -> NewRow:
        return self.factor.row(np.array([overlaps.get(i, 0.0) for i in self.numbers]), 0.0)


class Clusters(Neighborhoods):
    """A new atom is corrected with its cluster, whose Gram matrix has a Cholesky factor."""

    def __init__(self, atoms: LocalAtoms) -> None:
        super().__init__(atoms)
        self._cluster: list[_Cluster] = []

    def add(self, place: int, most_inflated: float) -> bool:
        overlaps, norm2 = self.overlaps(place), self.atoms.norm2(place)
        clusters = {id(self._cluster[i]): self._cluster[i] for i in overlaps}.values()
        ordered = sorted(clusters, key=lambda cluster: -len(cluster.numbers))
        joined, *rest = ordered or [_Cluster()]
        rows = [cluster.row(overlaps) for cluster in (joined, *rest)]
        pivot = norm2 + sum(row.pivot for row in rows)
        for cluster, row in zip((joined, *rest), rows, strict=True):
            new = NewRow(row.y, row.weights, pivot, norm2)
            if not cluster.factor.inflation(new) <= most_inflated:
                return False
        for cluster in rest:
            joined.numbers.extend(cluster.numbers)
            joined.factor.extend(cluster.factor)
        y, weights = (np.concatenate([row[i] for row in rows]) for i in (0, 1))
        joined.factor.append(NewRow(y, weights, pivot, norm2))
        joined.numbers.append(len(self.places))
        self._cluster.append(joined)
        for i in joined.numbers:
            self._cluster[i] = joined
        return super().add(place, most_inflated)

    def corrected_with(self, number: int) -> list[int]:
        return self._cluster[number].numbers

    def solve(self, numbers: list[int], gradient: Array) -> Array:
        return self._cluster[numbers[0]].factor.solve(gradient)


class OverlappingCorrection:
    """A run of either: what it holds follows from which atoms entered, in their order."""

    def __init__(self, memory: ActiveMemory, kind: type[Neighborhoods]) -> None:
        self.memory, self._kind = memory, kind
        self._used: Neighborhoods | None = None

    def __call__(self, x: Point) -> Progress:
        used = self._follow(x)
        z, c = self._enter(x, used)
        number = used.number(z)
        gamma, decrease = (0.0, 0.0) if number is None else self._correct(x, used, number)
        return Progress(z, gamma, c, x.dual_norm(), decrease)

    def _follow(self, x: Point) -> Neighborhoods:
        """Return the atoms in use, with those that a resumed run remembers."""
        if self._used is None:
            self._used = self._kind(cast(LocalAtoms, x.atoms))
            self._most_inflated = 1 / tolerances(x.dtype).dependent
        for place in self.memory.active[len(self._used.places) :].tolist():
            self._used.add(place, self._most_inflated)
        return self._used

    def _enter(self, x: Point, used: Neighborhoods) -> tuple[int, float]:
        """Return the best atom that does not depend on others, and its slope; it is in use then,
        unless the slope is rounding."""
        z, c = x.lmo()
        gains: Array | None = None
        while used.number(z) is None:
            if self.memory.is_negligible(abs(c) / x.atoms.norm2(z) ** 0.5, x.dtype):
                break
            if z not in self.memory.dependent:
                if used.add(z, self._most_inflated):
                    self.memory.active = np.append(self.memory.active, z)
                    break
                self.memory.set_aside(z)
            if gains is None:  # which happens where hardly any slope is left
                gains = np.abs(x.correlations())
            gains[self.memory.dependent] = 0
            z = int(np.argmax(gains))
            c = float(x.correlations()[z])
        return z, c

    def _correct(self, x: Point, used: Neighborhoods, number: int) -> tuple[float, float]:
        """Return the largest change of a coefficient, and by how much f falls."""
        numbers = used.corrected_with(number)
        places = np.array([used.places[i] for i in numbers])
        delta = used.solve(numbers, x.correlations_at(places).astype(np.float64))
        before = x.value()
        x.move_all(delta, places, np.empty(0))
        return float(np.abs(delta).max()), max(0.0, before - x.value())
