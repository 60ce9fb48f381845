"""What a result can prove about itself: f(x) − f* ≤ …, or what is missing.

Over lin(A) the tightest of these that applies:

- f(x) − f* ≤ ½cᵀ(E H Eᵀ)⁻¹c with c = E∇f(x), rows E that span lin(A) and an H that is nowhere above
  the Hessian; or f(x) less a number that f is never below (`pursuit.geometry.suboptimality`);
- f(x) − f* ≤ ‖∇f(x)‖²_{A*}/(2μ_A), for infinite sets, or with a μ_A that is given;
- f(x) − f* ≤ R_A‖∇f(x)‖_{A*} inside the level set of x0, with an R_A that is given;
- for the accelerated methods, with a distance that is given, E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖_P²,
  x_s the point where the phase of the run began (the start x0, unless the method restarts). With
  ½‖x* − v_t‖_P² added, what stands under E is a supermartingale, so by Markov's inequality
  (Ville's, at any stopping time) f(x_t) − f* ≤ ½‖x* − x_s‖_P²/(ηβ_t) with confidence 1 − η.

Where coefficients have a penalty, or f an l2 over `Coordinates`: the duality gap, or what a
parabola below f leaves (`SuboptimalityBound`).

Each is an inequality in exact arithmetic, evaluated in float64 at the stored x, plus one allowance
for rounding: 64 · 2⁻⁵² times the sum of the magnitudes of the terms of f(x) and ⟨∇f(x), x⟩. Atoms
that depend on others up to rounding count as dependent, and where a curvature cannot be told from
rounding nothing is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from pursuit import geometry
from pursuit.base.errors import InputError
from pursuit.base.status import Status
from pursuit.base.tolerances import tolerances
from pursuit.base.validation import positive
from pursuit.geometry import Constant
from pursuit.geometry.guarantee import MissingConstant
from pursuit.geometry.suboptimality import (
    allowance,
    bound_by_dual_norm,
    bound_by_floor,
    bound_over_span,
)
from pursuit.rates import Ground

if TYPE_CHECKING:
    from pursuit.solving.result import Origin, Result

NORM = "‖∇f(x)‖_{A*}"


@dataclass(frozen=True)
class Certificate:
    """f(x) − f* ≤ bound, with the inequality and the constants behind it.

    With a penalty g on coefficients f stands for f + g, and f* for its minimum.

    Attributes
    ----------
    bound
        +inf where a constant is missing.
    inequality
        What was used, in letters.
    constants
        The numbers in it, by name.
    confidence
        1 where it holds surely.
    missing
        The constant that would be needed and why it is not known; empty where nothing is missing.
    """

    bound: float
    inequality: str = ""
    constants: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 1.0
    missing: str = ""

    def __str__(self) -> str:
        if self.missing:
            return f"f(x) − f* is not bounded; what is missing: {self.missing}"
        used = ", ".join(f"{name} = {_formatted(c)}" for name, c in self.constants.items())
        sure = "" if self.confidence == 1 else f" with confidence {self.confidence:.4g}"
        behind = f"; {used}" if used else ""
        return f"f(x) − f* ≤ {self.bound:.4g}{sure}, by {self.inequality}{behind}"


def _formatted(value: float) -> str:
    kind = f" ({value.kind.value})" if isinstance(value, Constant) else ""
    return f"{float(value):.6g}{kind}"


@runtime_checkable
class _Traceable(Protocol):
    """A result knows how it ended and what it came from."""

    origin: Origin | None
    status: Status


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def certify(
    result: Result,
    *,
    confidence: float = 0.95,
    given: Mapping[str, float] | None = None,
) -> Certificate:
    """Return the best bound on f(x) − f* that can be proved.

    Parameters
    ----------
    result
        Of `pursuit.solve`.
    confidence
        Of bounds that hold in expectation.
    given
        Constants known from elsewhere, by name: "μ_A", "R_A", "‖x* − x0‖_P" or, for methods with
        phases, "‖x* − x_s‖_P"; for the atoms that the method ran on.
    """
    eta = 1 - positive("confidence", confidence)
    if eta <= 0:
        raise InputError(f"confidence: expected a number below 1, got {confidence!r}")
    if not isinstance(result, _Traceable):
        raise InputError(f"result: expected a result of solve, got {type(result).__name__}")
    origin = result.origin
    if origin is None:
        return Certificate(inf, missing="the problem that the result belongs to")
    unknown = _unknown(result)
    if unknown:
        return Certificate(inf, missing=unknown)
    if not origin.problem.atoms.penalty.free:
        found, missing = list(_by_gap(result)), [_without_dual(origin)]
    else:
        missing = []
        found = [*_by_curvature(result, origin, missing), *_by_gap(result)]
        found += _by_given_constants(result, origin, given or {})
        try:
            found.append(_by_potential(result, origin, given or {}, eta))
        except InputError as error:
            missing.append(str(error))
    known = [certificate for certificate in found if isfinite(certificate.bound)]
    if not known:
        return Certificate(inf, missing="; ".join(missing))
    return min(known, key=lambda certificate: certificate.bound)


def _unknown(result: Result) -> str:
    """Return what no constant can make up for."""
    if isnan(result.slope):
        return "the slope, which this method never looks at"
    if not isfinite(result.slope) or not isfinite(result.value):
        return "a point at which f and its slope are numbers"
    return ""


def _by_gap(result: Result) -> Iterator[Certificate]:
    """By duality, or a parabola below f, for the coefficients of the result."""
    yield Certificate(result.gap, "the duality gap P(w) − D(θ)", {"P(w)": result.value})


def _without_dual(origin: Origin) -> str:
    """Return what a duality gap lacks."""
    if origin.suboptimality is None:
        return (
            f"a dual problem, which {type(origin.problem.f).__name__} does not know; the theorems "
            "of the paper are about lin(A), without a penalty"
        )
    return "a dual point with a finite value: an l2, or bounds on all coefficients, would give one"


def _by_curvature(result: Result, origin: Origin, missing: list[str]) -> Iterator[Certificate]:
    """By a lower bound on the Hessian, or one on f."""
    problem, x = origin.given or origin.problem, origin.seen(result.x)
    f, atoms, x = problem.f.double(), problem.atoms, x.astype(np.float64)
    floor = {"m": float(f.lowest)}
    yield Certificate(bound_by_floor(f, x), "f(x) − f* ≤ f(x) − m, and f is never below m", floor)
    try:
        if atoms.finite is not None:
            bound = bound_over_span(f, atoms.finite.lin, x)
            yield Certificate(bound, "f(x) − f* ≤ ½ cᵀ(E H Eᵀ)⁻¹ c with c = E ∇f(x) over lin(A)")
            if not isfinite(bound):
                missing.append(f"μ_A: {_why_not_curved(f.mu or f.quadratic)}")
            return
        mu = geometry.growth(f, atoms)
    except InputError as error:  # of atoms that nobody stores, or that have no known moments
        missing.append(str(error))
        return
    bound, norm = bound_by_dual_norm(f, atoms, x, mu.lower)
    letter = "μ_A" if "nearest" not in mu.serves else "μ̄_A"
    if isfinite(bound):
        text, used = f"f(x) − f* ≤ {NORM}² / (2 {letter})", {NORM: norm, letter: mu}
        yield Certificate(bound, text, used, mu.confidence)
    else:
        missing.append(f"{letter}: {_why_not_curved(None)}")


def _why_not_curved(curvature: object) -> str:
    if curvature:
        return "a curvature of f on lin(A) cannot be told from rounding"
    return "f is not known to be strongly convex on lin(A)"


def _by_given_constants(
    result: Result, origin: Origin, given: Mapping[str, float]
) -> Iterator[Certificate]:
    """By the dual norm of the gradient and a constant that is given."""
    (f, atoms), x = (origin.problem.f.double(), origin.problem.atoms), origin.seen(result.x)
    ground, x = Ground(f, atoms, origin.start, given=given), x.astype(np.float64)
    if "μ_A" in given:
        bound, norm = bound_by_dual_norm(f, atoms, x, ground["μ_A"])
        text = f"f(x) − f* ≤ {NORM}² / (2 μ_A)"
        yield Certificate(bound, text, {NORM: norm, "μ_A": ground["μ_A"]})
    if "R_A" in given and result.value <= f.value(origin.start.astype(np.float64)):
        _, norm = bound_by_dual_norm(f, atoms, x, 0.0)
        bound = ground["R_A"] * norm + allowance(f, x)
        text = f"f(x) − f* ≤ R_A {NORM} in the level set of x0"
        yield Certificate(bound, text, {"R_A": ground["R_A"], NORM: norm})


def _by_potential(
    result: Result, origin: Origin, given: Mapping[str, float], eta: float
) -> Certificate:
    """From E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖_P², for the momentum rules that guarantee it.

    The steps of the run are rounded in its precision, and so is what the potential promises.
    """
    rules, f = origin.method, origin.problem.f
    promise = rules.momentum.guarantee(rules.advance, origin.problem)
    letters = "‖x* − x0‖_P" if promise.from_start else "‖x* − x_s‖_P"
    if letters not in given:
        raise MissingConstant(letters, "the distance to a minimizer, given by its name")
    distance = Ground(f, origin.problem.atoms, origin.start, given=given)[letters]
    if origin.beta == 0:
        raise MissingConstant("β_t", "this phase of the run has not made a step")
    constants = {letters: distance, "β_t": origin.beta, **promise.constants}
    coarser = tolerances(result.x.dtype).eps / tolerances(np.float64).eps
    spent = coarser * allowance(f.double(), origin.seen(result.x).astype(np.float64))
    bound = distance * (distance / (2 * origin.beta))
    if promise.surely:
        text = f"f(x) − f* ≤ ½{letters}² / β_t"
        return Certificate(bound + spent, text, constants, promise.confidence)
    text = f"E[β_t (f(x_t) − f*)] ≤ ½{letters}² and Markov's inequality"
    return Certificate(bound / eta + spent, text, constants, promise.confidence - eta)
