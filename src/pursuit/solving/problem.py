"""The problem that a run solves: atoms, scaling, initial point, choice of the method."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from pursuit.active.working_set import direct, has_sparse_data, suits
from pursuit.atoms.base import AtomSet
from pursuit.atoms.dictionary import as_atoms
from pursuit.atoms.forms import AtomForm
from pursuit.base.errors import InputError
from pursuit.base.validation import Array, flag, shaped_array
from pursuit.methods import Method, accelerated, as_method, matching_pursuit, working_set
from pursuit.objectives.base import Objective
from pursuit.objectives.problem import Problem
from pursuit.penalties import Penalty
from pursuit.points.base import Point, combined
from pursuit.points.linear import LinearPoint
from pursuit.solving.checkpoint import Fingerprint
from pursuit.solving.penalised import begin, check_penalty, check_weights, penalised, with_penalty


class PointEvaluation(NamedTuple):
    """What a result says of a point: x, the places and the weights of its atoms, f(x) + g(w), and
    the dual norm of the gradient for the atoms that the method runs on (with a penalty, the KKT
    violation)."""

    x: Array
    used: Array
    weights: Array
    value: float
    dual_norm: float


@dataclass(frozen=True)
class PreparedProblem:
    """A problem as a method runs on it, and the way back to the one that the user gave.

    Attributes
    ----------
    original
        f and the atoms as given, whose coefficients a result has.
    problem
        f and the atoms that the method runs on, in one precision, of unit norm if asked for.
    method, why
        The method, and what it was chosen for where nobody named one.
    start, coef0
        The initial point, and its coefficients of the atoms that the method runs on, where it is
        given by coefficients; else None.
    origin
        The point that the coefficients of a result count from.
    norms
        The norms that the atoms were divided by; None where they were not.
    gradient_norm
        The larger of ‖∇f‖ at the initial point and at zero: the size of the terms that a gradient
        is the difference of. Zero for methods that see values alone.
    seed, fingerprint
        The seed of random directions, and what tells this run from those of other problems.
    """

    original: Problem
    problem: Problem
    method: Method
    why: str
    start: Array
    coef0: Array | None
    origin: Array
    norms: Array | None
    gradient_norm: float
    seed: int
    fingerprint: Fingerprint

    def point(self, gram_bytes: int | None) -> tuple[Point, Array | None]:
        """Return the initial point, and the coefficients of the start where its own count from
        them: see `RunState.coef0`."""
        advance, momentum = self.method.advance, self.method.momentum
        x = advance.point(self.problem, self.start, gram_bytes, momentum.alone)
        return x, None if self.coef0 is None else begin(x, self.coef0)

    def evaluate(self, point: Point, weights: Array, used: Array) -> PointEvaluation:
        """Return what is true at a point with these weights of the atoms that the method runs on.

        Steps update a point by differences. Here x is computed from its coefficients and the atoms
        as given, and f and its gradient at that x in float64.
        """
        f, atoms = self.original.f, self.original.atoms
        if self.norms is not None:
            weights = (weights.astype(np.float64) / self.norms[used]).astype(weights.dtype)
        if atoms.penalty.free:
            x = assemble(point, atoms, self.origin, weights, used)
            exact = x.astype(np.float64)
            wide = point.atoms.dtype == np.float64  # unit atoms in full precision
            of_atoms = (point.atoms, None) if wide else (atoms, self.norms)
            numbers = value_and_dual_norm(point, f, exact, *of_atoms)
            return PointEvaluation(x, used, weights, *numbers)
        weights, coef = self._within_bounds(point, weights, used)
        x = assemble(point, atoms, self.origin, weights, used)
        value, gradient = value_and_gradient(point, f, x.astype(np.float64))
        value += atoms.penalty.at(used).value(weights)
        return PointEvaluation(x, used, weights, value, self._kkt_violation(point, gradient, coef))

    def _within_bounds(self, point: Point, weights: Array, used: Array) -> tuple[Array, Array]:
        """Return weights that are exactly at a bound where those of the run are, and all
        coefficients of the run, at a bound where the weights are."""
        penalty = self.original.atoms.penalty.within(weights.dtype)
        _, lower, upper = penalty.at(used).terms
        _, lowest, highest = point.atoms.penalty.at(used).terms
        coef = point.coef.copy()
        at_lower = (coef[used] <= lowest) | (weights <= lower)
        at_upper = (coef[used] >= highest) | (weights >= upper)
        weights = np.where(at_lower, lower, np.where(at_upper, upper, weights))
        coef[used] = np.where(at_lower, lowest, np.where(at_upper, highest, coef[used]))
        return weights.astype(coef.dtype), coef

    def _kkt_violation(self, point: Point, gradient: Array, coef: Array) -> float:
        """Return the largest distance of −⟨∇f(x), z_j⟩ from ∂g_j(w_j)."""
        atoms, original = point.atoms.finite, self.original.atoms.finite
        assert atoms is not None
        assert original is not None
        wide = atoms.dtype == np.float64
        c = (atoms if wide else original).correlate(gradient)
        if self.norms is not None and not wide:
            c = c / self.norms
        return float(np.abs(atoms.admissible(c, coef)).max())


def prepare_problem(
    f: Objective,
    atoms: object,
    method: str | Method | None,
    x0: object | None,
    coef0: object | None,
    penalty: Penalty | None,
    unit_atoms: bool,
    seed: int,
    *,
    is_sparse: bool,
) -> PreparedProblem:
    """Return the problem that a run solves, or raise InputError.

    `is_sparse`, that the number of atoms is limited, matters to the choice of a method alone.
    """
    original = Problem(f, as_atoms(atoms))
    has_own_penalty = not original.atoms.penalty.free
    if penalty is not None:
        original = Problem(f, penalised(f, original.atoms, penalty))
    rules, why = choose_method(method, original, is_sparse or has_own_penalty)
    atoms = original.atoms
    if not atoms.penalty.free:
        check_penalty(atoms, rules, x0)
    start, coef = _initial_point(original, x0, coef0)
    dtype = np.result_type(f.dtype, atoms.dtype, start.dtype)
    f = f if f.dtype == dtype else f.double()
    gradient_norm = 0.0
    if not rules.gradient_free:
        f, gradient_norm = _with_range(f, atoms, start, dtype)
        dtype = np.result_type(dtype, f.dtype)
    unit_atoms = flag("unit_atoms", unit_atoms)
    scaled, norms = atoms.astype(dtype), None
    if unit_atoms:
        scaled, norms = scaled.unit()
    if not atoms.penalty.free:
        # A set of a user may forget its penalty.
        scaled = with_penalty(scaled, atoms.penalty.rescaled(norms).within(dtype))
        atoms = with_penalty(atoms, atoms.penalty.within(dtype))
    identity = [f, atoms, rules.advance, rules.momentum, start, coef, unit_atoms, seed]
    identity += [] if atoms.penalty.free else [atoms.penalty]
    return PreparedProblem(
        original=Problem(f, original.atoms),
        problem=Problem(f, scaled),
        method=rules,
        why=why,
        start=start,
        coef0=coef if coef is None or norms is None else coef * norms,
        origin=start if coef is None else f.origin(atoms),
        norms=norms,
        gradient_norm=gradient_norm,
        seed=seed,
        fingerprint=Fingerprint(*identity),
    )


def choose_method(
    method: str | Method | None, problem: Problem, atom_by_atom: bool
) -> tuple[Method, str]:
    """Return a method, and what it was chosen for where nobody named one.

    Coefficients of a linear model are asked for to the last digit: working sets get there with a
    penalty, with a sparse X and where a model is solved directly, conjugate directions with any
    other X. Whoever gives a dictionary, a cone or a number of atoms wants one atom after another.
    """
    if method is not None:
        return as_method(method), ""
    is_linear_model = problem.f.linear_model is not None and suits(problem)
    if atom_by_atom or not is_linear_model:
        return matching_pursuit(), ""
    if not problem.atoms.penalty.free:
        return working_set(), "a linear model with a penalty"
    if has_sparse_data(problem):
        return working_set(), "a linear model with a sparse X"
    if direct(problem):
        return working_set(), "a linear model with a small Hessian"
    return accelerated(), "a linear model with a dense X"


def _initial_point(problem: Problem, x0: object, coef0: object) -> tuple[Array, Array | None]:
    """Return the initial point, and the coefficients that it stands for."""
    atoms = problem.atoms
    if x0 is not None and coef0 is not None:
        raise InputError("x0, coef0: expected one of them, got both")
    if coef0 is not None:
        finite = atoms.finite
        if finite is None:
            raise InputError("coef0: expected a finite set of atoms; give x0 instead")
        coef = shaped_array("coef0", coef0, (len(finite),))
        check_weights(atoms, coef)
        # With a penalty a point has to know its coefficients: it starts at zero and is given them.
        start = finite.combine(coef) if atoms.penalty.free else problem.f.origin(atoms)
        return start, coef
    if x0 is None:
        return problem.f.origin(atoms), None
    start = shaped_array("x0", x0, atoms.shape)
    if not atoms.spans(start):
        raise InputError("x0: expected a point in the span of the atoms, got one outside it")
    return start, None


# The range of floating point ------------------------------------------------------------------


def _with_range(
    f: Objective, atoms: AtomSet, start: Array, dtype: np.dtype[Any]
) -> tuple[Objective, float]:
    """Return f, in float64 where float32 has no room for a run from this point, and the size of its
    gradients. A general f cannot be rescaled: one that has no room in float64 either is refused."""
    # The gradient of a linear model at zero is kept, and needed again over coordinates.
    model = f.linear_model if atoms.form is AtomForm.AXES else None
    gradient, curvature = _sizes(model or f, start)
    if _has_room(gradient, curvature, dtype):
        return f, gradient
    wide = f.double()
    if wide is not f:
        f, (gradient, curvature) = wide, _sizes(wide, start)
    if not isfinite(gradient):
        raise InputError(f"f: the gradient at the start must be finite, got one of norm {gradient}")
    if not _has_room(gradient, curvature, np.dtype(np.float64)):
        raise InputError(
            f"f: at the initial point its gradient has the norm {gradient:.3g} and its curvature "
            f"along it is {curvature:.3g}, whose squares and products leave the range of float64; "
            "rescale the data"
        )
    return f, gradient


def _sizes(f: Objective, start: Array) -> tuple[float, float]:
    """Return the larger of ‖∇f‖ at the initial point and at zero, and the curvature along it."""
    if not isinstance(start, np.ndarray):  # kept as factors, with a curvature of at most one
        return f.gradient_norm(start), 0.0
    gradients = [f.gradient(start)] + ([f.gradient(np.zeros_like(start))] if start.any() else [])
    norms = [_norm(gradient) for gradient in gradients]
    largest = 1 if norms[-1] > norms[0] else 0  # zero may be outside of the domain of f
    size = norms[largest]
    if size == 0 or not isfinite(size):
        return size, 0.0
    d = gradients[largest].astype(np.float64) / size
    return size, f.curvature(d, f.image(d))


def _norm(gradient: Array) -> float:
    """Return ‖gradient‖, or its largest entry where all squares underflow."""
    wide = gradient.astype(np.float64, copy=False)
    square = float(np.vdot(wide, wide))
    return sqrt(square) if square or not wide.any() else float(np.abs(wide).max())


def _has_room(gradient: float, curvature: float, dtype: np.dtype[Any]) -> bool:
    """Return whether the gradient, its square and the curvature are zero or ordinary numbers."""
    low, high = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    sizes = (gradient, gradient * gradient, curvature)
    # Nobody knows the curvature of some f.
    return all(s == 0 or low <= s <= high for s in sizes[: 3 if curvature < inf else 2])


# f at the x that coefficients stand for, from the atoms as given and in float64 ----------------


@runtime_checkable
class EvaluatesItself(Protocol):
    """A point that puts x together, and finds the dual norm of the gradient there, in ways of its
    own."""

    def assemble(self, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
        """Return origin + Σ weights_k z_k over the atoms at these places."""
        ...

    def dual_norm_at(self, x: Array) -> float:
        """Return max |⟨∇f(x), z⟩| at an x in float64."""
        ...


def assemble(point: Point, atoms: AtomSet, origin: Array, weights: Array, places: Array) -> Array:
    """Return origin + Σ weights_k z_k over the atoms at these places of a run, rounded once."""
    if (itself := _as_own(point)) is not None:
        return itself.assemble(atoms, origin, weights, places)
    return combined(point, atoms, origin, weights, places)


def value_and_gradient(point: Point, f: Objective, x: Array) -> tuple[float, Array]:
    """Return f(x) and ∇f(x) at an x in float64, f being that of the point as it was given."""
    if isinstance(point, LinearPoint):
        return point.value_and_gradient(f, x)
    return f.value_and_gradient(x)


def value_and_dual_norm(
    point: Point, f: Objective, x: Array, atoms: AtomSet, norms: Array | None
) -> tuple[float, float]:
    """Return f(x) and max |⟨∇f(x), z⟩| over these atoms divided by their norms."""
    if (itself := _as_own(point)) is not None:
        return f.value(x), itself.dual_norm_at(x)
    value, gradient = value_and_gradient(point, f, x)
    finite = atoms.finite
    if finite is None or (norms is None and point.is_local):  # whose correlations take much memory
        return value, atoms.dual_norm(gradient)
    c = np.abs(finite.correlate(gradient))
    return value, float((c if norms is None else c / norms).max())


def _as_own(point: Point) -> EvaluatesItself | None:
    return point if isinstance(point, EvaluatesItself) else None
