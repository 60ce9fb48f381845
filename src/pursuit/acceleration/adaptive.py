"""Acceleration without parameters for any smooth f and for sets that only have draws.

    y = (1 − τ)x + τv,   τ = α/(β + α),   α²κ = β + α
    x ← what the advance makes of y, where f falls by at least Δ
    v ← v − (α/m) Σ c_j z_j over m draws j ~ p, c_j = ⟨∇f(y), z_j⟩; all atoms: v − α Σ p_j c_j z_j

The mean square of the move of v in the P-norm is α²S. The proof of Theorem 8 uses L and ν only to
show that Σ_t [β_{t+1}Δ_t − α²S_t/2] ≥ 0 at every t. So the sum is kept, as a bank: a stiffness κ
is accepted where it stays at 0 or above, and raised else. Then E[β_t(f(x_t) − f*)] ≤ ½‖x* − x0‖²_P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from pursuit import geometry
from pursuit.atoms.base import Atom
from pursuit.atoms.sampling import Sampling, Stream, as_sampling, dense
from pursuit.base.errors import InputError
from pursuit.base.roots import next_weight
from pursuit.base.tolerances import DOUBLE
from pursuit.base.validation import Array, count, positive
from pursuit.geometry.guarantee import Guarantee, MissingConstant
from pursuit.objectives.matrices import MatrixObjective
from pursuit.objectives.problem import Problem
from pursuit.points.base import CombiningPoint, Point
from pursuit.rules.advances import Advance
from pursuit.rules.memory import Memory
from pursuit.rules.momentum import Momentum, Stepper
from pursuit.rules.run import Progress, Run

SHRINK, GROW, LOOKS = 0.9, 1.05, 100
"""κ is tried at this share of its last value, and raised by this factor so often where refused."""

Move = Callable[[Point, float], None]
Explore = Callable[[Point], tuple[float, Move]]


@dataclass(frozen=True)
class Adaptive(Momentum):
    """Momentum that measures its own stiffness.

    Parameters
    ----------
    exploration
        The number m of atoms drawn to move v; None: all of them, so that nothing is random and
        coefficients become dense. (An infinite set: None means one.)
    sampling
        A `Sampling`, or the probabilities of a finite set; uniform where not given.
    kappa
        A fixed stiffness, or a function that computes one: no bank is kept then. With κ = Lν and
        one draw this is Algorithm 4.
    """

    exploration: int | None = None
    sampling: object | None = None
    kappa: float | Callable[[Problem], float] | None = None

    def start(self, run: Run, advance: Advance, x: Point) -> Stepper:
        if advance.direction is not None and advance.direction.blind:
            raise InputError(
                "direction: this momentum is measured against the largest correlation; expected "
                "a rule that looks for it (Steepest, Approximate, Subset), or another momentum"
            )
        return AdaptiveStepper(self, run, advance, x)

    def guarantee(self, advance: Advance, problem: Problem) -> Guarantee:
        """Whatever κ_t it measures; a fixed one has to be large enough."""
        atoms = problem.atoms
        surely = self.exploration is None and atoms.finite is not None
        kappa = self.stiffness(problem)
        if kappa is None:
            sure = 1.0 if surely else as_sampling(atoms, self.sampling).moments.confidence
            return Guarantee(self.sampling, {}, surely, from_start=False, confidence=sure)
        draws = 1 if surely else 1 + (atoms.rank - 1) / (self.exploration or 1)
        needed = _enough(problem, draws)
        if not advance.as_algorithm_2:
            raise MissingConstant("κ", "a fixed one is covered with Algorithm 2's step")
        if kappa < needed * (1 - DOUBLE.equal):
            raise MissingConstant("κ", f"{kappa:.6g} is below the proved {needed:.6g}")
        return Guarantee(self.sampling, {"κ": kappa}, surely)

    def stiffness(self, problem: Problem) -> float | None:
        """The fixed κ, if there is one."""
        given = self.kappa(problem) if callable(self.kappa) else self.kappa
        return None if given is None else positive("kappa", given)


def largest_curvature(problem: Problem) -> float:
    """L_A/δ²: the stiffness that Algorithm 2's step and exploring all atoms always allow.

    An infinite set is explored by one draw, for which r times as much suffices.
    """
    atoms = problem.atoms
    return _enough(problem, atoms.rank if atoms.finite is None else 1)


def _enough(problem: Problem, draws: float) -> float:
    """S/(2Δ) at most, for Δ ≥ δ²‖g‖²_{A*}/(2L_A) and S ≤ draws·‖g‖²_{A*}."""
    return geometry.smoothness(problem.f, problem.atoms).upper * draws / problem.atoms.quality**2


@dataclass
class Bank(Memory):
    """Of this phase β_t, what is in the bank, κ_t and the κ that the last step allowed; phases."""

    beta: float = 0.0
    bank: float = 0.0
    kappa: float = 0.0
    ratio: float = 0.0
    phases: int = 1

    def accept(self, beta: float, bank: float, kappa: float, ratio: float) -> None:
        """A step was made."""
        self.beta, self.bank, self.kappa, self.ratio = beta, bank, kappa, ratio


class AdaptiveStepper(Stepper):
    """x and v as points."""

    def __init__(self, rule: Adaptive, run: Run, advance: Advance, x: Point) -> None:
        self.memory, self._improve = run.remember("momentum", Bank()), advance.start(run)
        self._explore = exploring(run, rule.sampling, rule.exploration)
        self._fixed = rule.stiffness(run.problem)
        self.x, self.v, self._y = x, x.copy(), x.empty_like()

    @property
    def beta(self) -> float:
        return self.memory.beta

    def points(self) -> dict[str, Point]:
        return {"x": self.x, "v": self.v}

    def suspect(self) -> str:
        return "f is not convex, or falls by less than its step rule promises"

    def step(self) -> Progress:
        memory = self.memory
        kappa = self._fixed or max(memory.ratio, SHRINK * memory.kappa)
        for _ in range(LOOKS):
            beta = memory.beta
            # α²κ = β + α; at β = 0 y is x whatever κ is
            alpha = next_weight(beta, kappa) if kappa else 1.0
            y = self.x.blend(self.v, alpha / (beta + alpha), out=self._y)
            energy, move = self._explore(y)
            progress = self._improve(y)  # x_{t+1} = y_t − γ z_t
            if energy == 0:  # y is optimal
                self.x, self._y = y, self.x
                return progress
            if not progress.decrease > 0:
                break
            if beta and not self._fixed and y.value() > self.x.value():
                self._begin_phase()
                continue
            ratio = energy / (2 * progress.decrease)  # the κ that this step alone allows
            if not (beta or self._fixed):
                kappa, alpha = ratio, 1 / ratio
            bank = memory.bank + (beta + alpha) * progress.decrease - alpha**2 * energy / 2
            if bank >= 0 or not beta or self._fixed:
                memory.accept(beta + alpha, max(bank, 0.0), kappa, ratio)
                move(self.v, alpha)  # v_{t+1}, drawn after κ was accepted
                self.x, self._y = y, self.x
                return progress
            kappa = GROW * max(ratio, kappa)
        return progress._replace(gamma=0.0)  # what is left is below what numbers can tell

    def _begin_phase(self) -> None:
        """v ← x, β ← 0."""
        self.v.restore(self.x.arrays())
        self.memory.beta = self.memory.bank = 0.0
        self.memory.phases += 1


# How v moves: a look at y gives S, and what will be done to v for a given α ---------------------


def exploring(run: Run, given: object | None, m: int | None) -> Explore:
    """The exploration of m draws, or of all atoms where m is None."""
    atoms, sampling = run.problem.atoms, as_sampling(run.problem.atoms, given)
    finite = atoms.finite is not None
    if finite and m is None:
        return lambda y: _everything(y, sampling.p)
    m = 1 if m is None else count("exploration", m, minimum=1)
    if finite:
        draw = run.stream("probes", sampling)
        weights = sampling.p * (sampling.moments.leverage / m + (1 - 1 / m))
        return lambda y: _drawn(y, weights, draw, m)
    form = sampling.closed_form
    if form is None:
        return _weighed(run, sampling, m)
    # P̃ is diagonal and constant over every atom: Σ p_j w_j c_j² = ‖∇f‖² over lin(A).
    scale = np.where(form.diagonal > 0, 1 / m + (1 - 1 / m) * form.diagonal, 0.0)
    stream = run.stream("probes", sampling)
    return lambda y: _isotropic(y, scale, stream, m)


def _everything(y: Point, p: Array) -> tuple[float, Move]:
    c = y.correlations().astype(np.float64)
    weights = p * c
    return float(weights @ c), lambda v, alpha: _along_all(v, alpha * weights)


def _drawn(y: Point, weights: Array, draw: Stream, m: int) -> tuple[float, Move]:
    c = y.correlations().astype(np.float64)
    return float(weights @ c**2), lambda v, alpha: _along(v, alpha / m, c.item, draw, m)


def _isotropic(y: Point, weights: Array, draw: Stream, m: int) -> tuple[float, Move]:
    gradient, inner = y.gradient(), y.atoms.inner
    if isinstance(y.f, MatrixObjective):  # ∇f is a residual of which f is half the square
        energy = float(weights[0]) * 2 * y.value()
    else:
        energy = float(weights @ gradient.reshape(-1).astype(np.float64) ** 2)
    return energy, lambda v, alpha: _along(v, alpha / m, partial(inner, gradient), draw, m)


def _weighed(run: Run, sampling: Sampling, m: int) -> Explore:
    """Draws from an infinite set whose P̃ is known, or known up to a factor: S from above.

    E⟨g, z⟩² = gᵀP̃g, and E[w⟨g, z⟩²] is at most a known multiple of it.
    """
    moments = sampling.moments
    frame, leverages = dense(moments.frame), moments.leverages
    assert leverages is not None
    most = (1 + moments.rounding) * (leverages.energy[1] / m + (1 - 1 / m))
    draw = run.stream("probes", sampling)

    def explore(y: Point) -> tuple[float, Move]:
        gradient, inner = y.gradient(), y.atoms.inner
        seen = frame @ gradient.reshape(-1).astype(np.float64)
        slope = partial(inner, gradient)
        return most * float(seen @ seen), lambda v, alpha: _along(v, alpha / m, slope, draw, m)

    return explore


def _along_all(v: Point, weights: Array) -> None:
    """v ← v − Σ weights_j z_j over all atoms."""
    v = cast(CombiningPoint, v)  # as points over finite sets are that may be blended
    v.shift(1.0, v.gather(weights.astype(v.coef.dtype, copy=False)))


def _along(v: Point, weight: float, slope: Callable[[Atom], float], draw: Stream, m: int) -> None:
    """v ← v − weight Σ c_j z_j over m draws."""
    for z in [draw() for _ in range(m)]:
        v.move(weight * slope(z), z)
