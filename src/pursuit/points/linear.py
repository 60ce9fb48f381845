"""Points of a linear model: one atom at a time costs its column of samples, not a gradient."""

from __future__ import annotations

import numpy as np

from pursuit.atoms.base import Atom
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective
from pursuit.objectives.linear_models import Expansion, LinearModel
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import LocalCurvature


class LinearPoint(AmbientPoint):
    """β and u = Xβ. Slope, curvature and step along an atom touch only the samples it reaches."""

    f: LinearModel
    samples: Expansion | None
    """The samples at u, where they are known; to the last bit what f says of them."""
    is_recomputed: bool
    """Whether u is, to the last bit, what f says of x."""

    def set_samples(self, samples: Expansion) -> None:
        """Take what is known of the samples at u, until x changes."""
        if self.image.dtype == np.float64:
            self.samples = samples

    def set_iterate(self, x: Array, image: Array, samples: Expansion, is_recomputed: bool) -> None:
        """Go to an x of the axes whose image is known, and the samples there; `is_recomputed`: the
        image is what f says, and not what steps have made of it."""
        self.x[...], self.image[...] = x, image
        self.coef[...] = x - self.x0
        self.counts.products += 1
        self._invalidate()
        self.set_samples(samples)
        self.is_recomputed = is_recomputed and self.samples is not None

    def value_and_gradient(self, f: Objective, x: Array) -> tuple[float, Array]:
        """f(x) and ∇f(x) at an x in float64, f being that of the point as it was given."""
        # The same f; and the same bits, whether the image is at hand or has to be made again.
        samples = self.samples if self.is_recomputed and np.array_equal(x, self.x) else None
        if samples is not None and self._gradient is not None:
            return self.f.whole(x, samples.value), self._gradient
        samples = samples or self.f.expansion(self.f.image(x))
        return self.f.whole(x, samples.value), self.f.pulled(x, samples.slopes)

    def value(self) -> float:
        return super().value() if self.samples is None else self.f.whole(self.x, self.samples.value)

    def _observed(self) -> Array:
        if self._gradient is None and self.samples is not None:
            self._gradient = self.f.pulled(self.x, self.samples.slopes)
        begins = self._uncounted is None and self._gradient is None and not self.x.any()
        if begins and self.x.dtype == self.f.dtype:
            self._uncounted = self._finite.correlate(self.f.first_gradient)
        return super()._observed()

    def _invalidate(self) -> None:
        super()._invalidate()
        self.samples, self.is_recomputed = None, False

    def correlation(self, z: Atom) -> float:
        if self._correlations is not None or self._gradient is not None:
            return super().correlation(z)
        return self.derivative_along(0.0, z)

    def derivative_along(self, gamma: float, z: Atom) -> float:
        self._count_atoms()
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

    def local_curvature(self, z: Atom) -> LocalCurvature:
        rows, column = self.f.column(self.atoms, z)
        squares = column.astype(np.float64, copy=False) ** 2
        bend = float(squares @ self.f.bends(self.image[rows], rows))
        ridge = self.f.l2 * self.f.shrunk_norm2(self.atoms, z)
        reach = float(np.abs(column).max(initial=0.0))
        growth = self.f.growth * reach if reach else 0.0
        return LocalCurvature(bend + ridge, growth, self.curvature(z))

    def move(self, gamma: float, z: Atom) -> None:
        self._add(gamma, z)
        self.atoms.shift(self.x, gamma, z)
        rows, column = self.f.column(self.atoms, z)
        self.image[rows] -= gamma * column
        self._count_atoms()
        self._invalidate()
