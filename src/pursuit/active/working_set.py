"""Working sets: the coefficients that matter, corrected together by a quadratic model.

One step takes the coefficients in use and those whose −∇f is farthest from the subdifferential of
the penalty, replaces the losses by parabolas at x (for a quadratic these are the losses), minimises
the model with its penalty on that set, and goes as far towards its minimiser as f + g falls. It
repeats this on the same set while that pays, and then looks at all coefficients again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import cast

import numpy as np

from pursuit.active.columns import Columns, DenseColumns
from pursuit.active.dual_descent import ENOUGH, DualDescent, DualMemory
from pursuit.active.growing_gram import Entered, GrowingGram
from pursuit.active.kernel_model import KernelModel
from pursuit.active.quadratic_models import GramModel, QuadraticModel, ResidualModel
from pursuit.active.terms import Terms
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.validation import Array
from pursuit.linalg.line_search import line_search
from pursuit.objectives.linear_models import Expansion, LinearModel
from pursuit.objectives.problem import Problem
from pursuit.penalties import Penalty
from pursuit.points.base import Point
from pursuit.points.linear import LinearPoint
from pursuit.rules.advances import Advance, Improve
from pursuit.rules.memory import Memory
from pursuit.rules.run import Progress, Run

FEWEST, MOST = 10, 100
"""Coefficients of a first working set: a tenth of all, but between these; and all of them where
there are no more than the latter."""
WHOLE = 8
"""Products for which a Gram matrix of squares is made of all columns of a dense X at once."""
GOAL = 0.1
"""The share of the largest distance at which a working set has done its work."""
FORCING = 0.1
"""The share to which a model is minimised at first; less and less as the run comes closer."""
STALE = 0.3
"""A Hessian is kept while it makes the largest distance fall to this share or below."""
NEWTON_STEPS = 30
"""The most models on one working set."""
SMALL = 300
"""Coefficients of a set whose model, if exact, is minimised to many digits for next to nothing,
unless they are more than the samples."""
PASSES = 100
"""Products with the working set that the residual form is taken to cost."""
DENSE_PASSES = 1000
"""The same with a penalty and a dense X, whose columns are as dependent as they are many."""
MODELS = 8
"""Those that a run without a penalty makes of a loss that is no square."""
FLOOR = 1e-3
"""Of the bend of a parabola above the loss: the least of a loss that has straight pieces."""
FLAT, FARTHEST = 0.1, 2.0**20
"""The share of its first derivative at which a search ends, and the longest step that it makes."""
SUFFICIENT, HALVINGS = 1e-4, 40
"""The share of its promise that a step has to keep, and how often it is halved to do so."""
ROUNDING = 1e-12
"""The share of f + g by which a step may seem to raise it."""


@dataclass(frozen=True)
class WorkingSet(Advance):
    """Prox-Newton steps on working sets, for linear models over `pursuit.Coordinates`.

    f(β) = Σ wᵢ ℓᵢ(xᵢᵀβ) + l2/2 ‖β‖² with any penalty, or none. The model is kept as a Gram matrix,
    by the columns of X, or (few samples, l2 > 0, no penalty) as an N × N matrix, whichever costs
    least.
    """

    def against(self, penalty: Penalty) -> str:
        return ""

    def point(
        self, problem: Problem, x0: Array, gram_bytes: int | None = None, alone: bool = True
    ) -> Point:
        return LinearPoint(_linear_model(problem), problem.atoms, x0)

    def gap_period(self, n: int) -> int:
        return 1

    def start(self, run: Run) -> Improve:
        return _WorkingSetRun(run)


def suits(problem: Problem) -> bool:
    """Whether f is a linear model with entries that can be looked at, over the axes."""
    model = problem.f.linear_model
    return (
        model is not None
        and problem.atoms.form is AtomForm.AXES
        and (isinstance(model.X, np.ndarray) or hasattr(model.X, "indptr"))
    )


def has_sparse_data(problem: Problem) -> bool:
    """Whether the X of a linear model that `suits` is a sparse array."""
    return Columns.of(_linear_model(problem).X).sparse


def direct(problem: Problem) -> bool:
    """Whether, without a penalty, the models of a whole run are solved by factorisations at less
    than what conjugate directions are taken to cost."""
    model = _linear_model(problem)
    columns, models = Columns.of(model.X), 1 if model.growth == 0 else MODELS
    work = [columns.gram_work + columns.shape[1] ** 3 / 30]
    if model.l2 > 0:
        work.append(columns.outer_work / models + columns.shape[0] ** 3 / 30)
    return models * min(work) <= PASSES * columns.entries


def _linear_model(problem: Problem) -> LinearModel:
    model = problem.f.linear_model
    if model is None or not suits(problem):
        raise InputError(
            "method: working-set expected a linear model (an array or a sparse array X) over "
            f"Coordinates, got {type(problem.f).__name__} over {type(problem.atoms).__name__}"
        )
    return model


@dataclass
class WorkingSetMemory(Memory):
    """The first largest distance, that before the last model, the set and the bends of the Gram
    matrix at hand."""

    first: float = 0.0
    last: float = inf
    places: Array = field(default_factory=lambda: np.empty(0, np.int64))
    bends: Array = field(default_factory=lambda: np.empty(0))


@dataclass
class _Here:
    """Coefficients w, u = Xw, the samples there and f + g."""

    w: Array
    u: Array
    samples: Expansion
    total: float
    anew: bool = False
    """Whether u was computed from w, and not by steps."""


class _WorkingSetRun:
    """What is not remembered follows from what is."""

    def __init__(self, run: Run) -> None:
        self.f = _linear_model(run.problem)
        self.memory = run.remember("working-set", WorkingSetMemory())
        self.entered = run.remember("growing-gram", Entered())
        d = self.f.shape[0]
        l2 = np.full(d, self.f.l2)
        if self.f.intercept:
            l2[-1] = 0.0
        self.terms = Terms(l2, *run.problem.atoms.penalty.parts(d))
        self.columns = Columns.of(self.f.X)
        self.exact = self.f.growth == 0
        self.duals = run.remember("dual-descent", DualMemory())
        self.dual: DualDescent | None = None
        if DualDescent.suits(self.f, self.columns, self.terms):
            self.dual = DualDescent(self.f, self.columns, self.duals)
        self._set: _Set | None = None
        self.growing: GrowingGram | None = None
        if self.exact and isinstance(self.columns, DenseColumns) and not self.terms.smooth:
            bends = self.f.bends(np.zeros(self.columns.shape[0]))
            if (bends == 1).all():
                self.growing = GrowingGram(self.columns, self.entered)
        columns = self.columns
        cheap = columns.gram_work <= WHOLE * columns.entries
        self._whole = self.growing is not None and cheap

    def __call__(self, point: Point) -> Progress:
        x = cast(LinearPoint, point)  # as `WorkingSet.point` makes it
        here, slopes = self._look(x)
        w, before = here.w.copy(), here.total
        distances, slope = self.terms.distances(slopes, w)
        self.memory.first = self.memory.first or slope
        dual = self.dual is not None and self.duals.pays and not (w.any() and not self.duals.steps)
        if dual:
            self._by_samples(here)
        elif slope > 0:
            self._on(self._choose(w, distances)).improve(here, slopes, slope)
        change = here.w - w
        x.set_iterate(here.w, here.u, here.samples, here.anew)
        slopes = x.correlations().astype(np.float64, copy=False)
        before_slope = slope
        distances, slope = self.terms.distances(slopes, here.w)
        if dual and slope > ENOUGH * before_slope:
            self.duals.pays = False
        j = int(np.argmax(distances))
        decrease = max(before - here.total - ROUNDING * abs(before), 0.0)
        return Progress(j, float(np.abs(change).max()), float(slopes[j]), slope, decrease)

    def _by_samples(self, here: _Here) -> None:
        """A step on the dual."""
        assert self.dual is not None
        here.w = self.dual.step()
        self.arrive(here)

    def arrive(self, here: _Here) -> None:
        """Compute anew what is so at coefficients that no step has led to."""
        here.u, here.anew = self.f.image(here.w), True
        here.samples = self.f.expansion(here.u)
        here.total = here.samples.value + self.terms.value(here.w)

    def _look(self, x: LinearPoint) -> tuple[_Here, Array]:
        """x in float64, and its slopes."""
        w, u = x.x.astype(np.float64), x.image.astype(np.float64)
        samples = x.samples or self.f.expansion(u)
        x.set_samples(samples)
        slopes = x.correlations().astype(np.float64, copy=False)
        return _Here(w, u, samples, samples.value + self.terms.value(w)), slopes

    def _choose(self, w: Array, distances: Array) -> Array:
        """The coefficients in use, and as many of those that are farthest from optimal."""
        d = len(w)
        if self.terms.smooth:
            return np.arange(d)
        if d <= MOST or self._whole:
            return np.arange(d)
        used = (w != 0) | self.terms.unbound
        k = min(d, max(FEWEST, min(MOST, d // 10), 2 * int(np.count_nonzero(used))))
        if k == d:
            return np.arange(d)
        rank = np.where(used, inf, distances)
        places = np.argpartition(rank, d - k)[d - k :]
        places.sort()
        return places[rank[places] > 0]

    def _on(self, places: Array) -> _Set:
        """The working set at these places, which may be the last one."""
        memory, known = self.memory, self._set
        if not np.array_equal(memory.places, places):
            memory.places, memory.bends = places, np.empty(0)
            known = None
        if known is None:
            known = self._set = _Set(self, places)
        return known


class _Set:
    """A working set: its columns, its share of the penalty, its Gram matrix if it has one."""

    def __init__(self, run: _WorkingSetRun, places: Array) -> None:
        self.run, self.places = run, places
        whole = len(places) == len(run.terms.l2)
        self.columns = run.columns if whole else run.columns.part(places)
        self.terms = run.terms if whole else run.terms.at(places)
        self._gram: GramModel | None = None
        self._kernel: KernelModel | None = None

    def improve(self, here: _Here, slopes: Array, slope: float) -> None:
        """Models and steps towards their minimisers, until the set has done its work."""
        run, goal, firm = self.run, GOAL * slope, False
        w, c = here.w[self.places], slopes[self.places]
        for _ in range(NEWTON_STEPS):
            enough = min(FORCING, sqrt(slope / run.memory.first)) * slope
            if run.exact:
                few = len(self.places) <= min(SMALL, self.columns.shape[0])
                digits = 3 if few else 2 if self.terms.smooth else 1
                enough = GOAL**digits * goal
            model = self._model(here, slope, firm)
            towards = model.minimise(w, c, enough)
            if run.exact:
                here.w[self.places] = towards
                run.arrive(here)
                break
            w, kept = self._search(here, w, towards, c)
            here.w[self.places] = w
            run.memory.last = slope if kept >= 1 else 0.0
            if kept == 0 and not firm:
                firm = True
                continue
            if self.terms.smooth or kept == 0:
                break
            firm = False
            c = self.columns.correlate(here.samples.slopes) + self.terms.l2 * w
            _, slope = self.terms.distances(c, w)
            if slope <= goal:
                break

    # The model ----------------------------------------------------------------------------

    def _model(self, here: _Here, slope: float, firm: bool) -> QuadraticModel:
        run = self.run
        bends = self._bends(here, firm)
        if self._by_kernel:
            self._kernel = self._kernel or KernelModel(self.columns, self.terms)
            return self._kernel.at(here.u, here.samples.slopes, bends)
        if not self._by_gram:
            return ResidualModel(self.columns, here.samples.slopes, bends, self.terms)
        memory = run.memory
        if not len(memory.bends) or (not run.exact and slope > STALE * memory.last):
            memory.bends, self._gram = bends, None
        if self._gram is None:
            self._gram = GramModel(self._multiplied(memory.bends), self.terms)
        return self._gram

    def _bends(self, here: _Here, firm: bool) -> Array:
        """Of the parabolas; at least something where a loss has straight pieces, or (`firm`) is so
        straight at x that a parabola leads nowhere."""
        f, bends = self.run.f, here.samples.bends.astype(np.float64, copy=False)
        if firm:
            return np.maximum(bends, FLOOR * f.typical_bend * f.weights.astype(np.float64))
        if f.growth < inf:
            return bends
        return np.maximum(bends, FLOOR * f.majorants(here.u))

    def _multiplied(self, bends: Array) -> Array:
        """Xᵀ diag(bends) X; of a dense X whose bends stay, what earlier sets have multiplied."""
        growing = self.run.growing
        return self.columns.gram(bends) if growing is None else growing.at(self.places)

    @property
    def _by_gram(self) -> bool:
        q, columns = len(self.places), self.columns
        passes = PASSES if self.terms.smooth or columns.sparse else DENSE_PASSES
        return columns.gram_work + 20 * q * q + q**3 / 30 <= passes * columns.entries

    @property
    def _by_kernel(self) -> bool:
        n, d = self.columns.shape
        work = self.columns.outer_work + n**3 / 3 + 30 * n * n
        return self.terms.ridge and n < d and work <= PASSES * self.columns.entries

    def _search(self, here: _Here, w: Array, towards: Array, c: Array) -> tuple[Array, float]:
        """Go towards the minimiser of a model; how far, as a share."""
        if np.array_equal(towards, w):
            return w, 0.0
        way = _Way(self, here, w, towards, c)
        return way.go(way.flattest() if self.terms.smooth else way.sufficient())


class _Way:
    """From w towards the minimiser of a model on a working set."""

    def __init__(self, of: _Set, here: _Here, w: Array, towards: Array, c: Array) -> None:
        self.f, self.terms, self.here = of.run.f, of.terms, here
        self.w, self.towards, self.c = w, towards, c
        self.step = towards - w
        self.end: Array | None = None
        if of.terms.smooth:
            self.du = of.columns.combine(self.step)
        else:  # few coefficients are in use there
            there = here.w.copy()
            there[of.places] = towards
            self.end = self.f.image(there)
            self.du = self.end - here.u
        self._others = here.total - here.samples.value - of.terms.value(w)
        self._seen: tuple[float, Array, Expansion] | None = None

    def at(self, share: float) -> Expansion:
        """The samples there."""
        if self._seen is None or self._seen[0] != share:
            there = self.end if share == 1 else None
            u = self.here.u + share * self.du if there is None else there
            self._seen = share, u, self.f.expansion(u)
        return self._seen[2]

    def place(self, share: float) -> Array:
        """The coefficients there; at the end of the way to the last bit, zeros and all."""
        return self.towards if share == 1 else self.w + share * self.step

    def go(self, share: float) -> tuple[Array, float]:
        """Be there."""
        if share == 0:
            return self.w, 0.0
        samples, there = self.at(share), self.place(share)
        assert self._seen is not None
        here = self.here
        here.u, here.samples = self._seen[1], samples
        here.anew = here.u is self.end
        here.total = samples.value + self.terms.value(there) + self._others
        return there, share

    def sufficient(self) -> float:
        """The largest of 1, 1/2, 1/4 … by which f + g falls as promised; 0 if none does."""
        terms, total = self.terms, self.here.total
        promise = float((self.c - terms.l2 * self.w) @ self.step)
        promise = min(promise + terms.value(self.towards) - terms.value(self.w), 0.0)
        share = 1.0
        for _ in range(HALVINGS):
            there = self.at(share).value + terms.value(self.place(share)) + self._others
            if there <= total + SUFFICIENT * share * promise + ROUNDING * abs(total):
                return share
            share /= 2
        return 0.0

    def flattest(self) -> float:
        """Where the derivative along the way is next to nothing."""
        l2 = self.terms.l2
        fall = -float(self.c @ self.step)
        if not fall > 0:
            return 0.0
        ridge, tilt = float((l2 * self.step) @ self.step), float((l2 * self.w) @ self.step)

        def derivative(share: float) -> float:
            return float(self.at(share).slopes @ self.du) + tilt + share * ridge

        return line_search(derivative, fall, limit=FARTHEST, accuracy=(FLAT, FLAT))
