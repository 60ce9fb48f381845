"""Workers and clients that die, tasks that fail: the same bits in the end, or a sentence."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
from clusters import (
    OPEN,
    PATIENCE,
    at_gate,
    drawn_signals,
    forget_peak,
    gated,
    hungry,
    local_cluster,
    peak,
    scale,
    wait_until,
)
from distributed import Client, LocalCluster
from encoded import assert_same

from pursuit import Codes, InputError, PursuitError, encode
from pursuit.base.cluster import each_result
from pursuit.encoding import lazy as cluster_module
from pursuit.encoding.folder import FINISHED, RECORD

RNG = np.random.default_rng(0)
# Many atoms make blocks small: 256 signals.
ATOMS = RNG.standard_normal((1024, 24))
BLOCK, BLOCKS = 256, 24
SIGNALS = RNG.standard_normal((BLOCKS * BLOCK - 40, 24))
ROOM = 16 * 2**20
"""What the memory of a process may differ by from run to run."""


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2) as started:
        yield started


@pytest.fixture(scope="module")
def expected():
    codes = encode(SIGNALS, ATOMS, n_nonzero=6)
    assert codes.plan.endswith(f"blocks of {BLOCK} signals")
    return codes


def finished(out):
    """The numbers of the blocks that a folder has."""
    marks = out / FINISHED
    if not marks.exists():
        return set()
    return set(np.flatnonzero(np.frombuffer(marks.read_bytes(), RECORD)["rows"]).tolist())


def test_each_worker_is_killed_while_it_runs_and_nothing_is_lost(cluster, expected, tmp_path):
    scale(*cluster, 2)
    workers = list(cluster[1].run(os.getpid).values())
    out, gate, held = tmp_path / "codes", tmp_path / "gate", {}
    signals = gated(SIGNALS, 2 * BLOCK, gate, out / FINISHED)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(encode, signals, ATOMS, n_nonzero=6, out=out)
        for victim in workers:
            wait_until(lambda v=victim: job.done() or v in {at for _, at in at_gate(gate)})
            held[victim] = {chunk for chunk, process in at_gate(gate) if process == victim}
            os.kill(victim, signal.SIGKILL)
        (gate / OPEN).touch()
        assert_same(job.result(PATIENCE), expected)
    for victim, chunks in held.items():
        others = {chunk for chunk, process in at_gate(gate) if process != victim}
        assert chunks, "it was not at work when it was killed"
        assert chunks <= others, "what it was at was never done"


CLIENT = """
import sys
from pathlib import Path
import numpy as np
from distributed import Client
from clusters import gated
from pursuit import encode
from pursuit.encoding import writer
from pursuit.encoding.folder import FINISHED

writer.SECONDS = 0.0  # each block is marked at once: more moments to be killed in
address, folder = sys.argv[1], Path(sys.argv[2])
with Client(address):
    out, gate = folder / "codes", folder / "gate"
    signals = gated(np.load(folder / "X.npy"), 512, gate, out / FINISHED)
    encode(signals, np.load(folder / "D.npy"), n_nonzero=6, out=out, resume=True)
"""


def test_a_client_is_killed_and_a_cluster_of_another_size_goes_on(
    cluster, expected, tmp_path, monkeypatch
):
    scale(*cluster, 2)
    np.save(tmp_path / "X.npy", SIGNALS)
    np.save(tmp_path / "D.npy", ATOMS)
    out = tmp_path / "codes"
    words = [sys.executable, "-c", CLIENT, cluster[0].scheduler_address, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    client = subprocess.Popen(words, env=environment)
    wait_until(lambda: len(finished(out)) >= 5 or client.poll() is not None)
    client.kill()
    client.wait()
    (tmp_path / "gate" / OPEN).touch()
    there = finished(out)
    assert 5 <= len(there) < BLOCKS, "killed too late to prove anything"
    scale(*cluster, 1)
    made = watched(monkeypatch)
    # Another cut, too: what is finished ends inside of its chunks.
    chunks = da.from_array(SIGNALS, chunks=(5 * BLOCK, -1))
    codes = encode(chunks, ATOMS, n_nonzero=6, out=out, resume=True)
    assert sorted(made) == sorted(set(range(BLOCKS)) - there)
    assert_same(codes, expected)
    assert_same(Codes.open(out, verify=True), expected)


def watched(monkeypatch):
    """The numbers of blocks that come from workers from now on."""
    made, keep = [], cluster_module._keep

    def counted(sink, codes, checksums, first, block):
        made.extend(range(first, first - (-len(codes) // block)))
        keep(sink, codes, checksums, first, block)

    monkeypatch.setattr(cluster_module, "_keep", counted)
    return made


def test_the_error_of_a_task_is_told_and_its_folder_goes_on(
    cluster, expected, tmp_path, monkeypatch
):
    out, bad = tmp_path / "codes", 14 * BLOCK + 7
    spoilt = SIGNALS.copy()
    spoilt[bad, 3] = np.nan
    chunks = da.from_array(spoilt, chunks=(2 * BLOCK, -1))
    with pytest.raises(InputError, match=f"got nan in signal {bad}, entry 3") as caught:
        encode(chunks, ATOMS, n_nonzero=6, out=out)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(InputError, match=f"got nan in signal {bad}, entry 3"):
        encode(chunks, ATOMS, n_nonzero=6).compute()
    there, made = finished(out), watched(monkeypatch)
    assert there
    assert 14 not in there
    codes = encode(
        da.from_array(SIGNALS, chunks=(BLOCK, -1)), ATOMS, n_nonzero=6, out=out, resume=True
    )
    assert_same(codes, expected)
    assert not there & set(made)


def test_a_worker_that_runs_out_of_memory_is_a_sentence(expected, tmp_path):
    out = tmp_path / "codes"
    chunks = da.from_array(SIGNALS, chunks=(2 * BLOCK, -1))
    greedy = chunks.map_blocks(hungry, str(out / FINISHED), dtype=chunks.dtype)
    with local_cluster(1, memory_limit="1GiB", allowed_failures=0):
        with pytest.raises(PursuitError) as caught:
            encode(greedy, ATOMS, n_nonzero=6, out=out)
        assert str(caught.value) == (
            "a task was given up after the death of 1 of its workers, which may have run out of "
            "memory; expected workers with more memory, or smaller chunks; the finished blocks are "
            f"kept in {out}; continue with resume=True (--resume)"
        )
    # Where there is room, it goes on: without a cluster this time.
    assert_same(encode(chunks, ATOMS, n_nonzero=6, out=out, resume=True), expected)


def test_a_cluster_that_is_lost_is_a_sentence():
    tasks = {f"task {number}": (float, number) for number in range(20)}
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0", silence_logs=100) as own,
        Client(own),
    ):
        results = each_result(tasks, list(tasks))
        assert next(results)[1] < 20
        own.close()
        with pytest.raises(PursuitError, match=r"^the cluster was lost \(.*\)$"):
            list(results)


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_the_memory_of_a_worker_does_not_grow_with_the_rows(cluster, tmp_path):
    _, client = cluster
    scale(*cluster, 2)
    atoms = RNG.standard_normal((128, 64)).astype(np.float32)
    peaks = []
    for number, tasks in enumerate((8, 8, 80)):  # the first run is to load what a run needs
        signals = drawn_signals(tasks * 8192, 64, 8192)
        client.run(forget_peak)
        encode(signals, atoms, n_nonzero=10, out=tmp_path / str(number))
        peaks.append(max(client.run(peak).values()))
    assert 8 * ROOM < 80 * 8192 * 64 * 4, "too few rows to prove anything"
    assert peaks[2] <= peaks[1] + ROOM
