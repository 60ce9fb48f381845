"""lin(A) and a quadratic on it, in coordinates of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from pursuit.atoms.base import AtomSet, FiniteAtoms
from pursuit.atoms.sampling import Sampling
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, length, row_norms
from pursuit.base.validation import Array
from pursuit.objectives.base import Objective, QuadraticObjective

LARGEST = 4000
"""Dimensions of lin(A) up to which a Hessian is formed on it."""
IMAGES = 30_000_000
"""Entries of the images of a basis of lin(A) up to which they are kept."""


def basis_of(atoms: AtomSet) -> Array:
    """An orthonormal basis of lin(A) as rows."""
    if atoms.finite is not None:
        return atoms.finite.lin.axes
    if atoms.rank == int(np.prod(atoms.shape)):
        return np.eye(atoms.rank)
    return Sampling(atoms).moments.axes


def tilt(atoms: AtomSet) -> float:
    """The sine of the angle by which rounding may have turned that basis."""
    return 0.0 if atoms.finite is None else atoms.finite.lin.tilt


def inside(atoms: FiniteAtoms) -> Array:
    """The atoms in the coordinates of that basis."""
    return atoms.lin.inside(atoms.matrix)


def lengths(atoms: FiniteAtoms) -> Array:
    """‖z_j‖ in float64, whatever the precision of the atoms."""
    if atoms.norms.dtype == np.float64:
        return atoms.norms
    return row_norms(atoms.matrix.astype(np.float64))


def longest(atoms: AtomSet) -> float:
    """max ‖z‖ in float64; of an infinite set, what it knows."""
    return atoms.radius if atoms.finite is None else float(lengths(atoms.finite).max())


def curved(f: Objective, atoms: AtomSet) -> QuadraticObjective | None:
    """f, if it is a quadratic whose Hessian on lin(A) is small enough to be formed."""
    return f.quadratic if atoms.rank <= LARGEST else None


def round_bowl(f: Objective) -> bool:
    """Whether the Hessian of f is a multiple of the identity."""
    return f.quadratic is not None and f.L is not None and f.mu == f.L


LEAST = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
"""Numbers below this lose digits when they are multiplied by what is below one."""


@dataclass(frozen=True)
class SpanHessian:
    """B H Bᵀ for the rows of B: a quadratic's Hessian in the coordinates of a basis of lin(A).

    Where zᵀHz′ is the inner product of the images of z and z′ it is never formed: the images of
    the basis are a root of it, and singular values of a root see twice as deep. If there are
    fewer of them than rows of B, the rest of the directions are flat for certain.

    Attributes
    ----------
    f, basis
        The quadratic and B.
    tilt
        The sine of the angle by which the rows of B may have been turned.
    """

    f: QuadraticObjective
    basis: Array
    tilt: float = 0.0

    @cached_property
    def _images(self) -> Array | None:
        """The images of the rows of B, or None where they are no root of the Hessian."""
        if not self.f.isometric:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            first = np.asarray(self.f.image(self.basis[0].reshape(self.f.shape)))
            if first.size * len(self.basis) > IMAGES:
                return None
            rows = [np.asarray(self.f.image(d.reshape(self.f.shape))) for d in self.basis]
        return _normal(_finite(np.array([row.reshape(-1) for row in rows], np.float64)))

    @cached_property
    def _matrix(self) -> Array:
        shape = self.f.shape
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [np.asarray(self.f.hessian(d.reshape(shape))).reshape(-1) for d in self.basis]
            H = _finite(self.basis @ _finite(np.array(columns, dtype=np.float64)).T)
        return (H + H.T) / 2

    @cached_property
    def _factors(self) -> tuple[Array, Array, float]:
        """(U, σ, ρ): H is U diag(σ²) Uᵀ as computed, and ρ bounds the error of σ or of σ²."""
        images, (r, d) = self._images, self.basis.shape
        if images is None:
            spectrum, axes = np.linalg.eigh(self._matrix)
            error = (d + 4 * r) * EPS * length(self._matrix)
            turned = 2 * self.tilt * self.stretch**2 * (self.f.L or inf) if self.tilt else 0.0
            return axes, np.sqrt(np.maximum(spectrum, 0)), error + turned
        small: Array = images
        if images.shape[1] > r:
            small = np.asarray(np.linalg.qr(images.T, mode="r")).T
        axes, roots, _ = np.linalg.svd(small, full_matrices=False)
        error = (d + 4 * r) * EPS * length(roots)
        turned = self.tilt * self.stretch * (self.f.L or inf) ** 0.5 if self.tilt else 0.0
        return axes, roots, error + turned

    @cached_property
    def stretch(self) -> float:
        """At least ‖B‖."""
        entries = np.abs(self.basis)
        return float(np.sqrt(entries.sum(axis=0).max()) * np.sqrt(entries.sum(axis=1).max()))

    @property
    def axes(self) -> Array:
        """U, the directions in which H is known to be curved if it is `clear`."""
        return self._factors[0]

    @property
    def roots(self) -> Array:
        """σ, roots of the eigenvalues in those directions."""
        return self._factors[1]

    @cached_property
    def doubt(self) -> float:
        """θ with (1 − θ)Ĥ ≤ H ≤ (1 + θ)Ĥ for Ĥ as computed; 1 where nothing is proved."""
        _, roots, error = self._factors
        least = float(roots.min())
        if not error < (least if self._images is not None else least * least):
            return 1.0
        if self._images is None:
            return error / least / least
        return min(2 * error / least + (error / least) ** 2, 1.0)

    @property
    def deep_doubt(self) -> float:
        """θ with ‖H⁻¹g − Ĥ⁻¹g‖ ≤ θ/(1 − θ)‖Ĥ⁻¹g‖; a root loses what it sees deeper by."""
        if self._images is None or self.doubt == 1:
            return self.doubt
        return min(2 * self.doubt * float(self.roots.max() / self.roots.min()), 1.0)

    @property
    def clear(self) -> bool:
        """Whether every direction is curved or flat for certain."""
        return self.doubt < 1

    @property
    def drowned(self) -> Array:
        """Which of the axes have a curvature that cannot be told from rounding."""
        _, roots, error = self._factors
        mask: Array = (roots if self._images is not None else roots * roots) <= error
        return mask

    @property
    def singular(self) -> bool:
        """Whether H has flat directions, for certain."""
        return self.clear and len(self.roots) < len(self.basis)

    @property
    def smallest(self) -> float:
        """√λ_min of H on the span as computed; 0 where there are flat directions."""
        return 0.0 if len(self.roots) < len(self.basis) else float(self.roots.min())

    @cached_property
    def root(self) -> Array:
        """R with RRᵀ = H on the span."""
        return self.axes * self.roots


def _normal(images: Array) -> Array:
    """Images whose digits are all there: the least numbers of floating point have few of them."""
    largest = float(np.abs(images).max(initial=0.0))
    if 0 < largest < LEAST:
        raise InputError(
            f"f: the images of unit directions are at most {largest:.3g}, where floating point has "
            "lost its digits; expected a larger unit"
        )
    return images


def _finite(array: Array) -> Array:
    if not np.isfinite(array).all():
        raise InputError("f: its Hessian on lin(A) is out of the range of floating point")
    return array
