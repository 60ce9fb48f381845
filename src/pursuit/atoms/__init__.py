"""Sets of atoms: one file each."""

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Unit

__all__ = ["Atom", "AtomSet", "FiniteAtoms", "Unit"]
