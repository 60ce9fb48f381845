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
PART = 8
"""Of so many pixels one is looked at when the step is guessed."""
FEW = 10_000
"""Pixels that are looked at all at once."""
COARSER = 1.15
"""By how much steps grow until everything fits."""


def pack(array: Array, squeezed: bytes | None = None) -> dict[str, Any]:
    """Any array of numbers as deflated bytes in base 64, with its type and shape.

    `squeezed` is what `deflated` gave for it, where that is known.
    """
    raw = deflated(array) if squeezed is None else squeezed
    text = base64.b64encode(raw).decode("ascii")
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
    squeezed
        The scores, deflated, where that was done already.
    """

    mean: Array
    basis: Array
    step: float
    scores: Array
    error: float
    squeezed: bytes | None = None

    def packed(self) -> dict[str, Any]:
        return {
            "mean": pack(self.mean.astype(np.float32)),
            "basis": pack(self.basis.astype(np.float32)),
            "step": self.step,
            "scores": pack(self.scores, self.squeezed),
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
    scores = directions.T.astype(np.float32) @ centred.T
    finest = max(np.abs(scores).max() / LARGEST_SCORE, np.abs(centred).max() / FINENESS)
    deviations = np.sqrt(np.maximum(variances[::-1], 0))
    step, steps, squeezed = _fitting(scores, deviations, float(finest), budget)
    kept = len(steps)
    lost = _sum_of_squares(scores[kept:]) + _sum_of_squares(step * steps - scores[:kept])
    error = np.sqrt(lost / _sum_of_squares(near)) if near.any() else 0.0
    basis = directions[:, :kept].T * scale
    return CodedSpectra(mean * scale, basis, step, _folded(steps), float(error), squeezed)


def _fitting(
    scores: Array, deviations: Array, finest: float, budget: int
) -> tuple[float, Array, bytes]:
    """The finest step at which the scores fit in the budget, the scores in steps, and deflated.

    Looked for on a part of the pixels first: deflating takes longer than all the rest.
    """
    if finest == 0:
        nothing = np.zeros((0, scores.shape[1]), np.int16)
        return 1.0, nothing, deflated(_folded(nothing))
    step = finest
    while _bits(deviations, step) * scores.shape[1] > 8 * budget:
        step *= COARSER
    if scores.shape[1] > FEW:
        step = _coarse_enough(scores[:, ::PART], deviations, step, budget // PART)[0]
    return _coarse_enough(scores, deviations, step, budget)


def _coarse_enough(
    scores: Array, deviations: Array, step: float, budget: int
) -> tuple[float, Array, bytes]:
    while True:
        kept = int(np.count_nonzero(deviations > step / 4))
        steps = np.rint(scores[:kept] / np.float32(step)).astype(np.int16)
        squeezed = deflated(_folded(steps))
        if kept == 0 or len(squeezed) <= budget:
            return step, steps, squeezed
        step *= COARSER


def _sum_of_squares(values: Array) -> float:
    flat = values.ravel()
    return float(np.dot(flat, flat)) if flat.size else 0.0


def _bits(deviations: Array, step: float) -> float:
    """About what the scores of one spectrum take, in bits."""
    with np.errstate(divide="ignore"):
        each = np.log2(deviations / step) + GAUSSIAN_BITS
    return float(np.maximum(each, 0).sum())


def _folded(steps: Array) -> Array:
    return ((steps << 1) ^ (steps >> 15)).view(np.uint16)
