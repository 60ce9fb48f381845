"""Ctrl-C during `pursuit encode --workers`: heard at any moment, one line, no traceback."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no SIGINT to send")
SOON = 4.0
"""Seconds: an idle machine hears within two, and this one may be busy."""
PATIENCE = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("interrupts"), np.random.default_rng(0)
    np.save(path / "X.npy", rng.standard_normal((400_000, 64)))
    np.save(path / "D.npy", rng.standard_normal((1500, 64)))
    return path


def interrupted(folder, out, moment, *more):
    """(exit code, errors, seconds until heard) of a command that gets Ctrl-C at a moment."""
    words = ["encode", folder / "X.npy", "--dictionary", folder / "D.npy", "-o", out]
    words += ["--nonzero", 12, "--workers", 2, *more]
    command = [sys.executable, "-m", "pursuit", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        moment()
        sent = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to workers, too
        process.wait(PATIENCE)
        seconds = time.monotonic() - sent
        return process.returncode, process.stderr.read(), seconds
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("seconds", [1.5, 2.5, 3.5, 5.0])
def test_an_interrupt_is_heard_at_any_moment(folder, tmp_path, seconds):
    code, errors, heard = interrupted(folder, tmp_path / "codes", lambda: time.sleep(seconds))
    assert (code, errors.count("\n")) == (130, 1)
    assert errors.startswith("pursuit: interrupted")
    assert heard < SOON


def test_an_interrupt_keeps_finished_blocks_and_their_folder_goes_on(folder, tmp_path):
    out = tmp_path / "codes"

    def first_block():
        end = time.monotonic() + PATIENCE
        while not ((out / "finished").exists() and any((out / "finished").read_bytes())):
            assert time.monotonic() < end
            time.sleep(0.05)

    code, errors, heard = interrupted(folder, out, first_block)
    assert code == 130
    assert errors == (
        f"pursuit: interrupted; the finished blocks are kept in {out}, the same command with "
        "--resume goes on\n"
    )
    assert heard < SOON
    kept = (out / "finished").read_bytes()
    code, errors, _ = interrupted(folder, out, lambda: time.sleep(5), "--resume")
    assert (code, errors.count("\n")) == (130, 1)
    assert len(kept.strip(b"\0")) <= len((out / "finished").read_bytes().strip(b"\0"))
