"""The quadratics: a distance, least squares, a general one."""

from __future__ import annotations

from functools import cached_property
from math import inf
from sys import float_info
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.base.errors import InputError
from pursuit.base.lengths import EPS, length
from pursuit.base.precision import norm, peak
from pursuit.base.products import times
from pursuit.base.threads import single_threaded_blas
from pursuit.base.validation import Array, real_array, shaped_array
from pursuit.objectives.base import QuadraticObjective, ThroughImage

DENSE_LIMIT = 2000
"""Up to this size the largest singular value is taken from a dense factorisation."""

ROWS = 16
"""Rows of a matrix that are looked at together."""


class SquaredDistance(QuadraticObjective):
    """f(x) = ½‖x − b‖², with H = I, L = μ = 1; matching pursuit on it is Mallat and Zhang's."""

    L = 1.0
    mu = 1.0
    lowest = 0.0
    isometric = True
    identity = True

    def __init__(self, b: object) -> None:
        self.b = real_array("b", b)
        self.shape = self.b.shape
        self.dtype = self.b.dtype

    def __repr__(self) -> str:
        return f"SquaredDistance(b of shape {self.shape})"

    @cached_property
    @single_threaded_blas
    def signal_norm(self) -> float:
        """‖b‖, what `rtol` is relative to."""
        return norm(self.b)

    def peaks(self) -> dict[str, float]:
        return {"b": peak(self.b)}

    def double(self) -> SquaredDistance:
        return SquaredDistance(self.b.astype(np.float64))

    def value(self, x: Array) -> float:
        return half_square(x - self.b)

    def gradient(self, x: Array) -> Array:
        gradient: Array = x - self.b
        return gradient

    def gradient_rounding(self, x: Array) -> float:
        return EPS * length(self.gradient(x))

    def curvature(self, z: Array, image: Array) -> float:
        return float(np.vdot(z, z))

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        return atoms.norms.astype(np.float64) ** 2, np.ones(len(atoms))


class LeastSquares(ThroughImage, QuadraticObjective):
    """f(x) = ½‖Ax − b‖², with H = AᵀA.

    Parameters
    ----------
    A
        An array, a SciPy sparse array or a `scipy.sparse.linalg.LinearOperator`, shape (m, d).
    b
        The m measurements.
    """

    lowest = 0.0
    isometric = True

    def __init__(self, A: Any, b: object) -> None:
        self.A = linear_map("A", A)
        self.b = shaped_array("b", b, (self.A.shape[0],))
        self.shape = (int(self.A.shape[1]),)
        self.dtype = np.result_type(self.A.dtype, self.b.dtype)
        if self.dtype == np.float64:  # once, and not anew in every product
            self.A, self.b = doubled(self.A), doubled(self.b)

    def __repr__(self) -> str:
        return f"LeastSquares(A of shape {tuple(self.A.shape)})"

    @cached_property
    @single_threaded_blas
    def L(self) -> float:  # type: ignore[override]
        """λ_max(AᵀA)."""
        return squared("A", largest_singular_value(self.A))

    @cached_property
    @single_threaded_blas
    def signal_norm(self) -> float:
        """‖b‖, what `rtol` is relative to."""
        return norm(self.b)

    @cached_property
    def _peaks(self) -> dict[str, float]:
        return {"A": peak(self.A), "b": peak(self.b)}

    def peaks(self) -> dict[str, float]:
        return self._peaks

    def double(self) -> LeastSquares:
        return LeastSquares(doubled(self.A), self.b.astype(np.float64))

    def image(self, x: Array) -> Array:
        return times(self.A, x)

    def value_at(self, x: Array, image: Array) -> float:
        return half_square(image - self.b)

    def gradient_at(self, x: Array, image: Array) -> Array:
        return times(self.A.T, image - self.b)

    def curvature(self, z: Array, image: Array) -> float:
        return float(np.vdot(image, image))

    def gradient_rounding(self, x: Array) -> float:
        # An entry of Aᵀ(Ax − b) sums m terms, each with an entry of Ax that sums d.
        residual = self.image(x) - self.b
        terms = magnitudes(self.A, x)
        pulled = magnitudes(self.A.T, np.abs(residual) + terms)
        operations = 4 + int(sum(self.A.shape))
        return operations * EPS * length(pulled)

    def pull(self, image: Array) -> Array:
        return times(self.A.T, image)

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        return atoms.image(self.A, z)

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        return image_sums(self.A, atoms, np.ones(len(self.b)))[1], np.ones(len(atoms))


class Quadratic(ThroughImage, QuadraticObjective):
    """f(x) = ½xᵀHx − bᵀx, H symmetric and positive semi-definite."""

    L: float

    @single_threaded_blas
    def __init__(self, H: object, b: object) -> None:
        self.H = real_array("H", H, ndim=2)
        if self.H.shape[0] != self.H.shape[1]:
            raise InputError(f"H: expected a square matrix, got shape {self.H.shape}")
        asymmetry = np.abs(self.H - self.H.T).max()
        rounding = float(np.sqrt(np.finfo(self.H.dtype).eps))
        if asymmetry > rounding * np.abs(self.H).max():
            raise InputError(f"H: expected a symmetric matrix, got |H − Hᵀ| up to {asymmetry:.3g}")
        if asymmetry:  # Hx is the gradient of ½xᵀHx where H is symmetric to the last bit
            self.H = self.H / 2 + self.H.T / 2
        self.b = shaped_array("b", b, (len(self.H),))
        self.shape = self.b.shape
        self.dtype = np.result_type(self.H.dtype, self.b.dtype)
        self.H, self.b = (part.astype(self.dtype, copy=False) for part in (self.H, self.b))
        spectrum = np.linalg.eigvalsh(self.H.astype(np.float64))
        if spectrum[0] < -rounding * max(spectrum[-1], 0) or spectrum[-1] <= 0:
            raise InputError(
                "H: expected a positive semi-definite matrix other than zero, "
                f"got eigenvalues {spectrum[0]:.3g} … {spectrum[-1]:.3g}"
            )
        self.L = float(spectrum[-1])
        # A lower bound, what rounding may have added taken off.
        self.mu = max(float(spectrum[0]) - 4 * len(spectrum) * EPS * self.L, 0.0)

    def __repr__(self) -> str:
        return f"Quadratic(H of shape {self.H.shape})"

    def image(self, x: Array) -> Array:
        return times(self.H, x)

    def peaks(self) -> dict[str, float]:
        return {"b": peak(self.b)}

    def double(self) -> Quadratic:
        return Quadratic(self.H.astype(np.float64), self.b.astype(np.float64))

    def unbounded(self, atoms: AtomSet, x: Array) -> str:
        if self.mu > len(self.H) * float(np.finfo(self.H.dtype).eps) * self.L:
            return ""
        from pursuit.objectives.recession import falling

        return falling(self.H, self.gradient(x.astype(np.float64)), atoms)

    def value_at(self, x: Array, image: Array) -> float:
        return 0.5 * float(np.vdot(x, image)) - float(np.vdot(self.b, x))

    def gradient_at(self, x: Array, image: Array) -> Array:
        gradient: Array = image - self.b
        return gradient

    def gradient_rounding(self, x: Array) -> float:
        terms = magnitudes(self.H, x) + np.abs(self.gradient(x))
        return (len(x) + 4) * EPS * length(terms)

    def curvature_rounding(self, z: Array) -> float:
        return (len(z) + 4) * EPS * float(np.abs(z) @ magnitudes(self.H, z))

    def curvature(self, z: Array, image: Array) -> float:
        return float(np.vdot(z, image))

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        return atoms.image(self.H, z)


def half_square(r: Array) -> float:
    """½‖r‖², summed in float64."""
    flat = r.reshape(-1).astype(np.float64, copy=False)
    return 0.5 * float(flat @ flat)


def magnitudes(A: Any, x: Array) -> Array:
    """|A||x|, the terms of Ax; a bound on each of them where the entries of A are not known."""
    if hasattr(A, "dot") and hasattr(A, "__abs__"):
        terms: Array = abs(A) @ np.abs(x)
        return terms
    size = largest_singular_value(A) * length(x)
    return np.full(A.shape[0], size)


def linear_map(name: str, value: Any) -> Any:
    """A dense array, or a sparse array or linear operator left as it is."""
    from scipy.sparse import issparse
    from scipy.sparse.linalg import LinearOperator

    if isinstance(value, LinearOperator):
        if np.dtype(value.dtype).kind == "c":
            raise InputError(f"{name}: expected a real operator, got one of type {value.dtype}")
        return value
    if issparse(value):
        # Its own entries are checked; one without any is the zero map.
        data = real_array(name, value.data) if value.nnz else value.data.astype(np.float64)
        return value.tocsr().astype(data.dtype, copy=False)
    return real_array(name, value, ndim=2)


def squared(name: str, norm: float) -> float:
    """‖A‖² as a smoothness constant, where that is still a number."""
    square = norm * norm
    if norm and not float_info.min <= square < inf:
        raise InputError(
            f"{name}: the square of its largest singular value {norm:.3g} is out of the range of "
            "floating point; expected a matrix of moderate scale"
        )
    return square


def doubled(A: Any) -> Any:
    """A linear map in float64; an operator is left as it is."""
    return A.astype(np.float64, copy=False) if hasattr(A, "astype") else A


def image_sums(A: Any, atoms: FiniteAtoms, root: Array) -> tuple[Array, Array]:
    """Σ_i root_i|(A z_j)_i| and Σ_i (root_i (A z_j)_i)² for every atom, in float64."""
    sums = [_sums(columns, root.astype(np.float64)) for columns in atoms.images(A)]
    absolute, squared = (np.concatenate(part) for part in zip(*sums, strict=True))
    return absolute, squared


def _sums(columns: Any, root: Array) -> tuple[Array, Array]:
    """Of the columns of a matrix."""
    if not isinstance(columns, np.ndarray):
        shape, places = columns.shape, (columns.indices, columns.indptr)
        sizes = type(columns)((np.abs(columns.data), *places), shape)
        absolute = np.asarray(root @ sizes).reshape(-1)
        sizes.data *= sizes.data
        return absolute, np.asarray(root**2 @ sizes).reshape(-1)
    absolute, squared = np.zeros((2, columns.shape[1]))
    for first in range(0, len(columns), ROWS):  # few enough to stay in the cache
        part, sizes = root[first : first + ROWS], np.abs(columns[first : first + ROWS])
        absolute += part @ sizes
        sizes *= sizes
        squared += part**2 @ sizes
    return absolute, squared


def largest_singular_value(A: Any) -> float:
    """‖A‖₂: a dense factorisation where it is small, Lanczos otherwise."""
    if isinstance(A, np.ndarray) and min(A.shape) <= DENSE_LIMIT:
        return float(np.linalg.norm(A.astype(np.float64, copy=False), 2))
    from pursuit.base.leading_pair import leading_pair

    # From its shorter side the iteration ends in as many steps as that has entries.
    return leading_pair(A if A.shape[0] >= A.shape[1] else A.T).sigma
