"""Pixels picked as endmembers: the result, and what every picker asks of its input."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range, power_of_two
from pursuit.base.validation import count, real_array

Array = NDArray[Any]
Integers = NDArray[np.intp]


@dataclass(frozen=True)
class Score:
    """How a picker did in a contest: the mean relative residual of its set, smaller is better."""

    picker: str
    residual: float
    won: bool


@dataclass(frozen=True, eq=False, repr=False)
class Extraction:
    """Pixels of a scene picked as its endmembers.

    Attributes
    ----------
    indices
        The number of each picked pixel, counted from 0.
    endmembers
        The picked pixels themselves, one per row: ``pixels[indices]``, or each the mean of it
        and its like where `averaged_over` says so.
    labels
        For every pixel the number of its cluster (cluster k is represented by pixel
        ``indices[k]``; −1 for a pixel outside of the sample), or None for a method that does not
        cluster.
    method
        The name of the method.
    contest
        How each picker did, where several were run and the best was taken.
    averaged_over
        For every endmember how many pixels it is the mean of, or None where none was averaged.
    n_sampled
        How many pixels, evenly spaced in the scene, the endmembers were extracted from, or None
        if from all of them.
    """

    indices: Integers
    endmembers: Array
    labels: Integers | None
    method: str
    contest: tuple[Score, ...] = ()
    averaged_over: Integers | None = None
    n_sampled: int | None = None

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        head = f"{len(self)} endmembers with {self.endmembers.shape[1]} bands, by {self.method}"
        if self.n_sampled is not None:
            head += f", from {self.n_sampled} evenly spaced pixels"
        lines = [head, *(self._line(k) for k in range(len(self)))]
        lines += [
            f"  {score.picker}: mean relative residual {100 * score.residual:.4g} %"
            + ", taken" * score.won
            for score in self.contest
        ]
        return "\n".join(lines)

    def _line(self, k: int) -> str:
        line = f"  {k}: pixel {self.indices[k]}"
        if self.labels is not None:
            line += f", cluster of {np.count_nonzero(self.labels == k)} pixels"
        if self.averaged_over is not None:
            line += f", mean of {self.averaged_over[k]}"
        return line


def checked_pixels(pixels: object, r: object) -> tuple[Array, int]:
    """`pixels` as finite rows of numbers, and `r` as a number of rows that can be picked."""
    rows = real_array("pixels", pixels, ndim=2)
    check_range("pixels", rows, "pixel")
    number = count("r", r, 1)
    if number > len(rows):
        raise InputError(f"r: expected at most the number of pixels, {len(rows)}, got {number}")
    return rows, number


def scaled_to_one(rows: Array) -> Array:
    """Return a copy of rows in float64, over the power of two next to their largest magnitude."""
    copy: Array = np.divide(rows, power_of_two(rows), dtype=np.float64)
    return copy


def stopped_early(pixels: Array, r: int, found: int, reason: str, stacklevel: int = 3) -> None:
    """Refuse `r` if there are not even `r` different pixels; otherwise warn that fewer were found.

    Only called after an early stop: looking for equal pixels may read the whole scene.
    """
    distinct = _count_distinct(pixels, r)
    if distinct < r:
        raise InputError(f"r: expected at most the number of different pixels, {distinct}, got {r}")
    warnings.warn(f"found {found} endmembers instead of {r}: {reason}", stacklevel=stacklevel)


def _count_distinct(rows: Array, most: int) -> int:
    """Return the number of different rows, counted up to `most`."""
    distinct: set[bytes] = set()
    for row in rows:
        distinct.add((row + 0.0).tobytes())  # the sum turns -0.0 into 0.0, which equals it
        if len(distinct) >= most:
            break
    return len(distinct)
