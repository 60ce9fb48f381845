"""Contracts for people who add their own: one call checks a set, an objective, a method, a penalty.

Each check draws its own examples from `seed` and raises an AssertionError whose message says
which sentence of the contract does not hold, with the numbers that show it.

Examples
--------
>>> import numpy as np
>>> from pursuit import Dictionary, SquaredDistance
>>> from pursuit.testing import check_atoms, check_objective
>>> check_atoms(Dictionary(np.eye(3)))
>>> check_objective(SquaredDistance(np.ones(3)))
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np

from pursuit.atoms.base import Atom, AtomSet, FiniteAtoms
from pursuit.atoms.coordinates import Coordinates
from pursuit.atoms.dictionary import Dictionary
from pursuit.base.errors import InputError
from pursuit.base.tolerances import DOUBLE, tolerances
from pursuit.base.validation import Array
from pursuit.methods import Method, as_method
from pursuit.objectives.base import Objective, QuadraticObjective
from pursuit.objectives.classification import Logistic
from pursuit.objectives.problem import Problem
from pursuit.objectives.quadratic import LeastSquares
from pursuit.rules.run import Run
from pursuit.rules.steps import bounds_of
from pursuit.solving.solve import solve
from pursuit.testing.penalties import check_penalty

__all__ = ["check_atoms", "check_method", "check_objective", "check_penalty"]


def check_atoms(atoms: AtomSet, *, seed: int = 0, draws: int = 30) -> None:
    """Check that a set of atoms keeps the contract of `AtomSet` (and of `FiniteAtoms`).

    The oracle is compared with every atom of a finite set. Of an infinite one it is compared with
    drawn atoms and with its own answers to other questions, also in directions built from atoms,
    where the best correlation is known from below: an oracle that is a few per cent off is caught,
    and one of quality δ where it falls below δ of the best. What `near_lmo` promises for several δ
    is compared with the same atoms: the atom it finds, and the bound that it gives.
    The oracle of a `Cone` is one-sided: it minimises ⟨d, z⟩, and dual_norm(d) is −⟨d, lmo(d)⟩ or 0.

    Parameters
    ----------
    atoms
        The set. One without a sampler is checked as far as its oracle goes.
    seed
        Of the examples.
    draws
        How many directions and atoms are looked at.
    """
    rng = np.random.default_rng(seed)
    handles = _examples(atoms, rng, draws)
    directions = _directions(atoms, handles, rng, draws)
    _atoms_are_arrays(atoms, handles)
    _oracle_is_best(atoms, handles, directions)
    if atoms.quality == 1:
        _dual_norm_is_a_norm(atoms, directions)
    _gauge_is_its_dual(atoms, handles, directions)
    if not isinstance(atoms, FiniteAtoms):
        _good_enough_is_certified(atoms, handles, directions, rng)
    _linear_maps_agree(atoms, handles, rng)
    _packs(atoms, handles)
    _unit_version(atoms, handles, rng)
    _moments_are_those_of_draws(atoms, directions, rng, 20 * draws)
    if atoms.finite is not None:
        _finite_operations(atoms.finite, rng)
        _admissible_slopes(atoms.finite, rng)


def check_objective(f: Objective, *, seed: int = 0, points: int = 12, scale: float = 1.0) -> None:
    """Check that an objective keeps the contract of `Objective`.

    Its gradient is compared with differences of values, convexity and `mu` with pairs of points,
    `L` and `curvature` with the largest curvature that power iterations on the gradient find.

    Parameters
    ----------
    f
        The objective.
    seed
        Of the examples.
    points
        How many points are looked at.
    scale
        Their typical size.
    """
    rng = np.random.default_rng(seed)
    precision = tolerances(f.dtype).eps
    xs = [np.zeros(f.shape, f.dtype)]
    for k in range(points - 1):
        size = scale * 10.0 ** (k % 3 - 1)
        xs.append((size * rng.standard_normal(f.shape)).astype(f.dtype))
    _value_and_gradient_are_numbers(f, xs)
    _gradient_is_the_slope_of_the_value(f, xs, rng, precision)
    _image_is_linear(f, xs, precision)
    _is_convex(f, xs, precision)
    _curvature_is_bounded(f, xs, rng, precision)
    if f.quadratic is not None:
        _hessian_is_constant(f.quadratic, xs, precision)


def check_method(method: str | Method, *, seed: int = 0, max_iter: int = 400) -> None:
    """Check that a method keeps its promises on two small problems, one of them not quadratic.

    The value never ends above its start, the decrease that each step of a method without momentum
    promises is there, a reported slope is not below the largest one, a step rule that gives bounds
    takes steps that follow from them to the last bit, a direction that says how it picks does so,
    the coefficients give x, runs are reproducible, stopped and resumed equals uninterrupted, how
    often one observes changes no number, and the scale of the atoms changes nothing.

    Parameters
    ----------
    method
        A name of `pursuit.methods`, or a `Method`.
    seed
        Of the problems and of the method.
    max_iter
        The iterations of each run.
    """
    rules = as_method(method)
    for f, atoms in _problems(seed):
        _improves(rules, f, atoms, seed, max_iter)
        _keeps_promises(rules, f, atoms, seed)
        _keeps_to_bounds(rules, f, atoms, seed)
        _keeps_to_picks(rules, f, atoms, seed)
        _reproducible(rules, f, atoms, seed)
        _independent_of_scale(rules, f, atoms, seed)


def _hold(holds: bool | np.bool_, subject: object, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{type(subject).__name__}: {sentence}")


def _close(a: Any, b: Any, scale: float, tolerance: float = DOUBLE.input) -> bool:
    return bool(np.max(np.abs(np.asarray(a, float) - b), initial=0) <= tolerance * scale)


# Sets of atoms ------------------------------------------------------------------------------


def _tolerance(atoms: AtomSet) -> float:
    # A set in float32 promises what float32 can hold; one without a precision of its own is asked
    # in float64.
    exact = atoms.finite is None or atoms.finite.norms.dtype == np.float64
    return tolerances(np.float64 if exact else np.float32).input


def _gain(atoms: AtomSet, c: Any) -> Any:
    """What an oracle maximises where ⟨d, z⟩ = c."""
    return atoms.penalty.gain(c)


def _gain_of(z: str, atoms: AtomSet) -> str:
    return f"−⟨d, {z}⟩" if atoms.one_sided else f"|⟨d, {z}⟩|"


def _examples(atoms: AtomSet, rng: np.random.Generator, draws: int) -> list[Atom]:
    """Some atoms: drawn where the set can draw, else what its oracle answers."""
    try:
        return list(atoms.draw(rng, draws))
    except InputError:
        return [atoms.lmo(rng.standard_normal(atoms.shape)) for _ in range(draws)]


def _directions(
    atoms: AtomSet, handles: list[Atom], rng: np.random.Generator, draws: int
) -> list[Array]:
    """Random directions, atoms themselves, and mixtures of two atoms of nearly the same weight."""
    vectors = [atoms.vector(z).astype(np.float64) for z in handles]
    found = [rng.standard_normal(atoms.shape) for _ in range(draws)]
    found += [vector * 10.0 ** rng.integers(-3, 4) for vector in vectors]
    for a, b in pairwise(vectors):
        found.append(a / np.linalg.norm(a) + 0.98 * b / np.linalg.norm(b))
    return found


def _atoms_are_arrays(atoms: AtomSet, handles: list[Atom]) -> None:
    for z in handles:
        vector = np.asarray(atoms.vector(z))
        _hold(
            vector.shape == atoms.shape and np.isfinite(vector).all() and vector.any(),
            atoms,
            f"vector(z) must be a finite array of shape {atoms.shape} other than zero",
        )
        norm2 = float(np.vdot(vector, vector))
        _hold(
            _close(atoms.norm2(z), norm2, norm2, _tolerance(atoms)),
            atoms,
            f"norm2(z) must be ‖z‖² = {norm2:.9g}, got {atoms.norm2(z):.9g}",
        )
        _hold(
            np.sqrt(norm2) <= atoms.radius * (1 + _tolerance(atoms)),
            atoms,
            f"radius must be at least every ‖z‖, got {atoms.radius:.9g} and ‖z‖ = "
            f"{np.sqrt(norm2):.9g}",
        )
        _hold(atoms.spans(vector), atoms, "spans(z) must be true for every atom")
    matrix = np.array([np.ravel(atoms.vector(z)) / np.sqrt(atoms.norm2(z)) for z in handles])
    rank = int(np.linalg.matrix_rank(matrix))
    _hold(
        rank <= atoms.rank <= int(np.prod(atoms.shape)),
        atoms,
        f"rank must be dim lin(A), got {atoms.rank} where {len(handles)} atoms span {rank}",
    )


def _oracle_is_best(atoms: AtomSet, handles: list[Atom], directions: list[Array]) -> None:
    answers = [atoms.lmo(d) for d in directions]
    if atoms.finite is not None:
        rivals = atoms.finite.matrix.astype(np.float64)
    else:
        rivals = np.array([np.ravel(atoms.vector(z)) for z in [*handles, *answers]])
    for d, z in zip(directions, answers, strict=True):
        best = float(np.max(_gain(atoms, rivals @ d.reshape(-1))))
        got = float(_gain(atoms, atoms.inner(d, z)))
        slack = _tolerance(atoms) * atoms.radius * float(np.linalg.norm(d))
        most = "maximise" if atoms.quality == 1 else f"give {atoms.quality:g} of the largest"
        _hold(
            got >= atoms.quality * best - slack,
            atoms,
            f"lmo(d) must {most} {_gain_of('z', atoms)} over A, got {got:.9g} where another atom "
            f"has {best:.9g}, {100 * (best - got) / max(best, slack):.3g} % of which are missing",
        )
        norm = atoms.dual_norm(d)
        _hold(
            norm >= best - slack,
            atoms,
            f"dual_norm(d) must be at least {_gain_of('z', atoms)} of every atom, got {norm:.9g} "
            f"where one has {best:.9g}",
        )
        exact = float(np.vdot(d, atoms.vector(z)))
        _hold(
            abs(exact - atoms.inner(d, z)) <= slack,
            atoms,
            f"inner(d, z) must be ⟨d, vector(z)⟩ = {exact:.9g}, got {atoms.inner(d, z):.9g}",
        )


def _good_enough_is_certified(
    atoms: AtomSet, handles: list[Atom], directions: list[Array], rng: np.random.Generator
) -> None:
    """Equation (3) for several δ, against all atoms that are known."""
    rivals = [*handles, *(atoms.lmo(d) for d in directions[:10])]
    for k, d in enumerate(directions):
        delta = atoms.quality * (1.0, 0.9, 0.5)[k % 3]
        z, bound = atoms.near_lmo(d, delta, rng)
        best, got = max(abs(atoms.inner(d, rival)) for rival in rivals), abs(atoms.inner(d, z))
        slack = _tolerance(atoms) * atoms.radius * float(np.linalg.norm(d))
        _hold(
            bound >= best - slack,
            atoms,
            f"near_lmo(d, δ) must give a bound of at least |⟨d, z⟩| of every atom, got {bound:.9g} "
            f"where one has {best:.9g}",
        )
        _hold(
            got >= delta * bound - slack,
            atoms,
            f"near_lmo(d, {delta:g}) must give an atom with |⟨d, z⟩| ≥ δ·bound, got {got:.9g} with "
            f"a bound of {bound:.9g}",
        )


def _dual_norm_is_a_norm(atoms: AtomSet, directions: list[Array]) -> None:
    for d, e in pairwise(directions):
        norm, got = atoms.dual_norm(d), max(0.0, float(_gain(atoms, atoms.inner(d, atoms.lmo(d)))))
        slack = _tolerance(atoms) * atoms.radius * float(np.linalg.norm(d) + np.linalg.norm(e))
        _hold(
            abs(norm - got) <= slack,
            atoms,
            f"dual_norm(d) must be {_gain_of('lmo(d)', atoms)} = {got:.9g}, got {norm:.9g}",
        )
        _hold(
            abs(atoms.dual_norm(2 * d) - 2 * norm) <= 2 * slack,
            atoms,
            "dual_norm(2d) must be 2·dual_norm(d)",
        )
        _hold(
            atoms.one_sided or abs(atoms.dual_norm(-2 * d) - 2 * norm) <= 2 * slack,
            atoms,
            "dual_norm(−2d) must be 2·dual_norm(d): the set stands for A ∪ −A",
        )
        _hold(
            atoms.dual_norm(d + e) <= norm + atoms.dual_norm(e) + 2 * slack,
            atoms,
            "dual_norm must obey the triangle inequality",
        )


def _gauge_is_its_dual(atoms: AtomSet, handles: list[Atom], directions: list[Array]) -> None:
    try:
        atoms.gauge(atoms.vector(handles[0]))
    except InputError:
        return
    for z, d in zip(handles[:10], directions, strict=False):
        x = atoms.vector(z)
        gauge = atoms.gauge(x)
        _hold(gauge <= 1 + _tolerance(atoms), atoms, f"gauge(z) must be at most 1, got {gauge:.9g}")
        bound = gauge * atoms.dual_norm(d)
        product = abs(float(np.vdot(d, x)))
        _hold(
            product <= bound * (1 + _tolerance(atoms)) + _tolerance(atoms) * np.linalg.norm(d),
            atoms,
            f"|⟨d, x⟩| ≤ gauge(x)·dual_norm(d) must hold, got {product:.9g} and {bound:.9g}",
        )
        _hold(
            _close(atoms.gauge(3 * x), 3 * gauge, 3, _tolerance(atoms)),
            atoms,
            "gauge(3x) must be 3·gauge(x)",
        )


def _linear_maps_agree(atoms: AtomSet, handles: list[Atom], rng: np.random.Generator) -> None:
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import aslinearoperator

    x = rng.standard_normal(atoms.shape)
    for z in handles[:10]:
        moved, vector = x.copy(), atoms.vector(z)
        atoms.shift(moved, 0.7, z)
        size = float(np.abs(vector).max()) + float(np.abs(x).max())
        _hold(
            _close(moved, x - 0.7 * vector, size, _tolerance(atoms)),
            atoms,
            "shift(x, γ, z) must change x into x − γz",
        )
        if len(atoms.shape) > 1:
            continue
        A = rng.standard_normal((4, *atoms.shape))
        for form in (A, csc_array(A), aslinearoperator(A)):
            _hold(
                _close(atoms.image(form, z), A @ vector, 100 * size, _tolerance(atoms)),
                atoms,
                f"image(A, z) must be A z, also for a {type(form).__name__}",
            )


def _packs(atoms: AtomSet, handles: list[Atom]) -> None:
    packed = atoms.pack(handles)
    _hold(isinstance(packed, np.ndarray), atoms, "pack(atoms) must be one array")
    back = atoms.unpack(packed)
    same = len(back) == len(handles) and all(
        np.array_equal(atoms.vector(a), atoms.vector(b)) for a, b in zip(handles, back, strict=True)
    )
    _hold(same, atoms, "unpack(pack(atoms)) must give the same atoms back, bit for bit")
    _hold(len(atoms.unpack(atoms.pack([]))) == 0, atoms, "pack and unpack must serve no atoms too")


def _unit_version(atoms: AtomSet, handles: list[Atom], rng: np.random.Generator) -> None:
    unit, scale = atoms.unit()
    if scale is None:
        _hold(unit is atoms, atoms, "unit() without scales must return the set itself")
        return
    assert unit.finite is not None
    _hold(
        _close(unit.finite.norms, 1, 1, _tolerance(atoms)),
        atoms,
        "unit() must give atoms of norm one",
    )
    for z in handles[:10]:
        vector = atoms.vector(z)
        _hold(
            _close(unit.vector(z) * scale[z], vector, atoms.radius, _tolerance(atoms)),
            atoms,
            "unit() must give the same directions: unit atom times scale is the atom",
        )


def _moments_are_those_of_draws(
    atoms: AtomSet, directions: list[Array], rng: np.random.Generator, draws: int
) -> None:
    known = atoms.moments()
    if known is None:
        return
    inside = known.diagonal > 0
    _hold(
        inside.shape == (np.prod(atoms.shape),) and inside.sum() == atoms.rank,
        atoms,
        "moments() must give a diagonal that is positive in lin(A) and zero elsewhere",
    )
    found = sum(atoms.vector(z).reshape(-1) ** 2 for z in atoms.draw(rng, draws)) / draws
    noise = 6 * np.sqrt(known.diagonal / draws) + 6 / draws  # Bernstein: e⁻¹⁸ of all seeds
    _hold(
        bool((np.abs(found - known.diagonal) <= noise).all()),
        atoms,
        "moments() must give the mean of z_i² over its draws as the diagonal of P̃",
    )
    for d in directions:
        within = np.where(inside.reshape(atoms.shape), d, 0)
        _hold(
            atoms.dual_norm(within) ** 2
            >= (1 - DOUBLE.input) * known.squared_width * np.vdot(within, within),
            atoms,
            "moments() must give an mDW² with ‖d‖_{A*}² ≥ mDW²‖d‖² in lin(A)",
        )


def _finite_operations(atoms: FiniteAtoms, rng: np.random.Generator) -> None:
    n, matrix, tolerance = len(atoms), atoms.matrix, _tolerance(atoms)
    d, weights = rng.standard_normal(atoms.shape), rng.standard_normal(n)
    size = atoms.radius * float(np.linalg.norm(d))
    exact = matrix @ d.reshape(-1)
    places = rng.integers(0, n, 5)
    stacked = np.array([np.ravel(atoms.vector(j)) for j in range(n)])
    _hold(
        matrix.shape == (n, int(np.prod(atoms.shape))) and np.array_equal(stacked, matrix),
        atoms,
        "matrix must have vector(j) as its row j",
    )
    _hold(_close(atoms.correlate(d), exact, size, tolerance), atoms, "correlate(d) must be Zd")
    _hold(
        _close(atoms.correlate_some(d, places), exact[places], size, tolerance),
        atoms,
        "correlate_some(d, places) must be Zd at those places",
    )
    combined = (weights @ matrix).reshape(atoms.shape)
    total = atoms.radius * float(np.abs(weights).sum())
    _hold(
        _close(atoms.combine(weights), combined, total, tolerance),
        atoms,
        "combine(weights) must be Σ weights_j z_j",
    )
    _hold(
        _close(atoms.norms, np.linalg.norm(matrix, axis=1), atoms.radius, tolerance),
        atoms,
        "norms must be the norms of the rows",
    )
    _hold(
        atoms.lmo(d) == int(np.argmax(_gain(atoms, atoms.correlate(d)))),
        atoms,
        f"lmo(d) must be the row number of the largest {_gain_of('z_j', atoms)}, of several the "
        "lowest",
    )


def _admissible_slopes(atoms: FiniteAtoms, rng: np.random.Generator) -> None:
    c, coef = rng.standard_normal(len(atoms)), rng.choice([0.0, 1.0], len(atoms))
    before = c.copy()
    stuck = (c > 0) & (coef == 0) & atoms.one_sided
    _hold(
        np.array_equal(atoms.admissible(c, coef), np.where(stuck, 0, c)),
        atoms,
        "admissible(c, coef) must be c, over a Cone zero where c_j > 0 and coef_j = 0",
    )
    _hold(np.array_equal(before, c), atoms, "admissible(c, coef) must not change c")


# Objectives ---------------------------------------------------------------------------------


def _value_and_gradient_are_numbers(f: Objective, xs: list[Array]) -> None:
    for x in xs:
        before = x.copy()
        value, gradient = f.value(x), f.gradient(x)
        _hold(isinstance(value, float) and np.isfinite(value), f, "value(x) must be a finite float")
        _hold(
            np.shape(gradient) == f.shape and np.isfinite(gradient).all(),
            f,
            f"gradient(x) must be a finite array of shape {f.shape}, got {np.shape(gradient)}",
        )
        _hold(np.array_equal(before, x), f, "value(x) and gradient(x) must not change x")


def _gradient_is_the_slope_of_the_value(
    f: Objective, xs: list[Array], rng: np.random.Generator, precision: float
) -> None:
    """Central differences at several distances; one of them must agree."""
    # Terms that cancel at one point show their size at another.
    floor = 100 * precision * max(float(np.linalg.norm(f.gradient(x))) for x in xs)
    for x in xs:
        d = rng.standard_normal(f.shape)
        d /= np.linalg.norm(d)
        slope = float(np.vdot(f.gradient(x), d))
        size = max(float(np.linalg.norm(x)), 1.0)
        length = float(np.linalg.norm(f.gradient(x)))
        errors, limits = [], []
        for h in size * precision ** np.array([0.2, 0.3, 0.4, 0.5]):
            up, down = f.value((x + h * d).astype(f.dtype)), f.value((x - h * d).astype(f.dtype))
            # Rounding of the values limits what a difference over a distance h can say.
            noise = 20 * precision * (abs(up) + abs(down) + size * length)
            errors.append(abs((up - down) / (2 * h) - slope))
            limits.append(floor + noise / h + 1e-5 * length)
        _hold(
            (np.array(errors) <= limits).any(),
            f,
            f"gradient(x) must be the slope of value(x): along a random direction the gradient "
            f"says {slope:.9g}, differences of values are at least {min(errors):.3g} off",
        )


def _image_is_linear(f: Objective, xs: list[Array], precision: float) -> None:
    x, y = xs[-1], xs[-2]
    mixed = np.asarray(f.image((2 * x - 3 * y).astype(f.dtype)), float)
    parts = 2 * np.asarray(f.image(x), float) - 3 * np.asarray(f.image(y), float)
    size = float(np.abs(parts).max()) + float(np.abs(np.asarray(f.image(x))).max())
    _hold(_close(mixed, parts, size, 1e3 * precision), f, "image must be linear in x")
    for x in xs:
        image = f.image(x)
        value, gradient = f.value(x), np.asarray(f.gradient(x), float)
        _hold(
            _close(f.value_at(x, image), value, abs(value), 1e3 * precision)
            and _close(
                f.gradient_at(x, image), gradient, np.abs(gradient).max() + 1e-300, 1e4 * precision
            ),
            f,
            "value_at and gradient_at must agree with value and gradient",
        )


def _is_convex(f: Objective, xs: list[Array], precision: float) -> None:
    for k, x in enumerate(xs):
        g = np.asarray(f.gradient(x), float)
        for y in xs[:k]:
            step = y.astype(float) - x
            gap = f.value(y) - f.value(x) - float(np.vdot(g, step))
            needed = 0.5 * f.mu * float(np.vdot(step, step))
            terms = abs(f.value(y)) + abs(f.value(x)) + float(np.linalg.norm(g))
            noise = 1e3 * precision * (terms * max(float(np.linalg.norm(step)), 1.0))
            _hold(
                gap >= needed - noise - DOUBLE.input * needed,
                f,
                "f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + ½mu‖y − x‖² must hold (f convex, mu its strong "
                f"convexity), but the left side is {needed - gap:.3g} short of it",
            )


def _curvature_is_bounded(
    f: Objective, xs: list[Array], rng: np.random.Generator, precision: float
) -> None:
    # Differences of gradients over a distance h: their rounding is relative to the gradient.
    for x in xs:
        d = rng.standard_normal(f.shape)
        for turn in range(15):
            d /= np.linalg.norm(d)
            h = precision ** (1 / 3) * max(float(np.linalg.norm(x)), 1.0)
            ahead = np.asarray(f.gradient((x + h * d).astype(f.dtype)), float)
            back = np.asarray(f.gradient((x - h * d).astype(f.dtype)), float)
            hd = (ahead - back) / (2 * h)
            noise = 20 * precision * float(np.linalg.norm(ahead) + np.linalg.norm(back)) / h
            found = float(np.vdot(d, hd))
            if turn in (0, 14):
                _bounds_hold(f, d.astype(f.dtype), found, noise)
            if not hd.any():
                break
            d = hd


def _bounds_hold(f: Objective, d: Array, found: float, noise: float) -> None:
    allowed = noise + 1e-4 * abs(found)
    if f.L is not None:
        _hold(
            found <= f.L + allowed,
            f,
            f"L must bound the curvature of f, got L = {f.L:.6g} where it is {found:.6g}",
        )
    curvature = f.curvature(d, f.image(d))
    _hold(
        found <= curvature + allowed,
        f,
        f"curvature(z) must bound zᵀ∇²f z, got {curvature:.6g} where it is {found:.6g}",
    )


def _hessian_is_constant(f: QuadraticObjective, xs: list[Array], precision: float) -> None:
    for x, y in pairwise(xs):
        step = (y - x).astype(f.dtype)
        here, there = np.asarray(f.gradient(x), float), np.asarray(f.gradient(y), float)
        size = float(np.linalg.norm(here) + np.linalg.norm(there)) + 1e-300
        _hold(
            _close(f.hessian(step), there - here, size, 1e4 * precision),
            f,
            "hessian(y − x) must be ∇f(y) − ∇f(x): a QuadraticObjective has one Hessian",
        )
        exact = float(np.vdot(step.astype(float), np.asarray(f.hessian(step), float)))
        _hold(
            _close(f.curvature(step, f.image(step)), exact, abs(exact) + 1e-300, 1e4 * precision),
            f,
            "curvature(d) must be dᵀHd exactly for a QuadraticObjective",
        )


# Methods ------------------------------------------------------------------------------------


def _problems(seed: int) -> Iterator[tuple[Objective, FiniteAtoms]]:
    """Least squares over atoms of different norms, and a logistic loss over coordinates."""
    rng = np.random.default_rng(seed)
    lengths = 10.0 ** rng.uniform(-1, 1, 12)
    atoms = Dictionary(lengths[:, None] * rng.standard_normal((12, 5)))
    A = rng.standard_normal((8, 5))
    yield LeastSquares(A, rng.standard_normal(8)), atoms
    X = rng.standard_normal((20, 4))
    yield Logistic(X, rng.random(20) < 0.5, l2=0.5), Coordinates(4)


def _improves(rules: Method, f: Objective, atoms: FiniteAtoms, seed: int, max_iter: int) -> None:
    result = solve(f, atoms, rules, max_iter=max_iter, rng=seed, progress=False)
    start = f.value(np.zeros(f.shape))
    _hold(
        np.isfinite(result.value) and result.value < start,
        rules,
        f"{rules.name} must end below its start, got {start:.6g} → {result.value:.6g} "
        f"({result.status.name})",
    )
    coef = result.coef.toarray()
    rebuilt = atoms.combine(coef)
    _hold(
        _close(rebuilt, result.x, float(np.abs(coef) @ atoms.norms)),
        rules,
        f"{rules.name} must give coefficients with Σ coef_j z_j = x",
    )


def _keeps_promises(rules: Method, f: Objective, atoms: AtomSet, seed: int) -> None:
    """Step by step: the promised decrease is there, a reported slope is not too small."""
    if not rules.momentum.alone:
        return
    run = Run(Problem(f, atoms.unit().atoms), seed)
    x = rules.advance.point(run.problem, np.zeros(f.shape))
    stepper = rules.momentum.start(run, rules.advance, x)
    first = value = x.value()
    for _ in range(30):
        steepest = x.dual_norm()
        progress = stepper.step()
        run.t += 1
        now, steepest = stepper.x.value(), min(steepest, stepper.x.dual_norm())
        _hold(
            value - now >= progress.decrease - DOUBLE.slope * max(abs(first), abs(value)),
            rules,
            f"{rules.name} must decrease f by what it promises, got {value - now:.6g} where "
            f"{progress.decrease:.6g} was promised",
        )
        _hold(
            isnan(progress.slope) or progress.slope >= steepest * (1 - DOUBLE.input),
            rules,
            f"{rules.name} must report a slope that is not below the largest one, where the step "
            f"began or where it ended, got {progress.slope:.6g} where that is {steepest:.6g}",
        )
        value = now


def _keeps_to_bounds(rules: Method, f: Objective, atoms: AtomSet, seed: int) -> None:
    """Where a step rule is said to be bounds, compiled code takes their word for it."""
    run, step = Run(Problem(f, atoms.unit().atoms), seed), rules.advance.step
    bounds = None if step is None else bounds_of(step, run.problem)
    if step is None or bounds is None:
        return
    measure, x = step.start(run), rules.advance.point(run.problem, np.zeros(f.shape))
    for z, h in enumerate(bounds.tolist()):
        c = x.correlation(z)
        gamma, _ = measure(x, z, c)
        same = gamma == c / h or (step.exact and abs(gamma * h - c) <= DOUBLE.input * abs(c))
        _hold(
            same,
            rules,
            f"{rules.name} must take the step ⟨∇f, z⟩/h that its bounds say, got {gamma:.6g} where "
            f"that is {c / h:.6g}",
        )


def _keeps_to_picks(rules: Method, f: Objective, atoms: AtomSet, seed: int) -> None:
    """Where a direction says that it is the oracle, or what it picks next, compiled code takes its
    word for it."""
    run, direction = Run(Problem(f, atoms.unit().atoms), seed), rules.advance.direction
    if direction is None or not (direction.exact or direction.blind):
        return
    choose, x = direction.start(run), rules.advance.point(run.problem, np.zeros(f.shape))
    for run.t in range(20):
        said = direction.ahead(run, "picks", 1).tolist()
        said = [x.lmo()[0]] if direction.exact else said
        z, c, _ = choose(x)
        _hold(
            not said or z == said[0],
            rules,
            f"{rules.name} must pick the atom that its direction says ahead, got {z} where that is "
            f"{said} (exact: the oracle's, blind: what `ahead` gives)",
        )
        x.move(0.1 * c, z)


def _reproducible(rules: Method, f: Objective, atoms: AtomSet, seed: int) -> None:
    def run(max_iter: int, **options: Any) -> Any:
        return solve(f, atoms, rules, max_iter=max_iter, rng=seed, progress=False, **options)

    whole = run(40)
    for sentence, other in (
        ("give the same result for the same seed", run(40)),
        ("give the same result however often it is observed", run(40, every=7)),
        ("give the same result when stopped and resumed", run(40, resume=run(17))),
    ):
        same = np.array_equal(whole.x, other.x) and whole.iterations == other.iterations
        _hold(same, rules, f"{rules.name} must {sentence}, bit for bit")


def _independent_of_scale(rules: Method, f: Objective, atoms: FiniteAtoms, seed: int) -> None:
    # Powers of two change no digit of a number.
    scales = 2.0 ** np.random.default_rng(seed).integers(-20, 21, len(atoms))
    given = Dictionary(atoms.matrix)
    scaled = Dictionary(scales[:, None] * atoms.matrix)
    runs = [solve(f, a, rules, max_iter=25, rng=seed, progress=False) for a in (given, scaled)]
    size = float(np.abs(runs[0].x).max())
    _hold(
        _close(runs[0].x, runs[1].x, size),
        rules,
        f"{rules.name} must not depend on the scale of the atoms",
    )
