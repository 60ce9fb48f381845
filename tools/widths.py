"""Look for code that is cut off on the pages of a built site: ``python tools/widths.py site``.

A browser opens every page as wide as a small laptop: lines of code must be seen whole there, and no
page may be wider than the window, nor than that of a telephone. Without Chromium nothing is done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

import chromium

LAPTOP, TELEPHONE = 1280, 390
CUT = """[...document.querySelectorAll('.md-content pre, .md-content pre > code')]
    .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.textContent.trim().slice(0, 60))"""
"""The first letters of each block of code that has more than is seen."""


def cut_off(browser: Any, path: Path) -> Iterator[str]:
    """What is wrong with a page."""
    for width in (LAPTOP, TELEPHONE):
        page = browser.open(path, width=width, ready=chromium.LOADED)
        if page.run("document.documentElement.scrollWidth") > width:
            yield f"is wider than a window of {width} pixels"
        if width == LAPTOP:
            yield from (f"code is cut off: {text!r}" for text in page.run(CUT))
        page.close()


def main(site: Path) -> int:
    binary = chromium.find()
    if binary is None:
        print("without Chromium nobody looked whether code is cut off")
        return 0
    browser = chromium.Chromium(binary)
    try:
        pages = sorted(site.rglob("*.html"))
        found = [
            f"{path.relative_to(site)}: {text}" for path in pages for text in cut_off(browser, path)
        ]
    finally:
        browser.close()
    print(*found, f"{len(pages)} pages looked at, {len(found)} places cut off", sep="\n")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
