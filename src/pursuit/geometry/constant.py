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
    confidence
        With which the interval is proved: 1, unless it was estimated from draws.
    """

    kind: Kind
    lower: float
    upper: float
    serves: str
    witness: Array | None
    confidence: float

    def __new__(
        cls,
        value: float,
        kind: Kind,
        serves: str,
        lower: float = 0.0,
        upper: float = inf,
        witness: Array | None = None,
        confidence: float = 1.0,
    ) -> Constant:
        number = super().__new__(cls, value)
        number.kind, number.serves, number.witness = kind, serves, witness
        number.confidence = confidence
        number.lower = float(value) if kind in (Kind.EXACT, Kind.LOWER) else lower
        number.upper = float(value) if kind in (Kind.EXACT, Kind.UPPER) else upper
        return number

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        ends = self.lower, self.upper
        return (float(self), self.kind, self.serves, *ends, self.witness, self.confidence)

    def stated(self, confidence: float) -> Constant:
        """The same number, known with this confidence or with its own if that is less."""
        ends, least = (self.lower, self.upper), min(confidence, self.confidence)
        return Constant(float(self), self.kind, self.serves, *ends, self.witness, least)

    def __repr__(self) -> str:
        interval = ""
        if self.lower < self.upper and (self.lower > 0 or self.kind is not Kind.UPPER):
            interval = f" in [{self.lower:.6g}, {self.upper:.6g}]"
        sure = "" if self.confidence == 1 else f" with confidence {self.confidence:.6g}"
        return f"{float(self):.6g}{interval} ({self.kind.value}{sure}; {self.serves})"


def at_least(lower: float, upper: float, serves: str, witness: Array | None = None) -> Constant:
    """A number in [lower, upper] that a theorem may only take too small."""
    if _agree(lower, upper):
        return Constant(lower, Kind.EXACT, serves, witness=witness)
    return Constant(lower, Kind.LOWER, serves, upper=upper, witness=witness)


def at_most(lower: float, upper: float, serves: str, witness: Array | None = None) -> Constant:
    """A number in [lower, upper] that a theorem may only take too large."""
    if _agree(lower, upper):
        return Constant(upper, Kind.EXACT, serves, witness=witness)
    return Constant(upper, Kind.UPPER, serves, lower=lower, witness=witness)


def _agree(lower: float, upper: float) -> bool:
    """Whether the ends of an interval are one number; a bound with no other end is not."""
    return lower == upper or (upper < inf and upper - lower <= AGREE * abs(upper))
