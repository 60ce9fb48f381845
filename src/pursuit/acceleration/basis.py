"""Conjugate acceleration on quadratics: the earlier steps are kept as an H-orthonormal basis."""

from __future__ import annotations

from math import sqrt

import numpy as np

from pursuit.acceleration.conjugate import ConjugateStepper
from pursuit.acceleration.directions import Directions
from pursuit.base.validation import Array
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Shift
from pursuit.rules.run import Run


class QuadraticStepper(ConjugateStepper):
    """x goes to the best point of x + span{u, earlier steps}.

    The earlier steps are kept as an H-orthonormal basis: with all of them no rounding can spoil
    it, with one of them it is the short recurrence of conjugate gradients.
    """

    def __init__(self, run: Run, x: AmbientPoint, p: Array, h: Array, memory: int) -> None:
        super().__init__(run, x, p, h)
        self.kept = run.remember("directions", Directions(x.arrays(), memory))

    def _improve(self, c: Array, u: Shift, along: float) -> float:
        q = self._orthonormal(u)
        return 0.0 if q is None else self._move(c, q)

    def _improve_alone(self, c: Array) -> float:
        """By the atom that gains most; 0 where that may be rounding.

        Where f is bent 1e15 times more along some directions than along others, the sum of all
        atoms may lead nowhere that can be told from rounding, while each atom still does.
        """
        squares = np.where(self._h > 0, c**2 / np.where(self._h > 0, self._h, 1), 0.0)
        best = int(np.argmax(squares))
        if not squares[best] > self._tolerances.slope**2 * self._size():
            return 0.0
        self.kept.clear()
        weights = np.zeros_like(self.x.coef)
        weights[best] = 1 / sqrt(self._h[best])
        return self._move(c, self.x.gather(weights))

    def _move(self, c: Array, q: Shift) -> float:
        """To the best point over the basis and one more direction of it."""
        self.kept.keep(q)
        basis = self.kept.rows()
        t = basis["coef"] @ c
        self.x.shift(1.0, self.kept.total(t))
        return 0.5 * float(t @ t)

    def _orthonormal(self, u: Shift) -> Shift | None:
        """u without its part in the basis, of H-length one; None where only rounding is left."""
        basis, d = self.kept.rows(), u
        for _ in range(2 if len(self.kept) else 0):  # once leaves too much rounding
            share = self.kept.total(_bilinear(self.x, basis, d))
            d = {name: array - share[name] for name, array in d.items()}
        alone = {name: array.reshape(1, -1) for name, array in d.items()}
        square = float(_bilinear(self.x, alone, d)[0])
        f, small = self.x.f.quadratic, self._tolerances.slope**2
        # A sum of squares is as small as its terms, dᵀHd is a difference of larger ones.
        flat = small if f is None or f.isometric else self._tolerances.dependent
        if not square > max(flat * self._reach(d["coef"]), small * self._reach(u["coef"])):
            return None
        size = sqrt(square)
        return {name: array / size for name, array in d.items()}


def _bilinear(x: AmbientPoint, rows: Shift, direction: Shift) -> Array:
    """dᵢᵀHd for directions dᵢ that are rows of matrices, and one more."""
    f = x.f.quadratic
    assert f is not None
    name = "x" if x.image is x.x else "image"
    if f.isometric:
        return rows[name] @ direction[name].reshape(-1)
    return rows["x"] @ f.pull(direction[name]).reshape(-1)
