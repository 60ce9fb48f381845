"""What an objective is: a smooth convex f, seen through a linear image of x where that is cheap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.maps import LinearMap
from pursuit.base.scaling import norm, row_norms
from pursuit.base.validation import Array
from pursuit.objectives.forms import PointForm, Representation

if TYPE_CHECKING:
    from pursuit.objectives.linear_models import LinearModel


@dataclass(frozen=True)
class HessianBound:
    """E H Eᵀ for some rows E and a matrix H that is nowhere above the Hessian of f.

    Attributes
    ----------
    product
        J with J Jᵀ = E H Eᵀ, or E H Eᵀ itself if not `is_root`.
    sizes
        For each row the root of its diagonal entry, computed with absolute values: rounding is
        relative to that.
    is_root
        Whether `product` is J.
    exact
        Whether H is the Hessian, so that E∇f lies in the range of a J.
    """

    product: Array
    sizes: Array
    is_root: bool = True
    exact: bool = False


class Objective(ABC):
    """A convex and L-smooth f: give `shape`, `value` and `gradient`, and `L` where it is known.

    Many losses are cheap once a linear image u of x is known (u = Ax for least squares, u = Xβ
    for linear models). A point keeps u up to date while x moves, and asks `value_at` and
    `gradient_at`. An objective without such an image leaves those three as they are.
    """

    shape: tuple[int, ...]
    L: float | None = None
    mu: float = 0.0
    nonconvexity: float = 0.0
    """δ with ∇²f ≽ −δ: more than zero where single precision has rounded a Hessian."""
    lowest: float = -np.inf
    """A number that f is never below, where one is known."""
    dtype: np.dtype[np.float32] | np.dtype[np.float64] = np.dtype(np.float64)
    intercept: bool = False
    """Whether the last entry of x is an intercept, which no l2 and no penalty touches."""
    identity: bool = False
    """Whether the Hessian is the identity, so that slopes change by inner products of atoms."""
    has_explicit_hessian: bool = False
    """Whether the Hessian is stored as a matrix, so that its images are gradients already."""
    form: Representation = PointForm.IMAGE
    """What a point of f keeps; or ``form(atoms, x0)``, which builds a point of its own kind."""

    @property
    def quadratic(self) -> QuadraticObjective | None:
        """f as one with a constant Hessian; None where it has no such."""
        return None

    @property
    def linear_model(self) -> LinearModel | None:
        """f as Σ wᵢ ℓᵢ(xᵢᵀβ) + l2/2 ‖β‖²; None where it is not known as one."""
        return None

    @abstractmethod
    def value(self, x: Array) -> float:
        """f(x)."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """∇f(x), an array of x's shape."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """f(x) and ∇f(x); what they have in common is computed once."""
        return self.value(x), self.gradient(x)

    def gradient_terms(self, x: Array) -> Array | None:
        """Return the sum of the magnitudes of the terms of each entry of ∇f(x), if known."""
        return None

    def hessian_below(self, rows: Array) -> HessianBound:
        """Return E H Eᵀ for the rows of E and an H with H ≼ ∇²f(x) at every x.

        Everything is in float64. Certificates are made of it.
        """
        root = sqrt(self.mu) * rows
        return HessianBound(root, row_norms(root))

    def image(self, x: Array) -> Array:
        """A linear map of x that makes `value_at` and `gradient_at` cheap."""
        return x

    def value_at(self, x: Array, image: Array) -> float:
        """f(x), the image of x being known."""
        return self.value(x)

    def gradient_at(self, x: Array, image: Array) -> Array:
        """∇f(x), the image of x being known."""
        return self.gradient(x)

    def curvature(self, z: Array, image: Array) -> float:
        """An upper bound on zᵀ∇²f(x)z over all x, the image of z being known."""
        if self.L is None:
            return np.inf
        return self.L * float(np.vdot(z, z))

    def curvature_here(self, x: Array, image: Array) -> float:
        """xᵀ∇²f(x)x or an upper bound on it, the image of x being known: how far rounding in x
        carries into f."""
        return self.curvature(x, image)

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        """The image of an atom."""
        return self.image(atoms.vector(z))

    def gradient_norm(self, x: Array) -> float:
        """‖∇f(x)‖, or a bound on it that is near enough to tell its size."""
        return norm(self.gradient(x))

    def unbounded(self, atoms: AtomSet, x: Array) -> str:
        """Why f falls without end from x over lin(A); empty where it does not, or nobody knows."""
        return ""

    def escapes(self, x: Array) -> str:
        """Why f falls without end beyond x although it is bounded below; empty where it does not,
        or nobody knows."""
        return ""

    def seen_through(self, M: LinearMap) -> Objective | None:
        """f∘M in a form of its own; None where it is f behind M."""
        return None

    def double(self) -> Objective:
        """f with its data in float64; itself where it has no other."""
        return self

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        """`curvature` of every atom, and how evenly its image is spread over the samples.

        The second are ones where that says nothing about f.
        """
        each = (
            self.curvature(atoms.vector(j), self.atom_image(atoms, j)) for j in range(len(atoms))
        )
        return np.fromiter(each, np.float64, len(atoms)), np.ones(len(atoms))

    def origin(self, atoms: AtomSet) -> Array:
        """Zero, where a run begins unless told otherwise."""
        return np.zeros(atoms.shape, np.result_type(self.dtype, atoms.dtype))


class ThroughImage(Objective):
    """f that is computed from the image of x: give `image`, `value_at` and `gradient_at`."""

    @abstractmethod
    def value_at(self, x: Array, image: Array) -> float: ...

    @abstractmethod
    def gradient_at(self, x: Array, image: Array) -> Array: ...

    def value(self, x: Array) -> float:
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        return self.gradient_at(x, self.image(x))

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        image = self.image(x)
        return self.value_at(x, image), self.gradient_at(x, image)


class QuadraticObjective(Objective):
    """f with a constant Hessian H: correlations with the gradient are affine in x."""

    form: Representation = PointForm.HESSIAN
    isometric: bool = False
    """Whether zᵀHz′ is the inner product of the images of z and z′."""
    curved_from: float = 0.0
    """λ with dᵀHd ≥ λ‖d‖² on the range of H, where one is known without computing."""

    @property
    def quadratic(self) -> QuadraticObjective:
        return self

    def pull(self, image: Array) -> Array:
        """H d, the image of d being known."""
        return image

    def hessian_below(self, rows: Array) -> HessianBound:
        vectors = [row.reshape(self.shape) for row in rows]
        sizes = sqrt(self.L or np.inf) * row_norms(rows)
        if self.isometric:
            images = [np.ravel(self.image(d)) for d in vectors]
            return HessianBound(np.array(images, np.float64), sizes, exact=True)
        columns = np.array([np.ravel(self.hessian(d)) for d in vectors], np.float64)
        return HessianBound(rows @ columns.T, sizes, is_root=False, exact=True)

    def hessian(self, d: Array) -> Array:
        """H d."""
        return self.pull(self.image(d))
