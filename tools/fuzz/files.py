"""The area `files`: codes, checkpoints and books on disk, whole, interrupted and damaged.

What comes back is what was written, bit for bit, or an InputError that names the file. A single
file in which any byte has changed is never read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import pursuit
from fuzz.case import Case
from fuzz.data import Array, damage, precision
from fuzz.decompose import same_book
from fuzz.encode import same_codes
from fuzz.learn import same_atoms
from fuzz.solve import same_run

METHODS = ("orthogonal", "matching-pursuit", "random-pursuit", "accelerated-random")


class Stopped(Exception):
    """Ends a run from outside."""


def run(case: Case) -> None:
    """Write something, damage it in most cases, and read it."""
    kinds = {_codes: 2, _folder: 3, _interrupted: 2, _other_job: 1, _checkpoint: 3, _learning: 1}
    case.weighted(kinds | {_book: 2, _another_kind: 1})(case)


def spoil(case: Case, path: Path) -> bool:
    """Damage or replace a file and return whether it has changed."""
    before = path.read_bytes()
    kind = case.weighted({"damaged": 8, "removed": 1, "folder": 0.5, "another": 0.5})
    case.record(file=path.name, spoiled=kind)
    if kind == "damaged":
        path.write_bytes(damage(case, before))
    else:
        path.unlink()
    if kind == "folder":
        path.mkdir()
    others = sorted(p for p in path.parent.iterdir() if p.is_file())
    if kind == "another" and others:
        shutil.copy(case.choose(*others), path)
    return not (path.is_file() and path.read_bytes() == before)


def read(
    case: Case, path: Path, spoiled: bool, function: Callable[..., Any], **options: Any
) -> Any:
    """Return what is read; an error must name the file, and is a finding unless it is spoiled."""
    names = (str(path), "out", "path", "resume", "codes", "book", "checkpoint")
    answer = case.call(function, names=names, valid=not spoiled, **options)
    case.require(not spoiled or path.is_dir(), "a file that has changed is read")
    return answer


def _job(case: Case) -> tuple[Array, Array, dict[str, Any]]:
    d, n, dtype = case.integer(2, 6), case.integer(2, 9), precision(case)
    m = case.integer(1, 40) if case.chance(0.6) else case.integer(100, 400)
    atoms = case.input("atoms", case.rng.standard_normal((n, d)).astype(dtype))
    signals = case.input("signals", case.rng.standard_normal((m, d)).astype(dtype))
    options = {"method": case.choose(*METHODS), "max_iter": case.integer(1, 5), "progress": False}
    case.record(options=options)
    return signals, atoms, options


def _loaded(codes: Any) -> Any:
    """Read every array of codes, which finds damage that opening them does not."""
    codes.toarray(), np.array(codes.residual_norms), np.array(codes.iterations)
    return codes


def _codes(case: Case) -> None:
    signals, atoms, options = _job(case)
    codes = case.call(pursuit.encode, signals, atoms, **options)
    path = case.folder / "codes.npz"
    case.call(codes.save, path)
    spoiled = case.chance(0.8) and spoil(case, path)
    loaded = read(case, path, spoiled, lambda: pursuit.Codes.load(path))
    same_codes(case, codes, loaded, "loaded")


def _folder(case: Case) -> None:
    """A finished folder, opened or resumed."""
    signals, atoms, options = _job(case)
    codes = case.call(pursuit.encode, signals, atoms, **options)
    path = case.folder / "codes"

    def encode(**more: Any) -> Any:
        return _loaded(pursuit.encode(signals, atoms, **options, out=path, **more))

    case.call(encode)
    spoiled = case.chance(0.8) and spoil(case, case.choose(*sorted(path.iterdir())))
    function = case.choose(lambda: _loaded(pursuit.Codes.open(path)), lambda: encode(resume=True))
    same_codes(case, codes, read(case, path, spoiled, function), "from a folder")


def _interrupted(case: Case) -> None:
    """A folder that a run left unfinished, continued."""
    signals, atoms, options = _job(case)
    size, stop = case.integer(1, 50), case.integer(0, 6)
    path = case.folder / "codes"

    def pieces(until: int | None) -> Iterator[Array]:
        for number, first in enumerate(range(0, len(signals), size)):
            if number == until:
                raise Stopped
            yield signals[first : first + size]

    def encode(until: int | None, **more: Any) -> Any:
        return _loaded(pursuit.encode(pieces(until), atoms, **options, **more))

    codes = case.call(encode, None)
    with suppress(Stopped):
        case.call(encode, stop, out=path)
    spoiled = path.is_dir() and case.chance(0.5) and spoil(case, case.choose(*path.iterdir()))
    again = read(case, path, bool(spoiled), lambda: encode(None, out=path, resume=True))
    same_codes(case, codes, again, "continued")


def _other_job(case: Case) -> None:
    """A folder of another job is not continued."""
    signals, atoms, options = _job(case)
    path = case.folder / "codes"
    case.call(pursuit.encode, signals, atoms, out=path, **options)
    other = atoms.copy()
    other.flat[case.integer(0, other.size - 1)] *= 1.5
    changed = case.choose(
        (signals, other, options),
        (np.vstack([signals, signals[:1]]), atoms, options),
        (signals, atoms, options | {"max_iter": options["max_iter"] + 1}),
        (signals, atoms, options | {"rtol": 0.25}),
    )
    read(case, path, True, lambda: pursuit.encode(
        *changed[:2], **changed[2], out=path, resume=True))  # fmt: skip
    case.require(False, "another job was continued in a folder")


def _checkpoint(case: Case) -> None:
    d = case.integer(2, 8)
    atoms = pursuit.Dictionary(case.rng.standard_normal((case.integer(2, 12), d)))
    f = pursuit.SquaredDistance(case.rng.standard_normal(d))
    name = case.choose("matching-pursuit", "accelerated-random", "accelerated", "orthogonal")
    path = case.folder / "run.npz"
    case.record(method=name)

    def solve(**more: Any) -> Any:
        return pursuit.solve(f, atoms, name, progress=False, **({"max_iter": 40} | more))

    result = case.call(solve)
    case.call(solve, max_iter=case.integer(0, result.iterations), checkpoint=path)
    spoiled = case.chance(0.8) and spoil(case, path)
    again = read(case, path, spoiled, lambda: solve(resume=path))
    same_run(case, result, again, "resumed")


def _learning(case: Case) -> None:
    signals = case.rng.standard_normal((case.integer(5, 30), 4))
    path = case.folder / "learning.npz"
    method = case.choose("online", "aksvd", "mod")

    def learn(**more: Any) -> Any:
        return pursuit.learn(signals, 3, 1, method, passes=3, progress=False, **more)

    learned = case.call(learn)
    case.call(learn, max_time=1e-9, checkpoint=path)
    spoiled = case.chance(0.8) and spoil(case, path)
    again = read(case, path, spoiled, lambda: learn(resume=path))
    same_atoms(case, learned, again, "resumed")


def _book(case: Case) -> None:
    signal = case.rng.standard_normal(case.integer(64, 90))
    book = case.call(pursuit.decompose, signal, 8000.0, 3.0, max_atoms=case.integer(1, 5))
    path = case.folder / "book.npz"
    case.call(book.save, path)
    spoiled = case.chance(0.8) and spoil(case, path)
    same_book(case, book, read(case, path, spoiled, lambda: pursuit.Book.load(path)), "loaded")


def _another_kind(case: Case) -> None:
    """A file of one kind is not read as another."""
    rng, path = case.rng, case.folder / "file.npz"
    atoms, signal = rng.standard_normal((4, 3)), rng.standard_normal(3)
    kind, reader = case.choose("codes", "state", "arrays"), case.choose("book", "learning", "other")
    case.record(kind=kind, reader=reader)
    if kind == "codes":
        pursuit.encode(signal[None], atoms).save(path)
    elif kind == "state":
        pursuit.solve(pursuit.SquaredDistance(signal), atoms, max_iter=2, checkpoint=path)
    else:
        np.savez(path, indices=rng.integers(0, 4, 3), values=signal)
    read(case, path, True, {
        "book": lambda: pursuit.Book.load(path),
        "learning": lambda: pursuit.learn(atoms, 2, resume=path, progress=False),
        "other": lambda: (pursuit.State.load if kind == "codes" else pursuit.Codes.load)(path),
    }[reader])  # fmt: skip
    case.require(False, f"{kind} are read as {reader}")
