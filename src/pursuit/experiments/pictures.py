"""The figures of the experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pursuit import plots
from pursuit.experiments.curves import COMPETITORS, HEADROOM, Panel, Sensitivity
from pursuit.experiments.verdicts import divergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_panels(panels: list[Panel], heading: str) -> Figure:
    """Return a figure with a row for each panel: loss against iterations, and against products."""
    figure = plots.figure(11, 1.8 + 3.4 * len(panels))
    grid = figure.subplots(len(panels), 2, squeeze=False, sharey="row")
    for (left, right), panel in zip(grid, panels, strict=True):
        _draw(panel, left, against_products=False)
        _draw(panel, right, against_products=True)
        left.set(xlabel="iteration", ylabel=panel.loss)
        right.set(xlabel="products with all atoms")
        left.set_title(f"{panel.title}; {panel.reading.title}", loc="left", fontsize=11)
    figure.suptitle(heading, fontsize=13)
    _legend(figure, panels)
    return figure


def draw_sensitivities(sensitivities: list[Sensitivity]) -> Figure:
    """Return a figure of the loss after a number of iterations against L over the exact L."""
    figure = plots.figure(11, 4.6)
    grid = figure.subplots(1, len(sensitivities), squeeze=False)
    for ax, one in zip(grid[0], sensitivities, strict=True):
        top = HEADROOM * max(float(np.median(rows[:, -1])) for rows in one.losses.values())
        for k, key in enumerate(COMPETITORS):
            if key in one.losses:
                median = np.minimum(np.median(one.losses[key], axis=0), plots.HUGE)
                seen = np.where(median <= top, median, np.nan)
                ax.loglog(one.ratios, seen, label=COMPETITORS[key].label, **plots.look(k))
        ax.axvline(one.figures_ratio, color="gray", linewidth=0.8, linestyle=":")
        ax.annotate(
            "‖D‖₂²",
            (one.figures_ratio, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=9,
            va="top",
        )
        ax.set(xlabel="L / exact L", ylabel=f"{one.loss} at t = {one.iterations}")
        ax.set_title(one.name, loc="left", fontsize=11)
        ax.grid(which="major", linewidth=0.4, alpha=0.5)
    plots.legend_below(figure, grid[0, 0])
    return figure


def _draw(panel: Panel, ax: Axes, *, against_products: bool) -> None:
    lowest, highest = panel.loss_range()
    for k, key in enumerate(COMPETITORS):
        if key in panel.curves:
            curve = panel.curves[key]
            x = curve.products if against_products else panel.grid
            # Iteration 0 has no place on a logarithmic axis.
            plots.band(x[1:], curve.losses[:, 1:], ax, k=k, label=key, top=highest)
    ax.set_ylim(lowest / 2, 2 * highest)
    ax.grid(which="major", linewidth=0.4, alpha=0.5)


def _legend(figure: Figure, panels: list[Panel]) -> None:
    """Name each competitor once; of a curve that diverges on some panel, say so."""
    lines = {
        str(line.get_label()): line
        for ax in figure.axes
        for line in ax.get_lines()
        if line.get_label() in COMPETITORS
    }
    labels = []
    for key in lines:
        diverging = any(
            key in panel.curves and divergence(panel.grid, panel.curves[key].median) is not None
            for panel in panels
        )
        labels.append(COMPETITORS[key].label + (" (diverges, cut at ×)" if diverging else ""))
    figure.legend(lines.values(), labels, loc="outside lower center", ncols=3, frameon=False)
