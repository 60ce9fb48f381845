"""A picked pixel and all that differ from it by no more than noise: their mean has less of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pursuit.unmixing.extraction import Array, Extraction
from pursuit.unmixing.noise import enough_for_noise, second_moments
from pursuit.unmixing.rows import evenly_spaced, unit_rows

SAMPLE = 20_000
"""Pixels that the noise is estimated from at most."""
REACH = 1.2
"""How many times the angle that noise puts between two pixels of one spectrum counts as equal."""
WIDEST = 0.1
"""Angles above this, in radians, are never equal, however dark the pixels."""


def averaged(pixels: Array, extraction: Extraction) -> Extraction:
    """The endmembers with the noise of their one pixel taken down.

    Noise of norm s turns two pixels y and z of one spectrum by about √(s²/‖y‖² + s²/‖z‖²). All
    pixels within 1.2 times that angle of a picked one give their mean direction, each weighted by
    its squared norm as its noise wants; the brightness stays that of the picked pixel. A pixel
    without its like stays as it is, so that rare materials lose nothing. With fewer than two
    pixels for each band nothing is done.

    Parameters
    ----------
    pixels
        Those that were picked from.
    extraction
        What was picked.
    """
    sample = evenly_spaced(np.arange(len(pixels)), SAMPLE)
    if not enough_for_noise(pixels[sample]):
        return extraction
    unit, norms = unit_rows(pixels)
    brightest = norms.max() or 1.0
    lengths = norms / brightest
    scaled = unit[sample]
    scaled *= lengths[sample, None]
    noise = np.sqrt(second_moments(scaled).noise.sum())
    del scaled
    spectra, counts = extraction.endmembers.copy(), np.ones(len(extraction), dtype=np.intp)
    angles = np.arccos(np.clip(unit @ unit[extraction.indices].T, -1.0, 1.0))
    for k, pixel in enumerate(extraction.indices):
        equal = angles[:, k] <= _reach(noise, lengths, lengths[pixel])
        equal[pixel] = True
        counts[k] = np.count_nonzero(equal)
        if counts[k] > 1:
            near = lengths[equal] / (lengths[equal].max() or 1.0)
            spectra[k] = _mean_direction(unit[equal], near**2) * norms[pixel]
    return replace(extraction, endmembers=spectra, averaged_over=counts)


def _reach(noise: float, lengths: Array, length: float) -> Array:
    """The angle up to which pixels of some lengths are equal to one of a certain length."""
    # A pixel of zeros is at a right angle to all others, whatever its reach.
    safe = np.where(lengths > 0, lengths, 1.0)
    reach: Array = np.minimum(REACH * np.hypot(noise / safe, noise / (length or 1.0)), WIDEST)
    return reach


def _mean_direction(unit: Array, weights: Array) -> Array:
    total = weights @ unit
    direction: Array = total / (np.linalg.norm(total) or 1.0)
    return direction
