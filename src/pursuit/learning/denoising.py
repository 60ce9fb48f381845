"""A picture without its noise: patches over a dictionary that is learned from the picture itself.

Elad and Aharon (2006): every patch y of 8 × 8 pixels, its mean taken off, gets the sparsest code
that greed finds with ‖y − γD‖ ≤ ε, where ε is what noise alone seldom exceeds; a pixel of the
result is the mean over the 64 patches that it is in, and a little of the pixel itself. A picture in
colours is taken apart into lightness and two differences of colours first, by an orthogonal
change of axes that leaves white noise white.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.fft import dctn
from scipy.special import gammaincinv

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.progress import Silent, bar
from pursuit.base.scaling import check_range
from pursuit.base.validation import Array, count, positive, real_array
from pursuit.encoding import encode
from pursuit.learning.door import learn
from pursuit.learning.learned import Learned
from pursuit.learning.patches import coverage, overlay, patches, some_patches

SIDE = 8
ATOMS, NONZERO = 256, 5
SIGNALS = 100_000
"""Patches that are learned from; of three times as many that are looked at, those above noise."""
FLATTEST = 0.1
"""The share of patches whose high frequencies are taken for noise."""
LEAST_CUT = 0.02
"""The share of patches, those with the fewest pixels at an end of the range, that is enough."""
CHANCE = 0.93
"""The probability that ε exceeds noise alone."""
UNSEEN = 1 / 255
"""Noise that is estimated to be less than a level of 8 bits stays."""
STRIP = 2**18
"""Patches that are in memory together."""
KEPT = 30 / 255
"""Over σ: the weight of a pixel itself, against one for each patch that it is in."""
COLOURS = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
"""Lightness and two differences of red, green and blue: orthonormal rows."""


@dataclass(frozen=True)
class Denoised:
    """A picture without its noise.

    Attributes
    ----------
    pixels
        In the shape that was given.
    noise
        The standard deviation of the noise that was taken off each channel: of a grey picture, or
        of lightness and two differences of colours; zero where it stays as it is.
    learned
        The dictionary of each channel; None where no patch stands out of the noise.
    """

    pixels: Array
    noise: tuple[float, ...]
    learned: tuple[Learned | None, ...]


def denoise(
    pixels: object,
    noise: float | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Denoised:
    """Take white noise off a picture, (h, w) or (h, w, 3), whose range is from 0 to 1.

    `noise` is its standard deviation. Where it is not given it is estimated for each channel, and
    a channel with less than 1/255 stays as it is.
    """
    given = real_array("pixels", pixels)
    check_range("pixels", given)
    picture = given.astype(np.float64)
    if picture.ndim != 2 and (picture.ndim != 3 or picture.shape[2] != 3):
        raise InputError(
            f"pixels: expected a grey picture (h, w) or one in colours (h, w, 3), got shape "
            f"{picture.shape}"
        )
    if min(picture.shape[:2]) < SIDE:
        raise InputError(
            f"pixels: expected at least {SIDE} × {SIDE} pixels, got {picture.shape[0]} × "
            f"{picture.shape[1]}"
        )
    sigma = None if noise is None else positive("noise", noise)
    count("seed", seed)
    threads = thread_count(threads)
    channels = [picture] if picture.ndim == 2 else list(np.moveaxis(picture @ COLOURS.T, 2, 0))
    with bar("denoise", len(channels), progress) as shown:
        work = _Work(seed, threads, shown)
        ends = _cut_off(picture)
        levels = [_seen(estimate_noise(c, ends)) if sigma is None else sigma for c in channels]
        done = [work(c, level) for c, level in zip(channels, levels, strict=True)]
    clean = [channel for channel, _ in done]
    whole = clean[0] if picture.ndim == 2 else np.stack(clean, axis=2) @ COLOURS
    return Denoised(whole, tuple(levels), tuple(learned for _, learned in done))


def estimate_noise(channel: Array, cut_off: Array) -> float:
    """The standard deviation of white noise in a channel of a picture.

    The cosine transform of a patch is orthonormal, so that noise has the same variance in all its
    coefficients, independently. Of the patches with the least in low frequencies, whose picture is
    flat, the high frequencies are noise: choosing by the former says nothing about the latter.
    `cut_off` says which pixels are at an end of the range, where noise is cut off.
    """
    rows, ends = (
        some_patches(values, SIDE, SIGNALS, np.random.default_rng(0))
        for values in (channel, cut_off)
    )
    number = np.count_nonzero(ends, axis=1)
    rows = rows[number <= np.quantile(number, LEAST_CUT)]
    squares = dctn(rows.reshape(-1, SIDE, SIDE), axes=(1, 2), norm="ortho") ** 2
    frequency = np.add.outer(np.arange(SIDE), np.arange(SIDE))
    low, high = (frequency > 0) & (frequency <= SIDE // 2), frequency >= SIDE
    texture = squares[:, low].sum(axis=1)
    flat = squares[texture <= np.quantile(texture, FLATTEST)][:, high]
    # The median of χ² with so many degrees of freedom is a little below their number.
    freedom = flat.shape[1] / 2
    return float(np.sqrt(np.median(flat.sum(axis=1)) / (2 * gammaincinv(freedom, 0.5))))


def _seen(sigma: float) -> float:
    return sigma if sigma >= UNSEEN else 0.0


def _cut_off(picture: Array) -> Array:
    """Which pixels are at an end of the range."""
    ends = (picture <= 0) | (picture >= 1)
    cut: Array = np.atleast_3d(ends).max(axis=2)
    return cut


class _Work:
    """Denoises one channel after the other."""

    def __init__(self, seed: int, threads: int, shown: Silent) -> None:
        self._seed, self._threads, self._shown = seed, threads, shown
        self._done = 0

    def __call__(self, channel: Array, sigma: float) -> tuple[Array, Learned | None]:
        if sigma == 0:
            return channel, None
        self._shown.update(self._done, "learning")
        goal = tolerance(sigma)
        learned = self._learn(channel, goal)
        total = np.zeros(channel.shape)
        for begin, end in _strips(channel.shape):
            part = _clean(channel[begin:end], learned, goal, self._threads)
            overlay(part, SIDE, total[begin:end])
            self._shown.update(self._done + end / len(channel), "encoding patches")
        self._done += 1
        weight = KEPT / sigma
        return (total + weight * channel) / (coverage(channel.shape, SIDE) + weight), learned

    def _learn(self, channel: Array, goal: float) -> Learned | None:
        """A dictionary of the patches that are more than noise."""
        rng = np.random.default_rng(self._seed)
        rows = some_patches(channel, SIDE, 3 * SIGNALS, rng).astype(np.float32)
        rows -= rows.mean(axis=1, keepdims=True)
        rows = rows[np.linalg.norm(rows, axis=1) > goal][:SIGNALS]
        atoms = min(ATOMS, len(rows) // 4)
        if atoms < NONZERO:
            return None
        how = {"seed": self._seed, "threads": self._threads, "progress": False}
        return learn(rows.reshape(-1, SIDE, SIDE), atoms, NONZERO, **how)  # type: ignore[arg-type]


def tolerance(sigma: float) -> float:
    """ε: ‖noise‖ of a patch is below it with probability 0.93 (a quantile of χ)."""
    return sigma * float(np.sqrt(2 * gammaincinv(SIDE * SIDE / 2, CHANCE)))


def _strips(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Rows of a picture that are worked on together; patches of two strips overlap."""
    height, width = shape[0] - SIDE + 1, shape[1] - SIDE + 1
    step = max(1, STRIP // width)
    for begin in range(0, height, step):
        yield begin, min(begin + step, height) + SIDE - 1


def _clean(strip: Array, learned: Learned | None, goal: float, threads: int) -> Array:
    """The patches of a strip without their noise."""
    rows = patches(strip.astype(np.float32), SIDE)
    mean = rows.mean(axis=1, keepdims=True)
    if learned is None:
        return np.repeat(mean, rows.shape[1], axis=1)
    atoms = learned.atoms.reshape(len(learned.atoms), -1)
    codes = encode(rows - mean, atoms, atol=goal, threads=threads, progress=False)
    clean: Array = codes @ atoms + mean
    return clean
