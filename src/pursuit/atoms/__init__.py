"""Sets of atoms: one file each."""

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms, Unit
from pursuit.atoms.cone import Cone
from pursuit.atoms.coordinates import Coordinates
from pursuit.atoms.dictionary import Dictionary
from pursuit.atoms.gabor import Gabor
from pursuit.atoms.groups import Groups
from pursuit.atoms.local import LocalAtoms
from pursuit.atoms.operator import Operator
from pursuit.atoms.oracle import Oracle
from pursuit.atoms.rank_one import RankOne
from pursuit.atoms.shifts import Shifts
from pursuit.atoms.sparse import SparseDictionary
from pursuit.atoms.sphere import Sphere
from pursuit.atoms.transformed import Transformed
from pursuit.atoms.trees import RegressionTrees
from pursuit.atoms.union import Union

__all__ = [
    "Atom",
    "AtomSet",
    "Cone",
    "Coordinates",
    "Dictionary",
    "FiniteAtoms",
    "Gabor",
    "Groups",
    "LocalAtoms",
    "Operator",
    "Oracle",
    "RankOne",
    "RegressionTrees",
    "Shifts",
    "SparseDictionary",
    "Sphere",
    "Transformed",
    "Union",
    "Unit",
]
