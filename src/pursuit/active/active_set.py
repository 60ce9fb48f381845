"""f over x − span(Z): what the methods that correct all coefficients at once look at.

A `Span` holds the atoms in use in the order in which they came. All that it holds follows from
that order, so a run stores the order alone and a resumed one finds the same bits. `Span.at(x)`
is f as a function of the coefficients δ of a step x − Σ δ_i z_i. What depends on the kind of f is
in `pursuit.active.restricted`.

Every span has a metric, a bound on the Hessian between its atoms that does not depend on x. It
says which atoms are dependent and how long they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pursuit.active.newton import ACCURACY, Apply, descend
from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.base.growing import Numbers, Rows, Table
from pursuit.base.validation import Array
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point
from pursuit.rules.memory import Memory

EPS = {np.dtype(t): float(np.finfo(t).eps) for t in (np.float32, np.float64)}
ULPS = 8
"""Units in the last place of its terms that a slope may owe to rounding."""


def no_places() -> Array:
    """Of atoms, none."""
    return np.empty(0, np.int64)


@dataclass
class ActiveMemory(Memory):
    """What the methods that correct all coefficients remember; None: not met yet.

    Attributes
    ----------
    active
        The places of the atoms in use, in their order.
    first_oracle, least_slope
        The first slope that the oracle found, and the slope below which there is rounding alone.
    steepness
        The first slope of the atoms in use, for atoms of length one in the metric.
    """

    active: Array = field(default_factory=no_places)
    first_oracle: float | None = None
    least_slope: float | None = None
    steepness: float | None = None

    def first_steepness(self, now: float) -> float:
        """That of the first time that it was asked for."""
        if self.steepness is None:
            self.steepness = now
        return self.steepness


class Entry(NamedTuple):
    """An atom measured against the atoms of a span, in its metric."""

    place: int
    atom: Atom
    effect: Array
    column: Array
    norm2: float


class Span(ABC):
    """The atoms in use."""

    bounding = True
    """Whether the metric is known to bound the Hessian."""
    gram: Table | None = None
    """The metric, where it is the Hessian."""

    def __init__(self, problem: Problem) -> None:
        self.f, self.set = problem.f, problem.atoms
        self.accuracy = ACCURACY if self.f.quadratic is None else 0.0
        # A product with one atom is this share of a product with all.
        self.share = 0.0 if self.set.finite is None else 1 / len(self.set.finite)
        self.finite = self.set.finite is not None
        self.lengths = _lengths(self.set.finite)
        self.places: list[int] = []
        self.atoms: list[Atom] = []
        self.effects, self._norms, self._index = Rows(), Numbers(), Numbers(np.int64)

    def __len__(self) -> int:
        return len(self.places)

    def measure(self, x: Point, place: int) -> Entry:
        """An atom that may enter; its length is zero where rounding leaves no more of it."""
        z = place if self.finite else x.ledger.atom(place)
        effect = x.effect(z)
        column, norm2 = self._against(x, z, effect)
        return Entry(place, z, effect, column, max(norm2, 0.0))

    def add(self, entry: Entry) -> None:
        self.places.append(entry.place)
        self.atoms.append(entry.atom)
        self._norms.append(entry.norm2**0.5)
        self._index.append(entry.place)
        self.effects.append(entry.effect)

    def drop(self, k: int) -> None:
        """Forget the k-th atom."""
        del self.places[k], self.atoms[k]
        for rows in (self.effects, self._norms, self._index):
            rows.drop(k)

    @property
    def norms(self) -> Array:
        """The lengths of the atoms in the metric."""
        return self._norms.array

    @property
    def index(self) -> Array:
        """The places of the atoms as an array."""
        return self._index.array

    def told(self, slopes: Array, x: Point, memory: ActiveMemory) -> Array:
        """The slopes of all atoms of a finite set, zero where one is nothing but rounding.

        That of a long atom may be larger than all that a short one has to say.
        """
        if self.lengths is None:
            return slopes
        relative = np.abs(slopes) / self.lengths
        least = ULPS * EPS[x.coef.dtype] * float(relative.max())
        if memory.least_slope is None:
            memory.least_slope = least
        return np.where(relative > memory.least_slope, slopes, 0)

    def doubted(self, z: Atom, c: float, memory: ActiveMemory) -> bool:
        """Take the slope of an atom, and smaller ones, for rounding; whether that was news."""
        slope = 0.0 if self.lengths is None else abs(c) / float(self.lengths[z])
        if not slope > (memory.least_slope or 0.0):
            return False
        memory.least_slope = slope
        return True

    def negligible(self, z: Atom, c: float, x: Point, memory: ActiveMemory) -> bool:
        """Whether the oracle's slope is nothing but the rounding of the first one of the run."""
        slope = abs(c) if self.lengths is None else abs(c) / float(self.lengths[z])
        if memory.first_oracle is None:
            memory.first_oracle = slope
        return not slope > ULPS * EPS[x.coef.dtype] * memory.first_oracle

    def move(self, x: Point, delta: Array) -> None:
        """x ← x − Σ δ_i z_i."""
        x.move_all(delta, self.index, self.effects.array)

    def missing(self, x: Point) -> list[int]:
        """The places of the atoms that x uses and that are not here."""
        if np.count_nonzero(x.coef) == np.count_nonzero(self.coefficients(x)):
            return []
        known = set(self.places)
        return [place for place in np.flatnonzero(x.coef).tolist() if place not in known]

    def coefficients(self, x: Point) -> Array:
        """Those of x."""
        if self.finite:
            coef: Array = x.coef[self.index]
            return coef
        # x may not have room yet for the newest atom of an infinite set.
        return np.array([x.coef[k] if k < len(x.coef) else 0.0 for k in self.places])

    @abstractmethod
    def at(self, x: Point) -> Local:
        """f around x."""

    @abstractmethod
    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        """The metric between z and the atoms here, and of z with itself."""

    def inner(self, d: Array) -> Array:
        """⟨d, z_i⟩ for the atoms here."""
        return np.array([self.set.inner(d, z) for z in self.atoms], np.float64)


class Local(ABC):
    """f(x − Σ δ_i z_i) as a function of δ; a slope is ⟨∇f, z_i⟩."""

    def __init__(self, span: Span, x: Point) -> None:
        self.span, self.x = span, x
        self.size = len(span)
        self._product = self.size * span.share
        self.first = self._here().astype(np.float64, copy=False)

    def slopes(self, delta: Array) -> Array:
        """⟨∇f(x − Σ δ_i z_i), z_j⟩ for every atom of the span, in float64."""
        self.x.counts.products += 2 * self._product
        return self._slopes(delta)

    def _here(self) -> Array:
        """The slopes at δ = 0, those that the oracle has just seen if it has."""
        if self.x.looked and self.span.finite:
            return self.x.correlations()[self.span.index]
        return self.slopes(np.zeros(self.size))

    @abstractmethod
    def _slopes(self, delta: Array) -> Array: ...

    @abstractmethod
    def hessian(self, delta: Array) -> Apply:
        """p ↦ ∇²p at δ."""

    @abstractmethod
    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        """The step to the minimiser of the second-order model at δ; `metric` solves with the
        span's metric."""

    def decrease(self, delta: Array, last: Array) -> float:
        """A lower bound on f(x) − f(x − Σ δ_i z_i), the slopes at δ being known.

        The slope along the way falls from ⟨first, δ⟩ to ⟨last, δ⟩ by convexity, so that a sum of
        right ends is below its integral.
        """
        middle = self.slopes(0.5 * delta)
        return max(0.0, 0.5 * float(delta @ middle + delta @ last))


def largest_slope(x: Point) -> float:
    """max \\|⟨∇f(x), z⟩\\|, looked at as the oracle of the next step would."""
    return float(np.abs(x.correlations()).max())


def _lengths(atoms: FiniteAtoms | None) -> Array | None:
    """The norms of a finite set of atoms of different lengths."""
    if atoms is None:
        return None
    low, high = atoms.norm_range
    return atoms.norms.astype(np.float64) if high > 1.001 * low else None


def rounding(span: Span, x: Point, steepness: float) -> float:
    """The slope, for atoms of length one in the metric, that may be nothing but rounding.

    A slope is a sum of a first one, at most `steepness`, and of the shares of all coefficients.
    """
    shares = span.coefficients(x) * span.norms
    terms = steepness + float(np.sqrt(shares @ shares))
    return ULPS * EPS[x.coef.dtype] * terms


def enough(span: Span, x: Point, memory: ActiveMemory) -> float:
    """The slope, for atoms of length one in the metric, that is as good as zero."""
    steepness = memory.steepness or 0.0  # it was met before
    return max(span.accuracy * steepness, rounding(span, x, steepness))


def correct(
    span: Span, x: Point, memory: ActiveMemory, solve: Apply, room: Array | None = None
) -> tuple[float, float]:
    """x ← argmin f over x + span: the fully corrective step, for any f.

    Parameters
    ----------
    solve
        Solves with the metric of the span.
    room
        How far each coefficient may fall: the way ends where the first is at zero.

    Returns
    -------
    tuple
        The largest change of a coefficient, zero where x is the minimiser already, and a lower
        bound on the decrease of f.
    """
    local, norms = span.at(x), span.norms

    def newton(delta: Array, slopes: Array) -> Array:
        return local.newton(delta, slopes, solve)

    memory.first_steepness(float(np.max(np.abs(local.first) / norms)))
    least = enough(span, x, memory)
    delta, last = descend(local.slopes, local.first, newton, norms, least, room)
    if not delta.any():
        return 0.0, 0.0
    decrease = local.decrease(delta, last)
    span.move(x, delta)
    return float(np.abs(delta).max()), decrease
