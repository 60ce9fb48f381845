"""Where the benchmarks look for data files, which the library does not ship."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def find(name: str) -> Path | None:
    """Return the file `name` under ``$PURSUIT_DATA`` or ``../shared/data``, or None."""
    folders = [SHARED]
    if os.environ.get("PURSUIT_DATA"):
        folders.insert(0, Path(os.environ["PURSUIT_DATA"]))
    return next((folder / name for folder in folders if (folder / name).is_file()), None)
