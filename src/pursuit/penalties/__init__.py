"""g: what coefficients cost, and where they may be. Beside f and A, an axis of its own."""

from pursuit.penalties.base import FREE, Free, NonNegative, Penalty

__all__ = ["FREE", "Free", "NonNegative", "Penalty"]
