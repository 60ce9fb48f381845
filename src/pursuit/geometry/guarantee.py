"""What is behind a bound that a momentum rule proves of itself, or the constant that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pursuit.base.errors import InputError


class MissingConstant(InputError):
    """A theorem needs a constant that is not known.

    Attributes
    ----------
    constant
        Its name.
    """

    def __init__(self, constant: str, reason: str) -> None:
        super().__init__(f"{constant}: {reason}")
        self.constant = constant


@dataclass(frozen=True)
class Guarantee:
    """What is behind E[β_t ε_t] ≤ ½‖x* − x_s‖_P².

    Attributes
    ----------
    sampling
        The one behind ‖·‖_P.
    constants
        What the rule used.
    surely
        Whether the bound needs no E.
    confidence
        With which the constants hold: below 1 where they were estimated from draws.
    from_start
        Whether x_s is the start of the run; a rule with phases does not record theirs.
    """

    sampling: object | None
    constants: Mapping[str, float]
    surely: bool = False
    from_start: bool = True
    confidence: float = 1.0
