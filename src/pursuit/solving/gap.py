"""The stopping test of `gap`."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.base.status import Status
from pursuit.geometry.suboptimality import SuboptimalityBound, coefficients
from pursuit.methods import Method
from pursuit.objectives.problem import Problem
from pursuit.solving.verification import Verified


@dataclass(frozen=True)
class GapTest:
    """Whether the value is proved to be near the minimum, looked at once in `period` iterations.

    Attributes
    ----------
    given
        The problem with the atoms as the user gave them, whose coefficients a result has.
    bound
        Bounds f + g less its minimum.
    gap
        How near.
    """

    given: Problem
    bound: SuboptimalityBound
    gap: float
    period: int

    @staticmethod
    def of(given: Problem, rules: Method, gap: float | None) -> GapTest | None:
        """None where it was not asked for."""
        bound = None if gap is None else SuboptimalityBound.of(given)
        if gap is None or bound is None:
            return None
        return GapTest(given, bound, gap, rules.advance.gap_period(len(bound.atoms)))

    def reached(self, verified: Verified) -> tuple[Status, str] | None:
        """The end, if it is one."""
        w = coefficients(self.given, verified.x, verified.used, verified.weights)
        gap = self.bound(verified.x, w)
        if not gap <= self.gap:
            return None
        return Status.CONVERGED, f"the value is proved to be within {gap:.4g} of the minimum"
