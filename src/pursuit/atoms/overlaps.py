"""Inner products of windowed waves: what subtracting one does to the spectra of the others.

For windows g of length L and g′ of length M, shifted by δ = n·hop − n′·hop′, let

    W_δ(q) = Σ_t g(t − δ) g′(t) e^{−2πi q t/N},  N = max(L, M).

An atom a·g e^{2πi m t/L} adds a e^{−2πi m δ/L} W_δ(m′N/M − mN/L) to bin m′ of a frame of length M.
Where M < L only every (L/M)-th q is met, with a remainder that m decides: values are stored by
remainder, so that those for consecutive bins stand side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.validation import Array

if TYPE_CHECKING:
    from pursuit.atoms.frames import FrameGrid
    from pursuit.kernels.gabor import WindowOverlaps


def overlaps_of(grid: FrameGrid, cut: float, dtype: np.dtype[Any]) -> WindowOverlaps:
    """The inner products of windowed waves of all pairs of scales, those above the cut."""
    from pursuit.kernels.gabor import WindowOverlaps

    S = len(grid.scales)
    heads = np.zeros((S, S, 5), np.int64)
    rows: list[tuple[int, int]] = []
    values: list[Array] = []
    at = 0
    for s in range(S):
        for u in range(S):
            first, spectra = _shifted(grid, s, u, cut)
            ratio = max(1, grid.scales[s] // grid.scales[u])
            found = [_by_remainder(spectrum, ratio, cut) for spectrum in spectra]
            farthest = max(reach for reach, _ in found)
            heads[s, u] = first, len(spectra), len(rows), ratio, farthest
            for reach, row in found:
                rows.append((at, reach))
                values.append(row.astype(dtype))
                at += row.size
    flat = np.concatenate(values).view(dtype.type(0).real.dtype)
    return WindowOverlaps(heads, np.array(rows, np.int64), flat)


def _shifted(grid: FrameGrid, s: int, u: int, cut: float) -> tuple[int, Array]:
    """The first shift, in units of the smaller hop, and W_δ for it and those after it.

    At the ends shifts are left out for which all of W_δ is below the cut.
    """
    from scipy.fft import fft

    L, M = grid.scales[s], grid.scales[u]
    hop = int(min(grid.hops[s], grid.hops[u]))
    shifts = np.arange(-(L // hop) + 1, M // hop)
    padded = np.zeros(L + 2 * (L + M))
    padded[L + M : 2 * L + M] = grid.windows[s]
    begins = L + M - shifts * hop
    products = np.array([padded[begin : begin + M] for begin in begins]) * grid.windows[u]
    # |W| is largest at zero: windows are positive.
    peaks = products.sum(axis=1)
    large = np.flatnonzero(peaks > min(cut, peaks.max() / 2))  # at any cut there is one
    few = slice(large[0], large[-1] + 1)
    return int(shifts[few][0]), fft(products[few], max(L, M), axis=1)


def _by_remainder(spectrum: Array, ratio: int, cut: float) -> tuple[int, Array]:
    """How many bins W reaches on either side of the nearest one, and W by the remainder of q."""
    N = len(spectrum)
    half = N // 2
    q = np.fft.fftfreq(N, 1 / N).astype(np.int64)
    large = np.abs(q[np.abs(spectrum) > cut])
    reach = int(large.max(initial=0)) // ratio + 1
    wanted = np.arange(-reach, reach + 1) * ratio + np.arange(ratio)[:, None]
    row = spectrum[wanted % N]
    row[(wanted < -half) | (wanted >= half)] = 0
    return reach, row.ravel()
