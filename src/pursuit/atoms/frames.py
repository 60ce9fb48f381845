"""Windows of several lengths laid along a signal, and its spectrum in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pursuit.base.validation import Array

if TYPE_CHECKING:
    from pursuit.kernels.gabor import Frames

WIDTH = 8
"""Standard deviations of the Gaussian that a window is long."""
LEAF = 32
"""The coefficients of each scale begin at a multiple of this."""
TOGETHER = 2**20
"""Samples whose spectra are computed together: few enough to stay in a cache."""


class FrameSpectra(NamedTuple):
    """The spectra of some frames of a scale: complex, (frames, bins)."""

    scale: int
    first: int
    spectra: Array


class FrameGrid:
    """Frames of length L every hop·L samples, for each L of several powers of two.

    Coefficient [s, n, m] belongs to the frame that begins at n·hop and to m periods in it, m from 0
    to L/2 − 1. All of them are numbered, scale after scale, and frame after frame within one.
    """

    def __init__(self, length: int, scales: tuple[int, ...], overlap: int) -> None:
        self.length, self.scales = length, scales
        self.lengths = np.array(scales, np.int64)
        self.hops = self.lengths // overlap
        self.counts = (length - self.lengths) // self.hops + 1
        self.bins = self.lengths // 2
        sizes = -(-self.counts * self.bins // LEAF) * LEAF
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.size = int(self.offsets[-1])

    @property
    def places(self) -> int:
        """How many (scale, frame, bin) there are."""
        return int((self.counts * self.bins).sum())

    @property
    def covered(self) -> int:
        """The samples that windows reach: all but fewer than the smallest hop, at the end."""
        return int(((self.counts - 1) * self.hops + self.lengths).max())

    def place(self, number: int) -> tuple[int, int, int]:
        """(scale, frame, bin) of a coefficient."""
        s = int(np.searchsorted(self.offsets, number, side="right")) - 1
        n, m = divmod(number - int(self.offsets[s]), int(self.bins[s]))
        return s, n, m

    @cached_property
    def windows(self) -> list[Array]:
        """A Gaussian of norm one for each scale."""
        return [_gaussian(L) for L in self.scales]

    @cached_property
    def peaks(self) -> Array:
        """What the Gaussian of each scale is at its centre, which lies between two samples."""
        return np.array(
            [g[0] / np.exp(-0.5 * (WIDTH * (1 - 1 / len(g)) / 2) ** 2) for g in self.windows]
        )

    @cached_property
    def folds(self) -> list[Array]:
        """k_m = Σ_t g(t)² e^{−4πi m t/L}: how far the two phases of an atom are from orthogonal."""
        folds = []
        for g in self.windows:
            spectrum = np.fft.fft(g * g)
            folds.append(spectrum[(2 * np.arange(len(g) // 2)) % len(g)])
        return folds

    @cached_property
    def weights(self) -> list[Array]:
        """Weights of Re c², Im c² and Re c · Im c in ½‖P r‖², P the projection on an atom's plane.

        ‖P r‖² = 2(|c|² − Re(k c̄²))/(1 − |k|²), and c² for m = 0, where the plane is a line.
        """
        every = []
        for k in self.folds:
            rest = 1 - np.abs(k) ** 2
            rest[0] = 1.0
            weights = np.array([1 - k.real, 1 + k.real, -2 * k.imag]) / rest
            weights[:, 0] = 0.5, 0.0, 0.0
            every.append(weights)
        return every

    # The spectra of a signal ----------------------------------------------------------------

    def hull(self, s: int, first: int, last: int) -> slice:
        """The samples of the frames of a scale from one to before another."""
        hop = int(self.hops[s])
        return slice(first * hop, (last - 1) * hop + self.scales[s])

    def spectra(self, residual: Array, s: int) -> Array:
        """c[s, n, m] for the frames that begin in every hop of some samples."""
        from scipy.fft import rfft

        L, hop = self.scales[s], int(self.hops[s])
        frames = np.lib.stride_tricks.sliding_window_view(residual, L)[::hop]
        windowed = frames * self.windows[s].astype(residual.dtype)
        found: Array = rfft(windowed, axis=1, overwrite_x=True)[:, :-1]
        return found

    def blocks(self, residual: Array) -> Iterator[FrameSpectra]:
        """All of them, some frames at a time."""
        for s, L in enumerate(self.scales):
            step, count = max(1, TOGETHER // L), int(self.counts[s])
            for first in range(0, count, step):
                part = residual[self.hull(s, first, min(first + step, count))]
                yield FrameSpectra(s, first, self.spectra(part, s))

    def energies(self, s: int, spectra: Array) -> Array:
        """‖P r‖² for the atoms of some frames."""
        re2, im2, cross = 2 * self.weights[s].astype(spectra.real.dtype)
        u, v = spectra.real, spectra.imag
        energies: Array = u * u * re2 + v * v * im2 + u * v * cross
        return energies

    def meeting(self, s: int, begin: int, end: int) -> tuple[int, int]:
        """The frames of a scale that meet some samples, from one to before another."""
        L, hop = self.scales[s], int(self.hops[s])
        first = max(0, -(-(begin - L + 1) // hop))
        return first, min(int(self.counts[s]), (end - 1) // hop + 1)

    # One atom -------------------------------------------------------------------------------

    def span(self, s: int, n: int) -> slice:
        """The samples of a frame."""
        begin = n * int(self.hops[s])
        return slice(begin, begin + self.scales[s])

    def wave(self, s: int, m: int) -> Array:
        """g(t) e^{2πi m t/L}."""
        L = self.scales[s]
        turns = (m * np.arange(L)) % L
        wave: Array = self.windows[s] * np.exp(2j * np.pi / L * turns)
        return wave

    def amplitudes(self, s: int, m: int, c: Any) -> Any:
        """a for which 2 Re(a g e^{iωt}) is the projection of what has the coefficient c."""
        if m == 0:
            return c / 2
        k = self.folds[s][m]
        return (c - k * np.conj(c)) / (1 - abs(k) ** 2)

    # For compiled code ----------------------------------------------------------------------

    def compiled(self, dtype: np.dtype[Any]) -> Frames:
        """All of this as plain arrays, weights in the precision of kept coefficients."""
        from pursuit.kernels.gabor import Frames

        weights = [np.tile(w, max(1, LEAF // w.shape[1])) for w in self.weights]
        turns = [np.exp(2j * np.pi * np.arange(L) / L) for L in self.scales]
        return Frames(
            self.lengths,
            self.hops,
            self.counts,
            self.bins,
            self.offsets,
            np.concatenate([[0], np.cumsum(self.lengths)]),
            np.concatenate([[0], np.cumsum([w.shape[1] for w in weights])]),
            np.concatenate(self.windows),
            np.concatenate(turns),
            np.concatenate(self.folds),
            np.ascontiguousarray(np.hstack(weights).astype(dtype)),
        )


def _gaussian(length: int) -> Array:
    t = np.arange(length) - (length - 1) / 2
    g = np.exp(-0.5 * (t * WIDTH / length) ** 2)
    window: Array = g / np.linalg.norm(g)
    return window
