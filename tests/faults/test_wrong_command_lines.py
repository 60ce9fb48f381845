"""Hundreds of wrong command lines: exit code 2, and one line in the end that names what is wrong.

Nothing is written for any of them, and no traceback is shown.
"""

import contextlib
import os
import shutil
import subprocess

import numpy as np
import pytest
from children import strict_python

from pursuit import cli, decompose, encode

RIGHT = {
    "encode": ["X.npy", "--dictionary", "D.npy", "-o", "new"],
    "decode": ["codes", "--dictionary", "D.npy", "-o", "new.npy"],
    "learn": ["X.npy", "--atoms", "4", "-o", "new.npy"],
    "decompose": ["wave.npy", "--rate", "1000", "-o", "new.npz"],
    "rebuild": ["book.npz", "-o", "new.wav"],
    "denoise": ["photo.png", "-o", "new.png"],
    "unmix": ["scene.npy", "--out", "new.npz"],
    "constants": ["D.npy"],
    "reproduce": ["toy", "--seeds", "1", "--iterations", "5", "--out", "new"],
}
"""A line of each command that works."""
WHOLE, REAL = ["abc", "2.5", "-3", ""], ["abc", "nan", "-3", ""]
READ = ["none.npy", "folder", "empty.npy", "noise.npy", "words.txt", "text.npy"]
WRITTEN = ["nowhere/new", "folder", "D.npy", "new.xyz"]
WRONG = {
    "encode": {
        "X.npy": [*READ, "nan.npy"],
        "--dictionary": [*READ, "nan.npy"],
        "--out": ["D.npy", "codes"],
        "--nonzero": [*WHOLE, "0"],
        "--method": ["guess", ""],
        "--max-iter": WHOLE,
        "--rtol": REAL,
        "--atol": [*REAL, "-inf"],
        "--seed": WHOLE,
        "--variable": ["x"],
        "--dictionary-variable": ["x"],
        "--threads": [*WHOLE, "0"],
        "--workers": [*WHOLE, "0", "99999999999999999999"],
        "--scheduler": ["", "2.5", "none://here:1"],
    },
    "decode": {
        "codes": READ,
        "--dictionary": [*READ, "X.npz"],
        "--out": [*WRITTEN, "codes/new.npy"],
        "--variable": ["x"],
    },
    "learn": {
        "X.npy": [*READ, "nan.npy"],
        "--atoms": [*WHOLE, "0", "1000"],
        "--out": WRITTEN,
        "--nonzero": [*WHOLE, "0"],
        "--method": ["guess", ""],
        "--passes": [*WHOLE, "0"],
        "--start": [*READ, "X.npy"],
        "--tol": REAL,
        "--max-time": REAL,
        "--seed": WHOLE,
        "--checkpoint": ["nowhere/new", "folder", "X.npy"],
        "--variable": ["x"],
        "--threads": [*WHOLE, "0"],
    },
    "decompose": {
        "wave.npy": [*READ, "nan.npy"],
        "--out": WRITTEN,
        "--snr": ["abc", "nan", ""],
        "--figure": WRITTEN,
        "--rate": [*REAL, "0", "inf"],
        "--scales": ["abc", "64,", "3", "-64", ""],
        "--max-atoms": WHOLE,
    },
    "rebuild": {"book.npz": [*READ, "X.npy"], "--out": WRITTEN},
    "denoise": {
        "photo.png": [*READ, "X.npy"],
        "--out": WRITTEN,
        "--noise": [*REAL, "0", "300"],
        "--atoms": WRITTEN,
        "--seed": WHOLE,
        "--threads": [*WHOLE, "0"],
    },
    "unmix": {
        "scene.npy": [*READ, "nan.npy"],
        "-r": [*WHOLE, "0", "200"],
        "--report": WRITTEN,
        "--out": WRITTEN,
        "--endmembers-out": WRITTEN,
        "--constraint": ["guess", ""],
        "--nonzero": [*WHOLE, "2"],
        "--picker": ["guess", ""],
        "--seed": WHOLE,
        "--endmembers": [*READ, "X.npy"],
        "--endmember-variable": ["x"],
        "--library": [*READ, "X.npy"],
        "--library-variable": ["x"],
        "--variable": ["x"],
        "--layout": ["guess", "bands bands rows", ""],
        "--shape": ["5", "0x5", "-1x-1", ""],
        "--wavelengths": ["none.txt", "folder", "words.txt"],
        "--bad-bands": ["abc", "0", "99", "-1", "3-1"],
        "--nodata": ["abc", ""],
        "--scale": [*REAL, "0", "inf"],
    },
    "constants": {"D.npy": [*READ, "nan.npy"], "--variable": ["x"]},
    "reproduce": {
        "toy": ["guess", ""],
        "--out": ["D.npy", "D.npy/new"],
        "--seed": WHOLE,
        "--seeds": [*WHOLE, "0"],
        "--iterations": [*WHOLE, "0"],
    },
}
"""What is wrong for each argument, by the right one, and for each option."""
TOGETHER = [
    ("encode", ["--workers", "2", "--scheduler", "tcp://localhost:1"], "--workers"),
    ("encode", ["--workers", "2", "--threads", "2"], "--threads"),
    ("encode", ["--method", "random-pursuit", "--nonnegative"], "--method"),
    ("encode", ["--method", "accelerated-random", "--nonzero", "2"], "--nonzero"),
    ("decode", ["--out", "D.npy", "--force"], "--out"),
    ("learn", ["--resume"], "--resume"),
    ("learn", ["--out", "X.npy", "--force"], "--out"),
    ("learn", ["--start", "D.npy", "--out", "D.npy", "--force"], "--out"),
    ("learn", ["--checkpoint", "new.npy"], "--checkpoint"),
    ("denoise", ["--out", "photo.png", "--force"], "--out"),
    ("denoise", ["--atoms", "photo.png", "--force"], "--atoms"),
    ("denoise", ["--atoms", "new.png"], "--atoms"),
    ("unmix", ["-r", "2", "--endmembers", "pure.npy"], "-r"),
    ("unmix", ["--constraint", "sparse"], "--nonzero"),
    ("unmix", ["--columns"], "--columns"),
    ("unmix", ["--shape", "7x7"], "7 × 7"),
    ("unmix", ["--out", "scene.npz", "--out", "scene.npz"], "--out"),
    ("unmix", ["--endmembers", "pure.npy", "--names", "a,b,c,d,e"], "--names"),
    ("reproduce", ["--data"], "--data"),
]
"""Options that exclude each other, or that need another one."""


def with_option(command, option, value):
    """The right line with another argument or option."""
    right = RIGHT[command]
    if not option.startswith("-"):
        return [command, value, *right[1:]]
    return [command, *right, option, value]


def lines():
    """(words, what is to be named: one of these)."""
    for command, right in RIGHT.items():
        yield [command, *right, "--nonsense"], ["--nonsense"]
        yield [command, *right, "--nonsense=3"], ["--nonsense"]
        yield [command, *right, "surplus"], ["surplus"]
        if command != "reproduce":  # all of its arguments have defaults
            yield [command], ["Missing argument"]
        for option, values in WRONG[command].items():
            if option.startswith("-"):
                yield [command, *right, option], [option]
            for value in values:
                yield with_option(command, option, value), [option, value or option]
    for command in ("encode", "decode", "learn", "decompose", "rebuild", "denoise"):
        yield [command, RIGHT[command][0]], ["--"]  # an option is missing
    for command, more, named in TOGETHER:
        yield [command, *RIGHT[command], *more], [named]


LINES = list(lines())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the lines speak of."""
    path = tmp_path_factory.mktemp("lines")
    rng = np.random.default_rng(0)
    with contextlib.chdir(path):
        np.save("D.npy", rng.standard_normal((30, 8)))
        np.save("X.npy", rng.standard_normal((60, 8)))
        np.save("nan.npy", np.full((60, 8), np.nan))
        np.save("text.npy", np.array(["a", "b"]))
        np.save("scene.npy", rng.uniform(1, 2, (6, 5, 4)))
        np.save("pure.npy", rng.uniform(1, 2, (2, 4)))
        wave = np.sin(np.arange(2000) / 9)
        np.save("wave.npy", wave)
        decompose(wave, 1000, max_atoms=5).save("book.npz")
        encode(np.load("X.npy"), np.load("D.npy"), n_nonzero=3, out="codes")
        pyplot = pytest.importorskip("matplotlib.pyplot")
        pyplot.imsave("photo.png", rng.random((24, 24, 3)))
        (path / "empty.npy").touch()
        (path / "noise.npy").write_bytes(rng.bytes(200))
        (path / "words.txt").write_text("hello\n")
        (path / "folder").mkdir()
        (path / "folder" / "mine.txt").write_text("mine\n")
    return path


def _elsewhere(*words):
    """In a process of its own, where a client of Dask that finds nobody stays behind."""
    ran = subprocess.run(strict_python("-m", "pursuit", *words), capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(("words", "named"), LINES, ids=[" ".join(words) for words, _ in LINES])
def test_a_wrong_line_ends_in_one_line_that_names_what_is_wrong(
    pursuit, folder, monkeypatch, words, named
):
    monkeypatch.chdir(folder)
    shutil.rmtree("new", ignore_errors=True)
    before = os.listdir(folder)
    code, out, err = (_elsewhere if "--scheduler" in words else pursuit)(*words)
    last = err.rstrip("\n").rpartition("\n")[2]
    assert (code, out) == (2, ""), err
    assert last.startswith(("pursuit: ", "Error: "))
    assert any(name in last for name in named), last
    if last.startswith("pursuit: "):
        assert err == f"{last}\n"
    assert sorted(os.listdir(folder)) == sorted(before)


def test_every_command_and_every_option_is_tried():
    assert len(LINES) >= 300
    assert RIGHT.keys() == WRONG.keys() == set(cli.COMMANDS)
    for command in cli.COMMANDS:
        tried = {word for words, _ in LINES if words[0] == command for word in words}
        for parameter in cli._command(command).params:
            if parameter.param_type_name == "option" and not parameter.is_flag:
                assert tried & {*parameter.opts}, (command, parameter.opts)
