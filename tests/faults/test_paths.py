"""What is no path is refused in one sentence, wherever something is read or written."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

import pursuit
from pursuit import Book, Codes, InputError, PursuitError, SquaredDistance, State, encode, solve
from pursuit.files.tables import read_matrix
from pursuit.unmixing import read_library, read_scene, unmix

RNG = np.random.default_rng(0)
ROWS, SIGNALS, SOUND = RNG.random((5, 4)), RNG.random((9, 4)), RNG.standard_normal(80)
F = SquaredDistance(SIGNALS[0])


class Pretender:
    """Says that it is a path."""

    def __init__(self, answer):
        self.answer = answer

    def __fspath__(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(scope="module")
def made():
    """What is kept."""
    scene = unmix(SIGNALS @ ROWS[:4], ROWS[:4], "non-negative")
    result = solve(F, ROWS, max_iter=2)
    book = pursuit.decompose(SOUND, 1.0, 1.0, max_atoms=1)
    return {"codes": encode(SIGNALS, ROWS), "scene": scene, "state": result.state, "book": book}


WRITERS = {
    "solve checkpoint": lambda _, p: solve(F, ROWS, max_iter=2, checkpoint=p),
    "learn checkpoint": lambda _, p: pursuit.learn(SIGNALS, 2, passes=1, checkpoint=p),
    "decompose checkpoint": lambda _, p: pursuit.decompose(SOUND, 1.0, 1.0, checkpoint=p),
    "out": lambda _, p: encode(SIGNALS, ROWS, out=p),
    "Codes.save": lambda made, p: made["codes"].save(p),
    "State.save": lambda made, p: made["state"].save(p),
    "Book.save": lambda made, p: made["book"].save(p),
    "Unmixing.save": lambda made, p: made["scene"].save(p),
    "save_endmembers": lambda made, p: made["scene"].save_endmembers(p),
}
READERS = {
    "solve resume": lambda _, p: solve(F, ROWS, resume=p),
    "learn resume": lambda _, p: pursuit.learn(SIGNALS, 2, passes=1, resume=p),
    "signals": lambda _, p: encode(p, ROWS),
    "signals to learn from": lambda _, p: pursuit.learn(p, 2),
    "Codes.load": lambda _, p: Codes.load(p),
    "Codes.open": lambda _, p: Codes.open(p),
    "State.load": lambda _, p: State.load(p),
    "Book.load": lambda _, p: Book.load(p),
    "read_scene": lambda _, p: read_scene(p),
    "read_library": lambda _, p: read_library(p),
    "read_matrix": lambda _, p: read_matrix(p),
}
NO_PATHS = {
    "a number": 7,
    "a flag": True,
    "bytes": b"bytes.npz",
    "a number that pretends": Pretender(7),
    "bytes that pretend": Pretender(b"bytes.npz"),
    "a failure": Pretender(RuntimeError("gone")),
    "a list": ["x.npz"],
    "a class": Path,
    "nothing": "",
    "a zero": "a\0b.npz",
    "a zero in a Path": Path("a\0b.npy"),
    "half a character": "a\ud800.npz",
    "a folder": ".",
    "a long name": "x" * 300 + ".npz",
    "a long path": "x/" * 60 + "y.npz",
    "below a file": "/dev/null/x.npz",
    "nowhere": "nowhere/at/all/x.npz",
}
OPTIONAL = {"solve checkpoint", "learn checkpoint", "decompose checkpoint", "out",
            "solve resume", "learn resume"}  # fmt: skip


def assert_refused(door, made, value):
    with pytest.raises(PursuitError) as caught:
        door(made, value)
    message = str(caught.value)
    assert isinstance(caught.value, InputError) or "cannot be written" in message
    assert ": " in message
    assert "\n" not in message
    assert "object at 0x" not in message
    assert len(message) < 600


@pytest.mark.parametrize("kind", NO_PATHS)
@pytest.mark.parametrize("door", WRITERS | READERS)
def test_what_is_no_path_is_refused_in_one_sentence(door, kind, made, tmp_path):
    if door == "out" and kind in ("a folder", "a long path", "nowhere"):
        return  # it is made where there is none
    with contextlib.chdir(tmp_path):
        assert_refused((WRITERS | READERS)[door], made, NO_PATHS[kind])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("door", sorted({*WRITERS, *READERS} - OPTIONAL))
def test_none_is_no_path(door, made):
    assert_refused((WRITERS | READERS)[door], made, None)


@pytest.mark.parametrize("option", ["wavelengths", "bad_bands"])
@pytest.mark.parametrize("kind", NO_PATHS)
def test_what_is_no_path_beside_a_scene_is_refused(option, kind, tmp_path):
    np.save(tmp_path / "scene.npy", RNG.random((3, 2, 4)))
    with contextlib.chdir(tmp_path):
        assert_refused(lambda _, p: read_scene("scene.npy", **{option: p}), None, NO_PATHS[kind])


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PursuitError, match="file"):
        encode(SIGNALS, ROWS, out=tmp_path / "file" / "codes")
