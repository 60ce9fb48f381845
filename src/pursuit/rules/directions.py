"""Which atom: frozen rules, started once for a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar, Protocol

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.sampling import Sampling, as_sampling
from pursuit.base.errors import InputError
from pursuit.base.validation import count, plain_array, positive
from pursuit.points.base import AmbientPoint, Point
from pursuit.rules.approximate import StaleCorrelations
from pursuit.rules.run import Choice, Run

Choose = Callable[[Point], Choice]


class Direction(Protocol):
    """A rule that picks an atom at a point."""

    def start(self, run: Run, purpose: str = "picks") -> Choose: ...


@dataclass(frozen=True)
class Steepest:
    """z = LMO_A(∇f(x)), the line `Find z_t` of Algorithms 1, 2 and 4."""

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        def choose(x: Point) -> Choice:
            z, c = x.steepest()
            return Choice(z, c, abs(c))

        return choose


@dataclass(frozen=True)
class Approximate:
    """Any z in A with \\|⟨∇f(x), z⟩\\| ≥ δ max \\|⟨∇f(x), z_j⟩\\|: equation (3), certified.

    Correlations with earlier gradients bound the present ones, so that most atoms of a finite
    set need not be looked at (see `pursuit.rules.approximate`); it pays for δ up to about 0.7.
    The slope that it reports is a proved upper bound, at most \\|⟨∇f(x), z⟩\\|/δ.

    Parameters
    ----------
    delta
        0 < δ ≤ 1.
    """

    delta: float
    ambient: ClassVar[bool] = True
    """It needs the gradient itself, which points in Gram form do not keep."""

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        delta = positive("delta", self.delta)
        if delta > 1:
            raise InputError(f"delta: expected a number above 0 and at most 1, got {delta:g}")
        atoms = _finite("delta", run.problem.atoms, self)
        stale = StaleCorrelations(atoms)
        run.remember(purpose, stale.looks)

        def choose(x: Point) -> Choice:
            if not isinstance(x, AmbientPoint):
                raise InputError(f"direction: Approximate cannot run on a {type(x).__name__}")
            found = stale.search(x.gradient(), delta, x.coef)
            x.counts.oracle_calls += 1
            x.counts.products += (found.looked + found.compared) / len(atoms)
            return Choice(found.atom, found.correlation, found.slope)

        return choose


@dataclass(frozen=True)
class Subset:
    """The best of m atoms drawn without replacement: between random pursuit and the oracle.

    It satisfies equation (3) in expectation with δ̂² ≥ max(m/n, 1/max_j w_j).

    Parameters
    ----------
    m
        How many of the n atoms of a finite set are looked at.
    """

    m: int

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        atoms = _finite("m", run.problem.atoms, self)
        m = count("m", self.m, minimum=1)
        if m > len(atoms):
            raise InputError(f"m: expected at most the {len(atoms)} atoms of the set, got {m}")
        draw = run.stream(purpose, _Subsets(atoms, m))

        def choose(x: Point) -> Choice:
            x.counts.oracle_calls += 1
            places = draw()
            c = atoms.admissible(x.slopes(places), x.coef[places])
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
class Random:
    """z ~ p, the line `Sample z_t` of Algorithms 3 and 4.

    Parameters
    ----------
    sampling
        A `Sampling`, or the probabilities of a finite set; uniform where not given.
    """

    sampling: object | None = None

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        draw = run.stream(purpose, as_sampling(run.problem.atoms, self.sampling))

        def choose(x: Point) -> Choice:
            z = draw()
            return Choice(z, x.slope(z), nan)

        return choose


@dataclass(frozen=True)
class Replay:
    """The atoms of a given list, one an iteration: the same draws for two runs."""

    indices: Sequence[int]

    def start(self, run: Run, purpose: str = "picks") -> Choose:
        atoms = _finite("indices", run.problem.atoms, self)
        picks = plain_array("indices", self.indices)
        if picks.ndim != 1 or picks.dtype.kind not in "iu":
            raise InputError("indices: expected a list of row numbers")
        if picks.size and not (picks.min() >= 0 and picks.max() < len(atoms)):
            raise InputError(
                f"indices: expected row numbers from 0 to {len(atoms) - 1}, "
                f"got {picks.min()} … {picks.max()}"
            )
        listed = picks.tolist()

        def choose(x: Point) -> Choice:
            if run.t >= len(listed):
                raise InputError(f"indices: {len(listed)} atoms were given, and all were replayed")
            z = listed[run.t]
            return Choice(z, x.slope(z), nan)

        return choose


def _finite(argument: str, atoms: AtomSet, rule: object) -> FiniteAtoms:
    if not isinstance(atoms, FiniteAtoms):
        raise InputError(f"{argument}: {type(rule).__name__} needs a finite set of atoms")
    return atoms
