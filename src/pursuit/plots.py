"""Pictures: every function takes data and an optional Axes, and returns the Axes."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pursuit.base.errors import InputError, MissingExtra
from pursuit.base.notebooks import in_notebook
from pursuit.base.validation import Array, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pursuit.rates import Rate
    from pursuit.solving.penalty_path import PenaltyPath
    from pursuit.solving.result import SupportPath, Trace

# Okabe and Ito's colours are told apart by colour-blind readers; a line style goes with each,
# so that a grey print can be read as well.
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#7F7F7F",
    "#8B5A2B",
)
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*", "<")
STYLES = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1)),
    (0, (3, 1, 1, 1)),
    (0, (1, 1)),
    (0, (8, 3)),
    (0, (6, 1, 1, 1)),
)

HUGE = 1e300
"""Stands for a value that left the range of numbers, where quantiles are taken."""


def axes(ax: Axes | None = None) -> Axes:
    """The given Axes, or new ones."""
    if ax is not None:
        return ax
    new: Axes = shown(6.4, 4.2).subplots()
    return new


def shown(width: float, height: float) -> Figure:
    """An empty figure that is shown where figures are: by pyplot where that is in use.

    It is in use where it was imported, and in a notebook, which shows the figures of a cell.
    """
    if "matplotlib.pyplot" not in sys.modules and not in_notebook():
        return figure(width, height)
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("plot", "drawing a figure") from None
    return pyplot.figure(figsize=(width, height), layout="constrained")


def returned(width: float, height: float) -> Figure:
    """An empty figure that is itself the answer: a notebook shows it as the value of a cell."""
    new = shown(width, height)
    if in_notebook():
        from matplotlib import pyplot

        pyplot.close(new)  # or it would be shown twice, once with the figures of the cell
    return new


def figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches; nothing is shown, and no global state is touched."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", "drawing a figure") from None
    return Figure(figsize=(width, height), layout="constrained")


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
    bounds: Sequence[Rate] = (),
    **style: Any,
) -> Axes:
    """Value above `floor` against a column of the trace, on a logarithmic scale.

    `bounds` of `pursuit.rates` are drawn at the same observations. They bound f − f*, so `floor`
    should be f* (`pursuit.rates.optimal_value` for a quadratic).
    """
    ax = axes(ax)
    for k, rate in enumerate(bounds, start=1):
        seen = trace.iteration >= rate.first
        column = getattr(trace, against)[seen]
        ax.semilogy(column, rate(trace.iteration[seen]), label=rate.name, **look(k))
    ax.semilogy(getattr(trace, against), trace.value - floor, label=label, **(style or look(0)))
    ax.set_xlabel(against.replace("_", " "))
    ax.set_ylabel("f(x)" if floor == 0 else "f(x) − f*")
    if label or bounds:
        ax.legend()
    return ax


def path(
    path: SupportPath,
    ax: Axes | None = None,
    *,
    floor: float = 0.0,
    label: str | None = None,
    **style: Any,
) -> Axes:
    """Value above `floor` against the number of atoms, on a logarithmic scale."""
    ax = axes(ax)
    ax.semilogy(path.sizes, path.value - floor, label=label, **(style or look(0)))
    ax.set_xlabel("atoms in use")
    ax.set_ylabel("f(x)" if floor == 0 else "f(x) − f*")
    if label:
        ax.legend()
    return ax


def penalty_path(
    path: PenaltyPath, ax: Axes | None = None, *, labels: Sequence[str] | None = None
) -> Axes:
    """Coefficients against λ on a logarithmic scale, which falls to the right.

    The largest at the end of the path are drawn in colour, with their `labels` or their numbers at
    the margin; the others are grey. Coefficients without a weight, such as an intercept, are not
    drawn.
    """
    ax = axes(ax)
    coefs = np.where(path.charged, path.coefs.toarray(), 0.0)
    order = np.argsort(-np.abs(coefs[-1]), kind="stable")
    named, used = order[: len(COLOURS) - 1], np.flatnonzero(coefs.any(axis=0))
    rest = np.setdiff1d(used, named)
    ax.plot(path.lambdas, coefs[:, rest], color="0.8", linewidth=0.7, zorder=1)
    for k, j in enumerate(named[coefs[-1, named] != 0]):
        name = str(j) if labels is None else labels[j]
        ax.plot(path.lambdas, coefs[:, j], label=name, linewidth=1.4, **look(k))
    ax.axhline(0, color="0.5", linewidth=0.6)
    ax.set_xscale("log")
    ax.set_xlim(path.lambdas[0], path.lambdas[-1])
    ax.set_xlabel("λ")
    ax.set_ylabel("coefficient")
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return ax


def band(
    x: Array,
    curves: Array,
    ax: Axes | None = None,
    *,
    k: int = 0,
    label: str | None = None,
    top: float = np.inf,
) -> Axes:
    """The median of several curves (rows), and the range from the 10th to the 90th percentile.

    Both axes are logarithmic. A few markers tell the curves apart in grey as well. A median that
    rises above `top` is cut there, with a cross.
    """
    ax = axes(ax)
    low, middle, high = np.quantile(np.minimum(curves, HUGE), [0.1, 0.5, 0.9], axis=0)
    gone = middle > top
    shown = slice(0, int(np.argmax(gone)) if gone.any() else len(x))
    style = look(k) | {"marker": MARKERS[k % len(MARKERS)], "markevery": (0.03 + 0.02 * k, 0.17)}
    ax.loglog(x[shown], middle[shown], label=label, markersize=4, linewidth=1.4, **style)
    if len(curves) > 1:
        ax.fill_between(x[shown], low[shown], high[shown], color=style["color"], alpha=0.12, lw=0)
    if gone.any() and shown.stop > 0:
        _cross(x, middle, shown.stop, top, ax, str(style["color"]))
    return ax


def _cross(x: Array, y: Array, k: int, top: float, ax: Axes, colour: str) -> None:
    """Lead the curve on to `top`, which it passes between k − 1 and k, and mark the place."""
    before, after = np.log(y[k - 1]), np.log(y[k])
    share = (np.log(top) - before) / (after - before)
    place = x[k - 1] * (x[k] / x[k - 1]) ** share
    ax.plot([x[k - 1], place], [y[k - 1], top], color=colour, linewidth=1.4)
    ax.plot([place], [top], "x", color=colour, markersize=8, markeredgewidth=2.2)


def waveform(rows: Array, rate: float, ax: Axes | None = None) -> Axes:
    """Samples against seconds; several channels (rows) one below the other, each at its own
    range."""
    ax = axes(ax)
    seconds = np.arange(rows.shape[1]) / rate
    if len(rows) == 1:
        ax.plot(seconds, rows[0], linewidth=0.5, color=COLOURS[0])
        ax.set_ylabel("signal")
        return ax
    for k, row in enumerate(rows):
        top = np.abs(row).max() or 1.0
        ax.plot(seconds, k - 0.45 * row / top, linewidth=0.5, color=COLOURS[k % len(COLOURS)])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.locator_params(axis="y", integer=True)
    ax.set_ylabel("channel")
    return ax


def time_frequency(
    density: Array, seconds: float, top: float, ax: Axes | None = None, *, decibels: float = 60.0
) -> Axes:
    """Energy over time (columns) and frequency (rows, up to `top`), in dB below the largest."""
    ax = axes(ax)
    peak = float(density.max()) or 1.0
    shown = 10 * np.log10(np.maximum(density / peak, 10 ** (-decibels / 10)))
    image = ax.imshow(
        shown,
        origin="lower",
        aspect="auto",
        extent=(0.0, seconds, 0.0, top),
        cmap="magma",
        vmin=-decibels,
        vmax=0.0,
    )
    ax.figure.colorbar(image, ax=ax, label="dB", pad=0.01)
    ax.set_xlabel("seconds")
    ax.set_ylabel("frequency (Hz)")
    return ax


# Linear models -------------------------------------------------------------------------------

NAMED = len(COLOURS)
"""The most features that have a colour and a name of their own."""


def coefficients(
    at: Array,
    curves: Array,
    ax: Axes | None = None,
    *,
    names: Sequence[str],
    decades: bool = False,
) -> Axes:
    """Coefficients (columns, with their names) of models (rows) that come one after the other.

    The largest have a colour and a name; the others are grey. `decades`: `at` is drawn on a
    logarithmic scale. Models come from left to right, whether `at` grows or falls.
    """
    ax = axes(ax)
    order = np.argsort(-np.abs(curves).max(axis=0), kind="stable")
    curves = _without_rests(curves)
    one = len(at) == 1  # a line of one point is not seen
    dot = "." if one else None
    ax.plot(at, curves[:, order[NAMED:]], color="#c8c8c8", linewidth=0.7, marker=dot)
    for k, j in enumerate(order[:NAMED].tolist()):
        marker = None if decades and not one else MARKERS[k]
        ax.plot(at, curves[:, j], label=names[j], marker=marker, markersize=3.5, **look(k))
    ax.axhline(0, color="black", linewidth=0.6)
    if decades:
        ax.set_xscale("log")
    else:
        ax.locator_params(axis="x", integer=True)
    if at[0] > at[-1]:
        ax.invert_xaxis()
    if order.size:
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
    return ax


def _without_rests(curves: Array) -> Array:
    """Curves with nothing where they are zero and their neighbours are too."""
    zero = np.pad(curves == 0, ((1, 1), (0, 0)), constant_values=True)
    return np.where(zero[:-2] & zero[1:-1] & zero[2:], np.nan, curves)


def scores(at: Array, scores: Array, chosen: float, ax: Axes | None = None) -> Axes:
    """Scores of folds (rows), each in grey; their mean with a standard error; what was chosen."""
    ax = axes(ax)
    mean, folds = scores.mean(axis=0), len(scores)
    if folds > 1:
        error = scores.std(axis=0, ddof=1) / folds**0.5
        ax.plot(at, scores.T, color="#c8c8c8", linewidth=0.7, zorder=1)
        band: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "lw": 0}
        ax.fill_between(at, mean - error, mean + error, label="± standard error", **band)
    label = f"mean of {folds} folds" if folds > 1 else None
    ax.plot(at, mean, color=COLOURS[0], marker="o", markersize=3.5, label=label)
    ax.axvline(chosen, color=COLOURS[1], linestyle="--", label=f"chosen: {chosen:g}")
    ax.locator_params(axis="x", integer=True)
    ax.legend(frameon=False)
    return ax


def legend_below(figure: Figure, ax: Axes, columns: int = 3) -> None:
    """One legend for all Axes of a figure, under them, where it covers no curve."""
    lines, labels = ax.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False)


# Atoms ---------------------------------------------------------------------------------------

CURVES = 36
"""The most atoms that are drawn as curves; more cannot be told apart."""


def atoms(atoms: Array, ax: Axes | None = None, *, shape: tuple[int, ...] | None = None) -> Axes:
    """Atoms side by side: pictures of square patches, in colour for a third axis of 3, else curves.

    Each atom is stretched to its own range, zero being grey in a picture. An atom of 64 numbers
    is taken for 8 × 8 pixels unless `shape` is ``(64,)``; of curves the first 36 are drawn.
    """
    shape = _picture_shape(atoms.shape[1:]) if shape is None else _shape_of(atoms, shape)
    if len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3)):
        return _pictures(atoms.reshape(len(atoms), *shape), ax)
    return _curves(atoms.reshape(len(atoms), -1), ax)


def _shape_of(atoms: Array, shape: object) -> tuple[int, ...]:
    """The shape that an atom is asked to be seen in."""
    size = int(np.prod(atoms.shape[1:]))
    lengths = shape if isinstance(shape, tuple) and shape else (0,)
    wanted = tuple(count("shape", length) for length in lengths)
    if math.prod(wanted) != size:
        raise InputError(f"shape: expected lengths whose product is {size}, got {shape!r}")
    return wanted


def _picture_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of an atom: as it is given, but a row of 64 is a patch of 8 × 8."""
    side = round(float(np.prod(shape)) ** 0.5)
    return (side, side) if len(shape) == 1 and side > 1 and side * side == shape[0] else shape


def _grid(count: int) -> tuple[int, int]:
    """Rows and columns, about as many of both."""
    columns = int(np.ceil(np.sqrt(count)))
    return -(-count // columns), columns


def _pictures(patches: Array, ax: Axes | None) -> Axes:
    """Patches in a grid with white lines between them."""
    rows, columns = _grid(len(patches))
    height, width = patches.shape[1:3]
    canvas = np.ones((rows * (height + 1) + 1, columns * (width + 1) + 1, 3))
    for k, patch in enumerate(patches):
        top = np.abs(patch).max() or 1.0
        y, x = 1 + k // columns * (height + 1), 1 + k % columns * (width + 1)
        pixels = 0.5 + 0.5 * patch.reshape(height, width, -1) / top
        canvas[y : y + height, x : x + width] = pixels
    ax = shown(6.4, 6.4 * rows / columns).subplots() if ax is None else ax
    ax.imshow(canvas, interpolation="nearest")
    ax.set_axis_off()
    return ax


def _curves(curves: Array, ax: Axes | None) -> Axes:
    """Curves in a grid, each over a line at zero."""
    curves = curves[:CURVES]
    rows, columns = _grid(len(curves))
    ax = shown(8.0, 0.2 + 1.1 * rows).subplots() if ax is None else ax
    across = np.linspace(0, 0.86, curves.shape[1])
    for k, curve in enumerate(curves):
        x, y = k % columns, -(k // columns)
        ax.plot([x, x + 0.86], [y, y], color="#cccccc", linewidth=0.6)
        top = np.abs(curve).max() or 1.0
        ax.plot(x + across, y + 0.42 * curve / top, color=COLOURS[0], linewidth=1.0)
    ax.set_axis_off()
    return ax
