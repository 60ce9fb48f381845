"""One job at a time in a folder of codes, and a lock that dies with its process."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from pursuit import Codes, InputError, encode
from pursuit.base.lock import LOCK, FolderLock

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((40, 12))
SIGNALS = RNG.standard_normal((3000, 12))
# Signals that come while a file is there, a line as soon as a block is finished.
JOB = """
import sys, time
from pathlib import Path
import numpy as np
from pursuit import encode
from pursuit.encoding import signals, writer

writer.SECONDS, signals.WINDOW_BYTES = 0.0, 1
folder = Path(sys.argv[1])

def signals():
    rows = np.load(folder / "X.npy")
    yield rows
    print("begun", flush=True)
    while not (folder / "go").exists():
        time.sleep(0.01)
    yield rows

encode(signals(), np.load(folder / "D.npy"), n_nonzero=3, out=folder / "codes", resume=True)
"""


def twice():
    return iter([SIGNALS, SIGNALS])


@pytest.fixture
def job(tmp_path):
    """A process that has finished a block in a folder, and waits."""
    np.save(tmp_path / "X.npy", SIGNALS)
    np.save(tmp_path / "D.npy", ATOMS)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", JOB, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def assert_locked(out, **options):
    with pytest.raises(InputError, match=r"^out must be a folder that no other job"):
        encode(twice(), ATOMS, n_nonzero=3, out=out, **options)


def test_a_second_job_in_a_folder_is_refused(job, tmp_path):
    out = tmp_path / "codes"
    for options in ({}, {"resume": True}, {"overwrite": True}):
        assert_locked(out, **options)
    (tmp_path / "go").touch()
    assert job.wait(60) == 0
    assert not (out / LOCK).exists()
    expected = encode(twice(), ATOMS, n_nonzero=3)
    assert np.array_equal(Codes.open(out, verify=True).values, expected.values)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_job_leaves_no_lock(job, tmp_path):
    out = tmp_path / "codes"
    assert_locked(out, resume=True)
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert (out / LOCK).exists()
    codes = encode(twice(), ATOMS, n_nonzero=3, out=out, resume=True)
    assert np.array_equal(codes.values, encode(twice(), ATOMS, n_nonzero=3).values)
    assert not (out / LOCK).exists()


def test_of_jobs_that_begin_together_one_gets_a_new_folder(tmp_path):
    """Of threads, too; those that come first or last find a free folder, or codes in it."""
    said, start = [], threading.Barrier(6)

    def run():
        start.wait()
        try:
            encode(SIGNALS, ATOMS, n_nonzero=3, threads=1, out=tmp_path / "codes")
        except InputError as error:
            said.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 5
    assert all("no other job" in text or "is not empty" in text for text in said), said
    assert len(Codes.open(tmp_path / "codes", verify=True)) == len(SIGNALS)


def exclude(folder, holder, tries):
    """Take a lock again and again; count how often two have it at a time."""
    both = 0
    for _ in range(tries):
        try:
            lock = FolderLock(folder)
        except BlockingIOError:
            continue
        holder.append(1)
        time.sleep(0)
        both += len(holder) > 1
        holder.pop()
        lock.release()
    return both


def test_a_lock_file_that_is_removed_and_made_again_lets_no_two_in(tmp_path):
    holder, both = [], []
    threads = [
        threading.Thread(target=lambda: both.append(exclude(tmp_path, holder, 500)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert both == [0, 0, 0]
    assert not (tmp_path / LOCK).exists()


def test_where_fcntl_is_absent_the_lock_is_that_of_msvcrt(tmp_path, monkeypatch):
    held = set()

    def locking(descriptor, mode, n_bytes):
        assert (mode, n_bytes) == (2, 1)
        if held:
            raise OSError(errno.EACCES, "Permission denied")
        held.add(descriptor)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    codes = encode(SIGNALS, ATOMS, n_nonzero=3, out=tmp_path / "codes")
    assert len(held) == 1
    assert len(codes) == len(SIGNALS)
    assert_locked(tmp_path / "other")
    assert not (tmp_path / "other" / "about.json").exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_written_all_the_same(tmp_path, monkeypatch, code):
    def flock(descriptor, how):
        raise OSError(code, os.strerror(code))

    monkeypatch.setitem(sys.modules, "fcntl", SimpleNamespace(flock=flock, LOCK_EX=2, LOCK_NB=4))
    assert len(encode(SIGNALS, ATOMS, n_nonzero=3, out=tmp_path / "codes")) == len(SIGNALS)
