"""Exact non-negative least squares for many signals and one set of atoms.

Users meet these through `pursuit.unmixing.unmix`. Blocks of a fixed size run on threads: one
product gives the correlations of a block, a compiled active set its coefficients, and one
correction from the residuals makes up for what the Gram matrix loses in digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pursuit.encoding import nonnegative_kernels as kernels
from pursuit.encoding.blocks import for_each_block, single_threaded_blas, thread_count
from pursuit.encoding.prepare import common_type, prepare_atoms, prepare_signals, real_rows
from pursuit.errors import InputError
from pursuit.progress import bar
from pursuit.validation import Array

BLOCK = 1024
"""Signals worked on together, whatever the number of threads."""
_DOUBLE = np.dtype(np.float64)


class Fits(NamedTuple):
    """Coefficients (m, n) in the scale of the atoms as given, ‖signal − fit‖, and whether each
    signal came to its end (see `nonnegative_kernels.STEPS_PER_ATOM`)."""

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
    dtype = common_type(rows, matrix)
    workers = thread_count(threads)
    unit, scale = prepare_atoms(matrix, _DOUBLE, True, workers)
    with single_threaded_blas:
        gram = unit.rows @ unit.rows.T

    def load(start: int, chunk: Array) -> _Loaded:
        x = prepare_signals(chunk, _DOUBLE, start)
        return _Loaded(x.x, np.sqrt(x.norm2), x.unscale)

    steps = _Steps(load, kernels.nonnegative, kernels.refine_nonnegative)
    return _run(_Task(rows, unit.rows, gram, scale, steps, dtype), workers, progress)


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
    dtype = common_type(rows, matrix)
    workers = thread_count(threads)
    given = np.ascontiguousarray(matrix, _DOUBLE)
    if not np.isfinite(given).all():
        raise InputError("atoms: expected finite numbers")
    exponent = _exponent_of_spread(given)
    centre = np.ldexp(given, -exponent).mean(axis=0)
    centred = np.ldexp(given, -exponent) - centre
    with single_threaded_blas:
        gram = centred @ centred.T
    gram += gram.diagonal().max() or 1.0

    def load(start: int, chunk: Array) -> _Loaded:
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.ldexp(chunk.astype(_DOUBLE), -exponent) - centre
            norms = np.linalg.norm(x, axis=1)
        _refuse_far(norms, chunk, start)
        return _Loaded(x, norms, np.full(len(x), np.ldexp(1.0, exponent)))

    steps = _Steps(load, kernels.simplex, kernels.refine_simplex)
    # The coefficients are shares: there is no unit to map them back to.
    return _run(_Task(rows, centred, gram, None, steps, dtype), workers, progress)


class _Loaded(NamedTuple):
    """A block of signals, their norms, and what was divided out of each."""

    x: Array
    norms: Array
    unscale: Array


@dataclass(frozen=True)
class _Steps:
    """What a method does with a block: bring it to the atoms' frame, solve, correct once."""

    load: Callable[[int, Array], _Loaded]
    solve: Callable[[Array, Array, Array, Array, Array, kernels.Room], None]
    refine: Callable[[Array, Array, Array, kernels.Room], None]


@dataclass(frozen=True, eq=False)
class _Task:
    """Signals as given, the atoms and their Gram matrix in the method's frame, and the norms
    divided out of the atoms, or None where coefficients are shares; the type of the result."""

    signals: Array
    atoms: Array
    gram: Array
    scale: Array | None
    steps: _Steps
    dtype: np.dtype[Any]


def _run(task: _Task, workers: int, progress: bool | None) -> Fits:
    m, n = len(task.signals), len(task.atoms)
    found = Fits(np.empty((m, n), task.dtype), np.empty(m), np.empty(m, bool))
    blocks = -(-m // BLOCK)

    def start() -> Callable[[int], None]:
        room = kernels.room_for(n)
        return lambda number: _do_block(task, number, found, room)

    with bar("least squares", blocks, progress) as shown:
        for_each_block(blocks, start, workers, shown)
    return found


def _do_block(task: _Task, number: int, found: Fits, room: kernels.Room) -> None:
    here = slice(number * BLOCK, (number + 1) * BLOCK)
    x, norms, unscale = task.steps.load(here.start, task.signals[here])
    value = np.zeros((len(x), len(task.atoms)))
    task.steps.solve(task.gram, x @ task.atoms.T, norms, value, found.finished[here], room)
    residual = x - value @ task.atoms
    task.steps.refine(task.gram, residual @ task.atoms.T, value, room)
    np.matmul(value, task.atoms, out=residual)
    np.subtract(x, residual, out=residual)
    found.residual_norms[here] = np.linalg.norm(residual, axis=1) * unscale
    if task.scale is not None:
        value *= unscale[:, None] / task.scale
    found.coefficients[here] = value


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
