"""Inner products other than ⟨x, y⟩ = Σ x_i y_i, through one door.

⟨x, y⟩_W = xᵀWy with W = RᵀR is the Euclidean one of x̂ = Rx. So a problem of that space is carried
there: f becomes f∘R⁻¹ and each atom z becomes Rz; everything runs as it is, and x = R⁻¹x̂ comes
back. Coefficients are the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pursuit.atoms.dictionary import as_atoms
from pursuit.atoms.maps import LinearMap, RootMap, ScalingMap
from pursuit.atoms.transformed import Transformed
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, real_array, shaped_array
from pursuit.methods import Method
from pursuit.objectives.base import Objective
from pursuit.objectives.composed import composed
from pursuit.objectives.problem import Problem
from pursuit.objectives.quadratic import LeastSquares, SquaredDistance
from pursuit.solving.loop import Snapshot
from pursuit.solving.result import Result
from pursuit.solving.solve import solve


class InnerProduct:
    """⟨x, y⟩_W = xᵀWy on vectors: W diagonal (`weights`) or any positive definite matrix (`gram`).

    Functions on a grid have quadrature weights; a Sobolev norm has W = I + DᵀD.

    Parameters
    ----------
    weights
        Positive numbers, the diagonal of W.
    gram
        A symmetric positive definite matrix W.

    Examples
    --------
    A function on a grid that is finer to the left, by its best multiples of 1, t and t²:

    >>> import numpy as np
    >>> from pursuit import InnerProduct
    >>> t = np.linspace(0, 1, 50) ** 2
    >>> space = InnerProduct(weights=np.gradient(t))
    >>> result = space.solve(space.distance(np.sqrt(t)), np.array([t**0, t, t**2]), "orthogonal")
    >>> bool(space.norm(result.x - np.sqrt(t)) < 0.03)
    True
    """

    def __init__(self, *, weights: object | None = None, gram: object | None = None) -> None:
        if (weights is None) == (gram is None):
            raise InputError("weights, gram: expected one of them")
        if weights is not None:
            w = real_array("weights", weights, ndim=1).astype(np.float64)
            if not (w > 0).all():
                raise InputError(f"weights: expected positive numbers, got {w.min():.6g}")
            self._map: LinearMap = ScalingMap(np.sqrt(w))
        else:
            self._map = RootMap(_positive_definite(gram))

    def __repr__(self) -> str:
        return f"InnerProduct(vectors of length {self._map.size})"

    # The space ----------------------------------------------------------------------------

    def inner(self, x: object, y: object) -> float:
        """⟨x, y⟩_W."""
        return float(self.enter(x) @ self._entered("y", y))

    def norm(self, x: object) -> float:
        """‖x‖_W."""
        return float(np.linalg.norm(self.enter(x)))

    def distance(self, b: object) -> Objective:
        """f(x) = ½‖x − b‖_W², on which matching pursuit in this space is Mallat and Zhang's."""
        return _Distance(self._map, shaped_array("b", b, (self._map.size,)))

    # The way there and back -----------------------------------------------------------------

    def enter(self, x: object) -> Array:
        """x̂ = Rx."""
        return self._entered("x", x)

    def _entered(self, name: str, x: object) -> Array:
        return self._map.solve(shaped_array(name, x, (self._map.size,)))

    def leave(self, x: Array) -> Array:
        """x = R⁻¹x̂."""
        return self._map(x)

    def problem(self, f: Objective, atoms: object) -> Problem:
        """The same problem in the coordinates x̂, where the inner product is the Euclidean one."""
        given = Problem(f, as_atoms(atoms))
        if given.f.shape != (self._map.size,):
            raise InputError(
                f"f: expected one of vectors of length {self._map.size}, got shape {given.f.shape}"
            )
        return Problem(composed(given.f, self._map), Transformed(given.atoms, self._map))

    def solve(
        self,
        f: Objective,
        atoms: object,
        method: str | Method = "matching-pursuit",
        x0: object | None = None,
        *,
        callback: Callable[[Snapshot], bool | None] | None = None,
        **options: Any,
    ) -> Result:
        """`pursuit.solve` in this space: lengths of atoms, gradients, L and P are those of ‖·‖_W.

        Arguments and result are those of `pursuit.solve`, x and the points that a callback sees
        in the coordinates of f. An oracle is asked with ∇f as f gives it: ⟨∇_W f, z⟩_W = ⟨∇f, z⟩.
        """
        there = self.problem(f, atoms)
        start = None if x0 is None else self._entered("x0", x0)
        if callable(callback):
            options["callback"] = self._outside(callback)
        elif callback is not None:
            options["callback"] = callback
        return self._back(solve(there.f, there.atoms, method, start, **options))

    def _outside(self, callback: Callable[[Snapshot], bool | None]) -> Any:
        return lambda seen: callback(replace(seen, x=self.leave(seen.x)))

    def _back(self, result: Result) -> Result:
        assert result.origin is not None
        origin = replace(result.origin, enter=self.enter)
        path = None if result.path is None else replace(result.path, _leave=self.leave)
        return replace(result, x=self.leave(result.x), origin=origin, path=path)


class _Distance(LeastSquares):
    """½‖x − b‖_W² = ½‖Rx − Rb‖², a plain distance in the coordinates of its own space."""

    def __init__(self, M: LinearMap, b: Array) -> None:
        self._map, self._b = M, b
        super().__init__(M.solve(np.eye(M.size)), M.solve(b))

    def __repr__(self) -> str:
        return f"½‖x − b‖² in an inner product, b of shape {self.shape}"

    def double(self) -> _Distance:
        return _Distance(self._map, self._b.astype(np.float64))

    def seen_through(self, M: LinearMap) -> Objective | None:
        return SquaredDistance(M.solve(self._b)) if M is self._map else None


def _positive_definite(gram: object) -> Array:
    matrix = real_array("gram", gram, ndim=2).astype(np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"gram: expected a square matrix, got shape {matrix.shape}")
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-8 * np.abs(matrix).max()):
        raise InputError("gram: expected a symmetric matrix")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if not least > len(matrix) * np.finfo(float).eps * np.abs(matrix).max():
        raise InputError(
            f"gram: expected a positive definite matrix, got a smallest eigenvalue of {least:.3g}"
        )
    return (matrix + matrix.T) / 2
