"""Pages to look at and to share: one HTML file each, which opens from disk without a network."""

from __future__ import annotations

from pursuit.report.reproduction import reproduction_html, reproduction_page
from pursuit.report.unmixing import Story, unmixing_html, unmixing_page

__all__ = ["Story", "reproduction_html", "reproduction_page", "unmixing_html", "unmixing_page"]
