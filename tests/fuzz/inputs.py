"""The area `inputs`: every public door, with one argument that is not what it should be.

The same numbers in another coat (a list, a tensor, an unmasked masked array) are the same answer
or a refusal. What is no array of real numbers is a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import pursuit
from fuzz.case import Case, Refused, words
from fuzz.encoding import NAMES as ENCODE_NAMES
from fuzz.generators import JUNK, Array
from fuzz.geometry import NAMES as GEOMETRY_NAMES
from fuzz.solving import NAMES as SOLVE_NAMES
from fuzz.unmixing import NAMES as UNMIX_NAMES
from pursuit import InputError, certificates, geometry, rates, unmixing

NAMES = (
    SOLVE_NAMES
    | ENCODE_NAMES
    | UNMIX_NAMES
    | GEOMETRY_NAMES
    | words("p confidence result entries scene endmembers")
)


# Coats -------------------------------------------------------------------------------------


def _torch(array: Array, **options: Any) -> Any:
    import torch

    return torch.tensor(np.ascontiguousarray(array, np.float64), **options)


def _half(array: Array) -> Any:
    import torch

    return torch.tensor(np.ascontiguousarray(array)).to(torch.bfloat16)


def _dask(array: Array) -> Any:
    import dask.array

    return dask.array.from_array(array)


def _xarray(array: Array) -> Any:
    import xarray

    return xarray.DataArray(array)


class _Convertible:
    """Something that only NumPy can make an array of."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._array if dtype is None else self._array.astype(dtype)


COATS: dict[str, Callable[[Array], Any]] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "Fortran": np.asfortranarray,
    "subclass": lambda a: a.view(type("Sub", (np.ndarray,), {})),
    "unmasked": lambda a: np.ma.array(a),
    "object with __array__": _Convertible,
    "tensor": _torch,
    "tensor with grad": lambda a: _torch(a, requires_grad=True),
    "dask": _dask,
    "xarray": _xarray,
    "sparse": lambda a: csr_array(np.atleast_2d(a)),
    "list of arrays": list,
}
"""The same numbers."""


def _holed(value: float) -> Callable[[Array], Any]:
    def make(array: Array) -> Array:
        spoilt = array.astype(np.float64)
        spoilt.flat[-1] = value
        return spoilt

    return make


def _masked(array: Array) -> Any:
    mask = np.zeros(array.shape, bool)
    mask.flat[0] = True
    return np.ma.array(array, mask=mask)


RAGS: dict[str, Callable[[Array], Any]] = {
    "nan": _holed(np.nan),
    "inf": _holed(np.inf),
    "masked": _masked,
    "complex": lambda a: a + 1j,
    "texts": lambda a: a.astype(str),
    "bytes": lambda a: a.astype("S8"),
    "objects": lambda a: a.astype(object),
    "dates": lambda a: np.zeros(a.shape, "datetime64[s]"),
    "records": lambda a: np.zeros(a.shape, "f8,f8"),
    "empty": lambda a: a[:0],
    "no columns": lambda a: a[..., :0],
    "ragged": lambda a: [[1.0, 2.0], [3.0]],
    "text": lambda a: "signals",
    "nothing": lambda a: None,
    "mapping": lambda a: {"a": 1},
    "set": lambda a: {1.0, 2.0},
    "function": lambda a: np.mean,
    "class": lambda a: np.ndarray,
    "generator of numbers": lambda a: (float(v) for v in a.flat),
    "number": lambda a: 3.0,
    "half tensor": _half,
    "two more axes": lambda a: a[None, None],
}
"""No array of real numbers, or not one of that shape."""
FITTING = frozenset({"two more axes", "half tensor", "nothing", "number", "generator of numbers",
                     "empty", "function", "no columns", "text"})  # fmt: skip
"""Rags that some argument may take: they must not crash, and that is all."""


# Doors -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Door:
    """A public callable, arguments that it takes, and what of its answer is compared."""

    call: Callable[..., Any]
    arrays: dict[str, Array]
    others: dict[str, Any] = field(default_factory=dict)
    compared: Callable[[Any], Any] = repr


rng = np.random.default_rng(5)
Z, S, B, H = rng.standard_normal((7, 4)), rng.random((5, 4)), rng.random(4), np.diag([1.0, 2, 3, 4])
X, Y, SIGNS = rng.standard_normal((6, 4)), rng.random(6), np.array([0, 1, 1, 0, 1, 0.0])
P = np.full(7, 1 / 7)
F, ATOMS = pursuit.SquaredDistance(B), pursuit.Dictionary(Z)
RESULT = pursuit.solve(F, ATOMS, "accelerated-random", max_iter=5)
CODES = pursuit.encode(S, Z, n_nonzero=2)
SPARSE = csr_array(np.round(X, 1))


def _bytes(*names: str) -> Callable[[Any], bytes]:
    return lambda answer: b"".join(np.asarray(getattr(answer, n)).tobytes() for n in names)


DOORS: dict[str, Door] = {
    "Dictionary": Door(pursuit.Dictionary, {"atoms": Z}, {}, _bytes("matrix")),
    "Cone": Door(pursuit.Cone, {"atoms": Z}, {}, _bytes("matrix")),
    "SquaredDistance": Door(pursuit.SquaredDistance, {"b": B}, {}, _bytes("b")),
    "LeastSquares": Door(pursuit.LeastSquares, {"A": X, "b": Y}, {}, _bytes("b")),
    "Quadratic": Door(pursuit.Quadratic, {"H": H, "b": B}, {}, _bytes("H", "b")),
    "Logistic": Door(
        pursuit.Logistic, {"X": X, "y": SIGNS, "weights": Y}, {"l2": 1.0}, _bytes("y", "weights")
    ),
    "Huber": Door(
        pursuit.Huber, {"X": X, "y": Y, "weights": Y}, {"delta": 1.0, "l2": 0.1}, _bytes("y")
    ),
    "MatrixDistance": Door(pursuit.MatrixDistance, {"B": X}),
    "MatrixEntries": Door(pursuit.MatrixEntries, {}, {"B": SPARSE}),
    "SparsePlusLowRank": Door(
        pursuit.SparsePlusLowRank, {"left": X[:, :2], "right": H[:, :2]}, {"sparse": SPARSE},
        lambda a: a.toarray().tobytes(),
    ),
    "Function": Door(
        pursuit.Function, {}, {"value": np.sum, "gradient": np.ones_like, "shape": 3, "L": 1.0}
    ),
    "Transformed": Door(pursuit.Transformed, {"M": H}, {"atoms": ATOMS}, _bytes("matrix")),
    "Groups": Door(pursuit.Groups, {}, {"groups": [[0, 1], [2]], "size": 4}),
    "Coordinates": Door(pursuit.Coordinates, {}, {"n": 3}),
    "RankOne": Door(pursuit.RankOne, {}, {"rows": 3, "columns": 2}),
    "Oracle": Door(
        pursuit.Oracle, {}, {"function": np.sign, "shape": 3, "radius": 2.0, "rank": 3}
    ),
    "Sampling": Door(pursuit.Sampling, {"p": P}, {"atoms": ATOMS}, _bytes("p")),
    "solve": Door(
        lambda f=F, atoms=ATOMS, method="matching-pursuit", **o: pursuit.solve(
            f, atoms, method, max_iter=o.pop("max_iter", 3), progress=False, **o
        ),
        {"x0": B, "coef0": np.arange(7.0), "atoms": Z},
        {"f": F, "method": "matching-pursuit", "callback": None, "seed": 1, "resume": None},
        _bytes("x"),
    ),
    "encode": Door(
        lambda signals=S, atoms=Z, **o: pursuit.encode(signals, atoms, progress=False, **o),
        {"signals": S, "atoms": Z},
        {"method": "orthogonal", "n_nonzero": 2, "threads": 1, "rtol": 0.1},
        _bytes("indices", "values"),
    ),
    "unmix": Door(
        lambda scene=S, endmembers=Z, **o: unmixing.unmix(scene, endmembers, **o),
        {"scene": S, "endmembers": Z},
        {"constraint": "non-negative", "threads": 1},
        _bytes("abundances"),
    ),
    "spa": Door(unmixing.spa, {"pixels": S}, {"r": 2}),
    "h2nmf": Door(unmixing.h2nmf, {"pixels": S}, {"r": 2}),
    "gauge": Door(geometry.gauge, {"x": B}, {"atoms": ATOMS}),
    "dual_norm": Door(geometry.dual_norm, {"d": B}, {"atoms": ATOMS}),
    "leverage": Door(
        geometry.leverage, {"sampling": P}, {"atoms": ATOMS}, lambda w: w.round(9).tobytes()
    ),
    "nu": Door(geometry.nu, {"sampling": P}, {"atoms": ATOMS, "delta": 1.0}),
    "gap": Door(geometry.gap, {"x": B}, {"f": F, "atoms": ATOMS}),
    "distance": Door(geometry.distance, {"x0": B, "sampling": P}, {"f": F, "atoms": ATOMS}),
    "optimal_sampling": Door(
        geometry.optimal_sampling, {}, {"atoms": ATOMS, "tolerance": 1e-3}, _bytes("p")
    ),
    "theorem_3": Door(
        rates.theorem_3, {"x0": B},
        {"f": F, "atoms": ATOMS, "delta": 0.5, "algorithm": 2, "given": {"R_A": 2.0}}, str,
    ),
    "theorem_8": Door(
        rates.theorem_8, {"sampling": P}, {"f": F, "atoms": ATOMS, "given": {"ν": 9.0}}, str
    ),
    "certify": Door(
        certificates.certify, {}, {"result": RESULT, "confidence": 0.9, "given": {"μ_A": 1.0}}, str
    ),
    "codes @": Door(lambda atoms: CODES @ atoms, {"atoms": Z}, {}, lambda a: a.tobytes()),
    "Approximate": Door(
        lambda delta: pursuit.solve(
            F, ATOMS, pursuit.methods.matching_pursuit(direction=pursuit.Approximate(delta)),
            max_iter=3,
        ), {}, {"delta": 0.5}, _bytes("x"),
    ),
    "Replay": Door(
        lambda indices: pursuit.solve(
            F, ATOMS, pursuit.methods.matching_pursuit(direction=pursuit.Replay(indices)),
            max_iter=3,
        ), {"indices": np.array([0, 1, 2])}, {}, _bytes("x"),
    ),
}  # fmt: skip
OPTIONAL = frozenset({"x0", "coef0", "sampling", "weights", "gradient", "given", "size"})
"""Arguments that are left out unless they are the one to be tried."""


def inputs_case(case: Case) -> None:
    name = case.pick(*DOORS)
    door = DOORS[name]
    argument = case.pick(*door.arrays, *door.others)
    case.tell(door=name, argument=argument)
    plain = {k: v for k, v in (door.arrays | door.others).items() if k not in OPTIONAL}
    if argument in door.arrays and not case.chance(0.1):
        _array(case, door, argument, plain)
    else:
        _other(case, door, argument, plain)


def _array(case: Case, door: Door, argument: str, plain: dict[str, Any]) -> None:
    good = door.arrays[argument]
    if case.chance(0.5):
        coat = case.pick(*COATS)
        case.tell(value=coat)
        try:
            truth = door.compared(door.call(**plain | {argument: good.copy()}))
        except InputError:
            truth = None
        found = case.ask(lambda: door.call(**plain | {argument: COATS[coat](good)}), NAMES)
        case.require(door.compared(found) == truth, f"{argument} as {coat}: another answer")
        return
    rag = case.pick(*RAGS)
    case.tell(value=rag)
    value = RAGS[rag](good)
    try:
        found = case.ask(lambda: door.call(**plain | {argument: value}), NAMES)
    except Refused:
        return
    case.require(rag in FITTING, f"{argument} is taken as {rag}: {door.compared(found)!r:.80}")


def _other(case: Case, door: Door, argument: str, plain: dict[str, Any]) -> None:
    """Junk for anything: where it is taken, the answer can at least be looked at."""
    value = case.pick(*JUNK)
    case.tell(value=value)
    found = case.ask(lambda: door.call(**plain | {argument: value}), NAMES)
    case.ask(lambda: door.compared(found), NAMES, valid=True)
