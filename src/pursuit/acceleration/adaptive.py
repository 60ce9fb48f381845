"""Acceleration without parameters: neither ν nor L is given, and the bound of Theorem 8 holds.

Let S_t be the energy of the move of v (`acceleration.exploration`) and Δ_t a proved lower bound on
f(y_t) − f(x_{t+1}). The proof of Theorem 8 uses L and ν in one place only, where it needs

    Σ_t [ β_{t+1}Δ_t + β_t D_f(x_t, y_t) − α²_{t+1}S_t/2 ] ≥ 0    at every t                  (⋆)

with D_f(x, y) = f(x) − f(y) − ⟨∇f(y), x − y⟩. The sum is kept as a bank: a stiffness κ with
α²κ = β + α is accepted whenever the bank stays at 0 or above, else κ is raised and y looked at
again. Then ½‖x* − v_t‖²_P + β_t(f(x_t) − f*) + bank is a supermartingale, so that

    E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖²_P,    x_s the point where this phase of the run began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from pursuit import geometry
from pursuit.acceleration.exploration import Glimpse, exploring
from pursuit.acceleration.patience import Patience
from pursuit.acceleration.subspace import seen
from pursuit.atoms.base import FiniteAtoms
from pursuit.atoms.sampling import as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import count, non_negative, positive
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Greedy
from pursuit.rules.directions import Random, Replay
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run

SLOW = 20.0
"""The time constant of plain pursuit, in steps, from which on exploring all atoms pays."""
SLOW_DRAWN = 2.0
"""The same for m draws, in multiples of dim lin(A)/m."""
SHRINK, GROW = 0.9, 1.05
"""κ is tried at this share of its last value, and raised by this factor where refused."""
ULPS = 64
"""Units in the last place that a difference may owe to rounding."""
LOOKS = 100
"""Refusals in a row after which a new phase begins; only rounding can bring that about."""

Stiffness = float | Callable[[Problem], float] | None


@dataclass(frozen=True)
class Adaptive:
    """Momentum that measures its own stiffness: y = (1 − τ)x + τv, x improves from y, v explores.

    Parameters
    ----------
    exploration
        The number m of atoms drawn to move v; None: all of them, so that nothing is random and
        coefficients become dense. (An infinite set: None means one.)
    subspace
        Move on from where the advance led to the best point of the plane spanned by its atom, u,
        x − v and the last step of x (needs all atoms, and a quadratic or a linear model).
    patience
        Start by the advance alone and leave it when its time constant exceeds so many steps;
        0: accelerate at once. Where not given: 20 for all atoms, 2·dim lin(A)/m for m draws.
    restart
        Begin a new phase, v ← x, when x moves uphill as seen from y.
    monotone
        Keep x where it is when its step would raise f by more than rounding.
    kappa
        A fixed stiffness, or a function that computes one: no bank is kept then, and (⋆) is left
        to the caller. κ = Lν with one draw and without the rest is Algorithm 4.
    bank
        False: (⋆) has to hold term by term.
    sampling
        A `Sampling`, or the probabilities of a finite set; uniform where not given.
    """

    exploration: int | None = None
    subspace: bool = True
    patience: float | None = None
    restart: bool = True
    monotone: bool = False
    kappa: Stiffness = None
    bank: bool = True
    sampling: object | None = None

    def start(self, run: Run, advance: Advance, x: Point) -> Stepper:
        m = self.exploration
        if m is not None:
            count("exploration", m, minimum=1)
        if isinstance(advance, Greedy) and isinstance(advance.direction, (Random, Replay)):
            raise InputError(
                "direction: this momentum is measured against the largest correlation; expected "
                "a rule that looks for it (Steepest, Approximate, Subset), or another momentum"
            )
        planar = self.subspace and m is None and isinstance(advance, Greedy) and seen(x)
        if planar and isinstance(run.problem.atoms, FiniteAtoms):
            from pursuit.acceleration.planar import PlanarStepper

            return PlanarStepper(self, run, advance, x)
        return AdaptiveStepper(self, run, advance, x)

    def limit(self, problem: Problem) -> float:
        """The time constant from which on plain pursuit is left."""
        if self.patience is not None:
            return non_negative("patience", self.patience)
        if self.exploration is None and isinstance(problem.atoms, FiniteAtoms):
            return SLOW
        return max(SLOW, SLOW_DRAWN * problem.atoms.rank / (self.exploration or 1))

    def stiffness(self, problem: Problem) -> float | None:
        """The fixed κ, if there is one."""
        given = self.kappa(problem) if callable(self.kappa) else self.kappa
        return None if given is None else positive("kappa", given)


def largest_curvature(problem: Problem) -> float:
    """L_A: the stiffness that Algorithm 2's step and exploring all atoms always allow."""
    return geometry.smoothness(problem.f, problem.atoms).upper


@dataclass
class Trial:
    """A step from y that may yet be refused; x has been moved in the point `end`."""

    alpha: float
    tau: float
    glimpse: Glimpse
    progress: Progress
    end: Point
    divergence: float = 0.0
    """A lower bound on D_f(x, y), where that is free."""

    @property
    def gains(self) -> bool:
        return self.progress.decrease > 0 and self.glimpse.energy > 0

    @property
    def ratio(self) -> float:
        """S/(2Δ): the smallest κ for which this step alone satisfies (⋆)."""
        return self.glimpse.energy / (2 * self.progress.decrease)

    def gain(self, beta: float) -> float:
        """β_{t+1}Δ_t + β_t D_f(x_t, y_t) − α²S_t/2."""
        spent = self.alpha * self.alpha * self.glimpse.energy / 2
        return (beta + self.alpha) * self.progress.decrease + beta * self.divergence - spent


class AdaptiveStepper(Stepper):
    """x and v as points."""

    def __init__(self, rule: Adaptive, run: Run, advance: Advance, x: Point) -> None:
        self._rule, self._memory = rule, run.memory
        self._improve = advance.start(run)
        sampling = as_sampling(run.problem.atoms, rule.sampling)
        self._explore = exploring(run, sampling, rule.exploration)
        self._fixed = rule.stiffness(run.problem)
        self.x, self._y = x, x.share()
        self._patience = Patience(run, rule.limit(run.problem))
        self._memory.update(kappa=0.0, ratio=0.0)
        self._begin_phase()

    def points(self) -> dict[str, Point]:
        return {"x": self.x, "v": self.v}

    def suspect(self) -> str:
        return "f is not convex, or falls by less than its step rule promises"

    def step(self) -> Progress:
        if self._patience.lost:
            return self._accelerate()
        progress = self._improve(self.x)
        self._patience.watch(progress.decrease)
        if self._patience.lost:
            self._begin_phase()
        return progress

    # One accelerated step ---------------------------------------------------------------

    def _accelerate(self) -> Progress:
        trial = self._find()
        if not trial.gains:
            return self._stand(trial)
        rises = self._rule.restart and self._rises(trial)
        self._memory["beta"] += trial.alpha  # β_{t+1} = β_t + α_{t+1}
        self._settle(trial)
        if rises:
            self._begin_phase()
        return trial.progress

    def _find(self) -> Trial:
        """A step for which (⋆) holds, or one from a point with nothing to gain."""
        memory, beta = self._memory, float(self._memory["beta"])
        if self._fixed is not None:
            return self._try(self._fixed)
        kappa = max(float(memory["ratio"]), SHRINK * float(memory["kappa"]))
        for _ in range(LOOKS):
            trial = self._try(kappa)
            if not trial.gains:
                return trial
            if beta == 0:  # y = x: what is seen there says which κ will do
                kappa = trial.ratio
                trial.alpha = 1 / kappa
            saved = float(memory["bank"]) if self._rule.bank else 0.0
            bank = saved + trial.gain(beta)
            if bank >= 0 or beta == 0:
                memory.update(bank=max(bank, 0.0), kappa=kappa, ratio=trial.ratio)
                return trial
            kappa = GROW * max(trial.ratio, kappa)
        self._begin_phase()
        return self._find()

    def _try(self, kappa: float) -> Trial:
        beta = float(self._memory["beta"])
        # α²κ = β + α; at β = 0 y is x whatever κ is
        alpha = (1 + sqrt(1 + 4 * beta * kappa)) / (2 * kappa) if kappa else 0.0
        tau = alpha / (beta + alpha) if beta else 1.0
        y = self._between(tau)  # y_t = (1 − τ_t) x_t + τ_t v_t
        glimpse = self._explore.look(y)
        progress = self._improve(y)  # x_{t+1} = y_t − γ z_t
        return Trial(alpha, tau, glimpse, progress, y)

    def _stand(self, trial: Trial) -> Progress:
        """y is optimal, or what is left there is below what numbers can tell."""
        if trial.glimpse.energy == 0:
            self.x.restore(trial.end.arrays())
            self._begin_phase()
            return trial.progress
        return trial.progress._replace(gamma=0.0)

    # Where x and v are ------------------------------------------------------------------

    def _between(self, tau: float) -> Point:
        return self.x.blend(self.v, tau, out=self._y)

    def _rises(self, trial: Trial) -> bool:
        """Whether x moves uphill as seen from y."""
        return trial.glimpse.rises(self.x, trial.end)

    def _settle(self, trial: Trial) -> None:
        trial.glimpse.explore(self.v, trial.alpha)  # v_{t+1}, drawn after κ was accepted
        if not (self._rule.monotone and raised(self.x.value(), trial.end)):
            self.x, self._y = trial.end, self.x

    def _begin_phase(self) -> None:
        """v ← x, β ← 0."""
        self.v = self.x.copy()
        self._memory.update(beta=0.0, bank=0.0)


def raised(before: float, x: Point) -> bool:
    """Whether f at x is above a value by more than rounding."""
    after, eps = x.value(), float(np.finfo(x.coef.dtype).eps)
    return after - before > ULPS * eps * max(abs(before), abs(after))
