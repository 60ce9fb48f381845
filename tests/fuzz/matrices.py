"""The area `matrices`: pursuit over rank-one atoms, kept as factors, against singular values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

import pursuit
from fuzz.case import Case
from fuzz.generators import Array, cast, laid_out, magnitude, rows
from fuzz.oracle import LD, ROOM, eps_of, exact, tiny_of
from fuzz.solving import NAMES

METHODS = {"matching-pursuit": 4, "orthogonal": 3, "affine-invariant": 1, "random-pursuit": 1}
TIED = 1e-3
"""Singular values nearer to each other than this share leave the order of atoms open."""

Posed = tuple[Any, Array, Array | None, Array]
"""f, its B, which entries are known (None: all), and the sizes of what entries of B are sums of."""


def matrices_case(case: Case) -> None:
    shape = case.whole(1, 7), case.whole(1, 7)
    f, B, known, terms = case.pick(_distance, _distance, _low_rank_sum, _entries)(case, shape)
    method = case.weighted(METHODS)
    options: dict[str, Any] = {"max_iter": case.whole(0, 12), "progress": False, "seed": 1}
    if case.chance(0.4):
        options["tol"] = case.pick(0, 1e-3, 1e-8)
    if case.chance(0.2):
        options["rtol"] = case.pick(0.5, 1e-3)
    case.tell(f=f, method=method, options=options)
    call = lambda **more: pursuit.solve(  # noqa: E731
        f, pursuit.RankOne(*shape), method, **(options | more)
    )
    result = case.ask(call, NAMES, valid=not case.odd)
    case.tell(result=str(result).replace("\n", " |"))
    _check(case, result, B, known, terms)
    if method == "matching-pursuit" and known is None:
        _truncated(case, result, B)
    if case.chance(0.3):
        early = case.ask(lambda: call(max_iter=case.whole(0, options["max_iter"])), NAMES)
        again = case.ask(lambda: call(resume=early), NAMES, valid=True)
        _same_run(case, result, again)


def _numbers(case: Case, shape: tuple[int, int]) -> Array:
    dtype = case.pick("f8", "f8", "f4")
    return rows(case, *shape, dtype)


def _distance(case: Case, shape: tuple[int, int]) -> Posed:
    B = _numbers(case, shape)
    given = case.keep("B", laid_out(case, B))
    if case.chance(0.3):
        given = csr_array(B)
    f = case.ask(lambda: pursuit.MatrixDistance(given), NAMES, valid=not case.odd)
    return f, exact(B), None, np.abs(exact(B))


def _low_rank_sum(case: Case, shape: tuple[int, int]) -> Posed:
    sparse = csr_array(_numbers(case, shape) * (case.rng.random(shape) < 0.4))
    k = case.whole(1, 3)
    left, right = (case.rng.standard_normal((n, k)) for n in shape)
    left = cast(case, left * magnitude(case, "f8"), "f8")
    parts = case.ask(lambda: pursuit.SparsePlusLowRank(sparse, left, right), NAMES)
    case.keep("left", left), case.keep("right", right)
    f = case.ask(lambda: pursuit.MatrixDistance(parts), NAMES)
    S, L, R = exact(sparse.toarray()), exact(left), exact(right)
    return f, S + L @ R.T, None, np.abs(S) + np.abs(L) @ np.abs(R).T


def _entries(case: Case, shape: tuple[int, int]) -> Posed:
    B = _numbers(case, shape)
    known = case.rng.random(shape) < 0.6
    known[0, 0] = True
    places = np.nonzero(known)
    given = coo_array((B[places], places), shape=shape)
    f = case.ask(lambda: pursuit.MatrixEntries(given), NAMES, valid=not case.odd)
    B = np.where(known, exact(B), 0)  # nobody is shown the others
    return f, B, known, np.abs(B)


def _check(case: Case, result: Any, B: Array, known: Array | None, terms: Array) -> None:
    """Value and slope at the factors that are returned; what is tied to the status."""
    status = result.status.name
    case.require(status != "DIVERGED", "a run over rank-one matrices is DIVERGED")
    X = exact(result.x.left) * exact(result.x.weights) @ exact(result.x.right).T
    finite = np.isfinite(X.astype(np.float64)).all() and np.isfinite(result.value)
    case.require(finite, f"{status} with numbers that are not finite")
    R = np.where(known, X - B, 0) if known is not None else X - B
    eps, tiny = eps_of(result.x.dtype), tiny_of(result.x.dtype)
    value, size = (R * R).sum() / 2, (terms * terms).sum() + (X * X).sum()
    off = abs(LD(result.value) - value)
    case.require(
        off <= ROOM * 64 * eps * size + tiny,
        f"value {result.value:.6g} where it is {float(value):.6g}",
    )
    top = np.abs(R).max()
    slope = LD(np.linalg.norm((R / top).astype(np.float64), 2)) * top if top > 0 else LD(0)
    off = abs(LD(result.slope) - slope)
    # An observation takes the leading singular value to twelve digits.
    bound = 1e-10 * slope + ROOM * 64 * eps * np.sqrt(size) + tiny
    case.require(off <= bound, f"slope {result.slope:.6g} where it is {float(slope):.6g}")
    certificate = case.asked(lambda: result.certificate, {"f"}, valid=True)
    # The least value is zero, of distances as of entries.
    case.require(
        value <= LD(certificate.bound) * (1 + LD(1e-6)) + tiny,
        f"the certificate says {certificate.bound:.6g} where f is {float(value):.6g}",
    )


def _truncated(case: Case, result: Any, B: Array) -> None:
    """Matching pursuit takes one singular value after another, the largest first."""
    top = np.abs(B).max()
    if top == 0 or result.x.dtype == np.float32 or case.odd:
        return
    sigma = np.linalg.svd((B / top).astype(np.float64), compute_uv=False)
    k = min(result.iterations, len(sigma))
    near = np.abs(np.diff(sigma[: k + 1])) <= TIED * sigma[0]
    if near.any() or sigma[-1] <= TIED * sigma[0]:
        return
    rest = 0.5 * (sigma[k:] ** 2).sum() * float(top) ** 2
    off = abs(result.value - rest)
    case.require(
        off <= 1e-9 * float((B * B).sum()),
        f"{k} singular values leave {rest:.8g}, the run {result.value:.8g}",
    )


def _same_run(case: Case, one: Any, other: Any) -> None:
    for name in ("left", "weights", "right"):
        ours, theirs = getattr(one.x, name), getattr(other.x, name)
        same_bits = ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()
        case.require(same_bits, f"resumed, a run has another {name}")
    case.require(one.status == other.status and one.value == other.value, "resumed, it ends apart")
