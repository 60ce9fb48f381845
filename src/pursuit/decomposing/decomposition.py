"""decompose(): matching pursuit over Gabor atoms, down to a given signal-to-noise ratio."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pursuit.atoms.gabor import SCALES, Gabor, window_lengths
from pursuit.base.archive import writable_path
from pursuit.base.errors import InputError
from pursuit.base.paths import path_of
from pursuit.base.scaling import check_range, power_of_two
from pursuit.base.status import Status
from pursuit.base.validation import Array, count, flag, positive, real_array
from pursuit.decomposing.book import Book, decibels, joined
from pursuit.objectives.quadratic import SquaredDistance
from pursuit.solving.result import Result
from pursuit.solving.solve import solve

LOOK = 200
"""Steps between two movements of a progress bar."""
MOST_DECIBELS = 200.0
"""Beyond this a residual is rounding."""


def decompose(
    signal: object,
    rate: float,
    snr: float = 20.0,
    *,
    max_atoms: int | None = None,
    scales: Sequence[int] | None = None,
    hop: float = 0.25,
    shared: bool = False,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Book:
    """Take a signal apart into Gabor atoms, the largest first.

    Matching pursuit: in each step the atom with the largest projection, with its phase and
    amplitude by least squares on what is left. A few zeros are put before and after the signal, so
    that atoms reach its ends; what atoms put there counts as error.

    Parameters
    ----------
    signal
        The samples; several channels are rows.
    rate
        Samples in a second.
    snr
        Stop when ‖signal‖/‖residual‖ has reached so many dB.
    max_atoms
        Stop after so many atoms (of each channel, where they do not share); as many as there are
        samples where not given. Where it is not given, a
        warning says that a run ended before `snr` was reached.
    scales, hop
        Lengths of windows, powers of two, and the distance of frames as a share of their window:
        see `Gabor`. Windows of 64, 128, … 8192 samples that fit where not given.
    shared
        For several channels: each atom is one time, frequency and scale for all of them, with a
        phase and an amplitude in each. Otherwise channels are taken apart one by one.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when it
        takes more than two seconds.
    checkpoint
        A file that the state is written to, every half minute and at the end. Channels that are
        taken apart one by one have one each, whose name ends in their number.
    resume
        Go on from the checkpoint, if it is there: the book is that of a run that was never stopped.

    Returns
    -------
    Book

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import decompose
    >>> t = np.arange(8000) / 8000
    >>> book = decompose(np.cos(2 * np.pi * 440 * t) * np.exp(-8 * (t - 0.5) ** 2), rate=8000)
    >>> bool(abs(book.frequency[0] - 440) < 4)
    True
    """
    rows, one = _rows(signal)
    hertz, goal = positive("rate", rate), _goal(snr)
    lengths = _windows(rows.shape[1], scales)
    if flag("resume", resume) and checkpoint is None:
        raise InputError("resume: expected a checkpoint to go on from, got none")
    limit = rows.shape[1] if max_atoms is None else count("max_atoms", max_atoms, minimum=1)
    parts = rows[None] if one or flag("shared", shared) else rows[:, None]
    margin = lengths[0] // 2
    atoms = Gabor(rows.shape[1] + 2 * margin, lengths, hop, channels=parts.shape[1])
    books, shortfalls = [], []
    for k, part in enumerate(parts):
        power = power_of_two(part)
        part = part / power
        file = None if checkpoint is None else _file(checkpoint, k if len(parts) > 1 else None)
        result = solve(
            SquaredDistance(np.pad(part, ((0, 0), (margin, margin)))),
            atoms,
            rtol=10 ** (-goal / 20),
            tol=0.0,
            max_iter=limit,
            every=LOOK,
            progress=progress,
            checkpoint=file,
            resume=file if resume and file is not None and file.exists() else None,
        )
        is_requested = max_atoms is not None and result.status is Status.MAX_ITER
        if not result.status.success and not is_requested:
            shortfalls.append((_reached(result, part, margin), result.status))
        found = _book(result, part, atoms, margin, hertz, k)
        books.append(replace(found, amplitude=found.amplitude * power))
    if shortfalls:
        message = _shortfall(goal, min(shortfalls, key=lambda pair: pair[0]), limit, max_atoms)
        warnings.warn(message, stacklevel=2)
    return joined(books, None if one else len(rows))


def _reached(result: Result, rows: Array, margin: int) -> float:
    """Return the SNR of a run in dB, over all channels that share its atoms."""
    fit = result.x[:, margin : margin + rows.shape[1]]
    return decibels(rows, rows - fit)


def _shortfall(
    snr: float, shortfall: tuple[float, Status], limit: int, max_atoms: int | None
) -> str:
    """Return a sentence with the SNR reached and the limit that ended the run."""
    reached, status = shortfall
    reason = "no further decrease at working precision"
    if status is Status.MAX_ITER:
        default = ", one for each sample" if max_atoms is None else ""
        reason = f"maximum number of atoms reached (max_atoms={limit}{default})"
    return f"snr={snr:g} dB was not reached, got {reached:.4g} dB: {reason}"


def _book(result: Result, rows: Array, atoms: Gabor, margin: int, rate: float, first: int) -> Book:
    """The atoms of a run as rows of a book, one for each channel that shares an atom."""
    channels, length = rows.shape
    grid, scales = atoms.grid, np.array(atoms.scales)
    s, n, m = np.array([z[:3] for z in result.used], np.int64).reshape(-1, 3).T
    a = np.array([z.amplitudes for z in result.used]).reshape(-1, channels)
    a = result.weights[:, None] * a
    half = (scales[s] - 1) / 2  # from the first sample of a window to its centre
    phase = np.angle(a) + (2 * np.pi * m / scales[s] * half)[:, None]
    centre = (n * grid.hops[s] + half - margin) / rate
    fit = result.x[:, margin : margin + length]
    return Book(
        np.repeat(np.arange(len(a)), channels),
        np.tile(np.arange(first, first + channels), len(a)),
        np.repeat(m * rate / scales[s], channels),
        np.repeat(centre, channels),
        np.repeat(scales[s], channels),
        np.angle(np.exp(1j * phase)).ravel(),
        (2 * grid.peaks[s, None] * np.abs(a)).ravel(),
        rate,
        length,
        channels,
        tuple(decibels(row, row - near) for row, near in zip(rows, fit, strict=True)),
    )


# What comes in --------------------------------------------------------------------------------


def _rows(signal: object) -> tuple[Array, bool]:
    """The channels as rows, and whether there is but one that was not a row."""
    samples = real_array("signal", signal)
    if samples.ndim > 2:
        raise InputError(
            f"signal: expected samples, or channels as rows, got shape {samples.shape}"
        )
    rows = np.atleast_2d(samples)
    if rows.shape[0] > rows.shape[1]:
        raise InputError(
            f"signal: expected channels as rows, got {rows.shape[0]} channels of {rows.shape[1]} "
            "samples; give its transpose"
        )
    check_range("signal", rows, None if len(rows) == 1 else "channel")
    silent = np.flatnonzero(~rows.any(axis=1))
    if len(silent):
        where = "" if len(rows) == 1 else f" in channel {silent[0]}"
        raise InputError(f"signal must have a sample that is not zero, got zeros alone{where}")
    return rows.astype(np.float64), samples.ndim == 1


def _windows(length: int, scales: Sequence[int] | None) -> tuple[int, ...]:
    """The windows that were asked for, or those of the usual ones that fit."""
    usual = tuple(L for L in SCALES if length >= L)
    lengths = (usual or SCALES[:1]) if scales is None else window_lengths(scales)
    if length < lengths[-1]:
        raise InputError(
            f"signal: {length} samples are shorter than a window; expected at least {lengths[-1]}"
        )
    return lengths


def _goal(snr: object) -> float:
    goal = positive("snr", snr)
    if goal > MOST_DECIBELS:
        raise InputError(f"snr: expected at most {MOST_DECIBELS:g} dB, got {goal:g}")
    return goal


def _file(checkpoint: object, channel: int | None) -> Path:
    path = writable_path(path_of("checkpoint", checkpoint))
    return path if channel is None else path.with_name(f"{path.name}.{channel}")
