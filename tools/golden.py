"""Record what documented calls return, and compare a later version of the library with it.

    python tools/golden.py record tools/golden.json
    python tools/golden.py compare tools/golden.json

Each call has a label that never changes; when a call is renamed, its body here changes and its
label stays. Recorded are supports, values, statuses, shapes and types; values are compared with a
tolerance of their precision. Where equal bits are promised (threads, blocks, stop and resume, Dask
chunks) the call compares them itself and records the answer, since bits depend on the CPU.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pursuit
from pursuit import (
    L1,
    Approximate,
    Backtracking,
    Box,
    Cone,
    Coordinates,
    Dictionary,
    Encoder,
    ExactLineSearch,
    Function,
    Gabor,
    Groups,
    Huber,
    InnerProduct,
    LeastSquares,
    Logistic,
    MatrixDistance,
    MatrixEntries,
    NonNegative,
    Operator,
    Oracle,
    Poisson,
    Quadratic,
    RankOne,
    Replay,
    Shifts,
    SparseDictionary,
    Sphere,
    SquaredDistance,
    SquaredHinge,
    Subset,
    Transformed,
    Union,
    encode,
    estimators,
    geometry,
    learn,
    methods,
    path,
    rates,
    solve,
)  # fmt: skip

CALLS: dict[str, Callable[[], Any]] = {}
"""What is recorded, by label."""
RTOL = {"float64": 1e-6, "float32": 1e-3}
"""How far values may be apart, by the precision of the call."""
ROUNDED_OFF = 1e-24
"""Values below this are squares of rounding errors: all data are of order one."""
SHOWN = 8
"""Entries of an array that are recorded, beside its norm and its shape."""


def call(label: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a call under its label."""

    def register(function: Callable[[], Any]) -> Callable[[], Any]:
        if label in CALLS:
            raise ValueError(f"label {label!r} is used twice")
        CALLS[label] = function
        return function

    return register


# Data ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(20260101)
ATOMS = RNG.standard_normal((40, 16)) * RNG.uniform(0.5, 2, (40, 1))
SIGNAL = RNG.standard_normal(16)
TRUE = np.zeros((60, 40))
for _row in TRUE:
    _row[RNG.choice(40, 3, replace=False)] = RNG.choice([-1, 1], 3) * RNG.uniform(1, 2, 3)
SIGNALS = TRUE @ (ATOMS / np.linalg.norm(ATOMS, axis=1, keepdims=True))
SIGNALS += 0.01 * RNG.standard_normal(SIGNALS.shape)
X = RNG.standard_normal((80, 12))
COEF = np.array([2.0, -1.5, 1.0] + [0.0] * 9)
Y = X @ COEF + 0.1 * RNG.standard_normal(80)
LABELS = np.where(X @ COEF + RNG.logistic(size=80) > 0, 1, -1)
COUNTS = RNG.poisson(np.exp(0.4 * X @ COEF))
HESSIAN = X.T @ X / 80 + 0.1 * np.eye(12)
MATRIX = RNG.standard_normal((9, 2)) @ RNG.standard_normal((2, 7))
SPECTRA = np.abs(RNG.standard_normal((4, 30))).cumsum(axis=1) / 10 + 0.2
ABUNDANCES = RNG.dirichlet(np.full(4, 0.5), 300)
ABUNDANCES[:4] = np.eye(4)
SCENE = ABUNDANCES @ SPECTRA + 1e-3 * RNG.standard_normal((300, 30))
TIME = np.arange(4096) / 8000
SOUND = np.cos(2 * np.pi * (300 + 500 * TIME) * TIME) + 0.01 * RNG.standard_normal(4096)
TEMPLATES = RNG.standard_normal((2, 12))
LONG = np.zeros(300)
for _start, _which, _size in ((20, 0, 2.0), (90, 1, -1.5), (150, 0, 1.0), (220, 1, 3.0)):
    LONG[_start : _start + 12] += _size * TEMPLATES[_which]
LONG += 0.01 * RNG.standard_normal(300)


# What is recorded ---------------------------------------------------------------------------


def array_facts(values: Any) -> dict[str, Any]:
    """Return shape, type, norm, leading entries and, for sparse ones, the support."""
    array = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    facts: dict[str, Any] = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype.kind in "fiub":
        flat = array.ravel().astype(float)
        facts["norm"] = float(np.linalg.norm(flat))
        facts["head"] = flat[:SHOWN].tolist()
        nonzero = np.flatnonzero(flat)
        if 0 < len(nonzero) < len(flat) and len(nonzero) <= 200:
            facts["support"] = nonzero.tolist()
    return facts


def run_facts(result: Any, *, iterations: bool = True) -> dict[str, Any]:
    """Return what a `Result` says; iterations only where rounding cannot change them."""
    facts = {
        "status": result.status.name,
        "value": float(result.value),
        "x": array_facts(result.x),
        "support": [int(j) for j in result.support] if result.size is not None else None,
    }
    if iterations:
        facts["iterations"] = int(result.iterations)
    return facts


def code_facts(codes: Any) -> dict[str, Any]:
    """Return what `Codes` say."""
    matrix = codes.matrix
    matrix = matrix.tocsr()
    supports = [
        sorted(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]].tolist())
        for i in range(min(10, matrix.shape[0]))
    ]
    return {
        "shape": list(matrix.shape),
        "dtype": str(matrix.dtype),
        "nonzeros": int(matrix.nnz),
        "supports": supports,
        "norm": float(np.sqrt(matrix.power(2).sum())),
        "residual": float(np.linalg.norm(codes.residual_norms)),
        "statuses": sorted({int(s) for s in np.unique(codes.statuses)}),
    }


# solve --------------------------------------------------------------------------------------

STEPS = 30
FIXED = {"max_iter": STEPS, "tol": 0}


def _solve_calls() -> None:
    everywhere = {**FIXED}
    for name in methods.NAMED:
        CALLS[f"solve/{name}/dictionary"] = lambda name=name: run_facts(
            solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), name, **(
                {"max_iter": 8} if name in ("orthogonal", "local-orthogonal", "blended",
                                            "accelerated") else
                {"max_iter": STEPS} if name == "gradient-free" else everywhere))
        )  # fmt: skip
        CALLS[f"solve/{name}/coordinates"] = lambda name=name: run_facts(
            solve(LeastSquares(X, Y), Coordinates(12), name, max_iter=10)
        )
    for name in ("matching-pursuit", "random-pursuit", "accelerated-random",
                 "accelerated-matching-pursuit", "affine-invariant"):  # fmt: skip
        CALLS[f"solve/{name}/as-printed"] = lambda name=name: run_facts(
            solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), name, unit_atoms=False, **FIXED)
        )
        CALLS[f"solve/{name}/float32"] = lambda name=name: run_facts(
            solve(SquaredDistance(SIGNAL.astype("f")), Dictionary(ATOMS.astype("f")), name, **FIXED)
        )
    for name, f in OBJECTIVES.items():
        for method in ("matching-pursuit", "accelerated", "orthogonal"):
            CALLS[f"solve/{method}/{name}"] = lambda f=f, method=method: run_facts(
                solve(f(), Coordinates(12), method, max_iter=200, tol=1e-8), iterations=False
            )
    for name, atoms in SETS.items():
        for method in ("matching-pursuit", "orthogonal"):
            CALLS[f"solve/{method}/{name}"] = lambda atoms=atoms, method=method: run_facts(
                _over(atoms(), method)
            )


def _over(atoms: Any, method: str) -> Any:
    target = LONG if atoms.shape == (300,) else None
    if target is None:
        target = MATRIX if atoms.shape == MATRIX.shape else SIGNAL[: atoms.shape[0]]
    if len(atoms.shape) == 2 and atoms.shape != MATRIX.shape:
        target = np.resize(SIGNAL, atoms.shape)
    f = MatrixDistance(target) if atoms.shape == MATRIX.shape else SquaredDistance(target)
    return solve(f, atoms, method, max_iter=5, tol=0)


OBJECTIVES: dict[str, Callable[[], Any]] = {
    "least-squares": lambda: LeastSquares(X, Y, l2=0.1),
    "least-squares-intercept": lambda: LeastSquares(X[:, :11], Y, intercept=True),
    "quadratic": lambda: Quadratic(HESSIAN, X.T @ Y / 80),
    "logistic": lambda: Logistic(X, LABELS, l2=1.0),
    "squared-hinge": lambda: SquaredHinge(X, LABELS, l2=1.0),
    "poisson": lambda: Poisson(X, COUNTS, l2=1.0),
    "huber": lambda: Huber(X, Y, delta=0.2, l2=0.1),
    "function": lambda: Function(
        lambda x: float(np.cosh(x - 1).sum()), lambda x: np.sinh(x - 1), shape=(12,), L=4.0
    ),
}
SETS: dict[str, Callable[[], Any]] = {
    "sphere": lambda: Sphere(16),
    "groups": lambda: Groups([range(k, k + 4) for k in range(0, 16, 4)]),
    "rank-one": lambda: RankOne(9, 7),
    "sparse-dictionary": lambda: SparseDictionary(_sparse()),
    "operator": lambda: Operator(_operator()),
    "union": lambda: Union(Dictionary(ATOMS), Coordinates(16)),
    "transformed": lambda: Transformed(Dictionary(ATOMS[:, :16]), np.diag(np.arange(1.0, 17))),
    "shifts": lambda: Shifts(TEMPLATES, 300),
    "gabor": lambda: Gabor(300, [32, 64]),
    "oracle": lambda: Oracle(lambda d: np.where(d < 0, -1.0, 1.0), shape=16, radius=4.0),
}


def _sparse() -> Any:
    from scipy import sparse

    return sparse.csr_array(np.where(np.abs(ATOMS) > 0.8, ATOMS, 0.0))


def _operator() -> Any:
    from scipy.sparse.linalg import aslinearoperator

    return aslinearoperator(ATOMS.T)


@call("solve/rules/approximate")
def _() -> Any:
    method = methods.matching_pursuit(direction=Approximate(0.7))
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), method, **FIXED))


@call("solve/rules/subset")
def _() -> Any:
    method = methods.matching_pursuit(direction=Subset(5))
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), method, **FIXED))


@call("solve/rules/replay")
def _() -> Any:
    method = methods.matching_pursuit(direction=Replay([3, 1, 4, 1, 5]))
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), method, max_iter=5, tol=0))


@call("solve/rules/exact-line-search")
def _() -> Any:
    method = methods.matching_pursuit(step=ExactLineSearch())
    return run_facts(solve(Logistic(X, LABELS, l2=1.0), Coordinates(12), method, **FIXED))


@call("solve/rules/backtracking")
def _() -> Any:
    method = methods.matching_pursuit(step=Backtracking())
    return run_facts(solve(LeastSquares(X, Y), Coordinates(12), method, **FIXED))


@call("solve/cone/matching-pursuit")
def _() -> Any:
    return run_facts(solve(SquaredDistance(SIGNAL), Cone(ATOMS), "matching-pursuit", **FIXED))


@call("solve/cone/orthogonal")
def _() -> Any:
    return run_facts(solve(SquaredDistance(SIGNAL), Cone(ATOMS), "orthogonal", max_iter=8))


@call("solve/matrix-entries")
def _() -> Any:
    from scipy import sparse

    mask = np.random.default_rng(0).random(MATRIX.shape) < 0.7
    f = MatrixEntries(sparse.coo_array(np.where(mask, MATRIX, 0.0)))
    return run_facts(solve(f, RankOne(9, 7), "matching-pursuit", max_iter=20, tol=0))


@call("solve/inner-product")
def _() -> Any:
    space = InnerProduct(weights=np.linspace(1, 2, 16))
    return run_facts(space.solve(space.distance(SIGNAL), ATOMS, "orthogonal", max_iter=6))


@call("solve/start/x0")
def _() -> Any:
    x0 = ATOMS[3] - ATOMS[7]
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), x0=x0, **FIXED))


@call("solve/start/coef0")
def _() -> Any:
    coef0 = np.eye(1, 40, 5)[0]
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), coef0=coef0, **FIXED))


@call("solve/default-method")
def _() -> Any:
    result = solve(LeastSquares(X, Y), Coordinates(12))
    return {"method": result.method, **run_facts(result, iterations=False)}


@call("solve/status/converged")
def _() -> Any:
    return run_facts(solve(LeastSquares(X, Y), Coordinates(12), "accelerated"), iterations=False)


@call("solve/status/max-nonzero")
def _() -> Any:
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), "omp", n_nonzero=4))


@call("solve/status/target")
def _() -> Any:
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), "mp", target=0.5))


@call("solve/status/rtol")
def _() -> Any:
    return run_facts(solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), "mp", rtol=0.1))


@call("solve/status/diverged")
def _() -> Any:
    method = methods.accelerated_matching_pursuit(nu=1)
    result = solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), method, max_iter=2000)
    return {"status": result.status.name}


@call("solve/status/unbounded")
def _() -> Any:
    f = Quadratic(np.diag([1.0, 0.0]), np.array([1.0, 1.0]))
    return {"status": solve(f, Coordinates(2), "matching-pursuit").status.name}


@call("solve/status/stopped-by-callback")
def _() -> Any:
    stop = solve(
        SquaredDistance(SIGNAL),
        Dictionary(ATOMS),
        "mp",
        every=1,
        callback=lambda s: s.iteration >= 7,
    )
    return run_facts(stop)


def _same(one: Any, two: Any) -> bool:
    return bool(np.asarray(one).tobytes() == np.asarray(two).tobytes())


for _name in ("matching-pursuit", "random-pursuit", "accelerated-matching-pursuit", "accelerated",
              "orthogonal"):  # fmt: skip

    @call(f"solve/bits/resume/{_name}")
    def _(name: str = _name) -> Any:
        f, atoms = SquaredDistance(SIGNAL), Dictionary(ATOMS)
        whole = solve(f, atoms, name, max_iter=6, tol=0)
        half = solve(f, atoms, name, max_iter=3, tol=0)
        return {"equal": _same(whole.x, solve(f, atoms, name, max_iter=6, tol=0, resume=half).x)}

    @call(f"solve/bits/every/{_name}")
    def _(name: str = _name) -> Any:
        f, atoms = SquaredDistance(SIGNAL), Dictionary(ATOMS)
        runs = [solve(f, atoms, name, max_iter=9, tol=0, every=every) for every in (1, 4)]
        return {"equal": _same(runs[0].x, runs[1].x)}

    @call(f"solve/bits/threads/{_name}")
    def _(name: str = _name) -> Any:
        f, atoms = SquaredDistance(SIGNAL), Dictionary(ATOMS)
        runs = [solve(f, atoms, name, max_iter=9, tol=0, threads=n) for n in (1, 2)]
        return {"equal": _same(runs[0].x, runs[1].x)}


# Penalties ----------------------------------------------------------------------------------

PENALTIES: dict[str, Callable[[], Any]] = {
    "l1": lambda: L1(0.5),
    "l1-weights": lambda: L1(np.linspace(0.1, 2, 12)),
    "box": lambda: Box(-0.5, 1.0),
    "nonnegative": NonNegative,
}
MODELS: dict[str, Callable[[], Any]] = {
    "least-squares": lambda: LeastSquares(X, Y),
    "logistic": lambda: Logistic(X, LABELS, l2=0.1),
    "huber": lambda: Huber(X, Y, delta=0.2),
    "squared-hinge": lambda: SquaredHinge(X, LABELS, l2=0.1),
    "poisson": lambda: Poisson(X, COUNTS, l2=0.1),
}
for _model, _f in MODELS.items():
    for _penalty, _g in PENALTIES.items():

        @call(f"penalty/{_penalty}/{_model}")
        def _(f: Any = _f, g: Any = _g) -> Any:
            result = solve(f(), Coordinates(12), penalty=g(), gap_tol=1e-8, max_iter=500)
            return {
                **run_facts(result, iterations=False),
                "gap": bool(result.certificate.bound < 1e-7),
            }


@call("penalty/l1/dictionary/matching-pursuit")
def _() -> Any:
    result = solve(SquaredDistance(SIGNAL), Dictionary(ATOMS), "mp", penalty=L1(0.1), max_iter=300)
    return run_facts(result, iterations=False)


for _model in ("least-squares", "logistic"):

    @call(f"path/l1/{_model}")
    def _(f: Any = MODELS[_model]) -> Any:
        found = path(f(), Coordinates(12), n_lambdas=8, lambda_min_ratio=0.05)
        return {
            "lambdas": array_facts(found.lambdas),
            "values": array_facts([result.value for result in found.runs]),
            "supports": [[int(j) for j in result.support] for result in found.runs],
        }


# encode -------------------------------------------------------------------------------------

for _method in ("matching-pursuit", "orthogonal", "random-pursuit", "accelerated-random",
                "accelerated-matching-pursuit", "accelerated"):  # fmt: skip
    for _dtype in ("float64", "float32"):

        @call(f"encode/{_method}/{_dtype}")
        def _(method: str = _method, dtype: str = _dtype) -> Any:
            limit = (
                {"n_nonzero": 3}
                if method in ("orthogonal", "matching-pursuit")
                else {"max_iter": 12}
            )
            return code_facts(encode(SIGNALS.astype(dtype), ATOMS.astype(dtype), method, **limit))

    @call(f"encode/bits/threads/{_method}")
    def _(method: str = _method) -> Any:
        codes = [encode(SIGNALS, ATOMS, method, max_iter=5, threads=n).matrix for n in (1, 2)]
        return {"equal": _same(codes[0].toarray(), codes[1].toarray())}


for _method in ("matching-pursuit", "orthogonal"):

    @call(f"encode/cone/{_method}")
    def _(method: str = _method) -> Any:
        return code_facts(encode(np.abs(SIGNALS), Cone(np.abs(ATOMS)), method, n_nonzero=3))

    @call(f"encode/rtol/{_method}")
    def _(method: str = _method) -> Any:
        return code_facts(encode(SIGNALS, ATOMS, method, rtol=0.05))

    @call(f"encode/atol/{_method}")
    def _(method: str = _method) -> Any:
        return code_facts(encode(SIGNALS, ATOMS, method, atol=0.1))

    @call(f"encode/printed-scale/{_method}")
    def _(method: str = _method) -> Any:
        return code_facts(encode(SIGNALS, ATOMS / 3, method, n_nonzero=3, unit_atoms=False)
                          if method == "orthogonal" else
                          encode(SIGNALS, ATOMS / np.linalg.norm(ATOMS, axis=1, keepdims=True),
                                 method, n_nonzero=3, unit_atoms=False))  # fmt: skip

    for _form in ("gram", "products"):

        @call(f"encode/form/{_form}/{_method}")
        def _(method: str = _method, form: str = _form) -> Any:
            return code_facts(Encoder(ATOMS, method, n_nonzero=3, form=form)(SIGNALS))


@call("encode/forward-only")
def _() -> Any:
    atoms = np.abs(ATOMS) / np.linalg.norm(ATOMS, axis=1, keepdims=True)
    codes = encode(np.abs(SIGNALS), Cone(atoms), "matching-pursuit", max_iter=4, forward_only=True)
    return code_facts(codes)


@call("encode/few-atoms")
def _() -> Any:
    return code_facts(encode(SCENE, SPECTRA, "matching-pursuit", max_iter=50))


@call("encode/one-signal")
def _() -> Any:
    return code_facts(encode(SIGNALS[:1], ATOMS, n_nonzero=3))


@call("encode/zero-signal")
def _() -> Any:
    return code_facts(encode(np.zeros((2, 16)), ATOMS, n_nonzero=3))


@call("encode/duplicate-atoms")
def _() -> Any:
    return code_facts(encode(SIGNALS, np.vstack([ATOMS, ATOMS[:5]]), n_nonzero=6))


@call("encode/folder")
def _() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        codes = encode(SIGNALS, ATOMS, n_nonzero=3, out=Path(folder) / "codes")
        memory = encode(SIGNALS, ATOMS, n_nonzero=3)
        return {
            **code_facts(codes),
            "equal": _same(codes.matrix.toarray(), memory.matrix.toarray()),
        }


@call("encode/iterator")
def _() -> Any:
    return code_facts(encode(iter(np.array_split(SIGNALS, 4)), ATOMS, n_nonzero=3))


@call("encode/bits/dask-chunks")
def _() -> Any:
    import dask.array as da

    lazy = encode(da.from_array(SIGNALS, chunks=(17, 16)), ATOMS, n_nonzero=3)
    dense = lazy.compute().matrix.toarray()
    return {"equal": _same(dense, encode(SIGNALS, ATOMS, n_nonzero=3).matrix.toarray())}


# Learning, sounds, scenes -------------------------------------------------------------------

for _method in ("online", "aksvd", "mod"):

    @call(f"learn/{_method}")
    def _(method: str = _method) -> Any:
        learned = learn(SIGNALS, 12, 2, method, passes=2)
        return {"atoms": array_facts(learned.atoms)}

    @call(f"learn/nonnegative/{_method}")
    def _(method: str = _method) -> Any:
        learned = learn(np.abs(SIGNALS), 12, 2, method, passes=2, nonnegative=True)
        return {"least": bool(np.min(learned.atoms) >= 0), "shape": list(np.shape(learned.atoms))}


@call("learn/bits/threads")
def _() -> Any:
    runs = [learn(SIGNALS, 12, 2, passes=2, threads=n).atoms for n in (1, 2)]
    return {"equal": _same(*runs)}


@call("learn-templates")
def _() -> Any:
    learned = pursuit.learn_templates(LONG, 2, 12, n_atoms=4, rounds=3)
    return {"templates": array_facts(np.abs(learned.templates))}


@call("decompose/snr")
def _() -> Any:
    book = pursuit.decompose(SOUND, rate=8000, snr=15)
    return {
        "atoms": len(book),
        "frequency": array_facts(book.frequency),
        "amplitude": array_facts(book.amplitude),
        "rebuilt": array_facts(book.rebuild()),
    }


@call("decompose/max-atoms")
def _() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = pursuit.decompose(SOUND, rate=8000, max_atoms=5)
    return {"atoms": len(book), "frequency": array_facts(book.frequency)}


@call("decompose/channels")
def _() -> Any:
    book = pursuit.decompose(np.stack([SOUND, -0.5 * SOUND]), rate=8000, snr=10, shared=True)
    return {"atoms": len(book), "frequency": array_facts(book.frequency)}


for _constraint in ("none", "non-negative", "sum-to-one", "sum-at-most-one"):

    @call(f"unmix/{_constraint}")
    def _(constraint: str = _constraint) -> Any:
        result = pursuit.unmixing.unmix(SCENE, SPECTRA, constraint)
        return {"abundances": array_facts(result.abundances)}


@call("unmix/sparse")
def _() -> Any:
    result = pursuit.unmixing.unmix(SCENE, SPECTRA, "sparse", n_nonzero=2)
    return {"abundances": array_facts(result.abundances)}


for _picker in ("auto", "h2nmf", "spa", "vca"):

    @call(f"extract/{_picker}")
    def _(picker: str = _picker) -> Any:
        found = pursuit.unmixing.pick(SCENE, 4, picker, average=False)
        return {"indices": sorted(int(i) for i in found.indices)}


@call("extract/averaged")
def _() -> Any:
    return {"endmembers": array_facts(pursuit.unmixing.pick(SCENE, 4).endmembers)}


@call("estimate-number")
def _() -> Any:
    return {"number": int(pursuit.unmixing.estimate_number(SCENE).number)}


# Theory -------------------------------------------------------------------------------------

SMALL = Dictionary(ATOMS[:7, :3])
SMALL_F = Quadratic(HESSIAN[:3, :3], np.array([1.0, -2.0, 0.5]))
CONSTANTS: dict[str, Callable[[], Any]] = {
    "radius": lambda: geometry.radius(SMALL),
    "diameter": lambda: geometry.diameter(SMALL),
    "directional-width": lambda: geometry.directional_width(SMALL),
    "gauge": lambda: geometry.gauge(SMALL, np.array([1.0, 0.0, 0.0])),
    "dual-norm": lambda: geometry.dual_norm(SMALL, np.array([1.0, 0.0, 0.0])),
    "smoothness": lambda: geometry.smoothness(SMALL_F, SMALL),
    "strong-convexity": lambda: geometry.strong_convexity(SMALL_F, SMALL),
    "level-radius": lambda: geometry.level_radius(SMALL_F, SMALL),
    "gap": lambda: geometry.gap(SMALL_F, SMALL),
    "distance": lambda: geometry.distance(SMALL_F, SMALL),
    "nu": lambda: geometry.nu(SMALL),
    "safe-nu": lambda: geometry.safe_nu(SMALL),
    "nu-random": lambda: geometry.nu_random(SMALL),
    "sampling-quality": lambda: geometry.sampling_quality(SMALL),
    "sampled-convexity": lambda: geometry.sampled_convexity(SMALL_F, SMALL),
    "sampled-smoothness": lambda: geometry.sampled_smoothness(SMALL_F, SMALL),
    "nu/coordinates": lambda: geometry.nu(Coordinates(5)),
    "smoothness/rank-one": lambda: geometry.smoothness(MatrixDistance(MATRIX), RankOne(9, 7)),
}
for _constant, _compute in CONSTANTS.items():

    @call(f"constant/{_constant}")
    def _(compute: Any = _compute) -> Any:
        found = compute()
        return {"value": float(found), "kind": str(getattr(getattr(found, "kind", ""), "name", ""))}


@call("constant/leverage")
def _() -> Any:
    return array_facts(geometry.leverage(SMALL))


for _rate in ("theorem_3", "theorem_3_sharper", "theorem_4", "theorem_5", "theorem_5_random",
              "older_rate", "rate_of_2017", "theorem_8", "theorem_9", "conjugate",
              "parameter_free"):  # fmt: skip

    @call(f"rate/{_rate}")
    def _(rate: str = _rate) -> Any:
        return {"values": array_facts(getattr(rates, rate)(SMALL_F, SMALL)(np.array([1, 10, 100])))}


for _method in ("matching-pursuit", "affine-invariant", "accelerated", "orthogonal"):

    @call(f"certificate/{_method}")
    def _(method: str = _method) -> Any:
        result = solve(SMALL_F, SMALL, method, max_iter=8, tol=0)
        best = solve(SMALL_F, SMALL, "orthogonal").value
        bound = float(result.certificate.bound)
        return {"valid": bound >= result.value - best - 1e-9, "finite": bool(np.isfinite(bound))}


# Estimators ---------------------------------------------------------------------------------


def _fit(name: str, **parameters: Any) -> Any:
    classify = "Classifier" in name
    return getattr(estimators, name)(**parameters).fit(X, LABELS if classify else Y)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "OrthogonalMatchingPursuit": lambda: _fit("OrthogonalMatchingPursuit", n_nonzero_coefs=3),
    "OrthogonalMatchingPursuit/tol": lambda: _fit("OrthogonalMatchingPursuit", tol=2.0),
    "OrthogonalMatchingPursuitCV": lambda: _fit("OrthogonalMatchingPursuitCV"),
    "BestSubsetRegressor": lambda: _fit("PursuitRegressor", n_nonzero=3),
    "BestSubsetRegressor/huber": lambda: _fit("PursuitRegressor", n_nonzero=3, loss="huber"),
    "BestSubsetRegressorCV": lambda: _fit("PursuitRegressorCV"),
    "BestSubsetClassifier": lambda: _fit("PursuitClassifier", n_nonzero=3),
    "BestSubsetClassifierCV": lambda: _fit("PursuitClassifierCV"),
    "PenalizedRegressor": lambda: _fit("PenalisedRegressor"),
    "PenalizedClassifier": lambda: _fit("PenalisedClassifier"),
}
for _estimator, _make in ESTIMATORS.items():

    @call(f"estimator/{_estimator}")
    def _(make: Any = _make) -> Any:
        fitted = make()
        intercept = float(np.ravel(fitted.intercept_)[0])
        target = LABELS if hasattr(fitted, "classes_") else Y
        score = float(fitted.score(X, target))
        return {"coef": array_facts(fitted.coef_), "intercept": intercept, "score": score}


@call("estimator/SparseCoder")
def _() -> Any:
    return array_facts(estimators.PursuitCoder(ATOMS, n_nonzero=3).fit(SIGNALS).transform(SIGNALS))


@call("estimator/DictionaryLearning")
def _() -> Any:
    fitted = estimators.PursuitDictionary(8, random_state=0).fit(SIGNALS)
    return {"components": list(fitted.components_.shape)}


@call("estimator/orthogonal_mp")
def _() -> Any:
    return array_facts(estimators.orthogonal_mp(X, Y, n_nonzero_coefs=3))


@call("estimator/orthogonal_mp_gram")
def _() -> Any:
    return array_facts(estimators.orthogonal_mp_gram(X.T @ X, X.T @ Y, n_nonzero_coefs=3))


# The command line ---------------------------------------------------------------------------


def _command(folder: Path, *arguments: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pursuit", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def _commands(*lines: str, show: str = "") -> Any:
    """Run command lines in a folder with data; record exit codes and the files that are there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "signals.npy", SIGNALS)
        np.save(folder / "atoms.npy", ATOMS)
        np.save(folder / "scene.npy", SCENE.reshape(20, 15, 30))
        _write_sound(folder / "sound.wav")
        codes = [_command(folder, *line.split())[0] for line in lines]
        made = sorted(path.name for path in folder.iterdir())
        values = array_facts(np.load(folder / show)) if show else None
        return {"exit": codes, "files": made, "values": values}


def _write_sound(path: Path) -> None:
    from scipy.io import wavfile

    wavfile.write(path, 8000, (SOUND / 2).astype(np.float32))


@call("command/encode-decode")
def _() -> Any:
    return _commands(
        "encode signals.npy --dictionary atoms.npy -o codes --nonzero 3",
        "decode codes --dictionary atoms.npy -o fits.npy",
        show="fits.npy",
    )


@call("command/learn")
def _() -> Any:
    return _commands("learn signals.npy --atoms 8 --nonzero 2 -o learned.npy", show="learned.npy")


@call("command/constants")
def _() -> Any:
    return _commands("constants atoms.npy")


@call("command/unmix")
def _() -> Any:
    return _commands("unmix scene.npy -r 4 -o maps.npz --report page.html")


@call("command/decompose-rebuild")
def _() -> Any:
    return _commands("decompose sound.wav --snr 15 -o book.npz", "rebuild book.npz -o again.wav")


@call("command/reproduce")
def _() -> Any:
    return _commands("reproduce toy --seeds 1 --iterations 20 --out reproduction")


@call("command/bad-arguments")
def _() -> Any:
    return _commands(
        "encode", "unmix missing.npy", "learn signals.npy --atoms 0 --nonzero 2 -o a.npy"
    )


_solve_calls()


# Recording and comparing ----------------------------------------------------------------------


def observe(label: str) -> Any:
    """Return what a call gives, or the error that it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return json.loads(json.dumps(CALLS[label](), default=str))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def differences(old: Any, new: Any, rtol: float, where: str = "") -> list[str]:
    """Return the places in which two records differ by more than rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new:
                found.append(f"{where}/{key}: {'new' if key not in old else 'gone'}")
            else:
                found += differences(old[key], new[key], rtol, f"{where}/{key}")
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        scale = max((abs(v) for v in old if isinstance(v, float)), default=0.0)
        pairs = enumerate(zip(old, new, strict=True))
        return [
            text
            for k, (a, b) in pairs
            if not _close(a, b, rtol, scale)
            for text in differences(a, b, rtol, f"{where}[{k}]")
        ]
    return [] if _close(old, new, rtol) else [f"{where}: {old!r} -> {new!r}"]


def _close(old: Any, new: Any, rtol: float, scale: float = 0.0) -> bool:
    if isinstance(old, float) and isinstance(new, (int, float)) and not isinstance(new, bool):
        return bool(
            np.isclose(old, new, rtol=rtol, atol=max(rtol * scale, ROUNDED_OFF), equal_nan=True)
        )
    return bool(old == new)


def tolerance(label: str) -> float:
    """Return the relative tolerance of a call."""
    return RTOL["float32" if "float32" in label else "float64"]


def compare(recorded: dict[str, Any], labels: list[str]) -> dict[str, list[str]]:
    """Return the differences of each label that has some."""
    found = {}
    for label in labels:
        if label not in recorded:
            found[label] = ["not in the record"]
        elif different := differences(recorded[label], observe(label), tolerance(label)):
            found[label] = different
    for label in recorded.keys() - CALLS.keys():
        found[label] = ["no such call any more"]
    return found


def main() -> int:
    """Record or compare, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["record", "compare", "list"])
    parser.add_argument("file", nargs="?", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--only", help="labels that begin with this", default="")
    parser.add_argument("--json", action="store_true", help="print differences as JSON")
    options = parser.parse_args()
    labels = [label for label in CALLS if label.startswith(options.only)]
    if options.action == "list":
        print("\n".join(labels))
        return 0
    if options.action == "record":
        records = {label: observe(label) for label in labels}
        options.file.write_text(
            "{\n"
            + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in records.items())
            + "\n}\n"
        )
        errors = [
            f"{k}: {v['error']}" for k, v in records.items() if isinstance(v, dict) and "error" in v
        ]
        print(f"{len(records)} calls recorded in {options.file}, {len(errors)} of them raise")
        print("\n".join(errors))
        return 0
    recorded = json.loads(options.file.read_text())
    found = compare(recorded if not options.only else {k: recorded[k] for k in labels}, labels)
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        for label, texts in found.items():
            print(label, *texts, sep="\n    ")
        print(f"{len(labels) - len(found)} of {len(labels)} calls as recorded, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
