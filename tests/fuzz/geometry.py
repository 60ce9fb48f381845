"""The area `geometry`: constants, rates and sampling, tried on directions that would break them.

A constant is a bound on something over all directions. It is tested on many, those included at
which the library says that it is attained, and on what a few lines of linear algebra say.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, words
from fuzz.generators import Array, near
from fuzz.oracle import EPS, FLOOR, LD, Model, eps_of, exact, least_value, norm, tiny_of
from fuzz.problems import NAMES as PROBLEM_NAMES
from fuzz.problems import Atoms, quadratic_target, some_atoms
from pursuit import geometry, rates

NAMES = PROBLEM_NAMES | words(
    "sampling x0 x d delta tolerance L_A μ_A mDW R_A ε_0 δ̂² ν ν′ μ L r ‖x* x0‖_P f* λ_min lin(A) "
    "‖x‖_A ‖d‖_{A*} diameter algorithm exploration given β_t"
)
CLOSE = 1e-6
"""What exact constants may be off, relatively, on sets that are not nearly dependent."""


def geometry_case(case: Case) -> None:
    d = case.whole(1, 6)
    atoms = some_atoms(case, d, finite=case.chance(0.8))
    case.weighted({_set: 3, _sampled: 3, _norms: 2, _objective: 4, _rates: 3})(case, atoms, d)


def interval(case: Case, constant: Any, name: str) -> None:
    """A constant is a number, inside of its proved interval, and prints in a line."""
    case.require(not np.isnan(constant), f"{name} is nan")
    ordered = constant.lower <= constant <= constant.upper
    case.require(
        ordered, f"{name} = {float(constant)} outside [{constant.lower}, {constant.upper}]"
    )
    case.require("\n" not in repr(constant), f"{name} does not print in a line")


def get(case: Case, name: str, call: Any, **options: Any) -> Any:
    """A constant, or None where it is refused."""
    constant = case.asked(call, NAMES, **options)
    if constant is not None:
        case.tell(**{name: repr(constant)})
        interval(case, constant, name)
    return constant


def directions(case: Case, rows: Array, count: int = 12) -> Array:
    """Directions of lin(A), and the worst ones: those in which the atoms are short."""
    unit = rows / norm(rows)[:, None]
    some = exact(case.rng.standard_normal((count, len(rows)))) @ unit
    _, s, vt = np.linalg.svd(unit.astype(np.float64), full_matrices=False)
    inside = vt[s > 1e-10 * s[0]]
    return np.vstack([some, exact(inside)])


# A set -------------------------------------------------------------------------------------


def _set(case: Case, atoms: Atoms, d: int) -> None:
    """Radius, diameter, mDW, ν, safe ν."""
    A = atoms.set
    radius = get(case, "radius", lambda: geometry.radius(A), valid=not case.odd)
    diameter = get(case, "diameter", lambda: geometry.diameter(A), valid=not case.odd)
    width = get(case, "mDW", lambda: geometry.directional_width(A))
    safe = case.asked(lambda: geometry.safe_nu(A), NAMES)
    if atoms.rows is None:
        return
    longest = norm(atoms.rows).max()
    if radius is not None:
        off = abs(LD(radius) - longest) / longest
        case.require(off <= atoms.loose * 1e-6, f"the radius is {float(radius)}")
    if diameter is not None and radius is not None:
        case.require(diameter == 2 * radius, "the diameter is not twice the radius")
    if safe is not None:
        rank = np.linalg.matrix_rank(atoms.unit_rows.astype(np.float64), tol=1e-5)
        case.require(safe >= rank * longest**2 * (1 - 1e-5), f"the safe ν is {safe}")
    _width_holds(case, atoms, width)


def _width_holds(case: Case, atoms: Atoms, width: Any) -> None:
    """No direction of lin(A) sees shorter atoms than mDW."""
    if width is None:
        return
    assert atoms.rows is not None
    tried = directions(case, atoms.rows)
    if width.witness is not None:
        tried = np.vstack([tried, exact(width.witness).reshape(1, -1)])
    seen = np.abs(tried @ atoms.rows.T).max(axis=1) / np.maximum(norm(tried), FLOOR)
    least = seen[norm(tried) > 0].min()
    case.require(
        width.lower <= least * (1 + LD(CLOSE)) + norm(atoms.rows).max() * LD(1e-12),
        f"mDW ≥ {width.lower:.6g} where a direction sees {float(least):.6g}",
    )


# A set and a sampling ----------------------------------------------------------------------


def _probabilities(case: Case, atoms: Atoms) -> Any:
    if atoms.rows is None or case.chance(0.4):
        return None
    p = case.rng.random(len(atoms.rows)) ** case.pick(1, 1, 3, 3, 600) * (
        case.rng.random(len(atoms.rows)) < case.pick(1.0, 0.8)
    )
    p = p / p.sum() if p.sum() > 0 else p
    if case.chance(0.1):
        p = p * case.pick(0.5, 2.0, -1.0, np.nan)
    return case.keep("p", p)


def _condition(rows: Array, p: Array, rank: int) -> float:
    """Of the atoms under a sampling, in coordinates of their span."""
    weighted = np.sqrt(p)[:, None] * (rows / np.abs(rows).max())
    s = np.linalg.svd(weighted.astype(np.float64), compute_uv=False)
    return float(s[0] / s[rank - 1]) if s[rank - 1] > 0 else np.inf


def _sampled(case: Case, atoms: Atoms, d: int) -> None:
    """Leverages, δ̂², ν′, ν, the best sampling."""
    A, p = atoms.set, _probabilities(case, atoms)
    valid = not case.odd and p is None
    w = case.asked(lambda: geometry.leverage(A, p), NAMES)
    quality = get(case, "quality", lambda: geometry.sampling_quality(A, p))
    nu_random = get(case, "nu_random", lambda: geometry.nu_random(A, p))
    nu = get(case, "nu", lambda: geometry.nu(A, p), valid=valid and not atoms.cone)
    if atoms.rows is None:
        return
    p = np.full(len(atoms.rows), 1 / len(atoms.rows)) if p is None else p
    if w is not None:
        total, rank = float(p @ w), A.rank
        rounding = 1e-5 + 64 * eps_of(np.float64) * _condition(atoms.rows, p, rank)
        case.require(abs(total - rank) <= rounding * rank, f"Σ p w = {total} of rank {rank}")
    if quality is not None:
        case.require(quality <= (1 + CLOSE) / A.rank, f"δ̂² = {float(quality)} above 1/r")
        _quality_holds(case, atoms, p, quality)
    if w is not None:
        _nu_hold(case, atoms, exact(p), exact(w), nu, nu_random)
    if case.chance(0.3):
        _best_sampling(case, atoms)


def _tame(atoms: Atoms) -> bool:
    """Whether ranks and pseudo-inverses are no matter of opinion: well-conditioned directions."""
    s = np.linalg.svd(atoms.unit_rows.astype(np.float64), compute_uv=False)
    spread = norm(atoms.rows).max() / norm(atoms.rows).min()
    return bool(s[min(atoms.set.rank, len(s)) - 1] > 1e-3 * s[0] and spread < 1e3)


def _quality_holds(case: Case, atoms: Atoms, p: Array, quality: Any) -> None:
    """E⟨d, z⟩² ≥ δ̂² max ⟨d, z⟩²."""
    assert atoms.rows is not None
    c = directions(case, atoms.rows) @ atoms.rows.T
    mean, most = (c * c) @ exact(p), (c * c).max(axis=1)
    holds = mean >= LD(quality) * most * (1 - LD(1e-5))
    if _tame(atoms):
        case.require(holds.all(), "δ̂² is too large in some direction")


def _nu_hold(case: Case, atoms: Atoms, p: Array, w: Array, nu: Any, nu_random: Any) -> None:
    """Σ p w c² ‖z(d)‖²/c_{z(d)}² ≤ ν, and Σ p w c² ≤ ν′ Σ p c²/‖z‖²."""
    if not _tame(atoms):
        return
    assert atoms.rows is not None
    tried = directions(case, atoms.rows)
    if nu is not None and nu.witness is not None:
        tried = np.vstack([tried, exact(nu.witness).reshape(1, -1)])
    c2, squares = (tried @ atoms.rows.T) ** 2, norm(atoms.rows) ** 2
    energy = c2 @ (p * w)
    best = c2.argmax(axis=1)
    if nu is not None:
        needed = energy * squares[best] / c2[np.arange(len(c2)), best]
        short = needed.max() > LD(nu.upper) * (1 + LD(1e-5))
        case.require(not short, f"ν ≤ {nu.upper:.6g} where {float(needed.max()):.6g} is needed")
    if nu_random is not None:
        needed = (energy / (c2 @ (p / squares))).max()
        short = needed > LD(nu_random.upper) * (1 + LD(1e-5))
        case.require(not short, f"ν′ = {float(nu_random):.6g} where {float(needed):.6g} is needed")


def _best_sampling(case: Case, atoms: Atoms) -> None:
    best = case.asked(lambda: geometry.optimal_sampling(atoms.set, 1e-3), NAMES)
    if best is None:
        return
    p = best.p
    case.require((p >= 0).all() and abs(p.sum() - 1) <= 1e-9, "no probabilities")
    w = case.ask(lambda: geometry.leverage(atoms.set, best), NAMES)
    if _tame(atoms):
        case.require(w.max() <= 1.0011 * atoms.set.rank, f"max w = {w.max()} is not the best")


# Norms -------------------------------------------------------------------------------------


def _norms(case: Case, atoms: Atoms, d: int) -> None:
    """The gauge and the dual norm of a vector."""
    A = atoms.set
    behind = np.eye(d) if atoms.rows is None or case.chance(0.5) else atoms.rows
    x = case.keep("x", near(case, behind, 1, "f8")[0])
    dual = get(case, "dual", lambda: geometry.dual_norm(A, x))
    gauge = get(case, "gauge", lambda: geometry.gauge(A, x))
    if dual is not None:
        true = atoms.dual(exact(x))
        size = norm(exact(x)) * LD(A.radius)
        off = abs(LD(dual) - true)
        same = off <= atoms.loose * 1e-6 * size + d * tiny_of("f8")
        case.require(same, f"the dual norm is {float(true):.6g}")
    if gauge is None or atoms.rows is None or atoms.cone:
        return
    tried = directions(case, atoms.rows)
    size = np.abs(tried @ exact(x)) / np.maximum(np.abs(tried @ atoms.rows.T).max(axis=1), FLOOR)
    case.require(gauge >= size.max() * LD(1 - 1e-5), f"the gauge is at least {float(size.max())}")
    _gauge_reached(case, atoms, exact(x), gauge)


def _gauge_reached(case: Case, atoms: Atoms, x: Array, gauge: Any) -> None:
    """No combination that gives x has smaller weights in sum; some are tried."""
    assert atoms.rows is not None
    if not np.isfinite(gauge):
        return
    w = np.linalg.lstsq(atoms.unit_rows.T.astype(np.float64), (x / max(norm(x), FLOOR)).astype(
        np.float64), rcond=1e-10)[0]  # fmt: skip
    weights = exact(w) * norm(x) / norm(atoms.rows)
    missed = norm(weights @ atoms.rows - x)
    if missed <= 1e-9 * norm(x) and _tame(atoms):
        total = np.abs(weights).sum()
        case.require(gauge <= total * (1 + 1e-5), f"the gauge is at most {float(total):.6g}")


# An objective ------------------------------------------------------------------------------


def _objective(case: Case, atoms: Atoms, d: int) -> None:
    """L_A, μ_A, the gap and the distance from a start."""
    target = quadratic_target(case, atoms, d)
    f, A, model = target.f, atoms.set, target.model
    case.tell(f=f)
    L_A = get(case, "L_A", lambda: geometry.smoothness(f, A), valid=not case.odd)
    mu_A = get(case, "mu_A", lambda: geometry.strong_convexity(f, A))
    safe = get(case, "safe", lambda: geometry.safe_strong_convexity(f, A))
    mu = get(case, "mu", lambda: geometry.euclidean_convexity(f, A))
    gap = get(case, "gap", lambda: geometry.gap(f, A))
    get(case, "sampled", lambda: geometry.sampled_convexity(f, A))
    get(case, "R_A", lambda: geometry.level_radius(f, A))
    get(case, "distance", lambda: geometry.distance(f, A))
    if atoms.rows is None:
        return
    if L_A is not None:
        needed = model.bends(atoms.rows).max()
        short = needed > LD(L_A.upper) * (1 + LD(1e-5)) + tiny_of("f8")
        case.require(not short, f"L_A = {float(L_A):.6g} where {float(needed):.6g} is needed")
    _convexity_holds(case, atoms, model, mu_A, safe, mu)
    _gap_holds(case, atoms, model, gap)


def _convexity_holds(case: Case, atoms: Atoms, model: Model, mu_A: Any, safe: Any, mu: Any) -> None:
    """dᵀHd ≥ μ_A‖d‖_A² and ≥ μ‖d‖²; ‖d‖_A is at least |⟨e, d⟩|/‖e‖_{A*} for any e."""
    assert atoms.rows is not None
    tried = directions(case, atoms.rows)
    if mu_A is not None and mu_A.witness is not None:
        tried = np.vstack([tried, exact(mu_A.witness).reshape(1, -1)])
    bends = ((model.hessian_rows(tried)) * tried).sum(axis=1)
    others = np.vstack([tried, atoms.rows])
    dual = np.maximum(np.abs(others @ atoms.rows.T).max(axis=1), FLOOR)
    gauges = (np.abs(tried @ others.T) / dual).max(axis=1)
    blur = 1e-7 * model.bends(atoms.unit_rows).max() * norm(tried) ** 2
    for name, constant, lengths in (
        ("μ_A", mu_A, gauges),
        ("safe μ_A", safe, gauges),
        ("μ", mu, norm(tried)),
    ):
        if constant is not None:
            over = LD(constant.lower) * lengths**2 > bends * (1 + LD(1e-5)) + blur
            case.require(not over.any(), f"{name} ≥ {constant.lower:.6g} is too large")


def _gap_holds(case: Case, atoms: Atoms, model: Model, gap: Any) -> None:
    """f(0) − f* is at least what f falls by to a point that is found."""
    if gap is None or gap.kind.name == "ESTIMATE":
        return
    start = model.value(np.zeros(model.size, LD))
    least = least_value(model, atoms.rows)
    fall = start - least
    slack = 1e-6 * abs(fall) + 1e4 * EPS * abs(start) + tiny_of("f8")
    short = fall > LD(gap.upper) + slack and _tame(atoms)
    case.require(not short, f"the gap is {float(gap):.6g}, and f falls by {float(fall):.6g}")


# Rates -------------------------------------------------------------------------------------

THEOREMS = {
    "theorem_3": 2,
    "theorem_3_sharper": 2,
    "theorem_4": None,
    "theorem_5": 2,
    "theorem_5_random": None,
    "older_rate": 1,
    "theorem_8": None,
    "theorem_9": None,
    "parameter_free": None,
}
"""The bounds of `pursuit.rates`, and the algorithm that a sure one is about."""


def _rates(case: Case, atoms: Atoms, d: int) -> None:
    """A bound is a finite number that does not grow, and a run as printed stays below it."""
    target = quadratic_target(case, atoms, d)
    name = case.pick(*(name for name in THEOREMS if hasattr(rates, name)))
    options = {"algorithm": case.pick(1, 2)} if name in ("theorem_3", "theorem_4") else {}
    case.tell(f=target.f, theorem=name, options=options)
    make = lambda: getattr(rates, name)(target.f, atoms.set, **options)  # noqa: E731
    rate = case.ask(make, NAMES)
    case.require("\n" not in str(rate), "a rate does not print in a line")
    t = np.array([rate.first, 1 + rate.first, 5, 10, 100, 10**6])
    bound = np.asarray(case.ask(lambda: rate(t), NAMES, valid=True))
    case.require((bound >= 0).all(), f"a bound of {bound}")
    case.require((bound[[1, 4, 5]] <= bound[[0, 1, 4]]).all(), "a bound that grows")
    other = np.asarray(pickle.loads(pickle.dumps(rate))(t))
    case.require(other.tobytes() == bound.tobytes(), "pickled, a rate says something else")
    algorithm = options.get("algorithm", THEOREMS[name])
    if rate.holds == "surely" and algorithm and atoms.rows is not None:
        _stays_below(case, atoms, target, rate, algorithm)


def _stays_below(case: Case, atoms: Atoms, target: Any, rate: Any, algorithm: int) -> None:
    method = "matching-pursuit" if algorithm == 1 else "affine-invariant"
    steps = case.whole(1, 20)
    options = {"unit_atoms": False, "max_iter": steps, "tol": 0}
    result = case.ask(
        lambda: pursuit.solve(target.f, atoms.set, method, **options), NAMES | {"unit_atoms"}
    )
    if result.iterations < steps:
        return
    x, model = exact(result.x), target.model
    assert atoms.rows is not None
    gap = model.value(x) - least_value(model, atoms.rows)
    bound = LD(rate(steps))
    # An operator in float32 gives its products to that precision, whatever f has.
    single = max(eps_of(result.x.dtype), atoms.eps) > eps_of(np.float64)
    slack = model.slack(x, 1e-6 if single else 1e-14, FLOOR)[0]
    if not np.isfinite(gap):
        return  # in extended precision: then no bound can be held against it
    case.require(
        gap <= bound * (1 + 1e-6) + 64 * slack,
        f"{rate.name} says {float(bound):.6g} where f falls by {float(gap):.6g} more",
    )
