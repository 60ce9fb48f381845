"""g: what coefficients cost, and where they may be. Beside f and A, an axis of its own."""

from pursuit.penalties.base import Parts, Penalty, Separable
from pursuit.penalties.box import Box
from pursuit.penalties.free import FREE, Free
from pursuit.penalties.l1 import L1
from pursuit.penalties.nonnegative import NonNegative

__all__ = ["FREE", "L1", "Box", "Free", "NonNegative", "Parts", "Penalty", "Separable"]
