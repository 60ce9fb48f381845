"""Orthogonal pursuit: a new atom, then the best coefficients for all atoms in use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dtpsv

from pursuit.active.active_set import (
    EPS,
    ActiveMemory,
    Entry,
    Span,
    largest_slope,
    no_places,
    rounding,
)
from pursuit.active.newton import descend
from pursuit.active.restricted import over
from pursuit.atoms.base import Atom
from pursuit.base.validation import Array
from pursuit.objectives.base import QuadraticObjective
from pursuit.points import Needs
from pursuit.points.base import Point
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.run import Progress, Run

ACCURACY = 1e-11
"""The slope over the atoms in use falls to this share of the first (for a quadratic: to zero)."""
DEPENDENT = 32
"""Units in the last place that a squared distance from a span may owe to rounding."""


@dataclass(frozen=True)
class Corrective(Advance):
    """Orthogonal matching pursuit for any smooth f: x ← argmin f over x + span(atoms in use).

    The oracle's atom joins the atoms in use, and all their coefficients are corrected: for a
    quadratic by one solve with a Cholesky factor that grows by a row with each atom, for a linear
    model by Newton's method, for any other f by Newton's method with conjugate gradients,
    warm-started at x. An atom that depends on those in use adds nothing: it is set aside for good
    and the next best one is taken.

    From a blended point y the atoms in use include all those with a coefficient there. Over a
    `Cone` coefficients stay at or above zero: see `pursuit.active.nonnegative`.
    """

    keeps_path: ClassVar[bool] = True
    needs = Needs.ONCE
    leaves_cone: ClassVar[str] = ""

    def start(self, run: Run) -> Improve:
        if run.problem.atoms.one_sided:
            from pursuit.active.nonnegative import ConeCorrective

            return ConeCorrective(run)
        return _CorrectiveRun(run)


@dataclass
class _CorrectiveMemory(ActiveMemory):
    """The atoms that depend on others, beside those in use."""

    dependent: Array = field(default_factory=no_places)


class _CorrectiveRun:
    """The atoms in use and their factor follow from who entered and who may not."""

    def __init__(self, run: Run) -> None:
        self.memory = run.remember("active", _CorrectiveMemory())
        self.span, self.factor = over(run.problem), Factor()
        self.finite = self.span.finite
        self.accuracy = 0.0 if isinstance(run.problem.f, QuadraticObjective) else ACCURACY

    def __call__(self, x: Point) -> Progress:
        self._follow(x)
        z, c = self._choose(x)
        gamma, decrease = self._correct(x) if len(self.span) else (0.0, 0.0)
        slope = largest_slope(x) if self.finite else abs(c)
        return Progress(z, gamma, c, slope, decrease)

    def _correct(self, x: Point) -> tuple[float, float]:
        """Minimise over the span; the largest change of a coefficient, and the decrease of f."""
        local, norms = self.span.at(x), self.span.norms

        def newton(delta: Array, slopes: Array) -> Array:
            return local.newton(delta, slopes, self.factor.solve)

        steepness = float(np.max(np.abs(local.first) / norms))
        steepness = self.memory.first_steepness(steepness)
        enough = max(self.accuracy * steepness, rounding(self.span, x, steepness))
        delta, last = descend(local.slopes, local.first, newton, norms, enough)
        if not delta.any():
            return 0.0, 0.0
        decrease = local.decrease(delta, last)
        self.span.move(x, delta)
        return float(np.abs(delta).max()), decrease

    # Which atoms are in use -------------------------------------------------------------

    def _follow(self, x: Point) -> None:
        """Take in the atoms that are remembered, and those with a coefficient at x."""
        for place in self.memory.active[len(self.span) :].tolist():
            self._admit(self.span.measure(x, place))
        dependent = set(self.memory.dependent.tolist())
        for place in self.span.missing(x):
            if place not in dependent:
                self._try(x, place)

    def _choose(self, x: Point) -> tuple[Atom, float]:
        """The oracle's atom, of those that are not known to depend on others."""
        if not self.finite:
            z, c = x.steepest()
            if not self.span.negligible(z, c, x, self.memory):
                self._try(x, x.ledger.place(z))
            return z, c
        x.counts.oracle_calls += 1
        correlations = x.correlations()
        steepness = np.abs(self.span.told(correlations, x, self.memory))
        steepness[self.memory.dependent] = 0
        z = int(np.argmax(steepness))
        while (
            not self.span.negligible(z, float(steepness[z]), x, self.memory)
            and z not in self.span.places
            and not self._try(x, z)
        ):
            steepness[z] = 0
            z = int(np.argmax(steepness))
        return z, float(correlations[z])

    def _try(self, x: Point, place: int) -> bool:
        """Let an atom in unless it depends on the others; remember either."""
        entered = self._admit(self.span.measure(x, place))
        memory = self.memory
        if entered:
            memory.active = np.append(memory.active, place)
        else:
            memory.dependent = np.append(memory.dependent, place)
        return entered

    def _admit(self, entry: Entry) -> bool:
        entered = self.factor.append(entry, self.span)
        if entered:
            self.span.add(entry)
        return entered


class Factor:
    """The Cholesky factor of the metric between the atoms in use, row after row in one array.

    A new atom z with metric ⟨z, z⟩ = n and g to the others adds the row (y, √p) with y = L⁻¹g and
    p = n − ‖y‖², the squared distance of z from the span.
    """

    def __init__(self) -> None:
        self.size = 0
        self._packed = np.empty(64)

    def append(self, entry: Entry, span: Span) -> bool:
        """Take a new atom in, unless its distance from the span is nothing but rounding."""
        y, pivot = self.row(entry.column, entry.norm2)
        weights = self._backward(y)
        # z − Σ weights·z_i is a sum of vectors as long as these, squared.
        length = entry.norm2**0.5 + float(np.abs(weights) @ span.norms)
        if pivot <= (DEPENDENT + self.size) * EPS[entry.effect.dtype] * length**2:
            return False
        self.push(y, pivot)
        return True

    def row(self, column: Array, norm2: float) -> tuple[Array, float]:
        """y and p of an atom."""
        y = self._forward(column)
        return y, norm2 - float(y @ y)

    def push(self, y: Array, pivot: float) -> None:
        """Add a row."""
        begin, end = self._extent(self.size), self._extent(self.size + 1)
        if end > len(self._packed):
            self._packed = np.concatenate([self._packed, np.empty(end)])
        self._packed[begin : end - 1] = y
        self._packed[end - 1] = pivot**0.5
        self.size += 1

    def renew(self, metric: Array, block: int) -> None:
        """Begin anew with a metric between atoms that all had entered: the first ones at once,
        those after the block one by one."""
        self.size = block
        self._packed = _lower(metric[:block, :block])[np.tril_indices(block)]
        for k in range(block, len(metric)):
            self.push(*self.row(metric[k, :k], float(metric[k, k])))

    def solve(self, slopes: Array) -> Array:
        """δ with metric · δ = slopes."""
        return self._backward(self._forward(slopes))

    @staticmethod
    def _extent(size: int) -> int:
        return size * (size + 1) // 2

    # Rows of L one after another are the columns of the upper triangle Lᵀ, as BLAS packs them.

    def _forward(self, b: Array) -> Array:
        return self._triangular(b, 1)

    def _backward(self, b: Array) -> Array:
        return self._triangular(b, 0)

    def _triangular(self, b: Array, transposed: int) -> Array:
        if not self.size:
            return b
        packed = self._packed[: self._extent(self.size)]
        solved: Array = dtpsv(self.size, packed, b, trans=transposed)
        return solved


def _lower(metric: Array) -> Array:
    """A Cholesky factor; where atoms nearly depend on each other, of a slightly larger matrix."""
    diagonal = np.diag(np.diag(metric))
    for more in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            return np.linalg.cholesky(metric + more * diagonal)
        except np.linalg.LinAlgError:
            continue
    return np.linalg.cholesky(metric + 1e-8 * diagonal)
