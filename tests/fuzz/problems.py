"""Objectives and sets of atoms, each with the model of it that `oracle` computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import aslinearoperator

import pursuit
from fuzz.case import Case, words
from fuzz.generators import Array, cast, laid_out, magnitude, near, real_type, rows
from fuzz.oracle import (
    LD,
    Bowl,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    Model,
    PoissonLoss,
    Squares,
    eps_of,
    exact,
    norm,
)

NAMES = words(
    "f atoms b A H X y l2 weights delta groups size n M function shape radius sample rank value "
    "gradient L mu rows columns sparse left right B templates operator norms sets intercept "
    "moments max_leverage"
)
"""What a refusal to make an objective or a set may be about."""


@dataclass(frozen=True)
class Target:
    """An objective and its model."""

    f: Any
    model: Model
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Atoms:
    """A set and its model: the rows of a finite one, the dual norm of any."""

    set: Any
    rows: Array | None
    dual: Callable[[Array], Any]
    dtype: np.dtype[Any]
    cone: bool = False
    loose: float = 1.0
    """How much less than rounding is known of the rows."""
    eps: float = 0.0
    """The precision that the rows come in."""

    @property
    def mixed(self) -> bool:
        """Whether rounding of one entry of a gradient reaches atoms that do not see it."""
        return self.loose > 1

    @property
    def unit_rows(self) -> Array:
        assert self.rows is not None
        return self.rows / norm(self.rows)[:, None]


# Sets --------------------------------------------------------------------------------------


def some_atoms(case: Case, d: int, *, finite: bool = False) -> Atoms:
    """A set of atoms in d dimensions."""
    kinds = {_dictionary: 10, coordinates: 2, _cone: 3, _transformed: 1}
    kinds |= {_sparse_dictionary: 1, _shifts: 1.5, _operator: 0.7, _union: 1}
    if not finite:
        kinds |= {_sphere: 0.7, _groups: 1, _oracle: 0.7, _transformed_sphere: 0.3}
    return case.weighted(kinds)(case, d)


def _matrix(case: Case, d: int) -> Array:
    n = case.whole(1, 3) if case.chance(0.2) else case.whole(2, 14)
    return rows(case, n, d, real_type(case))


def _finite(atoms: Any, matrix: Array, dtype: Any, **more: Any) -> Atoms:
    return Atoms(atoms, matrix, lambda g: np.abs(matrix @ g).max(), np.dtype(dtype), **more)


def _dictionary(case: Case, d: int) -> Atoms:
    given = case.keep("atoms", laid_out(case, _matrix(case, d)))
    valid = not case.odd
    atoms = case.ask(lambda: pursuit.Dictionary(given), NAMES, valid=valid)
    return _finite(atoms, exact(given), atoms.dtype, eps=eps_of(atoms.dtype))


def coordinates(case: Case, d: int) -> Atoms:
    return _finite(pursuit.Coordinates(d), np.eye(d, dtype=LD), np.float32)


def _cone(case: Case, d: int) -> Atoms:
    base = case.weighted({_dictionary: 4, coordinates: 1})(case, d)
    atoms, matrix = pursuit.Cone(base.set), base.rows
    assert matrix is not None
    down = lambda g: max(LD(0), -(matrix @ g).min())  # noqa: E731
    return Atoms(atoms, matrix, down, base.dtype, cone=True, eps=base.eps)


def _mixing(case: Case, d: int) -> Array:
    return case.keep("M", np.eye(d) + 0.3 * case.rng.standard_normal((d, d)) / np.sqrt(d))


def _transformed(case: Case, d: int) -> Atoms:
    base, M = _dictionary(case, d), _mixing(case, d)
    atoms = case.ask(lambda: pursuit.Transformed(base.set, M), NAMES)
    assert base.rows is not None
    inverse = exact(np.linalg.inv(M))
    inverse = inverse @ (2 * np.eye(d, dtype=LD) - exact(M) @ inverse)  # Newton's correction
    case.odd.append("transformed")
    return _finite(atoms, base.rows @ inverse.T, np.float64, loose=100.0, eps=base.eps)


def _sparse_dictionary(case: Case, d: int) -> Atoms:
    n = case.whole(1, 12)
    matrix = rows(case, n, d, case.pick("f8", "f8", "f4"))
    kept = case.rng.random((n, d)) < case.pick(0.3, 0.6)
    kept[np.arange(n), np.abs(matrix).argmax(axis=1)] = True
    given = csr_array(np.where(kept, matrix, 0).astype(matrix.dtype))
    case.tell(atoms=given.toarray())
    atoms = case.ask(lambda: pursuit.SparseDictionary(given), NAMES, valid=not case.odd)
    return _finite(atoms, exact(given.toarray()), atoms.dtype, eps=eps_of(atoms.dtype))


def _shifts(case: Case, d: int) -> Atoms:
    """Atom tK + k is template k moved by t."""
    count, length = case.whole(1, 3), case.whole(1, d)
    templates = case.keep("templates", rows(case, count, length, case.pick("f8", "f8", "f4")))
    alike = count > 1 and length < 3  # short templates may be multiples of each other
    atoms = case.ask(lambda: pursuit.Shifts(templates, d), NAMES, valid=not case.odd and not alike)
    matrix = np.zeros((count * (d - length + 1), d), LD)
    for t in range(d - length + 1):
        matrix[t * count : (t + 1) * count, t : t + length] = exact(templates)
    # Correlations are computed by FFT: what they lose is in proportion to the longest.
    return _finite(atoms, matrix, atoms.dtype, eps=eps_of(atoms.dtype), loose=8.0)


def _operator(case: Case, d: int) -> Atoms:
    matrix = rows(case, case.whole(1, 12), d, case.pick("f8", "f8", "f4"), spoil=0)
    case.tell(behind=matrix)
    atoms = case.ask(lambda: pursuit.Operator(aslinearoperator(matrix.T)), NAMES)
    case.odd.append("operator")
    return _finite(atoms, exact(matrix), atoms.dtype, eps=eps_of(atoms.dtype))


def _union(case: Case, d: int) -> Atoms:
    kinds = {_dictionary: 1, coordinates: 1, _sparse_dictionary: 1, _shifts: 1}
    members = [case.weighted(kinds)(case, d) for _ in range(case.whole(1, 3))]
    atoms = case.ask(lambda: pursuit.Union(*(m.set for m in members)), NAMES, valid=not case.odd)
    case.odd.append("union")  # an atom may be there twice
    matrix = np.vstack([m.rows for m in members])
    return _finite(
        atoms, matrix, atoms.dtype, eps=max(m.eps for m in members),
        loose=max(m.loose for m in members),
    )  # fmt: skip


def _sphere(case: Case, d: int) -> Atoms:
    return Atoms(pursuit.Sphere(d), None, norm, np.dtype(np.float32))


def _transformed_sphere(case: Case, d: int) -> Atoms:
    M = _mixing(case, d)
    atoms = case.ask(lambda: pursuit.Transformed(pursuit.Sphere(d), M), NAMES)
    case.odd.append("transformed")
    inverse = exact(np.linalg.inv(M))
    return Atoms(atoms, None, lambda g: norm(inverse.T @ g), np.dtype(np.float64), loose=100.0)


def _groups(case: Case, d: int) -> Atoms:
    cuts = sorted(case.rng.choice(d, size=case.whole(0, min(3, d - 1)), replace=False).tolist())
    members = [part.tolist() for part in np.split(case.rng.permutation(d), cuts) if len(part)]
    if len(members) > 1 and case.chance(0.3):
        members.pop()  # coordinates in no group stay zero
    case.tell(groups=members)
    atoms = case.ask(lambda: pursuit.Groups(members, d), NAMES, valid=not case.odd)
    longest = lambda g: max(norm(g[part]) for part in members)  # noqa: E731
    return Atoms(atoms, None, longest, np.dtype(np.float32))


def _oracle(case: Case, d: int) -> Atoms:
    """A finite set behind a function; its atoms keep their norms."""
    matrix = case.keep("behind", case.rng.standard_normal((case.whole(d, 2 * d + 2), d)))
    lengths = np.linalg.norm(matrix, axis=1)

    def best(g: Array) -> Array:
        return matrix[int(np.argmax(np.abs(matrix @ g)))]

    def drawn(rng: np.random.Generator) -> Array:
        return matrix[int(rng.integers(len(matrix)))]

    sample = drawn if case.chance(0.7) else None
    case.odd.append("oracle")
    atoms = pursuit.Oracle(best, d, radius=float(lengths.max()), sample=sample)
    wide = exact(matrix)
    return Atoms(atoms, None, lambda g: np.abs(wide @ g).max(), np.dtype(np.float64))


# Objectives --------------------------------------------------------------------------------


def some_target(case: Case, atoms: Atoms, d: int) -> Target:
    """An objective over vectors of d numbers."""
    kinds = {_distance: 8, _least_squares: 5, _quadratic: 5, _logistic: 3, _huber: 2, _function: 1}
    kinds |= {_hinge: 1, _poisson: 1}
    return case.weighted(kinds)(case, atoms, d)


def linear_model(case: Case, atoms: Atoms, d: int) -> Target:
    kinds = {_least_squares: 5, _logistic: 3, _huber: 2, _hinge: 2, _poisson: 2}
    return case.weighted(kinds)(case, atoms, d)


def quadratic_target(case: Case, atoms: Atoms, d: int) -> Target:
    return case.weighted({_distance: 3, _least_squares: 2, _quadratic: 2})(case, atoms, d)


def _distance(case: Case, atoms: Atoms, d: int) -> Target:
    behind = np.eye(d) if atoms.rows is None else atoms.rows
    b = case.keep("b", near(case, behind, 1, real_type(case))[0])
    f = case.ask(lambda: pursuit.SquaredDistance(b), NAMES, valid=not case.odd)
    return Target(f, Squares(None, b), f.dtype)


def _measured(case: Case, d: int) -> tuple[Array, Array]:
    m = case.whole(1, 14)
    A = rows(case, m, d, real_type(case))
    b = cast(case, case.rng.standard_normal(m) * magnitude(case, A.dtype), real_type(case))
    return A, case.keep("b", b)


def _linear_map(case: Case, name: str, A: Array) -> Any:
    """A matrix as an array, a sparse array (with entries in two parts) or an operator."""
    case.tell(**{name: A})
    kind = case.weighted({"dense": 6, "sparse": 1, "coo": 0.5, "operator": 1})
    if kind == "dense" or A.dtype.kind == "b" or A.dtype.itemsize == 2 or not A.dtype.isnative:
        return case.keep(name, laid_out(case, A))
    if kind == "operator" and np.isfinite(A).all():
        case.odd.append("operator")
        return aslinearoperator(A.astype(np.float64))
    if kind == "coo":
        r, c = np.indices(A.shape).reshape(2, -1)
        half = (A / 2).astype(A.dtype).reshape(-1)
        rest = A.reshape(-1) - half
        return coo_array((np.r_[half, rest], (np.r_[r, r], np.r_[c, c])), shape=A.shape)
    return csr_array(A)


def _least_squares(case: Case, atoms: Atoms, d: int) -> Target:
    A, b = _measured(case, d)
    given = _linear_map(case, "A", A)
    f = case.ask(lambda: pursuit.LeastSquares(given, b), NAMES, valid=not case.odd)
    return Target(f, Squares(A, b), f.dtype)


def _quadratic(case: Case, atoms: Atoms, d: int) -> Target:
    root = rows(case, case.whole(1, d + 2), d, "f8", spoil=0.01)
    H = cast(case, root.T @ root, case.pick("f8", "f8", "f4"))
    b = near(case, np.eye(d), 1, H.dtype)[0]
    if case.chance(0.7) and np.isfinite(H).all():
        b = (H @ b.astype(H.dtype)).astype(H.dtype)  # in its range: bounded below
    case.odd.append("quadratic")  # it may be flat, or not positive enough
    H, b = case.keep("H", H), case.keep("b", b)
    f = case.ask(lambda: pursuit.Quadratic(H, b), NAMES)
    return Target(f, Bowl(H, b), f.dtype)


def _labels(case: Case, samples: int) -> Array:
    y = case.keep("y", case.pick(case.rng.integers(0, 2, samples), np.ones(samples, int)))
    return case.keep("y", 2 * y - 1) if case.chance(0.5) else y


def _logistic(case: Case, atoms: Atoms, d: int) -> Target:
    X, _ = _measured(case, d)
    y, l2, weights = _labels(case, len(X)), _ridge(case), _sample_weights(case, len(X))
    given = _linear_map(case, "X", X)
    make = lambda: pursuit.Logistic(given, y, l2=l2, weights=weights)  # noqa: E731
    f = case.ask(make, NAMES, valid=not case.odd)
    return Target(f, LogisticLoss(X, y, l2, _as(f, weights)), f.dtype)


def _hinge(case: Case, atoms: Atoms, d: int) -> Target:
    X, _ = _measured(case, d)
    y, l2, weights = _labels(case, len(X)), _ridge(case), _sample_weights(case, len(X))
    given = _linear_map(case, "X", X)
    make = lambda: pursuit.SquaredHinge(given, y, l2=l2, weights=weights)  # noqa: E731
    f = case.ask(make, NAMES, valid=not case.odd)
    return Target(f, HingeLoss(X, y, l2, _as(f, weights)), f.dtype)


def _huber(case: Case, atoms: Atoms, d: int) -> Target:
    X, y = _measured(case, d)
    l2, weights = _ridge(case), _sample_weights(case, len(X))
    delta = 10.0 ** case.rng.uniform(-2, 1) * max(float(np.abs(y.astype(float)).max()), 1e-30)
    case.tell(delta=delta)
    given = _linear_map(case, "X", X)
    make = lambda: pursuit.Huber(given, y, delta, l2=l2, weights=weights)  # noqa: E731
    f = case.ask(make, NAMES, valid=not case.odd)
    return Target(f, HuberLoss(X, _as(f, y), l2, _as(f, weights), delta), f.dtype)


def _poisson(case: Case, atoms: Atoms, d: int) -> Target:
    X, _ = _measured(case, d)
    y = case.keep("y", case.rng.poisson(case.pick(0.5, 3.0, 100.0), len(X)))
    l2, weights = _ridge(case), _sample_weights(case, len(X))
    given = _linear_map(case, "X", X)
    make = lambda: pursuit.Poisson(given, y, l2=l2, weights=weights)  # noqa: E731
    f = case.ask(make, NAMES, valid=not case.odd)
    case.odd.append("poisson")  # some methods need a smoothness constant, which it does not have
    return Target(f, PoissonLoss(X, _as(f, y), l2, _as(f, weights)), f.dtype)


def _as(f: Any, array: Array | None) -> Array | None:
    """In the precision of the samples, which weights and responses are brought to."""
    return None if array is None else array.astype(f.dtype)


def _ridge(case: Case) -> float:
    l2 = case.pick(0.0, 1.0, 1e-3, 10.0 ** case.rng.uniform(-6, 3))
    case.tell(l2=l2)
    return l2


def _sample_weights(case: Case, samples: int) -> Array | None:
    if case.chance(0.7):
        return None
    weights = case.rng.random(samples) * (case.rng.random(samples) < 0.8)
    weights[0] += 0.1
    return case.keep("weights", weights)


def _function(case: Case, atoms: Atoms, d: int) -> Target:
    """A least-squares problem that the library knows as two functions alone."""
    A, b = case.keep("A", case.rng.standard_normal((d + 1, d))), case.rng.standard_normal(d + 1)
    value = lambda x: 0.5 * float(np.sum((A @ x - b) ** 2))  # noqa: E731
    gradient = lambda x: A.T @ (A @ x - b)  # noqa: E731
    L = float(np.linalg.norm(A, 2) ** 2) if case.chance(0.6) else None
    case.tell(b=b, L=L)
    case.odd.append("function")
    f = pursuit.Function(value, gradient, shape=d, L=L)
    return Target(f, Squares(A, b), np.dtype(np.float64))
