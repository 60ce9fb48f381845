"""How far: a step rule is an upper bound h(z) on the curvature of f along z, γ = ⟨∇f, z⟩ / h(z).

Then f(x − γz) ≤ f(x) − ⟨∇f, z⟩² / (2 h(z)), the decrease that every rule here can promise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, inf, isnan, log1p, nan, sqrt
from typing import ClassVar

import numpy as np

from pursuit import geometry
from pursuit.atoms.base import Atom
from pursuit.base.errors import InputError
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array, positive, shown
from pursuit.objectives.problem import Problem
from pursuit.points.base import LocalCurvature, Point
from pursuit.rules.line_search import Line, by_values
from pursuit.rules.memory import Memory
from pursuit.rules.pieces import TiltedPoint
from pursuit.rules.run import Run, Unbounded

SHRINK = 0.9
"""What a backtracking step begins with, relative to the last accepted curvature."""
DOUBLINGS = 60
"""How often a backtracking step may double it."""

FALLING = 1e-6
"""The share of a gradient that a slope has to be, for f to fall along an atom without curvature."""
SLIGHT = 1e-8
"""s below which s/log(1 + s) is one."""
ALIKE = 0.99
"""A bend of at least this share of the largest one is taken for it."""
NEARLY = 0.1
"""The share of what a safe step gains that a Newton step need not prove: with no kink on its way
both prove the same, and rounding shall not decide."""

UNEXPLAINED = (
    "f has more curvature than its L says, is not convex, or its gradient is not that of its "
    "values: pursuit.testing.check_objective(f) tells, and step=Backtracking() needs no L"
)
"""What may be wrong where no constant of a method is to blame."""

Measure = Callable[[Point, Atom, float], tuple[float, float]]
"""(x, z, ⟨∇f(x), z⟩) ↦ (γ, a proved lower bound on f(x) − f(x − γz))."""
Curvature = Callable[[Point, Atom, float], float]
"""(x, z, the slope of f + g along z) ↦ h(z), at least the curvature of f along the step."""


class Step:
    """A rule that says how far to go along an atom.

    What is asked of it beside that has an answer here already, which is true of any rule.
    """

    exact: ClassVar[bool] = False
    """Whether h(z) is the curvature of f along z, where f is quadratic."""
    newton: ClassVar[bool] = False
    """Whether its steps are Newton's, which kernels know of linear models."""
    by_norm: ClassVar[bool] = False
    """Whether atoms of one norm have one bound, where the Hessian of f is the identity."""

    def start(self, run: Run) -> Measure:
        """What measures steps in a run; γ = ⟨∇f, z_j⟩/h_j where the bounds are all there is."""
        bounds = bounds_of(self, run.problem)
        if bounds is None:
            raise InputError(
                f"step: {type(self).__name__} gives no curvature bounds for "
                f"{type(run.problem.atoms).__name__}; expected bounds, or a start of its own"
            )
        return from_bounds(bounds)

    def bounds(self, problem: Problem) -> Array | None:
        """h_j for each atom of a finite set, where γ = ⟨∇f, z_j⟩/h_j is all there is to the rule;
        infinite where there is no step. None where there is more to it."""
        return None

    def bounds_of(self, problem: Problem, places: Array) -> Array | None:
        """`bounds` for some atoms."""
        bounds = self.bounds(problem)
        return None if bounds is None else bounds[places]

    def curvatures(self, run: Run) -> Curvature | None:
        """h(z) in a run over a finite set, where γ = ⟨∇f, z⟩/h(z) is all there is to the rule: with
        a penalty its steps are then prox steps with this h. None where there is more to it."""
        bounds = bounds_of(self, run.problem)
        if bounds is None:
            return None
        each = bounds.tolist()
        return lambda x, z, slope: each[z]

    def promise(self, problem: Problem) -> float | None:
        """The L with which f falls by ⟨∇f, z⟩²/(2L‖z‖²) or more, if f is L-smooth (infinite: by
        nothing that is known); None where nothing is promised in that form."""
        return None

    @property
    def as_algorithm_2(self) -> bool:
        """Whether f falls by ⟨∇f, z⟩²/(2L_A) or more."""
        return False

    def suspect(self, problem: Problem) -> str:
        """What to look at first where its steps made the value run away."""
        return UNEXPLAINED


def bounds_of(step: Step, problem: Problem) -> Array | None:
    """The bounds that a rule gives, if they are some: compiled code does not look what it reads."""
    given = step.bounds(problem)
    if given is None:
        return None
    bounds, atoms = np.asarray(given), problem.atoms.finite
    n = 0 if atoms is None else len(atoms)
    if bounds.shape != (n,) or bounds.dtype.kind not in "fiu" or not (bounds >= 0).all():
        raise InputError(
            f"step: {type(step).__name__}.bounds gives {shown(given)}; expected an array of {n} "
            "curvature bounds, one for each atom of a finite set"
        )
    return bounds.astype(np.float64, copy=False)


def column_bounds(step: Step, problem: Problem) -> Array | None:
    """The same over coordinates: the curvatures of a quadratic are those of all columns at once."""
    atoms, f = problem.atoms.finite, problem.f
    if not step.exact or f.quadratic is None or atoms is None:
        return bounds_of(step, problem)
    h = f.scales(atoms)[0]
    return np.where(h > 0, h, inf)


@dataclass(frozen=True)
class _BareStep(Step):
    """A rule that says no more than how it starts."""

    rule: Step

    def start(self, run: Run) -> Measure:
        return self.rule.start(run)


def as_step(rule: Step) -> Step:
    """A rule that can be asked; one with `start` alone becomes one that knows nothing else."""
    return rule if isinstance(rule, Step) else _BareStep(rule)


@dataclass(frozen=True)
class Smooth(Step):
    """h(z) = L‖z‖²: line 4 of Algorithm 1, line 8 of 3 and 4. L is the objective's unless given."""

    L: float | None = None
    by_norm: ClassVar[bool] = True

    def bounds(self, problem: Problem) -> Array | None:
        atoms = problem.atoms.finite
        if atoms is None:
            return None
        if atoms.period < len(atoms):  # those that repeat are of the length that each is asked for
            kinds = self.bounds_of(problem, np.arange(atoms.period))
            return np.tile(kinds, len(atoms) // atoms.period)
        squares: Array = atoms.norms.astype(np.float64) ** 2
        return smoothness(problem, self.L) * squares

    def bounds_of(self, problem: Problem, places: Array) -> Array:
        squares = [problem.atoms.norm2(z) for z in places.tolist()]
        bounds: Array = smoothness(problem, self.L) * np.array(squares)
        return bounds

    def promise(self, problem: Problem) -> float:
        return self.L or problem.f.L or inf

    def suspect(self, problem: Problem) -> str:
        """Whether its constant is too small, and which is not."""
        return below_smoothness(problem, smoothness(problem, self.L))

    def start(self, run: Run) -> Measure:
        L, atoms = smoothness(run.problem, self.L), run.problem.atoms
        finite = atoms.finite
        if finite is not None and finite.period == len(finite):
            return super().start(run)

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            if c == 0:  # an oracle that finds nothing may say so by an atom of zeros
                return 0.0, 0.0
            h = L * atoms.norm2(z)
            return c / h, c * c / (2 * h)

        return measure


@dataclass(frozen=True)
class AffineInvariant(Step):
    """h(z) = L_A: line 4 of Algorithm 2. L_A is computed unless given."""

    L_A: float | None = None
    by_norm: ClassVar[bool] = True

    def bound(self, problem: Problem) -> float:
        """L_A as given, or computed."""
        if self.L_A is not None:
            return positive("L_A", self.L_A)
        return geometry.smoothness(problem.f, problem.atoms).upper

    def bounds(self, problem: Problem) -> Array | None:
        atoms = problem.atoms.finite
        return None if atoms is None else np.full(len(atoms), float(self.bound(problem)))

    def bounds_of(self, problem: Problem, places: Array) -> Array | None:
        return np.full(len(places), float(self.bound(problem)))

    @property
    def as_algorithm_2(self) -> bool:
        return self.L_A is None

    def suspect(self, problem: Problem) -> str:
        """Whether its constant is too small, and which is not."""
        given = self.bound(problem)
        safe = given if problem.f.L is None else AffineInvariant().bound(problem)
        if given < safe:
            return (
                f"L_A = {given:.6g} is below the curvature of f along the atoms, which is up to "
                f"{safe:.6g}; give L_A={safe:.6g}, or leave L_A out to have it computed"
            )
        return UNEXPLAINED

    def start(self, run: Run) -> Measure:
        h = self.bound(run.problem)

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            return c / h, c * c / (2 * h)

        return measure


@dataclass(frozen=True)
class ExactLineSearch(Step):
    """The minimiser of f along z.

    For a quadratic h(z) = zᵀHz. Else the slope along the line is brought to zero, and the decrease
    is a right-end Riemann sum of it: a proved lower bound, because f is convex (see
    `pursuit.rules.line_search`). No smoothness constant is needed; one that is known saves looks.
    """

    exact: ClassVar[bool] = True

    def bounds(self, problem: Problem) -> Array | None:
        f, atoms = problem.f.quadratic, problem.atoms.finite
        if f is None or atoms is None:
            return None
        images = ((atoms.vector(j), f.atom_image(atoms, j)) for j in range(len(atoms)))
        h: Array = np.array([f.curvature(z, image) for z, image in images])
        h[h <= 0] = inf  # no step along a direction in which f is flat
        return h

    def curvatures(self, run: Run) -> Curvature | None:
        if run.problem.f.quadratic is None:
            return None
        return lambda x, z, slope: x.curvature(z)  # when a step needs it

    def promise(self, problem: Problem) -> float:
        return problem.f.L or inf

    @property
    def as_algorithm_2(self) -> bool:
        return True

    def start(self, run: Run) -> Measure:
        if run.problem.f.quadratic is not None:
            return _vertex
        reach = _Reach(run)

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            h = x.curvature(z)
            if c == 0 or h == 0:
                return 0.0, 0.0
            line = downhill(x, z, c, h)
            end = x.room if isinstance(x, TiltedPoint) else inf
            if end < inf and line(end) >= 0:  # it still falls where it has to end
                tau = end
            else:
                tau = line.root(abs(c) / h if h < inf else abs(c) / reach.curvature(line, z))
            if tau == 0:  # the slope is rounding: no step makes it smaller
                return 0.0, 0.0
            reach.remember(line.curvature(tau), z)
            return copysign(tau, c), line.sharpen(tau)

        return measure


@dataclass(frozen=True)
class Newton(Step):
    """h(z) = zᵀ∇²f(x)z, made larger by just so much that the step surely pays.

    For a quadratic it is the exact step, and so it is, by a search, for any f that is no linear
    model. Logistic and Poisson losses bend after a way τ at most
    exp(gτ) times as much as here, g = max |(Xz)ᵢ|: with s = g|c|/h the step is log(1 + s)/g, that
    is h·s/log(1 + s) in the place of h, and f falls by ½|c| times the step or more. Losses with
    kinks try Newton's step, and keep it where the slope at its end proves nine tenths of what the
    step for the largest curvature would gain; else that one is taken.
    """

    exact: ClassVar[bool] = True
    newton: ClassVar[bool] = True

    def bounds(self, problem: Problem) -> Array | None:
        return ExactLineSearch().bounds(problem)

    def promise(self, problem: Problem) -> float:
        return (problem.f.L or inf) / (1 - NEARLY)

    def curvatures(self, run: Run) -> Curvature | None:
        model = run.problem.f.linear_model
        if run.problem.f.quadratic is not None:
            return ExactLineSearch().curvatures(run)
        if model is None or model.growth == inf:
            return None
        return lambda x, z, slope: damped(x.local_curvature(z), abs(slope))

    def start(self, run: Run) -> Measure:
        f = run.problem.f
        if f.quadratic is not None:
            return _vertex
        return ExactLineSearch().start(run) if f.linear_model is None else _newton


@dataclass(frozen=True)
class Backtracking(Step):
    """h(z) = M_t‖z‖² for an unknown L: M_t is doubled until the step is proved to pay.

    A step γ = c/h is taken when slopes at its middle and at its end prove a decrease of c²/(4h),
    which they do as soon as h is at least the curvature along it: M_t never exceeds twice the
    largest curvature of a unit direction. Values are not compared and slopes that drown in
    rounding are not tested, so that neither can drive M_t away near the optimum. Each step begins
    with 0.9 of the last M_t.

    Parameters
    ----------
    M
        The first M_t; estimated from two slopes where not given.
    """

    M: float | None = None

    def start(self, run: Run) -> Measure:
        reach = _Reach(run, None if self.M is None else positive("M", self.M))

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            if c == 0:
                return 0.0, 0.0
            line = downhill(x, z, c)
            begun = h = SHRINK * reach.curvature(line, z)
            if reach.is_rounding(x, c):
                return c * SHRINK / begun, 0.0
            for _ in range(DOUBLINGS):
                tau = abs(c) / h
                # ψ(τ) < −ψ(0)/2 alone rules the step out, whatever is in its middle.
                if line(tau) >= -abs(c) / 2 and line(tau) + line(tau / 2) >= abs(c) / 2:
                    reach.remember(max(begun, min(h, 2 * line.curvature(tau))), z)
                    return copysign(tau, c), line.decrease(tau)
                h *= 2
            return 0.0, 0.0

        return measure


@dataclass(frozen=True)
class ValueSearch(Step):
    """The minimiser of f along z from values of f alone; the correlation is not used.

    A minimiser along the line gains at least c²/(2h) for every curvature bound h, so at least
    what Algorithm 2 would gain along the same atom, up to the rounding of values of f.
    """

    def start(self, run: Run) -> Measure:
        memory, atoms = run.remember("step", _LastStep()), run.problem.atoms

        def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
            norm = sqrt(atoms.norm2(z))
            first = memory.reach / norm
            tolerance = tolerances(x.coef.dtype)
            gamma, gain = by_values(lambda g: x.value_along(g, z), x.value(), first, tolerance)
            if gamma:
                memory.reach = 4 * abs(gamma) * norm
            return gamma, gain

        return measure


@dataclass
class _LastStep(Memory):
    """The length of the last step along a unit direction, and some more."""

    reach: float = 1.0


@dataclass
class LastCurvature(Memory):
    """The last curvature of a unit direction, and the largest slope."""

    curvature: float = nan
    steepest: float = 0.0


class _Reach:
    """Where a search begins: from the last curvature that was met."""

    def __init__(self, run: Run, first: float | None = None) -> None:
        self._atoms = run.problem.atoms
        self._met = run.remember("step", LastCurvature(nan if first is None else first / SHRINK))

    def curvature(self, line: Line, z: Atom) -> float:
        norm2, M = self._atoms.norm2(z), self._met.curvature
        return line.typical_curvature(1 / sqrt(norm2)) if isnan(M) else M * norm2

    def is_rounding(self, x: Point, c: float) -> bool:
        """Whether a slope is so far below the largest one met that it is mostly rounding."""
        met = self._met
        met.steepest = max(met.steepest, abs(c))
        return abs(c) <= tolerances(x.coef.dtype).slope * met.steepest

    def remember(self, h: float, z: Atom) -> None:
        if h > 0:
            self._met.curvature = h / self._atoms.norm2(z)


def downhill(x: Point, z: Atom, c: float, h: float = inf) -> Line:
    """The rate at which f falls along z from x, in the direction in which it does."""
    side = copysign(1.0, c)
    flat = tolerances(x.coef.dtype).line
    return Line(lambda tau: side * x.derivative_along(side * tau, z), abs(c), h, flat)


def _vertex(x: Point, z: Atom, c: float) -> tuple[float, float]:
    h = x.curvature(z)
    return (c / h, c * c / (2 * h)) if h > 0 else flat(x, z, c)


def flat(x: Point, z: Atom, c: float) -> tuple[float, float]:
    """The step along a direction without curvature, in which nothing ends a fall."""
    if x.f.lowest == -inf and abs(c) > FALLING * x.f.gradient_norm(x.vector) * sqrt(
        x.atoms.norm2(z)
    ):
        raise Unbounded
    # A flat direction of a convex quadratic that is bounded below has no slope.
    return 0.0, 0.0


def _newton(x: Point, z: Atom, c: float) -> tuple[float, float]:
    curvature = x.local_curvature(z)
    if c == 0 or curvature.upper == 0:
        return 0.0, 0.0
    if curvature.growth < inf:
        h = damped(curvature, abs(c))
        return c / h, c * c / (2 * h)
    safe = c * c / (2 * curvature.upper)
    if 0 < curvature.value < ALIKE * curvature.upper:
        gamma = c / curvature.value
        there = x.derivative_along(gamma, z)
        # f(x) ≥ f(x − γz) + ⟨∇f(x − γz), γz⟩ + (the change of the slope)²/(2 most)
        proved = gamma * there + (c - there) * ((c - there) / (2 * curvature.upper))
        if proved >= safe * (1 - NEARLY):
            return gamma, proved
    return c / curvature.upper, safe


def damped(curvature: LocalCurvature, slope: float) -> float:
    """h so that f is below its parabola of bend h as far as a step against a slope leads."""
    if curvature.growth == 0:
        return curvature.value
    if curvature.value == 0:
        return min(curvature.growth * slope, curvature.upper)
    s = curvature.growth * slope / curvature.value
    return min(curvature.value * s / log1p(s) if s > SLIGHT else curvature.value, curvature.upper)


def from_bounds(h: Array) -> Measure:
    """The step rule of a finite set with one curvature bound an atom."""
    bounds = h.tolist()

    def measure(x: Point, z: Atom, c: float) -> tuple[float, float]:
        return c / bounds[z], c * c / (2 * bounds[z])

    return measure


def below_smoothness(problem: Problem, L: float) -> str:
    """Whether a smoothness constant is too small, and which is not."""
    safe = problem.f.L
    if safe is not None and safe > L:
        return (
            f"L = {L:.6g} is below the smoothness of f, {safe:.6g}; give L={safe:.6g}, or leave L "
            "out to have it taken from f"
        )
    return UNEXPLAINED


def smoothness(problem: Problem, given: float | None) -> float:
    """L as given, else the objective's; an objective that does not know it is an input error."""
    if given is not None:
        return positive("L", given)
    if problem.f.L is None:
        raise InputError(
            f"L: {type(problem.f).__name__} does not know its smoothness constant; expected L, "
            "a step rule that needs none (Newton, Backtracking), or one of the methods cyclic, "
            "shuffled, accelerated, orthogonal, blended, gradient-free"
        )
    return problem.f.L
