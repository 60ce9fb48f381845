"""The area `encode`: many signals over one dictionary."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import nnls

import pursuit
from fuzz.case import Case
from fuzz.data import Array, laid_out, precision, rows, signals
from fuzz.solve import CLEAR
from fuzz.truth import LD, SLACK, eps_of, exact, norm

NAMES = ("signals", "atoms", "method", "n_nonzero")
METHODS = {"orthogonal": 5, "matching-pursuit": 4, "random-pursuit": 1, "affine-invariant": 1,
           "accelerated-random": 1, "accelerated-matching-pursuit": 1,
           "accelerated": 1}  # fmt: skip
ACCELERATED = ("accelerated-random", "accelerated-matching-pursuit", "accelerated")
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


def run(case: Case) -> None:
    """Encode signals, check each code, and encode them again in another way."""
    if case.chance(0.15):
        _tied(case)
        return
    job = random_job(case)
    codes = job.encode(case)
    case.record(codes=str(codes))
    check_codes(case, job, codes)
    case.choose(_threads, _pieces, _prepared, _selected)(case, job, codes)


@dataclass(frozen=True)
class Job:
    """Signals, atoms and how to encode them."""

    signals: Any
    matrix: Any
    options: dict[str, Any]
    nonnegative: bool = False

    def encode(self, case: Case, signals: Any = None, **more: Any) -> Any:
        """Return the codes of the signals, or of others."""
        signals = self.signals if signals is None else signals
        atoms = pursuit.Cone(self.matrix) if self.nonnegative else self.matrix
        return case.call(pursuit.encode, signals, atoms, names=NAMES, **(self.options | more))

    @cached_property
    def rows(self) -> Array:
        """The atoms in extended precision."""
        return exact(self.matrix)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the codes."""
        types = {np.asarray(self.signals).dtype, np.asarray(self.matrix).dtype}
        return np.dtype(np.float32 if types == {np.dtype(np.float32)} else np.float64)

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.options["method"])


def random_job(case: Case) -> Job:
    """Return random signals, atoms and options."""
    d, n = case.integer(1, 14), case.integer(1, 24)
    m = case.integer(1, 12) if case.chance(0.9) else case.integer(100, 200)
    # Atoms that nearly depend on each other are what orthogonal pursuit has to skip.
    stalls = case.chance(0.15)
    matrix = rows(case, n, d, precision(case), *(["nearly equal"] if stalls else []))
    method = "orthogonal" if stalls else case.weighted(METHODS)
    options: dict[str, Any] = {"method": method, "progress": False}
    options["max_iter"] = case.choose(1, 3, 20, 200)
    if method not in ACCELERATED and case.chance(0.1 if stalls else 0.5):
        options["n_nonzero"] = case.integer(1, 8)
    if case.chance(0.1 if stalls else 0.3):
        options["rtol"] = case.choose(0.5, 1e-2, 1e-5)
    if case.chance(0.1):
        options["atol"] = case.choose(1.0, 1e-3)
    options["unit_atoms"] = case.chance(0.7)
    options["rng"] = case.integer(0, 5)
    nonnegative = case.chance(0.25) and method in ("orthogonal", "matching-pursuit")
    made = signals(case, matrix.astype(float), m, precision(case))
    case.record(options=options, nonnegative=nonnegative)
    case.input("matrix", matrix), case.input("signals", made)
    return Job(laid_out(case, made), laid_out(case, matrix), options, nonnegative)


# Codes -------------------------------------------------------------------------------------


class Fit:
    """What is true of the code of one signal, and how far rounding may take it."""

    def __init__(self, job: Job, codes: Any, i: int) -> None:
        part = slice(int(codes.indptr[i]), int(codes.indptr[i + 1]))
        self.y = exact(np.asarray(job.signals)[i])
        self.indices, self.values = codes.indices[part], exact(codes.values[part])
        self.used = job.rows[self.indices]
        self.residual = self.y - self.values @ self.used
        self.length = norm(self.residual)
        self.size = norm(self.y) + (np.abs(self.values) * norm(self.used)).sum()
        self.eps = eps_of(job.dtype)
        self.rounding = SLACK * (len(self.indices) + 4) * self.eps * self.size
        c = job.rows @ self.residual / norm(job.rows)
        self.slopes = np.maximum(c, 0) if job.nonnegative else np.abs(c)
        if job.nonnegative:
            self.slopes[self.indices] = np.abs(c[self.indices])


def check_codes(case: Case, job: Job, codes: Any) -> None:
    """Check every code against its definition."""
    m, n = len(np.asarray(job.signals)), len(job.rows)
    case.require(codes.shape == (m, n), f"codes of shape {codes.shape}")
    case.require(codes.dtype == job.dtype, f"codes in {codes.dtype}")
    limit, most = job.options["max_iter"], job.options.get("n_nonzero", n)
    for i in range(m):
        fit, status = Fit(job, codes, i), codes.status(i).name
        indices = fit.indices
        case.require(len(np.unique(indices)) == len(indices) <= most, "too many atoms, or twice")
        case.require(((indices >= 0) & (indices < n)).all(), "an atom that does not exist")
        case.require(np.isfinite(fit.values).all(), "a coefficient that is not finite")
        case.require(not job.nonnegative or (fit.values >= 0).all(), "a negative coefficient")
        case.require(codes.iterations[i] <= limit, "more iterations than max_iter")
        off = abs(LD(codes.residual_norms[i]) - fit.length)
        case.require(
            off <= fit.rounding,
            f"{status}: residual norm {codes.residual_norms[i]:.9g} where it is "
            f"{float(fit.length):.9g}, of a signal of norm {float(norm(fit.y)):.4g}",
        )
        _check_status(case, job, fit, status, int(codes.iterations[i]))
        if job.method == "orthogonal":
            _check_orthogonal(case, job, fit)
        if job.method in ("matching-pursuit", "affine-invariant") and not job.nonnegative:
            _check_textbook(case, job, fit, int(codes.iterations[i]))


def _check_status(case: Case, job: Job, fit: Fit, status: str, iterations: int) -> None:
    options = job.options
    steepest = fit.slopes.max()
    if status == "CONVERGED":
        goal = max(LD(options.get("rtol", 0)) * norm(fit.y), LD(options.get("atol", 0)))
        flat = steepest <= CLEAR * fit.eps * fit.size
        case.require(
            flat or fit.length <= goal * (1 + LD(1e-5)) + fit.rounding,
            f"CONVERGED with residual {float(fit.length):.4g} and slope {float(steepest):.4g}",
        )
    elif status == "MAX_ITER":
        case.require(iterations == options["max_iter"], f"MAX_ITER after {iterations}")
    elif status == "MAX_NONZERO":
        enough = len(fit.indices) >= min(options.get("n_nonzero", np.inf), len(job.rows))
        case.require(enough, f"MAX_NONZERO with {len(fit.indices)} atoms")
    elif status == "STALLED" and job.method == "orthogonal":
        for j in np.flatnonzero(fit.slopes > CLEAR * fit.eps * fit.size):
            away = norm(_outside(fit.used, job.rows[j] / norm(job.rows[j])))
            case.require(
                j in fit.indices or away <= 100 * np.sqrt(fit.eps),
                f"STALLED with an atom that is {float(away):.3g} outside of the span",
            )
    elif status == "STALLED":
        small = steepest**2 <= CLEAR * fit.eps * fit.size**2
        case.require(small, f"STALLED with slope {float(steepest):.4g}")
    else:
        case.require(False, f"nothing asks for {status}")


def _outside(used: Array, y: Array) -> Array:
    """Return the part of y outside of the span of the rows."""
    basis = np.zeros((0, used.shape[1]), LD)
    for z in used / norm(used)[:, None]:
        for _ in range(2):
            z = z - (basis @ z) @ basis
        if norm(z) > 1e-15:
            basis = np.vstack([basis, z / norm(z)])
    for _ in range(2):
        y = y - (basis @ y) @ basis
    return y


def _check_orthogonal(case: Case, job: Job, fit: Fit) -> None:
    """Check that the code is the least-squares fit, and that each atom chosen was the best."""
    if not len(fit.indices):
        return
    unit = fit.used / norm(fit.used)[:, None]
    best = norm(_outside(fit.used, fit.y))
    if job.nonnegative:
        scale = norm(fit.y) or LD(1)
        w, _ = nnls(unit.T.astype(np.float64), (fit.y / scale).astype(np.float64))
        best = norm(fit.y - scale * (exact(w) @ unit)) * (1 + LD(1e-12))
    # Nearly dependent atoms leave what their slopes do not tell from rounding.
    flat = np.abs(unit @ fit.residual) <= CLEAR * fit.eps * fit.size
    case.require(
        fit.length <= best + fit.rounding or flat.all(),
        f"orthogonal leaves {float(fit.length):.9g} where its atoms leave {float(best):.9g}",
    )
    if job.nonnegative:
        return
    rows = job.rows / norm(job.rows)[:, None] if job.options["unit_atoms"] else job.rows
    for k, j in enumerate(fit.indices):
        rest = _outside(fit.used[:k], fit.y)
        c = np.abs(rows @ rest)
        error = CLEAR * fit.eps * norm(fit.y) * norm(rows).max()
        for i in np.flatnonzero(c * (1 - LD(1e-3)) > c[j] + error):
            away = norm(_outside(fit.used[:k], job.rows[i] / norm(job.rows[i])))
            case.require(
                away <= 100 * np.sqrt(fit.eps),
                f"choice {k} has slope {float(c[j]):.6g}, another atom has {float(c[i]):.6g}",
            )


def _check_textbook(case: Case, job: Job, fit: Fit, iterations: int) -> None:
    """Check a code of matching pursuit against r ← r − ⟨r, z⟩/h(z) z with the best z."""
    rows = job.rows / norm(job.rows)[:, None] if job.options["unit_atoms"] else job.rows
    if iterations > 30 or fit.eps > 1e-12:
        return
    squares = (rows * rows).sum(axis=1)
    if job.method == "affine-invariant":
        squares = np.full(len(rows), squares.max())
    x, rest = np.zeros(len(rows), LD), fit.y
    for _ in range(iterations):
        c = rows @ rest
        *_, second, first = np.sort(np.abs(c)) if len(c) > 1 else (LD(0), abs(c[0]))
        if second >= first * (1 - LD(1e-6)) or first <= CLEAR * fit.rounding * norm(rows).max():
            return  # rounding may choose either, or end here
        j = int(np.argmax(np.abs(c)))
        x[j] += c[j] / squares[j]
        rest = rest - c[j] / squares[j] * rows[j]
    dense = np.zeros(len(rows), LD)
    dense[fit.indices] = fit.values * norm(fit.used) / norm(rows[fit.indices])
    off = np.abs(dense - x) * norm(rows)
    case.require(
        (off <= CLEAR * fit.rounding).all(),
        f"{job.method} is {float(off.max()):.3g} off after {iterations} iterations",
    )


def _tied(case: Case) -> None:
    """Of equal correlations the lowest index is taken: rows of ±1 make all products exact."""
    d, n = case.choose(4, 16), case.integer(2, 300)
    matrix = case.rng.choice([-1.0, 1.0], (n, d))
    dtype = precision(case)
    made = case.rng.integers(-1, 2, (case.integer(1, 20), d)) * (case.rng.random(d) < 0.4)
    case.input("matrix", matrix := matrix.astype(dtype))
    case.input("signals", made := made.astype(dtype))
    method = case.choose("orthogonal", "matching-pursuit")
    case.record(method=method)
    options = {"method": method, "max_iter": 1, "n_nonzero": 1, "progress": False}
    codes = Job(made, matrix, options).encode(case)
    correlations = np.abs(made.astype(float) @ matrix.astype(float).T)
    for i, c in enumerate(correlations):
        expected = [int(np.argmax(c))] if c.any() else []
        chosen = codes[i].indices.tolist()
        case.require(chosen == expected, f"of equal correlations {chosen} is taken, not {expected}")


# Again -------------------------------------------------------------------------------------


def same_codes(case: Case, one: Any, other: Any, how: str) -> None:
    """Check that two sets of codes are equal bit for bit."""
    for name in ARRAYS:
        ours, theirs = (np.asarray(getattr(codes, name)) for codes in (one, other))
        same = ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()
        case.require(same, f"{how}, codes have other {name}")


def _threads(case: Case, job: Job, codes: Any) -> None:
    same_codes(case, codes, job.encode(case, threads=case.integer(1, 3)), "with other threads")


def _pieces(case: Case, job: Job, codes: Any) -> None:
    """Signals of an iterator: the same in pieces of any size."""
    array = np.asarray(job.signals)

    def pieces() -> Any:
        size = case.integer(1, 7)
        return (array[k : k + size] for k in range(0, len(array), size))

    first = job.encode(case, pieces())
    check_codes(case, job, first)
    same_codes(case, first, job.encode(case, pieces()), "in other pieces")


def _prepared(case: Case, job: Job, codes: Any) -> None:
    """An encoder, before and after it is pickled."""
    options = {name: value for name, value in job.options.items() if name != "progress"}
    atoms = pursuit.Cone(job.matrix) if job.nonnegative else job.matrix
    size = len(np.asarray(job.signals))
    encoder = case.call(pursuit.Encoder, atoms, expected=size, names=NAMES, **options)
    for prepared in (encoder, pickle.loads(pickle.dumps(encoder))):
        same_codes(case, codes, case.call(prepared, job.signals), "by an encoder")


def _selected(case: Case, job: Job, codes: Any) -> None:
    """Single codes, slices and products are those of the arrays."""
    dense = codes.toarray()
    key = case.choose(
        slice(case.integer(0, 3), case.integer(0, 12), case.choose(None, 2, -1)),
        case.rng.integers(0, len(dense), case.integer(0, 5)),
        case.rng.random(len(dense)) < 0.5,
    )
    chosen = case.call(lambda: codes[key])
    case.require(np.array_equal(chosen.toarray(), dense[key]), "selected codes are others")
    norms = np.asarray(codes.residual_norms)[key]
    case.require(np.array_equal(chosen.residual_norms, norms), "selected residual norms are others")
    i = case.integer(0, len(dense) - 1)
    case.require(np.array_equal(codes[i].toarray(), dense[i]), "a single code is another")
    product = exact(case.call(lambda: codes @ job.matrix))
    size = np.abs(exact(dense)) @ np.abs(job.rows)
    off = np.abs(product - exact(dense) @ job.rows)
    bound = SLACK * len(job.rows) * eps_of(job.dtype) * size
    case.require((off <= bound).all(), "codes @ atoms is another product")
