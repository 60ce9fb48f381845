"""The first atoms: signals drawn at random, as different from each other as they come."""

from __future__ import annotations

import numpy as np

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range, row_norms, unit_rows
from pursuit.base.validation import Array, in_rows, real_array

START = 2
"""What draws are for (see `signals`)."""
FILL = 3
CANDIDATES = 4
"""Signals that are looked at for each atom."""
LOUD = 0.5
"""Signals below this share of the median norm are mostly noise."""
ALIKE = 0.99
"""The coherence above which two signals are one atom."""


def first_atoms(signals: Array, n_atoms: int, seed: int, nonnegative: bool) -> Array:
    """n unit rows of float64: signals of at least half the median norm, no two of them alike.

    Where signals are too few, too short or too similar, random directions make up the number.
    """
    rng = np.random.default_rng([seed, START])
    drawn = rng.permutation(len(signals))[: CANDIDATES * n_atoms]
    rows = in_rows(signals[drawn], np.dtype(np.float64))
    rows = rows[np.isfinite(rows).all(axis=1)]
    rows = directions(rows[_loud(rows)], nonnegative)
    chosen = rows[_different(rows, n_atoms)]
    missing = n_atoms - len(chosen)
    if missing:
        random = np.random.default_rng([seed, FILL]).standard_normal((missing, signals.shape[1]))
        chosen = np.concatenate([chosen, directions(np.abs(random) if nonnegative else random)])
    return chosen


def given_atoms(start: object, n_atoms: int, shape: tuple[int, ...], nonnegative: bool) -> Array:
    """The user's first atoms as unit rows of float64."""
    rows = real_array("start", getattr(start, "matrix", start), minimum=2)
    length = int(np.prod(shape))
    if len(rows) != n_atoms or rows.size != n_atoms * length:
        raise InputError(
            f"start: expected {n_atoms} atoms of the signals' shape {shape}, got shape {rows.shape}"
        )
    check_range("start", rows, "atom")
    rows = rows.reshape(n_atoms, length).astype(np.float64)
    unit = directions(rows, nonnegative)
    if len(unit) < n_atoms:
        zero = int(np.argmin(np.abs(np.maximum(rows, 0) if nonnegative else rows).max(axis=1)))
        kind = "without a positive entry" if nonnegative else "zero"
        raise InputError(f"start: atom {zero} is {kind}; expected atoms with a direction")
    return unit


def directions(rows: Array, nonnegative: bool = False) -> Array:
    """Return the rows that are not zero at unit norm, with `nonnegative` their positive parts."""
    unit, norms = unit_rows(np.maximum(rows, 0) if nonnegative else rows)
    return unit[norms > 0]


def _loud(rows: Array) -> Array:
    norms = row_norms(rows)
    loud: Array = norms > LOUD * np.median(norms) if len(norms) else norms > 0
    return loud


def _different(unit: Array, wanted: int) -> Array:
    """The numbers of the first rows of which no two are alike."""
    chosen: list[int] = []
    kept = np.empty((wanted, unit.shape[1]))
    for number, row in enumerate(unit):
        if len(chosen) == wanted:
            break
        if np.abs(kept[: len(chosen)] @ row).max(initial=0.0) <= ALIKE:
            kept[len(chosen)] = row
            chosen.append(number)
    return np.array(chosen, np.intp)
