"""Steps by compiled kernels.

Whether a run is compiled is decided before it starts, by the problem, the atoms and the method
alone, and stored in its checkpoints: a compiled run makes every step with the kernels, any other
run none. So neither how often a run is recorded nor when it is stopped changes a bit. Compiled
steps equal those of the rules up to rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.products import times
from pursuit.base.validation import Array
from pursuit.methods import Method
from pursuit.points.base import Point
from pursuit.points.columns import ColumnPoint
from pursuit.points.gram import GramPoint, as_gram
from pursuit.rules.directions import Direction, next_picks
from pursuit.rules.memory import Memory
from pursuit.rules.momentum import Blending, Stepper
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import Step, bounds_of, column_bounds

if TYPE_CHECKING:
    from pursuit.kernels.iterations import Ends, IteratedPoint, IterationRules
    from pursuit.points.local import ShiftsPoint
    from pursuit.rules.pairs import ColumnPair

LOADING_SECONDS = 0.6
"""What loading the kernels takes, where they are compiled already."""
SAVED_SECONDS = 3.5e-6
"""What an iteration of the rules takes beyond its arithmetic, for each sequence of points."""
ROUNDS = 100
"""Iterations that a run takes, for each of its atoms."""
MONOTONE = 0.5
"""With a bound of at least this share of ‖z‖² no step lets the value rise."""
NO_PICKS = np.empty(0, np.int64)


class KernelLimits(NamedTuple):
    """Where kernels pause for the stopping criteria: a dual norm of the gradient, a value of f
    (−inf: none) and a number of atoms (0: none)."""

    dual_norm: float
    value: float
    n_nonzero: int


class CompiledSteps(ABC):
    """Makes iterations of a method with kernels.

    Attributes
    ----------
    value_every
        Iterations between two evaluations of f: where one costs as much as many steps, kernels do
        not look at it either.
    """

    value_every = 1

    def __init__(self, run: Run, stepper: Stepper, **rules: Direction | None) -> None:
        self._run, self._stepper = run, stepper
        self._rules = {name: rule for name, rule in rules.items() if rule is not None}
        self._exact = "picks" in self._rules and self._rules["picks"].exact

    def __call__(self, most: int, limits: KernelLimits) -> Progress:
        """Make up to `most` iterations, and return the last of them."""
        draws = dict.fromkeys(("picks", "probes"), NO_PICKS)
        for name, rule in self._rules.items():
            if not rule.exact:
                draws[name] = next_picks(rule, self._run, name, most)
                most = len(draws[name])
                if not most:
                    raise InputError(f"direction: {rule!r} has no atom for iteration {self._run.t}")
        steps, progress = self._advance(most, limits, draws["picks"], draws["probes"])
        self._run.t += steps
        for name, rule in self._rules.items():
            rule.skip(self._run, name, steps)
        if self._exact:
            self._stepper.x.counts.oracle_calls += steps
        return progress

    @abstractmethod
    def _advance(
        self, most: int, limits: KernelLimits, picks: Array, probes: Array
    ) -> tuple[int, Progress]:
        """Make at least one iteration; return how many, and the last of them."""

    def _progress(self, atom: float, gamma: float, correlation: float) -> Progress:
        dual_norm = abs(correlation) if self._exact else nan
        return Progress(int(atom), gamma, correlation, dual_norm, 0.5 * gamma * correlation)


def compiled_steps(
    run: Run, method: Method, stepper: Stepper, *, however_small: bool = False
) -> CompiledSteps | None:
    """Return what makes the steps of a run with kernels; None where they do not know its rules, or
    where the run is expected to gain less than loading them takes."""
    pick, step, x = method.advance.direction, method.advance.step, stepper.x
    if pick is None or step is None or not (pick.exact or _is_known_ahead(pick)):
        return None
    if (pair := stepper.column_pair) is not None:
        return PairSteps(run, pair, stepper)
    if isinstance(x, ColumnPoint) and method.momentum.alone:
        # No bounds: Newton's steps.
        bounds = np.empty(0) if step.newton else column_bounds(step, run.problem)
        return None if bounds is None else ColumnSteps(run, stepper, pick, bounds)
    if x.is_local and x.atoms.form is AtomForm.SHIFTS and method.momentum.alone:
        bounds = _bounds_of_shifts(run, stepper, step)
        return None if bounds is None else ShiftSteps(run, stepper, pick, bounds)
    blending = stepper.blending
    if as_gram(x) is None or blending is None or not x.atoms.penalty.free:
        return None
    sequences = len(stepper.points())
    gain = ROUNDS * len(x.coef) * sequences * SAVED_SECONDS
    if gain < LOADING_SECONDS and not however_small:
        return None
    if blending.probe is not None and not _is_known_ahead(blending.probe):
        return None
    return GramSteps.of(run, stepper, pick, step, blending)


def _is_known_ahead(rule: Direction) -> bool:
    """Return whether a rule picks without looking at the point, and says what it will pick."""
    return rule.blind and type(rule).ahead is not Direction.ahead


# Quadratics over a finite set -----------------------------------------------------------------


class GramSteps(CompiledSteps):
    """Algorithms 1 to 4 on the correlations of all atoms; see `pursuit.kernels.iterations`."""

    def __init__(
        self,
        run: Run,
        stepper: Stepper,
        pick: Direction,
        blending: Blending,
        bounds: Array,
        exact_steps: bool,
    ) -> None:
        super().__init__(run, stepper, picks=pick, probes=blending.probe)
        self._blending, self._bounds, self._exact_steps = blending, bounds, exact_steps
        self._made: tuple[IterationRules, Ends] | None = None
        self._points: dict[int, IteratedPoint] = {}
        n = len(bounds)
        sequences = len(stepper.points())
        correlations = 1.0 if pick.exact else 1 / n
        self._work = correlations + (sequences + (blending.probe is not None)) / n

    @staticmethod
    def of(
        run: Run, stepper: Stepper, pick: Direction, step: Step, blending: Blending
    ) -> GramSteps | None:
        """Return one, if curvature bounds are all there is to the step rule."""
        x = stepper.x
        # Those of the exact search are on the diagonal of the Gram matrix, known row by row.
        bounds = np.full(len(x.coef), inf) if step.exact else bounds_of(step, run.problem)
        if bounds is None:
            return None
        return GramSteps(run, stepper, pick, blending, bounds, step.exact)

    def _advance(
        self, most: int, limits: KernelLimits, picks: Array, probes: Array
    ) -> tuple[int, Progress]:
        from pursuit.kernels import iterations as kernels

        stepper, x, log, made = self._stepper, self._x, np.zeros(kernels.LOG), 0
        log[kernels.PRODUCTS], log[kernels.BETA] = x.counts.products, stepper.beta
        rules, ends = self._arguments(limits)
        while made < most:
            if self._exact_steps:
                self._bounds[:] = self._curvatures()
            draws, left = (picks[made:], probes[made:]), most - made
            if (pair := stepper.pair) is None:
                steps, missing = kernels.plain(rules, ends, self._point(x), draws[0], left, log)
            else:
                xyv = [self._point(point) for point in (stepper.x, pair.y, pair.v)]
                steps, missing = kernels.accelerated(
                    rules, ends, xyv[0], xyv[1], xyv[2], draws, left, log
                )
                pair.take(steps, float(log[kernels.BETA]))
            made += steps
            if missing == kernels.NOTHING:
                break
            x.gram.row(missing)
        x.counts.products = float(log[kernels.PRODUCTS])
        return made, self._progress(*log[kernels.ATOM : kernels.BETA].tolist())

    def _arguments(self, limits: KernelLimits) -> tuple[IterationRules, Ends]:
        """Return what kernels are given beside points, made once for a run."""
        if self._made is None:
            from pursuit.kernels.iterations import Ends, IterationRules

            gram, (L, nu, _) = self._x.gram, self._blending
            atoms = min(limits.n_nonzero, len(self._bounds) + 1)
            self._made = (
                IterationRules(gram.rows, gram.has_row, self._bounds, self._work, L, nu),
                Ends(limits.dual_norm, atoms, limits.value - gram.value, gram.correlations),
            )
        return self._made

    def _point(self, point: Point) -> IteratedPoint:
        """Return a point as kernels take it."""
        if id(point) not in self._points:
            from pursuit.kernels.iterations import IteratedPoint

            x = cast(GramPoint, point)
            self._points[id(point)] = IteratedPoint(x.coef, x.s, x.s.view(f"i{x.s.itemsize}"))
        return self._points[id(point)]

    def _curvatures(self) -> Array:
        """Return those along the atoms whose rows are known; inf, for no step, where f is flat."""
        gram = self._x.gram
        diagonal = gram.rows.diagonal()
        return np.where(gram.has_row & (diagonal > 0), diagonal, inf)

    @property
    def _x(self) -> GramPoint:
        return cast(GramPoint, self._stepper.x)


# Linear models over coordinates ---------------------------------------------------------------


@dataclass
class SampleGradients(Memory):
    """wᵢ ℓᵢ′ of the samples and c = Xᵀ of them, which steps keep up to date."""

    samples: Array
    c: Array
    stale: bool = True

    def refreshed(self) -> None:
        self.stale = True


class ColumnSteps(CompiledSteps):
    """Coordinate descent along columns of X; see `pursuit.kernels.coordinates`."""

    def __init__(self, run: Run, stepper: Stepper, pick: Direction, bounds: Array) -> None:
        super().__init__(run, stepper, picks=pick)
        from pursuit.kernels.coordinates import PenaltyArrays

        x = self._x
        self._bounds, n = bounds, len(x.coef)
        self._penalties = PenaltyArrays(*x.atoms.penalty.parts(n))
        self.value_every = 100 if pick.exact else n
        if pick.exact:
            gradients = SampleGradients(np.zeros(len(x.image)), np.zeros(n))
            self._gradients = run.remember("sample gradients", gradients)

    def _advance(
        self, most: int, limits: KernelLimits, picks: Array, probes: Array
    ) -> tuple[int, Progress]:
        from pursuit.kernels import coordinates as kernels

        x = self._x
        n, log = len(x.coef), np.zeros(kernels.LOG)
        log[kernels.PRODUCTS] = x.counts.products
        log[kernels.USED] = x.support if limits.n_nonzero else 0
        atoms = limits.n_nonzero or n + 1
        rules = self._penalties, self._bounds, x.iterate
        if self._exact:
            kept, ends = self._sample_gradients(x), (most, atoms, limits.dual_norm)
            steps = kernels.descend_steepest(
                x.model, x.f.kernel_rows, *rules, *kept, ends, 1 / n, log
            )
        else:
            steps = kernels.descend(x.model, *rules, picks, atoms, 1 / n, log)
        x.invalidate()
        x.counts.products = float(log[kernels.PRODUCTS])
        atom, gamma, c_z, dual_norm, gain = log[kernels.ATOM : kernels.USED].tolist()
        return int(steps), Progress(int(atom), gamma, c_z, dual_norm if self._exact else nan, gain)

    def _sample_gradients(self, x: ColumnPoint) -> tuple[Array, Array]:
        from pursuit.kernels import coordinates as kernels

        gradients = self._gradients
        if gradients.stale:
            kernels.slopes_of(x.model, x.image, gradients.samples)
            gradients.c[...] = times(x.f.X.T, gradients.samples)
            gradients.stale = False
        return gradients.samples, gradients.c

    @property
    def _x(self) -> ColumnPoint:
        return cast(ColumnPoint, self._stepper.x)


class PairSteps(CompiledSteps):
    """Algorithm 3 along columns of X; see `pursuit.rules.pairs`."""

    def __init__(self, run: Run, pair: ColumnPair, stepper: Stepper) -> None:
        super().__init__(run, stepper)
        self._pair = pair
        self.value_every = len(pair.v.coef)

    def _advance(
        self, most: int, limits: KernelLimits, picks: Array, probes: Array
    ) -> tuple[int, Progress]:
        return self._pair.steps(most)  # which draws its coordinates by itself


# Translated templates -------------------------------------------------------------------------


class ShiftSteps(CompiledSteps):
    """Matching pursuit over translated templates; see `pursuit.kernels.local`."""

    def __init__(self, run: Run, stepper: Stepper, pick: Direction, bounds: Array) -> None:
        super().__init__(run, stepper, picks=pick)
        self._bounds = bounds

    def _advance(
        self, most: int, limits: KernelLimits, picks: Array, probes: Array
    ) -> tuple[int, Progress]:
        from pursuit.kernels import local as kernels

        x = _shifts(self._stepper)
        x.reserve(most)
        x.log[kernels.PRODUCTS] = x.counts.products
        work = round(x.atoms.crowding) / len(x.atoms)
        ends = kernels.LocalEnds(limits.dual_norm, limits.value, limits.n_nonzero, work)
        kept = (x.kept, x.windows, x.residual, x.coefs)
        rules = (self._bounds, x.atoms.squares)
        steps = kernels.pursue(*kept, *rules, picks, most, ends, x.log)
        x.is_evaluated, x.counts.products = False, float(x.log[kernels.PRODUCTS])
        return int(steps), self._progress(*x.log[: kernels.VALUE].tolist())


def _bounds_of_shifts(run: Run, stepper: Stepper, step: Step) -> Array | None:
    """Return h_j of γ = c/h_j, for the templates or for all atoms; None where there is more to the
    step rule, or a step may let the value rise, which the kernel does not look at."""
    atoms = _shifts(stepper).atoms
    squares, n = atoms.squares, len(atoms)
    if step.exact:
        return squares
    kinds = np.arange(len(squares) if step.by_norm else n)
    bounds = step.bounds_of(run.problem, kinds)
    if bounds is None or (bounds < MONOTONE * squares[kinds % len(squares)]).any():
        return None
    return bounds


def _shifts(stepper: Stepper) -> ShiftsPoint:
    return cast("ShiftsPoint", stepper.x)
