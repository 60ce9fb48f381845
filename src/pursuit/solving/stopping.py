"""When a run ends: one method for each criterion."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf, isfinite, isnan, nan

import numpy as np

from pursuit.atoms.base import AtomSet
from pursuit.base.errors import InputError
from pursuit.base.status import Status
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import count, non_negative, number, positive
from pursuit.geometry.suboptimality import SuboptimalityBound, coefficients
from pursuit.objectives.problem import Problem
from pursuit.solving.compiled import KernelLimits
from pursuit.solving.loop import REFRESH, RunState, Termination
from pursuit.solving.penalised import why_zero

CHECK_EVERY = 50
"""Iterations between two checks for divergence, where a value does not cost as much as many."""
N_INCREASES = 3
"""Values in a row that are too high, after which a run has diverged."""
DRIFT = 16
"""The error of a value that steps keep up to date, relative to a tolerance for equal values."""

OPEN = (Status.CONVERGED, Status.STALLED, Status.MAX_ITER)
"""Ends of runs that may have been after a minimizer that does not exist."""


class StoppingCriteria:
    """The criteria of a run; none depends on what is recorded.

    `max_iter` … `gap_tol` are those arguments of `pursuit.solve`.
    """

    def __init__(
        self,
        state: RunState,
        max_iter: int,
        tol: float | None,
        rtol: float | None,
        target: float | None,
        n_nonzero: int | None,
        max_time: float | None,
        gap_tol: float | None,
    ) -> None:
        problem, method = state.problem, state.problem.method
        atoms = problem.problem.atoms
        if method.gradient_free and tol is not None and non_negative("tol", tol) > 0:
            raise InputError(
                f"tol: {method.name} sees no slope to test; expected target or max_iter"
            )
        self.max_iter = _limit("max_iter", max_iter, 0)
        default = 1e-6 if gap_tol is None else 0.0
        self._tol = default if tol is None else non_negative("tol", tol)
        self.target, self._target_message = _target(problem.original, target, rtol)
        self._n_nonzero = None if n_nonzero is None else _limit("n_nonzero", n_nonzero, 1)
        self._max_time = None if max_time is None else positive("max_time", max_time)
        self._gap_tol, self._suboptimality = _gap_bound(problem.original, gap_tol)

        self._optimality = "dual norm of the gradient" if atoms.penalty.free else "KKT violation"
        # A δ-approximate oracle gives an upper bound on the first dual norm, and δ times it is a
        # lower one: what is below tol times that has fallen as far, whatever the oracle missed.
        self._threshold = float(self._tol * state.initial_dual_norm * atoms.quality)
        self._precision = tolerances(state.stepper.x.dtype)
        self._rounding = self._precision.dual_norm * problem.gradient_norm
        self._monitor = DivergenceMonitor(state)
        self._value_every = 1 if state.kernels is None else state.kernels.value_every
        self._sampled_every = _period(atoms)
        n = 0 if atoms.finite is None else len(atoms.finite)
        self._gap_every = method.advance.gap_period(n)
        self.limits = self._limits(state)
        checks = {
            self.target_reached: self.target is not None,
            self.is_optimal: True,
            self.gap_reached: self._gap_tol is not None,
            self.support_reached: self._n_nonzero is not None,
        }
        self._checks: list[Callable[[RunState], Termination | None]]
        self._checks = [check for check, is_on in checks.items() if is_on]

    def _limits(self, state: RunState) -> KernelLimits:
        """Return where kernels stop, a little early for what they compute in another order."""
        value = -inf
        if self.target is not None:
            value = self.target + 3 * self._drift(state, self.target)
        return KernelLimits(self._tol * state.initial_dual_norm, value, self._n_nonzero or 0)

    def steps_to_check(self, t: int) -> int:
        """Return the iterations until a criterion is looked at that kernels know nothing of."""
        periods = [self._monitor.every]
        if self.target is not None:
            periods.append(self._value_every)
        if self._tol:
            periods.append(self._sampled_every)
        if self._gap_tol is not None:
            periods.append(self._gap_every)
        return min(self.max_iter - t, *(every - t % every for every in periods))

    # Before, between and after iterations --------------------------------------------------

    def at_start(self, state: RunState) -> Termination | None:
        """Return the end of a run with nothing to do: at an optimal initial point, or resumed after
        its end."""
        if state.t > 0:
            return self._first_met(state) or self._monitor.end(state)
        f, atoms = state.problem.problem.f, state.problem.problem.atoms
        penalty = atoms.penalty
        unlimited = penalty.free or penalty.one_sided
        if state.initial_dual_norm <= self._rounding * atoms.radius:
            where = f" over the {penalty.hull} of the atoms" if unlimited else _zero(state)
            return Status.CONVERGED, f"the initial point is optimal{where}"
        if unlimited and f.lowest == -inf:
            why = f.unbounded(atoms, state.stepper.x.vector)
            if why:
                return self.unbounded(state, why)
        return self.gap_reached(state) or self.target_reached(state)

    def check(self, state: RunState) -> Termination | None:
        """Return the end of the run, if a criterion is met after an iteration."""
        return self._first_met(state) or self._monitor.check(state)

    def _first_met(self, state: RunState) -> Termination | None:
        for check in self._checks:
            if (end := check(state)) is not None:
                return end
        return None

    def exhausted(self, state: RunState) -> Termination | None:
        """Return the end of a run whose time or iterations are used up."""
        if self._max_time is not None and state.seconds >= self._max_time:
            return Status.MAX_TIME, Status.MAX_TIME.value
        if state.t >= self.max_iter:
            return Status.MAX_ITER, Status.MAX_ITER.value
        return None

    def unbounded(self, state: RunState, why: str) -> Termination:
        """Return the end where a rule found no end to the decrease of f: by rounding, where f has a
        lower bound."""
        f = state.problem.problem.f
        noise = int(np.prod(f.shape)) * tolerances(f.dtype).eps * (f.L or 0.0)
        if f.lowest > -inf or f.mu > noise:
            return Status.STALLED, Status.STALLED.value
        return Status.UNBOUNDED, why

    def conclude(self, state: RunState, end: Termination) -> Termination:
        """Return the end of a run once its final point is known: another one than was met, where
        the value there is not finite or f falls without end."""
        status, message = end
        if status is not Status.UNBOUNDED and not isfinite(state.evaluation.value):
            return self._monitor.diverged(state.evaluation.value, state)
        x, penalty = state.stepper.x, state.problem.problem.atoms.penalty
        may_grow = penalty.free or penalty.one_sided or penalty.lets_grow(x.coef)
        if status not in OPEN or message == self._target_message or not may_grow:
            return end
        why = state.problem.problem.f.escapes(state.evaluation.x.astype(np.float64))
        return (Status.UNBOUNDED, why) if why else end

    # One method for each criterion ----------------------------------------------------------

    def target_reached(self, state: RunState) -> Termination | None:
        """`target` and `rtol`: the value is low enough."""
        if self.target is None or state.t % self._value_every:
            return None
        value = state.stepper.x.total()
        # Steps update the value by differences: a close call is settled by computing it.
        if value > self.target + self._drift(state, value):
            return None
        if state.evaluation.value > self.target:
            return None
        return Status.CONVERGED, self._target_message

    def is_optimal(self, state: RunState) -> Termination | None:
        """`tol`: the dual norm of the gradient is small; or no step gains anything.

        There are three dual norms, each asked for where the one before leaves it open: of the
        atoms that the last step chose among, of the numbers that steps keep up to date, and the
        true one, computed anew.
        """
        dual_norm, gamma = state.last.slope, state.last.gamma
        if dual_norm > self._threshold and gamma:
            return None
        if isnan(dual_norm):  # directions are random: the dual norm is computed now and then
            return None if state.t % self._sampled_every else self._sampled(state)
        has_moved = gamma != 0
        updated = state.stepper.x.dual_norm()
        if has_moved and not updated <= self._threshold:
            return None
        true, quality = state.evaluation.dual_norm, state.problem.problem.atoms.quality
        if self._tol and true <= self._threshold:
            return self._converged(state)
        rounding = self._rounding * state.problem.problem.atoms.radius
        if dual_norm == 0 and true <= rounding:
            return Status.CONVERGED, Status.CONVERGED.value
        if has_moved and true * quality <= 1.01 * updated:
            return None  # two answers of an approximate oracle
        return self._at_rest(state, true, not has_moved and true <= max(2 * updated, rounding))

    def _sampled(self, state: RunState) -> Termination | None:
        if not self._tol or state.stepper.x.dual_norm() > self._threshold:
            return None
        return self._converged(state) if state.evaluation.dual_norm <= self._threshold else None

    def _converged(self, state: RunState) -> Termination:
        message = f"the {self._optimality} is at most {self._tol:g} times its initial value"
        return Status.CONVERGED, message + _zero(state)

    def _at_rest(self, state: RunState, dual_norm: float, is_final: bool) -> Termination | None:
        """Return the end of a run whose steps see nothing to gain; or let it go on from recomputed
        numbers, unless that `is_final` or has not halved the true dual norm since the last time."""
        if is_final or not dual_norm <= 0.5 * state.refreshed_dual_norm:
            return Status.STALLED, Status.STALLED.value
        state.refreshed_dual_norm = dual_norm
        state.refresh()
        state.last = state.last._replace(gamma=nan, slope=nan)
        return None

    def gap_reached(self, state: RunState) -> Termination | None:
        """`gap_tol`: the value is proved to be near the minimum."""
        if self._gap_tol is None or self._suboptimality is None or state.t % self._gap_every:
            return None
        x, used, weights, _, _ = state.evaluation
        bound = self._suboptimality(x, coefficients(state.problem.original, x, used, weights))
        if not bound <= self._gap_tol:
            return None
        return Status.CONVERGED, f"the value is proved to be within {bound:.4g} of the minimum"

    def support_reached(self, state: RunState) -> Termination | None:
        """`n_nonzero`: so many atoms are in use."""
        if self._n_nonzero is None or state.support < self._n_nonzero:
            return None
        return Status.MAX_NONZERO, Status.MAX_NONZERO.value

    def _drift(self, state: RunState, value: float) -> float:
        """Return how far a value may be off that steps keep up to date."""
        return DRIFT * self._precision.equal * max(abs(value), abs(state.initial_value))


class DivergenceMonitor:
    """Ends a run when its value is above the first one by more than it ever fell, three times in a
    row."""

    def __init__(self, state: RunState) -> None:
        costly = 1 if state.kernels is None else state.kernels.value_every
        self.every = max(CHECK_EVERY, costly)
        self._eps = tolerances(state.stepper.x.dtype).eps

    def check(self, state: RunState) -> Termination | None:
        """Return the end of a run that diverges."""
        if state.t % self.every == 0:
            value = state.stepper.x.total()
            if not isfinite(value):
                state.n_increases = N_INCREASES
            else:
                state.best_value = min(state.best_value, value)
                state.n_increases = state.n_increases + 1 if self._is_high(value, state) else 0
                if state.n_increases == N_INCREASES and not self._is_truly_high(state):
                    state.n_increases = 0
        return self.end(state)

    def end(self, state: RunState) -> Termination | None:
        """Return the end of a run whose value was too high often enough."""
        if state.n_increases < N_INCREASES:
            return None
        return self.diverged(state.stepper.x.total(), state)

    def _is_high(self, value: float, state: RunState, terms: float = 0.0) -> bool:
        first = state.initial_value
        rounding = max(1e-12, 64 * self._eps) * (abs(first) + terms)
        return not value - first <= first - state.best_value + rounding  # nor where it is nan

    def _is_truly_high(self, state: RunState) -> bool:
        """The terms of a value may be far larger than it, and steps follow their rounding."""
        x, value = state.evaluation.x, state.evaluation.value
        size = float(np.linalg.norm(x)) if isinstance(x, np.ndarray) else 0.0
        return self._is_high(value, state, state.problem.gradient_norm * size)

    def diverged(self, value: float, state: RunState) -> Termination:
        """Return the end, with the likely cause."""
        rise = f"value rose from {state.initial_value:.6g} to {value:.6g}"
        return Status.DIVERGED, f"objective diverged ({rise}); {state.stepper.suspect()}"


# The arguments --------------------------------------------------------------------------------


def _limit(name: str, value: int, minimum: int) -> int:
    """A number of steps or atoms that a counter can reach: nobody sees more of them."""
    return min(count(name, value, minimum), sys.maxsize)


def _target(problem: Problem, target: float | None, rtol: float | None) -> tuple[float | None, str]:
    """Return the value that ends a run, and the message of that end."""
    goals = []
    if target is not None:
        value = number("target", target)
        goals.append((value, f"the value is at most the target {value:.6g}"))
    if rtol is not None:
        residual = non_negative("rtol", rtol) * _signal_norm(problem)
        goals.append((0.5 * residual * residual, f"the residual norm is at most {residual:.6g}"))
    return max(goals, default=(None, ""))


def _signal_norm(problem: Problem) -> float:
    f = problem.f
    if problem.atoms.penalty.weighted:
        raise InputError(
            "rtol: with weights on coefficients the value is more than that of a residual; "
            "expected tol, gap_tol or target"
        )
    norm: float | None = getattr(f, "signal_norm", None)
    if norm is None:
        raise InputError(
            "rtol: expected an objective with a residual (SquaredDistance, LeastSquares), "
            f"got {type(f).__name__}"
        )
    return norm


def _gap_bound(
    problem: Problem, gap_tol: float | None
) -> tuple[float | None, SuboptimalityBound | None]:
    """Return the gap that ends a run, and what bounds f + g less its minimum."""
    if gap_tol is None:
        return None, None
    wanted, bound = positive("gap_tol", gap_tol), SuboptimalityBound.of(problem)
    if bound is None:
        penalty = "without a penalty" if problem.atoms.penalty.free else "with this penalty"
        raise InputError(
            f"gap_tol: of {type(problem.f).__name__} over {problem.atoms!r} {penalty} no dual "
            "problem is known; expected a linear model with a penalty, or with l2 > 0 over "
            "Coordinates"
        )
    return wanted, bound


def _period(atoms: AtomSet) -> int:
    """Return the iterations between two computations of the dual norm, where directions are
    random."""
    return min(atoms.rank, REFRESH) if atoms.finite is None else len(atoms.finite)


def _zero(state: RunState) -> str:
    """Return that a penalty leaves no coefficient but zero that it is about, if so."""
    x = state.stepper.x
    return "" if x.atoms.penalty.free else why_zero(x)
