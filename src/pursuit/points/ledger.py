"""What the points of a run share: the count of its work, and who has which coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.base.validation import Array


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
    finite: FiniteAtoms | None = field(init=False)
    registered: list[Atom] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.finite = self.atoms.finite

    @property
    def size(self) -> int:
        return len(self.registered) if self.finite is None else len(self.finite)

    @property
    def handles(self) -> Sequence[Atom]:
        """The atoms of all entries."""
        return self.registered if self.finite is None else range(len(self.finite))

    def place(self, z: Atom) -> int:
        """The entry of an atom."""
        if self.finite is not None:
            return int(z)
        # `registered` keeps every handle alive, so its identity is its own.
        place = self.places.setdefault(id(z), len(self.registered))
        if place == len(self.registered):
            self.registered.append(z)
        return place

    def atom(self, place: int) -> Atom:
        """The atom of an entry."""
        return self.registered[place] if self.finite is None else place

    def atoms_at(self, places: Array) -> list[Atom]:
        """The atoms of some entries."""
        listed: list[int] = places.tolist()
        return listed if self.finite is not None else [self.registered[place] for place in listed]

    def restore(self, handles: list[Atom]) -> None:
        self.registered[:] = handles
        self.places.clear()
        self.places.update({id(z): k for k, z in enumerate(handles)})
