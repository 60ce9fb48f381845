"""When to stop: what a user may ask for, checked at the door."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from pursuit.base.errors import InputError
from pursuit.base.validation import count, non_negative, number, positive
from pursuit.geometry.suboptimality import SuboptimalityBound
from pursuit.objectives.problem import Problem


@dataclass(frozen=True)
class Stopping:
    """The limits of a run; `goal` is a value of f + g and the message for reaching it."""

    max_iter: int
    tol: float
    goal: tuple[float, str] | None
    max_atoms: int | None
    max_time: float | None
    gap: float | None = None

    @staticmethod
    def checked(
        problem: Problem,
        max_iter: int,
        tol: float | None,
        rtol: float | None,
        target: float | None,
        max_atoms: int | None,
        max_time: float | None,
        gap: float | None = None,
    ) -> Stopping:
        goals = []
        if target is not None:
            value = number("target", target)
            goals.append((value, f"the value is at most the target {value:.6g}"))
        if gap is not None:
            gap = _provable(problem, gap)
            tol = 0.0 if tol is None else tol
        if rtol is not None:
            residual = non_negative("rtol", rtol) * _signal_norm(problem)
            goals.append(
                (0.5 * residual * residual, f"the residual norm is at most {residual:.6g}")
            )
        return Stopping(
            _limit("max_iter", max_iter, 0),
            1e-6 if tol is None else non_negative("tol", tol),
            max(goals, default=None),
            None if max_atoms is None else _limit("max_atoms", max_atoms, 1),
            None if max_time is None else positive("max_time", max_time),
            gap,
        )


def _limit(name: str, value: int, minimum: int) -> int:
    """A number of steps or atoms that a counter can reach: nobody sees more of them."""
    return min(count(name, value, minimum), sys.maxsize)


def _provable(problem: Problem, gap: float) -> float:
    """The gap, where a run can tell it."""
    wanted = positive("gap", gap)
    if SuboptimalityBound.of(problem) is None:
        penalty = "without a penalty" if problem.atoms.penalty.free else "with this penalty"
        raise InputError(
            f"gap: of {type(problem.f).__name__} over {problem.atoms!r} {penalty} no dual problem "
            "is known; expected a linear model with a penalty, or with l2 > 0 over Coordinates"
        )
    return wanted


def _signal_norm(problem: Problem) -> float:
    f = problem.f
    if problem.atoms.penalty.weighted:
        raise InputError(
            "rtol: with weights on coefficients the value is more than that of a residual; "
            "expected tol, gap or target"
        )
    norm: float | None = getattr(f, "signal_norm", None)
    if norm is None:
        raise InputError(
            "rtol: expected an objective with a residual (SquaredDistance, LeastSquares), "
            f"got {type(f).__name__}"
        )
    return norm
