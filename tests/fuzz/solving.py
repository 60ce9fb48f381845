"""The area `solve`: any objective over any set by any method, with options in any combination."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, Finding, words
from fuzz.generators import Array, junked, magnitude
from fuzz.problems import NAMES as PROBLEM_NAMES
from fuzz.problems import Atoms, Target, some_atoms, some_target
from fuzz.solve_checks import Posed, check_result
from pursuit import methods

OPTIONS = tuple(inspect.signature(pursuit.solve).parameters)
RULE_NAMES = words(
    "L L_A nu m indices sampling kappa direction step probe exploration M patience delta"
)
NAMES = PROBLEM_NAMES | set(OPTIONS) | RULE_NAMES
JUNKED = tuple(name for name in OPTIONS[3:] if name not in ("progress", "checkpoint", "callback"))
RANDOM = ("random-pursuit", "accelerated-random", "accelerated-matching-pursuit", "gradient-free")
FALLING = ("matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal", "blended",
           "gradient-free")  # fmt: skip
"""Methods whose value never rises, with constants that are computed."""
NO_PROOF = ("greedy-greedy",)


@dataclass(frozen=True)
class Rules:
    """A method and what may be expected of it."""

    method: Any
    name: str
    plain: bool
    """As its name stands for it, with no rule or constant put in."""
    falling: bool
    safe: bool


def solve_case(case: Case) -> None:
    posed = pose(case)
    call = lambda **more: pursuit.solve(  # noqa: E731
        posed.target.f, posed.atoms.set, posed.rules.method, **(posed.options | more)
    )
    result = case.ask(call, NAMES, valid=_valid(case, posed))
    case.tell(result=str(result).replace("\n", " |"))
    check_result(case, posed, result)
    again = case.pick(*AGAIN)
    again(case, posed, call, result)


def pose(case: Case) -> Posed:
    """A problem, a method and options."""
    d = case.whole(1, 4) if case.chance(0.3) else case.whole(2, 10)
    atoms = some_atoms(case, d)
    target = some_target(case, atoms, d)
    rules = _rules(case, atoms, target)
    options = _options(case, atoms, target)
    case.tell(method=rules.method, options=options, f=target.f)
    return Posed(target, atoms, rules, options)


def _valid(case: Case, posed: Posed) -> bool:
    """Whether nothing at all can be wrong with the call."""
    rules, options = posed.rules, posed.options
    able = not posed.atoms.cone and posed.atoms.rows is not None and rules.plain
    fits = "tol" not in options or rules.name != "gradient-free"
    residual = "rtol" not in options or hasattr(posed.target.f, "signal_norm")
    return not case.odd and able and fits and residual


# Methods -----------------------------------------------------------------------------------


def _rules(case: Case, atoms: Atoms, target: Target) -> Rules:
    name = case.pick(*methods.NAMED)
    if atoms.cone and case.chance(0.8):
        name = case.pick("matching-pursuit", "affine-invariant", "random-pursuit", "orthogonal")
    if case.chance(0.75):
        falling = name in FALLING
        return Rules(name, name, True, falling, name not in NO_PROOF)
    if case.chance(0.1):
        case.odd.append("method")
        return Rules(case.pick("", "omp", None, 3, len, b"mp"), "?", False, False, False)
    return _built(case, atoms)


def _built(case: Case, atoms: Atoms) -> Rules:
    """A method made of rules."""
    case.odd.append("rules")
    direction = _direction(case, atoms)
    step, safe = _step(case)
    nu = case.pick(None, None, 1.0, 100.0, 1e-3)
    p = _sampling(case, atoms)
    makers: dict[str, Callable[[], Any]] = {
        "matching-pursuit": lambda: methods.matching_pursuit(direction=direction, step=step),
        "affine-invariant": lambda: methods.affine_invariant(direction=direction),
        "random-pursuit": lambda: methods.random_pursuit(sampling=p, step=step),
        "accelerated-random": lambda: methods.accelerated_random(nu=nu, sampling=p, step=step),
        "accelerated-matching-pursuit": lambda: methods.accelerated_matching_pursuit(
            nu=nu, sampling=p, direction=direction, step=step
        ),
        "accelerated": lambda: methods.accelerated(sampling=p),
        "accelerated-affine-invariant": lambda: methods.accelerated_affine_invariant(sampling=p),
        "blended": lambda: methods.blended(kappa=case.pick(1.0, 4.0, 100.0, 0.5)),
        "gradient-free": lambda: methods.gradient_free(sampling=p),
    }
    name = case.pick(*makers)
    method = case.ask(makers[name], NAMES)
    safe = safe and (nu is None or "accelerated-" not in name)
    return Rules(method, name, False, name in FALLING and safe, safe)


def _direction(case: Case, atoms: Atoms) -> Any:
    n = 1 if atoms.rows is None else len(atoms.rows)
    return case.pick(
        None,
        pursuit.Steepest(),
        pursuit.Approximate(case.pick(0.3, 0.9, 1.0, 0.0, 2.0)),
        pursuit.Subset(case.whole(1, n + 1)),
        pursuit.Random(),
        pursuit.Replay(case.rng.integers(0, n, 100)),
    )


def _step(case: Case) -> tuple[Any, bool]:
    """A step rule, and whether it is one with which the value cannot run away."""
    choices = [
        (None, True),
        (pursuit.ExactLineSearch(), True),
        (pursuit.Backtracking(), True),
        (pursuit.ValueSearch(), True),
        (pursuit.AffineInvariant(), True),
        (pursuit.Smooth(case.pick(1e-3, 1.0, 1e3)), False),
        (pursuit.Backtracking(case.pick(1e-6, 1e6)), False),
        (pursuit.AffineInvariant(case.pick(1e-3, 1.0, 1e3)), False),
    ]
    return choices[case.whole(0, len(choices) - 1)]


def _sampling(case: Case, atoms: Atoms) -> Any:
    if atoms.rows is None or case.chance(0.4):
        return None
    p = case.rng.random(len(atoms.rows)) ** case.pick(1, 4)
    return p / p.sum()


# Options -----------------------------------------------------------------------------------


def _options(case: Case, atoms: Atoms, target: Target) -> dict[str, Any]:
    longest = {case.whole(0, 3): 2, case.whole(4, 60): 8, case.whole(60, 300): 2}
    options: dict[str, Any] = {"max_iter": case.weighted(longest), "seed": case.whole(0, 5)}
    options["progress"] = False
    if case.chance(0.5):
        options["tol"] = case.pick(0, 0.0, 1e-1, 1e-3, 1e-6, 1e-10, 1e-14)
    if case.chance(0.15):
        options["rtol"] = case.pick(0.0, 0.5, 1e-2, 1e-8)
    if case.chance(0.1):
        options["target"] = float(case.rng.standard_normal()) * magnitude(case, "f4")
    if case.chance(0.2):
        options["max_atoms"] = case.whole(1, 6)
    if case.chance(0.2):
        options["every"] = case.whole(1, 30)
    if case.chance(0.3):
        options["unit_atoms"] = False
    if case.chance(0.05):
        options["max_time"] = case.pick(1e-9, 100.0)
    return junked(case, _started(case, atoms, target, options), JUNKED)


def _started(case: Case, atoms: Atoms, target: Target, options: dict[str, Any]) -> dict[str, Any]:
    """With a start other than zero, now and then."""
    if not case.chance(0.2) or atoms.rows is None:
        return options
    case.odd.append("start")  # it may be outside of the span in the precision of the atoms
    weights = case.rng.standard_normal(len(atoms.rows)) * (case.rng.random(len(atoms.rows)) < 0.5)
    weights = np.abs(weights) if atoms.cone and case.chance(0.9) else weights
    weights /= np.asarray(atoms.set.norms, float) / magnitude(case, "f4")
    weights = weights.astype(case.pick("f8", "f8", target.dtype))
    if atoms.cone or case.chance(0.5):
        return options | {"coef0": case.keep("coef0", weights)}
    x0: Array = np.asarray(weights @ np.asarray(atoms.set.matrix))
    return options | {"x0": case.keep("x0", x0)}


# The same once more ------------------------------------------------------------------------

Call = Callable[..., Any]


def _nothing(case: Case, posed: Posed, call: Call, result: Any) -> None:
    pass


def _timed(posed: Posed) -> bool:
    return "max_time" in posed.options


def same(case: Case, one: Any, other: Any, what: str) -> None:
    """Two results are equal, bit for bit."""
    for name in ("x", "weights", "support"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if ours.shape != theirs.shape or ours.tobytes() != theirs.tobytes():
            raise Finding(f"{what}: {name} differs")
    for name in ("value", "slope", "iterations", "status"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if ours != theirs and not (ours != ours and theirs != theirs):
            raise Finding(f"{what}: {name} is {theirs} instead of {ours}")


def _resumed(case: Case, posed: Posed, call: Call, result: Any, file: Any = None) -> None:
    """Stopped after some iterations and continued."""
    if _timed(posed) or not isinstance(posed.options["max_iter"], int):
        return
    early = case.whole(0, max(result.iterations, 1))
    case.tell(early=early)
    more = {} if file is None else {"checkpoint": file}
    first = case.ask(lambda: call(**({"max_iter": min(early, posed.options["max_iter"])} | more)),
                     NAMES)  # fmt: skip
    source = first if file is None else file
    second = case.ask(lambda: call(resume=source), NAMES, valid=True)
    same(case, result, second, "resumed, a run is not the uninterrupted one")


def _resumed_from_file(case: Case, posed: Posed, call: Call, result: Any) -> None:
    _resumed(case, posed, call, result, case.folder / "run.npz")


def _observed(case: Case, posed: Posed, call: Call, result: Any) -> None:
    """Watched more or less often."""
    if _timed(posed) or result.status.name == "STOPPED":
        return
    seen: list[int] = []
    every = case.pick(1, 2, 7, 1000)
    watched = case.ask(
        lambda: call(every=every, callback=lambda s: seen.append(s.iteration)), NAMES
    )
    same(case, result, watched, f"observed every {every}, a run is another")
    case.require(seen == watched.trace.iteration.tolist(), "the callback missed an observation")


def _interrupted(case: Case, posed: Posed, call: Call, result: Any) -> None:
    """Ended by an error in the callback, and continued."""
    if _timed(posed) or result.iterations == 0 or posed.options.get("callback") is not None:
        return
    at = case.whole(0, result.iterations)

    def fail(snapshot: Any) -> None:
        if snapshot.iteration >= at:
            raise KeyboardInterrupt("interrupted by the fuzzer")

    try:
        call(every=1, callback=fail)
    except KeyboardInterrupt as error:
        partial = error.partial_result  # type: ignore[attr-defined]
        second = case.ask(lambda: call(resume=partial), NAMES, valid=True)
        same(case, result, second, f"interrupted at {at} and continued, a run is another")


def _threaded(case: Case, posed: Posed, call: Call, result: Any) -> None:
    if _timed(posed) or "threads" not in OPTIONS:
        return
    for threads in (1, 3):
        other = case.ask(lambda: call(threads=threads), NAMES)  # noqa: B023
        same(case, result, other, f"with {threads} threads a run is another")


AGAIN = (_resumed, _resumed_from_file, _observed, _interrupted, _threaded, _nothing)
"""Ways to run a problem once more that must lead to the same end."""
