"""Points of a linear model: one atom at a time costs its column of samples, not a gradient."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import Atom
from pursuit.base.validation import Array
from pursuit.objectives.linear_models import Expansion, LinearModel
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Bending


class LinearPoint(AmbientPoint):
    """β and u = Xβ. Slope, curvature and step along an atom touch only the samples it reaches."""

    f: LinearModel
    known: Expansion | None
    """The samples at u, where someone has told; to the last bit what f says of them."""

    def know(self, samples: Expansion) -> None:
        """Take what is known of the samples at u, until x changes."""
        if self.image.dtype == np.float64:
            self.known = samples

    def settle(self, x: Array, image: Array, samples: Expansion) -> None:
        """Go to an x of the axes whose image is known, and the samples there."""
        self.x[...], self.image[...] = x, image
        self.coef[...] = x - self.x0
        self.counts.products += 1
        self._changed()
        self.know(samples)

    def value(self) -> float:
        return super().value() if self.known is None else self.f.whole(self.x, self.known.value)

    def _observed(self) -> Array:
        if self._gradient is None and self.known is not None:
            self._gradient = self.f.pulled(self.x, self.known.slopes)
        return super()._observed()

    def _changed(self) -> None:
        super()._changed()
        self.known = None

    def slope(self, z: Atom) -> float:
        if self._correlations is not None or self._gradient is not None:
            return super().slope(z)
        return self.slope_along(0.0, z)

    def slope_along(self, gamma: float, z: Atom) -> float:
        self._touch()
        rows, column = self.f.column(self.atoms, z)
        u = self.image[rows] - gamma * column if gamma else self.image[rows]
        slope = float(np.dot(column, self.f.slopes(u, rows)))
        if not self.f.l2:
            return slope
        norm2 = self.f.shrunk_norm2(self.atoms, z)
        along = self.f.shrunk_inner(self.atoms, self.x, z) - gamma * norm2
        return slope + self.f.l2 * along

    def curvature(self, z: Atom) -> float:
        rows, column = self.f.column(self.atoms, z)
        bend = float(np.dot(self.f.weights[rows] * column, column))
        if bend == 0:  # where no sample is reached no bend is, however large
            return self.f.l2 * self.f.shrunk_norm2(self.atoms, z)
        return self.f.bend * bend + self.f.l2 * self.f.shrunk_norm2(self.atoms, z)

    def bending(self, z: Atom) -> Bending:
        rows, column = self.f.column(self.atoms, z)
        squares = column.astype(np.float64, copy=False) ** 2
        bend = float(squares @ self.f.bends(self.image[rows], rows))
        ridge = self.f.l2 * self.f.shrunk_norm2(self.atoms, z)
        reach = float(np.abs(column).max(initial=0.0))
        growth = self.f.growth * reach if reach else 0.0
        return Bending(bend + ridge, growth, self.curvature(z))

    def move(self, gamma: float, z: Atom) -> None:
        self._add(gamma, z)
        self.atoms.shift(self.x, gamma, z)
        rows, column = self.f.column(self.atoms, z)
        self.image[rows] -= gamma * column
        self._touch()
        self._changed()
