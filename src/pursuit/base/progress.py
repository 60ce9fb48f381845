"""Progress bars, behind an object that does nothing where none is wanted."""

from __future__ import annotations

import sys
import time
from typing import Any

from pursuit.base.validation import flag

PATIENCE = 2.0
"""Seconds before a bar appears by itself."""


class Silent:
    """No bar."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, done: float, note: str = "") -> None:
        """Say how much is done."""


class Bar(Silent):
    """A bar of `rich` on standard error, shown once the job has taken `after` seconds."""

    def __init__(self, title: str, total: float | None, after: float) -> None:
        self._title, self._total, self._after = title, total, after
        self._began = self._drawn = time.monotonic()
        self._bar: Any = None
        self._latest: dict[str, Any] = {}

    def update(self, done: float, note: str = "") -> None:
        now = time.monotonic()
        if self._bar is None and now - self._began >= self._after:
            self._open()
        self._latest = {"completed": done, "note": note}
        if self._bar is not None and now - self._drawn >= 0.1:
            self._drawn = now
            self._bar.update(self._task, **self._latest)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.update(self._task, **self._latest)
            self._bar.stop()

    def _open(self) -> None:
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


def bar(title: str, total: float | None, wanted: bool | None = None) -> Silent:
    """A bar: always (True), never (False), or on a terminal when the job turns out long (None).

    `total` is None where nobody knows how much there is to do.
    """
    if wanted is None:
        return Bar(title, total, PATIENCE) if sys.stderr.isatty() else Silent()
    return Bar(title, total, 0.0) if flag("progress", wanted) else Silent()
