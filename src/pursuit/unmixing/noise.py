"""The noise of a scene, from how badly every band is predicted by all the others.

Roger & Arnold, "Reliably estimating the noise in AVIRIS hyperspectral images", Int. J. Remote
Sensing 17 (1996). Neighbouring bands of a spectrum say nearly the same; noise they do not share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.unmixing.extraction import Array

PIXELS_PER_BAND = 2
"""With fewer pixels than this for each band the regression explains noise too."""
RIDGE = 1e-12
"""What is added to the diagonal of the correlations, relative to its mean: bands may repeat."""


@dataclass(frozen=True, eq=False)
class NoiseMoments:
    """Second moments of pixels, of their noise, and of what is left without it.

    With R = XᵀX/N the residual of band i after regression on the other bands is
    X R⁻¹eᵢ / (R⁻¹)ᵢᵢ, of variance 1/(R⁻¹)ᵢᵢ: everything follows from R.

    Attributes
    ----------
    pixels
        R, shape ``(bands, bands)``.
    noise
        The variance of the noise in every band.
    signal
        The second moments of the pixels minus their residuals.
    """

    pixels: Array
    noise: Array
    signal: Array


def second_moments(rows: Array) -> NoiseMoments:
    """The moments of spectra as rows, whose entries are near one in size."""
    correlations = rows.T @ rows / len(rows)
    bands = len(correlations)
    ridge = RIDGE * np.trace(correlations) / bands or 1.0
    inverse = np.linalg.inv(correlations + ridge * np.eye(bands))
    variances = 1 / np.diag(inverse)
    kept = np.eye(bands) - inverse * variances
    return NoiseMoments(correlations, variances, kept.T @ correlations @ kept)


def enough_for_noise(rows: Array) -> bool:
    """Whether there are pixels enough to tell noise from signal."""
    return len(rows) >= PIXELS_PER_BAND * int(rows.shape[1])
