"""The area `inputs`: every public callable with one argument that is not what it should be.

The same numbers in another container give the same answer, or an InputError. What is no array of
real numbers, or no sensible option, is an InputError that names the argument, or is accepted
where it has a meaning; it never is another exception, and never a wrong answer about numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import pursuit
from fuzz.case import Case, Rejected
from fuzz.data import Array
from pursuit import InputError, certificates, estimators, geometry, rates, unmixing


@dataclass(frozen=True)
class Entry:
    """A callable, its arrays, its other arguments, and what of its answer is compared."""

    function: Callable[..., Any]
    arrays: dict[str, Array]
    others: dict[str, Any] = field(default_factory=dict)
    facts: Callable[[Any], Any] = repr


RNG = np.random.default_rng(5)
Z, S, B = RNG.standard_normal((7, 4)), RNG.random((5, 4)), RNG.random(4)
X, Y, H = RNG.standard_normal((6, 4)), RNG.random(6), np.diag([1.0, 2.0, 3.0, 4.0])
CLASSES, P = np.array([0, 1, 1, 0, 1, 0.0]), np.full(7, 1 / 7)
SOUND = np.sin(np.arange(80.0))


def parts(*names: str) -> Callable[[Any], Any]:
    """Return a function that gives arrays of an answer, up to rounding."""

    def facts(answer: Any) -> list[Any]:
        return [rounded(getattr(answer, name)) for name in names]

    return facts


def rounded(array: Any) -> Any:
    """Return digits that do not depend on memory order."""
    return (np.asarray(array, np.float64).round(6) + 0.0).tolist()


def gradient(f: Any) -> Any:
    """Return the gradient somewhere: no two matrices have the same."""
    x = 0.1 * np.arange(1.0, 1 + np.prod(f.shape))
    return rounded(f.gradient(x.reshape(f.shape)))


@cache
def entries() -> dict[str, Entry]:
    """Return the public callables with arguments that they accept."""
    return _objectives() | _sets() | _runs() | _constants() | _models()


def _objectives() -> dict[str, Entry]:
    model: dict[str, Any] = {"l2": 0.5, "intercept": True}
    return {
        "SquaredDistance": Entry(pursuit.SquaredDistance, {"b": B}, {}, gradient),
        "LeastSquares": Entry(pursuit.LeastSquares, {"A": X, "b": Y, "weights": Y}, {}, gradient),
        "Quadratic": Entry(pursuit.Quadratic, {"H": H, "b": B}, {}, gradient),
        "Logistic": Entry(pursuit.Logistic, {"X": X, "y": CLASSES, "weights": Y}, model, gradient),
        "Huber": Entry(pursuit.Huber, {"X": X, "y": Y}, model | {"delta": 1.0}, gradient),
        "SquaredHinge": Entry(pursuit.SquaredHinge, {"X": X, "y": CLASSES}, model, gradient),
        "Poisson": Entry(pursuit.Poisson, {"X": X, "y": Y}, model, gradient),
        "MatrixDistance": Entry(pursuit.MatrixDistance, {"B": X}, {}, gradient),
        "L1": Entry(pursuit.L1, {"weights": P}, {}, parts("weights")),
        "Box": Entry(pursuit.Box, {"lower": -P, "upper": P}, {}, parts("lower", "upper")),
    }


def _sets() -> dict[str, Entry]:
    atoms = pursuit.Dictionary(Z)
    return {
        "Dictionary": Entry(pursuit.Dictionary, {"atoms": Z}, {}, parts("matrix")),
        "Cone": Entry(pursuit.Cone, {"atoms": Z}, {}, parts("matrix")),
        "Transformed": Entry(pursuit.Transformed, {"M": H}, {"atoms": atoms}, parts("matrix")),
        "Shifts": Entry(pursuit.Shifts, {"templates": Z}, {"shape": 9}, parts("templates")),
        "Groups": Entry(pursuit.Groups, {}, {"groups": [[0, 1], [2]], "size": 4}),
        "Coordinates": Entry(pursuit.Coordinates, {}, {"n": 3}),
        "RankOne": Entry(pursuit.RankOne, {}, {"rows": 3, "columns": 2}),
        "Sampling": Entry(pursuit.Sampling, {"p": P}, {"atoms": atoms}, parts("p")),
        "Gabor": Entry(pursuit.Gabor, {}, {"length": 64, "scales": (16, 64), "hop": 0.25}),
    }


def _solve(f: Any = None, atoms: Any = Z, method: Any = "mp", **options: Any) -> Any:
    f = pursuit.SquaredDistance(B) if f is None else f
    return pursuit.solve(f, atoms, method, progress=False, **({"max_iter": 3} | options))


def _unmix(**arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the fit is bad")
        return unmixing.unmix(progress=False, **arguments)


def _runs() -> dict[str, Entry]:
    stopping = {"max_iter": 3, "tol": 0.1, "rtol": 0.1, "target": 0.0, "n_nonzero": 2, "rng": 1,
                "max_time": 9.0, "every": 1, "unit_atoms": True, "threads": 1}  # fmt: skip
    limits = {"method": "omp", "n_nonzero": 2, "max_iter": 3, "rtol": 0.1, "atol": 0.1, "rng": 0,
              "threads": 1, "unit_atoms": True}  # fmt: skip
    learning = {"n_atoms": 2, "n_nonzero": 1, "method": "mod", "passes": 1, "seed": 0, "tol": 0.1,
                "nonnegative": False}  # fmt: skip
    f, atoms = pursuit.LeastSquares(X, Y), pursuit.Coordinates(4)
    path = {
        "f": f,
        "atoms": atoms,
        "method": "cyclic",
        "n_lambdas": 3,
        "lambda_min_ratio": 0.1,
        "tol": 0.1,
    }
    codes = parts("indices", "values")
    decomposing = {"rate": 8000.0, "snr": 3.0, "max_atoms": 4, "scales": (16, 32), "hop": 0.25}
    return {
        "solve": Entry(_solve, {"x0": B, "coef0": P, "atoms": Z}, stopping, parts("x")),
        "solve, rules": Entry(_solve, {}, {"f": f, "atoms": atoms, "method": "mp"}, parts("x")),
        "path": Entry(pursuit.path, {"lambdas": np.array([2.0, 1])}, path, parts("values")),
        "encode": Entry(pursuit.encode, {"signals": S, "atoms": Z}, limits, codes),
        "Encoder": Entry(
            lambda **options: pursuit.Encoder(**options)(S), {"atoms": Z},
            limits | {"expected": 5}, codes,
        ),
        "learn": Entry(pursuit.learn, {"signals": S, "start": Z[:2]}, learning, parts("atoms")),
        "decompose": Entry(pursuit.decompose, {"signal": SOUND}, decomposing, parts("amplitude")),
        "unmix": Entry(
            _unmix, {"scene": S, "endmembers": Z}, {"constraint": "none", "threads": 1},
            parts("abundances"),
        ),
        "spa": Entry(unmixing.spa, {"pixels": S}, {"r": 2}, parts("endmembers")),
        "vca": Entry(unmixing.vca, {"pixels": S}, {"r": 2, "seed": 0}, parts("endmembers")),
        "Approximate": Entry(
            lambda delta: _solve(method=pursuit.methods.matching_pursuit(
                direction=pursuit.Approximate(delta))),
            {}, {"delta": 0.5}, parts("x"),
        ),
    }  # fmt: skip


def _constants() -> dict[str, Entry]:
    f, atoms = pursuit.SquaredDistance(B), pursuit.Dictionary(Z)
    both: dict[str, Any] = {"f": f, "atoms": atoms}
    proof = {"result": _solve(method="accelerated-random"), "confidence": 0.9}
    return {
        "gauge": Entry(geometry.gauge, {"x": B}, {"atoms": atoms}, rounded),
        "dual_norm": Entry(geometry.dual_norm, {"d": B}, {"atoms": atoms}, rounded),
        "leverage": Entry(geometry.leverage, {"sampling": P}, {"atoms": atoms}, rounded),
        "nu": Entry(geometry.nu, {"sampling": P}, {"atoms": atoms}, rounded),
        "smoothness": Entry(geometry.smoothness, {}, both),
        "gap": Entry(geometry.gap, {"x": B}, both, rounded),
        "theorem_3": Entry(rates.theorem_3, {"x0": B}, both | {"delta": 0.5}, str),
        "certify": Entry(certificates.certify, {}, proof, str),
    }


def _models() -> dict[str, Entry]:
    """What scikit-learn does not check: options of estimators."""
    options: dict[str, dict[str, Any]] = {
        "PursuitRegressor": {"n_nonzero": 2, "l2": 0.1, "fit_intercept": True},
        "OrthogonalMatchingPursuit": {"n_nonzero_coefs": 2, "tol": None, "fit_intercept": True},
        "PursuitDictionary": {"n_components": 2, "n_nonzero": 1, "passes": 1, "random_state": 0},
    }

    def fitted(kind: Any) -> Callable[..., Any]:
        return lambda **options: kind(**options).fit(X, Y)

    return {
        name: Entry(fitted(getattr(estimators, name)), {}, others, str)
        for name, others in options.items()
        if hasattr(estimators, name)
    }


# What arguments are replaced with ----------------------------------------------------------

CONTAINERS: dict[str, Callable[[Array], Any]] = {
    "lists": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()),
    "Fortran order": np.asfortranarray,
    "big-endian": lambda a: a.astype(">f8"),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "unmasked": lambda a: np.ma.array(a),
    "matrix": lambda a: np.asmatrix(a) if a.ndim == 2 else a,
    "extended": lambda a: a.astype(np.longdouble),
    "numbers as objects": lambda a: a.astype(object),
}
"""The same numbers."""


def _with(value: float) -> Callable[[Array], Array]:
    def replace(array: Array) -> Array:
        array = array.copy()
        array.flat[-1] = value
        return array

    return replace


NO_NUMBERS: dict[str, Callable[[Array], Any]] = {
    "nan": _with(np.nan),
    "inf": _with(np.inf),
    "masked": lambda a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 0),
    "complex": lambda a: a + 1j,
    "texts": lambda a: a.astype(str),
    "dates": lambda a: np.zeros(a.shape, "datetime64[s]"),
    "records": lambda a: np.zeros(a.shape, "f8,f8"),
    "ragged": lambda a: [[1.0, 2.0], [3.0]],
    "mapping": lambda a: {"a": 1},
    "set": lambda a: {1.0, 2.0},
    "class": lambda a: np.ndarray,
}
"""No arrays of finite real numbers."""
MISFITS: dict[str, Callable[[Array], Any]] = {
    "empty": lambda a: a[:0],
    "no columns": lambda a: a[..., :0],
    "two more axes": lambda a: a[None, None],
    "nothing": lambda a: None,
    "number": lambda a: 3.0,
    "text": lambda a: "signals",
    "sparse": lambda a: csr_array(np.atleast_2d(a)),
    "too large": lambda a: a * 1e100,
    "too small": lambda a: a * 1e-100,
}
"""What some argument may accept, or what has another meaning."""
JUNK: tuple[Any, ...] = (
    float("nan"), float("inf"), -1, 0, -0.5, 0.5, 1.0, 2**70, 10**400, True, "3", "", "nonsense",
    b"3", None, [], [1], (1, 2), {}, 1j, Fraction(1, 3), np.float32(0.5), np.int64(2), np.array(2),
    np.array([1.0, 2.0]), np.nan, object, len, range(3), slice(None),
)  # fmt: skip
"""Values for anything that is no array."""
OPTIONAL = ("x0", "coef0", "sampling", "weights", "start", "lambdas")
"""Arrays that are left out unless they are tried."""
LONG = ("max_iter", "passes")
"""Numbers of iterations, all of which may be made."""
NAMES = ("f", "atoms", "method", "signals", "X", "y", "A", "H", "size", "L", "lower", "upper", "p",
         "penalty", "sampling", "n_nonzero", "rows", "columns", "shape", "pixels", "weights", "b",
         "coef0", "x0", "signal", "μ_A", "ν", "ν′", "L_A", "R_A")  # fmt: skip
"""What a message may name, beside the arguments of the call."""
WARNED = ("the fit is bad", "found .* endmembers", ".*max_atoms", ".*is more than", "MAX_ITER")


def run(case: Case) -> None:
    """Call a public callable with one argument replaced."""
    name = case.choose(*entries())
    entry = entries()[name]
    argument = case.choose(*entry.arrays, *entry.others)
    case.record(callable=name, argument=argument)
    arrays = {k: v.copy() for k, v in entry.arrays.items() if k not in OPTIONAL}
    arguments = arrays | entry.others
    if argument in entry.arrays:
        _replace_array(case, entry, argument, arguments)
    else:
        _replace_option(case, entry, argument, arguments)


def _call(case: Case, entry: Entry, arguments: dict[str, Any], *, valid: bool = False) -> Any:
    return case.call(entry.function, names=NAMES, valid=valid, warned=WARNED, **arguments)


def _replace_array(case: Case, entry: Entry, argument: str, arguments: dict[str, Any]) -> None:
    good = entry.arrays[argument]
    kinds = case.choose(CONTAINERS, NO_NUMBERS, MISFITS)
    kind = case.choose(*kinds)
    case.record(value=kind)
    value = kinds[kind](good)
    if kinds is CONTAINERS:
        try:
            expected = entry.facts(entry.function(**arguments | {argument: good.copy()}))
        except InputError as error:  # of arguments that exclude each other
            raise Rejected(str(error)) from error
        answer = entry.facts(_call(case, entry, arguments | {argument: value}))
        case.require(answer == expected, f"{argument} as {kind}: another answer")
        return
    answer = _call(case, entry, arguments | {argument: value})
    # A bound may be infinite: there is none, then.
    infinite = kind == "inf" and argument in ("lower", "upper")
    accepted = kinds is MISFITS or infinite
    case.require(accepted, f"{argument} is accepted as {kind}: {entry.facts(answer)!r:.80}")


def _replace_option(case: Case, entry: Entry, argument: str, arguments: dict[str, Any]) -> None:
    value = case.choose(*JUNK)
    case.record(value=value)
    if argument in LONG and isinstance(value, int) and value > 1000:
        return  # more than anybody waits for
    answer = _call(case, entry, arguments | {argument: value})
    case.call(entry.facts, answer)
