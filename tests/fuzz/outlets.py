"""Every door that reads or writes, by what it takes a path for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import pursuit
from fuzz.case import words
from fuzz.doors import B, S, Z
from pursuit import Book, Codes, State
from pursuit.files.tables import read_matrix
from pursuit.unmixing import read_library, read_scene, unmix

SOUND = np.sin(np.arange(80.0))
FILES = words("path out book checkpoint resume signals store wavelengths bad_bands")
"""What paths are called."""


@cache
def _kept(what: str) -> Any:
    if what == "codes":
        return pursuit.encode(S, Z)
    if what == "state":
        return _solve().state
    if what == "book":
        return pursuit.decompose(SOUND, 1.0, max_atoms=1)
    return unmix(S, Z, "non-negative")


def _solve(**options: Any) -> Any:
    return pursuit.solve(pursuit.SquaredDistance(B), Z, max_iter=2, progress=False, **options)


def _learn(signals: Any = S, **options: Any) -> Any:
    return pursuit.learn(signals, 2, passes=1, progress=False, **options)


def _scene(**options: Any) -> Any:
    np.save("scene.npy", S.reshape(5, 2, 2))
    return read_scene("scene.npy", **options)


WRITTEN: dict[str, Callable[[Any], Any]] = {
    "checkpoint of solve": lambda p: _solve(checkpoint=p),
    "checkpoint of learn": lambda p: _learn(checkpoint=p),
    "checkpoint of decompose": lambda p: pursuit.decompose(SOUND, 1.0, 1.0, checkpoint=p),
    "out": lambda p: pursuit.encode(S, Z, out=p),
    "codes": lambda p: _kept("codes").save(p),
    "state": lambda p: _kept("state").save(p),
    "book": lambda p: _kept("book").save(p),
    "unmixing": lambda p: _kept("unmixing").save(p),
    "endmembers": lambda p: _kept("unmixing").save_endmembers(p),
}
OUTLETS: dict[str, Callable[[Any], Any]] = WRITTEN | {
    "resume of solve": lambda p: _solve(resume=p),
    "resume of learn": lambda p: _learn(resume=p),
    "signals": lambda p: pursuit.encode(p, Z),
    "signals to learn from": lambda p: _learn(p),
    "codes in a file": Codes.load,
    "codes in a folder": Codes.open,
    "state in a file": State.load,
    "book in a file": Book.load,
    "scene": read_scene,
    "library": read_library,
    "matrix": read_matrix,
    "wavelengths": lambda p: _scene(wavelengths=p),
    "bad_bands": lambda p: _scene(bad_bands=p),
}
