"""Files as disks, networks and people leave them."""

from __future__ import annotations

from pathlib import Path

from fuzz.case import Case


def damaged(case: Case, path: Path) -> bool:
    """Damage a file; False where what was done left its bytes as they were."""
    before = path.read_bytes()
    kind = case.weighted(
        {"bit": 6, "cut": 3, "zeros": 1, "noise": 2, "more": 1, "empty": 0.5, "swap": 1, "word": 1}
    )
    after = _changed(case, before, kind)
    path.write_bytes(after)
    case.tell(damage=f"{kind} of {path.name}", bytes=len(before))
    return after != before


def _changed(case: Case, data: bytes, kind: str) -> bytes:
    if kind == "empty" or not data:
        return b""
    place = int(case.rng.integers(len(data)))
    length = int(case.rng.integers(1, min(64, len(data)) + 1))
    work = bytearray(data)
    if kind == "bit":
        work[place] ^= 1 << int(case.rng.integers(8))
    elif kind == "cut":
        return data[:place]
    elif kind == "zeros":
        work[place : place + length] = bytes(len(work[place : place + length]))
    elif kind == "noise":
        part = len(work[place : place + length])
        work[place : place + length] = case.rng.integers(0, 256, part, dtype="u1").tobytes()
    elif kind == "more":
        return data + case.rng.integers(0, 256, length, dtype="u1").tobytes()
    elif kind == "swap":
        half = len(data) // 2
        return data[half:] + data[:half]
    elif kind == "word":
        return _reworded(case, data)
    return bytes(work)


def _reworded(case: Case, data: bytes) -> bytes:
    """A number or a word of a text part replaced by another."""
    words = [w for w in data.split() if len(w) < 30 and w.isascii()]
    if not words:
        return data
    old = words[int(case.rng.integers(len(words)))]
    new = case.pick(b"-1", b"0", b"99999999999999999999", b"nan", b"1e400", b"{", b"", b"\xff")
    return data.replace(old, new, 1)
