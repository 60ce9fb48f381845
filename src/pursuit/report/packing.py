"""Arrays as short texts: quantised as far as the eye allows, deflated, in base 64.

The page undoes it with what every browser has (`assets/unpack.js`).
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.base.validation import Array

LEVELS = 4095
"""Steps between the smallest and the largest value of a map."""
LARGEST_SCORE = 32000
"""The largest score of a spectrum, in steps: it fits in 16 bits."""
FINENESS = 8000
"""Steps between zero and the largest deviation of a spectrum from the mean, at the finest."""
GAUSSIAN_BITS = 2.05
"""Entropy of a Gaussian in steps of its standard deviation, in bits: ½ log₂(2πe)."""
COARSER = 1.15
"""By how much steps grow until everything fits."""


def pack(array: Array) -> dict[str, Any]:
    """Any array of numbers as deflated bytes in base 64, with its type and shape."""
    text = base64.b64encode(deflated(array)).decode("ascii")
    return {"type": array.dtype.name, "shape": list(array.shape), "data": text}


def deflated(array: Array) -> bytes:
    """First bytes of all entries, second bytes of all entries, …, by runs and Huffman codes.

    Bytes that mean the same lie together. There is nothing longer than runs to be found in
    measurements, and not looking for it makes this ten times faster.
    """
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(-1, little.itemsize).T.tobytes()
    coder = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return coder.compress(planes) + coder.flush()


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
        Whole numbers, shape ``(components, n_pixels)``, folded to be non-negative: 0, −1, 1, −2,
        … are 0, 1, 2, 3, …
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
    """Spectra in at most about `budget` bytes: principal components, all rounded to one step.

    One step for all components loses least for the bits spent: where a component varies less
    than the step it costs nothing.
    """
    scale = float(np.abs(pixels).max()) or 1.0
    near = (pixels / scale).astype(np.float32)
    mean = near.mean(axis=0, dtype=np.float64)
    centred = near - mean.astype(np.float32)
    variances, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64) / len(near))
    directions = directions[:, ::-1]
    scores = centred @ directions.astype(np.float32)
    finest = max(np.abs(scores).max() / LARGEST_SCORE, np.abs(centred).max() / FINENESS)
    deviations = np.sqrt(np.maximum(variances[::-1], 0))
    step, steps = _fitting(scores, deviations, float(finest), budget)
    kept = steps.shape[1]
    lost = np.square(scores[:, kept:], dtype=np.float64).sum()
    lost += np.square(step * steps - scores[:, :kept], dtype=np.float64).sum()
    error = np.sqrt(lost / np.square(near, dtype=np.float64).sum()) if near.any() else 0.0
    basis = directions[:, :kept].T * scale
    return CodedSpectra(mean * scale, basis, step, _folded(steps), float(error))


def _fitting(scores: Array, deviations: Array, finest: float, budget: int) -> tuple[float, Array]:
    """The finest step at which the scores fit in the budget, and the scores in steps."""
    if finest == 0:
        return 1.0, np.zeros((len(scores), 0), np.int16)
    step = finest
    while _bits(deviations, step) * len(scores) > 8 * budget:
        step *= COARSER
    while True:
        kept = int(np.count_nonzero(deviations > step / 4))
        steps = np.rint(scores[:, :kept] / step).astype(np.int16)
        if kept == 0 or len(deflated(_folded(steps))) <= budget:
            return step, steps
        step *= COARSER


def _bits(deviations: Array, step: float) -> float:
    """About what the scores of one spectrum take, in bits."""
    with np.errstate(divide="ignore"):
        each = np.log2(deviations / step) + GAUSSIAN_BITS
    return float(np.maximum(each, 0).sum())


def _folded(steps: Array) -> Array:
    wide = steps.T.astype(np.int32)
    return ((wide << 1) ^ (wide >> 31)).astype(np.uint16)
