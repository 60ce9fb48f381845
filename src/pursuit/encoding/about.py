"""What a folder of codes says about itself: about.json, with a checksum of its own."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.archive import replacement
from pursuit.base.errors import InputError
from pursuit.encoding.columns import Row, columns_of

FORMAT = 3
ABOUT = "about.json"
KEY = "pursuit codes"


@dataclass(frozen=True)
class About:
    """What a folder holds. `signals` is their number, None as long as it is not known.

    `identity` says what must be the same for a run to be continued: texts by name.
    """

    n_atoms: int
    method: str
    plan: str
    block: int
    width: int
    dtype: str
    signals: int | None
    identity: dict[str, str]
    complete: bool = False
    format: int = FORMAT

    @property
    def blocks(self) -> int | None:
        """The number of blocks, where it is known."""
        return None if self.signals is None else -(-self.signals // self.block)

    @property
    def columns(self) -> dict[str, Row]:
        """Type and shape of a row of each array."""
        return columns_of(self.width, np.dtype(self.dtype))

    def _is_sound(self) -> bool:
        numbers = [self.n_atoms, self.block, self.width, self.signals or 1]
        return (
            all(type(number) is int and number > 0 for number in numbers)
            and self.dtype in (np.dtype(np.float32).str, np.dtype(np.float64).str)
            and isinstance(self.identity, dict)
            and isinstance(self.complete, bool)
            and all(isinstance(text, str) for text in (self.method, self.plan))
        )


def write_about(folder: Path, about: About) -> None:
    """Whole or not at all."""
    with replacement(folder / ABOUT) as part:
        part.write_text(_text(asdict(about)), encoding="utf-8")


def is_codes_folder(folder: Path) -> bool:
    """Return whether `encode` wrote the description in a folder, in whatever version."""
    try:
        return KEY in json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def read_about(folder: Path) -> About:
    """What a folder says about itself; one bit changed is an input error."""
    if not os.path.isdir(folder):
        raise InputError(f"{folder}: expected a folder of codes, there is none")
    try:
        text = (folder / ABOUT).read_text(encoding="utf-8")
        document = json.loads(text)
        found = dict(document[KEY])
        version = found["format"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: is not a folder of codes, or {ABOUT} is damaged") from None
    if version != FORMAT:
        raise InputError(
            f"{folder}: holds codes of another version ({version!r}, not {FORMAT}), or {ABOUT} is "
            "damaged"
        )
    try:
        about = About(**found) if text == _text(found) else None
    except TypeError:
        about = None
    if about is None or not about._is_sound():
        raise InputError(f"{folder}: {ABOUT} is damaged")
    return about


def _text(content: dict[str, Any]) -> str:
    """The document, with a checksum of what it says; the same content gives the same text."""
    body = json.dumps(content)
    checksum = blake2b(body.encode(), digest_size=16).hexdigest()
    return json.dumps({KEY: content, "checksum": checksum}, indent=1)
