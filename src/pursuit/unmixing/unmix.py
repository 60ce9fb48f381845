"""Abundances: how much of every endmember is in every pixel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast, overload

import numpy as np

from pursuit.base.cores import thread_count
from pursuit.base.errors import InputError
from pursuit.base.scaling import check_range, row_norms
from pursuit.base.threads import for_each_block
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import count, one_of, real_array
from pursuit.unmixing.diagnosis import complaint
from pursuit.unmixing.extraction import Array, Extraction
from pursuit.unmixing.labelled import is_labelled, silently, unmix_labelled
from pursuit.unmixing.rows import unit_rows
from pursuit.unmixing.scene import spectra_of
from pursuit.unmixing.unmixed import Unmixing, endmember_names, mean_ratio

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

CHUNK = 2**15
"""Pixels copied together where only some are fitted: a multiple of the blocks of the fits."""
BLOCK = 1024
"""Pixels looked at together when fits are compared with measurements."""


@overload
def unmix(  # type: ignore[overload-overlap]
    scene: DataArray,
    endmembers: object,
    constraint: str = ...,
    *,
    n_nonzero: int | None = ...,
    names: Sequence[str] = ...,
    dim: str = ...,
    threads: int | None = ...,
    progress: bool | None = ...,
) -> Dataset: ...


@overload
def unmix(
    scene: object,
    endmembers: object,
    constraint: str = ...,
    *,
    n_nonzero: int | None = ...,
    names: Sequence[str] = ...,
    dim: str = ...,
    threads: int | None = ...,
    progress: bool | None = ...,
) -> Unmixing: ...


def unmix(
    scene: object,
    endmembers: object,
    constraint: str = "non-negative",
    *,
    n_nonzero: int | None = None,
    names: Sequence[str] = (),
    dim: str = "band",
    threads: int | None = None,
    progress: bool | None = None,
) -> Unmixing | Dataset:
    """The abundances that bring the endmembers nearest to every pixel, in least squares.

    Parameters
    ----------
    scene
        A `Scene`, or spectra as rows, shape ``(n_pixels, bands)``, or an `xarray.DataArray` of
        any dimensions with bands along `dim`.
    endmembers
        One spectrum per row, shape ``(r, bands)``, or what `pick` returned, or for a labelled
        scene a `DataArray` with names along its other dimension.
    constraint
        ``"none"``: any real abundances, the shortest where endmembers depend on each other.
        ``"non-negative"``: at least zero. ``"sum-to-one"``: at least zero, and of sum exactly
        one. ``"sum-at-most-one"``: at least zero, and the rest to one is shade. All three by an
        exact active-set method; with a sum, exact up to the rounding of the square of the longest
        endmember. ``"sparse"``: at least zero, and at most `n_nonzero` endmembers in a pixel, by
        orthogonal matching pursuit over their `Cone` (sparse abundances of any sign are the codes
        of `encode` over the endmembers).
    n_nonzero
        For ``"sparse"`` alone.
    names
        Of the endmembers; numbered from 1 where there are none.
    dim
        For a labelled scene: the dimension of the bands.
    threads
        Python threads; else ``$PURSUIT_THREADS``, else every core. It changes no bit.
    progress
        True or False for a progress bar or none; by default one appears on a terminal when the
        job takes more than two seconds.

    Returns
    -------
    Unmixing
        Abundances, and for every pixel the residual norm and the spectral angle of its fit.
        They do not depend on units, except that a sum of one needs pixels and endmembers in the
        same. Where the fit is bad a warning says so, and what is likely to blame.
        For a labelled scene an `xarray.Dataset` with ``abundance`` (one more dimension, of the
        endmembers), ``residual_norm`` and ``angle``: with the coordinates of the scene, NaN
        where pixels have NaN or the fill value, and lazily if the scene is chunked.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.unmixing import unmix
    >>> pure = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]])
    >>> found = unmix([[1.5, 1.75, 2.25]], pure, "sum-to-one")
    >>> found.abundances.round(6).tolist()
    [[0.75, 0.25]]
    """
    one_of("constraint", constraint, tuple(SOLVERS))
    if (constraint == "sparse") != (n_nonzero is not None):
        raise InputError('n_nonzero: expected a number with the constraint "sparse", and only then')
    k = None if n_nonzero is None else count("n_nonzero", n_nonzero, 1)
    if not is_labelled(scene):
        return _unmix(scene, endmembers, constraint, k, names, threads, progress)

    def part(pixels: Array, spectra: Array, alone: bool) -> Unmixing:
        work = partial(_unmix, pixels, spectra, constraint, k, ())
        # Dask runs the chunks side by side: one thread for each.
        return silently(partial(work, 1, False)) if alone else work(threads, progress)

    return unmix_labelled(cast("DataArray", scene), endmembers, dim, names, part)


def _unmix(
    scene: object,
    endmembers: object,
    constraint: str,
    n_nonzero: int | None,
    names: Sequence[str],
    threads: int | None,
    progress: bool | None,
) -> Unmixing:
    pixels, placed = spectra_of(scene)
    given = endmembers if isinstance(endmembers, Extraction) else None
    spectra = _checked(pixels, endmembers if given is None else given.endmembers, constraint)
    called = endmember_names(names, len(spectra))
    with _of_pixels():
        abundances = SOLVERS[constraint](_UnmixTask(pixels, spectra, n_nonzero, threads, progress))
    quality = _quality(pixels, abundances, spectra, threads)
    bad = complaint(pixels, spectra, constraint, mean_ratio(quality[0], quality[2]), placed)
    if bad is not None:
        warnings.warn(bad, stacklevel=3)
    picked = _picked_from(pixels, given)
    words = _in_words(constraint, n_nonzero)
    return Unmixing(abundances, spectra, *quality, words, placed, called, picked, bad)


def _picked_from(pixels: Array, endmembers: Extraction | None) -> Extraction | None:
    """What was picked, if from this scene: pixels of another have no place in it."""
    if endmembers is None or endmembers.indices.max() >= len(pixels):
        return None
    alone = np.ones(len(endmembers), bool)
    if endmembers.averaged_over is not None:
        alone = endmembers.averaged_over == 1
    here = pixels[endmembers.indices[alone]]
    return endmembers if np.array_equal(here, endmembers.endmembers[alone]) else None


def _checked(pixels: Array, endmembers: object, constraint: str) -> Array:
    """Endmembers as rows of as many bands as the pixels."""
    spectra = real_array("endmembers", endmembers, ndim=2)
    if spectra.shape[1] != pixels.shape[1]:
        raise InputError(
            f"endmembers: expected {pixels.shape[1]} bands as in the pixels, got {spectra.shape[1]}"
        )
    check_range("endmembers", spectra, "endmember")
    if constraint != "sum-to-one":
        _refuse_zeros(spectra)
    return spectra


@contextmanager
def _of_pixels() -> Iterator[None]:
    """Let errors about signals and atoms speak of pixels and endmembers."""
    try:
        yield
    except InputError as error:
        said = str(error).replace("signal", "pixel").replace("atom", "endmember")
        raise InputError(said) from None


@dataclass(frozen=True, eq=False)
class _UnmixTask:
    pixels: Array
    endmembers: Array
    n_nonzero: int | None
    threads: int | None
    progress: bool | None


def _free(job: _UnmixTask) -> Array:
    """Return the shortest least-squares solutions, from singular vectors of unit endmembers.

    Multiplied one after another they leave no more than rounding of a pixel's fit, however nearly
    endmembers depend on each other.
    """
    unit, norms = unit_rows(job.endmembers)
    left, sizes, right = np.linalg.svd(unit, full_matrices=False)
    rank = np.count_nonzero(sizes > tolerances(np.float64).rank * max(unit.shape) * sizes[0])
    to_directions, to_abundances = right[:rank].T / sizes[:rank], left[:, :rank].T / norms
    dtype = np.result_type(job.pixels, job.endmembers)
    abundances = np.empty((len(job.pixels), len(unit)), dtype)

    def block(number: int) -> None:
        here = slice(number * BLOCK, (number + 1) * BLOCK)
        y = job.pixels[here].astype(np.float64)
        abundances[here] = (y @ to_directions) @ to_abundances

    for_each_block(
        -(-len(job.pixels) // BLOCK), lambda: block, thread_count(job.threads), brief=True
    )
    return abundances


def _non_negative(job: _UnmixTask) -> Array:
    from pursuit.encoding.nonnegative import nonnegative_fits

    fits = nonnegative_fits(job.pixels, job.endmembers, threads=job.threads, progress=job.progress)
    _say_unfinished(fits.finished)
    return fits.coefficients


def _sum_to_one(job: _UnmixTask) -> Array:
    from pursuit.encoding.nonnegative import simplex_fits

    fits = simplex_fits(job.pixels, job.endmembers, threads=job.threads, progress=job.progress)
    _say_unfinished(fits.finished)
    return fits.coefficients


def _sum_at_most_one(job: _UnmixTask) -> Array:
    """Non-negative shares where these sum to at most one, else shares that sum to one.

    The distance is convex in the shares: where its minimum over a ≥ 0 lies beyond Σ a = 1, the
    best that is allowed lies on it.
    """
    from pursuit.encoding.nonnegative import simplex_fits

    shares = _non_negative(job)
    over = np.flatnonzero(shares.sum(axis=1) > 1)
    finished = np.ones(len(over), dtype=bool)
    for start in range(0, len(over), CHUNK):  # never a copy of the whole scene
        here = slice(start, start + CHUNK)
        pixels = job.pixels[over[here]]
        fits = simplex_fits(pixels, job.endmembers, threads=job.threads, progress=job.progress)
        shares[over[here]], finished[here] = fits.coefficients, fits.finished
    _say_unfinished(finished)
    return shares


def _sparse(job: _UnmixTask) -> Array:
    # They load SciPy, which readers of scenes can do without.
    from pursuit.atoms.cone import Cone
    from pursuit.encoding import encode

    codes = encode(
        job.pixels,
        Cone(job.endmembers),
        "orthogonal",
        n_nonzero=job.n_nonzero,
        threads=job.threads,
        progress=job.progress,
    )
    dense: Array = codes.toarray()
    return dense


SOLVERS: dict[str, Callable[[_UnmixTask], Array]] = {
    "none": _free,
    "non-negative": _non_negative,
    "sum-to-one": _sum_to_one,
    "sum-at-most-one": _sum_at_most_one,
    "sparse": _sparse,
}


def _in_words(constraint: str, n_nonzero: int | None) -> str:
    return constraint if n_nonzero is None else f"{constraint}, at most {n_nonzero} a pixel"


def _refuse_zeros(endmembers: Array) -> None:
    zero = np.flatnonzero(~endmembers.any(axis=1))
    if zero.size:
        raise InputError(
            f'endmembers: number {zero[0]} is zero, which only the constraint "sum-to-one" can use'
        )


def _say_unfinished(finished: Array) -> None:
    left = np.count_nonzero(~finished)
    if left:
        warnings.warn(
            f"{left} of {len(finished)} pixels were left before their best abundances were proved",
            stacklevel=4,
        )


def _quality(
    pixels: Array, abundances: Array, endmembers: Array, threads: int | None
) -> tuple[Array, Array, Array]:
    """Residual norm, spectral angle and norm of every pixel."""
    found = np.empty((3, len(pixels)))
    spectra, shares = endmembers.astype(np.float64), abundances.astype(np.float64)

    def block(number: int) -> None:
        here = slice(number * BLOCK, (number + 1) * BLOCK)
        found[:, here] = _compare(pixels[here], shares[here] @ spectra)

    for_each_block(-(-len(pixels) // BLOCK), lambda: block, thread_count(threads), brief=True)
    return found[0], found[1], found[2]


def _compare(pixels: Array, fits: Array) -> tuple[Array, Array, Array]:
    """‖y − fit‖, the angle between y and fit, ‖y‖, for rows y.

    The angle between unit vectors u and v is 2·atan2(‖u − v‖, ‖u + v‖): no digits are lost where
    it is small, and it is π/2 where one of them is zero.
    """
    u, norms = unit_rows(pixels)
    v, _ = unit_rows(fits)
    angles = 2 * np.arctan2(np.linalg.norm(u - v, axis=1), np.linalg.norm(u + v, axis=1))
    return row_norms(pixels - fits), angles, norms
