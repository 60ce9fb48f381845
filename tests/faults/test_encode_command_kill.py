"""`pursuit encode` killed at any moment and continued with --resume equals an undisturbed run."""

import random
import subprocess
import sys
import time

import numpy as np

from pursuit import Codes, Cone, encode
from pursuit.encoding.folder import FINISHED, RECORD

KILLS = 4
SIGNALS, BLOCK = 30_000, 192
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")
# The command as it is, but for marking every block at once: more moments to be killed in.
COMMAND = "from pursuit import cli; from pursuit.encoding import writer; writer.SECONDS = 0.0; "


def start(path):
    words = ["encode", path / "X.npy", "--dictionary", path / "D.npy", "-o", path / "codes"]
    words += ["--nonnegative", "--nonzero", 12, "--threads", 1, "--resume"]
    command = [sys.executable, "-c", COMMAND + "cli.main()", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def marked(path):
    marks = path / "codes" / FINISHED
    if not marks.exists():
        return 0
    return int(np.count_nonzero(np.frombuffer(marks.read_bytes(), RECORD)["rows"]))


def kill_at_work(path, delay):
    """Start, wait for a block that was not there before, and kill a little later."""
    before, child = marked(path), start(path)
    while child.poll() is None and marked(path) == before:
        time.sleep(0.002)
    time.sleep(delay)
    child.kill()
    child.communicate()
    return marked(path)


def test_a_command_killed_at_random_moments_and_resumed_equals_an_undisturbed_one(tmp_path):
    rng = np.random.default_rng(0)
    signals, atoms = rng.standard_normal((SIGNALS, 32)), rng.standard_normal((1500, 32))
    np.save(tmp_path / "X.npy", signals)
    np.save(tmp_path / "D.npy", atoms)
    moments = random.Random(0)
    seen = [kill_at_work(tmp_path, moments.uniform(0, 0.1)) for _ in range(KILLS)]
    assert seen[0] > 0
    assert seen == sorted(seen)
    assert seen[1] < -(-SIGNALS // BLOCK), "killed too late to prove anything"
    child = start(tmp_path)
    _, errors = child.communicate()
    assert (child.returncode, errors) == (0, b"")
    found, expected = Codes.open(tmp_path / "codes"), encode(signals, Cone(atoms), n_nonzero=12)
    assert expected.plan.endswith(f"blocks of {BLOCK} signals")
    for name in ARRAYS:
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name
