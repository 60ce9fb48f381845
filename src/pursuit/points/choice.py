"""Which representation a point gets: the one place where that is decided."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from pursuit.atoms.base import AtomSet
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.objectives.forms import PointForm
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Point
from pursuit.points.blind import BlindPoint
from pursuit.points.columns import ColumnPoint, suits_columns
from pursuit.points.factored import DistancePoint, EntriesPoint
from pursuit.points.gram import GRAM_BYTES, GramPoint
from pursuit.points.linear import LinearPoint


class Needs(Enum):
    """What a rule asks of a point."""

    SLOPES = "slopes along atoms, again and again"
    VECTOR = "x itself and its gradient"
    ONCE = "each atom but once: keeping all slopes would not pay where a step changes them all"
    VALUES = "values of f alone"


KEEPING: dict[PointForm, Callable[[Any, Any, Any], Point]] = {
    PointForm.IMAGE: AmbientPoint,
    PointForm.SAMPLES: LinearPoint,
    PointForm.HESSIAN: AmbientPoint,
    PointForm.PRODUCTS: DistancePoint.over,
    PointForm.ENTRIES: EntriesPoint.over,
}
"""The points that keep x, or what stands for it."""
LOCAL = (AtomForm.LOCAL, AtomForm.SHIFTS, AtomForm.FRAMES)
"""The sets that say which atoms overlap."""


def choose(
    f: Objective,
    atoms: AtomSet,
    x0: Array,
    needs: Needs = Needs.SLOPES,
    gram_bytes: int | None = None,
    alone: bool = True,
) -> Point:
    """A point of lin(A) at x0, in the representation that suits f, the set and the rule.

    Parameters
    ----------
    gram_bytes
        The largest Gram matrix to form, `GRAM_BYTES` where not given. 0 forms none.
    alone
        Whether the point moves along one atom after another, and is not blended with others.
    """
    if needs is Needs.VALUES:
        return BlindPoint(f, atoms, x0)
    form: Any = f.form
    if not isinstance(form, PointForm):
        return _from_objective(f, atoms, x0)
    if alone and needs is not Needs.VECTOR and is_local(f, atoms):
        return _local(f, atoms, x0)
    slopes = form is PointForm.HESSIAN and needs is Needs.SLOPES and _fits(atoms, gram_bytes)
    by_columns = alone and needs is Needs.SLOPES and suits_columns(f, atoms)
    build: Callable[[Any, Any, Array], Point] = GramPoint if slopes else KEEPING[form]
    if by_columns and not (slopes and atoms.penalty.free):
        build = ColumnPoint.of
    return build(f, atoms, x0)


def is_local(f: Objective, atoms: AtomSet) -> bool:
    """Whether a step along an atom changes the slopes of those that overlap it alone."""
    return f.identity and atoms.form in LOCAL and atoms.penalty.free


def _local(f: Objective, atoms: AtomSet, x0: Array) -> Point:
    """A point that the overlaps of the atoms keep up to date."""
    from pursuit.points.gabor import GaborPoint
    from pursuit.points.local import LocalPoint, ShiftsPoint  # which load the compiler

    points: dict[AtomForm, Callable[[Any, Any, Array], Point]] = {
        AtomForm.LOCAL: LocalPoint,
        AtomForm.SHIFTS: ShiftsPoint,
        AtomForm.FRAMES: GaborPoint,
    }
    return points[atoms.form](f, atoms, x0)


def _fits(atoms: AtomSet, limit: int | None) -> bool:
    """Whether the set has a Gram matrix, small enough to keep."""
    if atoms.finite is None:
        return False
    most = GRAM_BYTES if limit is None else limit
    return len(atoms.finite) ** 2 * atoms.dtype.itemsize <= most


def _from_objective(f: Any, atoms: AtomSet, x0: Array) -> Point:
    """The point that an objective builds itself."""
    point = f.form(atoms, x0) if callable(f.form) else f.form
    if not isinstance(point, Point):
        raise InputError(
            f"f: {type(f).__name__}.form gives {type(point).__name__}; expected a PointForm, or a "
            "function of the atoms and x0 that returns a Point"
        )
    return point
