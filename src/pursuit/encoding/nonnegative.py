"""Exact least squares with coefficients of at least zero, and of sum one, for many signals.

Users meet these through `pursuit.unmixing.unmix`. Where the sum is free, it is orthogonal pursuit
over the cone of the atoms that is left to its end. Else blocks of a fixed size run on threads: one
product gives the correlations of a block, a compiled active set its coefficients, and one step of
iterative refinement from the residuals gives back what the Gram matrix loses in digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pursuit.atoms.cone import Cone
from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.scaling import check_range, row_norms
from pursuit.base.status import Status
from pursuit.base.threads import for_each_block, new_halt, single_threaded_blas
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, real_array
from pursuit.encoding.block import check_rows
from pursuit.encoding.encoder import Encoder
from pursuit.kernels import nonnegative as kernels

BLOCK = 1024
"""Signals worked on together, whatever the number of threads."""
_DOUBLE = np.dtype(np.float64)


class Fits(NamedTuple):
    """Coefficients (m, n) for the atoms as given, ‖signal − fit‖, and whether each signal came to
    its end."""

    coefficients: Array
    residual_norms: Array
    finished: Array


def nonnegative_fits(
    signals: object, atoms: object, *, threads: int | None = None, progress: bool | None = None
) -> Fits:
    """argmin ‖y − a Z‖ over a ≥ 0 for every row y of `signals`, exactly.

    Of atoms that depend on each other some are left at zero.

    Parameters
    ----------
    signals, atoms
        Shapes (m, d) and (n, d); no atom is zero.
    threads
        Python threads; else ``$PURSUIT_THREADS``, else every core. It changes no bit.
    progress
        As in `encode`.
    """
    rows, matrix, dtype = _checked(signals, atoms)
    cone = Cone(matrix.astype(_DOUBLE, copy=False))
    encoder = Encoder(cone, n_nonzero=min(matrix.shape), threads=threads, expected=len(rows))
    codes = encoder(rows, progress=progress)
    finished = codes.statuses != Status.STALLED.code
    return Fits(codes.toarray().astype(dtype, copy=False), codes.residual_norms, finished)


def simplex_fits(
    signals: object, atoms: object, *, threads: int | None = None, progress: bool | None = None
) -> Fits:
    """argmin ‖y − a Z‖ over a ≥ 0 with Σ a = 1 for every row y of `signals`, exactly.

    As the coefficients sum to one, the mean atom c may be taken off signals and atoms alike, and
    any constant added to the Gram matrix of the differences: with the largest ‖z − c‖² it is
    positive definite for affinely independent atoms. A zero atom (shade) is welcome.

    Parameters are those of `nonnegative_fits`.
    """
    rows, matrix, dtype = _checked(signals, atoms)
    check_rows("signals", "signal", rows, np.einsum("ij,ij->i", rows, rows, dtype=_DOUBLE))
    frame = _CenteredAtoms.of(matrix)
    m, n = len(rows), len(matrix)
    fits = Fits(np.empty((m, n), dtype), np.empty(m), np.empty(m, bool))
    blocks, flag = -(-m // BLOCK), new_halt()

    def start() -> Callable[[int], None]:
        t = tolerances(_DOUBLE)
        scratch = kernels.fit_scratch(n, t.dependent, 8 * t.dual_norm)
        return lambda number: _fit_block(frame, rows, number, fits, scratch, flag)

    with np.errstate(all="ignore"), bar("least squares", blocks, progress) as shown:
        for_each_block(blocks, start, thread_count(threads), shown, halt=flag)
    return fits


@dataclass(frozen=True, eq=False)
class _CenteredAtoms:
    """Atoms around their mean, and their Gram matrix, made definite."""

    center: Array
    atoms: Array
    gram: Array

    @staticmethod
    def of(matrix: Array) -> _CenteredAtoms:
        center = matrix.mean(axis=0, dtype=_DOUBLE)
        atoms = np.ascontiguousarray(matrix - center)
        with single_threaded_blas:
            gram = atoms @ atoms.T
        gram += gram.diagonal().max() or 1.0
        return _CenteredAtoms(center, atoms, gram)


def _fit_block(
    frame: _CenteredAtoms,
    rows: Array,
    number: int,
    fits: Fits,
    scratch: kernels.FitScratch,
    flag: Array,
) -> None:
    here, atoms = slice(number * BLOCK, (number + 1) * BLOCK), frame.atoms
    x = rows[here] - frame.center
    norms = row_norms(x)
    shares = np.zeros((len(x), len(atoms)))
    kernels.simplex(frame.gram, x @ atoms.T, norms, shares, fits.finished[here], scratch, flag)
    fits.coefficients[here], fits.residual_norms[here] = _refined(frame, x, shares, scratch)


def _refined(
    frame: _CenteredAtoms, x: Array, shares: Array, scratch: kernels.FitScratch
) -> tuple[Array, Array]:
    """Return shares of sum one, refined where that helps, and the norms of what they leave of x.

    Of atoms that are nearly dependent the refinement may miss one that is in use: it then leads
    far away, and the shares stay what they were.
    """
    residual = x - shares @ frame.atoms
    refined = shares.copy()
    kernels.refine_simplex(frame.gram, residual @ frame.atoms.T, refined, scratch)
    # They sum to one up to rounding, or to zero where the call was interrupted.
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 0.5)
    before = row_norms(x - shares @ frame.atoms)
    after = row_norms(x - refined @ frame.atoms)
    worse = np.flatnonzero(~(after <= before))
    refined[worse], after[worse] = shares[worse], before[worse]
    return refined, after


def _checked(signals: object, atoms: object) -> tuple[Array, Array, np.dtype[Any]]:
    """Return signals, unchecked in range, and atoms as rows, and the type of the coefficients."""
    rows, matrix = real_array("signals", signals, ndim=2), real_array("atoms", atoms, ndim=2)
    if rows.shape[1] != matrix.shape[1]:
        raise InputError(
            f"signals: expected rows of {matrix.shape[1]} numbers, as many as an atom has, got "
            f"shape {rows.shape}"
        )
    check_range("atoms", matrix, "atom")
    return rows, matrix, np.result_type(rows.dtype, matrix.dtype)
