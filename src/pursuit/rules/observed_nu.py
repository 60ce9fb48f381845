"""ν along a run: the smallest one with which the proof of Theorem 8 has gone through so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pursuit.atoms.sampling import as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.points.base import Point
from pursuit.rules.directions import Choose, Direction, Steepest
from pursuit.rules.run import Choice, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ObservedNu(Direction):
    """The exact oracle, with a record of the ν that the proof of Theorem 8 needs at each step.

    With g = ∇f(y_t), z_t the oracle's atom and z̃ ~ p the proof asks for
    ν ⟨g, z_t⟩²/‖z_t‖² ≥ E[⟨g, z̃⟩² ‖z̃‖_P²]; the appendix defines ν as the smallest number for which
    this holds for all t. Where the observed ν stays at or below the one in use, the theorem covers
    the run although the ν in use may be below the worst case over all directions. A run that
    records it evaluates the correlations of all atoms at every step and is not compiled.

    Parameters
    ----------
    sampling
        The distribution p of z̃: a `Sampling` or probabilities; uniform where not given.

    Attributes
    ----------
    ratios
        The smallest ν that each single step needs.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import Dictionary, ObservedNu, SquaredDistance, methods, solve
    >>> rng = np.random.default_rng(0)
    >>> atoms, record = Dictionary(rng.standard_normal((20, 5))), ObservedNu()
    >>> method = methods.accelerated_matching_pursuit(direction=record)
    >>> result = solve(SquaredDistance(rng.standard_normal(5)), atoms, method, max_iter=50)
    >>> len(record.values) == result.iterations, bool(record.values[-1] <= 5)
    (True, True)
    """

    sampling: object | None = None
    ratios: list[float] = field(default_factory=list, compare=False)

    @property
    def quality(self) -> float:
        return 1.0

    @property
    def values(self) -> Array:
        """The smallest ν for which the inequality holds at every step so far."""
        return np.maximum.accumulate(np.asarray(self.ratios))

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        atoms = run.problem.atoms.finite
        if atoms is None:
            raise InputError("direction: ObservedNu needs a finite set of atoms")
        sampling = as_sampling(atoms, self.sampling)
        weights = sampling.p * sampling.moments.leverage  # p_j ‖z_j‖_P²
        choose = Steepest().start(run, purpose)

        def record(y: Point) -> Choice:
            choice = choose(y)
            gain = choice.correlation**2 / atoms.norm2(choice.atom)
            if gain > 0:
                self.ratios.append(float(weights @ np.square(y.correlations())) / gain)
            else:  # y is optimal: any ν will do
                self.ratios.append(0.0)
            return choice

        return record

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the observed ν against iterations, and the ν that single steps need."""
        from pursuit import plots

        ax = plots.axes(ax)
        t = np.arange(1, len(self.ratios) + 1)
        ax.semilogx(t, self.ratios, linewidth=0.6, alpha=0.6, label="this step", **plots.look(5))
        ax.semilogx(t, self.values, label="all steps so far", color=plots.COLOURS[0])
        ax.set(xlabel="iteration", ylabel="smallest ν with which the proof holds")
        ax.legend(frameon=False)
        return ax
