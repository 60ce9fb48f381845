"""The area `certificates`: proved bounds, constants and rates, none of which a point refutes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

import pursuit
from fuzz.case import Case
from fuzz.data import rows, signals
from fuzz.penalized import random_penalty
from fuzz.problems import NAMES, Atoms, Target, random_target
from fuzz.solve import Point
from fuzz.truth import LD, Array, descend, eps_of, exact, least_value, no_charge, norm
from pursuit import geometry, rates

ALLOWED = 256 * eps_of(np.float64)
"""What a certificate may be too small by, in units of the sizes of the terms of f and g."""
CLOSE = 1e-6
"""What a constant may be off, relatively, where atoms are clearly independent."""
THEOREMS = {"theorem_3": 2, "theorem_3_sharper": 2, "theorem_5": 2, "older_rate": 1}
"""Rates that hold for every run, and the algorithm that they are about."""
CONSTANTS = (
    *NAMES, "μ_A", "L_A", "ν", "ν′", "mDW", "μ", "L", "R_A", "δ̂²", "‖d‖", "f*", "lin(A)",
    "sampling", "p", "given", "λ_min",
)  # fmt: skip
"""What a message about a constant may name."""


def run(case: Case) -> None:
    """Check a certificate of a run, constants of a set, or a rate."""
    case.weighted({_certificate: 5, _penalized: 2, _set: 2, _objective: 1, _norms: 1, _rate: 1})(
        case
    )


def _dictionary(case: Case) -> Atoms:
    """Return few atoms, in a space of few dimensions, so that bounds are tight."""
    n, d = case.integer(1, 6), case.integer(1, 6)
    matrix = rows(
        case, n, d, case.choose("f8", "f8", "f4"), "gaussian", "positive", "low rank", "uneven"
    )
    case.input("atoms", matrix)
    return Atoms(pursuit.Dictionary(matrix), exact(matrix), eps_of(matrix.dtype))


def _require_bound(case: Case, name: str, bound: float, gap: Any, sizes: Any) -> None:
    case.require(bound >= 0, f"the {name} is {bound}")
    case.require(
        not gap > LD(bound) * (1 + LD(1e-9)) + ALLOWED * sizes,
        f"the {name} says {bound:.9g}, and f decreases by {float(gap):.9g}",
    )


def _certificate(case: Case) -> None:
    """f(x) − f* at the stored x is at most what the certificate says."""
    atoms = _dictionary(case)
    target = random_target(case, atoms, "distance", "squares", "quadratic", "logistic", "huber")
    name = case.choose("matching-pursuit", "orthogonal", "accelerated", "accelerated-random")
    options = {"max_iter": case.choose(1, 2, 5, 50), "tol": 0, "unit_atoms": case.chance(0.5)}
    case.record(method=name, options=options)
    result = case.call(pursuit.solve, target.f, atoms.set, name, names=NAMES, **options)
    bound = float(case.call(lambda: result.certificate).bound)
    case.record(certificate=str(result.certificate))
    point = Point(atoms, target, options, result)
    n = len(atoms.rows)
    if target.truth.is_quadratic:
        least = least_value(target.truth, atoms.rows)
    else:
        w = np.zeros(n, LD)
        w[result.support] = point.weights
        least = descend(target.truth, atoms.rows, no_charge(n), w, rounds=300)
    sizes = target.truth.sizes(point.terms)[0]
    # x in float32 lies off the span by its rounding, which the certificate is about as well.
    _require_bound(case, "certificate", bound, point.value - least, sizes)


def _penalized(case: Case) -> None:
    """So are the gap and the certificate of a run with a penalty."""
    atoms = _dictionary(case)
    target = random_target(case, atoms, "distance", "squares", "logistic", "huber")
    penalty, charge = random_penalty(case, atoms, target)
    options = {"max_iter": case.choose(1, 5, 100), "tol": 0, "unit_atoms": case.chance(0.5)}
    name = case.choose("matching-pursuit", "cyclic")
    case.record(method=name, options=options)
    result = case.call(
        pursuit.solve, target.f, atoms.set, name, penalty=penalty, names=NAMES, **options
    )
    point = Point(atoms, target, options, result)
    w = np.zeros(len(atoms.rows), LD)
    w[result.support] = point.weights
    w = np.clip(w, charge.lower, charge.upper)
    least = descend(target.truth, atoms.rows, charge, w, rounds=300)
    gap = point.value + charge.value(w) - least
    sizes = target.truth.sizes(point.terms)[0] + charge.value(w)
    for what, bound in (("gap", result.gap), ("certificate", result.certificate.bound)):
        _require_bound(case, what, float(bound), gap, sizes)


# Constants ---------------------------------------------------------------------------------


def _is_clear(atoms: Atoms) -> bool:
    """Whether no direction of the span is nearly lost, and norms are of one order."""
    s = np.linalg.svd(atoms.unit.astype(np.float64), compute_uv=False)
    lengths = norm(atoms.rows)
    near = s[(s > 1e-13 * s[0])]
    return bool(near[-1] > 1e-3 * s[0] and lengths.max() < 1e3 * lengths.min())


def _directions(case: Case, atoms: Atoms) -> Array:
    """Return directions of the span: random ones and its principal axes."""
    unit = atoms.unit
    _, s, axes = np.linalg.svd(unit.astype(np.float64), full_matrices=False)
    some = exact(case.rng.standard_normal((20, len(unit)))) @ unit
    return np.vstack([some[norm(some) > 1e-6], exact(axes[s > 1e-10 * s[0]])])


def _constant(case: Case, name: str, function: Any, *args: Any) -> Any:
    """Return a constant after a look at its interval."""
    constant = case.call(function, *args, names=CONSTANTS, valid=False)
    case.record(**{name: repr(constant)})
    inside = constant.lower <= constant <= constant.upper
    case.require(inside, f"{name} = {float(constant)} outside [{constant.lower}, {constant.upper}]")
    return constant


def _set(case: Case) -> None:
    """Constants of atoms and of a sampling: no direction of the span refutes them."""
    atoms = _dictionary(case)
    A, z, lengths = atoms.set, atoms.rows, norm(atoms.rows)
    p = case.rng.random(len(z)) + 0.1
    p = case.input("p", p / p.sum())
    radius = _constant(case, "radius", geometry.radius, A)
    case.require(abs(radius - lengths.max()) <= CLOSE * radius, f"the radius is {float(radius)}")
    if not _is_clear(atoms):
        return
    width = _constant(case, "mDW", geometry.directional_width, A)
    leverage = exact(case.call(geometry.leverage, A, p, names=CONSTANTS))
    rank = np.linalg.matrix_rank(atoms.unit.astype(np.float64), tol=1e-6)
    total = float(p @ leverage)
    case.require(abs(total - rank) <= 1e-5 * rank, f"Σ p w = {total} of rank {rank}")
    nu = _constant(case, "nu", geometry.nu, A, p)
    nu_random = _constant(case, "nu_random", geometry.nu_random, A, p)
    safe = case.call(geometry.safe_nu, A, names=CONSTANTS)
    case.require(safe >= rank * lengths.max() ** 2 * (1 - 1e-5), f"the safe ν is {safe}")
    d = _directions(case, atoms)
    c2 = (d @ z.T) ** 2
    best, energy = c2.argmax(axis=1), c2 @ (exact(p) * leverage)
    least = (np.sqrt(c2.max(axis=1)) / norm(d)).min()
    case.require(width.lower <= least * (1 + CLOSE), f"mDW = {float(width)} above {float(least)}")
    for name, constant, needed in (
        ("ν", nu, energy * lengths[best] ** 2 / c2.max(axis=1)),
        ("ν′", nu_random, energy / (c2 @ (exact(p) / lengths**2))),
    ):
        refuted = needed.max() > LD(constant.upper) * (1 + LD(1e-5))
        case.require(not refuted, f"{name} = {float(constant)} below {float(needed.max())}")


def _objective(case: Case) -> None:
    """L_A bounds every curvature along an atom; μ_A those along the span, over the gauge."""
    atoms = _dictionary(case)
    target = random_target(case, atoms, "distance", "squares", "quadratic")
    H = target.truth.hessian(np.zeros(atoms.rows.shape[1], LD))
    L_A = _constant(case, "L_A", geometry.smoothness, target.f, atoms.set)
    needed = np.einsum("ij,jk,ik->i", atoms.rows, H, atoms.rows).max()
    case.require(needed <= LD(L_A.upper) * (1 + LD(1e-5)), f"L_A = {float(L_A)} below {needed}")
    if not _is_clear(atoms):
        return
    mu_A = _constant(case, "mu_A", geometry.strong_convexity, target.f, atoms.set)
    d = _directions(case, atoms)
    curvatures = np.einsum("ij,jk,ik->i", d, H, d)
    # ‖d‖_A is at least ⟨e, d⟩/‖e‖_{A*} for every e.
    gauges = (np.abs(d @ d.T) / np.abs(d @ atoms.rows.T).max(axis=1)).max(axis=1)
    above = (
        LD(mu_A.lower) * gauges**2
        > curvatures * (1 + LD(1e-5)) + 1e-10 * norm(d) ** 2 * norm(H).max()
    )
    case.require(not above.any(), f"μ_A = {float(mu_A)} is too large for a direction")


def _norms(case: Case) -> None:
    """The dual norm is a maximum over the atoms, the gauge a linear program."""
    atoms = _dictionary(case)
    z = atoms.rows.astype(np.float64)
    x = case.input("x", signals(case, z, 1, "f8")[0] if case.chance(0.5) else z.sum(axis=0))
    dual = _constant(case, "dual", geometry.dual_norm, atoms.set, x)
    off = abs(float(dual) - np.abs(z @ x).max())
    size = np.linalg.norm(z, axis=1).max() * np.linalg.norm(x)
    case.require(off <= CLOSE * size, f"the dual norm is {float(dual)}")
    gauge = _constant(case, "gauge", geometry.gauge, atoms.set, x)
    if not _is_clear(atoms) or not np.isfinite(gauge) or not x.any():
        return
    columns, scale = z.T / np.linalg.norm(z, axis=1), np.linalg.norm(x)
    costs = np.tile(1 / np.linalg.norm(z, axis=1), 2)
    program = linprog(costs, A_eq=np.hstack([columns, -columns]), b_eq=x / scale)
    if program.success:
        expected = scale * program.fun
        case.require(
            abs(gauge - expected) <= 1e-5 * expected, f"the gauge is {float(gauge)}, not {expected}"
        )


def _rate(case: Case) -> None:
    """A rate is above what a run as printed reaches."""
    atoms = _dictionary(case)
    target: Target = random_target(case, atoms, "distance", "squares", "quadratic")
    name = case.choose(*THEOREMS)
    rate = case.call(getattr(rates, name), target.f, atoms.set, names=CONSTANTS, valid=False)
    iterations = case.integer(1, 20)
    method = "matching-pursuit" if THEOREMS[name] == 1 else "affine-invariant"
    options = {"max_iter": iterations, "tol": 0, "unit_atoms": False}
    case.record(theorem=name, rate=str(rate), iterations=iterations)
    result = case.call(pursuit.solve, target.f, atoms.set, method, names=NAMES, **options)
    bounds = np.asarray(case.call(rate, np.array([rate.first, iterations + rate.first, 10**6])))
    case.require((np.diff(bounds) <= 0).all(), f"a bound that grows: {bounds}")
    if result.iterations < iterations:
        return
    point = Point(atoms, target, options, result)
    gap = point.value - least_value(target.truth, atoms.rows)
    case.require(
        not gap > LD(float(rate(iterations))) * (1 + LD(1e-6)) + point.value_error,
        f"{name} says {float(rate(iterations)):.6g}, f − f* is {float(gap):.6g}",
    )
