"""Where data files that the library does not ship are looked for."""

from __future__ import annotations

import os
from pathlib import Path


def find(name: str) -> Path | None:
    """The file `name` under ``$PURSUIT_DATA``, else ``../shared/data`` beside the project."""
    project = Path(__file__).resolve().parents[3]
    places = [project.parent / "shared" / "data"]
    if os.environ.get("PURSUIT_DATA"):
        places.insert(0, Path(os.environ["PURSUIT_DATA"]))
    return next((place / name for place in places if (place / name).is_file()), None)
