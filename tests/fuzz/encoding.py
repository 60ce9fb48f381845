"""The area `encode`: many signals over one dictionary, in memory, from pieces and to folders."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case, Finding
from fuzz.encode_checks import Encoded, check_codes
from fuzz.generators import Array, junked, laid_out, near, real_type, rows

OPTIONS = tuple(inspect.signature(pursuit.encode).parameters)
NAMES = frozenset(OPTIONS) | {"codes", "path"}
METHODS = {
    "orthogonal": 5,
    "matching-pursuit": 5,
    "random-pursuit": 1,
    "accelerated-random": 1,
    "accelerated-matching-pursuit": 1,
    "accelerated": 1,
    "affine-invariant": 1,
    "greedy-greedy": 0.5,
}
LIMITED = ("orthogonal", "matching-pursuit", "random-pursuit", "affine-invariant")
"""Methods that take n_nonzero."""
JUNKED = tuple(name for name in OPTIONS[2:] if name not in ("out", "resume", "progress"))
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")


def encode_case(case: Case) -> None:
    asked = pose(case)
    call = lambda **more: pursuit.encode(  # noqa: E731
        asked.signals, asked.atoms, **(asked.options | more)
    )
    codes = case.ask(call, NAMES, valid=not case.odd)
    case.tell(codes=str(codes).replace("\n", " |"))
    check_codes(case, asked, codes)
    again = case.pick(
        _threads, _saved, _folder, _pieces, _mapped, _other_order, _one_by_one, _used, _prepared
    )
    again(case, asked, call, codes)


def pose(case: Case) -> Encoded:
    """Signals, atoms, a method and options."""
    d = case.whole(1, 3) if case.chance(0.2) else case.whole(2, 14)
    n = case.whole(1, 3) if case.chance(0.2) else case.whole(2, 24)
    m = case.whole(1, 12) if case.chance(0.95) else case.whole(13, 300)
    dtype = real_type(case)
    matrix = rows(case, n, d, dtype)
    signals = near(case, matrix, m, dtype if case.chance(0.8) else real_type(case))
    method = case.weighted(METHODS)
    cone = case.chance(0.25) and method in LIMITED[:2]
    options = _options(case, method)
    if cone and method == "matching-pursuit" and case.chance(0.3):
        options["forward_only"] = True
    case.tell(method=method, cone=cone, options=options)
    given = case.keep("atoms", laid_out(case, matrix))
    atoms = given
    if cone or case.chance(0.3):
        wrap = pursuit.Cone if cone else pursuit.Dictionary
        atoms = case.ask(lambda: wrap(given), NAMES, valid=not case.odd)
    shown = case.keep("signals", laid_out(case, signals))
    return Encoded(shown, atoms, given, cone, {"method": method} | options)


def _options(case: Case, method: str) -> dict[str, Any]:
    options: dict[str, Any] = {"progress": False}
    if case.chance(0.5) and method in LIMITED:
        options["n_nonzero"] = case.whole(1, 8)
    if case.chance(0.5) or method not in LIMITED:
        options["max_iter"] = case.pick(1, 2, 5, case.whole(3, 40), 200)
    if case.chance(0.25):
        options["rtol"] = case.pick(0.0, 0.5, 1e-2, 1e-6, 1e-14, 2.0)
    if case.chance(0.15):
        options["atol"] = case.pick(0.0, 1.0, 1e-3, 1e-12, 1e20)
    if case.chance(0.3):
        options["unit_atoms"] = False
    if case.chance(0.3):
        options["seed"] = case.whole(0, 9)
    if case.chance(0.2):
        options["threads"] = case.whole(1, 3)
    return junked(case, options, JUNKED)


# The same in another way -------------------------------------------------------------------


def same(one: Any, other: Any, what: str) -> None:
    """Two sets of codes are equal, bit for bit."""
    for name in ARRAYS:
        ours, theirs = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        if ours.shape != theirs.shape or ours.tobytes() != theirs.tobytes():
            raise Finding(f"{what}: {name} differs")


def _threads(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    for threads in (1, 3):
        other = case.ask(lambda: call(threads=threads), NAMES, valid=True)  # noqa: B023
        same(codes, other, f"with {threads} threads")


def _saved(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    path = case.folder / "codes.npz"
    case.ask(lambda: codes.save(path), NAMES, valid=True)
    loaded = case.ask(lambda: pursuit.Codes.load(path), NAMES, valid=True)
    same(codes, loaded, "saved and loaded")
    case.require(str(loaded) == str(codes), "saved and loaded, codes print something else")


def _folder(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    path = case.folder / "codes"
    stored = case.ask(lambda: call(out=path), NAMES, valid=True)
    same(codes, stored, "in a folder")
    again = case.ask(lambda: call(out=path, resume=True), NAMES, valid=True)
    same(codes, again, "resumed though all was done")
    opened = case.ask(lambda: pursuit.Codes.open(path), NAMES, valid=True)
    same(codes, opened, "opened from a folder")


def _pieces(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    """The signals of an iterator; how many there are is not known, which may change the form."""
    signals, size = np.asarray(asked.signals), case.whole(1, 5)
    pieces = lambda: (signals[k : k + size] for k in range(0, len(signals), size))  # noqa: E731
    options = asked.options | {"progress": False}
    first = case.ask(lambda: pursuit.encode(pieces(), asked.atoms, **options), NAMES, valid=True)
    check_codes(case, asked, first)
    size = case.whole(1, 7)
    second = case.ask(lambda: pursuit.encode(pieces(), asked.atoms, **options), NAMES, valid=True)
    same(first, second, "in other pieces")


def _mapped(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    path = case.folder / "signals.npy"
    np.save(path, np.asarray(asked.signals))
    options = asked.options
    other = case.ask(lambda: pursuit.encode(path, asked.atoms, **options), NAMES, valid=True)
    same(codes, other, "read from a file")


def _other_order(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    signals = np.asfortranarray(np.asarray(asked.signals))
    options = asked.options
    other = case.ask(lambda: pursuit.encode(signals, asked.atoms, **options), NAMES, valid=True)
    same(codes, other, "in Fortran's order")


def _one_by_one(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    """A signal alone: what it is worth does not depend on its neighbours."""
    signals: Array = np.asarray(asked.signals)
    i = case.whole(0, len(signals) - 1)
    options, alone = asked.options, signals[i : i + 1]
    other = case.ask(lambda: pursuit.encode(alone, asked.atoms, **options), NAMES, valid=True)
    check_codes(case, Encoded(alone, asked.atoms, asked.given, asked.cone, options), other)


def _prepared(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    """A dictionary that is prepared once, called twice, pickled, and given a part."""
    signals, options = np.asarray(asked.signals), dict(asked.options)
    options.pop("progress")
    make = lambda: pursuit.Encoder(asked.atoms, **options, expected=len(signals))  # noqa: E731
    encoder = case.ask(make, NAMES | {"expected"}, valid=True)
    for _ in range(2):
        same(codes, case.ask(lambda: encoder(signals), NAMES, valid=True), "by an encoder")
    sent = pickle.loads(pickle.dumps(encoder))
    same(codes, case.ask(lambda: sent(signals), NAMES, valid=True), "by a pickled encoder")
    part = case.ask(lambda: encoder.part(signals, 0), NAMES | {"first"}, valid=True)
    same(codes, part, "as a part that is all")
    case.ask(lambda: repr(encoder), NAMES, valid=True)


def _used(case: Case, asked: Encoded, call: Any, codes: Any) -> None:
    """What is done to the matrix is done to a copy."""
    before = codes.indices.tobytes(), codes.values.tobytes()
    codes.matrix.sort_indices()
    codes.matrix.data[...] = 7
    same = before == (codes.indices.tobytes(), codes.values.tobytes())
    case.require(same, "what is done to codes.matrix changes the codes")
