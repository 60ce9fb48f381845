"""A number that knows what is proved about it."""

from __future__ import annotations

from enum import Enum
from math import inf

from pursuit.base.validation import Array

AGREE = 1e-9
"""An interval narrower than this, relative to its ends, is a number known exactly."""


class Kind(Enum):
    """What is proved about a number."""

    EXACT = "exact"
    UPPER = "upper bound"
    LOWER = "lower bound"
    ESTIMATE = "estimate"


class Constant(float):
    """A number that knows what is proved about it; it behaves as a float.

    Attributes
    ----------
    kind
        Exact (up to rounding), an upper bound, a lower bound, or an estimate. A bound is the
        side with which the theorem that it serves stays true.
    lower, upper
        The proved interval.
    serves
        The theorem or lemma that it enters.
    witness
        A vector at which the value (or, of an interval, its unproved side) is attained, where
        one was found.
    """

    kind: Kind
    lower: float
    upper: float
    serves: str
    witness: Array | None

    def __new__(
        cls,
        value: float,
        kind: Kind,
        serves: str,
        lower: float = 0.0,
        upper: float = inf,
        witness: Array | None = None,
    ) -> Constant:
        number = super().__new__(cls, value)
        number.kind, number.serves, number.witness = kind, serves, witness
        number.lower = float(value) if kind in (Kind.EXACT, Kind.LOWER) else lower
        number.upper = float(value) if kind in (Kind.EXACT, Kind.UPPER) else upper
        return number

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        return (float(self), self.kind, self.serves, self.lower, self.upper, self.witness)

    def __repr__(self) -> str:
        interval = ""
        if self.lower < self.upper and (self.lower > 0 or self.kind is not Kind.UPPER):
            interval = f" in [{self.lower:.6g}, {self.upper:.6g}]"
        return f"{float(self):.6g}{interval} ({self.kind.value}; {self.serves})"


def at_least(lower: float, upper: float, serves: str, witness: Array | None = None) -> Constant:
    """A number in [lower, upper] that a theorem may only take too small."""
    if upper - lower <= AGREE * abs(upper):
        return Constant(lower, Kind.EXACT, serves, witness=witness)
    return Constant(lower, Kind.LOWER, serves, upper=upper, witness=witness)


def at_most(lower: float, upper: float, serves: str, witness: Array | None = None) -> Constant:
    """A number in [lower, upper] that a theorem may only take too large."""
    if upper - lower <= AGREE * abs(upper):
        return Constant(upper, Kind.EXACT, serves, witness=witness)
    return Constant(upper, Kind.UPPER, serves, lower=lower, witness=witness)
