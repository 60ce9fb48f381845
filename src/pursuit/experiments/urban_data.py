"""The scene of the hyperspectral experiment: the Urban file, or a simulated stand-in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pursuit.atoms.dictionary import Dictionary
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, real_array
from pursuit.files import data, open_arrays
from pursuit.unmixing import h2nmf

URBAN_FILE = "urban77/urban77.npz"
VARIABLES = ("pixels", "M")
"""What the file's authors call the matrix of pixels."""

PIXELS, BANDS, ENDMEMBERS = 5929, 162, 6
SPECTRUM = (5.4, 0.48186, 0.112, 0.0058, 2e-4, 1.4e-4)
"""Eigenvalues of the Gram matrix of the simulated unit atoms; they sum to the number of atoms."""
BRIGHTNESS = 1000
"""The largest value of a pixel, as in the Urban file."""
NOISE = 8.2
"""Standard deviation in each band: leaves the floor that Urban has."""


@dataclass(frozen=True, eq=False)
class Pixels:
    """Spectra as rows, the atoms to represent them, and what to call the whole."""

    signals: Array
    atoms: Dictionary
    name: str
    is_simulated: bool = False


def urban(path: str | os.PathLike[str] | None = None) -> Pixels:
    """The Urban pixels of a file, and six of them picked by H2NMF as atoms.

    Without a path the file is looked for (`pursuit.files.data.find`); where there is none, a
    simulated scene takes its place.

    Parameters
    ----------
    path
        A .npz, .npy, .mat or .csv file with a matrix of pixels, called ``pixels`` or ``M`` where
        it is not the only one. The longer side counts the pixels.
    """
    found = data.find(URBAN_FILE) if path is None else path
    if found is None:
        return simulated()
    signals = _read(found)
    atoms = h2nmf(signals, ENDMEMBERS).endmembers
    known = signals.shape == (PIXELS, BANDS)
    return Pixels(signals, Dictionary(atoms), "Urban" if known else Path(found).name)


def _read(path: str | os.PathLike[str]) -> Array:
    file = open_arrays(path)
    named = [name for name in VARIABLES if name in file.shapes]
    matrices = named or [name for name, shape in file.shapes.items() if len(shape) == 2]
    if len(matrices) != 1:
        raise InputError(
            f"{file.path}: expected one matrix of pixels, called {' or '.join(VARIABLES)} if there "
            f"are others, got {file.listing()}"
        )
    matrix = real_array(f"{file.path}: {matrices[0]}", file.load(matrices[0]), ndim=2)
    if min(matrix.shape) < ENDMEMBERS:
        raise InputError(
            f"{file.path}: expected at least {ENDMEMBERS} pixels and bands, got {matrix.shape}"
        )
    rows = matrix.T if matrix.shape[0] < matrix.shape[1] else matrix
    return np.ascontiguousarray(rows, np.float64)


def simulated(seed: int = 0) -> Pixels:
    """Mixtures of six smooth spectra whose unit Gram matrix has the eigenvalues `SPECTRUM`.

    Size, range, conditioning and noise are Urban's; the pixels are not.
    """
    rng = np.random.default_rng(seed)
    atoms = _spectra(rng)
    shares = rng.dirichlet(np.full(ENDMEMBERS, 0.3), PIXELS)
    light = rng.uniform(0.1, 0.6, (PIXELS, 1)) * BRIGHTNESS / atoms.max()
    clean = light * (shares @ atoms)
    noisy = np.clip(np.rint(clean + NOISE * rng.standard_normal(clean.shape)), 0, BRIGHTNESS)
    return Pixels(noisy, Dictionary(atoms), "Simulated scene (no Urban file)", True)


def _spectra(rng: np.random.Generator) -> Array:
    """Unit atoms Σ_k V_jk √λ_k q_k, with V Λ Vᵀ a correlation matrix and q_k cosines.

    The first cosine is constant and carries the largest eigenvalue, so the spectra are positive.
    """
    from scipy.stats import random_correlation

    gram = random_correlation.rvs(SPECTRUM, random_state=rng)
    eigenvalues, vectors = np.linalg.eigh(gram)
    vectors *= np.sqrt(np.maximum(eigenvalues, 0))
    vectors = vectors[:, ::-1] * np.sign(vectors[:, -1:])  # ±z_j is the same atom
    places = (np.arange(BANDS) + 0.5) * np.pi / BANDS
    cosines = np.cos(np.outer(np.arange(ENDMEMBERS), places))
    spectra: Array = vectors @ (cosines / np.linalg.norm(cosines, axis=1, keepdims=True))
    return spectra
