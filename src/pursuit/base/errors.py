"""The errors that the library raises on purpose."""

from __future__ import annotations


class PursuitError(Exception):
    """Base of every error raised on purpose."""


class InputError(PursuitError, ValueError):
    """An argument is wrong. The message names it, what came and what is expected.

    It is one line of printable text, whatever a value or a damaged file puts into it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class MissingExtra(PursuitError, ImportError):
    """An optional dependency is not installed. The message has the install command."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the '{extra}' extra: python -m pip install 'pursuit[{extra}]'"
        )
        self._said = extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        """So that a worker in another process can say it here."""
        return type(self), self._said


LONGEST = 500
"""Characters of a message; what is in the middle of a longer one is left out."""


def one_line(text: str) -> str:
    """The text with blanks for line ends, and escapes for what cannot be printed."""
    words = " ".join(text.split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} … {line[-half:]}"
