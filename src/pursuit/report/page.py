"""A page from its template, its styles, its scripts and its data, all in one file."""

from __future__ import annotations

import json
from importlib import resources
from importlib.util import find_spec
from typing import Any

from pursuit import __version__
from pursuit.base.errors import MissingExtra

STYLES = ("page.css",)
LIBRARY = ("theme.js", "unpack.js", "looks.js", "chart.js")
"""The scripts that every page has."""


def render(template: str, scripts: tuple[str, ...], data: dict[str, Any], **names: Any) -> str:
    """The text of a page.

    Parameters
    ----------
    template
        A file of `assets`.
    scripts
        What the page has beside `LIBRARY`, in their order.
    data
        What the scripts show: numbers, texts, lists, packed arrays.
    names
        What the template shows by itself; texts are escaped there.
    """
    require_templates()
    from jinja2 import DictLoader, Environment, StrictUndefined

    files = {name: _asset(name) for name in ("base.html", template)}
    environment = Environment(
        loader=DictLoader(files), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template(template).render(
        version=__version__,
        style="\n".join(_asset(name) for name in STYLES),
        script="\n".join(_asset(name) for name in LIBRARY + scripts),
        data=script_json(data),
        **names,
    )


def require_templates() -> None:
    """Refuse, before the work, to make a page without the package that fills in templates."""
    if find_spec("jinja2") is None:
        raise MissingExtra("report", "writing a page")


def script_json(data: dict[str, Any]) -> str:
    """JSON that no text in it can end: it stands inside a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")
