"""A point x, and what f says there; `choose` asks f, the set and the rule for its form."""

from pursuit.points.choice import Needs, choose

__all__ = ["Needs", "choose"]
