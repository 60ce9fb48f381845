"""Learning that was killed and resumed equals learning that was left alone, bit for bit."""

import os
import subprocess
import time

import numpy as np
import pytest
from children import strict_python
from faults import learning_runs

from pursuit import InputError, learn
from pursuit.solving.checkpoint import State

METHODS = ("online", "aksvd", "mod", "iterator")


def seen(file):
    return int(State.load(file).arrays["trace"][-1, 0])


def kill_after(file, method, rows):
    """Start, wait until so many signals were learned from, and kill: SIGKILL, no time to say."""
    command = strict_python(learning_runs.__file__, method, file)
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"begun\n"
    while child.poll() is None and (not file.exists() or seen(file) < rows):
        time.sleep(0.005)
    child.kill()
    child.communicate()


@pytest.mark.parametrize("method", METHODS)
def test_killed_and_resumed_equals_undisturbed(tmp_path, method):
    file = tmp_path / "state.npz"
    total = learning_runs.PASSES * len(learning_runs.SIGNALS)
    kill_after(file, method, total // 4)
    assert total // 4 <= seen(file) < total, "killed too early or too late to prove anything"
    resumed, whole = learning_runs.go(method, resume=file), learning_runs.go(method)
    assert np.array_equal(resumed.atoms, whole.atoms)
    assert np.array_equal(resumed.usage, whole.usage)
    assert np.array_equal(resumed.trace.objective, whole.trace.objective)
    assert (resumed.status, resumed.message) == (whole.status, whole.message)
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".npz"] in ([], [*_parts(tmp_path)])


def _parts(folder):
    """What a killed writer leaves; it has another name, and is never read."""
    return (path.name for path in folder.iterdir() if path.name.endswith(".part"))


def test_a_finished_run_goes_on_with_more_passes(tmp_path):
    rows, file = learning_runs.SIGNALS[:1000], tmp_path / "state.npz"
    done = learn(rows, 30, 2, passes=2, checkpoint=file)
    assert np.array_equal(learn(rows, 30, 2, passes=2, resume=file).atoms, done.atoms)
    more = learn(rows, 30, 2, passes=4, resume=done)
    assert more.trace.signals[-1] == 2 * done.trace.signals[-1]
    assert np.array_equal(more.trace.objective[: len(done.trace)], done.trace.objective)


def test_a_state_of_other_signals_or_arguments_is_refused(tmp_path):
    rows, file = learning_runs.SIGNALS[:1000], tmp_path / "state.npz"
    learn(rows, 30, 2, checkpoint=file)
    for other in ((rows[1:], 30, 2), (rows, 31, 2), (rows, 30, 3), (rows, 30, 2, "mod")):
        with pytest.raises(InputError, match="resume: the checkpoint belongs to other signals"):
            learn(*other, resume=file)
    with pytest.raises(InputError, match="belongs to other"):
        learn(rows, 30, 2, seed=1, resume=file)


def test_one_changed_bit_in_a_state_is_found(tmp_path):
    rows, file = learning_runs.SIGNALS[:1000], tmp_path / "state.npz"
    learn(rows, 30, 2, checkpoint=file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=f"resume: {os.fspath(file)} is"):
        learn(rows, 30, 2, resume=file)
