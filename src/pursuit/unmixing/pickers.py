"""Every way of picking endmembers, by name, and a contest between those that draw nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from pursuit.base.errors import InputError
from pursuit.base.validation import count, flag, one_of
from pursuit.unmixing.averaging import averaged
from pursuit.unmixing.extraction import (
    Array,
    Extraction,
    Integers,
    Score,
    checked_pixels,
    stopped_early,
)
from pursuit.unmixing.h2nmf import UNSPLIT, clusters, h2nmf
from pursuit.unmixing.rows import evenly_spaced, evenly_spaced_indices, unit_rows
from pursuit.unmixing.scene import spectra_of
from pursuit.unmixing.spa import spa, spa_constant, spa_normalised
from pursuit.unmixing.vca import vca

Picker = Callable[..., Extraction]

LARGEST_SAMPLE = 2**24
"""Numbers (pixels × bands) that endmembers are extracted from at most. A larger scene is replaced
by evenly spaced pixels within this limit: pickers hold up to two copies in float64."""
SAMPLE = 4096
"""Pixels that the contest is judged on at most, evenly spaced in the scene."""
TIED = 1e-9
"""Scores this close, relatively, are tied: the picker that stands first in the table is taken."""


def pick(
    pixels: object, r: int, picker: str = "auto", *, average: bool = True, seed: int = 0
) -> Extraction:
    """Pick `r` pixels of a scene as its endmembers.

    A scene of more than `LARGEST_SAMPLE` = 2**24 numbers (pixels × bands) is sampled: everything
    below works on the pixels, evenly spaced in it, that stay within this limit, so that memory
    does. The indices are those of the whole scene, and ``n_sampled`` says how many were used.

    Parameters
    ----------
    pixels
        A `Scene`, or spectra as rows, shape ``(n_pixels, bands)``.
    r
        How many.
    picker
        ``"auto"``: all of the following but ``"vca"``, and of their sets the one with the
        smallest mean, over pixels evenly spaced in the scene, of the residual of the
        non-negative fit relative to the pixel's own norm, so that dark pixels count as much as
        bright ones. ``"h2nmf"``, ``"spa"``, ``"vca"``: see there. ``"h2nmf-normalised"`` and
        ``"spa-normalised"``: on pixels divided by their norms, which find dark materials.
        ``"spa-constant"``: on pixels with one more band, constant at the largest norm of a
        pixel, for scenes whose shares sum to one.
    average
        Replace a picked pixel by the mean direction of those that differ from it by no more
        than noise (see `averaged`). The contest is judged on the pixels themselves.
    seed
        For ``"vca"`` alone; all others draw nothing.

    Returns
    -------
    Extraction
        With the scores of the contest, if there was one, and ``n_sampled``, if the scene was
        sampled.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.unmixing import pick
    >>> pure = np.array([[1.0, 2.0, 3.0], [0.03, 0.01, 0.0]])  # the second is dark
    >>> shares = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])
    >>> sorted(pick(shares @ pure, 2).indices.tolist())
    [0, 3]
    """
    one_of("picker", picker, ("auto", *PICKERS))
    flag("average", average)
    count("seed", seed)
    rows, _ = spectra_of(pixels)
    if rows.size <= LARGEST_SAMPLE:
        return _pick(rows, r, picker, average, seed)
    sample = evenly_spaced_indices(len(rows), max(1, LARGEST_SAMPLE // rows.shape[1]))
    return _in_whole_scene(_pick(rows[sample], r, picker, average, seed), sample, len(rows))


def _in_whole_scene(sampled: Extraction, sample: Integers, n_pixels: int) -> Extraction:
    """Return an extraction from a sample with the indices and the labels of the whole scene."""
    labels = None
    if sampled.labels is not None:
        labels = np.full(n_pixels, -1, dtype=np.intp)
        labels[sample] = sampled.labels
    return replace(sampled, indices=sample[sampled.indices], labels=labels, n_sampled=len(sample))


def _pick(rows: Array, r: int, picker: str, average: bool, seed: int) -> Extraction:
    """Pick endmembers from rows that are all looked at."""
    # One thread: sums in a fixed order make the picks those of any machine.
    with threadpool_limits(1, "blas"):
        if picker == "auto":
            found = contest(rows, r)
        elif picker == "vca":
            found = vca(rows, r, seed=seed)
        else:
            found = PICKERS[picker](rows, r)
        return averaged(rows, found) if average else found


def contest(pixels: Array, r: int) -> Extraction:
    """The best set of the deterministic pickers; see ``"auto"`` in `pick`.

    A picker that cannot find r endmembers takes part only if none can.

    Parameters
    ----------
    pixels, r
        As in `pick`.
    """
    found, refusals, said = _run_all(pixels, r)
    if not found:
        raise refusals[0]
    whole = {name: picked for name, picked in found.items() if len(picked) == r}
    found = whole or found
    sample = unit_rows(evenly_spaced(pixels, SAMPLE))[0]
    scores = {name: mean_relative_residual(sample, of.endmembers) for name, of in found.items()}
    best = min(scores.values())
    winner = next(name for name, score in scores.items() if score <= (1 + TIED) * best)
    if said[winner]:
        warnings.warn(said[winner], stacklevel=3)
    table = tuple(Score(name, score, name == winner) for name, score in scores.items())
    return replace(found[winner], contest=table)


def _run_all(
    pixels: Array, r: int
) -> tuple[dict[str, Extraction], list[InputError], dict[str, str]]:
    """What each picker found, why some found nothing, and what was said of those found early."""
    found: dict[str, Extraction] = {}
    refusals: list[InputError] = []
    said: dict[str, str] = {}
    for name in DETERMINISTIC:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                picked = PICKERS[name](pixels, r)
            except InputError as error:
                refusals.append(error)
                continue
        if picked.endmembers.any(axis=1).all():  # nothing is made of a pixel of zeros
            found[name] = picked
            said[name] = "; ".join(str(warning.message) for warning in caught)
        else:
            refusals.append(InputError(f"pixels: {name} picked a pixel of zeros"))
    return found, refusals, said


def mean_relative_residual(pixels: Array, endmembers: Array) -> float:
    """The mean of ‖y − fit‖/‖y‖ over pixels y ≠ 0, with non-negative shares."""
    from pursuit.encoding.nonnegative import nonnegative_fits

    some = pixels[pixels.any(axis=1)]
    if not len(some):
        return 0.0
    unit, atoms = unit_rows(some)[0], unit_rows(endmembers)[0]  # no unit has a say
    return float(nonnegative_fits(unit, atoms, progress=False).residual_norms.mean())


def h2nmf_normalised(pixels: object, r: int) -> Extraction:
    """H2NMF on pixels divided by their norms."""
    rows, r = checked_pixels(pixels, r)
    unit, _ = unit_rows(rows)
    labels, indices = clusters(np.maximum(unit, 0, out=unit), r)
    if len(indices) < r:
        stopped_early(unit_rows(rows)[0], r, len(indices), UNSPLIT)
    method = "H2NMF on normalised pixels"
    return Extraction(indices=indices, endmembers=rows[indices], labels=labels, method=method)


PICKERS: dict[str, Picker] = {
    "h2nmf": h2nmf,
    "spa": spa,
    "h2nmf-normalised": h2nmf_normalised,
    "spa-normalised": spa_normalised,
    "spa-constant": spa_constant,
    "vca": vca,
}
DETERMINISTIC = tuple(name for name in PICKERS if name != "vca")
