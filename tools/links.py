"""Look for links of a built site that lead nowhere: ``python tools/links.py site``.

Every ``href`` and ``src`` of every page must be a file of the site, with an element of the name
after ``#``. Addresses elsewhere are not looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The names and the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.names.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def broken(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        if path.name == "404.html":  # its links are those of a server's root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site.resolve())}: there is no {link}"
            elif parts.fragment and target in pages:
                name = unquote(parts.fragment)
                if name not in pages[target].names and name != "__top":
                    yield f"{path.relative_to(site.resolve())}: {link} names nothing there"


def main(site: Path) -> int:
    found = sorted(set(broken(site)))
    print(*found, sep="\n", end="\n" if found else "")
    count = len(list(site.rglob("*.html")))
    print(f"{count} pages, {len(found)} links that lead nowhere; begin at {site}/index.html")
    return bool(found) or not count


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
