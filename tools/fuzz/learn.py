"""The area `learn`: dictionaries from signals, against textbook passes of K-SVD and MOD."""

from __future__ import annotations

from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case
from fuzz.data import Array, laid_out, precision, rows, signals
from fuzz.encode import Job, check_codes
from fuzz.truth import SLACK, eps_of, exact, norm

NAMES = ("signals", "n_atoms", "n_nonzero", "method", "start", "passes")


def run(case: Case) -> None:
    """Learn a dictionary, check it, and learn it again in another way."""
    d, n = case.integer(1, 9), case.integer(1, 9)
    dtype = precision(case)
    made = signals(
        case, rows(case, n, d, "f8", "gaussian", "sparse"), n + case.integer(0, 40), dtype
    )
    made[~made.any(axis=1), 0] = np.abs(made).max() or 1.0
    options: dict[str, Any] = {
        "n_atoms": n,
        "n_nonzero": case.integer(1, n),
        "method": case.choose("online", "aksvd", "mod"),
        "nonnegative": case.chance(0.3),
        "passes": case.integer(1, 4),
        "seed": case.integer(0, 5),
        "progress": False,
    }
    if options["nonnegative"]:
        made = np.abs(made)
    case.input("signals", made)
    case.record(options=options)
    given = laid_out(case, made)

    def learn(**more: Any) -> Any:
        # Signals that are all multiples of few atoms may leave too few to begin with.
        return case.call(pursuit.learn, given, names=NAMES, valid=False, **(options | more))

    learned = learn()
    case.record(learned=str(learned))
    _check(case, made, options, learned)
    case.choose(_threads, _resumed, _coded, _textbook, _textbook)(
        case, made, options, learn, learned
    )


def _check(case: Case, made: Array, options: dict[str, Any], learned: Any) -> None:
    """Check atoms of unit norm, shares that are shares, and an objective that decreases."""
    atoms, trace = learned.atoms, learned.trace
    eps = eps_of(made.dtype)
    case.require(atoms.shape == (options["n_atoms"], made.shape[1]), f"atoms of {atoms.shape}")
    case.require(atoms.dtype == made.dtype, f"atoms in {atoms.dtype}")
    off = np.abs(norm(exact(atoms)) - 1).max()
    case.require(off <= SLACK * made.shape[1] * eps, f"a norm is {float(off):.3g} off")
    case.require(not options["nonnegative"] or (atoms >= 0).all(), "an atom with negative entries")
    shares = np.concatenate([trace.share, learned.usage])
    case.require(((shares >= 0) & (shares <= 1 + 1e-5)).all(), "shares that are none")
    if options["method"] != "online":
        rises = np.diff(trace.objective)[trace.renewed[:-1] == 0]
        size = float((norm(exact(made)) ** 2).mean())
        rise = rises.max(initial=-1)
        case.require(rise <= SLACK * 16 * eps * size, f"the objective rises by {rise:.3g}")


def same_atoms(case: Case, one: Any, other: Any, how: str) -> None:
    """Check that two dictionaries, and how they were learned, are equal bit for bit."""
    for name in ("atoms", "usage"):
        same = getattr(one, name).tobytes() == getattr(other, name).tobytes()
        case.require(same, f"{how}, {name} differ")
    case.require(
        np.array_equal(one.trace.objective, other.trace.objective), f"{how}, traces differ"
    )
    case.require(one.status == other.status, f"{how}, learning ends as {other.status.name}")


def _threads(case: Case, made: Array, options: Any, learn: Any, learned: Any) -> None:
    same_atoms(case, learned, learn(threads=3), "with 3 threads")


def _resumed(case: Case, made: Array, options: Any, learn: Any, learned: Any) -> None:
    path = case.folder / "learning.npz"
    learn(max_time=1e-9, checkpoint=path)
    same_atoms(case, learned, learn(resume=path), "stopped and resumed")


def _coded(case: Case, made: Array, options: Any, learn: Any, learned: Any) -> None:
    """The atoms are a dictionary like any other."""
    coding = {"method": "orthogonal", "n_nonzero": options["n_nonzero"], "max_iter": 100,
              "unit_atoms": True, "progress": False}  # fmt: skip
    job = Job(made, learned.atoms, coding)
    check_codes(case, job, job.encode(case))


def _textbook(case: Case, made: Array, options: Any, learn: Any, learned: Any) -> None:
    """One pass from given atoms, by the definition of the method."""
    n, method = options["n_atoms"], case.choose("aksvd", "mod")
    start = np.abs(case.rng.standard_normal((n, made.shape[1])))
    start = case.input(
        "start", (start / np.linalg.norm(start, axis=1, keepdims=True)).astype(made.dtype)
    )
    one = learn(start=start, method=method, passes=1, nonnegative=False)
    if one.trace.renewed.any():
        return
    codes = case.call(pursuit.encode, made, start, "orthogonal", n_nonzero=options["n_nonzero"],
                      progress=False, names=NAMES)  # fmt: skip
    coefs, atoms = exact(codes.toarray()), exact(start)
    target = exact(made)
    if method == "aksvd":
        residuals = target - coefs @ atoms
        for j in range(n):
            used = coefs[:, j] != 0
            g = coefs[used, j]
            parts = residuals[used] + np.outer(g, atoms[j])
            new = g @ parts
            if not used.any() or norm(new) <= 1e-6 * norm(g) * norm(parts.ravel()):
                continue
            atoms[j] = new / norm(new)
            coefs[used, j] = parts @ atoms[j]
            residuals[used] = parts - np.outer(coefs[used, j], atoms[j])
    else:
        gram = coefs.T @ coefs
        used = np.diag(gram) > 0
        lengths = np.sqrt(np.diag(gram)[used])
        scaled = (gram[np.ix_(used, used)] / np.outer(lengths, lengths)).astype(np.float64)
        if not used.any() or np.linalg.cond(scaled) > 1e3:
            return
        atoms[used] = exact(np.linalg.solve(gram[np.ix_(used, used)].astype(float),
                                            (coefs.T @ target)[used].astype(float)))  # fmt: skip
        atoms[used] /= norm(atoms[used])[:, None]
    off = np.abs(atoms - exact(one.atoms)).max()
    bound = 1e-8 if made.dtype == np.float64 else 1e-2
    case.require(off <= bound, f"a pass of {method} is {float(off):.3g} off")
