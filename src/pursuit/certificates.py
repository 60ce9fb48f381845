"""What a result can prove about itself: f(x) − f* ≤ …, or the constant that is missing.

Over lin(A) four inequalities, the tightest that applies:

- f(x) − f* ≤ ‖∇f(x)‖²_{A*}/(2μ_A), anywhere in lin(A);
- f(x) − f* ≤ R_A‖∇f(x)‖_{A*}, inside the level set of x0, where R_A is given;
- for "accelerated", f(x) − f* ≤ S/(2μ_P), S = Σ p_j⟨∇f(x), z_j⟩², anywhere in lin(A);
- for the accelerated methods, E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖_P², x_s the point where the
  phase of the run began (the start x0, unless the method restarts). With ½‖x* − v_t‖_P² added,
  what stands under E is a supermartingale, so by Markov's inequality (Ville's, at any stopping
  time) f(x_t) − f* is at most ½‖x* − x_s‖_P²/(ηβ_t) with confidence 1 − η.

Where coefficients have a penalty, or f an l2 over `Coordinates`: the duality gap, or what the lower
bound that a convex f has at x leaves (`pursuit.geometry.left_to_gain`).

Nothing is claimed from an estimate, nor where rounding decides what lin(A) is. The bound is about
the stored x, atoms and f in exact arithmetic: x is looked at in float64 with all that rounding may
hide (`pursuit.geometry.slope`), every constant is on the side on which the inequality stays true,
and what rounding may have done to the run itself is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isnan, sqrt
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from pursuit import geometry
from pursuit.atoms.sampling import as_sampling
from pursuit.base.errors import InputError
from pursuit.base.status import Status
from pursuit.base.validation import positive
from pursuit.geometry import Constant, Slope
from pursuit.geometry.guarantee import MissingConstant
from pursuit.rates import Ground

if TYPE_CHECKING:
    from pursuit.solving.results import Origin, Result

ULPS = 64
"""Units in the last place that a value of f may owe to rounding."""


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
        used = ", ".join(f"{name} = {_read(value)}" for name, value in self.constants.items())
        sure = "" if self.confidence == 1 else f" with confidence {self.confidence:.4g}"
        return f"f(x) − f* ≤ {self.bound:.4g}{sure}, by {self.inequality}; {used}"


def _read(value: float) -> str:
    kind = f" ({value.kind.value})" if isinstance(value, Constant) else ""
    return f"{float(value):.6g}{kind}"


@runtime_checkable
class _Traceable(Protocol):
    """A result knows how it ended and what it came from."""

    origin: Origin | None
    status: Status


def certify(
    result: Result,
    *,
    confidence: float = 0.95,
    given: Mapping[str, float] | None = None,
) -> Certificate:
    """The best bound on f(x) − f* that can be proved.

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
    if result.origin is None:
        return Certificate(inf, missing="the problem that the result belongs to")
    unknown = _unknown(result, result.origin)
    if unknown:
        return Certificate(inf, missing=unknown)
    if not result.origin.problem.atoms.penalty.free:
        return _by_gap(result) or Certificate(inf, missing=_no_dual(result.origin))
    reasons: list[str] = []
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            sure = list(_by_slope(result, result.origin, given, reasons))
            gap = _by_gap(result)
            sure += [] if gap is None else [gap]
            with suppress(InputError):
                sure += _by_energy(result, result.origin, given)
            if sure:
                return min(sure, key=lambda certificate: certificate.bound)
            return _by_potential(result, result.origin, given, eta)
    except InputError as error:
        return Certificate(inf, missing="; ".join([*reasons, str(error)]))


def _unknown(result: Result, origin: Origin) -> str:
    """What no constant can make up for."""
    if isnan(result.slope):
        return "the slope, which this method never looks at"
    if not isfinite(result.slope) or not isfinite(result.value):
        return "a point at which f and its slope are numbers"
    return ""


def _by_gap(result: Result) -> Certificate | None:
    """By duality, where a dual point is known."""
    gap = result.gap
    if not isfinite(gap):
        return None
    return Certificate(gap, "the duality gap P(w) − D(θ)", {"P(w)": result.value})


def _no_dual(origin: Origin) -> str:
    """What a duality gap lacks."""
    if origin.left_to_gain is None:
        return (
            f"a dual problem, which {type(origin.problem.f).__name__} does not know; the theorems "
            "of the paper are about lin(A), without a penalty"
        )
    return "a dual point with a finite value: an l2, or bounds on all coefficients, would give one"


def _by_slope(
    result: Result, origin: Origin, given: Mapping[str, float] | None, reasons: list[str]
) -> Iterator[Certificate]:
    """The slope certificates for which the constants are there."""
    problem = origin.problem
    ground = Ground(problem.f, problem.atoms, origin.start, given=given)
    seen = geometry.slope_at(problem.f, problem.atoms, origin.seen(result.x))
    letters = "‖∇f(x)‖_{A*}"
    try:
        mu_A = ground["μ_A"]
        bound = outward(seen.gap(mu_A.lower))
        if isfinite(bound):
            text = f"f(x) − f* ≤ {letters}² / (2 μ_A)"
            yield Certificate(bound, text, {letters: seen.value, "μ_A": mu_A}, mu_A.confidence)
        else:
            reasons.append(f"μ_A: {mu_A:.4g} is too small beside what rounding leaves open")
    except InputError as error:
        reasons.append(str(error))
        yield from _by_growth(ground, seen)
    if given is not None and "R_A" in given and result.value <= problem.f.value(origin.start):
        R_A = ground["R_A"]
        text = f"f(x) − f* ≤ R_A {letters} in the level set of x0"
        bound = outward(R_A * seen.value + seen.off + _rounding_of_values(result, origin))
        if isfinite(bound):
            yield Certificate(bound, text, {"R_A": R_A, letters: seen.value})


def _by_growth(ground: Ground, seen: Slope) -> Iterator[Certificate]:
    """f(x) − f* ≤ ‖∇f(x)‖²_{A*}/(2μ̄_A), for quadratics with flat directions."""
    with suppress(InputError):
        grows = ground["μ̄_A"]
        bound = outward(seen.gap(grows.lower))
        if isfinite(bound):
            letters = "‖∇f(x)‖_{A*}"
            text, used = f"f(x) − f* ≤ {letters}² / (2 μ̄_A)", {letters: seen.value, "μ̄_A": grows}
            yield Certificate(bound, text, used, grows.confidence)


def outward(bound: float) -> float:
    """A bound that stays one when it is rounded, made of constants that are exact up to AGREE."""
    return float(np.nextafter(bound * (1 + 4 * geometry.AGREE), inf))


def _rounding_of_values(result: Result, origin: Origin) -> float:
    """What f(x) ≤ f(x0), as computed, may hide."""
    values = abs(result.value) + abs(origin.problem.f.value(origin.start))
    return ULPS * float(np.finfo(result.x.dtype).eps) * values


def _by_energy(
    result: Result, origin: Origin, given: Mapping[str, float] | None
) -> Iterator[Certificate]:
    """f(x) − f* ≤ S/(2μ_P) and ≤ R²/(2β_t), for a rule that surely keeps its bound from x0.

    S = Σ p_j⟨∇f(x), z_j⟩², and R bounds ‖x* − x0‖_P: by ‖x − x0‖_P + √S/μ_P, where it is not known.
    """
    (f, atoms), rules = (origin.problem.f, origin.problem.atoms), origin.method
    promise = rules.momentum.guarantee(rules.advance, origin.problem)
    finite = atoms.finite
    if not (promise.surely and promise.from_start) or finite is None:
        return
    ground = Ground(f, atoms, origin.start, promise.sampling, given=given)
    seen, sampling = (
        geometry.slope_at(f, atoms, origin.seen(result.x)),
        as_sampling(atoms, promise.sampling),
    )
    c = np.abs(finite.correlate(finite.lin.project(seen.gradient)))
    # What rounding may have taken off the largest slope it may have taken off each.
    root, mu_P = sqrt(float(sampling.p @ c**2)) + seen.value - float(c.max()), ground["μ_P"]
    bound = outward(replace(seen, value=root).gap(mu_P.lower))
    if not isfinite(bound):
        return
    known = {"S": root * root, "μ_P": mu_P}
    yield Certificate(bound, "f(x) − f* ≤ S / (2 μ_P)", known)
    moments = sampling.moments
    R = (1 + moments.rounding) * sqrt(moments.norm2(seen.point - origin.start))
    R += root / (mu_P.lower - seen.dent)
    with suppress(InputError):
        R = min(R, ground["‖x* − x0‖_P"])
    beta = origin.beta
    if beta > 0:
        bound = outward(max(R * (R / (2 * beta)), _left_by_rounding(result, origin)))
        yield Certificate(bound, "f(x) − f* ≤ ½R² / β_t", {"R": R, "β_t": beta, **known})


def _by_potential(
    result: Result, origin: Origin, given: Mapping[str, float] | None, eta: float
) -> Certificate:
    """From E[β_t(f(x_t) − f*)] ≤ ½‖x* − x_s‖_P², for the momentum rules that guarantee it."""
    rules = origin.method
    promise = rules.momentum.guarantee(rules.advance, origin.problem)
    letters = "‖x* − x0‖_P" if promise.from_start else "‖x* − x_s‖_P"
    ground = Ground(
        origin.problem.f, origin.problem.atoms, origin.start, promise.sampling, given=given
    )
    distance, beta = ground[letters], origin.beta
    if beta == 0:
        raise MissingConstant("β_t", "this phase of the run has not made a step")
    constants = {letters: distance, "β_t": beta, **promise.constants}
    left = _left_by_rounding(result, origin)
    bound = distance * (distance / (2 * beta))
    sure = min(promise.confidence, distance.confidence)
    if promise.surely:
        text = f"f(x) − f* ≤ ½{letters}² / β_t"
        return Certificate(outward(max(bound, left)), text, constants, sure)
    text = f"E[β_t (f(x_t) − f*)] ≤ ½{letters}² and Markov's inequality"
    return Certificate(outward(max(bound / eta, left)), text, constants, sure - eta)


def _left_by_rounding(result: Result, origin: Origin) -> float:
    """A bound below which no theorem about exact arithmetic goes.

    The potential falls with every step, and the steps of a run are rounded: in the end f(x) − f*
    stays where it is while the theorem goes on. For a quadratic of which the distance to x* is
    known f(x) − f* itself is, as far as float64 tells; otherwise a step is taken to have raised f
    by what rounding may have done to its value.
    """
    f, atoms = origin.problem.f, origin.problem.atoms
    seen = geometry.slope_at(f, atoms, origin.seen(result.x))
    if isinstance(seen.point, np.ndarray):
        gap = geometry.gap(f, atoms, seen.point)
        if isfinite(gap.upper):
            return gap.upper + seen.off
    return _rounding_of_values(result, origin) * result.iterations + seen.off
