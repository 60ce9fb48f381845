"""Sets of atoms: one file each."""

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Unit
from pursuit.atoms.coordinates import Coordinates
from pursuit.atoms.dictionary import Dictionary
from pursuit.atoms.sphere import Sphere

__all__ = ["Atom", "AtomSet", "Coordinates", "Dictionary", "FiniteAtoms", "Sphere", "Unit"]
