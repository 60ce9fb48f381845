"""The errors that the library raises on purpose."""


class PursuitError(Exception):
    """Base of every error raised on purpose."""


class InputError(PursuitError, ValueError):
    """An argument is wrong. The message names it, what came and what is expected."""


class MissingExtra(PursuitError, ImportError):
    """An optional dependency is not installed. The message has the install command."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the '{extra}' extra: python -m pip install 'pursuit[{extra}]'"
        )
