"""Points of linear models over coordinates whose steps kernels make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pursuit.atoms.base import AtomSet
from pursuit.atoms.forms import AtomForm
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.points.linear import LinearPoint

if TYPE_CHECKING:
    from pursuit.kernels.coordinates import ColumnModel, ColumnPlace

ENTRIES = 20_000
"""Numbers in X from which on kernels make the steps: a run over fewer is over before they are
loaded. What is computed depends on the problem alone, and not on how long it takes."""


def suits_columns(f: Objective, atoms: AtomSet) -> bool:
    """Whether kernels make steps along the columns of X: f is a loss that they know, over
    coordinates, with a matrix that is worth it."""
    model = f.linear_model
    if model is None or atoms.form is not AtomForm.AXES:
        return False
    entries: int = getattr(model.X, "nnz", 0) or getattr(model.X, "size", 0)
    return entries >= ENTRIES and model.kernel_model is not None


class ColumnPoint(LinearPoint):
    """β and u = Xβ of a linear model over coordinates, as kernels take them."""

    @staticmethod
    def of(f: Objective, atoms: AtomSet, x0: Array) -> ColumnPoint:
        assert f.linear_model is not None
        return ColumnPoint(f.linear_model, atoms, x0)

    @property
    def model(self) -> ColumnModel:
        """f as kernels take it."""
        model = self.f.kernel_model
        assert model is not None
        return model

    @property
    def iterate(self) -> ColumnPlace:
        """Where it is, which kernels change; `invalidate` has to be said after."""
        from pursuit.kernels.coordinates import ColumnPlace

        return ColumnPlace(self.x, self.coef, self.image)

    def invalidate(self) -> None:
        """A kernel has changed x, its coefficients and its image."""
        self._invalidate()

    @property
    def refresh_factor(self) -> int:
        # A step changes few samples, and what it changes is known in full precision.
        return max(1, len(self.coef) // 100)
