"""Which atom: frozen rules, started once for a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.sampling import Sampling, as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, count, plain_array, share
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point
from pursuit.rules.approximate import StaleCorrelations
from pursuit.rules.memory import Memory
from pursuit.rules.run import Choice, Run

Choose = Callable[[Point], Choice]
Draw = Callable[[np.random.Generator, int, tuple[int, int]], Array]
"""(generator, signals, iterations) ↦ row numbers of atoms, one row for each signal."""


class Direction(ABC):
    """A rule that picks an atom at a point.

    What is asked of it beside that has an answer here already, which is true of any rule.
    """

    exact: ClassVar[bool] = False
    """Whether it is the oracle, z = LMO_A(∇f(x))."""
    ambient: ClassVar[bool] = False
    """Whether it needs the gradient itself, which points in Gram form do not keep."""
    blind: ClassVar[bool] = False
    """Whether it picks without looking at the point."""
    penalised: ClassVar[bool] = False
    """Whether the correlation that comes with a pick is the slope of f + g, where coefficients
    have a penalty; that of a blind rule is ⟨∇f, z⟩."""
    drawn: ClassVar[bool] = False
    """Whether it draws z ~ p."""
    sampling: object | None = None
    """That p: a `Sampling`, or probabilities; None: uniform."""

    @property
    def quality(self) -> float | None:
        """The δ for which equation (3) surely holds; None where there is none."""
        return None

    @abstractmethod
    def start(self, run: Run, purpose: str = "picks") -> Choose:
        """What picks in a run: x ↦ an atom; `purpose` tells its draws from those of others."""

    def ahead(self, run: Run, purpose: str, most: int) -> Array:
        """Row numbers of the next picks of a blind rule, up to `most` and as many as are known."""
        return np.empty(0, np.int64)

    def skip(self, run: Run, purpose: str, picks: int) -> None:
        """So many picks that `ahead` has shown were made."""
        if purpose in run.streams:
            run.streams[purpose].skip(picks)

    def draws(self, problem: Problem) -> Draw | None:
        """How a blind rule picks for many signals; None where it cannot."""
        return None


@dataclass(frozen=True)
class _BareDirection(Direction):
    """A rule that says no more than how it starts."""

    rule: Direction

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        return self.rule.start(run, purpose)


def as_direction(rule: Direction) -> Direction:
    """A rule that can be asked; one with `start` alone becomes one that knows nothing else."""
    return rule if isinstance(rule, Direction) else _BareDirection(rule)


@dataclass(frozen=True)
class Steepest(Direction):
    """z = LMO_A(∇f(x)), `Find z_t`: line 3 of Algorithms 1 and 2, line 7 of Algorithm 4."""

    exact: ClassVar[bool] = True
    penalised: ClassVar[bool] = True

    @property
    def quality(self) -> float:
        return 1.0

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        quality = run.problem.atoms.quality

        def choose(x: Point) -> Choice:
            z, c = x.lmo()
            return Choice(z, c, abs(c) / quality)

        return choose


@dataclass(frozen=True)
class Approximate(Direction):
    """Any z in A with \\|⟨∇f(x), z⟩\\| ≥ δ max \\|⟨∇f(x), z_j⟩\\|: equation (3), certified.

    Correlations with earlier gradients bound the present ones, so that most atoms of a finite
    set need not be looked at (see `pursuit.rules.approximate`); it pays for δ up to about 0.7.
    An infinite set is asked for such an atom (`AtomSet.near_lmo`): `RankOne` makes the few Lanczos
    steps that δ takes. The slope that it reports is a proved upper bound, at most
    \\|⟨∇f(x), z⟩\\|/δ.

    Parameters
    ----------
    delta
        0 < δ ≤ 1.
    """

    delta: float
    ambient: ClassVar[bool] = True
    penalised: ClassVar[bool] = True

    @property
    def quality(self) -> float:
        return self.delta

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        delta, atoms = share("delta", self.delta), run.problem.atoms.finite
        if atoms is None:
            return _near(run, purpose, delta)
        stale = StaleCorrelations(atoms)
        run.remember(purpose, stale.looks)

        def choose(x: Point) -> Choice:
            found = stale.search(x.gradient(), delta, x.coef)
            x.counts.oracle_calls += 1
            x.counts.products += (found.looked + found.compared) / len(atoms)
            return Choice(found.atom, found.correlation, found.slope)

        return choose


@dataclass
class Asked(Memory):
    """How often an infinite set was asked: each time it draws from a generator of its own."""

    times: int = 0


def _near(run: Run, purpose: str, delta: float) -> Choose:
    """The atoms that an infinite set finds good enough."""
    asked = run.remember(purpose, Asked())

    def choose(x: Point) -> Choice:
        asked.times += 1
        gradient, rng = x.gradient(), np.random.default_rng([run.seed, asked.times])
        x.counts.oracle_calls += 1
        x.count_evaluation()
        z, bound = x.atoms.near_lmo(gradient, delta, rng)
        return Choice(z, x.atoms.inner(gradient, z), bound)

    return choose


@dataclass(frozen=True)
class Subset(Direction):
    """The best of m atoms drawn without replacement: between random pursuit and the oracle.

    It satisfies equation (3) in expectation with δ̂² ≥ max(m/n, 1/max_j w_j).

    Parameters
    ----------
    m
        How many of the n atoms of a finite set are looked at.
    """

    m: int
    penalised: ClassVar[bool] = True

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        atoms = _finite("m", run.problem.atoms, self)
        m = count("m", self.m, minimum=1)
        if m > len(atoms):
            raise InputError(f"m: expected at most the {len(atoms)} atoms of the set, got {m}")
        draw = run.stream(purpose, _Subsets(atoms, m))

        def choose(x: Point) -> Choice:
            x.counts.oracle_calls += 1
            places = draw()
            c = atoms.admissible(x.correlations_at(places), x.weights(places), places)
            best = int(np.argmax(np.abs(c)))
            return Choice(int(places[best]), float(c[best]), nan)

        return choose


class _Subsets(Sampling):
    """Draws m of the atoms at a time, each subset as likely as any other, in increasing order."""

    def __init__(self, atoms: FiniteAtoms, m: int) -> None:
        super().__init__(atoms)
        self.m = m

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        n = len(self.atoms)  # type: ignore[arg-type]
        return [np.sort(rng.choice(n, self.m, replace=False, shuffle=False)) for _ in range(size)]


@dataclass(frozen=True)
class Random(Direction):
    """z ~ p, `Sample z_t`: line 7 of Algorithm 3, line 9 of Algorithm 4.

    Parameters
    ----------
    sampling
        A `Sampling`, or the probabilities of a finite set; uniform where not given.
    """

    sampling: object | None = None
    blind: ClassVar[bool] = True
    drawn: ClassVar[bool] = True

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        draw = run.stream(purpose, as_sampling(run.problem.atoms, self.sampling))

        def choose(x: Point) -> Choice:
            z = draw()
            return Choice(z, x.correlation(z), nan)

        return choose

    def ahead(self, run: Run, purpose: str, most: int) -> Array:
        return run.streams[purpose].ahead(most)

    def draws(self, problem: Problem) -> Draw:
        sampling = as_sampling(problem.atoms, self.sampling)
        n, cumulated = len(sampling.p), np.cumsum(sampling.p)
        last = int(np.flatnonzero(sampling.p)[-1])

        def uniform(rng: np.random.Generator, signals: int, span: tuple[int, int]) -> Array:
            drawn: Array = rng.integers(0, n, (signals, span[1] - span[0]), dtype=np.int32)
            return drawn

        def weighted(rng: np.random.Generator, signals: int, span: tuple[int, int]) -> Array:
            heights = cumulated[-1] * rng.random((signals, span[1] - span[0]))
            places = np.searchsorted(cumulated, heights, side="right")
            # Rounding may lift a height to the very top, where no atom is left.
            drawn: Array = np.minimum(places, last).astype(np.int32)
            return drawn

        return uniform if sampling.uniform else weighted


@dataclass(frozen=True)
class Cyclic(Direction):
    """One atom of a finite set after another, and then the first again."""

    blind: ClassVar[bool] = True

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        n = len(_finite("direction", run.problem.atoms, self))

        def choose(x: Point) -> Choice:
            z = run.t % n
            return Choice(z, x.correlation(z), nan)

        return choose

    def ahead(self, run: Run, purpose: str, most: int) -> Array:
        n = len(_finite("direction", run.problem.atoms, self))
        first = run.t % n
        return np.arange(first, min(first + most, n))

    def draws(self, problem: Problem) -> Draw:
        n = len(_finite("direction", problem.atoms, self))

        def cycled(rng: np.random.Generator, signals: int, span: tuple[int, int]) -> Array:
            return np.tile((np.arange(*span) % n).astype(np.int32), (signals, 1))

        return cycled


@dataclass(frozen=True)
class Shuffled(Direction):
    """All atoms of a finite set in an order drawn anew each time: none waits for long.

    On many problems a drawn order needs several times fewer rounds than a fixed one, which may
    fit the data badly.
    """

    blind: ClassVar[bool] = True

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        atoms = _finite("direction", run.problem.atoms, self)
        draw = run.stream(purpose, _Permutations(atoms))

        def choose(x: Point) -> Choice:
            z = int(draw())
            return Choice(z, x.correlation(z), nan)

        return choose

    def ahead(self, run: Run, purpose: str, most: int) -> Array:
        return run.streams[purpose].ahead(most)


class _Permutations(Sampling):
    """Draws all atoms of a finite set, in an order that is as likely as any other."""

    def __init__(self, atoms: FiniteAtoms) -> None:
        super().__init__(atoms)
        self.block = len(atoms)

    def draw(self, rng: np.random.Generator, size: int) -> Sequence[Atom]:
        order: Sequence[Atom] = rng.permutation(size)  # type: ignore[assignment]
        return order


@dataclass(frozen=True)
class Replay(Direction):
    """The atoms of a given list, one an iteration: the same draws for two runs."""

    indices: Sequence[int]
    blind: ClassVar[bool] = True

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        listed = self._checked(run.problem).tolist()

        def choose(x: Point) -> Choice:
            if run.t >= len(listed):
                raise self._over()
            z = listed[run.t]
            return Choice(z, x.correlation(z), nan)

        return choose

    def ahead(self, run: Run, purpose: str, most: int) -> Array:
        return np.asarray(self.indices, np.int64)[run.t : run.t + most]

    def draws(self, problem: Problem) -> Draw:
        listed = self._checked(problem).astype(np.int32)

        def replayed(rng: np.random.Generator, signals: int, span: tuple[int, int]) -> Array:
            if span[1] > len(listed):
                raise self._over()
            return np.tile(listed[slice(*span)], (signals, 1))

        return replayed

    def _over(self) -> InputError:
        return InputError(f"indices: {len(self.indices)} atoms were given, and all were replayed")

    def _checked(self, problem: Problem) -> Array:
        """The row numbers, all of which are some."""
        atoms = _finite("indices", problem.atoms, self)
        picks = plain_array("indices", self.indices)
        if picks.ndim != 1 or picks.dtype.kind not in "iu":
            raise InputError("indices: expected a list of row numbers")
        if picks.size and not (picks.min() >= 0 and picks.max() < len(atoms)):
            raise InputError(
                f"indices: expected row numbers from 0 to {len(atoms) - 1}, "
                f"got {picks.min()} … {picks.max()}"
            )
        return picks


def next_picks(rule: Direction, run: Run, purpose: str, most: int) -> Array:
    """The next picks of a blind rule, as many as it knows. Kernels do not look where they read:
    they have to fit."""
    picks = np.ascontiguousarray(rule.ahead(run, purpose, most), np.int64)[:most]
    n = len(_finite("direction", run.problem.atoms, rule))
    if picks.size and not (picks.min() >= 0 and picks.max() < n):
        raise InputError(
            f"direction: {type(rule).__name__}.ahead gives {picks.min()} … {picks.max()}; "
            f"expected row numbers from 0 to {n - 1}"
        )
    return picks


def _finite(argument: str, atoms: AtomSet, rule: object) -> FiniteAtoms:
    if atoms.finite is None:
        raise InputError(f"{argument}: {type(rule).__name__} needs a finite set of atoms")
    return atoms.finite
