"""Output in an encoding that lacks some of its characters: they are replaced, nothing is lost."""

import os
import subprocess

import numpy as np
import pytest
from children import strict_python

from pursuit import Codes

RNG = np.random.default_rng(0)
ENCODINGS = ["ascii", "latin-1", "cp1252"]


def run(folder, encoding, *arguments):
    """Run the program in a folder; its standard output and standard error are bytes."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = strict_python("-m", "pursuit", *arguments)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encodings")
    np.save(folder / "A.npy", RNG.standard_normal((6, 4)))
    np.save(folder / "X.npy", RNG.standard_normal((9, 4)))
    np.save(folder / "scene.npy", RNG.uniform(1, 2, (6, 5, 4)))
    return folder


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_commands_replace_characters_that_cannot_be_encoded(files, encoding):
    codes = f"codes-{encoding}"
    commands = {
        "constants": ["constants", "A.npy"],
        "json": ["constants", "A.npy", "--json"],
        "encode": ["encode", "X.npy", "--dictionary", "A.npy", "-o", codes, "--nonzero", "2"],
        "unmix": ["unmix", "scene.npy", "--names", "Gr\u00fcn,\u6c34,c", "-r", "3"],
        "help": ["denoise", "--help"],
    }
    printed = {}
    for name, arguments in commands.items():
        done = run(files, encoding, *arguments)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        printed[name] = done.stdout
    assert b"minimal directional width" in printed["constants"]
    assert b"?" in printed["constants"]
    assert codes.encode() in printed["encode"]
    assert len(Codes.open(files / codes)) == 9


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_errors_replace_characters_that_cannot_be_encoded(files, encoding):
    done = run(files, encoding, "constants", "\u6c34.npy")
    assert done.returncode == 2
    assert done.stderr.startswith(b"pursuit: ?.npy: there is no such file")
