"""The end of a run as a result, in the user's scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.base.status import Status
from pursuit.methods import Method
from pursuit.solving.checkpoint import state_of
from pursuit.solving.path import SupportPath
from pursuit.solving.posing import Posed
from pursuit.solving.results import Origin, Result, Trace
from pursuit.solving.running import Running


@dataclass(frozen=True)
class Finish:
    """Makes the result."""

    posed: Posed
    rules: Method
    why: str = ""
    """What the method was chosen for, where nobody named one."""

    @np.errstate(over="ignore", invalid="ignore")
    def __call__(self, running: Running, status: Status, message: str) -> Result:
        x, (vector, used, weights, value, slope) = running.stepper.x, running.verified
        support, weights = used[weights != 0], weights[weights != 0]
        posed, beta = self.posed, running.stepper.beta
        return Result(
            x=vector,
            weights=weights,
            support=support,
            used=x.ledger.atoms_at(support),
            size=x.ledger.size,
            value=value,
            slope=slope,
            status=status,
            message=message,
            method=self.rules.name,
            why=self.why,
            iterations=running.run.t,
            seconds=running.seconds,
            counts=x.counts,
            trace=Trace(running.rows),
            state=state_of(running),
            origin=Origin(posed.problem, posed.start, self.rules, beta, posed.verify.problem),
            path=self._path(running),
        )

    def _path(self, running: Running) -> SupportPath | None:
        if running.recorder is None:
            return None
        x, posed = running.stepper.x, self.posed
        known = (posed.problem, posed.start, x.ledger.handles, running.offset, posed.scale)
        return SupportPath(running.recorder.entries, *known)
