"""lin(A): the span of the stored atoms, decided in float64 whatever their precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.base.linear_algebra import scipy_linalg
from pursuit.base.scaling import unit_rows
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array


@dataclass(frozen=True)
class Lin:
    """The span of finitely many atoms.

    Attributes
    ----------
    dimension
        Of the space that the atoms live in.
    basis
        An orthonormal basis as rows, shape (r, d); None where lin(A) is the whole space.
    frame
        r rows that span lin(A): stored atoms, or axes where these are spanned. Other atoms depend
        on them up to rounding, and lin(A) means the span of these rows, which is exact. None where
        lin(A) is the whole space.
    """

    dimension: int
    basis: Array | None = None
    frame: Array | None = None

    @property
    def rank(self) -> int:
        """dim lin(A): the numerical rank."""
        return self.dimension if self.basis is None else len(self.basis)

    @property
    def axes(self) -> Array:
        """The basis as an array, the identity for the whole space."""
        return np.eye(self.dimension) if self.basis is None else self.basis

    def inside(self, rows: Array) -> Array:
        """Return vectors, as rows or as one, in the coordinates of the basis, in float64."""
        double = rows.astype(np.float64, copy=False)
        return double if self.basis is None else double @ self.basis.T

    def project(self, x: Array) -> Array:
        """Return the nearest point of lin(A), in float64."""
        flat = x.reshape(-1).astype(np.float64, copy=False)
        if self.basis is not None:
            flat = (self.basis @ flat) @ self.basis
        return flat.reshape(x.shape)

    def coefficients(self, x: Array) -> Array:
        """Return coefficients of the rows of `frame` for the point of lin(A) nearest to x."""
        assert self.frame is not None
        rows, norms = unit_rows(self.frame)
        solution: Array = np.linalg.lstsq(rows.T, x.reshape(-1).astype(np.float64))[0]
        return solution / norms


def lin(atoms: Array) -> Lin:
    """Return the span of the rows of a matrix.

    Rows are brought to norm one, and columns to one scale where that shows that they span all
    coordinates in use: neither the norm of an atom nor the unit of a coordinate has a say.
    """
    wide = atoms.astype(np.float64)
    rows, _ = unit_rows(wide)
    columns = np.abs(rows).max(axis=0)
    used = columns > 0
    singular = np.linalg.svd(rows[:, used] / columns[used], compute_uv=False)
    if numerical_rank(singular, rows.shape) == np.count_nonzero(used):
        axes = None if used.all() else np.eye(len(used))[used]
        return Lin(len(used), axes, axes)
    q, r, pivots = scipy_linalg().qr(rows.T, mode="economic", pivoting=True, check_finite=False)
    rank = numerical_rank(np.abs(np.diag(r)), rows.shape)
    kept = np.sort(pivots[:rank])
    return Lin(len(used), np.ascontiguousarray(q[:, :rank].T), wide[kept])


def numerical_rank(singular: Array, shape: tuple[int, ...]) -> int:
    """Return the number of singular values, the largest one first, that are not rounding."""
    tolerance = max(shape) * tolerances(np.float64).rank
    return int(np.count_nonzero(singular > tolerance * singular[0]))
