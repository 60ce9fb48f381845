"""A quadratic model of few samples, without a penalty: one N × N matrix says it all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit.active.columns import Columns
from pursuit.active.quadratic_models import QuadraticModel
from pursuit.active.terms import Terms
from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.validation import Array


class KernelModel(QuadraticModel):
    """All is said by K = XXᵀ/l2.

    The minimiser is w = −Xᵀz/l2 for the slopes z = g + h·(Xδ) that the samples have there:
    (I + diag(h)K) z = g − h·u. Coefficients b with columns U that no l2 touches are unknowns of
    their own: (I + diag(h)K) z = g − h·u + h·(Ub) and Uᵀz = 0.
    """

    def __init__(self, columns: Columns, terms: Terms) -> None:
        self.columns = columns
        shrunk = terms.l2 > 0
        self.shrunk, self.others = np.flatnonzero(shrunk), np.flatnonzero(~shrunk)
        self.l2 = float(terms.l2[self.shrunk[0]])
        part = columns if shrunk.all() else columns.part(self.shrunk)
        self.K = part.outer() / self.l2
        self.U = columns.dense(self.others)

    def at(self, u: Array, g: Array, h: Array) -> KernelModel:
        """The model of samples at u with these slopes and bends."""
        self.u, self.g, self.h = u, g, h
        return self

    def minimise(self, w: Array, c: Array, enough: float) -> Array:
        solved = self._factored()
        z = solved((self.g - self.h * self.u)[:, None])
        towards = np.empty_like(w)
        if len(self.others):
            pulled = solved(self.h[:, None] * self.U)
            b = np.linalg.solve(self.U.T @ pulled, -(self.U.T @ z))
            z += pulled @ b
            towards[self.others] = b[:, 0]
        towards[self.shrunk] = -self.columns.correlate(z[:, 0])[self.shrunk] / self.l2
        return towards

    def _factored(self) -> Callable[[Array], Array]:
        """What solves (I + diag(h)K) z = y for the columns of y.

        z = y − √h (I + √h K √h)⁻¹ √h K y, whose matrix is positive definite.
        """
        lapack = scipy_linalg().lapack
        root = np.sqrt(self.h)[:, None]
        definite = self.K * root
        definite *= root.T
        definite.flat[:: len(definite) + 1] += 1.0
        factor, _ = lapack.dpotrf(definite.T, lower=0, overwrite_a=1, clean=0)

        def solved(y: Array) -> Array:
            inner, _ = lapack.dpotrs(factor, root * (self.K @ y), lower=0)
            z: Array = y - root * inner
            return z

        return solved
