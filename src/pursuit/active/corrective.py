"""Orthogonal pursuit: a new atom, then the best coefficients for all atoms in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pursuit.active.engine import ActiveMemory, ActiveSet
from pursuit.active.models import active_set
from pursuit.active.nonnegative_set import NonNegativeActiveSet
from pursuit.active.overlapping_atoms import Clusters, Neighborhoods, OverlappingCorrection
from pursuit.atoms.base import Atom
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, shown
from pursuit.penalties import Penalty
from pursuit.points import Needs
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.run import Progress, Run

SELECTIONS = ("omp", "ols")


@dataclass(frozen=True)
class Corrective(Advance):
    """Orthogonal matching pursuit for any smooth f: x ← argmin f over x + span(atoms in use).

    An atom joins the atoms in use, and all their coefficients are corrected: for a quadratic by
    one solve with a Cholesky factor that grows by a row with each atom, for a linear model by
    Newton's method, for any other f by Newton's method with conjugate gradients, warm-started at
    x. An atom that depends on those in use adds nothing: it is set aside for good and the next
    best one is taken. Over `Coordinates` the intercept of f comes first, before any choice could
    depend on it.

    From a blended point y the atoms in use include all those with a coefficient there. Over a
    `Cone` coefficients stay at or above zero: see `pursuit.active.nonnegative_set`.

    Parameters
    ----------
    selection
        "omp" takes the atom of the oracle, which maximizes \\|c_j\\|, c_j = ⟨∇f(x), z_j⟩. "ols"
        (orthogonal least squares) takes the one that lowers f most once all coefficients are
        corrected: it maximizes c_j²/d_j, d_j being the squared distance of z_j from the span of
        the atoms in use. For a quadratic that is exact; for other f, d_j is measured by an upper
        bound on the Hessian. It needs a finite set, and a product with all atoms more in each step.
        Atoms whose entry would make a diagonal entry of the inverse Gram matrix (of unit atoms)
        larger than 10⁶ are left out, so that it may end above the minimum that "omp" goes on to.
    """

    selection: str = "omp"
    keeps_path: ClassVar[bool] = True
    _overlapping: ClassVar[type[Neighborhoods]] = Clusters

    @property
    def needs(self) -> Needs:
        return Needs.ONCE if self.selection == "omp" else Needs.VECTOR

    def against(self, penalty: Penalty) -> str:
        return "" if penalty.one_sided else "corrects all coefficients at once, without a penalty"

    def start(self, run: Run) -> Improve:
        if self.selection not in SELECTIONS:
            raise InputError(
                f"selection must be one of {', '.join(SELECTIONS)}, got {shown(self.selection)}"
            )
        if self.selection == "ols" and run.problem.atoms.finite is None:
            raise InputError(
                "selection must be omp where atoms is not a finite set, got ols for "
                f"{type(run.problem.atoms).__name__}"
            )
        memory = run.remember("active", ActiveMemory())
        plain = _CorrectiveRun(run, memory, self.selection)
        overlapping = OverlappingCorrection(memory, self._overlapping)

        def improve(x: Point) -> Progress:
            return overlapping(x) if x.is_local else plain(x)

        return improve


@dataclass(frozen=True)
class LocalCorrective(Corrective):
    """Locally orthogonal pursuit: a new atom, then the best coefficients of it and its neighbors.

    Atoms in use that overlap the new one are corrected with it, the others stay as they are, so
    that a step costs what the neighborhood does however many atoms are in use (Mailhé, Gribonval,
    Vandergheynst and Bimbot 2011). It is not orthogonal pursuit, which corrects all that hangs
    together; but where a set does not say which of its atoms overlap, all of them may, and it is.
    """

    keeps_path: ClassVar[bool] = False
    _overlapping: ClassVar[type[Neighborhoods]] = Neighborhoods

    def against(self, penalty: Penalty) -> str:
        wanted = "from falling below 0" if penalty.one_sided else "where a penalty wants them"
        return f"corrects coefficients without keeping them {wanted}"


class _CorrectiveRun:
    """The atoms in use of one run: what is not remembered follows from what is."""

    def __init__(self, run: Run, memory: ActiveMemory, selection: str) -> None:
        problem, self.memory = run.problem, memory
        self.active: ActiveSet | NonNegativeActiveSet = active_set(problem, memory, selection)
        if problem.atoms.one_sided:
            self.active = NonNegativeActiveSet(self.active)
        self.finite = problem.atoms.finite
        axes = problem.f.intercept and problem.atoms.form is AtomForm.AXES
        self.intercept = problem.f.shape[0] - 1 if axes and not problem.atoms.one_sided else -1

    def __call__(self, x: Point) -> Progress:
        self.active.follow(x)
        z, c = self._enter_from_oracle(x) if self.finite is None else self._enter(x)
        gamma, decrease = self.active.refit(x) if len(self.active) else (0.0, 0.0)
        self.active.remember()
        if self.finite is None:
            return Progress(z, gamma, c, abs(c) / x.atoms.quality, decrease)
        slopes = self.finite.admissible(x.correlations(), x.coef)
        return Progress(z, gamma, c, float(np.abs(slopes).max()), decrease)

    def _enter(self, x: Point) -> tuple[int, float]:
        """Let the best atom in that does not depend on those in use."""
        x.counts.oracle_calls += 1
        correlations = x.correlations()
        if self._intercept_first(x, correlations):
            return self.intercept, float(correlations[self.intercept])
        gains = self.active.gains(x)
        while True:
            z = int(np.argmax(gains))
            if not gains[z] > 0 or z in self.active.places or self.active.add(x, z):
                return z, float(correlations[z])
            gains[z] = 0

    def _enter_from_oracle(self, x: Point) -> tuple[Atom, float]:
        z, c = x.lmo()
        place = x.ledger.place(z)
        if not self.memory.is_negligible(abs(c), x.dtype) and place not in self.active.places:
            self.active.add(x, place)
        return z, c

    def _intercept_first(self, x: Point, correlations: Array) -> bool:
        """Let the intercept in, if it is not; whether that is enough for this step."""
        place = self.intercept
        if place < 0 or place in self.active.places or place in self.memory.dependent:
            return False
        rounding = tolerances(x.dtype).dual_norm * float(np.abs(correlations).max())
        return self.active.add(x, place) and abs(float(correlations[place])) > rounding
