"""A picture of a scene as the eye would see it, or in false colours where it has no wavelengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.report.packing import pack
from pursuit.unmixing.wavelengths import in_nanometres

if TYPE_CHECKING:
    from pursuit.base.validation import Array
    from pursuit.unmixing import Scene

EYE = {"red": 650.0, "green": 550.0, "blue": 460.0}
"""Nanometres that the colours of a screen stand for."""
VISIBLE_WITHIN = 40.0
"""A scene shows a colour if it has a band within so many nanometres."""
TOGETHER = 10.0
"""Bands within so many nanometres of a colour are averaged: less noise."""
FALSE = (5 / 6, 1 / 2, 1 / 6)
"""Where in the list of bands false colours are taken."""
STRETCH = (2.0, 98.0)
"""Percentiles that become black and full."""


@dataclass(frozen=True, eq=False)
class Quicklook:
    """Red, green and blue of every pixel, 0 to 255, and what they are."""

    rgb: Array
    caption: str

    def packed(self, order: Array) -> dict[str, Any]:
        """For the page: pixels in `order`, as differences from the one before, which are small."""
        rgb = self.rgb[order].T
        return {"rgb": pack(np.diff(rgb, axis=1, prepend=np.uint8(0))), "caption": self.caption}


def quicklook(scene: Scene) -> Quicklook:
    """The picture by wavelength where the scene has visible light, else by evenly spaced bands."""
    groups, caption = _by_wavelength(scene) or _by_place(scene)
    channels = [scene.pixels[:, group].mean(axis=1, dtype=np.float64) for group in groups]
    return Quicklook(np.column_stack([_stretched(channel) for channel in channels]), caption)


def _by_wavelength(scene: Scene) -> tuple[list[Array], str] | None:
    if scene.wavelengths is None:
        return None
    waves = in_nanometres(scene.wavelengths, scene.wavelength_unit)
    if waves is None:
        return None
    groups, words = [], []
    for colour, target in EYE.items():
        away = np.abs(waves - target)
        if away.min() > VISIBLE_WITHIN:
            return None
        near = np.flatnonzero(away <= max(TOGETHER, away.min()))
        groups.append(near)
        words.append(f"{colour} {waves[near].mean():.0f} nm")
    return groups, f"Natural colours: {', '.join(words)}"


def _by_place(scene: Scene) -> tuple[list[Array], str]:
    chosen = [np.array([int(share * len(scene.bands))]) for share in FALSE]
    numbers = ", ".join(str(scene.bands[group[0]]) for group in chosen)
    return chosen, f"False colours: bands {numbers} as red, green, blue"


def _stretched(values: Array) -> Array:
    low, high = np.percentile(values, STRETCH)
    span = high - low if high > low else 1.0
    return np.asarray(np.clip(255 * (values - low) / span, 0, 255).round(), np.uint8)
