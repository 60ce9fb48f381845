"""Arrays as short texts: quantised as far as the eye allows, deflated, in base 64.

The page undoes it with what every browser has (`assets/unpack.js`).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
BLOCK = 2**21
"""Numbers (pixels × bands) that are worked on together."""
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
    planes = little.reshape(-1).view(np.uint8).reshape(-1, little.itemsize).T
    coder = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    squeezed = [
        coder.compress(plane[start : start + BLOCK].tobytes())
        for plane in planes
        for start in range(0, len(plane), BLOCK)
    ]
    return b"".join(squeezed) + coder.flush()


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


def code_spectra(pixels: Array, budget: int, order: Array | None = None) -> CodedSpectra:
    """Spectra in at most about `budget` bytes: principal components, all rounded to one step.

    One step for all components loses least for the bits spent: where a component varies less
    than the step it costs nothing. Several passes over blocks of pixels take the place of arrays
    as large as the scene. `order` is the order of the pixels in the scores, by default their own.
    """
    blocks = _PixelBlocks.of(pixels, order)
    total = blocks.sum_of_squares()
    moments, largest = blocks.moments()
    variances, directions = np.linalg.eigh(moments)
    directions = directions[:, ::-1]
    components = directions.T.astype(np.float32)
    finest = max(blocks.largest_score(components) / LARGEST_SCORE, largest / FINENESS)
    deviations = np.sqrt(np.maximum(variances[::-1], 0))
    step, scores, squeezed = _fitting(blocks, components, deviations, finest, budget)
    kept = len(scores)
    error = np.sqrt(blocks.lost(components, step, kept) / total) if total > 0 else 0.0
    basis = directions[:, :kept].T * blocks.scale
    mean = blocks.mean * blocks.scale
    return CodedSpectra(mean, basis, step, scores, float(error), squeezed)


@dataclass(frozen=True, eq=False)
class _PixelBlocks:
    """Pixels in some order, block by block: over their largest entry, less their mean, in float32.

    Attributes
    ----------
    every
        One of so many pixels is used.
    """

    pixels: Array
    order: Array
    scale: float
    mean: Array
    every: int = 1

    @staticmethod
    def of(pixels: Array, order: Array | None) -> _PixelBlocks:
        scale = max(float(pixels.max()), -float(pixels.min())) or 1.0
        order = np.arange(len(pixels)) if order is None else order
        raw = _PixelBlocks(pixels, order, scale, np.zeros(pixels.shape[1]))
        total = sum(near.sum(axis=0, dtype=np.float64) for _, near in raw.scaled())
        return _PixelBlocks(pixels, order, scale, total / len(pixels))

    def __len__(self) -> int:
        return len(range(0, len(self.order), self.every))

    def scaled(self) -> Iterator[tuple[slice, Array]]:
        """Yield where each block lies, and its pixels over the largest entry of all."""
        order = self.order[:: self.every]
        size = max(1, BLOCK // self.pixels.shape[1])
        for start in range(0, len(order), size):
            here = slice(start, start + size)
            yield here, (self.pixels[order[here]] / self.scale).astype(np.float32, copy=False)

    def centered(self) -> Iterator[tuple[slice, Array]]:
        """Yield where each block lies, and its pixels less the mean."""
        mean = self.mean.astype(np.float32)
        for here, near in self.scaled():
            yield here, near - mean

    def sum_of_squares(self) -> float:
        return sum(_sum_of_squares(near) for _, near in self.scaled())

    def moments(self) -> tuple[Array, float]:
        """Return the covariance of the bands and the largest deviation from the mean."""
        bands = self.pixels.shape[1]
        moments, largest = np.zeros((bands, bands)), 0.0
        for _, centered in self.centered():
            moments += (centered.T @ centered).astype(np.float64)
            largest = max(largest, float(np.abs(centered).max()))
        return moments / len(self), largest

    def largest_score(self, components: Array) -> float:
        """Return the largest score of a pixel by absolute value."""
        scores = (components @ centered.T for _, centered in self.centered())
        return max(float(np.abs(part).max()) for part in scores)

    def quantized(self, components: Array, step: float) -> Array:
        """Return the scores in steps, folded, shape ``(components, n_pixels)``."""
        folded = np.empty((len(components), len(self)), np.uint16)
        for here, centered in self.centered():
            folded[:, here] = _folded(_in_steps(components @ centered.T, step))
        return folded

    def lost(self, components: Array, step: float, kept: int) -> float:
        """Return the sum of squares of what the first scores in steps leave of the pixels."""
        total = 0.0
        for _, centered in self.centered():
            scores = components @ centered.T
            total += _sum_of_squares(scores[kept:])
            total += _sum_of_squares(step * _in_steps(scores[:kept], step) - scores[:kept])
        return total


def _fitting(
    blocks: _PixelBlocks, components: Array, deviations: Array, finest: float, budget: int
) -> tuple[float, Array, bytes]:
    """The finest step at which the scores fit in the budget, these scores, and deflated.

    Looked for on a part of the pixels first: deflating takes longer than all the rest.
    """
    if finest == 0:
        nothing = np.zeros((0, len(blocks)), np.uint16)
        return 1.0, nothing, deflated(nothing)
    step = finest
    while _bits(deviations, step) * len(blocks) > 8 * budget:
        step *= COARSER
    if len(blocks) > FEW:
        part = replace(blocks, every=PART)
        step = _coarse_enough(part, components, deviations, step, budget // PART)[0]
    return _coarse_enough(blocks, components, deviations, step, budget)


def _coarse_enough(
    blocks: _PixelBlocks, components: Array, deviations: Array, step: float, budget: int
) -> tuple[float, Array, bytes]:
    while True:
        kept = int(np.count_nonzero(deviations > step / 4))
        scores = blocks.quantized(components[:kept], step)
        squeezed = deflated(scores)
        if kept == 0 or len(squeezed) <= budget:
            return step, scores, squeezed
        del scores  # before the next ones are made
        step *= COARSER


def _sum_of_squares(values: Array) -> float:
    flat = values.ravel()
    return float(np.dot(flat, flat)) if flat.size else 0.0


def _bits(deviations: Array, step: float) -> float:
    """About what the scores of one spectrum take, in bits."""
    least = 2.0**-GAUSSIAN_BITS  # a narrower score takes no bits
    return float((np.log2(np.maximum(deviations / step, least)) + GAUSSIAN_BITS).sum())


def _in_steps(scores: Array, step: float) -> Array:
    steps: Array = np.rint(scores / np.float32(step)).astype(np.int16)
    return steps


def _folded(steps: Array) -> Array:
    return ((steps << 1) ^ (steps >> 15)).view(np.uint16)
