"""Exact non-negative least squares for many signals and one set of atoms.

Users meet these through `pursuit.unmixing.unmix`. Blocks of a fixed size run on threads: one
product gives the correlations of a block, a compiled active set its coefficients, and one
correction from the residuals makes up for what the Gram matrix loses in digits. Without a sum to
keep to, the active set is orthogonal pursuit over the cone of the atoms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import bar
from pursuit.base.threads import for_each_block, new_halt, single_threaded_blas
from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes
from pursuit.encoding.job import Goal, Job, kernel_rules
from pursuit.encoding.limits import Limits
from pursuit.encoding.offered import OFFERED, UNLIMITED
from pursuit.encoding.plan import Form, Plan
from pursuit.encoding.prepare import common_type, equal_to_earlier, prepare_atoms, real_rows
from pursuit.encoding.prepared import Prepared
from pursuit.kernels import nonnegative as kernels
from pursuit.kernels.cone import STEPS_PER_ATOM

BLOCK = 1024
"""Signals worked on together, whatever the number of threads."""
ULPS = 256
"""Units in the last place of their coefficients that atoms have to be apart, at unit norm."""
_DOUBLE = np.dtype(np.float64)


class Fits(NamedTuple):
    """Coefficients (m, n) in the scale of the atoms as given, ‖signal − fit‖, and whether each
    signal came to its end (see `pursuit.kernels.cone.STEPS_PER_ATOM`)."""

    coefficients: Array
    residual_norms: Array
    finished: Array


def nonnegative_fits(
    signals: object, atoms: object, *, threads: int | None = None, progress: bool | None = None
) -> Fits:
    """argmin ‖y − a Z‖ over a ≥ 0 for every row y of `signals`, exactly.

    Atoms are divided by their norms and signals by powers of two on the way in: units change no
    digit that matters. Of atoms that depend on each other some are left at zero.

    Parameters
    ----------
    signals, atoms
        Shapes (m, d) and (n, d); no atom is zero.
    threads
        Python threads; else ``$PURSUIT_THREADS``, else every core. It changes no bit.
    progress
        As in `encode`.
    """
    rows, matrix = _checked(signals, atoms)
    workers = thread_count(threads)
    job = _whole_cone(rows, matrix, workers)
    with bar("least squares", -(-len(rows) // BLOCK), progress) as shown:
        pieces = Prepared(job, workers).run(rows, bar=shown)
    codes = Codes.join(pieces, len(matrix), job.description, str(job.plan))
    coefficients: Array = codes.toarray()
    finished = codes.iterations < STEPS_PER_ATOM * (job.width + 1)
    dtype = common_type(rows.dtype, matrix.dtype)
    with np.errstate(over="ignore"):
        written = coefficients.astype(dtype, copy=False)
    endless = np.flatnonzero(~np.isfinite(written).all(axis=1))
    if endless.size:
        raise InputError(
            f"signals: the coefficients of signal {endless[0]} are outside the range of {dtype}; "
            "expected signals and atoms of nearer scales"
        )
    return Fits(written, codes.residual_norms, finished)


def _whole_cone(rows: Array, matrix: Array, workers: int) -> Job:
    """Orthogonal pursuit over the cone of the atoms that is left to its end."""
    unit, scale = prepare_atoms(matrix, _DOUBLE, True, workers)
    twins = equal_to_earlier(unit, signed=True)
    ends = Limits(UNLIMITED, UNLIMITED, min(matrix.shape))
    plan = Plan(Form.GRAM, BLOCK, ends.width, len(matrix) ** 2 * _DOUBLE.itemsize)
    # Coefficients of atoms that are near to each other are large: no larger than can be written.
    apart = ULPS * float(np.finfo(common_type(rows.dtype, matrix.dtype)).eps)
    return Job(
        atoms=unit,
        twins=twins,
        scale=scale,
        rules=kernel_rules(ends, _DOUBLE),
        goal=Goal(None, None),
        method=OFFERED["orthogonal"],
        nonnegative=True,
        seed=0,
        plan=plan,
        apart=apart,
    )


def simplex_fits(
    signals: object, atoms: object, *, threads: int | None = None, progress: bool | None = None
) -> Fits:
    """argmin ‖y − a Z‖ over a ≥ 0 with Σ a = 1 for every row y of `signals`, exactly.

    As the coefficients sum to one, the mean atom c may be taken off signals and atoms alike, and
    any constant added to the Gram matrix of the differences: with the largest ‖z − c‖² it is
    positive definite for affinely independent atoms. A zero atom (shade) is welcome.

    Parameters are those of `nonnegative_fits`.
    """
    rows, matrix = _checked(signals, atoms)
    frame = _CentredAtoms.of(matrix)
    m, n = len(rows), len(matrix)
    found = Fits(
        np.empty((m, n), common_type(rows.dtype, matrix.dtype)), np.empty(m), np.empty(m, bool)
    )
    blocks, halt = -(-m // BLOCK), new_halt()

    def start() -> Callable[[int], None]:
        room = kernels.room_for(n)
        return lambda number: _do_block(frame, rows, number, found, room, halt)

    with bar("least squares", blocks, progress) as shown:
        for_each_block(blocks, start, thread_count(threads), shown, halt=halt)
    return found


@dataclass(frozen=True, eq=False)
class _CentredAtoms:
    """Atoms over a power of two and around their mean, and their Gram matrix, made definite."""

    exponent: int
    centre: Array
    atoms: Array
    gram: Array

    @staticmethod
    def of(matrix: Array) -> _CentredAtoms:
        given = np.ascontiguousarray(matrix, _DOUBLE)
        if not np.isfinite(given).all():
            raise InputError("atoms: expected finite numbers")
        exponent = _exponent_of_spread(given)
        centre = np.ldexp(given, -exponent).mean(axis=0)
        atoms = np.ldexp(given, -exponent) - centre
        with single_threaded_blas:
            gram = atoms @ atoms.T
        gram += gram.diagonal().max() or 1.0
        return _CentredAtoms(exponent, centre, atoms, gram)

    def signals(self, chunk: Array, start: int) -> tuple[Array, Array]:
        """Signals in this frame, and their norms there."""
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.ldexp(chunk.astype(_DOUBLE), -self.exponent) - self.centre
            norms = np.linalg.norm(x, axis=1)
        _refuse_far(norms, chunk, start)
        return x, norms


def _do_block(
    frame: _CentredAtoms,
    rows: Array,
    number: int,
    found: Fits,
    room: kernels.FitScratch,
    halt: Array,
) -> None:
    here, atoms = slice(number * BLOCK, (number + 1) * BLOCK), frame.atoms
    x, norms = frame.signals(rows[here], here.start)
    shares = np.zeros((len(x), len(atoms)))
    kernels.simplex(frame.gram, x @ atoms.T, norms, shares, found.finished[here], room, halt)
    shares, left = _corrected(frame, x, shares, room)
    found.residual_norms[here] = np.ldexp(left, frame.exponent)
    found.coefficients[here] = shares


def _corrected(
    frame: _CentredAtoms, x: Array, shares: Array, room: kernels.FitScratch
) -> tuple[Array, Array]:
    """Shares of sum one, corrected where that helps, and the norms of what they leave of x.

    Of atoms that are nearly dependent the correction may miss one that is in use: it then leads
    far away, and the shares stay what they were.
    """
    residual = x - shares @ frame.atoms
    corrected = shares.copy()
    kernels.refine_simplex(frame.gram, residual @ frame.atoms.T, corrected, room)
    # They sum to one up to rounding, or to zero where the call was interrupted.
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 0.5)
    left = _distances(x, shares, frame.atoms, residual)
    now = _distances(x, corrected, frame.atoms, residual)
    worse = np.flatnonzero(~(now <= left))
    corrected[worse], now[worse] = shares[worse], left[worse]
    return corrected, now


def _distances(x: Array, shares: Array, atoms: Array, room: Array) -> Array:
    """‖x − shares · atoms‖ of each row."""
    np.matmul(shares, atoms, out=room)
    np.subtract(x, room, out=room)
    norms: Array = np.linalg.norm(room, axis=1)
    return norms


def _checked(signals: object, atoms: object) -> tuple[Array, Array]:
    rows, matrix = real_rows("signals", signals), real_rows("atoms", atoms)
    for name, array in (("signals", rows), ("atoms", matrix)):
        if array.ndim != 2:
            raise InputError(f"{name}: expected 2 dimensions, got shape {array.shape}")
    if rows.shape[1] != matrix.shape[1]:
        raise InputError(
            f"signals: expected rows of {matrix.shape[1]} numbers, as many as an atom has, got "
            f"shape {rows.shape}"
        )
    return rows, matrix


def _exponent_of_spread(atoms: Array) -> int:
    """The power of two next to the largest entry of the atoms' differences; 0 if all are equal."""
    half = float(np.ptp(atoms / 2, axis=0).max())
    return int(np.frexp(half)[1]) + 1 if half > 0 else 0


def _refuse_far(norms: Array, chunk: Array, start: int) -> None:
    odd = np.flatnonzero(~np.isfinite(norms))
    if odd.size:
        if not np.isfinite(chunk[odd[0]]).all():
            raise InputError(f"signals: expected finite numbers in signal {start + odd[0]}")
        raise InputError(
            f"signals: signal {start + odd[0]} is too far from the atoms for their units"
        )
