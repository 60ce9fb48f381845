"""The area `penalized`: f + g on coefficients, one strength or a path of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case
from fuzz.problems import NAMES, Atoms, Target, random_atoms, random_target
from fuzz.solve import CLEAR, Point, same_run
from fuzz.truth import LD, SLACK, Charge, descend, exact, norm

METHODS = (None, "matching-pursuit", "affine-invariant", "random-pursuit", "cyclic", "shuffled",
           "working-set")  # fmt: skip
KINDS = {"dictionary": 4, "coordinates": 6, "sparse": 1}


def run(case: Case) -> None:
    """Solve a penalized problem, or a path of them, and check optimality and proofs."""
    if case.chance(0.05):
        _large(case)
        return
    atoms = random_atoms(case, case.integer(1, 10), kinds=KINDS)
    target = random_target(case, atoms, "distance", "squares", "logistic", "huber", "hinge")
    name = case.choose(*METHODS)
    if name == "working-set" and not isinstance(atoms.set, pursuit.Coordinates):
        name = "cyclic"
    if case.chance(0.2):
        _path(case, atoms, target, name)
        return
    penalty, charge = random_penalty(case, atoms, target)
    options: dict[str, Any] = {"max_iter": case.choose(3, 50, 1000), "progress": False}
    options |= {"unit_atoms": case.chance(0.7)}
    options |= case.choose(
        {}, {"tol": 1e-9}, {"gap_tol": 1e-6 * float(abs(_at_zero(atoms, target))) or 1.0}
    )
    case.record(method=name, options=options)

    def solve(**more: Any) -> Any:
        return case.call(
            pursuit.solve, target.f, atoms.set, name, penalty=penalty, names=NAMES,
            valid=name != "working-set", **(options | more),
        )  # fmt: skip

    result = solve()
    case.record(status=result.status.name, message=result.message, iterations=result.iterations)
    if case.chance(0.3):
        path, early = case.folder / "run.npz", case.integer(0, result.iterations)
        solve(max_iter=early, checkpoint=path)
        same_run(case, result, solve(resume=path), f"resumed after {early} iterations")
    check_penalized(case, atoms, target, charge, options, result)


def _large(case: Case) -> None:
    """Coordinate descent on a problem that is large enough for compiled steps."""
    m, n = 300, case.integer(70, 100)
    X = case.rng.standard_normal((m, n)) + 3 * case.rng.standard_normal((m, 1))
    y = X @ (case.rng.standard_normal(n) * (case.rng.random(n) < 0.3))
    y += case.rng.standard_normal(m)
    strength = np.abs(X.T @ y).max() * 10.0 ** case.rng.uniform(-3, -1)
    case.record(X=X, y=y, strength=strength)
    result = case.call(
        pursuit.solve, pursuit.LeastSquares(X, y), pursuit.Coordinates(n), "cyclic", tol=0,
        penalty=pursuit.L1(strength), max_iter=30_000, names=NAMES,
    )  # fmt: skip
    w = result.coef.toarray()
    value = ((X @ w - y) ** 2).sum() / 2 + strength * np.abs(w).sum()
    case.require(abs(result.value - value) <= 1e-9 * value, f"the value is {value}")
    rise = np.diff(result.trace.value).max(initial=-1)
    case.require(rise <= 1e-9 * value, f"the value rises by {rise:.3g}")
    # The textbook, for fewer rounds.
    w, residual, squares = np.zeros(n), -y, (X * X).sum(axis=0)
    for j in 200 * list(range(n)):
        v = w[j] - X[:, j] @ residual / squares[j]
        new = np.sign(v) * max(abs(v) - strength / squares[j], 0)
        residual, w[j] = residual + (new - w[j]) * X[:, j], new
    bound = (residual @ residual) / 2 + strength * np.abs(w).sum()
    case.require(
        value <= bound * (1 + 1e-9),
        f"{result.iterations} iterations lead to {value:.9g}, 200 rounds to {bound:.9g}",
    )


def _at_zero(atoms: Atoms, target: Target) -> Any:
    return target.truth.value(np.zeros(atoms.rows.shape[1], LD))


def random_penalty(case: Case, atoms: Atoms, target: Target) -> tuple[Any, Charge]:
    """Return a penalty of the library and its definition."""
    n = len(atoms.rows)
    c = np.abs(atoms.rows @ target.truth.gradient(np.zeros(atoms.rows.shape[1], LD)))
    size = float(c.max()) or 1.0
    infinite, zero = np.full(n, LD(np.inf)), np.zeros(n, LD)
    kind = case.choose("l1", "l1", "l1 of each", "box", "nonnegative")
    case.record(penalty=kind)
    if kind == "nonnegative":
        return pursuit.NonNegative(), Charge(zero, zero, infinite)
    if kind == "box":
        reach = case.rng.random(n) * size / norm(atoms.rows).astype(float) ** 2
        lower, upper = case.input("lower", -reach), case.input("upper", 2 * reach)
        penalty = case.call(pursuit.Box, lower, upper, names=NAMES)
        return penalty, Charge(zero, exact(lower), exact(upper))
    strength = size * 10.0 ** case.rng.uniform(-3, 0.2)
    if kind == "l1":
        penalty = case.call(pursuit.L1, strength, names=NAMES)
        return penalty, Charge(np.full(n, LD(strength)), -infinite, infinite)
    weights = case.input("weights", strength * case.rng.random(n) * (case.rng.random(n) < 0.9))
    return case.call(pursuit.L1, weights, names=NAMES), Charge(exact(weights), -infinite, infinite)


def check_penalized(
    case: Case, atoms: Atoms, target: Target, charge: Charge, options: dict[str, Any], result: Any
) -> None:
    """Check value, feasibility, KKT violation, status and duality gap of a result."""
    case.require(np.isfinite(result.x).all(), "x that is not finite")
    point, n = Point(atoms, target, options, result), len(atoms.rows)
    w = np.zeros(n, LD)
    w[result.support] = point.weights
    near = 4 * point.eps * np.abs(w)
    inside = (w >= charge.lower - near) & (w <= charge.upper + near)
    case.require(inside.all(), "a coefficient beyond its bounds")
    off = norm(point.x - w @ atoms.rows)
    case.require(off <= SLACK * n * point.eps * norm(point.terms), f"x is {float(off):.3g} off Zᵀw")
    value = point.value + charge.value(w)
    off, error = abs(LD(result.value) - value), point.value_error + SLACK * point.eps * value
    case.require(off <= error, f"value {result.value:.9g}, f + g = {float(value):.9g}")
    scale = norm(atoms.rows) if options["unit_atoms"] else LD(1)
    near = 64 * point.eps * np.abs(w)
    at_bound = np.where(w - near <= charge.lower, charge.lower, w)
    at_bound = np.where(w + near >= charge.upper, charge.upper, at_bound)
    violation = (charge.violation(at_bound, atoms.rows @ point.gradient) / scale).max()
    error = CLEAR * (point.slope_error + point.eps * (charge.weights / scale).max())
    exactly = (at_bound == w).all()
    if exactly and not np.isnan(result.slope):
        case.require(
            abs(LD(result.slope) - violation) <= error + 1e-9 * violation,
            f"slope {result.slope:.9g} where the violation is {float(violation):.9g}",
        )
    _check_end(case, atoms, target, charge, options, result, (w, value, violation, error, point))


def _check_end(
    case: Case, atoms: Atoms, target: Target, charge: Charge, options: dict[str, Any], result: Any,
    end: tuple[Any, Any, Any, Any, Point],
) -> None:  # fmt: skip
    w, value, violation, error, point = end
    status = result.status.name
    possible = {"CONVERGED", "MAX_ITER", "STALLED"}
    if target.truth.kind == "logistic" and not charge.weights.all():
        possible.add("UNBOUNDED")  # separable classes: the infimum is not attained
    case.require(status in possible, f"nothing asks for {status}")
    if status == "MAX_ITER":
        case.require(result.iterations == options["max_iter"], "MAX_ITER before max_iter")
    zero = np.zeros(len(w), LD)
    first = charge.violation(zero, atoms.rows @ target.truth.gradient(zero[:1] @ atoms.rows[:1]))
    scale = norm(atoms.rows) if options["unit_atoms"] else LD(1)
    if status == "CONVERGED" and "gap_tol" not in options:
        reached = violation <= options.get("tol", 1e-6) * (first / scale).max() + error
        case.require(reached, f"CONVERGED with a violation of {float(violation):.4g}")
    # A better point refutes a proof: coordinate descent goes on from where the run ended.
    feasible = np.clip(w, charge.lower, charge.upper)
    best = descend(target.truth, atoms.rows, charge, feasible)
    decrease, allowed = value - best, CLEAR * point.value_error
    bounds = {"gap": result.gap, "certificate": case.call(lambda: result.certificate.bound)}
    for name, bound in bounds.items():
        case.require(
            not decrease > LD(bound) * (1 + LD(1e-9)) + allowed,
            f"the {name} says {bound:.6g}, and f + g decreases by {float(decrease):.6g}",
        )
    if status == "CONVERGED" and "gap_tol" in options:
        case.require(
            result.gap <= options["gap_tol"] or violation <= error,
            f"CONVERGED with a gap of {result.gap:.4g}, not {options['gap_tol']:.4g}",
        )


def _path(case: Case, atoms: Atoms, target: Target, name: str | None) -> None:
    """Check each solution of a path of penalties."""
    n_lambdas, ratio = case.integer(2, 6), case.choose(0.1, 1e-2)
    options: dict[str, Any] = {"tol": 1e-9, "max_iter": 2000, "unit_atoms": True, "progress": False}
    result = case.call(
        pursuit.path, target.f, atoms.set, pursuit.L1(1.0), name, n_lambdas=n_lambdas,
        lambda_min_ratio=ratio, names=(*NAMES, "lambdas"), valid=False, **options,
    )  # fmt: skip
    lambdas = np.asarray(result.lambdas)
    case.record(lambdas=lambdas, path=str(result))
    case.require((np.diff(lambdas) <= 0).all(), "lambdas that do not decrease")
    case.require(
        result.coefs.shape == (n_lambdas, len(atoms.rows)), "coefficients of another shape"
    )
    infinite = np.full(len(atoms.rows), LD(np.inf))
    for strength, solution in zip(lambdas, result.runs, strict=True):
        charge = Charge(np.full(len(infinite), LD(strength)), -infinite, infinite)
        loose = options | {"tol": 1e300}  # which counts from the start of each solution
        check_penalized(case, atoms, target, charge, loose, solution)
