"""Errors of the command line speak of options and files; Ctrl-C says how to go on."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pursuit import Codes, encode
from pursuit.commands.options import translated

RNG = np.random.default_rng(0)
ATOMS, SIGNALS = RNG.standard_normal((30, 8)), RNG.standard_normal((60, 8))
# Names of arguments that are no words of a sentence, and ways to write a call.
PYTHON = re.compile(r"(?<!-)\b(n_nonzero|max_iter|rtol|atol|unit_atoms|bad_bands|\w+=\S*|Cone)\b")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("D.npy", ATOMS)
    np.save("X.npy", SIGNALS)
    np.savez("several.npz", a=ATOMS, b=ATOMS)
    np.save("zero.npy", ATOMS * (np.arange(30) != 3)[:, None])
    np.save("thin.npy", SIGNALS[:, :5])
    np.save("nan.npy", np.where(SIGNALS[7, 2] == SIGNALS, np.nan, SIGNALS))
    np.save("scene.npy", RNG.uniform(1, 2, (6, 5, 4)))
    np.save("flat.npy", RNG.uniform(1, 2, (30, 4)))
    return tmp_path


ENCODE = ["encode", "X.npy", "--dictionary", "D.npy", "-o", "codes"]
WRONG = [
    (ENCODE, ["--nonzero", 0], "--nonzero: expected an integer of at least 1, got 0"),
    (ENCODE, ["--max-iter", -1], "--max-iter: expected"),
    (ENCODE, ["--rtol", -1], "--rtol: expected a number of at least 0"),
    (ENCODE, ["--atol", "nan"], "--atol: expected"),
    (ENCODE, ["--seed", -1], "--seed: expected"),
    (ENCODE, ["--threads", 0], "--threads: expected"),
    (ENCODE, ["--method", "guess"], "--method: expected one of"),
    (
        ENCODE,
        ["--method", "accelerated-random", "--nonzero", 3],
        "--nonzero: accelerated-random",
    ),
    (
        ENCODE,
        ["--method", "random-pursuit", "--nonnegative"],
        "--method: expected matching-pursuit or orthogonal with --nonnegative",
    ),
    (ENCODE, ["--dictionary", "zero.npy"], "--dictionary: atom 3 is zero"),
    (
        ENCODE,
        ["--dictionary", "several.npz"],
        "several.npz: holds several arrays, a (30 × 8), b (30 × 8); choose one with "
        "--dictionary-variable",
    ),
    (["encode", "thin.npy", *ENCODE[2:]], [], "thin.npy: expected rows of the atoms' shape (8,)"),
    (["encode", "nan.npy", *ENCODE[2:]], [], "nan.npy: expected finite numbers, got nan"),
    (["encode", "several.npz", *ENCODE[2:]], [], "choose one with --variable"),
    (
        ["decode", "none", "--dictionary", "several.npz", "-o", "fit.npy"],
        [],
        "none: expected a folder of codes",
    ),
    (["constants", "zero.npy"], [], "zero.npy must be nonzero, got zeros in atom 3"),
    (["constants", "several.npz"], [], "choose one with --variable"),
    (["unmix", "scene.npy", "-r", 200], [], "-r: expected at most"),
    (["unmix", "scene.npy", "-r", 2], ["--bad-bands", 99], "--bad-bands: expected numbers from 1"),
    (["unmix", "flat.npy", "-r", 2], [], "pass --shape"),
    (["unmix", "several.npz", "-r", 2], [], "choose one with --variable"),
    (
        ["unmix", "scene.npy", "--endmembers", "several.npz"],
        [],
        "choose one with --endmember-variable",
    ),
]


@pytest.mark.parametrize(("command", "more", "sentence"), WRONG)
def test_a_wrong_option_is_named_as_it_was_typed(pursuit, files, command, more, sentence):
    code, out, err = pursuit(*command, *more)
    assert (code, out) == (2, "")
    assert err.startswith(f"pursuit: {sentence}") or f"; {sentence}" in err
    assert err.count("\n") == 1
    assert not PYTHON.search(err), err


def test_a_folder_of_another_job_is_refused_in_the_words_of_the_options(pursuit, files):
    assert pursuit(*ENCODE, "--nonzero", 3)[0] == 0
    for more, sentence in (
        (
            ["--nonzero", 3],
            "--out must be a new folder, got codes, which is not empty; use",
        ),
        (["--nonzero", 4, "--resume"], "another job: its --nonzero is 3, got 4"),
        (["--max-iter", 2, "--nonzero", 3, "--resume"], "its --max-iter is"),
        (["--nonzero", 3, "--nonnegative", "--resume"], "its --nonnegative is False, got True"),
    ):
        code, _, err = pursuit(*ENCODE, *more)
        assert code == 2
        assert sentence in err
        assert not PYTHON.search(err), err


def test_options_are_put_in_the_place_of_arguments_and_nowhere_else():
    names = {"n_nonzero": "--nonzero", "shape": "--shape", "signals": "X.npy", "rtol": "--rtol"}
    for text, expected in (
        ("n_nonzero: expected 1", "--nonzero: expected 1"),
        ("signals: all signals are bad", "X.npy: all signals are bad"),
        ("a.mat: pass shape=(rows, columns)", "a.mat: pass --shape (rows, columns)"),
        ("a shape of (3,), in shape", "a shape of (3,), in shape"),
        ("expected rtol or max_iter", "expected --rtol or max_iter"),
        ("data/n_nonzero.npy: is damaged", "data/n_nonzero.npy: is damaged"),
        ("give resume=True (--resume)", "give --resume"),
    ):
        assert translated(text, names) == expected


# decode ----------------------------------------------------------------------------------------


def test_decode_does_not_write_over_a_file_unless_told_to(pursuit, files):
    encode(SIGNALS, ATOMS, n_nonzero=3, out="codes")
    decode = ["decode", "codes", "--dictionary", "D.npy", "-o", "X.npy"]
    before = (files / "X.npy").read_bytes()
    code, out, err = pursuit(*decode)
    assert (code, out) == (2, "")
    assert err == "pursuit: --out: X.npy is there already; --force writes over it\n"
    assert (files / "X.npy").read_bytes() == before
    assert pursuit(*decode, "--force")[0] == 0
    np.testing.assert_allclose(np.load("X.npy"), Codes.open("codes") @ ATOMS, atol=1e-12)


def test_what_is_read_is_not_written_over_even_if_told_to(pursuit, files):
    encode(SIGNALS, ATOMS, n_nonzero=3, out="codes")
    (files / "photo.png").write_bytes(b"a picture, not even read")
    os.symlink("D.npy", "other.npy")
    decode = ["decode", "codes", "--dictionary", "D.npy"]
    learn = ["learn", "X.npy", "--atoms", 4, "--start", "D.npy"]
    book = ["rebuild", "book.npz"]
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    for command, out, other in (
        (decode, "D.npy", "--dictionary"),
        (decode, "other.npy", "--dictionary"),
        (learn, "X.npy", "the signals"),
        (learn, "D.npy", "--start"),
        (["denoise", "photo.png"], "photo.png", "the picture"),
        (book, "book.npz", "the book"),
    ):
        code, _, err = pursuit(*command, "-o", out, "--force")
        assert code == 2
        assert err == f"pursuit: --out: expected another file than {other}, got {out} for both\n"
    code, _, err = pursuit(*decode, "-o", "codes/fit.npy", "--force")
    assert code == 2
    assert err.startswith("pursuit: --out: expected a file outside of the folder codes")
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


# Ctrl-C ----------------------------------------------------------------------------------------


def interrupted(pursuit, monkeypatch, when):
    """Run the command; Ctrl-C comes after a call of a method of the writer."""
    from pursuit.encoding import writer

    method = getattr(writer.Writer, when)

    def followed(*arguments):
        result = method(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(writer.Writer, when, followed)
    return pursuit(*ENCODE, "--nonzero", 3, "--threads", 1)


def test_an_interrupted_command_says_how_to_resume(pursuit, files, monkeypatch):
    with monkeypatch.context() as patch:
        code, out, err = interrupted(pursuit, patch, "keep")
    assert (code, out) == (130, "")
    assert err == (
        "pursuit: interrupted; the finished blocks are kept in codes, "
        "the same command with --resume goes on\n"
    )
    assert pursuit(*ENCODE, "--nonzero", 3, "--resume")[0] == 0
    assert np.array_equal(Codes.open("codes"), encode(SIGNALS, ATOMS, n_nonzero=3))


def test_one_that_had_begun_nothing_says_no_more_than_that(pursuit, files, monkeypatch):
    with monkeypatch.context() as patch:
        code, _, err = interrupted(pursuit, patch, "_begin")
    assert (code, err) == (130, "pursuit: interrupted\n")
    assert not (files / "codes").exists()


def test_one_that_keeps_nothing_says_that_it_was_interrupted(pursuit, files, monkeypatch):
    from pursuit.commands import constants

    monkeypatch.setattr(constants, "read_matrix", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    assert pursuit("constants", "D.npy") == (130, "", "pursuit: interrupted\n")


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="needs signals")
def test_ctrl_c_in_a_terminal_ends_a_long_command_with_that_sentence(tmp_path):
    np.save(tmp_path / "D.npy", RNG.standard_normal((600, 48)))
    np.save(tmp_path / "X.npy", RNG.standard_normal((150_000, 48)))
    words = ["encode", "X.npy", "--dictionary", "D.npy", "-o", "codes", "--nonzero", "24"]
    child = subprocess.Popen(
        [sys.executable, "-m", "pursuit.cli", *words, "--threads", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while child.poll() is None and not (tmp_path / "codes" / "finished").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, out) == (130, "")
    assert "interrupted; the finished blocks are kept in codes" in err
    assert "Traceback" not in err
