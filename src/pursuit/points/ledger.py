"""What the points of a run share: the count of its work, and who has which coefficient."""

from __future__ import annotations

from dataclasses import dataclass, field

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms


@dataclass
class Counts:
    """Work done so far; looking at or combining k of n atoms is k/n of a product."""

    oracle_calls: int = 0
    products: float = 0.0
    setup: float = 0.0


@dataclass
class Ledger:
    """Which entry of the coefficients belongs to which atom.

    A finite set has one entry for each atom. An infinite one gets an entry for each new atom,
    shared by all points of a run.
    """

    atoms: AtomSet
    seen: list[Atom] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.atoms) if isinstance(self.atoms, FiniteAtoms) else len(self.seen)

    def place(self, z: Atom) -> int:
        """The entry of an atom."""
        if isinstance(self.atoms, FiniteAtoms):
            return int(z)
        # `seen` keeps every handle alive, so its identity is its own.
        place = self.places.setdefault(id(z), len(self.seen))
        if place == len(self.seen):
            self.seen.append(z)
        return place

    def atom(self, place: int) -> Atom:
        """The atom of an entry."""
        return place if isinstance(self.atoms, FiniteAtoms) else self.seen[place]

    def restore(self, handles: list[Atom]) -> None:
        self.seen[:] = handles
        self.places.clear()
        self.places.update({id(z): k for k, z in enumerate(handles)})
