"""Changes of coordinates: invertible linear maps x̂ = M⁻¹x of a space of vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.scaling import check_range
from pursuit.base.threads import single_threaded_blas
from pursuit.base.tolerances import DOUBLE
from pursuit.base.validation import Array, real_array


class LinearMap(ABC):
    """M, of which products with it, with its inverse and with its transposed inverse are asked.

    Vectors are one-dimensional, or the columns of a matrix.
    """

    size: int
    smallest: float
    """The smallest singular value of M."""
    largest: float
    """The largest one."""

    @property
    def condition(self) -> float:
        """How much rounding may be magnified."""
        return self.largest / self.smallest

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """M x."""

    @abstractmethod
    def solve(self, x: Array) -> Array:
        """M⁻¹x."""

    @abstractmethod
    def pull(self, d: Array) -> Array:
        """M⁻ᵀd, for which ⟨d, M⁻¹z⟩ = ⟨M⁻ᵀd, z⟩."""

    @abstractmethod
    def push(self, g: Array) -> Array:
        """Mᵀg: the gradient of f∘M where that of f is g."""


class MatrixMap(LinearMap):
    """An invertible d × d matrix M."""

    @single_threaded_blas
    def __init__(self, M: object, size: int) -> None:
        self.size, self.matrix = size, real_array("M", M, ndim=2).astype(np.float64)
        check_range("M", self.matrix)
        if self.matrix.shape != (size, size):
            raise InputError(f"M: expected shape {(size, size)}, got {self.matrix.shape}")
        spectrum = np.linalg.svd(self.matrix, compute_uv=False)
        if spectrum[-1] <= size * DOUBLE.rank * spectrum[0]:
            raise InputError("M: expected an invertible matrix, got one that is numerically not")
        self.largest, self.smallest = float(spectrum[0]), float(spectrum[-1])
        self._factors = scipy_linalg().lu_factor(self.matrix)

    def __call__(self, x: Array) -> Array:
        return np.asarray(self.matrix @ x)

    def solve(self, x: Array) -> Array:
        return np.asarray(scipy_linalg().lu_solve(self._factors, x))

    def pull(self, d: Array) -> Array:
        return np.asarray(scipy_linalg().lu_solve(self._factors, d, trans=1))

    def push(self, g: Array) -> Array:
        return np.asarray(self.matrix.T @ g)


class ScalingMap(LinearMap):
    """M⁻¹ = diag(s) for positive s."""

    def __init__(self, s: Array) -> None:
        self.size, self.s = len(s), s
        self.largest, self.smallest = 1 / float(s.min()), 1 / float(s.max())

    def _over(self, x: Array) -> Array:
        return self.s if x.ndim == 1 else self.s[:, None]

    def __call__(self, x: Array) -> Array:
        return np.asarray(x / self._over(x))

    def solve(self, x: Array) -> Array:
        return np.asarray(x * self._over(x))

    def pull(self, d: Array) -> Array:
        return self.solve(d)

    def push(self, g: Array) -> Array:
        return self(g)


class RootMap(LinearMap):
    """M⁻¹ = R, an upper triangular matrix with RᵀR given."""

    @single_threaded_blas
    def __init__(self, gram: Array) -> None:
        self.size, self._gram = len(gram), gram
        self.R = scipy_linalg().cholesky(gram)

    @cached_property
    def _spectrum(self) -> Array:
        return np.asarray(np.linalg.svd(self.R, compute_uv=False))

    @property
    def largest(self) -> float:  # type: ignore[override]
        return 1 / float(self._spectrum[-1])

    @property
    def smallest(self) -> float:  # type: ignore[override]
        return 1 / float(self._spectrum[0])

    def __call__(self, x: Array) -> Array:
        return np.asarray(scipy_linalg().solve_triangular(self.R, x))

    def solve(self, x: Array) -> Array:
        return np.asarray(self.R @ x)

    def pull(self, d: Array) -> Array:
        return np.asarray(self.R.T @ d)

    def push(self, g: Array) -> Array:
        return np.asarray(scipy_linalg().solve_triangular(self.R, g, trans=1))
