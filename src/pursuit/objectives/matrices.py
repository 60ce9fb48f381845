"""Objectives over matrices that are kept as factors: a distance, known entries."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.scaling import check_range, norm
from pursuit.base.sparse import canonical_rows
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, real_array
from pursuit.linalg.leading_pair import DENSE
from pursuit.objectives.base import QuadraticObjective
from pursuit.objectives.factors import Factors
from pursuit.objectives.forms import PointForm, Representation
from pursuit.objectives.quadratic import half_square


class SparsePlusLowRank:
    """B = sparse + left · rightᵀ, with products that touch only its parts.

    Parameters
    ----------
    sparse
        A SciPy sparse array, shape (m, n).
    left, right
        Arrays of shape (m, k) and (n, k).
    """

    def __init__(self, sparse: Any, left: object, right: object) -> None:
        self.sparse = _sparse("sparse", sparse)
        self.left = _dense("left", left)
        self.right = _dense("right", right)
        expected = (self.left.shape[0], self.right.shape[0])
        if self.sparse.shape != expected or self.left.shape[1] != self.right.shape[1]:
            raise InputError(
                "left, right: expected shapes (m, k) and (n, k) for a sparse part of shape (m, n), "
                f"got {self.left.shape}, {self.right.shape} and {self.sparse.shape}"
            )
        self.shape = self.sparse.shape
        self.dtype = np.result_type(self.sparse.dtype, self.left.dtype, self.right.dtype)

    def __matmul__(self, other: Array) -> Array:
        product: Array = self.sparse @ other + self.left @ (self.right.T @ other)
        return product

    @property
    def T(self) -> SparsePlusLowRank:
        other = object.__new__(SparsePlusLowRank)
        other.sparse, other.left, other.right = self.sparse.T, self.right, self.left
        other.shape, other.dtype = self.shape[::-1], self.dtype
        return other

    def norm2(self) -> float:
        """‖B‖² = ‖S‖² + 2⟨S, LRᵀ⟩ + ‖LRᵀ‖²."""
        left, right = self.left.astype(np.float64), self.right.astype(np.float64)
        crossed = float(np.vdot(self.sparse @ right, left))
        low = float(np.vdot(left.T @ left, right.T @ right))
        return 2 * half_square(self.sparse.data) + 2 * crossed + low

    def astype(self, dtype: type) -> SparsePlusLowRank:
        """The same matrix in another precision."""
        parts = (self.sparse, self.left, self.right)
        return SparsePlusLowRank(*(part.astype(dtype) for part in parts))

    def toarray(self) -> Array:
        """The matrix as an array."""
        dense: Array = self.sparse.toarray() + self.left @ self.right.T
        return dense


class MatrixObjective(QuadraticObjective):
    """A quadratic of a matrix X that, over rank-one atoms, is kept as factors."""

    shape: tuple[int, int]
    lowest = 0.0

    def gradient_norm(self, x: Any) -> float:
        return self.signal_norm

    @property
    @abstractmethod
    def signal_norm(self) -> float:
        """‖B‖ over what is known of it, what `rtol` is relative to."""

    def origin(self, atoms: AtomSet) -> Any:
        return Factors.zero(self.shape, self.dtype)


class MatrixDistance(MatrixObjective):
    """f(X) = ½‖X − B‖². Matching pursuit over `RankOne` atoms gives the truncated SVDs of B.

    Parameters
    ----------
    B
        An array, a SciPy sparse array or a `SparsePlusLowRank`, shape (m, n).
    """

    L = 1.0
    mu = 1.0
    isometric = True
    form: Representation = PointForm.PRODUCTS

    def __init__(self, B: Any) -> None:
        self.B = B if isinstance(B, SparsePlusLowRank) else _matrix("B", B)
        self.shape = (int(self.B.shape[0]), int(self.B.shape[1]))
        self.dtype = np.dtype(self.B.dtype)

    def __repr__(self) -> str:
        return f"MatrixDistance(B of shape {self.shape})"

    @cached_property
    @single_threaded_blas
    def signal_norm(self) -> float:
        """‖B‖, what `rtol` is relative to."""
        if isinstance(self.B, SparsePlusLowRank):
            return float(np.sqrt(self.B.norm2()))
        entries = self.B if isinstance(self.B, np.ndarray) else self.B.data
        return norm(entries)

    def double(self) -> MatrixDistance:
        return MatrixDistance(self.B.astype(np.float64))

    def residual(self, x: Factors) -> Any:
        """∇f(X) = X − B as something to multiply with; dense only where B is, and small."""
        if self._small:
            return x.toarray() - self.B
        return Residual(x, self.B)

    def value(self, x: Any) -> float:
        if isinstance(x, np.ndarray):
            return half_square(x - self._dense)
        if self._small:
            return half_square(self.residual(x))
        # ½‖X‖² − ⟨X, B⟩ + ½‖B‖², no entry of X being formed.
        x = x.astype(np.float64)
        crossed = float(np.vdot(x.left * x.weights, self.B @ x.right))
        return max(0.5 * float(x.norm2()) - crossed + 0.5 * self.signal_norm**2, 0.0)

    @property
    def _small(self) -> bool:
        return isinstance(self.B, np.ndarray) and min(self.shape) <= DENSE

    def gradient(self, x: Any) -> Any:
        """∇f(X): an array for an array, something to multiply with for factors."""
        return x - self._dense if isinstance(x, np.ndarray) else self.residual(x)

    def curvature(self, z: Array, image: Array) -> float:
        return float(np.vdot(z, z))

    @property
    def _dense(self) -> Array:
        dense: Array = self.B if isinstance(self.B, np.ndarray) else self.B.toarray()
        return dense


class Residual:
    """X − B, X kept as factors: products touch the factors and B."""

    def __init__(self, x: Factors, B: Any) -> None:
        self.x, self.B, self.shape, self.dtype = x, B, x.shape, x.dtype

    def __matmul__(self, other: Array) -> Array:
        return self.x @ other - times(self.B, other)

    @property
    def T(self) -> Residual:
        return Residual(self.x.T, self.B.T)


class MatrixEntries(MatrixObjective):
    """f(X) = ½ Σ (X_ij − B_ij)² over the stored entries of a sparse B: matrix completion.

    Parameters
    ----------
    B
        A SciPy sparse array whose stored entries, zeros included, are the known ones.
    """

    L = 1.0
    isometric = True
    curved_from = 1.0
    form: Representation = PointForm.ENTRIES

    def __init__(self, B: Any) -> None:
        known = _sparse("B", B).tocoo()
        self.rows, self.columns = known.coords
        self.entries = real_array("B", known.data)
        self.shape = (int(known.shape[0]), int(known.shape[1]))
        self.dtype = np.dtype(self.entries.dtype)

    def __repr__(self) -> str:
        return f"MatrixEntries({len(self.entries)} known entries of shape {self.shape})"

    @cached_property
    @single_threaded_blas
    def signal_norm(self) -> float:
        """The norm of the known entries, what `rtol` is relative to."""
        return norm(self.entries)

    def double(self) -> MatrixEntries:
        return MatrixEntries(self.sparse(self.entries.astype(np.float64)))

    def sparse(self, entries: Array) -> Any:
        """A sparse array with these numbers at the known places."""
        from scipy.sparse import csr_array

        return csr_array((entries, (self.rows, self.columns)), shape=self.shape)

    def spread(self, entries: Array) -> Array:
        """An array with these numbers at the known places and zero elsewhere."""
        dense = np.zeros(self.shape, entries.dtype)
        dense[self.rows, self.columns] = entries
        return dense

    def image(self, x: Any) -> Array:
        """X at the known places."""
        if isinstance(x, np.ndarray):
            image: Array = x[self.rows, self.columns]
            return image
        return np.asarray(x.entries(self.rows, self.columns))

    def value(self, x: Any) -> float:
        return half_square(self.image(x) - self.entries)

    def gradient(self, x: Any) -> Any:
        """∇f(X): an array for an array, a sparse one for factors."""
        build = self.spread if isinstance(x, np.ndarray) else self.sparse
        return build(self.image(x) - self.entries)

    def value_at(self, x: Any, image: Array) -> float:
        return half_square(image - self.entries)

    def gradient_at(self, x: Array, image: Array) -> Array:
        return self.spread(image - self.entries)

    def pull(self, image: Array) -> Array:
        return self.spread(image)

    def curvature(self, z: Array, image: Array) -> float:
        return 2 * half_square(image)

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        if atoms.form is not AtomForm.PAIRS:
            return super().atom_image(atoms, z)
        u, v = z
        image: Array = u[self.rows] * v[self.columns]
        return image


def _sparse(name: str, value: Any) -> Any:
    from scipy.sparse import issparse

    if not issparse(value):
        raise InputError(f"{name}: expected a SciPy sparse array, got {type(value).__name__}")
    rows = canonical_rows(name, value)
    check_range(name, rows)
    return rows


def _dense(name: str, value: Any) -> Array:
    array = real_array(name, value, ndim=2)
    check_range(name, array)
    return array


def _matrix(name: str, value: Any) -> Any:
    return _sparse(name, value) if hasattr(value, "tocsr") else _dense(name, value)
