"""Acceleration without parameters that looks at x itself: conjugate gradients with a certificate.

With c_j = ⟨∇f(x_t), z_j⟩, a step is

    u = Σ p_j c_j z_j,   S = Σ p_j c_j² = ‖u‖²_P,   e = ⟨∇f(x_t), v_t − x_t⟩
    x_{t+1} = a better point of x_t + span{u, earlier steps},   Δ ≤ f(x_t) − f(x_{t+1}) proved
    α = the larger root of (β_t + α)Δ + αe − α²S/2 = 0
    v_{t+1} = v_t − αu,   β_{t+1} = β_t + α

and then, surely, at every t and for every w in x_0 + lin(A),

    β_t(f(x_t) − f(w)) + ½‖w − v_t‖²_P ≤ ½‖w − x_0‖²_P.

No constant of f or of the atoms enters. The sampling p is the preconditioner.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf, log2, nan, sqrt

import numpy as np

from pursuit.acceleration.directions import Directions
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.points.ambient import AmbientPoint
from pursuit.points.base import Shift
from pursuit.rules.memory import Memory
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Progress, Run


def length(energy: float, along: float, beta: float, gain: float) -> float:
    """The larger root α of (β + α)Δ + αe − α²S/2 = 0, without cancellation."""
    q = gain + along
    root = sqrt(q * q + 2 * energy * beta * gain)
    return (q + root) / energy if q >= 0 else 2 * beta * gain / (root - q)


@dataclass
class ConjugateMemory(Memory):
    """What is remembered beside x.

    Attributes
    ----------
    v
        The coefficients of v_t.
    beta
        β_t.
    fallen
        By how much f has fallen.
    least, rested
        The least S so far, and the steps since.
    """

    v: Array
    beta: float = 0.0
    fallen: float = 0.0
    least: float = inf
    rested: int = 0


class ConjugateStepper(Stepper):
    """β, v and α; a subclass finds the better point.

    v is kept as coefficients in float64: from points, or in float32, e would drown in rounding.
    `h` are the curvatures of f along the atoms, to tell rounding by.
    """

    x: AmbientPoint
    kept: Directions
    wait: float = inf
    """Steps that S may stay above its least, near rounding."""
    close = False
    """Whether S has been near rounding."""

    def __init__(self, run: Run, x: AmbientPoint, p: Array, h: Array) -> None:
        self.x, self._p, self._h = x, p, h
        self._tolerances = tolerances(x.coef.dtype)
        origin = x.f.value_at(np.zeros_like(x.x), np.zeros_like(x.image))
        self._scale = max(abs(origin), abs(x.value()))
        self.memory = run.remember("momentum", ConjugateMemory(np.zeros(len(p))))

    @property
    def beta(self) -> float:
        return self.memory.beta

    def suspect(self) -> str:
        return "f is not convex"

    def step(self) -> Progress:
        memory = self.memory
        c = self.x.correlations().astype(np.float64)  # x_t is about to move
        weights, slope = self._p * c, float(np.abs(c).max())
        energy, size = float(weights @ c), self._size()
        away = memory.v - self.x.coef
        rounding = self._tolerances.slope * sqrt(size * self._reach(away))
        along, falls = float(c @ away), self._falls(energy, size * float(self._p @ self._h))
        gain = 0.0
        if falls:
            # In units of about its H-length, exactly: Hu multiplies four magnitudes of the data.
            unit = 2.0 ** round(0.5 * log2(self._reach(weights)))
            u = self.x.gather((weights / unit).astype(self.x.coef.dtype, copy=False))
            gain = self._improve(c, u, along if abs(along) > rounding else 0.0)
        if not gain > 0:
            if self._renewed(c, energy):
                return self.step()
            gain = self._improve_alone(c) if falls else 0.0
        if not gain > 0:
            return Progress(None, 0.0, nan, slope, 0.0)
        alpha = length(energy, along - rounding, memory.beta, gain)
        memory.v = memory.v - alpha * weights  # v_{t+1} = v_t − αu
        memory.beta += alpha
        memory.fallen += gain
        self._follow(alpha * unit, u)
        return Progress(None, 1.0, nan, slope, gain)

    @abstractmethod
    def _improve(self, c: Array, u: Shift, along: float) -> float:
        """Move x to a better point, and prove by how much f falls; 0: nothing can be told."""

    def _improve_alone(self, c: Array) -> float:
        """The same by one atom, where the sum of all leads nowhere."""
        return 0.0

    def _follow(self, alpha: float, u: Shift) -> None:
        """Whatever else has to know that v moved by −αu."""

    # What is rounding -------------------------------------------------------------------

    def _size(self) -> float:
        """s with s·h_j about the square of the terms that c_j is a difference of."""
        x, values = self.x, self._scale + self.memory.fallen
        return 2 * values + x.f.curvature_here(x.x, x.image)

    def _reach(self, coef: Array) -> float:
        """Σ a_j²h_j: how far rounding in c carries into the slope along Σ a_j z_j."""
        return float(self._h @ coef.astype(np.float64) ** 2)

    def _falls(self, energy: float, size: float) -> bool:
        """Whether S is above rounding, and near it was lower than ever not long ago."""
        memory = self.memory
        memory.rested = 0 if energy < memory.least else memory.rested + 1
        memory.least = min(energy, memory.least)
        self.close = memory.least <= self._tolerances.slope**2 * size
        waited = self.close and memory.rested >= self.wait
        return self._tolerances.equal**2 * size < energy < inf and not waited

    def _renewed(self, c: Array, energy: float) -> bool:
        """Whether what steps have kept up to date was rounding, and is now computed anew."""
        size = self._reach(self.x.coef) * float(self._p @ self._h)
        if not self._tolerances.equal**2 * size < energy < inf:
            return False  # the coefficients themselves say no more
        self.x.refresh()
        self.x.counts.products += 1
        wrong = self.x.correlations() - c
        if not float(self._p @ wrong**2) > energy / 4:
            return False
        self.kept.clear()
        return True
