"""A book over time and frequency, beside its signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pursuit import plots
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, real_array
from pursuit.decomposing.book import Book

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS, ROWS = 800, 400
"""Pixels of the picture."""
REACH = 5.3
"""Standard deviations of an atom that are drawn: there it is 60 dB down, which is what is shown."""


def density(book: Book, columns: int = COLUMNS, rows: int = ROWS) -> tuple[Array, float]:
    """Energy over time (columns) and frequency (rows), and the highest frequency drawn.

    Each atom adds its own Wigner distribution, a Gaussian; no atom interferes with another. Where
    it is narrower than a pixel it is widened to one.
    """
    top = _top(book)
    seconds = book.length / book.rate
    picture = np.zeros((rows, columns))
    across, up = seconds / columns, top / rows
    # The Wigner distribution of exp(−t²/2σ²) has the deviations σ/√2 and 1/(2√2 πσ).
    wide = np.maximum(book.sigma / np.sqrt(2), across / 2)
    high = np.maximum(1 / (2 * np.sqrt(2) * np.pi * book.sigma), up / 2)
    rows_of = zip(book.time, book.frequency, wide, high, book.energy, strict=True)
    for t, f, w, h, energy in rows_of:
        j, across_t = _pixels(t, w, across, columns)
        i, along_f = _pixels(f, h, up, rows)
        picture[i, j] += energy * np.outer(along_f, across_t)
    return picture / (across * up), top


def _pixels(centre: float, width: float, size: float, count: int) -> tuple[slice, Array]:
    """Which pixels a Gaussian covers, and how much of it there is in each."""
    low = min(count, max(0, int((centre - REACH * width) / size)))
    high = min(count, int((centre + REACH * width) / size) + 1)
    middles = (np.arange(low, max(low, high)) + 0.5) * size - centre
    share: Array = np.exp(-0.5 * (middles / width) ** 2) * size / (width * np.sqrt(2 * np.pi))
    return slice(low, max(low, high)), share


def _top(book: Book) -> float:
    """A little above nearly all of the energy; half of the rate where there is nothing."""
    if not len(book):
        return book.rate / 2
    order = np.argsort(book.frequency)
    summed = np.cumsum(book.energy[order])
    last = int(np.searchsorted(summed, 0.999 * summed[-1]))
    highest = 1.2 * float(book.frequency[order[min(last, len(book) - 1)]])
    return min(highest, book.rate / 2) or book.rate / 2


def draw(book: Book, signal: object | None, figure: Figure | None) -> Figure:
    """The signal above, the atoms over time and frequency below."""
    wave = book.rebuild() if signal is None else real_array("signal", signal)
    if wave.shape[-1] != book.length:
        raise InputError(f"signal: expected {book.length} samples, got {wave.shape[-1]}")
    figure = plots.returned(9.0, 5.5) if figure is None else figure
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 3))
    plots.waveform(np.atleast_2d(wave), book.rate, above)
    picture, top = density(book)
    plots.time_frequency(picture, book.length / book.rate, top, below)
    return figure
