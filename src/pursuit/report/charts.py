"""Line charts as the page's script wants them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pursuit.base.validation import Array

DIGITS = 5


@dataclass(frozen=True)
class Axis:
    """What an axis shows; a logarithmic one passes over what is not positive."""

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Series:
    """A curve, and where there are several runs the range around it.

    `look` is the number of its colour and dashes: the same thing has the same look in all charts.
    """

    name: str
    x: Array
    y: Array
    look: int
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True)
class Chart:
    """Lines over common axes."""

    title: str
    x: Axis
    y: Axis
    lines: list[Series] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Plain lists and texts."""
        return {
            "title": self.title,
            "x": vars(self.x),
            "y": vars(self.y),
            "lines": [
                {name: _plain(value) for name, value in vars(line).items() if value is not None}
                for line in self.lines
            ],
        }


def _plain(value: object) -> object:
    return numbers(value) if isinstance(value, np.ndarray) else value


def numbers(values: Array) -> list[float | None]:
    """Numbers with the digits that a picture can show; None for what is not finite."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]
