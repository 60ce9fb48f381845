"""What a result of `solve` says, held against a recomputation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fuzz.case import Case, Finding
from fuzz.generators import Array
from fuzz.oracle import (
    FLOOR,
    LD,
    ROOM,
    Model,
    Squares,
    eps_of,
    exact,
    least_value,
    least_value_in_cone,
    norm,
    pursuit,
    tiny_of,
)
from fuzz.problems import Atoms, Target

DRIFT = 1e3
"""How much more than rounding a quantity may be off that thousands of updates carried."""


@dataclass(frozen=True)
class Posed:
    """A problem, a method and options."""

    target: Target
    atoms: Atoms
    rules: Any
    options: dict[str, Any]

    def option(self, name: str, default: Any = None) -> Any:
        return self.options.get(name, default)

    @cached_property
    def start(self) -> Array:
        """x0 in extended precision."""
        if self.option("x0") is not None:
            return exact(self.options["x0"]).reshape(-1)
        if self.option("coef0") is not None:
            assert self.atoms.rows is not None
            return exact(self.options["coef0"]) @ self.atoms.rows
        return np.zeros(self.target.model.size, LD)

    @cached_property
    def followed(self) -> Array | None:
        """The rows that the method runs along."""
        if self.atoms.rows is None:
            return None
        return self.atoms.rows if self.option("unit_atoms") is False else self.atoms.unit_rows


class Checked:
    """A result and what is true at its point."""

    def __init__(self, case: Case, posed: Posed, result: Any) -> None:
        self.case, self.posed, self.result = case, posed, result
        self.model = posed.target.model
        self.x = exact(result.x).reshape(-1)
        # Unit atoms are rounded in their own precision, which may be less than that of x.
        self.eps = posed.atoms.loose * max(eps_of(result.x.dtype), posed.atoms.eps)
        self.tiny = tiny_of(result.x.dtype)

    @cached_property
    def value(self) -> Any:
        return self.model.value(self.x)

    @cached_property
    def gradient(self) -> Array:
        return self.model.gradient(self.x)

    @cached_property
    def slack(self) -> tuple[Any, Array]:
        value, gradient = self.model.slack(self.x, self.eps, self.tiny)
        return ROOM * value, ROOM * gradient

    def slope_at(self, x: Array) -> Any:
        """The largest slope that x may follow, over the atoms that the method runs along."""
        g, rows = self.model.gradient(x), self.posed.followed
        if rows is None:
            return self.posed.atoms.dual(g)
        c = rows @ g
        if self.posed.atoms.cone:
            used = np.zeros(len(c), bool)
            used[self.result.support] = True
            if x is not self.x:
                used = self._used_at_start
            c = np.where((c >= 0) & ~used, 0, c)
        return np.abs(c).max()

    @property
    def _used_at_start(self) -> Array:
        assert self.posed.followed is not None
        weights = self.posed.option("coef0")
        n = len(self.posed.followed)
        return np.zeros(n, bool) if weights is None else np.asarray(weights) > 0

    @cached_property
    def slope(self) -> Any:
        return self.slope_at(self.x)

    def slope_slack(self, x: Array) -> Any:
        _, error = self.model.slack(x, self.eps, self.tiny)
        g, rows = np.abs(self.model.gradient(x)), self.posed.followed
        blur = ROOM * (error + len(x) * self.eps * g)
        if rows is None:
            return self.posed.atoms.dual(blur) + norm(blur)
        if self.posed.atoms.mixed:
            return (norm(rows) * norm(blur)).max()
        return (np.abs(rows) @ blur).max()

    @cached_property
    def first_slope(self) -> Any:
        return self.slope_at(self.posed.start)

    @cached_property
    def first_value(self) -> Any:
        return self.model.value(self.posed.start)

    @cached_property
    def scale(self) -> Any:
        """Of values along the way: what a carried value may be off in units of.

        A run carries coefficients: where atoms nearly depend on each other, x is a small
        difference of long terms.
        """
        places = [self.posed.start, self.x, self._terms]
        most = np.max([self.model.slack(x, 1.0, self.tiny)[0] for x in places])
        if not np.isfinite(most):  # exponentials of so much are no numbers: they are of u itself
            most = np.max([self.model.slack(x, self.eps, self.tiny)[0] for x in places[:2]])
            return most / self.eps
        return most

    @property
    def _terms(self) -> Array:
        """|x0| + Σ |weight||z|."""
        if self.posed.atoms.rows is None:
            return self.x
        rows = self.posed.atoms.rows[self.result.support]
        return np.abs(self.posed.start) + np.abs(exact(self.result.weights)) @ np.abs(rows)


def _bends_down(model: Model) -> bool:
    """Whether a quadratic is not convex, by what float32 made of its H: a run may follow that."""
    if not model.quadratic:
        return False
    H = model.hessian_rows(np.eye(model.size, dtype=LD))
    H = (H / (np.abs(H).max() or 1)).astype(np.float64)
    return bool(np.linalg.eigvalsh(H)[0] < -64 * np.finfo(np.float64).eps * model.size)


def check_result(case: Case, posed: Posed, result: Any) -> None:
    """All that can be told from outside."""
    status = result.status.name
    _shapes(case, posed, result)
    if status == "DIVERGED":
        sound = posed.rules.safe and not _bends_down(posed.target.model)
        case.require(not sound, "a method that cannot diverge is DIVERGED")
        return
    finite = np.isfinite(result.x).all() and np.isfinite(result.value)
    case.require(finite, f"{status} with numbers that are not finite")
    checked = Checked(case, posed, result)
    _point(checked)
    _value_and_slope(checked)
    STATUSES[status](checked)
    _trace(checked)
    _iterates(checked)
    _corrected(checked)
    _path(checked)
    _certificate(checked)


def _shapes(case: Case, posed: Posed, result: Any) -> None:
    case.require(result.x.shape == tuple(posed.atoms.set.shape), "x has another shape")
    case.require(len(result.weights) == len(result.support) == len(result.used), "support")
    case.require(result.coef.shape == (result.size,), "coef has another shape")
    text = case.ask(lambda: str(result), {"f"}, valid=True)
    case.require(text.count("\n") >= 6, "a result does not print")
    limit = posed.option("max_iter", 1000)
    case.require(result.iterations <= limit, "more iterations than max_iter")
    single = posed.target.dtype == np.float32 and posed.atoms.dtype == np.float32
    starts = [posed.option("x0"), posed.option("coef0")]
    single = single and all(s is None or np.asarray(s).dtype == np.float32 for s in starts)
    if posed.atoms.cone and result.x.dtype == np.float32:
        return  # the point of a cone is given its first coefficients, in its own precision
    if case.odd and result.x.dtype == np.float64:
        return  # float32 may have no room for the numbers of the run
    if result.x.dtype != (np.float32 if single else np.float64):
        raise Finding(f"x is {result.x.dtype}, single: {single}")


def _point(checked: Checked) -> None:
    """x = x0 + Σ weights z, and over a cone no weight is negative."""
    result, posed = checked.result, checked.posed
    weights = exact(result.weights)
    if posed.atoms.rows is not None:
        rows = posed.atoms.rows[result.support]
    else:
        vectors = [exact(posed.atoms.set.vector(z)).reshape(-1) for z in result.used]
        rows = np.array(vectors, LD).reshape(len(vectors), checked.model.size)
    start = posed.start if posed.option("coef0") is None else np.zeros_like(posed.start)
    # Coefficients count from the start, and what they lose is in proportion to it.
    size = np.abs(posed.start) + np.abs(weights) @ np.abs(rows)
    off = np.abs(checked.x - start - weights @ rows)
    n = len(weights) + 4
    bound = ROOM * n * checked.eps * np.maximum(size, size.max()) + n * checked.tiny
    worst = (off / np.maximum(bound, FLOOR)).max()
    checked.case.require(
        worst <= 1, f"x is not x0 + Σ weights z: {float(worst):.3g} times rounding"
    )
    if posed.atoms.cone:
        checked.case.require((result.weights >= 0).all(), "a weight over a cone is negative")


def _value_and_slope(checked: Checked) -> None:
    case, result = checked.case, checked.result
    off, bound = abs(LD(result.value) - checked.value), checked.slack[0]
    case.require(off <= bound, f"value {result.value:.6g} where f(x) is {float(checked.value):.6g}")
    if np.isnan(result.slope):
        case.require(checked.posed.rules.name == "gradient-free", "the slope is nan")
        return
    off = abs(LD(result.slope) - checked.slope)
    bound = checked.slope_slack(checked.x) + checked.slope_slack(checked.posed.start)
    case.require(off <= bound, f"slope {result.slope:.6g} where it is {float(checked.slope):.6g}")


# Statuses ----------------------------------------------------------------------------------


def _converged(checked: Checked) -> None:
    posed, result = checked.posed, checked.result
    tol = posed.option("tol")
    threshold = LD(1e-6 if tol is None else tol) * checked.first_slope
    drowned = checked.slope_slack(checked.x) + checked.slope_slack(posed.start)
    near = posed.option("gap")
    reasons = [
        near is not None and result.gap <= near,  # which `_certificate` holds against a better x
        checked.slope <= threshold * LD(1 + 1e-9) + drowned,
        posed.option("target") is not None
        and checked.value <= LD(posed.options["target"]) + checked.slack[0],
        posed.option("rtol") is not None and _residual_reached(checked),
    ]
    checked.case.require(
        any(reasons),
        f"CONVERGED ({result.message}) with slope {float(checked.slope):.4g}, "
        f"at first {float(checked.first_slope):.4g}",
    )


def _residual_reached(checked: Checked) -> bool:
    model = checked.model
    if not isinstance(model, Squares):
        return False
    goal = LD(checked.posed.options["rtol"]) * norm(model.b)
    return bool(checked.value <= goal**2 / 2 * (1 + 64 * checked.eps) + checked.slack[0])


def _max_iter(checked: Checked) -> None:
    limit = checked.posed.option("max_iter", 1000)
    checked.case.require(checked.result.iterations == limit, "MAX_ITER before max_iter")


def _max_atoms(checked: Checked) -> None:
    limit = checked.posed.option("max_atoms")
    enough = limit is not None and len(checked.result.support) >= limit
    checked.case.require(enough, "MAX_ATOMS with fewer atoms than max_atoms")


def _max_time(checked: Checked) -> None:
    checked.case.require(checked.posed.option("max_time") is not None, "MAX_TIME without max_time")


def _stopped(checked: Checked) -> None:
    checked.case.require(checked.posed.option("callback") is not None, "STOPPED by nobody")


def _stalled(checked: Checked) -> None:
    """Nothing that a step along an atom still promises is more than rounding."""
    rows = checked.posed.followed
    if rows is None or not checked.posed.rules.plain or _bends_down(checked.model):
        return
    c = rows @ checked.model.told(checked.gradient, checked.eps)
    if checked.posed.atoms.cone:
        used = np.zeros(len(c), bool)
        used[checked.result.support] = True
        c = np.where((c >= 0) & ~used, 0, c)
    bends = np.maximum(checked.model.bends(rows), FLOOR)
    clear = np.maximum(np.abs(c) - checked.slope_slack(checked.x), 0)
    promised = (clear**2 / (2 * bends)).max()
    rounding = DRIFT * checked.eps * checked.scale
    checked.case.require(
        promised <= rounding,
        f"STALLED where a step promises {float(promised):.3g} and values round at "
        f"{float(rounding):.3g}",
    )


def _unbounded(checked: Checked) -> None:
    """Some direction of the span is flat and has a slope."""
    rows = checked.posed.followed
    if rows is None or not checked.model.quadratic:
        return
    units = (rows / np.maximum(norm(rows), FLOOR)[:, None]).astype(np.float64)
    _, s, vt = np.linalg.svd(units, full_matrices=False)
    basis = exact(vt[s > 1e-13 * s[0]])  # atoms that are nearly alike span their difference too
    G = checked.model.hessian_rows(basis) @ basis.T
    spectrum, axes = np.linalg.eigh((G / np.maximum(np.abs(G).max(), FLOOR)).astype(np.float64))
    c = axes.T @ (basis @ checked.gradient / max(norm(checked.gradient), FLOOR)).astype(np.float64)
    flat = spectrum <= 1e-6
    checked.case.require(np.abs(c[flat]).max(initial=0) > 1e-9, "UNBOUNDED, but nothing is flat")


STATUSES = {
    "CONVERGED": _converged,
    "MAX_ITER": _max_iter,
    "MAX_ATOMS": _max_atoms,
    "MAX_TIME": _max_time,
    "STOPPED": _stopped,
    "STALLED": _stalled,
    "UNBOUNDED": _unbounded,
}


# What was seen on the way, and where it led ------------------------------------------------


def _trace(checked: Checked) -> None:
    case, trace, result = checked.case, checked.result.trace, checked.result
    case.require((np.diff(trace.iteration) > 0).all(), "the trace goes back")
    case.require(trace.iteration[-1] == result.iterations, "the trace ends elsewhere")
    if not checked.posed.rules.safe:
        return  # a run that runs away carries a second point, which may be much farther away
    rounding = DRIFT * checked.eps * checked.scale
    off = abs(LD(trace.value[-1]) - LD(result.value))
    case.require(off <= rounding, f"the trace ends at {trace.value[-1]}, the run at {result.value}")
    if checked.posed.rules.falling:
        rises = np.diff(exact(trace.value))
        case.require(
            rises.max(initial=-1) <= rounding,
            f"the value of {checked.posed.rules.name} rises by {float(rises.max(initial=0)):.3g}",
        )


def _iterates(checked: Checked) -> None:
    """Algorithms 1 and 2 lead to where a recomputation leads."""
    posed, result = checked.posed, checked.result
    known = ("matching-pursuit", "affine-invariant")
    if not posed.rules.plain or posed.rules.name not in known or not checked.model.quadratic:
        return
    if posed.followed is None or posed.atoms.cone or checked.case.odd:
        return
    rows, tie = posed.followed, max(1e-6, 1e5 * checked.eps)
    if posed.rules.name == "matching-pursuit":
        H = checked.model.hessian_rows(np.eye(checked.model.size, dtype=LD)).astype(np.float64)
        bounds = LD(np.linalg.eigvalsh(H)[-1]) * (rows * rows).sum(axis=1)
    else:
        bounds = np.full(len(rows), checked.model.bends(rows).max())
    ours = pursuit(checked.model, rows, bounds, posed.start, result.iterations, tie)
    if ours is None or not checked.first_slope:
        return
    off = norm(checked.x - ours[0]) / max(norm(ours[0]), norm(checked.x), LD(1e-300))
    checked.case.require(
        off <= 1e4 * checked.eps,
        f"{posed.rules.name} is {float(off):.3g} off after {result.iterations} steps",
    )
    # The test may be made at the next look, one step after it was met, when the slope has risen.
    tol = posed.option("tol")
    # What steps keep up to date has lost this much, in units of the first slope.
    lost = 64 * checked.eps
    met = ours[1] <= (LD(1e-6 if tol is None else tol) * (1 - tie) - lost) * checked.first_slope
    twice = met[:-2] & met[1:-1]
    checked.case.require(not twice.any(), "the slope had fallen far enough more than a step ago")


def _corrected(checked: Checked) -> None:
    """Orthogonal pursuit leaves nothing to gain over the atoms in use."""
    posed, result = checked.posed, checked.result
    if posed.rules.name != "orthogonal" or not checked.model.quadratic:
        return
    if posed.followed is None or not result.iterations or not len(result.support):
        return
    if posed.option("coef0") is not None or posed.option("x0") is not None:
        return
    rows = posed.followed[result.support]
    if posed.atoms.cone:
        if not isinstance(checked.model, Squares):
            return
        best = least_value_in_cone(checked.model, rows)
    else:
        best = least_value(checked.model, rows)
    left, rounding = checked.value - best, DRIFT * checked.eps * checked.scale
    checked.case.require(
        left <= rounding, f"orthogonal leaves {float(left):.3g} to gain over the atoms in use"
    )


def _path(checked: Checked) -> None:
    """Each point of a path has the number of atoms and the value that it says."""
    path, case = checked.result.path, checked.case
    if path is None:
        return
    case.require((np.diff(path.sizes) > 0).all(), "a path whose sizes do not grow")
    sizes = path.sizes.tolist()
    values = case.ask(lambda: path.value, {"size"}, valid=True)
    size, said = sizes[-1], values[-1]
    x = exact(case.ask(lambda: path.x(size), {"size"}, valid=True)).reshape(-1)
    off = abs(LD(said) - checked.model.value(x))
    bound = ROOM * checked.model.slack(x, checked.eps, checked.tiny)[0]
    case.require(off <= bound, f"a path says {said:.6g} for {size} atoms")
    used = np.count_nonzero(path.coefs[[-1]].toarray())
    case.require(used == size, f"a path says {size} atoms and has {used}")


def _certificate(checked: Checked) -> None:
    """No bound on f(x) − f* is below what a better point shows."""
    posed, result, case = checked.posed, checked.result, checked.case
    certificate = case.asked(lambda: result.certificate, {"f"}, valid=True)
    case.require(len(str(certificate).splitlines()) == 1, "a certificate does not print in a line")
    bound = LD(certificate.bound)
    case.require(bound >= 0, f"a certificate says {certificate.bound}")
    if not np.isfinite(certificate.bound) or not checked.model.quadratic:
        return
    rows = posed.followed
    if rows is None:
        if posed.atoms.set.rank < checked.model.size:
            return
        rows = np.eye(checked.model.size, dtype=LD)
    if posed.atoms.cone and not isinstance(checked.model, Squares):
        return
    lowest = least_value_in_cone if posed.atoms.cone else least_value
    gap = checked.value - lowest(checked.model, rows)
    # Rounding takes x out of the span by about as much as its terms are long.
    size = norm(posed.start) + np.abs(exact(result.weights)).sum() * LD(posed.atoms.set.radius)
    lost = ROOM * checked.eps * size
    rounding = lost * (norm(checked.gradient) + lost * checked.model.bends(rows).max())
    case.require(
        gap <= bound * (1 + 1e-9) + checked.slack[0] + rounding,
        f"the certificate says {certificate.bound:.6g}, and f falls by {float(gap):.6g} more",
    )
