"""The area `solve`: any objective over any finite set by any method."""

from __future__ import annotations

from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case
from fuzz.data import Array
from fuzz.problems import NAMES, Atoms, Target, random_atoms, random_target
from fuzz.truth import LD, SLACK, eps_of, exact, least_value, norm
from pursuit import methods

OVER_CONES = ("matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal")
DESCENDING = (*OVER_CONES, "blended", "cyclic", "shuffled", "gradient-free")
"""Methods whose value never rises."""
WITHOUT_PROOF = ("greedy-greedy",)
"""Methods that may diverge."""
CLEAR = 1e3
"""Units of rounding beyond which a choice or a slope is no matter of rounding."""


def run(case: Case) -> None:
    """Solve a random problem, check the result, and solve it again in another way."""
    atoms = random_atoms(case, case.integer(1, 10))
    target = random_target(case, atoms)
    name = case.choose(*(OVER_CONES if atoms.nonnegative else methods.NAMED))
    options = _options(case, name, atoms, target)
    case.record(method=name, options=options)

    def solve(**more: Any) -> Any:
        return case.call(
            pursuit.solve, target.f, atoms.set, name, names=NAMES, valid=_is_valid(name, target),
            **(options | more),
        )  # fmt: skip

    result = solve()
    case.record(status=result.status.name, message=result.message, iterations=result.iterations)
    check_result(case, atoms, target, name, options, result)
    case.choose(_observed, _resumed)(case, solve, result)
    case.call(str, result)


def _is_valid(name: str, target: Target) -> bool:
    """Whether a method has all that it needs: Poisson has no smoothness constant."""
    return target.truth.kind != "poisson" and name not in ("local-orthogonal", "working-set")


def _options(case: Case, name: str, atoms: Atoms, target: Target) -> dict[str, Any]:
    options: dict[str, Any] = {"max_iter": case.choose(1, 5, 30, 200), "progress": False}
    options["unit_atoms"] = case.chance(0.7)
    if case.chance(0.3) and name != "gradient-free":
        options["tol"] = case.choose(0.0, 1e-2, 1e-10)
    if case.chance(0.2):
        options["n_nonzero"] = case.integer(1, 6)
    has_residual = target.truth.kind == "squares" and not target.truth.l2
    if case.chance(0.2) and has_residual and name != "gradient-free":
        options["rtol"] = case.choose(0.5, 1e-3)
    if case.chance(0.2):
        zero = target.truth.value(np.zeros(atoms.rows.shape[1], LD))
        options["target"] = float(zero - abs(zero) * case.choose(0.01, 0.5))
    if case.chance(0.2) and name != "gradient-free":
        n = len(atoms.rows)
        coef = np.abs(case.rng.standard_normal(n)) * (case.rng.random(n) < 0.5)
        options["coef0"] = case.input("coef0", coef / np.abs(atoms.rows).max().astype(float))
    if case.chance(0.2):
        options["rng"] = case.integer(0, 9)
    return options


# The result --------------------------------------------------------------------------------


class Point:
    """What is true at the end of a run, and how far rounding may take what the library says."""

    def __init__(self, atoms: Atoms, target: Target, options: dict[str, Any], result: Any) -> None:
        self.eps = max(atoms.eps, target.eps, eps_of(result.x.dtype))
        self.x = exact(result.x).reshape(-1)
        self.weights = exact(result.weights)
        coef0 = options.get("coef0")
        start = np.zeros(len(atoms.rows), LD) if coef0 is None else exact(coef0)
        self.start = start @ atoms.rows
        terms = np.abs(self.weights) @ np.abs(atoms.rows[result.support])
        # Everything that x was summed from; points on the way may be farther by the start.
        self.terms = terms + np.abs(start) @ np.abs(atoms.rows) + np.abs(self.x)
        self.rows = atoms.unit if options.get("unit_atoms", True) else atoms.rows
        f = target.truth
        self.value, self.gradient = f.value(self.x), f.gradient(self.x)
        value_size, gradient_size = f.sizes(self.terms)
        zero = f.sizes(np.zeros_like(self.terms))[0]
        self.value_error = SLACK * self.eps * (value_size + zero)
        rounding = self.eps * (gradient_size + f.sizes(np.zeros_like(self.terms))[1])
        self.slope_error = SLACK * len(self.x) * (norm(self.rows) * norm(rounding)).max()
        self.slope = _slope(atoms, self.rows, self.gradient, result)
        self.first_slope = np.abs(self.rows @ f.gradient(self.start)).max()


def _slope(atoms: Atoms, rows: Array, gradient: Array, result: Any) -> Any:
    """Return the largest slope of an atom; over a cone, of those that may grow or shrink."""
    c = rows @ gradient
    if atoms.nonnegative:
        positive = np.zeros(len(c), bool)
        positive[result.support] = result.weights > 0
        c = np.where((c < 0) | positive, c, 0)
    return np.abs(c).max()


def check_result(
    case: Case, atoms: Atoms, target: Target, name: str, options: dict[str, Any], result: Any
) -> None:
    """Check x, value, slope, status and trace of a result against their definitions."""
    status = result.status.name
    case.require(result.iterations <= options["max_iter"], "more iterations than max_iter")
    if status == "DIVERGED":
        case.require(name in WITHOUT_PROOF, f"{name} cannot diverge")
        return
    case.require(np.isfinite(result.x).all(), f"{status} with x that is not finite")
    point = Point(atoms, target, options, result)
    off = np.abs(point.x - point.weights @ atoms.rows[result.support])
    bound = SLACK * (len(point.weights) + 4) * point.eps * point.terms.max()
    case.require((off <= bound).all(), f"x is {float(off.max()):.3g} off Σ w z")
    if atoms.nonnegative:
        case.require((result.weights >= 0).all(), "a negative weight over a cone")
    off = abs(LD(result.value) - point.value)
    case.require(
        off <= point.value_error, f"value {result.value:.9g}, f(x) = {float(point.value):.9g}"
    )
    if not np.isnan(result.slope):
        off = abs(LD(result.slope) - point.slope)
        case.require(
            off <= point.slope_error + 1e-9 * point.slope,
            f"slope {result.slope:.9g} where it is {float(point.slope):.9g}",
        )
    _check_status(case, atoms, target, name, options, result, point)
    if name in DESCENDING:
        rise = np.diff(exact(result.trace.value)).max(initial=-1)
        allowed = CLEAR * point.eps * (point.value_error / SLACK / point.eps)
        case.require(rise <= allowed, f"the value of {name} rises by {float(rise):.3g}")
    case.require(result.trace.iteration[-1] == result.iterations, "the trace ends elsewhere")
    if target.truth.is_quadratic and not atoms.nonnegative and point.eps < 1e-12:
        _check_textbook(case, atoms, target, name, options, result, point)
        _check_fit(case, atoms, target, name, result, point)


def _check_status(
    case: Case, atoms: Atoms, target: Target, name: str, options: dict[str, Any], result: Any,
    point: Point,
) -> None:  # fmt: skip
    status = result.status.name
    if status == "MAX_ITER":
        case.require(result.iterations == options["max_iter"], "MAX_ITER before max_iter")
    elif status == "MAX_NONZERO":
        enough = len(result.support) >= options.get("n_nonzero", np.inf)
        case.require(enough, f"MAX_NONZERO with {len(result.support)} atoms")
    elif status == "CONVERGED":
        reasons = [point.slope <= options.get("tol", 1e-6) * point.first_slope * (1 + LD(1e-9))
                   + 2 * point.slope_error]  # fmt: skip
        if "target" in options:
            reasons.append(point.value <= options["target"] + point.value_error)
        if "rtol" in options:
            reached = LD(options["rtol"]) * _signal_norm(target)
            reasons.append(2 * point.value <= reached**2 * (1 + LD(1e-5)) + 2 * point.value_error)
        case.require(
            any(reasons),
            f"CONVERGED ({result.message}) with slope {float(point.slope):.4g}, at first "
            f"{float(point.first_slope):.4g}",
        )
    elif status == "STALLED":
        bound = target.truth.bound()
        curvatures = np.einsum("ij,jk,ik->i", point.rows, bound, point.rows)
        clear = max(point.slope - CLEAR * point.slope_error, LD(0))
        gain = clear**2 / (2 * curvatures.max()) if clear > 0 else LD(0)
        case.require(
            not gain > CLEAR * point.value_error,
            f"STALLED where a step gains {float(gain):.3g} of {float(point.value):.3g}",
        )
    elif status == "UNBOUNDED":
        lowest = {"quadratic", "logistic", "poisson"}
        case.require(target.truth.kind in lowest, "UNBOUNDED, but f is at least zero")
    else:
        case.require(False, f"nothing asks for {status}")


def _signal_norm(target: Target) -> Any:
    return np.sqrt(target.truth.weights @ target.truth.y**2)


def _check_textbook(
    case: Case, atoms: Atoms, target: Target, name: str, options: dict[str, Any], result: Any,
    point: Point,
) -> None:  # fmt: skip
    """Check x of Algorithms 1 and 2 against x ← x − ⟨∇f(x), z⟩/h(z) z with the steepest z."""
    if name not in ("matching-pursuit", "affine-invariant") or result.status.name == "STALLED":
        return
    f, rows, x = target.truth, point.rows, point.start
    H = f.hessian(x)
    if name == "matching-pursuit":
        L = LD(np.linalg.eigvalsh(H.astype(np.float64))[-1])
        curvatures = L * (rows * rows).sum(axis=1)
    else:
        curvatures = np.full(len(rows), np.einsum("ij,jk,ik->i", rows, H, rows).max())
    for _ in range(result.iterations):
        c = rows @ f.gradient(x)
        *_, second, first = np.sort(np.abs(c)) if len(c) > 1 else (LD(0), abs(c[0]))
        if second >= first * (1 - LD(1e-6)) or first <= CLEAR * point.slope_error:
            return  # rounding may choose either
        j = int(np.argmax(np.abs(c)))
        x = x - c[j] / curvatures[j] * rows[j]
    off = norm(x - point.x)
    # The largest eigenvalue of a Hessian is known to 1e-9.
    case.require(
        off <= (1e-8 + 1e4 * point.eps) * (norm(x) + norm(point.x)),
        f"{name} is {float(off):.3g} off after {result.iterations} iterations",
    )


def _check_fit(
    case: Case, atoms: Atoms, target: Target, name: str, result: Any, point: Point
) -> None:
    """Check that orthogonal pursuit ends at the least value over its support."""
    used = atoms.rows[result.support]
    if name != "orthogonal" or not len(used) or not result.iterations or point.start.any():
        return
    rest = point.value - least_value(target.truth, used)
    case.require(
        rest <= CLEAR * point.value_error, f"orthogonal leaves {float(rest):.3g} over its support"
    )


# Again -------------------------------------------------------------------------------------


def same_run(case: Case, one: Any, other: Any, how: str) -> None:
    """Check that two runs are equal bit for bit."""
    for name in ("x", "weights", "support"):
        same = getattr(one, name).tobytes() == getattr(other, name).tobytes()
        case.require(same, f"{how}, a run has another {name}")
    same = (one.status, one.iterations, one.value) == (other.status, other.iterations, other.value)
    case.require(same, f"{how}, a run ends with {other.status.name} at {other.iterations}")


def _observed(case: Case, solve: Any, result: Any) -> None:
    """How often a run is observed, and by whom, changes no number."""
    if result.status.name in ("DIVERGED", "UNBOUNDED"):
        return
    other = solve(every=case.integer(1, 7), callback=lambda snapshot: False, threads=2)
    if (other.status, other.iterations) == (result.status, result.iterations):
        same_run(case, result, other, "observed at other iterations")


def _resumed(case: Case, solve: Any, result: Any) -> None:
    """Stopped and resumed equals uninterrupted."""
    path = case.folder / "run.npz"
    early = case.integer(0, result.iterations)
    solve(max_iter=early, checkpoint=path)
    same_run(case, result, solve(resume=path), f"resumed after {early} iterations")
