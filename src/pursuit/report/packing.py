"""Arrays as short texts: quantised as far as the eye allows, deflated, in base 64.

The page undoes it with what every browser has (`assets/unpack.js`).
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.validation import Array

LEVELS = 4095
"""Steps between the smallest and the largest value of a map."""
LARGEST_SCORE = 32000
"""The largest score of a spectrum, in steps: it fits in 16 bits."""
FINENESS = 8000
"""Steps between zero and the largest deviation of a spectrum from the mean, at the finest."""
BITS_ABOVE_LOG = 2.05
"""Entropy of a Gaussian in steps of its standard deviation, in bits: ½ log₂(2πe)."""


def pack(array: Array) -> dict[str, Any]:
    """Any array of numbers: first bytes of all entries, second bytes of all entries, …, deflated.

    Bytes that mean the same lie together: that is what deflate needs.
    """
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    bytes_ = little.view(np.uint8).reshape(-1, little.itemsize).T.tobytes()
    text = base64.b64encode(zlib.compress(bytes_, 9)).decode("ascii")
    return {"type": array.dtype.name, "shape": list(array.shape), "data": text}


def pack_map(values: Array, low: float | None = None) -> dict[str, Any]:
    """One number per pixel, in steps of the range; `low` extends the range down to it."""
    values = values.astype(np.float64)
    bottom = float(values.min() if low is None else min(values.min(), low))
    top = float(values.max())
    step = (top - bottom) / LEVELS
    levels = np.round((values - bottom) / step) if step > 0 else np.zeros_like(values)
    return {"low": bottom, "step": step, "levels": pack(levels.astype(np.uint16))}


@dataclass(frozen=True, eq=False)
class CodedSpectra:
    """Spectra as mean + (step × scores) · basis, and the error that this leaves.

    Attributes
    ----------
    scores
        Whole numbers, shape ``(components, n_pixels)``.
    error
        The root mean square of what was lost, relative to that of the spectra.
    """

    mean: Array
    basis: Array
    step: float
    scores: Array
    error: float

    def packed(self) -> dict[str, Any]:
        return {
            "mean": pack(self.mean.astype(np.float32)),
            "basis": pack(self.basis.astype(np.float32)),
            "step": self.step,
            "scores": pack(self.scores),
        }


def code_spectra(pixels: Array, budget: int) -> CodedSpectra:
    """Spectra in about `budget` bytes: principal components, all rounded to one step.

    One step for all components is what loses least for the bits spent; where a component varies
    less than the step it costs nothing.
    """
    scale = float(np.abs(pixels).max()) or 1.0
    mean = (pixels / scale).mean(axis=0, dtype=np.float64)
    centred = pixels / scale - mean
    variances, directions = np.linalg.eigh(centred.T @ centred / len(pixels))
    deviations = np.sqrt(np.maximum(variances[::-1], 0))
    scores = centred @ directions[:, ::-1]
    finest = max(np.abs(scores).max() / LARGEST_SCORE, np.abs(centred).max() / FINENESS)
    if finest == 0:
        empty = np.zeros((0, len(pixels)), np.int16)
        return CodedSpectra(mean * scale, np.zeros((0, len(mean))), 1.0, empty, 0.0)
    step = _step(deviations, float(finest), 8 * budget / len(pixels))
    kept = int(np.count_nonzero(np.abs(scores).max(axis=0) > step / 2))
    steps = np.round(scores[:, :kept] / step)
    lost = (centred**2).sum() - (scores[:, :kept] ** 2).sum()
    lost += ((steps * step - scores[:, :kept]) ** 2).sum()
    error = np.sqrt(max(lost, 0.0) / ((pixels / scale) ** 2).sum())
    basis = directions[:, ::-1][:, :kept].T * scale
    return CodedSpectra(mean * scale, basis, step, steps.T.astype(np.int16), float(error))


def _step(deviations: Array, finest: float, bits: float) -> float:
    """The finest step at which the scores of a spectrum take at most so many bits."""
    step = finest
    while _bits(deviations, step) > bits:
        step *= 1.1
    return step


def _bits(deviations: Array, step: float) -> float:
    with np.errstate(divide="ignore"):
        each = np.log2(deviations / step) + BITS_ABOVE_LOG
    return float(np.maximum(each, 0).sum())
