"""Every public callable with arguments that it takes, and what of its answers is compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import pursuit
from fuzz.generators import Array
from pursuit import InputError, certificates, geometry, methods, rates, unmixing


@dataclass(frozen=True)
class Door:
    """A callable, its arrays, its other arguments, and what of its answer is compared.

    `sparse` are the arrays that it takes as sparse ones alone. What is `lenient` may take what is
    no array of numbers for one, as scikit-learn does with texts of numbers.
    """

    call: Callable[..., Any]
    arrays: dict[str, Array]
    others: dict[str, Any] = field(default_factory=dict)
    compared: Callable[[Any], Any] = repr
    sparse: frozenset[str] = frozenset()
    lenient: bool = False

    def plain(self, name: str) -> Any:
        """An array as the callable takes it."""
        return csr_array(self.arrays[name]) if name in self.sparse else self.arrays[name].copy()


def _bytes(*names: str) -> Callable[[Any], bytes]:
    return lambda answer: b"".join(np.asarray(getattr(answer, n)).tobytes() for n in names)


_RNG = np.random.default_rng(5)
Z, S, B = _RNG.standard_normal((7, 4)), _RNG.random((5, 4)), _RNG.random(4)
X, Y, H = _RNG.standard_normal((6, 4)), _RNG.random(6), np.diag([1.0, 2.0, 3.0, 4.0])
SIGNS, P, FEW = np.array([0, 1, 1, 0, 1, 0.0]), np.full(7, 1 / 7), np.round(X, 1)


@cache
def doors() -> dict[str, Door]:
    known = _objectives() | _sets() | _structured() | _runs() | _learning() | _spaces()
    return known | _constants() | _theorems() | _estimators()


def _objectives() -> dict[str, Door]:
    left, right = X[:, :2], H[:, :2]
    dense = lambda answer: _rounded(answer.toarray())  # noqa: E731
    functions = {"value": np.sum, "gradient": np.ones_like, "shape": 3, "L": 1.0}
    return {
        "SquaredDistance": Door(pursuit.SquaredDistance, {"b": B}, {}, _bytes("b")),
        "LeastSquares": Door(pursuit.LeastSquares, {"A": X, "b": Y}, {}, _slope),
        "Quadratic": Door(pursuit.Quadratic, {"H": H, "b": B}, {}, _bytes("H", "b")),
        "Logistic": Door(pursuit.Logistic, {"X": X, "y": SIGNS, "weights": Y}, {"l2": 1.0}, _slope),
        "Huber": Door(
            pursuit.Huber, {"X": X, "y": Y, "weights": Y}, {"delta": 1.0, "l2": 0.1}, _slope
        ),
        "SquaredHinge": Door(pursuit.SquaredHinge, {"X": X, "y": SIGNS}, {"l2": 1.0}, _slope),
        "Poisson": Door(pursuit.Poisson, {"X": X, "y": Y}, {"l2": 1.0, "intercept": True}, _slope),
        "L1": Door(pursuit.L1, {"weights": P}, {}, _bytes("weights")),
        "Box": Door(pursuit.Box, {"lower": -P, "upper": P}, {}, _bytes("lower", "upper")),
        "MatrixDistance": Door(pursuit.MatrixDistance, {"B": X}, {}, _slope),
        "MatrixEntries": Door(
            pursuit.MatrixEntries, {"B": X}, {}, _bytes("entries"), frozenset({"B"})
        ),
        "SparsePlusLowRank": Door(
            pursuit.SparsePlusLowRank,
            {"left": left, "right": right, "sparse": FEW},
            {},
            dense,
            frozenset({"sparse"}),
        ),
        "Function": Door(pursuit.Function, {}, functions),
    }


def _sets() -> dict[str, Door]:
    atoms = pursuit.Dictionary(Z)
    known = {"function": np.sign, "shape": 3, "radius": 2.0, "rank": 3}
    return {
        "Dictionary": Door(pursuit.Dictionary, {"atoms": Z}, {}, _bytes("matrix")),
        "Cone": Door(pursuit.Cone, {"atoms": Z}, {}, _bytes("matrix")),
        "Transformed": Door(pursuit.Transformed, {"M": H}, {"atoms": atoms}, _bytes("matrix")),
        "Groups": Door(pursuit.Groups, {}, {"groups": [[0, 1], [2]], "size": 4}),
        "Coordinates": Door(pursuit.Coordinates, {}, {"n": 3}),
        "RankOne": Door(pursuit.RankOne, {}, {"rows": 3, "columns": 2}),
        "Oracle": Door(pursuit.Oracle, {}, known),
        "Sampling": Door(pursuit.Sampling, {"p": P}, {"atoms": atoms}, _bytes("p")),
    }


def _structured() -> dict[str, Door]:
    norms, atoms = np.linalg.norm(Z, axis=1), pursuit.Dictionary(Z)
    columns = {"operator": Z.T, "norms": norms}
    windows = {"length": 64, "scales": (16, 64), "hop": 0.25, "channels": 2, "cut": 1e-3}
    trees = {"max_depth": 1, "min_samples_leaf": 1, "seed": 0}
    return {
        "Shifts": Door(pursuit.Shifts, {"templates": Z}, {"shape": 9}, _bytes("templates")),
        "Operator": Door(pursuit.Operator, columns, {"shape": 4}, _bytes("norms")),
        "SparseDictionary": Door(
            pursuit.SparseDictionary,
            {"atoms": FEW},
            {"shape": 4},
            lambda atoms: _rounded(atoms.norms),
            frozenset({"atoms"}),
        ),
        "Union": Door(lambda sets: pursuit.Union(atoms, sets), {}, {"sets": atoms}),
        "Gabor": Door(pursuit.Gabor, {}, windows),
        "RegressionTrees": Door(pursuit.RegressionTrees, {"X": X}, trees, _bytes("X")),
    }


def _learning() -> dict[str, Door]:
    """What learns, and what takes apart."""
    limits = {"n_nonzero": 1, "method": "online", "passes": 1, "seed": 0, "tol": 0.1}
    options = {"n_atoms": 2, "progress": False, "threads": 1, "nonnegative": False}
    long = np.sin(np.arange(80.0))
    sizes = {"n_templates": 1, "length": 5, "n_atoms": 2, "rounds": 2, "method": "mp", "seed": 0}
    goal = {"rate": 8000.0, "snr": 3.0, "max_atoms": 4, "scales": (16, 32), "hop": 0.25}
    return {
        "learn": Door(
            pursuit.learn, {"signals": S, "start": Z[:2]}, limits | options, _bytes("atoms")
        ),
        "learn_templates": Door(
            pursuit.learn_templates, {"signal": long}, sizes, _bytes("templates")
        ),
        "decompose": Door(
            pursuit.decompose, {"signal": long}, goal | {"resume": False}, _bytes("amplitude")
        ),
        "snr": Door(pursuit.decompose(long, 1.0).snr, {"signal": long}, {}, _rounded),
    }


def _spaces() -> dict[str, Door]:
    """Paths, prepared dictionaries, other inner products."""
    f, atoms = pursuit.LeastSquares(X, Y), pursuit.Coordinates(4)
    many = {"penalty": pursuit.L1(1.0), "method": "cyclic", "points": 3, "least": 0.1, "tol": 0.1}
    limits = {"method": "orthogonal", "n_nonzero": 2, "threads": 1, "expected": 5, "seed": 0}
    encoded = lambda **given: pursuit.Encoder(**given)(S)  # noqa: E731
    return {
        "path": Door(
            pursuit.path, {"strengths": np.array([2.0, 1.0])}, {"f": f, "atoms": atoms} | many,
            _bytes("values"),
        ),
        "Encoder": Door(encoded, {"atoms": Z}, limits, _bytes("indices", "values")),
        "Encoder()": Door(
            lambda signals: pursuit.Encoder(Z, n_nonzero=2)(signals).compute()
            if type(signals).__module__.startswith("dask")
            else pursuit.Encoder(Z, n_nonzero=2)(signals),
            {"signals": S}, {}, _bytes("indices", "values"),
        ),
        "InnerProduct": Door(
            lambda weights: pursuit.InnerProduct(weights=weights).norm(B), {"weights": B}
        ),
        "InnerProduct of a matrix": Door(
            lambda gram: pursuit.InnerProduct(gram=gram).norm(B), {"gram": H}
        ),
        "norm": Door(pursuit.InnerProduct(weights=B).norm, {"x": B}),
    }  # fmt: skip


def _rounded(w: Any) -> bytes:
    return (np.asarray(w).round(9) + 0.0).tobytes()


def _slope(f: Any) -> bytes:
    """The gradient somewhere: no two matrices have the same."""
    x = 0.1 * np.arange(1.0, 1 + np.prod(f.shape))  # an exponential of it is no large number
    return _rounded(f.gradient(x.reshape(f.shape)))


def _estimators() -> dict[str, Door]:
    """What scikit-learn does not check: arguments that are no arrays."""
    from pursuit import estimators

    greedy = {"n_nonzero": 2, "l2": 0.1, "fit_intercept": True, "unit_atoms": True}
    chosen = {"max_nonzero": 2, "criterion": "cv", "cv": 3, "scoring": None, "rule": "best"}
    bent = {"l1_ratio": 1.0, "positive": False, "tol": 1e-12, "max_iter": 99, "fit_intercept": True}
    few = {"n_nonzero_coefs": 2, "tol": None, "fit_intercept": True, "unit_atoms": True}
    folds = {"cv": 3, "max_iter": 2, "n_jobs": None, "unit_atoms": True, "positive": False}
    loss = {"loss": "squared", "delta": 1.35}
    coded = {"method": "orthogonal", "n_nonzero": 2, "sparse_output": False, "n_jobs": None}
    learnt = {"n_components": 2, "method": "online", "n_nonzero": 1, "passes": 1, "random_state": 0}
    made: dict[str, tuple[dict[str, Any], Array]] = {
        "PursuitRegressor": (greedy | loss, Y),
        "PursuitClassifier": (greedy, SIGNS),
        "PursuitRegressorCV": (chosen | loss | {"n_jobs": None}, Y),
        "PursuitClassifierCV": (chosen | {"n_jobs": None}, SIGNS),
        "PenalisedRegressor": ({"alpha": 0.1} | bent | loss, Y),
        "PenalisedClassifier": ({"C": 1.0} | bent, SIGNS),
        "OrthogonalMatchingPursuit": (few | {"precompute": "auto"}, Y),
        "OrthogonalMatchingPursuitCV": (folds, Y),
        "PursuitCoder": (coded, Y),
        "PursuitDictionary": (learnt, Y),
    }

    def fitted(kind: Any, y: Array) -> Callable[..., Any]:
        return lambda **options: kind(**options).fit(X, y)

    def of_arrays(kind: Any, options: dict[str, Any]) -> Callable[..., Any]:
        def fit(X: Any, y: Any = None) -> Any:
            try:
                return kind(**options).fit(X, y)
            except InputError:
                raise
            except (TypeError, ValueError) as error:  # arrays are refused in its own words
                raise InputError("X: refused by scikit-learn") from error

        return fit

    def rounded(model: Any) -> bytes:
        kept = getattr(model, "coef_", getattr(model, "components_", 0.0))
        return _rounded(np.round(np.asarray(kept, np.float64), 4))

    options_alone = {
        name: Door(fitted(getattr(estimators, name), y), {}, options, rounded)
        for name, (options, y) in made.items()
    }
    return options_alone | {
        f"{name}, arrays": Door(
            of_arrays(getattr(estimators, name), options),
            {"X": X} if name in UNSUPERVISED else {"X": X, "y": y},
            {},
            rounded,
            lenient=True,
        )
        for name, (options, y) in made.items()
    }


UNSUPERVISED = ("PursuitCoder", "PursuitDictionary")


def _solve(f: Any = None, atoms: Any = None, method: Any = "matching-pursuit", **more: Any) -> Any:
    f = pursuit.SquaredDistance(B) if f is None else f
    atoms = pursuit.Dictionary(Z) if atoms is None else atoms
    return pursuit.solve(f, atoms, method, max_iter=3, progress=False, **more)


def _encode(**arguments: Any) -> Any:
    """Codes; those of dask arrays are lazy."""
    codes = pursuit.encode(**arguments)
    return codes.compute() if hasattr(codes, "compute") else codes


def _along(direction: Any) -> Any:
    return _solve(method=methods.matching_pursuit(direction=direction))


def _runs() -> dict[str, Door]:
    codes = pursuit.encode(S, Z, n_nonzero=2)
    rules = {"method": "matching-pursuit", "callback": None, "seed": 1, "resume": None}
    limits = {"method": "orthogonal", "n_nonzero": 2, "threads": 1, "rtol": 0.1, "progress": False}
    bound = {"constraint": "non-negative", "threads": 1}
    numbers = np.array([0, 1, 2])
    return {
        "solve": Door(
            _solve,
            {"x0": B, "coef0": np.arange(7.0), "atoms": Z},
            {"f": pursuit.SquaredDistance(B)} | rules,
            _bytes("x"),
        ),
        "Approximate": Door(
            lambda delta: _along(pursuit.Approximate(delta)), {}, {"delta": 0.5}, _bytes("x")
        ),
        "Replay": Door(
            lambda indices: _along(pursuit.Replay(indices)), {"indices": numbers}, {}, _bytes("x")
        ),
        "encode": Door(_encode, {"signals": S, "atoms": Z}, limits, _bytes("indices", "values")),
        "codes @": Door(lambda atoms: codes @ atoms, {"atoms": Z}, {}, lambda a: a.tobytes()),
        "unmix": Door(_unmixed, {"scene": S, "endmembers": Z}, bound, _bytes("abundances")),
        "pick": Door(unmixing.pick, {"pixels": S}, {"r": 2}),
        "spa": Door(unmixing.spa, {"pixels": S}, {"r": 2}),
        "h2nmf": Door(unmixing.h2nmf, {"pixels": S}, {"r": 2}),
    }


def _unmixed(scene: Any, endmembers: Any, **options: Any) -> Any:
    """Abundances of rows; labelled scenes give others, and these spectra fit nothing well."""
    rows = scene.values if type(scene).__module__.startswith("xarray") else scene
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the fit is bad")
        return unmixing.unmix(rows, endmembers, **options)


def _constants() -> dict[str, Door]:
    f, atoms = pursuit.SquaredDistance(B), pursuit.Dictionary(Z)
    both = {"f": f, "atoms": atoms}
    tolerance = {"atoms": atoms, "tolerance": 1e-3}
    return {
        "gauge": Door(geometry.gauge, {"x": B}, {"atoms": atoms}),
        "dual_norm": Door(geometry.dual_norm, {"d": B}, {"atoms": atoms}),
        "leverage": Door(geometry.leverage, {"sampling": P}, {"atoms": atoms}, _rounded),
        "nu": Door(geometry.nu, {"sampling": P}, {"atoms": atoms, "delta": 1.0}),
        "gap": Door(geometry.gap, {"x": B}, both),
        "distance": Door(geometry.distance, {"x0": B, "sampling": P}, both),
        "optimal_sampling": Door(geometry.optimal_sampling, {}, tolerance, _bytes("p")),
    }


def _theorems() -> dict[str, Door]:
    f, atoms = pursuit.SquaredDistance(B), pursuit.Dictionary(Z)
    both = {"f": f, "atoms": atoms}
    result = _solve(method="accelerated-random")
    third = both | {"delta": 0.5, "algorithm": 2, "given": {"R_A": 2.0}}
    sure = {"result": result, "confidence": 0.9, "given": {"μ_A": 1.0}}
    return {
        "theorem_3": Door(rates.theorem_3, {"x0": B}, third, str),
        "theorem_8": Door(rates.theorem_8, {"sampling": P}, both | {"given": {"ν": 9.0}}, str),
        "certify": Door(certificates.certify, {}, sure, str),
    }
