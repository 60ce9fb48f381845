"""Sounds: .wav read and written by SciPy, samples in .npy."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError, PursuitError
from pursuit.base.memory import memory_for
from pursuit.base.scaling import RANGE
from pursuit.base.validation import Array, in_rows, positive
from pursuit.files.arrays import existing_file, reading
from pursuit.files.npy import open_npy


class Sound(NamedTuple):
    """Samples, (length,) or (channels, length), and how many of them a second has."""

    samples: Array
    rate: float


def read_sound(path: Path, rate: float | None = None, columns: bool = False) -> Sound:
    """A .wav file, whole numbers as shares of the largest one; or a .npy file, with its rate.

    Channels are the rows of an array in a .npy file, or its columns.
    """
    file = existing_file(path)
    ending = file.suffix.lower()
    if ending == ".wav":
        if rate is not None:
            raise InputError(f"rate: {file} says its own; expected none for a .wav file")
        if columns:
            raise InputError(f"columns: {file} says which its channels are; expected a .npy file")
        return _read_wav(file)
    if ending != ".npy":
        raise InputError(f"{file}: expected a file that ends in .wav or .npy")
    if rate is None:
        raise InputError(f"rate: {file} does not say it; expected samples in a second")
    with reading(file):
        arrays = open_npy(file)
    if not arrays.shapes:
        raise InputError(f"{file}: holds no array of real numbers")
    samples = arrays.load(file.stem)
    return Sound(samples.T if columns else samples, positive("rate", rate))


def _read_wav(file: Path) -> Sound:
    from scipy.io import wavfile

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            with memory_for(file, file.stat().st_size):
                rate, samples = wavfile.read(file)
        except PursuitError:
            raise
        except Exception as error:  # SciPy raises nearly anything on bytes that it did not expect
            raise InputError(f"{file}: is not a complete .wav file ({error})") from None
    if any("EOF" in str(warning.message) for warning in seen):
        raise InputError(f"{file}: is not a complete .wav file, samples are missing at its end")
    if samples.size == 0:
        raise InputError(f"{file}: holds no samples")
    with memory_for(file, 8 * samples.size):
        shares = np.ascontiguousarray(_shares(samples).T)
    return Sound(shares, positive(f"{file}: its rate", rate))


def _shares(samples: Array) -> Array:
    """Whole numbers as shares of the largest one that their type holds; others as they are."""
    if samples.dtype.kind == "f":
        return in_rows(samples, np.dtype(np.float64))
    half = 2.0 ** (8 * samples.itemsize - 1)
    middle = half if samples.dtype.kind == "u" else 0.0  # eight bits are kept above zero
    shares: Array = (samples.astype(np.float64) - middle) / half
    return shares


def _fits_wav(sound: Sound) -> None:
    """Whether a .wav file can say it: whole rates of 32 bits, samples of single precision."""
    rows, instead = np.atleast_2d(sound.samples), "expected a .npy file for it"
    if sound.rate != round(sound.rate):
        raise InputError(
            "out: a .wav file needs a whole number of samples a second, got "
            f"{sound.rate:g}; {instead}"
        )
    if len(rows) * 4 * sound.rate >= 2**32:
        raise InputError(f"out: {sound.rate:g} samples a second are too many for .wav; {instead}")
    largest = np.abs(rows).max()
    if largest > RANGE[np.dtype(np.float32)][1]:
        raise InputError(f"out: samples of up to {largest:g} are too large for .wav; {instead}")


def write_sound(path: Path, sound: Sound) -> None:
    """A .wav file of floating-point samples, or a .npy file; whole or not at all."""
    ending = path.suffix.lower()
    if ending not in (".wav", ".npy"):
        raise InputError(f"out: expected a file that ends in .wav or .npy, got {path}")
    if ending == ".wav":
        _fits_wav(sound)
    with whole_file(path) as part, part.open("wb") as file:
        if ending == ".npy":
            np.save(file, sound.samples)
            return
        from scipy.io import wavfile

        wavfile.write(file, round(sound.rate), sound.samples.T.astype(np.float32))
