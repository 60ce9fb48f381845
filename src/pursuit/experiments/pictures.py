"""The figures of the experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pursuit import plots
from pursuit.experiments.curves import CONTESTANTS, Panel
from pursuit.experiments.verdicts import divergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADROOM = 20.0
"""How far above the first loss a curve is followed; what rises higher is cut with a cross."""
DEPTH = 1e-8
"""How far below the first loss a picture reaches at most."""


def draw_panels(panels: list[Panel], heading: str) -> Figure:
    """A row for each panel: loss against iterations on the left, against products on the right."""
    figure = plots.figure(11, 1.8 + 3.4 * len(panels))
    grid = figure.subplots(len(panels), 2, squeeze=False, sharey="row")
    for (left, right), panel in zip(grid, panels, strict=True):
        _draw(panel, left, against_products=False)
        _draw(panel, right, against_products=True)
        left.set(xlabel="iteration", ylabel=panel.loss)
        right.set(xlabel="products with all atoms")
        left.set_title(panel.title, loc="left", fontsize=11)
    figure.suptitle(heading, fontsize=13)
    plots.legend_below(figure, _labels(panels, grid[0, 0]))
    return figure


def _draw(panel: Panel, ax: Axes, *, against_products: bool) -> None:
    start = float(panel.curves["mp"].median[0])
    top = HEADROOM * start
    for k, key in enumerate(CONTESTANTS):
        if key in panel.curves:
            curve = panel.curves[key]
            x = curve.products if against_products else panel.grid
            # Iteration 0 has no place on a logarithmic axis.
            plots.band(x[1:], curve.losses[:, 1:], ax, k=k, top=top)
    lowest = min(float(curve.median[-1]) for curve in panel.curves.values())
    ax.set_ylim(max(lowest / 2, DEPTH * start), 3 * top)
    ax.grid(which="major", linewidth=0.4, alpha=0.5)


def _labels(panels: list[Panel], ax: Axes) -> Axes:
    """Name the lines of `ax`; of a curve that runs away in any panel, say so."""
    keys = [key for key in CONTESTANTS if key in panels[0].curves]
    lines = [line for line in ax.get_lines() if line.get_marker() not in ("x", "None")]
    for key, line in zip(keys, lines, strict=True):
        gone = [p for p in panels if divergence(p.grid, p.curves[key].median) is not None]
        line.set_label(CONTESTANTS[key].label + (" (diverges, cut at ×)" if gone else ""))
    return ax
