"""Progress bars, behind an object that does nothing where none is wanted."""

from __future__ import annotations

import sys
import time

from pursuit.base.notebooks import in_notebook
from pursuit.base.validation import flag

PATIENCE = 2.0
"""Seconds before a bar appears by itself."""
OFTEN = 0.1
"""Seconds between two pictures of a bar."""
CELLS = 30
"""The length of a bar of text."""


class Silent:
    """No bar."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, done: float, note: str = "") -> None:
        """Say how much is done."""


class Shown(Silent):
    """A bar that appears once the job has taken `after` seconds: where, subclasses say."""

    def __init__(self, title: str, total: float | None, after: float) -> None:
        self._title, self._total, self._after = title, total, after
        self._began = self._drawn = time.monotonic()
        self._open = False
        self._latest: tuple[float, str] = (0.0, "")

    def update(self, done: float, note: str = "") -> None:
        now = time.monotonic()
        self._latest = (done, note)
        if not self._open and now - self._began >= self._after:
            self._open = True
            self._begin()
        if self._open and now - self._drawn >= OFTEN:
            self._drawn = now
            self._draw(*self._latest)

    def __exit__(self, *error: object) -> None:
        if self._open:
            self._draw(*self._latest)
            self._end()

    def _begin(self) -> None:
        """Appear."""

    def _draw(self, done: float, note: str) -> None:
        """Show how much is done."""

    def _end(self) -> None:
        """Leave the last picture standing."""


class Bar(Shown):
    """A bar of `rich` on standard error."""

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(self._title, total=self._total, note="")
        self._bar.start()

    def _draw(self, done: float, note: str) -> None:
        self._bar.update(self._task, completed=done, note=note)

    def _end(self) -> None:
        self._bar.stop()


class TextBar(Shown):
    """A line of text below the cell of a notebook, drawn over; it needs no widgets."""

    def _begin(self) -> None:
        from IPython.display import display

        self._line = display({"text/plain": self._text(0.0, "")}, raw=True, display_id=True)

    def _draw(self, done: float, note: str) -> None:
        self._line.update({"text/plain": self._text(done, note)}, raw=True)

    def _text(self, done: float, note: str) -> str:
        spent = f"{time.monotonic() - self._began:.0f} s"
        if not self._total:
            return f"{self._title}  {done:g}  {spent}  {note}".rstrip()
        share = min(max(done / self._total, 0.0), 1.0)
        full = int(share * CELLS)
        drawn = "█" * full + "░" * (CELLS - full)
        return f"{self._title} {drawn} {share:4.0%}  {spent}  {note}".rstrip()


def bar(title: str, total: float | None, wanted: bool | None = None) -> Silent:
    """A bar: always (True), never (False), or where one reads along when the job is long (None).

    That is on a terminal, or in a notebook. `total` is None where nobody knows how much there is
    to do.
    """
    notebook = in_notebook()
    if not (notebook or sys.stderr.isatty() if wanted is None else flag("progress", wanted)):
        return Silent()
    after = PATIENCE if wanted is None else 0.0
    return (TextBar if notebook else Bar)(title, total, after)
