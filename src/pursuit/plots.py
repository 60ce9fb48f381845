"""Pictures: every function takes data and an optional Axes, and returns the Axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.errors import MissingExtra
from pursuit.validation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pursuit.results import Trace

# Okabe and Ito's colours are told apart by colour-blind readers; a line style goes with each,
# so that a grey print can be read as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))


def axes(ax: Axes | None = None) -> Axes:
    """The given Axes, or new ones."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", "drawing a figure") from None
    new: Axes = Figure(figsize=(6.4, 4.2), layout="constrained").subplots()
    return new


def look(k: int) -> dict[str, Any]:
    """Colour and line style of the k-th curve."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k % len(STYLES)]}


def trace(
    trace: Trace,
    ax: Axes | None = None,
    *,
    against: str = "iteration",
    floor: float = 0.0,
    label: str | None = None,
    **style: Any,
) -> Axes:
    """Value above `floor` against a column of the trace, on a logarithmic scale."""
    ax = axes(ax)
    ax.semilogy(getattr(trace, against), trace.value - floor, label=label, **(style or look(0)))
    ax.set_xlabel(against.replace("_", " "))
    ax.set_ylabel("f(x)" if floor == 0 else "f(x) − f*")
    if label:
        ax.legend()
    return ax


def band(
    x: Array, curves: Array, ax: Axes | None = None, *, k: int = 0, label: str | None = None
) -> Axes:
    """The median of several curves (rows), and the range from the 10th to the 90th percentile."""
    ax = axes(ax)
    low, middle, high = np.nanpercentile(curves, [10, 50, 90], axis=0)
    ax.semilogy(x, middle, label=label, **look(k))
    ax.fill_between(x, low, high, color=COLOURS[k % len(COLOURS)], alpha=0.15, linewidth=0)
    return ax
