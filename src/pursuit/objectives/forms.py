"""What an objective says about itself to whoever has to keep a point of it."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from pursuit.atoms.base import AtomSet
from pursuit.base.validation import Array


class PointForm(Enum):
    """What a point of f keeps up to date while x moves, beside its coefficients."""

    IMAGE = "x, and its image under the linear map that makes f cheap"
    SAMPLES = "x, and an image of which an atom may reach few entries"
    HESSIAN = "the slopes of all atoms, which a constant Hessian makes affine in x; else an image"
    PRODUCTS = "factors of a matrix, and the slopes of the atoms in use"
    ENTRIES = "factors of a matrix, and some of its entries"


Representation = PointForm | Callable[[AtomSet, Array], Any]
"""A form that the library has, or what builds a point of its own kind from the atoms and x0."""
