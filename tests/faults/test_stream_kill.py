"""A run killed at any moment and continued equals one that nobody disturbed."""

import os
import random
import signal
import time

import numpy as np
import pytest
from encoded import assert_same

from pursuit import Codes, encode
from pursuit.encoding import writer
from pursuit.encoding.folder import FINISHED, RECORD

KILLS = 20
RNG = np.random.default_rng(0)
# Many atoms make blocks small: 256 signals.
ATOMS = RNG.standard_normal((1024, 24))
SIGNALS = RNG.standard_normal((12_000, 24))


def run(source, out):
    """Encode into a folder, marking each block at once: more moments to be killed in."""
    writer.SECONDS = 0.0
    encode(source(), ATOMS, n_nonzero=6, threads=2, out=out, resume=True)


def start(source, out):
    """A child process that encodes."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(source, out)
            code = 0
        finally:
            os._exit(code)
    return child


def blocks():
    return (SIGNALS[i : i + 500] for i in range(0, len(SIGNALS), 500))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("source", [lambda: SIGNALS, blocks], ids=["array", "iterator"])
def test_killed_twenty_times_and_continued_equals_undisturbed(tmp_path, source):
    expected = encode(source(), ATOMS, n_nonzero=6, threads=2)
    began = time.monotonic()
    assert os.waitpid(start(source, tmp_path / "undisturbed"), 0)[1] == 0
    whole = time.monotonic() - began
    moments, kills, finished = random.Random(0), 0, []
    out = tmp_path / "0"
    while kills < KILLS:
        child = start(source, out)
        time.sleep(moments.uniform(0, 0.4 * whole))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            kills += 1
            finished.append(marked(out))
        else:  # it was done before: judge it, and go on with a new folder
            assert os.WEXITSTATUS(status) == 0
            assert_same(expected, Codes.open(out))
            out = tmp_path / str(kills)
    assert len(set(finished)) > KILLS // 4, "killed too early or too late to prove anything"
    codes = encode(source(), ATOMS, n_nonzero=6, threads=2, out=out, resume=True)
    assert_same(expected, codes)
    assert_same(expected, Codes.open(out))


def marked(out):
    marks = out / FINISHED
    if not marks.exists():
        return 0
    return int(np.count_nonzero(np.frombuffer(marks.read_bytes(), RECORD)["rows"]))
