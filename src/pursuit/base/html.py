"""What notebooks show of a result: a small table, and the curve of a column of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from pursuit.base.validation import Array

WIDTH, HEIGHT = 160, 28
"""Of a curve, in pixels."""
POINTS = 160
"""The most that a curve is drawn through: one a pixel."""
SAMPLE = 100_000
"""So many of the numbers of a distribution are looked at."""
CELL = 'style="text-align:left;vertical-align:top"'


def page(title: str, *parts: str) -> str:
    """Parts under a title, in one element."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def facts(rows: Mapping[str, str], curves: Mapping[str, str] | None = None) -> str:
    """A table of names and texts, with curves (of `sparkline`) in rows of their own."""
    texts = [(name, escape(text)) for name, text in rows.items()]
    drawn = [(name, svg) for name, svg in (curves or {}).items() if svg]
    lines = "".join(
        f"<tr><th {CELL}>{escape(name)}</th><td {CELL}>{cell}</td></tr>"
        for name, cell in texts + drawn
    )
    return f"<table><tbody>{lines}</tbody></table>"


def columns(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a line of names above its rows."""
    head = "".join(f"<th {CELL}>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td {CELL}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def distribution(values: Array, says: str = "") -> str:
    """A curve through `values` from the largest to the smallest; through some of very many."""
    some = values[:: max(1, len(values) // SAMPLE)]
    return sparkline(np.sort(some)[::-1], says)


def sparkline(values: Array, says: str = "") -> str:
    """A curve through `values`, on a logarithmic scale where they are positive and far apart.

    It has the colour of the text around it. Numbers that are not finite are left out; with fewer
    than two others there is no curve, and the text is empty.
    """
    seen = np.asarray(values, np.float64)
    seen = seen[np.isfinite(seen)]
    if len(seen) < 2:
        return ""
    if seen.min() > 0 and seen.max() / 10 > seen.min():
        seen = np.log10(seen)
    picked = np.unique(np.linspace(0, len(seen) - 1, POINTS).round().astype(int))
    x = picked / (len(seen) - 1)
    # Halves, so that the difference of the largest numbers is still one.
    low, high = seen.min() / 2, seen.max() / 2
    y = (seen[picked] / 2 - low) / (high - low) if high > low else np.full(len(picked), 0.5)
    places = " ".join(
        f"{2 + a * (WIDTH - 4):.1f},{2 + (1 - b) * (HEIGHT - 4):.1f}"
        for a, b in zip(x, y, strict=True)
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(says)}">'
        f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )
