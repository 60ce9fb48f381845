"""A book: the Gabor atoms that a signal was taken apart into, in the order found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import inf, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.atoms.frames import WIDTH
from pursuit.base import html
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, real_array, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("step", "channel", "frequency", "time", "scale", "phase", "amplitude")
WHOLE = ("step", "channel", "scale")
"""The columns of whole numbers."""
SHOWN = 5
"""Atoms that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Book:
    """Atoms x(t) = A exp(−(t − t₀)²/2σ²) cos(2πf(t − t₀) + φ), cut to a window of 8σ.

    ``len(book)`` atoms in the order found. ``book[mask]``, ``book[:100]`` and ``book[places]`` are
    books of some of them: ``book[book.frequency < 500].rebuild()`` is what is below 500 Hz.

    Attributes
    ----------
    step
        When each atom was found: 0, 1, …, for each channel apart. Channels that share atoms have
        one row each for a step.
    channel
        The channel that it belongs to.
    frequency, time
        f in the unit of the rate (Hz), and the centre t₀ in seconds from the first sample.
    scale
        The length of its window in samples; σ is an eighth of it.
    phase, amplitude
        φ at the centre, in radians, and A in the unit of the signal.
    rate
        Samples in a second.
    length
        Samples of the signal.
    channels
        How many there are; None for a signal of one dimension.
    reached
        Signal over residual in dB, of each channel, where this is all that was found.
    """

    step: Array
    channel: Array
    frequency: Array
    time: Array
    scale: Array
    phase: Array
    amplitude: Array
    rate: float
    length: int
    channels: int | None = None
    reached: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, which: Any) -> Book:
        try:
            # One number is a book of one atom; None and tables of numbers are no selection.
            places = np.atleast_1d(np.arange(len(self))[which])
            if which is None or isinstance(which, (bool, np.bool_)) or places.ndim > 1:
                raise IndexError("expected one dimension")
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(
                f"book: expected a mask of {len(self)} atoms, a slice or their numbers, got "
                f"{shown(which)} ({error})"
            ) from None
        columns = {name: getattr(self, name)[places] for name in COLUMNS}
        return Book(**columns, rate=self.rate, length=self.length, channels=self.channels)

    def __iter__(self) -> Iterator[Book]:
        return (self[k] for k in range(len(self)))

    # What it stands for ---------------------------------------------------------------------

    @property
    def sigma(self) -> Array:
        """The standard deviation of each atom's envelope, in seconds."""
        sigma: Array = self.scale / (WIDTH * self.rate)
        return sigma

    @property
    def energy(self) -> Array:
        """Σ x(t)² of each atom over samples, as if it did not end and had many periods."""
        energy: Array = self.amplitude**2 * np.sqrt(np.pi) * self.sigma * self.rate / 2
        return energy

    def rebuild(self) -> Array:
        """The sum of the atoms: as many samples, and channels, as the signal had."""
        total = np.zeros((self.channels or 1, self.length))
        # The centre of a window of even length is between two samples.
        begins = np.rint(self.time * self.rate - (self.scale - 1) / 2).astype(np.int64)
        turns = 2 * np.pi * self.frequency / self.rate
        rows = (self.channel, begins, self.scale, turns, self.phase, self.amplitude)
        for k, begin, L, turn, phase, amplitude in zip(*(r.tolist() for r in rows), strict=True):
            t = np.arange(L) - (L - 1) / 2
            samples = amplitude * np.exp(-0.5 * (t * WIDTH / L) ** 2) * np.cos(turn * t + phase)
            low, high = max(begin, 0), min(begin + L, self.length)
            total[k, low:high] += samples[low - begin : high - begin]
        return total if self.channels is not None else total[0]

    def snr(self, signal: object) -> Array:
        """20 log₁₀(‖signal‖/‖signal − rebuild()‖) of each channel, in dB."""
        given = real_array("signal", signal)
        check_range("signal", given)
        fit = self.rebuild()
        if given.shape != fit.shape:
            raise InputError(f"signal: expected shape {fit.shape}, got {given.shape}")
        rows, rest = (np.atleast_2d(a) for a in (given, given - fit))
        return np.array([decibels(s, r) for s, r in zip(rows, rest, strict=True)])

    # Printing, files, pictures --------------------------------------------------------------

    def _title(self) -> str:
        seconds = self.length / self.rate
        of = "" if self.channels is None else f"{self.channels} channels of "
        reached = f", {min(self.reached):.2f} dB" if self.reached else ""
        return f"Book of {len(self):,} atoms for {of}{seconds:.6g} s at {self.rate:g} Hz{reached}"

    def __repr__(self) -> str:
        lines = [self._title()]
        names, first = self._first(SHOWN)
        rows = [names, *first] if first else []
        lines += ["".join(f" {cell:>11}" for cell in row) for row in rows]
        if len(self) > SHOWN:
            lines.append(f"   … and {len(self) - SHOWN:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        curve = html.sparkline(self.energy, "energies of the atoms in the order found")
        found = html.facts({}, {"energies, in the order found": curve})
        return html.page(self._title(), found, html.columns(*self._first(SHOWN)))

    def _first(self, count: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The names of columns that are shown, and the first rows."""
        names = COLUMNS[1 if self.channels is not None else 2 :]
        columns = (
            [str(v) if name in WHOLE else f"{v:.6g}" for v in getattr(self, name)[:count].tolist()]
            for name in names
        )
        return names, list(zip(*columns, strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .npz file, or a .csv file for other programs, either with a checksum."""
        from pursuit.decomposing.book_files import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Book:
        """Read a file that `save` wrote; anything else is an input error."""
        from pursuit.decomposing.book_files import load

        return load(path)

    def plot(self, signal: object | None = None, figure: Figure | None = None) -> Figure:
        """The atoms over time and frequency, beside the signal (what it rebuilds if not given)."""
        from pursuit.decomposing.pictures import draw

        return draw(self, signal, figure)


def joined(books: Sequence[Book], channels: int | None) -> Book:
    """The book of several channels from that of each, the first ones first."""
    columns = {name: np.concatenate([getattr(b, name) for b in books]) for name in COLUMNS}
    reached = tuple(value for book in books for value in book.reached)
    first = books[0]
    return Book(**columns, rate=first.rate, length=first.length, channels=channels, reached=reached)


def facts(book: Book) -> dict[str, Any]:
    """All that is no column, by name."""
    names = [field.name for field in fields(Book) if field.name not in COLUMNS]
    return {name: getattr(book, name) for name in names}


def decibels(signal: Array, residual: Array) -> float:
    """Return the signal-to-noise ratio 20 log₁₀(‖signal‖/‖residual‖)."""
    above, below = float(np.linalg.norm(signal)), float(np.linalg.norm(residual))
    if below == 0:
        return inf
    return 20 * log10(above / below) if above else -inf
