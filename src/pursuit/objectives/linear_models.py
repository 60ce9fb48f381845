"""Losses of linear models: f(β) = Σ wᵢ ℓᵢ(xᵢᵀβ) + l2/2 ‖β‖²."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, length
from pursuit.base.precision import peak
from pursuit.base.products import times
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, non_negative, of_type, positive, shaped_array
from pursuit.objectives.base import ThroughImage
from pursuit.objectives.forms import PointForm, Representation
from pursuit.objectives.quadratic import (
    DENSE_LIMIT,
    doubled,
    image_sums,
    largest_singular_value,
    linear_map,
    magnitudes,
    squared,
)

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

    A subclass gives `bend` and the losses and their derivatives with respect to u, for all
    samples or for some rows of them. Points keep u up to date, so that a step along one atom
    costs its image Xz and a coordinate of a sparse X its non-zero entries.

    Parameters
    ----------
    X
        Samples as rows, shape (N, d): an array, a SciPy sparse array (kept by columns) or a
        `scipy.sparse.linalg.LinearOperator`.
    l2
        The weight of the ridge term, which also is the strong convexity constant.
    weights
        wᵢ ≥ 0 for each sample; ones where not given.
    """

    bend: float = 1.0
    lowest = 0.0
    form: Representation = PointForm.SAMPLES

    def __init__(self, X: Any, l2: float = 0.0, weights: object | None = None) -> None:
        matrix = linear_map("X", X)
        self.X = by_columns(matrix) if hasattr(matrix, "tocsc") else matrix
        self.shape = (int(self.X.shape[1]),)
        self.dtype = np.dtype(self.X.dtype)
        self.l2 = self.mu = non_negative("l2", l2)
        self.weights = of_type("weights", _weights(weights, int(self.X.shape[0])), self.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(X of shape {tuple(self.X.shape)}, l2={self.l2:g})"

    # One number for each sample ---------------------------------------------------------

    @property
    def linear_model(self) -> LinearModel:
        return self

    @abstractmethod
    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        """wᵢ ℓᵢ(uᵢ) for the samples in `rows`, whose images are u."""

    @abstractmethod
    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        """wᵢ ℓᵢ′(uᵢ)."""

    @abstractmethod
    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        """wᵢ ℓᵢ″(uᵢ); where ℓᵢ′ has a kink, a number between its one-sided derivatives."""

    def majorants(self, u: Array) -> Array:
        """Bends of parabolas that touch wᵢ ℓᵢ at uᵢ and nowhere are below it."""
        majorants: Array = self.bend * self.weights.astype(np.float64)
        return majorants

    def expansion(self, u: Array) -> Expansion:
        """Losses, slopes and bends at once."""
        value = float(self.losses(u).sum(dtype=np.float64))
        return Expansion(value, self.slopes(u), self.bends(u))

    # What an objective is ---------------------------------------------------------------

    def image(self, x: Array) -> Array:
        return times(self.X, x)

    def value_at(self, x: Array, image: Array) -> float:
        return self.whole(x, float(self.losses(image).sum(dtype=np.float64)))

    def whole(self, x: Array, losses: float) -> float:
        """f(x), the sum of the losses being known."""
        return losses + 0.5 * self.l2 * _dot(x, x) if self.l2 else losses

    def gradient_at(self, x: Array, image: Array) -> Array:
        return self.pulled(x, self.slopes(image))

    def pulled(self, x: Array, slopes: Array) -> Array:
        """∇f(x), the slopes of the losses being known."""
        gradient = times(self.X.T, slopes)
        return gradient + self.l2 * x if self.l2 else gradient

    def gradient_rounding(self, x: Array) -> float:
        # As for least squares; a loss turns the error of u into at most wᵢ·bend times it.
        bends = self.bend * self.weights.astype(np.float64)
        terms = bends * magnitudes(self.X, x) + np.abs(self.slopes(self.image(x)))
        pulled = magnitudes(self.X.T, terms) + self.l2 * np.abs(x)
        operations = 8 + int(sum(self.X.shape))
        return operations * EPS * length(pulled)

    def curvature(self, z: Array, image: Array) -> float:
        return self.bend * _dot(self.weights * image, image) + self.l2 * _dot(z, z)

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        """h_j, and (Σ √wᵢ|(Xz_j)ᵢ|)² bend/h_j: about the number of samples that z_j reaches."""
        sums, squares = image_sums(self.X, atoms, np.sqrt(self.weights))
        h = self.bend * squares + self.l2 * atoms.norms.astype(np.float64) ** 2
        reached = (sums > 0) & (h > 0)
        return h, np.where(reached, self.bend * sums**2 / np.where(reached, h, 1), 1.0)

    @cached_property
    @single_threaded_blas
    def L(self) -> float:  # type: ignore[override]
        """bend · λ_max(Xᵀ diag(w) X) + l2."""
        return self.bend * _largest_eigenvalue(self.X, self.weights) + self.l2

    @cached_property
    def _peaks(self) -> dict[str, float]:
        return {"X": peak(self.X), "weights": peak(self.weights)}

    def peaks(self) -> dict[str, float]:
        return self._peaks

    # One atom at a time -----------------------------------------------------------------

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        return atoms.image(self.X, z)

    def column(self, atoms: AtomSet, z: Atom) -> tuple[Rows, Array]:
        """The samples that Xz touches, and its entries there."""
        if atoms.form is AtomForm.AXES and hasattr(self.X, "indptr"):
            part = slice(self.X.indptr[z], self.X.indptr[z + 1])
            return self.X.indices[part], self.X.data[part]
        return EVERY, self.atom_image(atoms, z)


class Logistic(LinearModel):
    """f(β) = Σ wᵢ log(1 + exp(−yᵢ xᵢᵀβ)) + l2/2 ‖β‖².

    Parameters
    ----------
    X, l2, weights
        See `LinearModel`.
    y
        The labels: −1 and 1, or 0 and 1, or False and True (0 and False stand for −1).

    Examples
    --------
    >>> from pursuit import Coordinates, Logistic, solve
    >>> f = Logistic([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]], [0, 1, 1], l2=1.0)
    >>> solve(f, Coordinates(2), tol=1e-8).x.round(4).tolist()
    [-0.2264, 0.7543]
    """

    bend = 0.25

    def __init__(self, X: Any, y: object, l2: float = 0.0, weights: object | None = None) -> None:
        super().__init__(X, l2, weights)
        self.y = _labels(y, int(self.X.shape[0])).astype(self.dtype, copy=False)

    def double(self) -> Logistic:
        return Logistic(doubled(self.X), self.y, self.l2, self.weights)

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        t, far = self._margins(u, rows)
        losses: Array = self.weights[rows] * (np.log1p(far) - np.minimum(t, 0))
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        t, far = self._margins(u, rows)
        return self._slopes(t, 1 / (1 + far), rows)

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        _, far = self._margins(u, rows)
        bends: Array = self.weights[rows] * far / (1 + far) ** 2
        return bends

    def expansion(self, u: Array) -> Expansion:
        t, far = self._margins(u, EVERY)
        near: Array = 1 / (1 + far)
        losses: Array = np.log1p(far)
        losses -= np.minimum(t, 0)
        losses *= self.weights
        far *= near  # and these are the bends
        far *= near
        far *= self.weights
        return Expansion(float(losses.sum(dtype=np.float64)), self._slopes(t, near, EVERY), far)

    def _margins(self, u: Array, rows: Rows) -> tuple[Array, Array]:
        """t = y·u, and exp(−|t|), of which everything else is made without overflow."""
        t: Array = self.y[rows] * u
        far: Array = np.exp(-np.abs(t))
        return t, far

    def _slopes(self, t: Array, near: Array, rows: Rows) -> Array:
        """−w y/(1 + exp(t)); a choice by the sign of t would take longer than another exp."""
        slopes: Array = np.exp(-np.maximum(t, 0))
        slopes *= near
        slopes *= self._signed[rows]
        return slopes

    @cached_property
    def _signed(self) -> Array:
        signed: Array = np.negative(self.weights) * self.y
        return signed


class Huber(LinearModel):
    """f(β) = Σ wᵢ h(xᵢᵀβ − yᵢ) + l2/2 ‖β‖², h(r) = r²/2 up to |r| = delta and linear beyond.

    scikit-learn's `HuberRegressor` minimises the same function with delta = epsilon · scale_ and
    l2 = alpha · scale_.

    Parameters
    ----------
    X, l2, weights
        See `LinearModel`.
    y
        The responses.
    delta
        Where the loss turns from quadratic to linear, in the units of y.
    """

    def __init__(
        self,
        X: Any,
        y: object,
        delta: float,
        l2: float = 0.0,
        weights: object | None = None,
    ) -> None:
        super().__init__(X, l2, weights)
        self.y = of_type("y", shaped_array("y", y, (int(self.X.shape[0]),)), self.dtype)
        self.delta = positive("delta", delta)

    def double(self) -> Huber:
        return Huber(doubled(self.X), self.y, self.delta, self.l2, self.weights)

    def peaks(self) -> dict[str, float]:
        return {**self._peaks, "y": peak(self.y), "delta": self.delta}

    def losses(self, u: Array, rows: Rows = EVERY) -> Array:
        r = np.abs(u - self.y[rows])
        inside = np.minimum(r, self.delta)
        # r²/2 inside and delta·(r − delta/2) outside, in one formula.
        losses: Array = self.weights[rows] * inside * (r - inside / 2)
        return losses

    def slopes(self, u: Array, rows: Rows = EVERY) -> Array:
        slopes: Array = self.weights[rows] * np.clip(u - self.y[rows], -self.delta, self.delta)
        return slopes

    def bends(self, u: Array, rows: Rows = EVERY) -> Array:
        bends: Array = self.weights[rows] * (np.abs(u - self.y[rows]) <= self.delta)
        return bends

    def majorants(self, u: Array) -> Array:
        majorants: Array = self.weights / np.maximum(np.abs(u - self.y) / self.delta, 1)
        return majorants


def by_columns(X: Any) -> Any:
    """A sparse array by columns, without duplicate entries; the one given is left as it is."""
    columns = X.tocsc()
    if columns is X or not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return columns


def _weights(weights: object | None, samples: int) -> Array:
    if weights is None:
        return np.ones(samples)
    array = shaped_array("weights", weights, (samples,))
    if array.min() < 0 or array.max() == 0:
        raise InputError(
            "weights: expected numbers of at least 0 that are not all 0, "
            f"got {array.min():g} … {array.max():g}"
        )
    return array


def _labels(y: object, samples: int) -> Array:
    array = shaped_array("y", y, (samples,))
    values = np.unique(array)
    if np.isin(values, (-1, 1)).all():
        return array
    if np.isin(values, (0, 1)).all():
        return 2 * array - 1
    shown = ", ".join(f"{value:g}" for value in values[:4])
    raise InputError(
        f"y: expected labels −1 and 1, 0 and 1, or booleans, got {len(values)} values: {shown}"
        + (" …" if len(values) > 4 else "")
    )


def _largest_eigenvalue(X: Any, weights: Array) -> float:
    """λ_max(Xᵀ diag(w) X), through the smaller Gram matrix where that is small."""
    root = np.sqrt(weights.astype(np.float64))
    samples, features = X.shape
    if hasattr(X, "toarray") or isinstance(X, np.ndarray):
        scaled = X.multiply(root[:, None]).tocsr() if hasattr(X, "toarray") else X * root[:, None]
        if min(samples, features) <= DENSE_LIMIT:
            squared("X", float(abs(scaled).max()) or 1.0)
            gram = scaled.T @ scaled if features <= samples else scaled @ scaled.T
            dense = gram.toarray() if hasattr(gram, "toarray") else gram
            return float(np.linalg.eigvalsh(dense)[-1])
    else:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import aslinearoperator

        scaled = aslinearoperator(diags_array(root)) @ X
    return squared("X", largest_singular_value(scaled))


def _dot(a: Array, b: Array) -> float:
    """⟨a, b⟩ summed in float64."""
    return float(a.astype(np.float64, copy=False) @ b.astype(np.float64, copy=False))
