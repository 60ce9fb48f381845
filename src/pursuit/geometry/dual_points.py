"""Dual points of a linear model with a penalty: feasible, and near φ′(u).

A dual point θ is feasible where |⟨z_j, Xᵀθ⟩| ≤ λ_j for every atom whose coefficient has neither a
bound nor an l2. It begins as φ′(u) and becomes feasible in three ways: what it has of the images
of atoms without any penalty (an intercept) is taken off, it is led along a direction that all
atoms lean to where coefficients of one sign have no weight, and it is scaled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.base import FiniteAtoms
from pursuit.atoms.forms import AtomForm
from pursuit.base.lengths import EPS, TINIEST, length, row_norms
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.objectives.linear_models import LinearModel
from pursuit.objectives.maps import image_sums, magnitudes
from pursuit.penalties import Parts, Penalty

FEW = 500
"""The most coefficients without a penalty that a dual point is made orthogonal to."""
LOOKS = 100
"""Looks for a direction that all atoms lean to."""
LEANING = 1e-9
"""The least cosine with which they have to."""


class DualPoint(NamedTuple):
    """θ, the slopes c_j = ⟨z_j, Xᵀθ⟩, and how far rounding may have taken these."""

    theta: Array
    c: Array
    about: Array


@dataclass(frozen=True)
class DualSpace:
    """What dual points of f + g are made in.

    Over `Coordinates` an l2 is a penalty on coefficients; over other atoms it is samples more,
    √l2·x, behind those of f.
    """

    model: LinearModel
    atoms: FiniteAtoms
    penalty: Penalty

    def feasible(self, x: Array, u: Array) -> Iterator[DualPoint]:
        """Dual points from φ′(u), the better ones first; φ* may be infinite there."""
        theta = self._behind(self.model.slopes(u).astype(np.float64), x)
        for start in (self._projected(theta), self._balanced(theta)):
            if start is not None:
                yield self._scaled(self._led(self.seen(start)))

    def seen(self, theta: Array) -> DualPoint:
        """The slopes of a dual point."""
        X, samples = self.model.X, self.model.X.shape[0]
        pulled = times(X.T, theta[:samples])
        sizes = magnitudes(X.T, theta[:samples])
        if len(theta) > samples:
            rest = sqrt(self.model.l2) * theta[samples:]
            pulled, sizes = pulled + rest, sizes + np.abs(rest)
        c = self.atoms.correlate(pulled.reshape(self.atoms.shape)).reshape(-1)
        spread = sizes if self.on_axes else self.atoms.norms * length(sizes)
        about = self.operations * EPS * spread
        if not self.on_axes and sizes.any():  # products may vanish
            about += self.operations * TINIEST
        if self._unpenalised.size:  # to which θ is orthogonal as far as one can compute
            about = about + self.operations * EPS * length(theta) * self._image_norms
            c[self._unpenalised], about[self._unpenalised] = 0.0, 0.0
        return DualPoint(theta, c, about)

    # Made feasible ----------------------------------------------------------------------

    def _projected(self, theta: Array) -> Array | None:
        """θ without what it has of the images of atoms that have no penalty at all."""
        if not self._unpenalised.size:
            return theta
        if self._images is None:
            return None
        for _ in range(2):
            theta = theta - self._basis @ (self._basis.T @ theta)
        return theta

    def _balanced(self, theta: Array) -> Array | None:
        """The same for one image without negative entries: one side of zero is scaled down.

        φ* is finite at zero, and so it is at every smaller θᵢ.
        """
        if len(self._unpenalised) != 1 or self._images is None or (self._images < 0).any():
            return None
        parts = self._images[:, 0] * theta
        up, down = float(parts[parts > 0].sum()), -float(parts[parts < 0].sum())
        if not min(up, down) > 0:
            return np.zeros_like(theta)
        balanced: Array = theta * np.where(theta > 0, min(down / up, 1.0), min(up / down, 1.0))
        return balanced

    def _led(self, point: DualPoint) -> DualPoint:
        """The point on the right side of zero, where coefficients of one sign have no weight."""
        stuck = self._open(point) & (self.parts.weights == 0)
        if not stuck.any() or self._lean is None:
            return point
        lean, gains = self._lean
        short = np.where(stuck, np.abs(point.c) + 4 * point.about, 0.0)
        return self.seen(point.theta + float((short / gains).max()) * lean)

    def _scaled(self, point: DualPoint) -> DualPoint:
        """The point scaled until λ_j is no longer exceeded where it must not be."""
        open_end, weights = self._open(point), self.parts.weights
        reach = np.abs(point.c) + 2 * point.about
        binding = open_end & (reach > weights)
        share = float((weights[binding] / reach[binding]).min(initial=1.0))
        about = np.where(open_end, 0.0, share * point.about)  # of those it was kept clear
        return DualPoint(share * point.theta, share * point.c, about)

    def _open(self, point: DualPoint) -> Array:
        """Where λ_j is all that limits a slope."""
        up = np.isinf(self.parts.upper) & (point.c < point.about)
        down = np.isinf(self.parts.lower) & (point.c > -point.about)
        open_ended: Array = (up | down) & (self.ridge == 0)
        return open_ended

    # What does not change -----------------------------------------------------------------

    @property
    def on_axes(self) -> bool:
        """Whether coefficients are the entries of x."""
        return self.atoms.form is AtomForm.AXES

    @cached_property
    def parts(self) -> Parts:
        return self.penalty.parts(len(self.atoms))

    @cached_property
    def ridge(self) -> Array:
        """l2 for each coefficient that it is a penalty on."""
        n = len(self.atoms)
        return self.model.l2 * self.model.shrunk(np.ones(n)) if self.on_axes else np.zeros(n)

    @cached_property
    def operations(self) -> float:
        """By how many units in the last place a sum of products may be off.

        As many as it has terms; but that many only if all roundings go one way. Of k terms it is
        less than 16√k, but for one in 10⁵⁰ (Higham & Mary 2019).
        """
        terms = 8 + int(sum(self.model.X.shape)) + (0 if self.on_axes else len(self.atoms))
        return min(float(terms), 16 * sqrt(terms))

    @cached_property
    def _unpenalised(self) -> Array:
        """The atoms whose coefficients cost nothing, wherever they are."""
        weights, lower, upper = self.parts
        return np.flatnonzero(
            (weights == 0) & np.isinf(lower) & np.isinf(upper) & (self.ridge == 0)
        )

    @cached_property
    def _images(self) -> Array | None:
        """Their images, as columns; None where there are too many to be orthogonal to."""
        if len(self._unpenalised) > FEW:
            return None
        vectors = [self.atoms.vector(j).reshape(-1) for j in self._unpenalised.tolist()]
        vectors = [z.astype(np.float64) for z in vectors]
        return np.array([self._behind(self.model.image(z), z) for z in vectors]).T

    @cached_property
    def _basis(self) -> Array:
        """An orthonormal basis of these, however long each of them is."""
        assert self._images is not None
        norms = row_norms(self._images.T)
        left, sizes, _ = np.linalg.svd(
            self._images / np.where(norms > 0, norms, 1), full_matrices=False
        )
        basis: Array = left[:, sizes > len(left) * EPS * sizes.max(initial=0.0)]
        return basis

    def _behind(self, samples: Array, x: Array) -> Array:
        """Samples of f, followed by those that an l2 is over atoms which are no axes."""
        if self.on_axes or not self.model.l2:
            return samples
        return np.append(samples, sqrt(self.model.l2) * self.model.shrunk(x))

    @cached_property
    def _image_norms(self) -> Array:
        """At least the norm of the image of every atom."""
        X: Any = self.model.X
        squares = image_sums(X, self.atoms, np.ones(X.shape[0]))[1]
        norms: Array = np.sqrt(squares) + sqrt(self.model.l2) * self.atoms.norms
        return norms

    @cached_property
    def _lean(self) -> tuple[Array, Array] | None:
        """A direction to lead θ in, and by how much each slope then leaves its wrong side.

        For coefficients of one sign without a weight. It is a combination of their images that
        all of them lean to, found by the perceptron's steps; None where none was found.
        """
        weights, lower, upper = self.parts
        half = (weights == 0) & (np.isinf(lower) != np.isinf(upper)) & (self.ridge == 0)
        norms = np.where(self._image_norms > 0, self._image_norms, 1.0)
        half &= self._image_norms > 0
        side = np.where(np.isinf(upper), 1.0, -1.0)
        shares = np.where(half, side / norms, 0.0)
        for _ in range(LOOKS if half.any() else 0):
            x = self.atoms.combine(shares).reshape(-1)
            lean = self._projected(self._behind(self.model.image(x), x))
            if lean is None:
                return None
            seen = self.seen(lean)
            gains = np.where(half, side * seen.c - seen.about, inf)
            worst = int(np.argmin(gains / norms))
            if gains[worst] > LEANING * length(lean) * norms[worst]:
                return lean, gains
            shares[worst] += side[worst] / norms[worst]
        return None
