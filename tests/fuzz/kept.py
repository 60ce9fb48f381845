"""The area `kept`: folders of codes, saved codes and checkpoints, whole, interrupted, damaged.

What comes back is what was put there, bit for bit, or a sentence that names the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import pursuit
from fuzz import solving
from fuzz.case import Case, Refused, words
from fuzz.damage import damaged
from fuzz.encoding import ARRAYS
from fuzz.generators import Array
from pursuit import Codes
from pursuit.base.archive import save_archive
from pursuit.decomposing.book import COLUMNS, facts
from pursuit.decomposing.book_files import BOOK
from pursuit.encoding.codes import CODES
from pursuit.solving.checkpoint import CHECKPOINT

METHODS = ("orthogonal", "matching-pursuit", "random-pursuit", "accelerated-random")
CODES_NAMES = words("out path codes resume signals")
BOOK_NAMES = words("book path")
ABOUT = ("rate", "length", "channels", "reached", "n", "method", "plan", "fingerprint", "memory")
"""What archives say beside their arrays."""
STRANGE = (
    np.zeros((2, 2)),
    np.array(["x"]),
    np.array(1.0),
    np.array([np.nan]),
    np.array([2**62]),
    np.array([-1]),
    np.array([1j]),
    np.zeros(0, bool),
)
"""Arrays that no archive has."""


class Interrupted(Exception):
    """What stops a run from outside."""


def kept_case(case: Case) -> None:
    kinds = {_folder: 3, _stopped: 2, _saved: 2, _checkpoint: 4, _foreign: 1, _book: 2, _mixed: 1}
    case.weighted(kinds)(case)


def spoil(case: Case, path: Path) -> bool:
    """Damage a file, or take it away, or put something in its place; whether it is another now."""
    kind = case.weighted({"bytes": 8, "gone": 1, "folder": 0.5, "copy": 0.5})
    if kind == "bytes":
        return damaged(case, path)
    case.tell(damage=f"{kind} instead of {path.name}")
    before = path.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    others = sorted(p for p in path.parent.iterdir() if p.is_file())
    if kind == "copy" and others:
        shutil.copy(case.pick(*others), path)
    return not (path.is_file() and path.read_bytes() == before)


# Codes -------------------------------------------------------------------------------------


def _job(case: Case) -> tuple[Array, Array, dict[str, Any]]:
    dtype = case.pick("f8", "f4")
    d, n = case.whole(2, 6), case.whole(2, 9)
    m = case.whole(1, 40) if case.chance(0.6) else case.whole(100, 400)
    atoms = case.rng.standard_normal((n, d)).astype(dtype)
    signals = case.rng.standard_normal((m, d)).astype(dtype)
    options = {"method": case.pick(*METHODS), "max_iter": case.whole(1, 5), "progress": False}
    case.tell(atoms=atoms, signals=signals, options=options)
    return signals, atoms, options


def gathered(codes: Any) -> dict[str, Array]:
    """All that codes hold."""
    return {name: np.array(getattr(codes, name)) for name in ARRAYS}


def unharmed(case: Case, call: Callable[[], Any], truth: Any, names: set[str], what: str) -> None:
    """`call` gives the codes that were put away, or names what is wrong."""
    found = case.ask(lambda: gathered(call()), names)
    for name in ARRAYS:
        same = found[name].tobytes() == np.asarray(getattr(truth, name)).tobytes()
        case.require(same, f"{what}: {name} is another, and nobody noticed")


def _folder(case: Case) -> None:
    """A finished folder, opened or resumed after damage."""
    signals, atoms, options = _job(case)
    truth = case.ask(lambda: pursuit.encode(signals, atoms, **options), CODES_NAMES, valid=True)
    path = case.folder / "codes"
    again = lambda **more: pursuit.encode(signals, atoms, **options, out=path, **more)  # noqa: E731
    case.ask(again, CODES_NAMES, valid=True)
    spoil(case, case.pick(*sorted(path.iterdir())))
    names = {*CODES_NAMES, str(path)}
    if case.chance(0.5):
        unharmed(case, lambda: Codes.open(path), truth, names, "a damaged folder")
    else:
        unharmed(case, lambda: again(resume=True), truth, names, "a damaged folder, resumed")


def _stopped(case: Case) -> None:
    """A folder that was left unfinished, perhaps damaged since, and is continued."""
    signals, atoms, options = _job(case)
    size, stop = case.whole(1, 50), case.whole(0, 6)

    def pieces(until: int | None = None) -> Iterator[Array]:
        for k, at in enumerate(range(0, len(signals), size)):
            if k == until:
                raise Interrupted
            yield signals[at : at + size]

    path = case.folder / "codes"
    run = lambda until, **more: pursuit.encode(  # noqa: E731
        pieces(until), atoms, **options, out=path, **more
    )
    truth = case.ask(lambda: pursuit.encode(pieces(), atoms, **options), CODES_NAMES, valid=True)
    with suppress(Interrupted):
        case.ask(lambda: run(stop), CODES_NAMES, valid=True)
    spoilt = path.is_dir() and case.chance(0.5) and spoil(case, case.pick(*sorted(path.iterdir())))
    names = {*CODES_NAMES, str(path)}
    try:
        unharmed(case, lambda: run(None, resume=True), truth, names, "an unfinished folder")
    except Refused:
        case.require(spoilt, "an unfinished folder cannot be continued")
        raise


def _saved(case: Case) -> None:
    signals, atoms, options = _job(case)
    truth = case.ask(lambda: pursuit.encode(signals, atoms, **options), CODES_NAMES, valid=True)
    path = case.folder / "codes.npz"
    case.ask(lambda: truth.save(path), CODES_NAMES, valid=True)
    spoil(case, path)
    unharmed(case, lambda: Codes.load(path), truth, {*CODES_NAMES, str(path)}, "damaged codes")


# Checkpoints -------------------------------------------------------------------------------


def _checkpoint(case: Case) -> None:
    posed = solving.pose(case)
    options = {k: v for k, v in posed.options.items() if k not in ("max_time", "callback")}
    path = case.folder / "run.npz"
    call = lambda **more: pursuit.solve(  # noqa: E731
        posed.target.f, posed.atoms.set, posed.rules.method, **(options | more)
    )
    truth = case.ask(call, solving.NAMES)
    early = case.whole(0, max(truth.iterations, 1))
    case.ask(lambda: call(max_iter=early, checkpoint=path), solving.NAMES)
    spoil(case, path)
    names = {*solving.NAMES, str(path)}
    found = case.ask(lambda: call(resume=path), names)
    solving.same(case, truth, found, "a damaged checkpoint went unnoticed")


def _foreign(case: Case) -> None:
    """A checkpoint of another problem, a folder of other codes."""
    signals, atoms, options = _job(case)
    path = case.folder / "codes"
    case.ask(lambda: pursuit.encode(signals, atoms, **options, out=path), CODES_NAMES, valid=True)
    other = atoms.copy()
    other.flat[int(case.rng.integers(other.size))] *= 1.5
    changes = [
        (signals, other, options),
        (signals[:-1], atoms, options) if len(signals) > 1 else (signals, other, options),
        (signals, atoms, options | {"max_iter": options["max_iter"] + 1}),
    ]
    s, a, o = changes[case.whole(0, 2)]
    names = {*CODES_NAMES, str(path)}
    case.ask(lambda: pursuit.encode(s, a, **o, out=path, resume=True), names)
    case.require(False, "another job was continued in a folder")


# Books -------------------------------------------------------------------------------------


def _book(case: Case) -> None:
    signal = case.rng.standard_normal(case.whole(64, 90))
    truth = pursuit.decompose(signal, case.pick(1.0, 8e3), 3.0, max_atoms=case.whole(1, 5))
    path = case.folder / case.pick("book.npz", "book.csv")
    case.ask(lambda: truth.save(path), BOOK_NAMES, valid=True)
    spoil(case, path)
    found = case.ask(lambda: pursuit.Book.load(path), {*BOOK_NAMES, str(path)})
    same = all(np.array_equal(getattr(found, n), getattr(truth, n)) for n in COLUMNS)
    case.require(same and facts(found) == facts(truth), "a damaged book went unnoticed")


# Files of one kind in the place of another -------------------------------------------------


def _mixed(case: Case) -> None:
    """An archive that is whole, and of something else, or with other arrays."""
    path = case.folder / "archive.npz"
    kind, what = case.pick(CODES, BOOK, CHECKPOINT), case.pick("other", "fewer", "strange")
    readers = {"codes": pursuit.Codes.load, "book": pursuit.Book.load, "state": _resumed}
    reader = case.pick(*readers)
    arrays: dict[str, Any] = {name: np.zeros(case.whole(0, 3)) for name in (*ARRAYS, *COLUMNS)}
    if what == "fewer":
        arrays = {name: array for name, array in arrays.items() if case.chance(0.5)}
    if what == "strange":
        arrays |= {name: case.pick(*STRANGE) for name in arrays if case.chance(0.3)}
    about = {
        name: case.pick(0, 1, -1, 2.5, "x", None, [], {}) for name in ABOUT if case.chance(0.7)
    }
    save_archive(path, kind, about, arrays)
    case.tell(kind=kind.noun, reader=reader, about=about, arrays=arrays)
    names = {*BOOK_NAMES, *CODES_NAMES, *solving.NAMES, str(path)}
    found = case.ask(lambda: readers[reader](path), names)
    case.ask(lambda: repr(found), names, valid=True)


def _resumed(path: Path) -> Any:
    state = pursuit.State.load(path)
    return pursuit.solve(pursuit.SquaredDistance(np.ones(3)), np.eye(3), resume=state)
