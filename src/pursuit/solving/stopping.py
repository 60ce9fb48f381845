"""When to stop: what a user may ask for, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.base.errors import InputError
from pursuit.base.validation import count, non_negative, number, positive
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem


@dataclass(frozen=True)
class Stopping:
    """The limits of a run; `goal` is a value of f and the message for reaching it."""

    max_iter: int
    tol: float
    goal: tuple[float, str] | None
    max_atoms: int | None
    max_time: float | None

    @staticmethod
    def checked(
        problem: Problem,
        max_iter: int,
        tol: float | None,
        rtol: float | None,
        target: float | None,
        max_atoms: int | None,
        max_time: float | None,
    ) -> Stopping:
        goals = []
        if target is not None:
            value = number("target", target)
            goals.append((value, f"the value is at most the target {value:.6g}"))
        if rtol is not None:
            residual = non_negative("rtol", rtol) * _signal_norm(problem.f)
            goals.append(
                (0.5 * residual * residual, f"the residual norm is at most {residual:.6g}")
            )
        return Stopping(
            count("max_iter", max_iter),
            1e-6 if tol is None else non_negative("tol", tol),
            max(goals, default=None),
            None if max_atoms is None else count("max_atoms", max_atoms, minimum=1),
            None if max_time is None else positive("max_time", max_time),
        )


def _signal_norm(f: Objective) -> float:
    norm: float | None = getattr(f, "signal_norm", None)
    if norm is None:
        raise InputError(
            "rtol: expected an objective with a residual (SquaredDistance, LeastSquares), "
            f"got {type(f).__name__}"
        )
    return norm
