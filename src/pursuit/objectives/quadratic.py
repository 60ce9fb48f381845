"""The quadratics: a distance, least squares, a general one."""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.scaling import check_range, norm
from pursuit.base.threads import single_threaded_blas
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import (
    Array,
    flag,
    non_negative,
    real_array,
    shaped_array,
)
from pursuit.objectives.base import HessianBound, QuadraticObjective, ThroughImage
from pursuit.objectives.maps import (
    doubled,
    image_sums,
    largest_singular_value,
    last_axis,
    linear_map,
    sample_weights,
    with_ones,
    with_rows_scaled,
)
from pursuit.objectives.recession import falling
from pursuit.objectives.regression import Squares


class SquaredDistance(QuadraticObjective):
    """f(x) = ½‖x − b‖², with H = I, L = μ = 1; matching pursuit on it is Mallat and Zhang's."""

    L = 1.0
    mu = 1.0
    lowest = 0.0
    isometric = True
    identity = True

    def __init__(self, b: object) -> None:
        self.b = real_array("b", b)
        check_range("b", self.b)
        self.shape = self.b.shape
        self.dtype = self.b.dtype

    def __repr__(self) -> str:
        return f"SquaredDistance(b of shape {self.shape})"

    @cached_property
    @single_threaded_blas
    def signal_norm(self) -> float:
        """‖b‖, what `rtol` is relative to."""
        return norm(self.b)

    def double(self) -> SquaredDistance:
        return SquaredDistance(self.b.astype(np.float64))

    def value(self, x: Array) -> float:
        return half_square(x - self.b)

    def gradient(self, x: Array) -> Array:
        gradient: Array = x - self.b
        return gradient

    def gradient_terms(self, x: Array) -> Array:
        terms: Array = np.abs(x) + np.abs(self.b)
        return terms

    def curvature(self, z: Array, image: Array) -> float:
        return float(np.vdot(z, z))

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        return atoms.norms.astype(np.float64) ** 2, np.ones(len(atoms))


class LeastSquares(ThroughImage, QuadraticObjective):
    """f(x) = ½ Σ wᵢ(aᵢᵀx − bᵢ)² + l2/2 ‖x‖², with H = Aᵀ diag(w) A + l2·I.

    The image of x is (√wᵢ aᵢᵀx)ᵢ followed, where there is an l2, by √l2·x: H then is the product of
    the map with its transpose. `A` and `b` are kept with √w multiplied in.

    Parameters
    ----------
    A
        An array, a SciPy sparse array or a `scipy.sparse.linalg.LinearOperator`, shape (m, d).
    b
        The m measurements.
    l2
        The weight of the ridge term.
    weights
        wᵢ ≥ 0 for each measurement; ones where not given.
    intercept
        Whether x has a last entry more, which is added to every aᵢᵀx and which no l2 touches.

    Examples
    --------
    >>> from pursuit import Coordinates, LeastSquares, solve
    >>> f = LeastSquares([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0], intercept=True)
    >>> solve(f, Coordinates(2), "accelerated", tol=1e-9).x.round(6).tolist()
    [2.0, 1.0]
    """

    lowest = 0.0
    isometric = True

    def __init__(
        self,
        A: Any,
        b: object,
        l2: float = 0.0,
        weights: object | None = None,
        intercept: bool = False,
    ) -> None:
        self.A = linear_map("A", A)
        self.b = shaped_array("b", b, (self.A.shape[0],))
        check_range("b", self.b)
        self.dtype = np.result_type(self.A.dtype, self.b.dtype)
        self.l2, self.intercept = non_negative("l2", l2), flag("intercept", intercept)
        if self.dtype == np.float64:  # once, and not anew in every product
            self.A, self.b = doubled(self.A), doubled(self.b)
        if self.intercept:
            self.A = with_ones(self.A)
        given = sample_weights(weights, len(self.b), self.dtype)
        if given is not None:
            root = np.sqrt(given)
            self.A, self.b = with_rows_scaled(self.A, root), root * self.b
        self.shape = (int(self.A.shape[1]),)
        self.mu = 0.0 if self.intercept else self.l2

    def __repr__(self) -> str:
        ridge = f", l2={self.l2:g}" if self.l2 else ""
        return f"LeastSquares(A of shape {tuple(self.A.shape)}{ridge})"

    @cached_property
    @single_threaded_blas
    def L(self) -> float:  # type: ignore[override]
        """λ_max(Aᵀ diag(w) A) + l2."""
        return largest_singular_value(self.A) ** 2 + self.l2

    @cached_property
    @single_threaded_blas
    def signal_norm(self) -> float | None:
        """‖b‖, what `rtol` is relative to; None where f is more than a residual."""
        return None if self.l2 else norm(self.b)

    @cached_property
    def linear_model(self) -> Squares:
        return Squares.of(self.A, self.b, self.l2, self.intercept)

    def double(self) -> LeastSquares:
        wide = LeastSquares(doubled(self.A), self.b.astype(np.float64), self.l2)
        wide.intercept, wide.mu = self.intercept, self.mu
        return wide

    def image(self, x: Array) -> Array:
        return self._with_ridge(times(self.A, x), x)

    def value_at(self, x: Array, image: Array) -> float:
        residual = image[: len(self.b)] - self.b
        if not self.l2:
            return half_square(residual)
        return half_square(residual) + half_square(image[len(self.b) :])

    def gradient_at(self, x: Array, image: Array) -> Array:
        if not self.l2:
            return times(self.A.T, image - self.b)
        m = len(self.b)
        return times(self.A.T, image[:m] - self.b) + sqrt(self.l2) * image[m:]

    def curvature(self, z: Array, image: Array) -> float:
        return 2 * half_square(image)

    def gradient_terms(self, x: Array) -> Array:
        return self.linear_model.gradient_terms(x)

    def hessian_below(self, rows: Array) -> HessianBound:
        return self.linear_model.hessian_below(rows)

    def pull(self, image: Array) -> Array:
        if not self.l2:
            return times(self.A.T, image)
        m = len(self.b)
        return times(self.A.T, image[:m]) + sqrt(self.l2) * image[m:]

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        image = atoms.image(self.A, z)
        return self._with_ridge(image, atoms.vector(z)) if self.l2 else image

    def scales(self, atoms: FiniteAtoms) -> tuple[Array, Array]:
        squares = image_sums(self.A, atoms, np.ones(len(self.b)))[1]
        if self.l2:
            shrunk = atoms.norms.astype(np.float64) ** 2
            if self.intercept:
                shrunk = shrunk - atoms.correlate(last_axis(self.shape[0])) ** 2
            squares = squares + self.l2 * shrunk
        return squares, np.ones(len(atoms))

    def _with_ridge(self, image: Array, x: Array) -> Array:
        """√l2·x, without the intercept, behind an image of the measurements."""
        if not self.l2:
            return image
        shrunk = (sqrt(self.l2) * x).astype(image.dtype, copy=False)
        if self.intercept:
            shrunk[-1] = 0
        return np.concatenate([image, shrunk])


class Quadratic(ThroughImage, QuadraticObjective):
    """f(x) = ½xᵀHx − bᵀx, H symmetric and positive semi-definite."""

    L: float
    has_explicit_hessian = True

    @single_threaded_blas
    def __init__(self, H: object, b: object) -> None:
        self.H = real_array("H", H, ndim=2)
        if self.H.shape[0] != self.H.shape[1]:
            raise InputError(f"H: expected a square matrix, got shape {self.H.shape}")
        check_range("H", self.H)
        asymmetry = np.abs(self.H - self.H.T).max()
        rounding = tolerances(self.H.dtype).input
        if asymmetry > rounding * np.abs(self.H).max():
            raise InputError(f"H: expected a symmetric matrix, got |H − Hᵀ| up to {asymmetry:.3g}")
        if asymmetry:  # Hx is the gradient of ½xᵀHx where H is symmetric to the last bit
            self.H = self.H / 2 + self.H.T / 2
        self.b = shaped_array("b", b, (len(self.H),))
        check_range("b", self.b)
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
        rounding = len(spectrum) * tolerances(np.float64).rank * self.L
        self.mu = max(float(spectrum[0]) - rounding, 0.0)
        self.nonconvexity = max(-float(spectrum[0]) - rounding, 0.0)

    def __repr__(self) -> str:
        return f"Quadratic(H of shape {self.H.shape})"

    def image(self, x: Array) -> Array:
        return times(self.H, x)

    def double(self) -> Quadratic:
        # As it was accepted: an H that rounding in float32 made a little indefinite is this one.
        wide = Quadratic.__new__(Quadratic)
        wide.H, wide.b = self.H.astype(np.float64), self.b.astype(np.float64)
        wide.shape, wide.dtype, wide.L, wide.mu = self.shape, wide.b.dtype, self.L, self.mu
        wide.nonconvexity = self.nonconvexity
        return wide

    def unbounded(self, atoms: AtomSet, x: Array) -> str:
        if self.mu > len(self.H) * tolerances(self.H.dtype).rank * self.L:
            return ""
        return falling(self.H, self.gradient(x.astype(np.float64)), atoms)

    def value_at(self, x: Array, image: Array) -> float:
        wide = x.astype(np.float64, copy=False)
        return 0.5 * float(np.vdot(wide, image)) - float(np.vdot(self.b, wide))

    def gradient_at(self, x: Array, image: Array) -> Array:
        gradient: Array = image - self.b
        return gradient

    def gradient_terms(self, x: Array) -> Array:
        terms: Array = np.abs(self.H) @ np.abs(x) + np.abs(self.b)
        return terms

    def hessian_below(self, rows: Array) -> HessianBound:
        H, sizes = self.H.astype(np.float64, copy=False), np.abs(rows)
        squares = np.einsum("ij,ij->i", sizes @ np.abs(H), sizes)
        return HessianBound(rows @ H @ rows.T, np.sqrt(squares), is_root=False, exact=True)

    def curvature(self, z: Array, image: Array) -> float:
        return float(np.vdot(z.astype(np.float64, copy=False), image))

    def atom_image(self, atoms: AtomSet, z: Atom) -> Array:
        return atoms.image(self.H, z)


def half_square(r: Array) -> float:
    """½‖r‖², summed in float64."""
    flat = r.reshape(-1).astype(np.float64, copy=False)
    return 0.5 * float(flat @ flat)
