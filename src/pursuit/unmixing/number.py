"""How many endmembers a scene has: dimensions above the noise, and where their curve bends.

Bioucas-Dias & Nascimento, "Hyperspectral subspace identification", IEEE Trans. Geosci. Remote
Sens. 46 (2008): HySime, here on pixels divided by their norms, so that dark ones count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from pursuit.base.errors import InputError
from pursuit.unmixing.extraction import Array
from pursuit.unmixing.noise import PIXELS_PER_BAND, enough_for_noise, second_moments
from pursuit.unmixing.rows import evenly_spaced, unit_rows
from pursuit.unmixing.scene import spectra_of

SAMPLE = 20_000
"""Pixels looked at at most, evenly spaced in the scene."""
FLOOR = 1e-5
"""Noise that is assumed in any case, as a share of the mean power of a band (as HySime does)."""
BEND = 0.5
"""How far, in natural logarithms, a curve must pass below its chord to be called bent."""
LOWEST = 1e-9
"""What is left of the signal after all dimensions, at least: rounding."""
QUARTERS = 4


@dataclass(frozen=True, eq=False, repr=False)
class NumberEstimate:
    """How many endmembers, and how sure that is.

    Attributes
    ----------
    number
        The number taken: where the curve bends, else all `dimensions`.
    dimensions
        How many dimensions hold more signal than noise (HySime): the most that can be told apart.
        Materials that vary take more than one each.
    curve
        What is left of the signal, relative to the pixels, after 1, 2, … dimensions.
    quarters
        The number in each quarter of the pixels; empty where these are too few.
    """

    number: int
    dimensions: int
    curve: Array
    quarters: tuple[int, ...]

    @property
    def sure(self) -> str:
        """``"sure"``, ``"fairly sure"`` or ``"not sure"``."""
        if not self.quarters or max(abs(k - self.number) for k in self.quarters) > 1:
            return "not sure"
        if self.dimensions > self.number or set(self.quarters) != {self.number}:
            return "fairly sure"
        return "sure"

    def __repr__(self) -> str:
        """The number and how sure it is, without the values of the curve."""
        quarters = f", quarters={self.quarters}" if self.quarters else ""
        return (
            f"NumberEstimate(number={self.number}, dimensions={self.dimensions}{quarters}, "
            f"{self.sure}, curve of {len(self.curve)} values)"
        )

    def __str__(self) -> str:
        above = f"{self.dimensions} dimensions stand above the noise (HySime)"
        if self.dimensions == 1:
            above = "1 dimension stands above the noise (HySime)"
        if self.number < self.dimensions:
            above = f"the curve of what is left bends there, while {above}"
        many = "endmember" if self.number == 1 else "endmembers"
        return f"{self.number} {many}, {self.sure}: {above}{self._in_quarters()}"

    def _in_quarters(self) -> str:
        if not self.quarters:
            return "; too few pixels to see whether parts of them agree"
        low, high = min(self.quarters), max(self.quarters)
        spread = f"{low}" if low == high else f"{low} to {high}"
        return f"; quarters of the pixels give {spread}"


def estimate_number(pixels: object) -> NumberEstimate:
    """Estimate how many endmembers a scene has.

    With the noise of every band estimated by regression on the others, HySime counts the
    eigenvectors eₖ of the signal's second moments for which eₖᵀR_y eₖ > 2·eₖᵀR_n eₖ: keeping
    them loses less signal than it lets noise in. A material whose spectrum varies fills several
    dimensions; then what is left after k of them, √Σ_{j>k} (eⱼᵀR_y eⱼ − eⱼᵀR_n eⱼ), falls
    steeply up to the number of materials and slowly after. That bend is taken: the point
    farthest below the chord of the curve in logarithms, and again within it, while it lies below
    by a factor of more than √e.

    Parameters
    ----------
    pixels
        A `Scene`, or spectra as rows; at least two for every band.
    """
    rows, _ = spectra_of(pixels)
    unit, norms = unit_rows(evenly_spaced(rows, SAMPLE))
    some = unit[norms > 0]
    if not len(some) or not enough_for_noise(some):
        raise InputError(
            f"pixels: expected at least {PIXELS_PER_BAND} for each of {rows.shape[1]} bands to "
            f"estimate the number of endmembers, got {len(some)} that are not zero"
        )
    parts = [some[k::QUARTERS] for k in range(QUARTERS)]
    with threadpool_limits(1, "blas"):  # sums in a fixed order, whatever the machine
        number, dimensions, curve = _number(some)
        quarters = tuple(_number(part)[0] for part in parts) if enough_for_noise(parts[-1]) else ()
    return NumberEstimate(number, dimensions, curve, quarters)


def _number(unit: Array) -> tuple[int, int, Array]:
    signal, noise = _powers(unit)
    dimensions = max(1, int(np.count_nonzero(signal > noise)))
    left = np.sqrt(np.append(np.cumsum(np.maximum(signal, 0)[::-1])[::-1], 0.0)[1:])
    curve = np.maximum(left, LOWEST)
    return _bend(np.log(curve[:dimensions])), dimensions, curve


def _powers(unit: Array) -> tuple[Array, Array]:
    """Power of signal and of noise along each eigenvector of the signal, most signal first."""
    moments = second_moments(unit)
    vectors = np.linalg.eigh(moments.signal)[1]
    floor = FLOOR * np.trace(moments.signal) / len(vectors)
    noise = np.square(vectors).T @ (moments.noise + floor)
    signal = np.einsum("ij,ij->j", vectors, moments.pixels @ vectors) - noise
    order = np.argsort(-signal, kind="stable")
    return signal[order], noise[order]


def _bend(logs: Array) -> int:
    """Where a falling curve bends, counted from 1; its end where it does not."""
    last = len(logs)
    while last > 2:
        chord = np.linspace(logs[0], logs[last - 1], last)
        below = chord - logs[:last]
        if below.max() < BEND:
            break
        last = int(np.argmax(below)) + 1
    return last
