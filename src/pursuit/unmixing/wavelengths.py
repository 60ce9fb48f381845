"""Wavelengths in the units that people write them in."""

from __future__ import annotations

import re

import numpy as np

from pursuit.unmixing.extraction import Array

NANOMETRES = {
    r"nm|nano\s?met(er|re)s?": 1.0,
    r"[µμu]m|microns?|micro\s?met(er|re)s?": 1000.0,
    r"[aåÅ]|[aå]ngstr[oö]ms?": 0.1,
}
"""What one of a unit is in nanometres."""
MICROMETRES_BELOW = 100.0
"""Numbers without a unit are micrometres if all are below this, as no nanometres are."""


def in_nanometres(values: Array, unit: str | None) -> Array | None:
    """Wavelengths in nanometres; None where they are in something else, such as wavenumbers.

    Without a unit, or with one that says nothing, numbers below 100 are micrometres.
    """
    text = (unit or "").strip().lower()
    for pattern, factor in NANOMETRES.items():
        if re.fullmatch(pattern, text):
            return values * factor
    if text in ("", "unknown"):
        return values * (1000.0 if np.max(values) < MICROMETRES_BELOW else 1.0)
    return None


def unit_in(text: str) -> str | None:
    """The unit that a title such as ``wavelength (nm)`` names."""
    for word in re.findall(r"[^\W\d_]+", text):
        if len(word) > 1 and any(re.fullmatch(p, word.lower()) for p in NANOMETRES):
            return str(word)
    return None
