"""From which point x improves: from itself, or from a blend with a second sequence v."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, NamedTuple

from pursuit import geometry
from pursuit.atoms.sampling import as_sampling
from pursuit.base.errors import InputError
from pursuit.base.roots import next_weight
from pursuit.base.tolerances import DOUBLE
from pursuit.base.validation import positive
from pursuit.geometry.guarantee import Guarantee, MissingConstant
from pursuit.objectives.problem import Problem
from pursuit.penalties import Penalty
from pursuit.points.base import Point
from pursuit.rules.advances import Advance
from pursuit.rules.directions import Direction, as_direction
from pursuit.rules.memory import Memory
from pursuit.rules.pairs import ColumnPair
from pursuit.rules.run import Progress, Run
from pursuit.rules.steps import UNEXPLAINED, below_smoothness, smoothness


class Blending(NamedTuple):
    """y = (1 − τ)x + τv with α²Lν = β + α and τ = α/β; v moves along z̃, which `probe` picks (None:
    z̃ = z). With ν = ∞ y is x, and there is no v."""

    L: float
    nu: float
    probe: Direction | None = None

    @property
    def stiffness(self) -> float | None:
        """Lν; None where there is no v."""
        return self.L * self.nu if self.nu < inf else None


NO_BLENDING = Blending(1.0, inf)


class Stepper(ABC):
    """A momentum rule at work: it owns the points of the run."""

    x: Point
    blending: Blending | None = None
    """How y is blended, where that is all there is to the momentum."""

    @property
    def pair(self) -> FixedNuStepper | None:
        """The stepper as one of a pair (x, v); None where there is more, or no v."""
        return None

    @property
    def column_pair(self) -> ColumnPair | None:
        """The pair (x, v) of a run over columns of X; None where there is no such."""
        return None

    @property
    def beta(self) -> float:
        """β_t, by which E[β_t(f(x_t) − f*)] is bounded; zero where there is no such bound."""
        return 0.0

    @abstractmethod
    def step(self) -> Progress:
        """One iteration."""

    def points(self) -> dict[str, Point]:
        """The points that make up the state of the run."""
        return {"x": self.x}

    def refresh(self) -> None:
        """Compute anew what steps keep up to date."""
        for point in self.points().values():
            point.refresh()

    def suspect(self) -> str:
        """What a user should look at first when the value runs away: cause and safe value."""
        return UNEXPLAINED


class Momentum(ABC):
    """A rule that says from which point to advance.

    What is asked of it beside that has an answer here already, which is true of any rule.
    """

    alone: ClassVar[bool] = False
    """Whether there is no point but x, which moves as the advance moves it."""

    def against(self, penalty: Penalty) -> str:
        """Why it cannot run with a penalty on coefficients; empty where it can."""
        if penalty.one_sided:
            return "moves a second sequence, which leaves the cone"
        return "moves a second sequence, of which nothing is proved with a penalty"

    @abstractmethod
    def start(self, run: Run, advance: Advance, x: Point) -> Stepper:
        """What makes the iterations of a run."""

    def blending(self, advance: Advance, problem: Problem) -> Blending | None:
        """How y is blended, where that is all there is to the rule."""
        return None

    def guarantee(self, advance: Advance, problem: Problem) -> Guarantee:
        """What proves E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖_P², or the constant that is missing."""
        raise MissingConstant("R_A", "the radius of the level set of x0 is not known either")


@dataclass(frozen=True)
class Plain(Momentum):
    """Advance from x itself: Algorithms 1 and 2, random pursuit."""

    alone: ClassVar[bool] = True

    def against(self, penalty: Penalty) -> str:
        return ""

    def start(self, run: Run, advance: Advance, x: Point) -> Stepper:
        return _PlainStepper(run, advance, x)

    def blending(self, advance: Advance, problem: Problem) -> Blending:
        return NO_BLENDING


class _PlainStepper(Stepper):
    blending = NO_BLENDING

    def __init__(self, run: Run, advance: Advance, x: Point) -> None:
        self.x = x
        self._run, self._advance = run, advance
        self._improve = advance.start(run)

    def step(self) -> Progress:
        return self._improve(self.x)

    def suspect(self) -> str:
        return _suspect_step(self._advance, self._run.problem)


@dataclass(frozen=True)
class FixedNu(Momentum):
    """Algorithms 3 and 4: y = (1 − τ)x + τv, x improves from y, v moves along z̃.

    Parameters
    ----------
    nu
        ν of Algorithm 4 or ν′ of Algorithm 3. Where it is not given, the exact ν′ or the safe
        upper bound on ν is computed.
    probe
        The rule for z̃. None: the atom that x moved along (Algorithm 3, greedy-greedy).
    L
        The smoothness constant, f's own unless given.
    """

    nu: float | None = None
    probe: Direction | None = None
    L: float | None = None

    def __post_init__(self) -> None:
        if self.probe is not None:
            object.__setattr__(self, "probe", as_direction(self.probe))

    def start(self, run: Run, advance: Advance, x: Point) -> Stepper:
        blending = self.blending(advance, run.problem)
        if (columns := ColumnPair.of(run, advance, blending, x)) is not None:
            return ColumnPairStepper(self, run, advance, blending, columns)
        return FixedNuStepper(self, run, advance, x)

    def blending(self, advance: Advance, problem: Problem) -> Blending:
        L = smoothness(problem, self.L)
        nu = self.safe_nu(advance, problem) if self.nu is None else positive("nu", self.nu)
        return Blending(L, nu, self.probe)

    def safe_nu(self, advance: Advance, problem: Problem) -> float:
        """The ν′ or ν with which the theorem holds."""
        direction, atoms = advance.direction, problem.atoms
        if self.probe is None and direction is not None and direction.drawn:
            return geometry.nu_random(atoms, as_sampling(atoms, direction.sampling)).upper
        as_sampling(atoms, None if self.probe is None else self.probe.sampling)
        # A δ-approximate oracle may gain δ² of what the exact one does.
        return geometry.safe_nu(atoms) / (advance.quality(problem) or 1.0) ** 2

    def guarantee(self, advance: Advance, problem: Problem) -> Guarantee:
        """Theorems 8 and 9."""
        f, atoms, direction = problem.f, problem.atoms, advance.direction
        promised = None if advance.step is None else advance.step.promise(problem)
        if direction is None or promised is None:
            raise MissingConstant("Δ_t", "no theorem covers this step from y_t")
        if f.L is None:
            raise MissingConstant("L", f"{type(f).__name__} does not know it")
        if min(promised, self.L or f.L) < f.L:
            raise MissingConstant("L", f"the one in use is below the proved {f.L:.6g}")
        if self.probe is None and direction.drawn:
            proved = geometry.nu_random(atoms, direction.sampling)
            valid = self._valid(f.L, "ν′", proved.upper, direction.sampling)
            return replace(valid, confidence=proved.confidence)
        quality = advance.quality(problem)
        if self.probe is None or not self.probe.drawn or quality is None:
            raise MissingConstant("ν", "no theorem covers these directions")
        as_sampling(atoms, self.probe.sampling)
        safe = geometry.safe_nu(atoms) / quality**2
        if self.nu is not None and self.nu < safe:
            safe = geometry.nu(atoms, self.probe.sampling, delta=quality).upper
        return self._valid(f.L, "ν", safe, self.probe.sampling)

    def _valid(self, L: float, letter: str, proved: float, sampling: object | None) -> Guarantee:
        nu = proved if self.nu is None else self.nu
        if nu < proved * (1 - DOUBLE.equal):
            raise MissingConstant(letter, f"{nu:.6g} is below the proved {proved:.6g}")
        return Guarantee(sampling, {"L": max(L, self.L or L), letter: nu})


@dataclass
class Beta(Memory):
    """β_t."""

    beta: float = 0.0


class FixedNuStepper(Stepper):
    """Algorithms 3 and 4 at work."""

    def __init__(self, rule: FixedNu, run: Run, advance: Advance, x: Point) -> None:
        self._rule, self._run, self._advance = rule, run, advance
        self.blending = rule.blending(advance, run.problem)
        self.L, self.nu, _ = self.blending
        self._improve = advance.start(run)
        self._probe = None if rule.probe is None else rule.probe.start(run, "probes")
        self.x, self.v, self.y = x, x.copy(), x.empty_like()  # x_0 = v_0; room for y
        self.memory = run.remember("momentum", Beta())  # β_0 = 0

    @property
    def pair(self) -> FixedNuStepper:
        return self

    @property
    def beta(self) -> float:
        return self.memory.beta

    def points(self) -> dict[str, Point]:
        return {"x": self.x, "v": self.v}

    def step(self) -> Progress:
        beta = self.memory.beta
        alpha = next_weight(beta, self.L, self.nu)  # line 3: α²Lν = β_t + α
        beta += alpha  # line 4: β_{t+1} = β_t + α
        tau = alpha / beta  # line 5
        y = self.x.blend(self.v, tau, out=self.y)  # line 6: y_t = (1 − τ_t) x_t + τ_t v_t
        if self._probe is None:  # Algorithm 3
            progress = self._improve(y)  # lines 7, 8: z_t ~ p, x_{t+1} = y_t − γ z_t
            self.v.move(alpha * progress.correlation, progress.atom)  # line 9, along z_t
        else:  # Algorithm 4
            z, c, _ = self._probe(y)  # line 9: z̃_t ~ p
            progress = self._improve(y)  # lines 7, 8: z_t = LMO_A(∇f(y_t)), x_{t+1} = y_t − γ z_t
            self.v.move(alpha * c, z)  # line 10: v_{t+1} = v_t − α ⟨∇f(y_t), z̃_t⟩ z̃_t
        self.x, self.y = y, self.x
        self.memory.beta = beta
        return progress

    def take(self, steps: int, beta: float) -> None:
        """Iterations were made elsewhere: x and the room for y have changed places each time."""
        if steps % 2:
            self.x, self.y = self.y, self.x
        self.memory.beta = beta

    def suspect(self) -> str:
        problem = self._run.problem
        step = _suspect_step(self._advance, problem)
        causes = [self._suspect_nu(), below_smoothness(problem, self.L), step]
        known = dict.fromkeys(cause for cause in causes if cause not in ("", UNEXPLAINED))
        return "; ".join(known) or UNEXPLAINED

    def _suspect_nu(self) -> str:
        """Whether ν is too small, and which is not; empty where it is not, or nobody knows."""
        try:
            safe = self._rule.safe_nu(self._advance, self._run.problem)
        except InputError:  # a set that does not know the moments of its draws
            return ""
        if self.nu < safe:
            return (
                f"nu = {self.nu:.6g} is below the safe value {safe:.6g} for these atoms; "
                f"give nu={safe:.6g}, or leave nu out to have it computed"
            )
        direction = self._advance.direction
        greedy = self._probe is None and not (direction is not None and direction.drawn)
        return f"no theorem covers greedy-greedy; give a nu above {self.nu:.6g}" if greedy else ""


class ColumnPairStepper(FixedNuStepper):
    """Algorithm 3 at work on a linear model over coordinates."""

    def __init__(
        self, rule: FixedNu, run: Run, advance: Advance, blending: Blending, columns: ColumnPair
    ) -> None:
        self._rule, self._run, self._advance, self._probe = rule, run, advance, None
        self.blending = blending
        self.L, self.nu, _ = blending
        self._columns = columns

    @property
    def column_pair(self) -> ColumnPair:
        return self._columns

    @property
    def x(self) -> Point:  # type: ignore[override]
        return self._columns.x

    @property
    def pair(self) -> None:  # type: ignore[override]
        return None

    @property
    def beta(self) -> float:
        return self._columns.memory.beta

    def points(self) -> dict[str, Point]:
        return {"v": self._columns.v}

    def refresh(self) -> None:
        self._columns.refresh()

    def step(self) -> Progress:
        return self._columns.steps(1)[1]


def _suspect_step(advance: Advance, problem: Problem) -> str:
    return UNEXPLAINED if advance.step is None else advance.step.suspect(problem)
