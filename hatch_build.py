"""The README as a package index shows it: links that lead somewhere from there.

In the repository they are relative. A package index knows no repository: with `Source` among the
project's addresses they become absolute; without it the words stay and the links are taken off.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


def standing_alone(text: str, source: str | None) -> str:
    """The text with links that do not depend on where it stands."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if source is None:
            return "" if picture else words
        where = "raw" if picture else "blob"
        return f"{picture}[{words}]({source.rstrip('/')}/{where}/main/{target})"

    return LINK.sub(link, text)


class CustomMetadataHook(MetadataHookInterface):
    """Gives the package its long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": standing_alone(text, source),
        }
