"""The area `penalised`: f + g for an ℓ1 penalty, bounds or both, over coordinates and other sets.

A better point refutes a bound: from where a run ended, coordinate descent in extended precision
goes on, and what it still gains must be within what the run proved, or was told to leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import pursuit
from fuzz import solving
from fuzz.case import Case, words
from fuzz.generators import Array, junked, magnitude
from fuzz.oracle import FLOOR, LD, ROOM, Bowl, Model, eps_of, exact, norm, tiny_of
from fuzz.problems import Atoms, coordinates, linear_model, some_atoms, some_target
from fuzz.solve_checks import DRIFT, Posed
from pursuit import methods

NAMES = solving.NAMES | words("penalty lower upper lower, gap strengths points least")
FALLING = ("matching-pursuit", "affine-invariant", "random-pursuit", "cyclic", "shuffled",
           "working-set")  # fmt: skip
"""Methods that take any penalty; with each of them f + g never rises."""
TINIEST = LD(np.finfo(np.float64).smallest_subnormal)
ROUNDS = 30
"""Rounds of coordinate descent by which an end is tried."""
JUNKED = ("tol", "max_iter", "gap", "penalty", "coef0", "unit_atoms", "every")


@dataclass(frozen=True)
class Bounds:
    """g_j(w) = weights_j |w| on [lower_j, upper_j]."""

    weights: Array
    lower: Array
    upper: Array

    def value(self, w: Array) -> Any:
        return (self.weights * np.abs(w)).sum()

    def prox(self, j: int, w: Any, h: Any) -> Any:
        shrunk = np.sign(w) * max(abs(w) - self.weights[j] / h, LD(0))
        return min(max(shrunk, self.lower[j]), self.upper[j])

    def slopes(self, c: Array, w: Array, loose: float) -> tuple[Array, Array]:
        """The least and the largest distance of −c from ∂g(w′), over w′ within `loose` of w."""
        near = loose * np.abs(w) + 64 * TINIEST  # a bound may vanish with the norm of its atom
        least, most = np.full(len(c), LD(np.inf)), np.zeros(len(c), LD)
        for at_low in (False, True):
            for at_high in (False, True):
                low = (w <= self.lower) | (at_low & (w - near <= self.lower))
                high = (w >= self.upper) | (at_high & (w + near >= self.upper))
                left = np.where(w > 0, c + self.weights, c - self.weights)
                right = np.where(w < 0, c - self.weights, c + self.weights)
                down = np.where(low, 0, np.maximum(left, 0))
                up = np.where(high, 0, np.maximum(-right, 0))
                least, most = np.minimum(least, down + up), np.maximum(most, down + up)
        return least, most


@dataclass(frozen=True)
class Charged:
    """A problem with a penalty, what was asked for, and what is true at the end of a run."""

    case: Case
    posed: Posed
    given: Bounds
    result: Any

    @property
    def model(self) -> Model:
        return self.posed.target.model

    @cached_property
    def w(self) -> Array:
        dense = np.zeros(self.result.size, LD)
        dense[self.result.support] = exact(self.result.weights)
        return dense

    @cached_property
    def x(self) -> Array:
        return exact(self.result.x).reshape(-1)

    @cached_property
    def eps(self) -> float:
        atoms = self.posed.atoms
        return atoms.loose * max(eps_of(self.result.x.dtype), atoms.eps)

    @cached_property
    def tiny(self) -> Any:
        return tiny_of(self.result.x.dtype)

    @cached_property
    def scales(self) -> Array:
        """What coefficients are multiplied by where the method runs."""
        assert self.posed.atoms.rows is not None
        n = len(self.posed.atoms.rows)
        unit = self.posed.option("unit_atoms") is not False
        return norm(self.posed.atoms.rows) if unit else np.ones(n, LD)

    @cached_property
    def bounds(self) -> Bounds:
        """The penalty of the coefficients with which the method runs."""
        g, s = self.given, self.scales
        return Bounds(g.weights / s, g.lower * s, g.upper * s)

    @cached_property
    def rows(self) -> Array:
        assert self.posed.atoms.rows is not None
        return self.posed.atoms.rows

    @cached_property
    def value(self) -> Any:
        return self.model.value(self.x) + self.given.value(self.w)

    def slack(self, x: Array, w: Array) -> Any:
        n, (error, _) = len(w), self.model.slack(x, self.eps, self.tiny)
        return ROOM * (error + n * self.eps * self.given.value(w))

    @cached_property
    def rounding(self) -> Any:
        """Of values along the way."""
        terms = np.abs(self.w) @ np.abs(self.rows)
        start = exact(self.start)
        places = (terms, np.abs(start) @ np.abs(self.rows), np.zeros_like(terms))
        most = max(self.model.slack(x, 1.0, self.tiny)[0] for x in places)
        if not np.isfinite(most):  # exponentials of so much are no numbers: they are of u itself
            places = (self.x, start @ self.rows, np.zeros_like(terms))
            most = max(self.model.slack(x, self.eps, self.tiny)[0] for x in places) / self.eps
        return DRIFT * self.eps * (most + self.given.value(self.w) + self.given.value(start))

    @cached_property
    def start(self) -> Array:
        given = self.posed.option("coef0")
        return np.zeros(len(self.rows)) if given is None else np.asarray(given)

    def slope(self, w: Array, x: Array) -> tuple[Any, Any, Any]:
        """The largest distance from ∂g, at least and at most, and what it may be off."""
        rows = self.rows / self.scales[:, None]
        g = self.model.gradient(x)
        _, error = self.model.slack(x, self.eps, self.tiny)
        blur = ROOM * (error + len(x) * self.eps * np.abs(g))
        least, most = self.bounds.slopes(rows @ g, w * self.scales, 64 * self.eps)
        seen = norm(rows) * norm(blur) if self.posed.atoms.mixed else np.abs(rows) @ blur
        slack = seen + ROOM * self.eps * self.bounds.weights
        return least.max(), most.max(), slack.max()


def penalised_case(case: Case) -> None:
    posed, given = pose(case)
    call = lambda **more: pursuit.solve(  # noqa: E731
        posed.target.f, posed.atoms.set, posed.rules.method, **(posed.options | more)
    )
    result = case.ask(call, NAMES)
    case.tell(result=str(result).replace("\n", " |"))
    check(Charged(case, posed, given, result))
    again = case.pick(*solving.AGAIN, *([] if posed.option("penalty") is None else [_along_a_path]))
    again(case, posed, call, result)


def pose(case: Case) -> tuple[Posed, Bounds]:
    d = case.whole(1, 8)
    over = case.chance(0.6)
    atoms = coordinates(case, d) if over else some_atoms(case, d, finite=True)
    target = (linear_model if over and case.chance(0.7) else some_target)(case, atoms, d)
    penalty, bounds = _penalty(case, atoms, target.model)
    if atoms.cone:
        bounds = Bounds(bounds.weights, np.maximum(bounds.lower, LD(0)), bounds.upper)
    method = case.pick(None, "working-set", *FALLING)
    if case.chance(0.1):
        method = case.pick(*methods.NAMED)
    rules = solving.Rules(method, str(method), True, method in FALLING, True)
    longest = {case.whole(0, 3): 2, case.whole(4, 60): 8, case.whole(60, 400): 3}
    options: dict[str, Any] = {"max_iter": case.weighted(longest), "seed": case.whole(0, 5)}
    if method in (None, "working-set"):  # which does in an iteration what others do in thousands
        options["max_iter"] = min(options["max_iter"], 60)
    options |= {"penalty": penalty, "progress": False}
    if case.chance(0.5):
        options["tol"] = case.pick(0, 1e-1, 1e-3, 1e-6, 1e-10)
    if case.chance(0.2):
        options["gap"] = case.pick(1e-9, 1e-3, 1.0)
    if case.chance(0.3):
        options["unit_atoms"] = False
    if case.chance(0.2):
        options["every"] = case.whole(1, 30)
    if case.chance(0.25):
        options["coef0"] = case.keep("coef0", _start(case, bounds))
    case.tell(method=method, options=options, f=target.f, bounds=bounds)
    options = junked(case, options, JUNKED)
    if options["penalty"] is None:
        bounds = _no_bounds(len(bounds.lower), atoms.cone)
    return Posed(target, atoms, rules, options), bounds


def _no_bounds(n: int, cone: bool = False) -> Bounds:
    """Of no penalty: g = 0, over a cone where no coefficient is negative."""
    lower = np.zeros(n, LD) if cone else np.full(n, -LD(np.inf))
    return Bounds(np.zeros(n, LD), lower, np.full(n, LD(np.inf)))


def _penalty(case: Case, atoms: Atoms, model: Model) -> tuple[Any, Bounds]:
    """A penalty of about the strength that matters, as an object and as numbers."""
    assert atoms.rows is not None
    n = len(atoms.rows)
    steep = np.abs(atoms.rows @ model.gradient(np.zeros(model.size, LD))).max()
    bend = model.bends(atoms.rows).max()
    bend = bend if np.isfinite(bend) else max(steep, LD(1))  # of an exponential
    strength = float(np.clip(steep, 1e-300, 1e300)) * case.pick(1e-3, 0.1, 0.5, 2.0)
    length = float(np.clip(steep / max(bend, FLOOR), 1e-300, 1e300)) * case.pick(0.1, 1.0, 10.0)
    strength *= magnitude(case, "f4") if case.chance(0.2) else 1.0
    free = _no_bounds(n)
    kind = case.pick("l1", "l1", "box", "nonnegative")
    if kind == "l1":
        weights: Any = strength
        if case.chance(0.4):
            weights = strength * case.rng.random(n) * (case.rng.random(n) < 0.8)
        penalty = case.ask(lambda: pursuit.L1(weights), NAMES)
        return penalty, Bounds(np.broadcast_to(exact(weights), n), free.lower, free.upper)
    if kind == "nonnegative":
        return pursuit.NonNegative(), Bounds(free.weights, np.zeros(n, LD), free.upper)
    lower, upper = (_ends(case, n, length) for _ in range(2))
    penalty = case.ask(lambda: pursuit.Box(-lower, upper), NAMES)
    ends = (np.broadcast_to(exact(end), n) for end in (-lower, upper))
    return penalty, Bounds(free.weights, *ends)


def _ends(case: Case, n: int, length: float) -> Any:
    ends = np.abs(case.rng.standard_normal(n)) * length
    ends[case.rng.random(n) < 0.2] = case.pick(0.0, np.inf)
    return case.pick(ends, np.float64(ends[0]))


def _start(case: Case, bounds: Bounds) -> Array:
    """Coefficients that a penalty allows, mostly."""
    w = case.rng.standard_normal(len(bounds.lower)) * magnitude(case, "f4")
    w[case.rng.random(len(w)) < 0.4] = 0
    if case.chance(0.95):
        w = np.clip(w, bounds.lower.astype(float), bounds.upper.astype(float))
    return w.astype(np.float64)


# What is true at the end -------------------------------------------------------------------


def check(charged: Charged) -> None:
    case, result = charged.case, charged.result
    case.require(result.x.shape == tuple(charged.posed.atoms.set.shape), "x has another shape")
    case.require(result.status.name != "DIVERGED", "a method that cannot diverge is DIVERGED")
    finite = np.isfinite(result.x).all() and np.isfinite(result.value)
    case.require(finite, f"{result.status.name} with numbers that are not finite")
    case.require(result.iterations <= charged.posed.option("max_iter", 1000), "too many iterations")
    _point(charged)
    _value_and_slope(charged)
    _trace(charged)
    _status(charged)
    _gap(charged)


def _point(charged: Charged) -> None:
    case, g, w = charged.case, charged.given, charged.w
    inside = (w >= g.lower).all() and (w <= g.upper).all()
    case.require(inside, "a coefficient that the penalty does not allow")
    size = np.abs(w) @ np.abs(charged.rows)
    off, n = np.abs(charged.x - w @ charged.rows), len(w) + 4
    bound = ROOM * n * charged.eps * size.max() + n * charged.tiny
    case.require(off.max() <= bound, f"x is not Σ w z: off by {float(off.max()):.3g}")


def _value_and_slope(charged: Charged) -> None:
    case, result = charged.case, charged.result
    off = abs(LD(result.value) - charged.value)
    case.require(
        off <= charged.slack(charged.x, charged.w),
        f"value {result.value:.6g} where f + g is {float(charged.value):.6g}",
    )
    if np.isnan(result.slope):  # with a penalty that weighs nothing
        case.require(charged.posed.rules.name == "gradient-free", "the slope is nan")
        return
    least, most, slack = charged.slope(charged.w, charged.x)
    start = exact(charged.start)
    slack += charged.slope(start, start @ charged.rows)[2]  # slopes are carried from there
    between = least - slack <= result.slope <= most + slack
    case.require(between, f"slope {result.slope:.6g} where it is {float(most):.6g}")


def _trace(charged: Charged) -> None:
    case, trace, result = charged.case, charged.result.trace, charged.result
    case.require(trace.iteration[-1] == result.iterations, "the trace ends elsewhere")
    off = abs(LD(trace.value[-1]) - LD(result.value))
    case.require(
        off <= charged.rounding, f"the trace ends at {trace.value[-1]}, the run at {result.value}"
    )
    if result.method in FALLING:
        rise = np.diff(exact(trace.value)).max(initial=-1)
        case.require(
            rise <= charged.rounding, f"f + g of {result.method} rises by {float(rise):.3g}"
        )


def _status(charged: Charged) -> None:
    case, result, posed = charged.case, charged.result, charged.posed
    status = result.status.name
    if status == "MAX_ITER":
        limit = posed.option("max_iter", 1000)
        case.require(result.iterations == limit, "MAX_ITER before max_iter")
    if status == "CONVERGED":
        case.require(_arrived(charged), f"CONVERGED ({result.message}), slope {result.slope:.4g}")
    if status == "STALLED":
        gained = charged.value - _descended(charged)
        enough = charged.rounding
        case.require(
            gained <= enough,
            f"STALLED where f + g falls by {float(gained):.3g} and rounds at {float(enough):.3g}",
        )
    if status == "UNBOUNDED":
        g = charged.given
        kept = np.isfinite(g.lower) & np.isfinite(g.upper)
        if not isinstance(charged.model, Bowl):  # whose slopes along flat directions may be steeper
            kept |= g.weights > 0
        case.require(not kept.all(), "UNBOUNDED, but no coefficient may grow for nothing")


def _arrived(charged: Charged) -> bool:
    posed = charged.posed
    tol, gap = posed.option("tol"), posed.option("gap")
    if gap is not None and charged.result.gap <= gap:
        return True
    share = LD((1e-6 if gap is None else 0) if tol is None else tol)
    least, _, slack = charged.slope(charged.w, charged.x)
    start = exact(charged.start)
    _, first, drowned = charged.slope(start, start @ charged.rows)
    return bool(least <= share * first * LD(1 + 1e-9) + slack + drowned)


def _gap(charged: Charged) -> None:
    """f + g does not fall by more than what is proved to be left."""
    case, result = charged.case, charged.result
    certificate = case.ask(lambda: result.certificate, NAMES, valid=True)
    case.require(len(str(certificate).splitlines()) == 1, "a certificate does not print in a line")
    gap = case.ask(lambda: result.gap, NAMES, valid=True)
    case.require(gap >= 0 and certificate.bound >= 0, f"a gap of {gap}")
    if not np.isfinite(min(gap, certificate.bound)):
        return
    gained = charged.value - _descended(charged)
    for name, bound in (("gap", gap), ("certificate", certificate.bound)):
        case.require(
            gained <= LD(bound) * (1 + 1e-9) + charged.slack(charged.x, charged.w),
            f"the {name} is {bound:.6g}, and f + g falls by {float(gained):.6g} more",
        )


def _descended(charged: Charged) -> Any:
    """f + g after some rounds of coordinate descent from the end of a run."""
    rows, g, model = charged.rows, charged.given, charged.model
    w = charged.w.copy()
    x = w @ rows
    value = model.value(x) + g.value(w)
    h = np.where(np.isfinite(model.bends(rows)), model.bends(rows), LD(1))
    for _ in range(ROUNDS):
        before = value
        for j, z in enumerate(rows):
            for _ in range(60):  # twice the curvature where it is not known
                new = g.prox(j, w[j] - (z @ model.gradient(x)) / max(h[j], FLOOR), max(h[j], FLOOR))
                changed = w.copy()
                changed[j] = new
                there = model.value(changed @ rows) + g.value(changed)
                if there <= value or new == w[j]:
                    w, x, value = changed, changed @ rows, min(there, value)
                    break
                h[j] *= 2
        if not before > value:
            break
    return value


# The same for many strengths ---------------------------------------------------------------


def _along_a_path(case: Case, posed: Posed, call: Any, result: Any) -> None:
    """Each run of a path is one of `solve` at its own λ."""
    penalty = posed.options["penalty"]
    options = {k: v for k, v in posed.options.items() if k not in ("penalty", "coef0", "seed")}
    strengths = case.pick(None, [2.0, 1.0, 0.25])
    f, atoms = posed.target.f, posed.atoms.set
    make = lambda: pursuit.path(  # noqa: E731
        f, atoms, penalty, posed.rules.method, strengths=strengths, points=4, **options
    )
    found = case.ask(make, NAMES)
    case.require((np.diff(found.strengths) < 0).all(), "strengths that do not fall")
    case.require(str(found).count("\n") >= 5, "a path does not print")
    weights, lower, upper = penalty.terms
    n = len(posed.atoms.rows if posed.atoms.rows is not None else ())
    low = np.maximum(exact(lower), LD(0)) if posed.atoms.cone else exact(lower)
    for k, run in enumerate(found.runs):
        scaled = exact(np.multiply(weights, found.strengths[k]))
        ends = (np.broadcast_to(end, n) for end in (scaled, low, exact(upper)))
        more = {"coef0": None if k == 0 else found.coefs[[k - 1]].toarray()[0]}
        one = Posed(posed.target, posed.atoms, posed.rules, options | more)
        check(Charged(case, one, Bounds(*ends), run))
    if strengths is None:
        case.require(found.sizes[0] == 0 or not np.all(exact(weights) > 0), "λ is not the largest")
