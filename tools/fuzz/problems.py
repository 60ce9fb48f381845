"""Random problems: a set of atoms and an objective, each with its definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import pursuit
from fuzz.case import Case
from fuzz.data import Array, laid_out, magnitude, precision, rows, signals
from fuzz.truth import Bowl, Loss, eps_of, exact, norm

NAMES = (
    "f", "atoms", "b", "A", "H", "X", "y", "l2", "weights", "delta", "groups", "size", "shape",
    "templates", "operator", "method", "x0", "coef0", "penalty", "M", "L",
)  # fmt: skip
"""What a message about a problem may name."""


@dataclass(frozen=True)
class Atoms:
    """A set of atoms of the library, its rows, and the precision that they are stored in."""

    set: Any
    rows: Array
    eps: float
    nonnegative: bool = False

    @property
    def unit(self) -> Array:
        """The rows divided by their norms."""
        return self.rows / norm(self.rows)[:, None]


@dataclass(frozen=True)
class Target:
    """An objective of the library and its definition."""

    f: Any
    truth: Any
    eps: float


def random_atoms(case: Case, d: int, *, kinds: dict[str, float] | None = None) -> Atoms:
    """Return a finite set of atoms in d dimensions."""
    kind = case.weighted(
        kinds
        or {"dictionary": 8, "coordinates": 2, "cone": 2, "sparse": 1, "shifts": 1, "operator": 1,
            "union": 1, "transformed": 0.5}
    )  # fmt: skip
    case.record(atoms_kind=kind)
    if kind == "coordinates":
        return Atoms(pursuit.Coordinates(d), exact(np.eye(d)), eps_of("f4"))
    if kind == "shifts":
        return _shifts(case, d)
    n = case.integer(1, 14)
    matrix = rows(case, n, d, precision(case))
    eps = eps_of(matrix.dtype)
    case.record(atoms=matrix)
    if kind == "sparse":
        made = case.call(pursuit.SparseDictionary, csr_array(matrix), names=NAMES)
    elif kind == "operator":
        made = case.call(pursuit.Operator, aslinearoperator(matrix.T), names=NAMES)
    else:
        made = case.call(pursuit.Dictionary, laid_out(case, matrix), names=NAMES)
    if kind == "cone":
        return Atoms(pursuit.Cone(made), exact(matrix), eps, nonnegative=True)
    if kind == "union":
        both = np.vstack([exact(matrix), exact(np.eye(d))])
        return Atoms(pursuit.Union(made, pursuit.Coordinates(d)), both, eps)
    if kind == "transformed":
        M = case.input("M", np.eye(d) + 0.2 * case.rng.standard_normal((d, d)) / d)
        image = np.linalg.solve(M, matrix.astype(float).T).T
        return Atoms(case.call(pursuit.Transformed, made, M, names=NAMES), exact(image), 100 * eps)
    return Atoms(made, exact(matrix), eps)


def _shifts(case: Case, d: int) -> Atoms:
    """Return templates at every place: atom tK + k is template k moved by t."""
    count, length = case.integer(1, 3), case.integer(1, d)
    templates = case.input("templates", rows(case, count, length, precision(case), "gaussian"))
    made = case.call(pursuit.Shifts, templates, d, names=NAMES, valid=length > 1 or count == 1)
    matrix = np.zeros((count * (d - length + 1), d))
    for t in range(d - length + 1):
        matrix[t * count : (t + 1) * count, t : t + length] = templates
    return Atoms(made, exact(matrix), eps_of(templates.dtype))


def random_target(case: Case, atoms: Atoms, *kinds: str) -> Target:
    """Return an objective over the space of the atoms, of one of the kinds."""
    d = atoms.rows.shape[1]
    weights = {"distance": 6, "squares": 4, "quadratic": 3, "logistic": 2, "huber": 1, "hinge": 1,
               "poisson": 1}  # fmt: skip
    kind = case.weighted({k: v for k, v in weights.items() if not kinds or k in kinds})
    case.record(objective=kind)
    if kind == "distance":
        b = case.input("b", signals(case, atoms.rows.astype(float), 1, precision(case))[0])
        f = case.call(pursuit.SquaredDistance, b, names=NAMES)
        return Target(f, Loss("squares", np.eye(d), b), eps_of(b.dtype))
    if kind == "quadratic":
        root = rows(case, case.integer(1, d + 3), d, "f8", "gaussian", "low rank", "positive")
        H = root.T @ root
        b = case.input("b", H @ case.rng.standard_normal(d))
        f = case.call(pursuit.Quadratic, case.input("H", H), b, names=NAMES)
        return Target(f, Bowl(H, b), eps_of("f8"))
    return _linear_model(case, kind, d)


def _linear_model(case: Case, kind: str, d: int) -> Target:
    m, dtype = case.integer(1, 14), precision(case)
    X = rows(case, m, d, dtype)
    if kind == "poisson":  # exponentials of what coefficients of order one make of it
        X = (X / np.abs(X).max()).astype(dtype)
    scale = magnitude(case)
    y = {
        "logistic": case.rng.integers(0, 2, m).astype(float),
        "hinge": case.rng.integers(0, 2, m).astype(float),
        "poisson": case.rng.poisson(3.0, m).astype(float),
    }.get(kind, case.rng.standard_normal(m) * scale)
    y = case.input("y", y.astype(dtype))
    l2 = case.choose(0.0, 0.0, 10.0 ** case.rng.uniform(-3, 3))
    weights = case.input("weights", (case.rng.random(m) + 0.1).astype(dtype))
    delta = float(10.0 ** case.rng.uniform(-1, 1) * scale)
    options: dict[str, Any] = {"l2": l2, "weights": weights}
    case.record(X=X, l2=l2, delta=delta)
    given = csr_array(X) if case.chance(0.2) else laid_out(case, X)
    if kind == "huber":
        options["delta"] = delta
    maker = {"squares": pursuit.LeastSquares, "logistic": pursuit.Logistic, "huber": pursuit.Huber,
             "hinge": pursuit.SquaredHinge, "poisson": pursuit.Poisson}[kind]  # fmt: skip
    f = case.call(maker, given, y, names=NAMES, **options)
    truth = Loss(kind, X, y, l2, weights, delta)
    return Target(f, truth, eps_of(dtype))
