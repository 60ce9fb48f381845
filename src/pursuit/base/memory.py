"""Whether what is to be read fits in memory: a file that does not is large, and not damaged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pursuit.base.errors import InputError

MEMINFO = Path("/proc/meminfo")


def available_memory() -> int | None:
    """Return the bytes that can be allocated, or None where the system does not say."""
    try:
        text = MEMINFO.read_text(encoding="ascii")
        found = re.findall(r"(?m)^(?:MemAvailable|SwapFree):\s*(\d+) kB", text)
        if found:
            return 1024 * sum(map(int, found))
    except OSError:
        pass
    try:  # All memory there is, of which no more than that can be available.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(name: object, needed: int) -> None:
    """Raise an `InputError` where `needed` bytes are more than are available."""
    available = available_memory()
    if available is not None and needed > available:
        raise InputError(
            f"{name}: needs {_gigabytes(needed)} of memory, {_gigabytes(available)} available"
        )


@contextmanager
def memory_for(name: object, needed: int = 0) -> Iterator[None]:
    """Check for `needed` bytes, and turn a `MemoryError` inside into the same sentence."""
    check_memory(name, needed)
    try:
        yield
    except MemoryError:
        available = available_memory()
        amount = f"{_gigabytes(needed)} of memory or more" if needed else "more memory"
        rest = "" if available is None else f", {_gigabytes(available)} available"
        raise InputError(f"{name}: needs {amount}{rest}") from None


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.3g} GB" if size < 1e12 else f"{size / 1e9:,.0f} GB"
