"""The corrective engine: the atoms in use, and the best coefficients of all of them.

An `ActiveSet` holds the atoms in use in the order in which they came, and the Cholesky factor of
their metric: a bound on the Hessian between them that does not depend on x (for a quadratic it is
the Hessian). `gains` says what every atom promises, `add` takes one in unless it depends on the
others, `drop` takes one out, and `refit` minimizes f over x + span(atoms in use). What depends on
the kind of f is in `pursuit.active.models`; non-negative coefficients are in
`pursuit.active.nonnegative_set`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from pursuit.atoms.base import Atom, FiniteAtoms
from pursuit.base.growing import Numbers, Rows, Table
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import Array
from pursuit.linalg.cholesky import GrowingCholesky
from pursuit.linalg.conjugate_gradients import Apply
from pursuit.linalg.line_search import line_search
from pursuit.objectives.problem import Problem
from pursuit.points.base import Point
from pursuit.points.gram import as_gram
from pursuit.rules.memory import Memory
from pursuit.rules.run import Unbounded

MOST_INFLATED = 1e6
"""The largest entry of the diagonal of (G_SS)⁻¹, for atoms of length one, with which the distances
of all others from the span keep enough digits to be compared."""
ACCURACY = 1e-11
"""The share of the first gradient to which that over the atoms in use falls; of a quadratic, 0."""
MAX_STEPS, CLOSE, PATIENCE = 200, 1e-5, 4
"""The most steps of one refit; and those in a row that may fail to halve a gradient that has fallen
to such a share, before that is blamed on rounding."""

Direction = Callable[[Array, Array], Array]
"""(δ, gradient at δ) ↦ a step."""


def no_places() -> Array:
    """Return the places of no atoms."""
    return np.empty(0, np.int64)


@dataclass
class ActiveMemory(Memory):
    """What a method with an active set remembers; None: not met yet."""

    active: Array = field(default_factory=no_places)
    """The places of the atoms in use, in their order."""
    dependent: Array = field(default_factory=no_places)
    """Those of atoms that depend on them and bring nothing."""
    factor: Array = field(default_factory=lambda: np.empty(0))
    """The rows of the Cholesky factor of their metric in one array."""
    dual_norm: float | None = None
    """max \\|⟨∇f(x), z⟩\\|/‖z‖ at the first iteration."""
    gradient: float | None = None
    """The largest first derivative along an atom in use, of length one in the metric."""

    def is_negligible(self, dual_norm: float, dtype: object) -> bool:
        """Whether ⟨∇f, z⟩/‖z‖ is nothing but the rounding of the first one of the run."""
        if self.dual_norm is None:
            self.dual_norm = dual_norm
        return not dual_norm > tolerances(dtype).dual_norm * self.dual_norm

    def set_aside(self, place: int) -> None:
        """Remember that an atom depends on those in use."""
        self.dependent = np.append(self.dependent, place)


class Entry(NamedTuple):
    """An atom that may enter, and its products with the atoms in use in their metric."""

    place: int
    atom: Atom
    effect: Array
    column: Array
    norm2: float


class ActiveSet(ABC):
    """The atoms in use, for one kind of f.

    Parameters
    ----------
    selection
        "omp" or "ols": whether `gains` are \\|c_j\\| or c_j²/d_j, with c_j = ⟨∇f(x), z_j⟩ and d_j
        the squared distance of z_j from the span of the atoms in use.
    """

    majorizes = True
    """Whether the metric is known to bound the Hessian."""
    accuracy = ACCURACY
    """The share of the first gradient over the atoms in use that is as good as zero."""

    def __init__(self, problem: Problem, memory: ActiveMemory, selection: str = "omp") -> None:
        self.f, self.set, self.memory = problem.f, problem.atoms, memory
        self.finite = finite = problem.atoms.finite
        # A product with one atom is this share of a product with all.
        self.share = 0.0 if finite is None else 1 / len(finite)
        self.lengths = None  # where all are alike
        if finite is not None and finite.norm_range[1] > 1.001 * finite.norm_range[0]:
            self.lengths = finite.norms.astype(np.float64)
        self.candidates: Candidates | None = None
        if selection == "ols" and finite is not None:
            self.candidates = Candidates(self.diagonal(finite))
        self.places: list[int] = []
        self.atoms: list[Atom] = []
        self.effects, self._norms, self._index = Rows(), Numbers(), Numbers(np.int64)
        self.gram, self.factor = Table(), GrowingCholesky()

    def __len__(self) -> int:
        return len(self.places)

    @property
    def norms(self) -> Array:
        """The lengths of the atoms in use in the metric."""
        return self._norms.array

    @property
    def index(self) -> Array:
        """The places of the atoms in use."""
        return self._index.array

    def coefficients(self, x: Point) -> Array:
        """Return the coefficients of the atoms in use."""
        if self.finite is not None:
            return np.asarray(x.coef[self.index])
        # x may have no entry yet for the newest atom of an infinite set.
        return np.array([x.coef[k] if k < len(x.coef) else 0.0 for k in self.places])

    # Which atoms are in use ---------------------------------------------------------------

    def gains(self, x: Point) -> Array:
        """Return what each atom of a finite set promises; zero for one that brings nothing."""
        assert self.finite is not None
        c = self.finite.admissible(x.correlations(), x.coef)
        gains = np.abs(c)
        dual_norms = gains if self.lengths is None else gains / self.lengths
        if self.memory.dual_norm is None:
            self.memory.dual_norm = float(dual_norms.max())
        bring_nothing = dual_norms <= tolerances(x.dtype).dual_norm * self.memory.dual_norm
        if self.candidates is not None:
            gains = self.candidates.gains(c)
        gains[bring_nothing] = 0
        gains[self.memory.dependent] = 0
        return gains

    def follow(self, x: Point) -> None:
        """Take in the atoms that a resumed run remembers, and those with a coefficient at x."""
        memory = self.memory
        if not self.places and len(memory.active):
            entries = [self.insert(self.measure(x, place)) for place in memory.active.tolist()]
            if len(memory.factor):
                self.factor.load(memory.factor, self.norms**2)
            if self.candidates is not None:
                for entry in entries:
                    self.candidates.append(self.metric_row(x, entry), self.factor)
        dependent = set(memory.dependent.tolist())
        for place in self.missing(x):
            if place not in dependent:
                self.add(x, place)

    def missing(self, x: Point) -> list[int]:
        """Return the places of the atoms that x uses and that are not here."""
        if np.count_nonzero(x.coef) == np.count_nonzero(self.coefficients(x)):
            return []
        known = set(self.places)
        return [place for place in np.flatnonzero(x.coef).tolist() if place not in known]

    def measure(self, x: Point, place: int) -> Entry:
        """Return an atom with its products with those in use."""
        z = place if self.finite is not None else x.ledger.atom(place)
        effect = effect_of(x, z)
        column, norm2 = self.products(x, z, effect)
        return Entry(place, z, effect, column, max(norm2, 0.0))

    def add(self, x: Point, place: int) -> bool:
        """Take an atom in, or set it aside if it depends on those in use; whether it entered."""
        entry = self.measure(x, place)
        row = self.factor.row(entry.column, entry.norm2)
        if not self.factor.inflation(row) <= self.most_inflated(entry):
            self.memory.set_aside(place)
            return False
        self.factor.append(row)
        self.insert(entry)
        if self.candidates is not None:
            self.candidates.append(self.metric_row(x, entry), self.factor)
        return True

    def most_inflated(self, entry: Entry) -> float:
        """Return how dependent the atoms in use may be."""
        if self.candidates is not None:
            return MOST_INFLATED
        f = self.f.quadratic
        # Over a cone the coefficients of nearly dependent atoms do not cancel, and inner products
        # of images are summed in float64 whatever those are kept in.
        exact = self.set.one_sided and f is not None and f.isometric
        return 1 / tolerances(np.float64 if exact else entry.effect.dtype).dependent

    def insert(self, entry: Entry) -> Entry:
        """Take an atom in without asking whether it depends on the others."""
        self.places.append(entry.place)
        self.atoms.append(entry.atom)
        self._norms.append(entry.norm2**0.5)
        self._index.append(entry.place)
        self.effects.append(entry.effect)
        self.gram.append(entry.column, entry.norm2)
        return entry

    def drop(self, k: int) -> None:
        """Take the k-th atom out. The factor is computed anew, so that no error is carried on."""
        del self.places[k], self.atoms[k]
        for rows in (self.effects, self._norms, self._index, self.gram):
            rows.drop(k)
        if self.factor.size:
            self.factor.delete(k, self.gram.matrix)
        if self.candidates is not None:
            self.candidates.drop(k, self.factor)

    def remember(self) -> None:
        """Have the run remember which atoms are in use."""
        self.memory.active = self.index.copy()
        self.memory.factor = self.factor.packed

    # Their coefficients -------------------------------------------------------------------

    def refit(self, x: Point, upper: Array | None = None) -> tuple[float, float]:
        """x ← argmin f over x + span(atoms in use).

        Parameters
        ----------
        upper
            How far each coefficient may fall: x goes no further than where the first is at zero.

        Returns
        -------
        tuple
            The largest change of a coefficient, zero where x is the minimizer already, and a lower
            bound on the decrease of f.
        """
        local, norms = self.at(x), self.norms
        if self.memory.gradient is None:
            self.memory.gradient = float((np.abs(local.first) / norms).max())
        delta, last = minimize(local, local.newton, norms, self.tolerance(x), upper)
        if not delta.any():
            return 0.0, 0.0
        decrease = local.decrease(delta, last)
        self.move(x, delta)
        return float(np.abs(delta).max()), decrease

    def move(self, x: Point, delta: Array) -> None:
        """x ← x − Σ δ_i z_i."""
        x.move_all(delta, self.index, self.effects.array)

    def tolerance(self, x: Point) -> float:
        """Return the derivative along an atom of length one in the metric that is as good as 0."""
        return max(self.accuracy * (self.memory.gradient or 0.0), self.rounding(x))

    def rounding(self, x: Point) -> float:
        """Return the same derivative that may be nothing but rounding: it is the sum of a first one
        and of what each coefficient has added."""
        shares = self.coefficients(x) * self.norms
        terms = (self.memory.gradient or 0.0) + float(np.sqrt(shares @ shares))
        return tolerances(x.dtype).dual_norm * terms

    # What depends on f --------------------------------------------------------------------

    @abstractmethod
    def at(self, x: Point) -> Restriction:
        """Return f as a function of a step over the atoms in use."""

    @abstractmethod
    def products(self, x: Point, z: Atom, effect: Array) -> tuple[Array, float]:
        """Return the products in the metric of z with the atoms in use, and with itself."""

    @abstractmethod
    def pulled(self, entry: Entry) -> Array:
        """Return the matrix of the metric times an atom."""

    def metric_row(self, x: Point, entry: Entry) -> Array:
        """Return the products in the metric of an atom with all of a finite set."""
        assert self.finite is not None
        x.counts.products += 1
        return self.finite.correlate(self.pulled(entry))

    def diagonal(self, finite: FiniteAtoms) -> Array:
        """Return the squared lengths in the metric of all atoms of a finite set."""
        return self.f.scales(finite)[0]

    def inner(self, d: Array) -> Array:
        """Return ⟨d, z_i⟩ for the atoms in use."""
        return np.array([self.set.inner(d, z) for z in self.atoms], np.float64)


class Candidates:
    """The squared distances of all atoms from the span of those in use, diag G − Σ q², Q = L⁻¹G_S.

    Rows of Q are found by forward substitution alone, so that they follow from L and G_S to the
    last bit, and no error is carried on from an atom that has left.
    """

    def __init__(self, diagonal: Array) -> None:
        self.diagonal, self.distances = diagonal, diagonal.copy()
        self._gram, self._projected = Rows(), Rows()

    def append(self, row: Array, factor: GrowingCholesky) -> None:
        """Follow an atom that has entered, given its row of G."""
        self._gram.append(row.astype(np.float64, copy=False))
        self._project(len(self._gram.array) - 1, factor)

    def drop(self, k: int, factor: GrowingCholesky) -> None:
        """Follow the k-th atom, which has left."""
        self._gram.drop(k)
        self._projected, self.distances = Rows(), self.diagonal.copy()
        for i in range(len(self._gram.array)):
            self._project(i, factor)

    def _project(self, k: int, factor: GrowingCholesky) -> None:
        y, root = factor.forward(k)
        q = self._gram.array[k] / root
        if k:
            q -= (y / root) @ self._projected.array
        self._projected.append(q)
        self.distances -= q * q

    def gains(self, c: Array) -> Array:
        """Return c_j²/d_j; zero for atoms that are too near to the span."""
        apart = self.distances * MOST_INFLATED > self.diagonal
        gains: Array = np.where(apart, c.astype(np.float64) ** 2, 0)
        return gains / np.where(apart, self.distances, 1)


def effect_of(x: Point, z: Atom) -> Array:
    """Return what a unit step along z takes off the array that a point keeps beside x."""
    in_gram_form = as_gram(x)
    return x.f.atom_image(x.atoms, z) if in_gram_form is None else in_gram_form.gram.row(z)


class Restriction(ABC):
    """f(x − Σ δ_i z_i) as a function of δ; its gradient here is ⟨∇f, z_i⟩, so f falls along it."""

    def __init__(self, active: ActiveSet, x: Point) -> None:
        self.active, self.x = active, x
        self.product = len(active) * active.share
        if x.is_evaluated and active.finite is not None:  # the oracle has just found it
            first = x.correlations()[active.index]
        else:
            first = self._at_zero()
        self.first = first.astype(np.float64, copy=False)

    def gradient(self, delta: Array) -> Array:
        """Return ⟨∇f(x − Σ δ_i z_i), z_j⟩ for every atom in use, in float64."""
        self.x.counts.products += 2 * self.product
        return self._gradient(delta)

    def _at_zero(self) -> Array:
        return self.gradient(np.zeros(len(self.active)))

    @abstractmethod
    def _gradient(self, delta: Array) -> Array: ...

    @abstractmethod
    def hessian(self, delta: Array) -> Apply:
        """Return p ↦ ∇²p at δ."""

    @abstractmethod
    def newton(self, delta: Array, gradient: Array) -> Array:
        """Return the step to the minimizer of the second-order model at δ."""

    def decrease(self, delta: Array, last: Array) -> float:
        """Return a lower bound on f(x) − f(x − Σ δ_i z_i), the gradient at δ being known.

        The derivative along the line falls from ⟨first, δ⟩ to ⟨last, δ⟩ by convexity, so that a sum
        of right ends is below its integral.
        """
        middle = self.gradient(0.5 * delta)
        return max(0.0, 0.5 * float(delta @ middle + delta @ last))


# Minimization over the atoms in use --------------------------------------------------------------


def minimize(
    local: Restriction,
    direction: Direction,
    norms: Array,
    tolerance: float,
    upper: Array | None = None,
) -> tuple[Array, Array]:
    """Step from δ = 0 until max \\|gradient_i\\|/norms_i ≤ tolerance, or rounding ends progress.

    Returns δ and the gradient there. Where `upper` is given, it also ends as soon as some δ_i is as
    large as upper_i ≥ 0, which none exceeds.
    """
    delta, here = np.zeros(len(local.first)), local.first
    first, lowest, n_stalled = 0.0, inf, 0
    for _ in range(MAX_STEPS):
        largest = float((np.abs(here) / norms).max())
        if largest <= tolerance or n_stalled == PATIENCE:
            break
        n_stalled = n_stalled + 1 if 0.5 * lowest < largest < CLOSE * first else 0
        first, lowest = first or largest, min(lowest, largest)
        end = _searched(local, delta, here, direction(delta, here), upper)
        if end is None:  # where f hardly curves a step may be too long to be searched
            end = _searched(local, delta, here, here / norms**2, upper)
        if end is None:
            break
        delta, here, at_bound = end
        if at_bound:
            break
    return delta, here


def _searched(
    local: Restriction, delta: Array, here: Array, step: Array, upper: Array | None
) -> tuple[Array, Array, bool] | None:
    """Search along a step: δ, the gradient there and whether a bound has ended the search; None
    where it leads nowhere."""
    fall = float(here @ step)
    if not fall > 0:
        return None
    limit, nearest = (inf, -1) if upper is None else _first_bound(upper - delta, step)
    last = (0.0, here)

    def derivative(t: float) -> float:
        nonlocal last
        last = t, local.gradient(delta + t * step)
        return -float(last[1] @ step)

    t = line_search(derivative, fall, limit=limit)
    if t == inf:
        raise Unbounded("a direction of the atoms in use")
    if t == 0:
        return None
    there = last[1] if t == last[0] else local.gradient(delta + t * step)
    end = delta + t * step
    if upper is not None:
        np.minimum(end, upper, out=end)
        if t == limit:
            end[nearest] = upper[nearest]
    return end, there, t == limit


def _first_bound(upper: Array, step: Array) -> tuple[float, int]:
    """Return how far a step may go before an entry reaches its bound, and which that is."""
    rises = step > 0
    lengths = np.where(rises, upper / np.where(rises, step, 1), inf)
    nearest = int(np.argmin(lengths))
    return float(lengths[nearest]), nearest
