"""f over x − span(Z): what the methods that correct all coefficients at once look at.

A `Span` holds the atoms in use in the order in which they came. All that it holds follows from
that order, so a run stores the order alone and a resumed one finds the same bits. `Span.at(x)`
is f as a function of the coefficients δ of a step x − Σ δ_i z_i.

Every span has a metric, a bound on the Hessian between its atoms that does not depend on x:
⟨z_i, z_j⟩ in the Hessian of a quadratic (where it is exact), in the largest Hessian of a linear
model, in L·I for anything else. It says which atoms are dependent and how long they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.descent import Apply, conjugate
from pursuit.objectives.base import QuadraticObjective
from pursuit.objectives.linear_models import LinearModel
from pursuit.points import AmbientPoint, GramPoint, Point
from pursuit.problem import Problem
from pursuit.validation import Array

BENT = 1e-7
"""The share of the metric in the Hessian of Newton's method."""
ULPS = 8
"""Units in the last place of its terms that a slope may owe to rounding."""


class Rows:
    """A matrix that grows by rows without being copied each time."""

    def __init__(self, dtype: type = np.float64) -> None:
        self._store: Array = np.empty((0, 0), dtype)
        self._count = 0

    def append(self, row: Array) -> None:
        if self._count == len(self._store):
            wider = np.empty((max(8, 2 * self._count), row.size), row.dtype)
            if self._count:
                wider[: self._count] = self._store
            self._store = wider
        self._store[self._count] = row.reshape(-1)
        self._count += 1

    def drop(self, k: int) -> None:
        self._store[k : self._count - 1] = self._store[k + 1 : self._count]
        self._count -= 1

    @property
    def matrix(self) -> Array:
        return self._store[: self._count]

    def times(self, vector: Array) -> Array:
        """matrix · vector, also when there is no row yet."""
        return self.matrix @ vector if self._count else np.empty(0)

    def each_times(self, vector: Array) -> Array:
        """The same one row at a time: no bit depends on which other rows there are."""
        if not self._count:
            return np.empty(0)
        products: Array = self.matrix[:, None, :] @ vector[:, None]
        return products.reshape(-1)


class Table:
    """A symmetric matrix that grows by one row and column."""

    def __init__(self) -> None:
        self._store: Array = np.empty((0, 0))
        self._count = 0

    def append(self, column: Array, corner: float) -> None:
        k = self._count
        if k == len(self._store):
            wider = np.empty((max(8, 2 * k), max(8, 2 * k)))
            wider[:k, :k] = self._store[:k, :k]
            self._store = wider
        self._store[k, :k] = self._store[:k, k] = column
        self._store[k, k] = corner
        self._count += 1

    def drop(self, k: int) -> None:
        keep = np.delete(np.arange(self._count), k)
        self._count -= 1
        self._store[: self._count, : self._count] = self._store[np.ix_(keep, keep)]

    @property
    def matrix(self) -> Array:
        return self._store[: self._count, : self._count]


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

    def __init__(self, problem: Problem) -> None:
        self.f, self.set = problem.f, problem.atoms
        self.places: list[int] = []
        self.atoms: list[Atom] = []
        self.effects, self._norms, self._index = Rows(), Rows(), Rows(np.int64)

    def __len__(self) -> int:
        return len(self.places)

    def measure(self, x: Point, place: int) -> Entry:
        """An atom that may enter."""
        z = x.ledger.atom(place)
        effect = x.effect(z)
        column, norm2 = self._against(x, z, effect)
        return Entry(place, z, effect, column, norm2)

    def add(self, entry: Entry) -> None:
        self.places.append(entry.place)
        self.atoms.append(entry.atom)
        self._norms.append(np.sqrt([entry.norm2]))
        self._index.append(np.array([entry.place]))
        self.effects.append(entry.effect)

    def drop(self, k: int) -> None:
        """Forget the k-th atom."""
        del self.places[k], self.atoms[k]
        for rows in (self.effects, self._norms, self._index):
            rows.drop(k)

    @property
    def norms(self) -> Array:
        """The lengths of the atoms in the metric."""
        return self._norms.matrix.reshape(-1)

    @property
    def index(self) -> Array:
        """The places of the atoms as an array."""
        return self._index.matrix.reshape(-1)

    def move(self, x: Point, delta: Array) -> None:
        """x ← x − Σ δ_i z_i."""
        x.move_all(delta, self.index, self.effects.matrix)

    def missing(self, x: Point) -> list[int]:
        """The places of the atoms that x uses and that are not here."""
        if np.count_nonzero(x.coef) == np.count_nonzero(self.coefficients(x)):
            return []
        known = set(self.places)
        return [place for place in np.flatnonzero(x.coef).tolist() if place not in known]

    def coefficients(self, x: Point) -> Array:
        """Those of x."""
        if isinstance(self.set, FiniteAtoms):
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
        self._product = self.size / len(span.set) if isinstance(span.set, FiniteAtoms) else 0.0
        self.first = self._here().astype(np.float64, copy=False)

    def slopes(self, delta: Array) -> Array:
        """⟨∇f(x − Σ δ_i z_i), z_j⟩ for every atom of the span, in float64."""
        self.x.counts.products += 2 * self._product
        return self._slopes(delta)

    def _here(self) -> Array:
        """The slopes at δ = 0, those that the oracle has just seen if it has."""
        if self.x.looked and isinstance(self.span.set, FiniteAtoms):
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


# Quadratics ---------------------------------------------------------------------------------


class QuadraticSpan(Span):
    """A constant Hessian H: the metric is the whole truth."""

    f: QuadraticObjective

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.gram = Table()

    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        if isinstance(x, GramPoint):  # the effect of z is its Gram row
            return effect[self.index].astype(np.float64), float(effect[z])
        if self.f.isometric:
            flat = effect.reshape(-1).astype(np.float64, copy=False)
            return self.effects.each_times(flat), float(flat @ flat)
        pulled = self.f.pull(effect)
        return self.inner(pulled), self.set.inner(pulled, z)

    def add(self, entry: Entry) -> None:
        super().add(entry)
        self.gram.append(entry.column, entry.norm2)

    def drop(self, k: int) -> None:
        super().drop(k)
        self.gram.drop(k)

    def at(self, x: Point) -> Local:
        return _QuadraticLocal(self, x)


class _QuadraticLocal(Local):
    span: QuadraticSpan

    def _here(self) -> Array:
        x, finite = self.x, isinstance(self.span.set, FiniteAtoms)
        if finite and x.looked:
            return x.correlations()[self.span.index]
        if isinstance(x, AmbientPoint) and x.image is x.x:
            x.counts.products += self._product
            return self.span.effects.times(x.gradient().reshape(-1))
        if finite:
            return x.slopes(self.span.index)
        return np.array([x.slope(z) for z in self.span.atoms])

    def _slopes(self, delta: Array) -> Array:
        slopes: Array = self.first - self.span.gram.matrix @ delta
        return slopes

    def hessian(self, delta: Array) -> Apply:
        return self.span.gram.matrix.__matmul__

    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        return metric(slopes)

    def decrease(self, delta: Array, last: Array) -> float:
        return 0.5 * float(delta @ (self.first + last))  # exact


# Linear models ------------------------------------------------------------------------------


class LinearSpan(Span):
    """f(β) = Σ wᵢ ℓᵢ(uᵢ) + l2/2 ‖β‖² with u = Xβ: all is seen through the images of the atoms."""

    f: LinearModel

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.ridge, self.metric = Table(), Table()

    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        f = self.f
        weighted = f.bend * (f.weights * effect).astype(np.float64)
        norm2 = float(weighted @ effect)
        column = self.effects.times(weighted)
        if f.l2:
            column = column + f.l2 * self.inner(self.set.vector(z))
            norm2 += f.l2 * self.set.norm2(z)
        return column, norm2

    def add(self, entry: Entry) -> None:
        if self.f.l2:
            vector = self.set.vector(entry.atom)
            self.ridge.append(
                self.f.l2 * self.inner(vector), self.f.l2 * self.set.norm2(entry.atom)
            )
        super().add(entry)
        self.metric.append(entry.column, entry.norm2)

    def drop(self, k: int) -> None:
        super().drop(k)
        self.metric.drop(k)
        if self.f.l2:
            self.ridge.drop(k)

    def at(self, x: Point) -> Local:
        return _LinearLocal(self, x)


class _LinearLocal(Local):
    span: LinearSpan

    def __init__(self, span: LinearSpan, x: Point) -> None:
        self.f, self.images = span.f, span.effects.matrix
        assert isinstance(x, AmbientPoint)
        self.u = x.image
        self.pull = span.f.l2 * span.inner(x.vector) if span.f.l2 else None
        super().__init__(span, x)

    def _image(self, delta: Array) -> Array:
        image: Array = self.u - delta @ self.images
        return image

    def _slopes(self, delta: Array) -> Array:
        slopes: Array = self.images @ self.f.slopes(self._image(delta))
        if self.pull is not None:
            slopes = slopes + self.pull - self.span.ridge.matrix @ delta
        return slopes.astype(np.float64, copy=False)

    def hessian(self, delta: Array) -> Apply:
        bends = self.f.bends(self._image(delta))

        def apply(p: Array) -> Array:
            self.x.counts.products += 2 * self._product
            out: Array = self.images @ (bends * (p @ self.images))
            return out + self.span.ridge.matrix @ p if self.pull is not None else out

        return apply

    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        bends = self.f.bends(self._image(delta))
        self.x.counts.products += self.size * self._product
        H = ((self.images * bends) @ self.images.T).astype(np.float64)
        if self.pull is not None:
            H += self.span.ridge.matrix
        # A loss with flat parts has a singular Hessian: a little of the metric bends it.
        for bent in (0.0, BENT):
            try:
                factor = cho_factor(H + bent * self.span.metric.matrix, check_finite=False)
            except LinAlgError:
                continue
            step: Array = cho_solve(factor, slopes, check_finite=False)
            return step
        return metric(slopes)  # the metric bounds the Hessian, so its step always descends


# Anything else ------------------------------------------------------------------------------


class GeneralSpan(Span):
    """An f of which only values and gradients are known."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.bounding = problem.f.L is not None

    def _against(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        L = self.f.L or 1.0
        return L * self.inner(self.set.vector(z)), L * self.set.norm2(z)

    def at(self, x: Point) -> Local:
        return _GeneralLocal(self, x)


class _GeneralLocal(Local):
    span: GeneralSpan

    def _slopes(self, delta: Array) -> Array:
        y = self.x.vector.copy()
        for step, z in zip(delta.tolist(), self.span.atoms, strict=True):
            self.span.set.shift(y, step, z)
        return self.span.inner(self.span.f.gradient(y))

    def hessian(self, delta: Array) -> Apply:
        here = self.slopes(delta)
        reach = float(np.linalg.norm(self.span.coefficients(self.x) - delta))

        def apply(p: Array) -> Array:
            # A difference of slopes over a step long enough to be told from rounding.
            length = float(np.linalg.norm(p))
            h = 1e-6 * max(1.0, reach / length)
            return (here - self.slopes(delta + h * p)) / h

        return apply

    def newton(self, delta: Array, slopes: Array, metric: Apply) -> Array:
        norms = self.span.norms
        enough = 0.01 * float(np.max(np.abs(slopes) / norms))
        return conjugate(self.hessian(delta), slopes, metric, norms, enough)


def ambient(problem: Problem, x0: Array) -> Point:
    """A point for a rule that meets each atom once: keeping Gram rows would not pay."""
    quadratic = isinstance(problem.f, QuadraticObjective)
    choose = problem.f.ambient_point if quadratic else problem.f.point
    return choose(problem.atoms, x0)


def over(problem: Problem) -> Span:
    """The span that suits f, with no atoms yet."""
    if isinstance(problem.f, QuadraticObjective):
        return QuadraticSpan(problem)
    if isinstance(problem.f, LinearModel):
        return LinearSpan(problem)
    return GeneralSpan(problem)


def largest_slope(x: Point) -> float:
    """max \\|⟨∇f(x), z⟩\\|, looked at as the oracle of the next step would."""
    return float(np.abs(x.correlations()).max())


def rounding(span: Span, x: Point, steepness: float) -> float:
    """The slope, for atoms of length one in the metric, that may be nothing but rounding.

    A slope is a sum of a first one, at most `steepness`, and of the shares of all coefficients.
    """
    terms = steepness + float(np.linalg.norm(span.coefficients(x) * span.norms))
    return ULPS * float(np.finfo(x.coef.dtype).eps) * terms
