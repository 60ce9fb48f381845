"""Orthogonal pursuit over atoms that overlap few others.

The Gram matrix of the atoms in use is sparse: two atoms that do not overlap have no product. Chosen
atoms that hang together, each overlapping another, form a cluster, and different clusters have
nothing to do with each other. A new atom changes the best coefficients of its own cluster alone:
that is exact orthogonal pursuit at the price of one cluster. The local correction is cheaper still:
it corrects the coefficients of the new atom and of those that overlap it, and takes the others as
they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pursuit.active.active_set import EPS, ULPS, ActiveMemory, no_places
from pursuit.active.factor import Factor, depends
from pursuit.atoms.local import LocalAtoms
from pursuit.base.growing import Numbers
from pursuit.base.validation import Array
from pursuit.points.base import Point
from pursuit.rules.run import Progress, Run


@dataclass
class CorrectiveMemory(ActiveMemory):
    """The atoms that depend on others, beside those in use."""

    dependent: Array = field(default_factory=no_places)


class Near:
    """The atoms in use in their order, and who overlaps whom: a sparse Gram matrix.

    Attributes
    ----------
    places
        The number of each in the set.
    products
        For each, ⟨z_i, z⟩ by the entry i of every atom in use that overlaps it.
    """

    def __init__(self, atoms: LocalAtoms) -> None:
        self.atoms = atoms
        self.places: list[int] = []
        self.products: list[dict[int, float]] = []
        # Entries from one upwards: as sparse as the coefficients.
        self._entry = np.zeros(len(atoms), np.int32)

    def entry(self, place: int) -> int | None:
        """The entry of an atom; None where it is not in use."""
        entry = int(self._entry[place])
        return entry - 1 if entry else None

    def measure(self, place: int) -> dict[int, float]:
        """⟨z_i, z⟩ by the entries i of the atoms in use that overlap an atom."""
        places, products = self.atoms.overlaps(place)
        entries = self._entry[places]
        met = np.flatnonzero(entries)
        return dict(zip((entries[met] - 1).tolist(), products[met].tolist(), strict=True))

    def add(self, place: int, overlaps: dict[int, float]) -> int:
        """Take an atom in; its entry."""
        entry = len(self.places)
        for other, product in overlaps.items():
            self.products[other][entry] = product
        self.places.append(place)
        self.products.append({**overlaps, entry: self.atoms.norm2(place)})
        self._entry[place] = entry + 1
        return entry

    def gram(self, entries: list[int]) -> Array:
        """The products between some atoms in use."""
        return np.array([[self.products[i].get(j, 0.0) for j in entries] for i in entries])


class Correcting(Protocol):
    """Which coefficients are corrected after an atom has entered, and how."""

    def admit(self, place: int, overlaps: dict[int, float], eps: float) -> bool:
        """Take an atom in unless it depends on those in use."""

    def around(self, entry: int) -> list[int]:
        """The entries that are corrected with that of an atom."""

    def solve(self, entries: list[int], slopes: Array) -> Array:
        """The step that makes those slopes vanish."""


class Clusters:
    """Exact: every cluster has the Cholesky factor of its Gram matrix."""

    def __init__(self, near: Near) -> None:
        self.near = near
        self._cluster: list[_Cluster] = []

    def admit(self, place: int, overlaps: dict[int, float], eps: float) -> bool:
        met = {id(self._cluster[i]): self._cluster[i] for i in overlaps}
        clusters = sorted(met.values(), key=lambda cluster: -len(cluster.entries))
        rows, reaches = [np.empty(0)], [0.0]
        for cluster in clusters:
            column = np.array([overlaps.get(i, 0.0) for i in cluster.entries])
            y, reach = cluster.factor.against(column, cluster.norms.array)
            rows.append(y)
            reaches.append(reach)
        y, norm2 = np.concatenate(rows), self.near.atoms.norm2(place)
        pivot = norm2 - float(y @ y)
        if depends(pivot, norm2, sum(reaches), len(y), eps):
            return False
        self._enter(_join(clusters), self.near.add(place, overlaps), y, pivot, norm2)
        return True

    def _enter(self, joined: _Cluster, entry: int, y: Array, pivot: float, norm2: float) -> None:
        joined.factor.push(y, pivot)
        joined.entries.append(entry)
        joined.norms.append(norm2**0.5)
        self._cluster.append(joined)
        for i in joined.entries:
            self._cluster[i] = joined

    def around(self, entry: int) -> list[int]:
        return self._cluster[entry].entries

    def solve(self, entries: list[int], slopes: Array) -> Array:
        return self._cluster[entries[0]].factor.solve(slopes)


@dataclass
class _Cluster:
    entries: list[int] = field(default_factory=list)
    norms: Numbers = field(default_factory=Numbers)
    factor: Factor = field(default_factory=Factor)


def _join(clusters: list[_Cluster]) -> _Cluster:
    """One cluster of all: the largest, with the others after it."""
    if not clusters:
        return _Cluster()
    joined, *rest = clusters
    for cluster in rest:
        joined.entries.extend(cluster.entries)
        for norm in cluster.norms.array.tolist():
            joined.norms.append(norm)
        joined.factor.extend(cluster.factor)
    return joined


class Neighbours:
    """Local: the new atom and those in use that overlap it."""

    def __init__(self, near: Near) -> None:
        self.near = near

    def admit(self, place: int, overlaps: dict[int, float], eps: float) -> bool:
        self.near.add(place, overlaps)
        return True

    def around(self, entry: int) -> list[int]:
        return list(self.near.products[entry])

    def solve(self, entries: list[int], slopes: Array) -> Array:
        # Atoms that depend on each other share what their slopes ask for.
        step: Array = np.linalg.lstsq(self.near.gram(entries), slopes, rcond=None)[0]
        return step


class Correction:
    """A run of either: all that it holds follows from which atoms entered, in their order."""

    def __init__(
        self, run: Run, memory: CorrectiveMemory, kind: Callable[[Near], Correcting]
    ) -> None:
        self.memory, self._run, self._kind = memory, run, kind
        self._near: Near | None = None

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = x.steepest()
        entry = None
        if not self._negligible(x, z, c):
            z, c, entry = self._enter(x, z, c)
        gamma, decrease = (0.0, 0.0) if entry is None else self._correct(x, entry)
        return Progress(z, gamma, c, x.largest_slope(), decrease)

    def _follow(self, x: Point) -> None:
        """Take in the atoms that a resumed run remembers."""
        if self._near is None:
            assert isinstance(x.atoms, LocalAtoms)
            self._near = Near(x.atoms)
            self._correcting = self._kind(self._near)
        for place in self.memory.active[len(self._near.places) :].tolist():
            self._correcting.admit(place, self._near.measure(place), EPS[x.dtype])

    def _negligible(self, x: Point, z: int, c: float) -> bool:
        """Whether the oracle's slope is nothing but the rounding of the first one of the run."""
        slope = abs(c) / x.atoms.norm2(z) ** 0.5
        if self.memory.first_oracle is None:
            self.memory.first_oracle = slope
        return not slope > ULPS * EPS[x.dtype] * self.memory.first_oracle

    def _enter(self, x: Point, z: int, c: float) -> tuple[int, float, int | None]:
        """The steepest atom that does not depend on others, its slope and its entry."""
        assert self._near is not None
        steepness: Array | None = None
        while True:
            entry = self._near.entry(z)
            if entry is not None or self._negligible(x, z, c):
                return z, c, entry
            if z not in self.memory.dependent and self._try(x, z):
                return z, c, self._near.entry(z)
            if steepness is None:  # which happens where hardly any slope is left
                steepness = np.abs(x.correlations())
            steepness[self.memory.dependent] = 0
            z = int(np.argmax(steepness))
            c = float(x.correlations()[z])

    def _try(self, x: Point, z: int) -> bool:
        """Let an atom in unless it depends on the others; remember either."""
        assert self._near is not None
        memory = self.memory
        entered = self._correcting.admit(z, self._near.measure(z), EPS[x.dtype])
        if entered:
            memory.active = np.append(memory.active, z)
        else:
            memory.dependent = np.append(memory.dependent, z)
        return entered

    def _correct(self, x: Point, entry: int) -> tuple[float, float]:
        """The largest change of a coefficient, and by how much f falls."""
        assert self._near is not None
        entries = self._correcting.around(entry)
        places = np.array([self._near.places[i] for i in entries])
        slopes = x.slopes(places).astype(np.float64)
        delta = self._correcting.solve(entries, slopes)
        before = x.value()
        x.move_all(delta, places, np.empty(0))
        return float(np.abs(delta).max()), max(0.0, before - x.value())
