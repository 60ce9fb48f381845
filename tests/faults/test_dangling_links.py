"""A symbolic link to nothing is no free place: nothing replaces it without being told to."""

import os

import numpy as np
import pytest

import pursuit as library
from pursuit import InputError, SquaredDistance, encode, solve
from pursuit.unmixing import Scene, unmix

RNG = np.random.default_rng(0)
ROWS, SIGNALS, SOUND = RNG.random((5, 4)), RNG.random((9, 4)), RNG.standard_normal(80)
PLACES = np.argwhere(np.ones((3, 3), bool))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("D.npy", ROWS)
    np.save("X.npy", SIGNALS)
    np.save("tone.npy", SOUND)
    np.save("scene.npy", RNG.uniform(1, 2, (6, 5, 4)))
    encode(SIGNALS, ROWS, n_nonzero=2, out="codes")
    return tmp_path


COMMANDS = {
    "fit.npy": ["decode", "codes", "--dictionary", "D.npy", "-o", "fit.npy"],
    "atoms.npy": ["learn", "X.npy", "--atoms", "2", "--passes", "1", "-o", "atoms.npy"],
    "book.npz": ["decompose", "tone.npy", "--rate", "8", "--max-atoms", "1", "-o", "book.npz"],
    "book.png": [
        *("decompose", "tone.npy", "--rate", "8", "--max-atoms", "1", "-o", "new.npz"),
        *("--figure", "book.png"),
    ],
    "numbers.npz": ["unmix", "scene.npy", "-r", "2", "--out", "numbers.npz"],
    "maps.hdr": ["unmix", "scene.npy", "-r", "2", "--out", "maps.img"],
    "pure.csv": ["unmix", "scene.npy", "-r", "2", "--endmembers-out", "pure.csv"],
    "page.html": ["unmix", "scene.npy", "-r", "2", "--report", "page.html"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_replace_a_dangling_link_with_force_only(folder, pursuit, name):
    os.symlink("nothing", name)
    code, _, error = pursuit(*COMMANDS[name])
    assert code == 2
    assert f"{name} is there already; --force writes over it" in error
    assert os.readlink(name) == "nothing"
    code, _, error = pursuit(*COMMANDS[name], "--force")
    assert code == 0, error
    assert os.path.isfile(name)
    assert not os.path.exists("nothing")


WRITERS = {
    "codes.npz": lambda p: encode(SIGNALS, ROWS, n_nonzero=2).save(p),
    "codes": lambda p: encode(SIGNALS, ROWS, n_nonzero=2, out=p),
    "state.npz": lambda p: solve(SquaredDistance(SIGNALS[0]), ROWS, max_iter=2, checkpoint=p),
    "book.npz": lambda p: library.decompose(SOUND, 1.0, 1.0, max_atoms=1).save(p),
    "book.csv": lambda p: library.decompose(SOUND, 1.0, 1.0, max_atoms=1).save(p),
    "numbers.npz": lambda p: unmixed().save(p),
    "maps.img": lambda p: unmixed().save(p),
    "maps.tif": lambda p: unmixed().save(p),
    "pure.csv": lambda p: unmixed().save_endmembers(p),
    "pure.sli": lambda p: unmixed().save_endmembers(p),
}


def unmixed():
    pixels = SIGNALS[:, :2] @ ROWS[:2]
    scene = Scene(pixels=pixels, places=PLACES, shape=(3, 3), bands=np.arange(1, 5))
    return unmix(scene, ROWS[:2], "non-negative")


@pytest.mark.parametrize("name", WRITERS)
def test_functions_refuse_to_write_to_a_dangling_link(tmp_path, name):
    path = tmp_path / name
    path.symlink_to("nothing")
    with pytest.raises(InputError, match="is a symbolic link to nothing, which does not exist"):
        WRITERS[name](path)
    assert os.readlink(path) == "nothing"


@pytest.mark.parametrize("name", ["maps.img", "pure.sli"])
def test_the_header_beside_is_not_written_to_a_dangling_link_either(tmp_path, name):
    header = (tmp_path / name).with_suffix(".hdr")
    header.symlink_to("nothing")
    with pytest.raises(InputError, match="is a symbolic link to nothing"):
        WRITERS[name](tmp_path / name)
    assert os.readlink(header) == "nothing"
