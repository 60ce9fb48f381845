"""The area `learn`: dictionaries from signals, each held against codes that are made anew."""

from __future__ import annotations

from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, Finding, words
from fuzz.damage import damaged
from fuzz.encode_checks import Encoded, check_codes
from fuzz.generators import Array, junked, laid_out, near, real_type, rows
from fuzz.oracle import LD, ROOM, eps_of, exact, norm

NAMES = words(
    "signals n_atoms n_nonzero method nonnegative passes start tol max_time seed threads resume "
    "checkpoint path atoms"
)
METHODS = ("online", "aksvd", "mod")
JUNKED = ("n_atoms", "n_nonzero", "method", "passes", "tol", "seed", "threads", "start", "resume")


def learn_case(case: Case) -> None:
    signals, options = pose(case)
    call = lambda **more: pursuit.learn(signals, **(options | more))  # noqa: E731
    learned = case.ask(call, NAMES, valid=not case.odd)
    case.tell(learned=str(learned).replace("\n", " |"))
    _check(case, np.asarray(signals), options, learned)
    case.pick(_threads, _resumed, _damaged, _coded)(case, signals, options, call, learned)


def pose(case: Case) -> tuple[Any, dict[str, Any]]:
    d, n = case.whole(1, 9), case.whole(1, 9)
    dtype = real_type(case)
    m = n + case.whole(0, 40) if case.chance(0.9) else case.whole(1, 10)
    behind = rows(case, n, d, dtype)
    signals = near(case, behind, m, dtype)
    nonnegative = case.chance(0.3)
    if nonnegative and dtype.kind == "f":
        signals = np.abs(signals)
    case.odd += ["few signals"] if m < n else []
    case.odd += ["a sign"] if nonnegative and (signals.astype(float) < 0).any() else []
    # Signals that are zero, or all alike, teach no atom.
    case.odd += ["zeros"] if not signals.astype(float).any(axis=1).all() else []
    options: dict[str, Any] = {
        "n_atoms": n,
        "n_nonzero": case.whole(1, n),
        "method": case.pick(*METHODS),
        "nonnegative": nonnegative,
        "passes": case.whole(1, 4),
        "seed": case.whole(0, 5),
        "progress": False,
    }
    if case.chance(0.2):
        options["tol"] = case.pick(0.0, 1e-3, 0.5)
    if case.chance(0.2):
        start = np.abs(case.rng.standard_normal((n, d))).astype(signals.dtype)
        options["start"] = case.keep("start", start)
        case.odd.append("start")
    case.tell(options=options)
    shown = case.keep("signals", laid_out(case, signals))
    return shown, junked(case, options, JUNKED)


def _check(case: Case, signals: Array, options: dict[str, Any], learned: Any) -> None:
    """Unit atoms, of one sign where asked; shares that are shares; an objective that falls."""
    n, d = int(options["n_atoms"]), signals.shape[1]
    case.require(learned.atoms.shape == (n, d), f"atoms of shape {learned.atoms.shape}")
    single = signals.dtype == np.float32
    case.require(learned.atoms.dtype == (np.float32 if single else np.float64), "another type")
    case.require(np.isfinite(learned.atoms).all(), "atoms that are not finite")
    eps = eps_of(learned.atoms.dtype)
    off = np.abs(norm(exact(learned.atoms)) - 1).max()
    case.require(off <= ROOM * d * eps, f"an atom's norm is off by {float(off):.3g}")
    if options["nonnegative"]:
        case.require((learned.atoms >= 0).all(), "an atom with a negative entry")
    trace = learned.trace
    case.require(len(trace) > 0 and trace.signals[-1] > 0, "nothing was learned from")
    bounded = (trace.objective >= 0).all() and (trace.share >= 0).all()
    case.require(bounded and (trace.share <= 1 + 1e-6).all(), f"shares of {trace.share}")
    case.require(((learned.usage >= 0) & (learned.usage <= 1 + 1e-9)).all(), "usage is no share")
    told = np.isfinite(trace.objective).all()  # the square of 1e200 is no number
    if options["method"] != "online" and len(trace) > 1 and told:
        kept = trace.renewed[:-1] == 0  # nothing was renewed after the row before
        rises = np.diff(trace.objective)[kept]
        size = 0.5 * float((norm(exact(signals)) ** 2).mean())
        rounding = 1e3 * eps * size
        case.require(
            rises.max(initial=-1) <= rounding, f"the objective rises by {rises.max(initial=0):.3g}"
        )


def same(one: Any, other: Any, what: str) -> None:
    for name in ("atoms", "usage"):
        if getattr(one, name).tobytes() != getattr(other, name).tobytes():
            raise Finding(f"{what}: {name} differs")
    if one.trace.objective.tobytes() != other.trace.objective.tobytes():
        raise Finding(f"{what}: the trace differs")
    if (one.status, one.replaced) != (other.status, other.replaced):
        raise Finding(f"{what}: it ends apart")


def _threads(case: Case, signals: Any, options: Any, call: Any, learned: Any) -> None:
    for threads in (1, 3):
        other = case.ask(lambda: call(threads=threads), NAMES, valid=True)  # noqa: B023
        same(learned, other, f"with {threads} threads")


def _resumed(case: Case, signals: Any, options: Any, call: Any, learned: Any) -> None:
    """Stopped after some passes; `passes` decide when atoms may be renewed, so time stops it."""
    path = case.folder / "learning.npz"
    case.asked(lambda: call(max_time=1e-9, checkpoint=path), NAMES)
    if path.exists():
        other = case.ask(lambda: call(resume=path), {*NAMES, str(path)}, valid=True)
        same(learned, other, "stopped and resumed")


def _damaged(case: Case, signals: Any, options: Any, call: Any, learned: Any) -> None:
    path = case.folder / "learning.npz"
    case.asked(lambda: call(max_time=1e-9, checkpoint=path), NAMES)
    if path.exists() and damaged(case, path):
        other = case.ask(lambda: call(resume=path), {*NAMES, str(path)})
        same(learned, other, "a damaged checkpoint went unnoticed")


def _coded(case: Case, signals: Any, options: Any, call: Any, learned: Any) -> None:
    """The atoms are a dictionary like any other."""
    k = int(options["n_nonzero"] or 1)
    coding = {"method": "orthogonal", "n_nonzero": k, "progress": False}
    codes = case.ask(lambda: pursuit.encode(signals, learned.atoms, **coding), NAMES)
    check_codes(case, Encoded(signals, learned.atoms, learned.atoms, False, coding), codes)
    left = (exact(codes.residual_norms) ** 2).sum()
    case.require(left <= (norm(exact(signals)) ** 2).sum() * (1 + LD(1e-6)), "codes add to signals")
