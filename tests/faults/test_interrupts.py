"""Ctrl-C is heard while compiled code runs, and leaves what can be taken up again."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from children import strict_python
from faults import long_runs

from pursuit import InputError
from pursuit.base.threads import for_each_block, new_halt
from pursuit.encoding.codes import Codes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no SIGINT to send")
SOON = 4.0
"""Seconds: an idle machine hears within one, and this one may be busy."""
HEADER = 128
"""Bytes before the numbers of a small .npy file."""


def interrupted(*arguments, after, ready=lambda: True):
    """Begin a run in another process and interrupt it so many seconds after it is ready; how long
    it took to be heard."""
    command = strict_python(long_runs.__file__, *arguments)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        while not ready():
            time.sleep(0.05)
        time.sleep(after)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        answer = process.stdout.readline().split()
        assert answer[0] == "heard"
        return float(answer[1]) - sent
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", [name for name in long_runs.RUNS if name != "stream"])
def test_an_interrupt_is_heard_within_a_block(name):
    assert interrupted(name, after=2.0) < SOON


def has_rows(folder):
    """Return whether a block has been written, however slow the machine is."""
    file = folder / "iterations.npy"
    return file.exists() and any(file.read_bytes()[HEADER:])


def test_an_interrupted_stream_is_continued_to_the_same_codes(tmp_path):
    out = tmp_path / "codes"
    assert interrupted("stream", out, after=0, ready=lambda: has_rows(out)) < SOON
    with pytest.raises(InputError, match="unfinished"):
        Codes.open(out)
    codes, whole = long_runs.stream(out=out, resume=True), long_runs.stream()
    for name in ("indptr", "indices", "values", "residual_norms", "iterations", "statuses"):
        np.testing.assert_array_equal(getattr(codes, name), getattr(whole, name))


def test_what_interrupts_the_caller_halts_the_blocks_and_is_what_it_hears():
    halt, halted, begun = new_halt(), [], threading.Event()

    def block(number):
        begun.set()
        while not halt[0]:
            time.sleep(0.01)
        halted.append(number)
        raise ValueError("what a block says after an interrupt is not heard")

    def interrupt():
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        for_each_block(5, lambda: block, 2, halt=halt)
    assert halted  # what runs is left,
    assert set(halted) <= {0, 1}  # and nothing else is begun


def test_a_block_that_does_not_look_does_not_keep_an_interrupt_waiting():
    begun, enough = threading.Event(), threading.Event()

    def block(number):
        begun.set()
        enough.wait(30)

    def interrupt():
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for_each_block(1, lambda: block, 1)
    assert time.monotonic() - before < SOON
    enough.set()
