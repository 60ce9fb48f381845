"""Parameter-free acceleration whose x goes to the best point of a plane.

(⋆) of `adaptive` allows any step from y whose decrease is proved. Here it is the minimiser
of f over y + span{z, u, v − x, x_t − x_{t−1}}: the oracle's atom, the mean u of all atoms that v
moves by, the momentum, and the last step. None of these costs a product beyond those that
looking at y and moving v have cost already.
"""

from __future__ import annotations

from dataclasses import dataclass

from pursuit.acceleration.adaptive import Adaptive, AdaptiveStepper, Trial, raised
from pursuit.acceleration.exploration import Overview
from pursuit.acceleration.headings import Heading, total
from pursuit.acceleration.subspace import bend, best
from pursuit.points.base import Point
from pursuit.rules.advances import Advance
from pursuit.rules.run import Progress, Run

RENEW = 100
"""Iterations between two recomputations of all that steps keep up to date."""


@dataclass
class PlanarTrial(Trial):
    """A step to the best point of a plane; `end` is where its first part, the advance, led."""

    step: Heading | None = None
    mean: Heading | None = None


class PlanarStepper(AdaptiveStepper):
    """v is kept as its offset from x, and the directions of the plane as such.

    As differences of points they would carry the rounding of those points, and steps along them
    would make it grow.
    """

    def __init__(self, rule: Adaptive, run: Run, advance: Advance, x: Point) -> None:
        super().__init__(rule, run, advance, x)
        self._run = run
        self._keep("last", Heading.nowhere(x))

    def points(self) -> dict[str, Point]:
        return {"x": self.x}

    def step(self) -> Progress:
        if self._memory["beta"] > 0 and self._run.t % RENEW == 0:
            self.x.refresh()
            for name in ("away", "last"):
                anew = self.x.gather(self._kept(name).shift["coef"])
                self._keep(name, Heading.fresh(self.x, anew))
        return super().step()

    def _try(self, kappa: float) -> Trial:
        trial = PlanarTrial(**vars(super()._try(kappa)))
        if not trial.gains:
            return trial
        away, last = self._kept("away"), self._kept("last")
        z = Heading.fresh(self.x, trial.end.along(trial.progress.atom))
        trial.mean = Heading.fresh(self.x, _overview(trial).mean)
        plane = [z, trial.mean, last, away]
        delta, further = best(trial.end, plane)
        trial.progress = trial.progress._replace(decrease=trial.progress.decrease + further)
        trial.divergence = 0.5 * trial.tau**2 * bend(self.x, away.shift)
        delta[0] += trial.progress.gamma
        delta[3] -= trial.tau  # x_{t+1} − x_t = τ(v − x) − γz − Σ δ_i d_i
        trial.step = total(self.x, *zip((-delta).tolist(), plane, strict=True))
        return trial

    # Where x and v are ------------------------------------------------------------------

    def _between(self, tau: float) -> Point:
        self._y.restore(self.x.arrays())
        self._y.shift(-tau, self._kept("away").shift)
        return self._y

    def _rises(self, trial: Trial) -> bool:
        step, _ = _step(trial)
        return _overview(trial).along(step.shift) > 0

    def _settle(self, trial: Trial) -> None:
        step, mean = _step(trial)
        before = self.x.value() if self._rule.monotone else 0.0
        self.x.shift(-1.0, step.shift)
        if self._rule.monotone and raised(before, self.x):
            self.x.shift(1.0, step.shift)
            step = Heading.nowhere(self.x)
        away = self._kept("away")  # v_{t+1} = v_t − αu
        self._keep("away", total(self.x, (1.0, away), (-trial.alpha, mean), (-1.0, step)))
        self._keep("last", step)

    def _begin_phase(self) -> None:
        """v ← x, β ← 0."""
        self._keep("away", Heading.nowhere(self.x))
        self._memory.update(beta=0.0, bank=0.0)

    # What is kept between steps is plain arrays and numbers in the run's memory.

    def _kept(self, name: str) -> Heading:
        shift = {part: self._memory[f"{name}.{part}"] for part in self.x.arrays()}
        return Heading(shift, self._memory[f"{name}:reach"], self._memory[f"{name}:error"])

    def _keep(self, name: str, heading: Heading) -> None:
        self._memory.update({f"{name}.{part}": array for part, array in heading.shift.items()})
        self._memory.update({f"{name}:reach": heading.reach, f"{name}:error": heading.error})


def _step(trial: Trial) -> tuple[Heading, Heading]:
    """x_{t+1} − x_t and u of a trial that was accepted."""
    assert isinstance(trial, PlanarTrial)
    assert trial.step is not None
    assert trial.mean is not None
    return trial.step, trial.mean


def _overview(trial: Trial) -> Overview:
    assert isinstance(trial.glimpse, Overview)
    return trial.glimpse
