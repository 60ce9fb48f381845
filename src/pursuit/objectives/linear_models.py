"""Losses of linear models: f(β) = Σ wᵢ ℓᵢ(xᵢᵀβ) + l2/2 ‖β‖²."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.forms import AtomForm
from pursuit.base.products import combined, times
from pursuit.base.scaling import check_range, row_norms
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, flag, non_negative, shaped_array
from pursuit.objectives.base import HessianBound, ThroughImage
from pursuit.objectives.forms import PointForm, Representation
from pursuit.objectives.maps import (
    DENSE_LIMIT,
    by_columns,
    columns_of,
    doubled,
    image_sums,
    largest_singular_value,
    last_axis,
    linear_map,
    magnitudes,
    sample_weights,
    with_ones,
)

if TYPE_CHECKING:
    from pursuit.kernels.coordinates import ColumnEntries, ColumnModel

Rows = slice | Array
"""The samples that a column of X touches: all of them, or the row numbers of a sparse one."""
EVERY = slice(None)


class Expansion(NamedTuple):
    """Σ wᵢ ℓᵢ(uᵢ), and wᵢ ℓᵢ′(uᵢ) and wᵢ ℓᵢ″(uᵢ) for each sample."""

    value: float
    slopes: Array
    bends: Array


class LinearModel(ThroughImage):
    """f(β) = Σ wᵢ ℓᵢ(uᵢ) + l2/2 ‖β‖² with u = Xβ, each ℓᵢ convex with ℓᵢ″ ≤ `bend`.

    A subclass gives `bend` and `growth`, and the losses, their derivatives with respect to u and
    their conjugates, for all samples or for some rows of them. Points keep u up to date, so that a
    step along one atom costs its image Xz and a coordinate of a sparse X its non-zero entries.

    Parameters
    ----------
    X
        Samples as rows, shape (N, d): an array, a SciPy sparse array (kept by columns) or a
        `scipy.sparse.linalg.LinearOperator`.
    l2
        The weight of the ridge term, which also is the strong convexity constant.
    weights
        wᵢ ≥ 0 for each sample; ones where not given.
    intercept
        Whether β has a last entry more, which is added to every xᵢᵀβ and which neither l2 nor a
        penalty touches: the atoms then are of shape (d + 1,), and X has a last column of ones.
    """

    bend: float = 1.0
    """An upper bound on every ℓᵢ″; infinite where there is none."""
    growth: float = inf
    """g with |ℓᵢ‴| ≤ g·ℓᵢ″, so that ℓᵢ″(u + t) ≤ exp(g|t|) ℓᵢ″(u); infinite where ℓᵢ′ has kinks."""
    lowest = 0.0
    form: Representation = PointForm.SAMPLES

    def __init__(
        self,
        X: Any,
        l2: float = 0.0,
        weights: object | None = None,
        intercept: bool = False,
    ) -> None:
        matrix, intercept = linear_map("X", X), flag("intercept", intercept)
        self._keep(with_ones(matrix) if intercept else matrix, non_negative("l2", l2), intercept)
        samples = int(self.X.shape[0])
        given = sample_weights(weights, samples, self.dtype)
        self.weights = np.ones(samples, self.dtype) if given is None else given

    def _keep(self, X: Any, l2: float, intercept: bool) -> None:
        """Take a matrix, with the column of the intercept, and an l2 that have been checked."""
        self.X = by_columns(X) if hasattr(X, "tocsc") else X
        self.shape = (int(X.shape[1]),)
        self.dtype = np.dtype(X.dtype)
        self.l2, self.intercept = l2, intercept
        self.mu = 0.0 if intercept else l2

    def __repr__(self) -> str:
        return f"{type(self).__name__}(X of shape {tuple(self.X.shape)}, l2={self.l2:g})"

    @property
    def linear_model(self) -> LinearModel:
        return self

    @property
    def entropic(self) -> Array | None:
        """Labels yᵢ with wᵢℓᵢ*(−yᵢα) = wᵢ(α log α + (1 − α) log(1 − α)); None for other losses."""
        return None

    # One number for each sample ---------------------------------------------------------

    @abstractmethod
    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        """wᵢ ℓᵢ(uᵢ) for the samples in `rows`, whose images are u."""

    @abstractmethod
    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        """wᵢ ℓᵢ′(uᵢ)."""

    @abstractmethod
    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        """wᵢ ℓᵢ″(uᵢ); where ℓᵢ′ has a kink, a number between its one-sided derivatives."""

    def conjugates(self, a: Array) -> Array:
        """sup over u of aᵢu − wᵢ ℓᵢ(u), infinite outside of its domain; a and it in float64.

        −Σ conjugates(a) is a lower bound on Σ wᵢ ℓᵢ(uᵢ) − ⟨a, u⟩, which a duality gap is made of.
        """
        raise NotImplementedError(f"{type(self).__name__} does not know its conjugate")

    def majorants(self, u: Array) -> Array:
        """Bends of parabolas that touch wᵢ ℓᵢ at uᵢ and nowhere are below it."""
        majorants: Array = self.bend * self.weights.astype(np.float64)
        return majorants

    def bends_within(self, bends: Array, reach: Array) -> Array:
        """Bounds on wᵢ ℓᵢ″ where u is no further than `reach` from where they are `bends`."""
        within: Array = self.bend * self.weights.astype(np.float64)
        return within if self.bend < inf else bends * np.exp(self.growth * reach)

    def sensitivity(self, u: Array) -> Array:
        """By how much wᵢ ℓᵢ′ changes at most with u, near u."""
        return LinearModel.majorants(self, u)

    def expansion(self, u: Array) -> Expansion:
        """Losses, slopes and bends at once."""
        value = float(self.losses(u).sum(dtype=np.float64))
        return Expansion(value, self.slopes(u), self.bends(u))

    # What an objective is ---------------------------------------------------------------

    def image(self, x: Array) -> Array:
        return combined(self.X, x)

    def value_at(self, x: Array, image: Array) -> float:
        return self.whole(x, float(self.losses(image).sum(dtype=np.float64)))

    def whole(self, x: Array, losses: float) -> float:
        """f(x), the sum of the losses being known."""
        if not self.l2:
            return losses
        shrunk = self.shrunk(x)
        return losses + 0.5 * self.l2 * _dot(shrunk, shrunk)

    def gradient(self, x: Array) -> Array:
        if x.dtype != self.dtype or x.any():
            return super().gradient(x)
        return self.first_gradient.copy()

    @cached_property
    def first_gradient(self) -> Array:
        """∇f(0), where runs begin; to the last bit what `gradient_at` says."""
        return super().gradient(np.zeros(self.shape, self.dtype))

    def gradient_at(self, x: Array, image: Array) -> Array:
        return self.pulled(x, self.slopes(image))

    def pulled(self, x: Array, slopes: Array) -> Array:
        """∇f(x), the slopes of the losses being known."""
        gradient = times(self.X.T, slopes)
        return gradient + self.l2 * self.shrunk(x) if self.l2 else gradient

    def gradient_terms(self, x: Array) -> Array:
        # A loss turns the rounding of u into its sensitivity times it.
        u = self.image(x)
        terms = self.sensitivity(u) * magnitudes(self.X, x) + np.abs(self.slopes(u))
        pulled: Array = magnitudes(self.X.T, terms) + self.l2 * np.abs(x)
        return pulled

    def hessian_below(self, rows: Array) -> HessianBound:
        root = sqrt(self.l2) * self.shrunk(rows)
        return HessianBound(root, row_norms(root))

    def curvature(self, z: Array, image: Array) -> float:
        shrunk = self.shrunk(z)
        weighted = self.weights.astype(np.float64) * image
        return self.bend * _dot(weighted, image) + self.l2 * _dot(shrunk, shrunk)

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        """h_j, and (Σ √wᵢ|(Xz_j)ᵢ|)² bend/h_j: about the number of samples that z_j reaches."""
        bend = self.typical_bend
        sums, squares = image_sums(self.X, atoms, np.sqrt(self.weights))
        h = bend * squares + self.l2 * self._shrunk_norms2(atoms)
        reached = (sums > 0) & (h > 0)
        return h, np.where(reached, bend * sums**2 / np.where(reached, h, 1), 1.0)

    @property
    def typical_bend(self) -> float:
        """An ℓᵢ″ of the usual size, by which curvatures of atoms are compared."""
        return self.bend

    @cached_property
    @single_threaded_blas
    def L(self) -> float | None:  # type: ignore[override]
        """bend · λ_max(Xᵀ diag(w) X) + l2; None where no bend is the largest."""
        if self.bend == inf:
            return None
        return self.bend * _largest_eigenvalue(self.X, self.weights) + self.l2

    def double(self) -> Self:
        wide, cls = copy(self), type(self)
        for name, kept in vars(self).items():
            if isinstance(getattr(cls, name, None), cached_property):
                del wide.__dict__[name]  # it was derived from the rest
            elif hasattr(kept, "astype"):
                setattr(wide, name, doubled(kept))
        wide.dtype = np.dtype(np.float64)
        return wide

    # The intercept, which is not shrunk ---------------------------------------------------

    def shrunk(self, x: Array) -> Array:
        """What l2 sees of x, or of the rows of a matrix: a zero in the place of the intercept."""
        if not self.intercept:
            return x
        seen = x.copy()
        seen[..., -1] = 0
        return seen

    def shrunk_inner(self, atoms: AtomSet, x: Array, z: Atom) -> float:
        """⟨x, z⟩ without the intercept."""
        inner = atoms.inner(x, z)
        return inner - float(x[-1]) * self._last(atoms, z) if self.intercept else inner

    def shrunk_norm2(self, atoms: AtomSet, z: Atom) -> float:
        """‖z‖² without the intercept."""
        norm2 = atoms.norm2(z)
        return max(norm2 - self._last(atoms, z) ** 2, 0.0) if self.intercept else norm2

    def _shrunk_norms2(self, atoms: FiniteAtoms) -> Array:
        norms2: Array = atoms.norms.astype(np.float64) ** 2
        return norms2 - atoms.correlate(self._axis) ** 2 if self.intercept else norms2

    def _last(self, atoms: AtomSet, z: Atom) -> float:
        """The entry of an atom in the place of the intercept."""
        return atoms.inner(self._axis, z)

    @cached_property
    def _axis(self) -> Array:
        return last_axis(self.shape[0])

    # As kernels take it -------------------------------------------------------------------

    def kernel_loss(self) -> tuple[Any, Array, Array] | None:
        """One of the losses of `pursuit.kernels.coordinates`, and the bounds on residuals of a
        clipped one; None where kernels do not know it."""
        return None

    @cached_property
    def kernel_model(self) -> ColumnModel | None:
        """The model as kernels take it; None where they know neither its loss nor its columns."""
        known = self.kernel_loss()
        if known is None or not (isinstance(self.X, np.ndarray) or hasattr(self.X, "indptr")):
            return None
        from pursuit.kernels.coordinates import ColumnModel, SampleArrays

        loss, low, high = known
        y: Array = self.y  # type: ignore[attr-defined]
        samples = SampleArrays(y, self.weights, low, high)
        free = self.shape[0] - 1 if self.intercept else -1
        return ColumnModel(columns_of(self.X), loss, samples, self.l2, free)

    @cached_property
    def kernel_rows(self) -> ColumnEntries:
        """X by rows, as kernels take it."""
        return columns_of(self.X.T if isinstance(self.X, np.ndarray) else self.X.tocsr().T)

    # One atom at a time -----------------------------------------------------------------

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        return atoms.image(self.X, z)

    def column(self, atoms: AtomSet, z: Atom) -> tuple[Rows, Array]:
        """The samples that Xz touches, and its entries there."""
        if atoms.form is AtomForm.AXES and hasattr(self.X, "indptr"):
            part = slice(self.X.indptr[z], self.X.indptr[z + 1])
            return self.X.indices[part], self.X.data[part]
        return EVERY, self.atom_image(atoms, z)


def _largest_eigenvalue(X: Any, weights: Array) -> float:
    """λ_max(Xᵀ diag(w) X), through the smaller Gram matrix where that is small."""
    root = np.sqrt(weights.astype(np.float64))
    samples, features = X.shape
    if hasattr(X, "toarray") or isinstance(X, np.ndarray):
        scaled = X.multiply(root[:, None]).tocsr() if hasattr(X, "toarray") else X * root[:, None]
        if min(samples, features) <= DENSE_LIMIT:
            gram = scaled.T @ scaled if features <= samples else scaled @ scaled.T
            dense = gram.toarray() if hasattr(gram, "toarray") else gram
            return float(np.linalg.eigvalsh(dense)[-1])
    else:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import aslinearoperator

        scaled = aslinearoperator(diags_array(root)) @ X
    return largest_singular_value(scaled) ** 2


def _dot(a: Array, b: Array) -> float:
    """⟨a, b⟩ summed in float64."""
    return float(a.astype(np.float64, copy=False) @ b.astype(np.float64, copy=False))


class Supervised(LinearModel):
    """A linear model of a y for each sample."""

    def __init__(
        self,
        X: Any,
        y: object,
        l2: float = 0.0,
        weights: object | None = None,
        intercept: bool = False,
    ) -> None:
        super().__init__(X, l2, weights, intercept)
        responses = self.checked(shaped_array("y", y, self.weights.shape))
        check_range("y", responses, dtype=self.dtype)
        self.y: Array = responses.astype(self.dtype, copy=False)

    def checked(self, y: Array) -> Array:
        """y as the loss takes it, if it has a meaning and a minimum for it."""
        return y
